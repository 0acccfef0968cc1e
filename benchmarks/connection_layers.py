"""The service behind other HTTP servers: requests a second, and processor time per request.

    python benchmarks/connection_layers.py [--turns 5] [--seconds 8] [--durability full]

Compares `lsdt.service.connection` with plain uvicorn and, if granian is installed, with Granian's ASGI and
RSGI interfaces. All serve one experiment on SQLite; 64 connections ask and tell in turn. The servers run at
the same time and are loaded one after the other, in an order that alternates. Processor time is the figure to
compare on a machine that is used for other things as well; ratios are medians over the turns.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench_service import clients, cpu_seconds, free_port, get, post
from lsdt.service.app import create_app
from lsdt.service.decisions import FIXED_HEADERS, DecisionPath, decision_call
from lsdt.service.hosting import Service
from lsdt.service.requests import read_head
from lsdt.service.server import serve
from lsdt.service.settings import Settings

LAYERS = {
    "today": "uvicorn, own protocol",
    "uvicorn": "uvicorn",
    "granian-asgi": "Granian, ASGI",
    "granian-rsgi": "Granian, RSGI",
}
MOST_HEAD = 2**16


class Rsgi:
    """Answers requests of Granian's own interface: decisions directly, the rest through ASGI."""

    def __init__(self, service):
        self.service, self.path, self.app = service, DecisionPath(service), create_app(service)
        self.longest = service.settings.decision_limit
        self.fixed = [(name.decode(), value.decode()) for name, value in FIXED_HEADERS]

    def __rsgi_init__(self, loop):
        loop.run_until_complete(self.service.start())

    def __rsgi_del__(self, loop):
        loop.run_until_complete(self.service.close())

    async def __rsgi__(self, scope, protocol):
        """Answer one request."""
        headers = [(name.encode(), value.encode("latin-1")) for name, value in scope.headers.items()]
        seen = {"path": scope.path, "client": scope.client.rsplit(":", 1), "http_version": scope.http_version}
        call, head = decision_call(scope.path), read_head(headers)
        if call is not None and scope.method == "POST" and 0 <= head.length <= self.longest:
            made = await self.path.answer(seen, head, await protocol(), *call)
            lines = [("content-type", made.kind), *self.fixed, *made.headers.items()]
            protocol.response_bytes(made.status, lines, made.body)
        else:
            await self.through_asgi(scope, protocol, seen, headers, protocol)

    async def through_asgi(self, scope, protocol, seen, headers, body):
        """Answer a request that is not a decision."""
        asked = {
            "type": "http",
            "method": scope.method,
            "headers": headers,
            "scheme": "http",
            "root_path": "",
        }
        asked |= seen | {"raw_path": scope.path.encode(), "query_string": scope.query_string.encode()}
        parts, started, stream, is_read = self.parts(body), {}, None, False

        async def receive():
            nonlocal is_read
            if is_read:
                await protocol.client_disconnect()
                return {"type": "http.disconnect"}
            async for part in parts:
                return {"type": "http.request", "body": part, "more_body": True}
            is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            nonlocal stream
            if message["type"] == "http.response.start":
                lines = [(name.decode(), value.decode("latin-1")) for name, value in message["headers"]]
                started.update(status=message["status"], headers=lines)
            elif stream is None and not message.get("more_body"):
                protocol.response_bytes(*started.values(), message.get("body", b""))
            else:
                stream = stream or protocol.response_stream(*started.values())
                await stream.send_bytes(message.get("body", b""))

        await self.app(asked, receive, send)

    @staticmethod
    async def parts(body):
        """Yield the parts of a body that is read already, or that is still to come."""
        if isinstance(body, list):
            for part in body:
                yield part
        else:
            async for part in body:
                yield part


def service_on(store, durability):
    """Return a service; its loaded objects are left out of garbage collections, as `lsdt serve` does."""
    service = Service(Settings(store, durability=durability))
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    return service


def application(interface, store, durability):
    """Return what Granian's worker serves."""
    service = service_on(store, durability)
    return Rsgi(service) if interface == "rsgi" else create_app(service)


def serve_with(layer, store, durability, port):
    """Serve until terminated."""
    if layer == "today":
        serve(Settings(store, durability=durability), port=port)
    elif layer == "uvicorn":
        import uvicorn

        uvicorn.run(
            create_app(service_on(store, durability)),
            port=port,
            http="httptools",
            loop="uvloop",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            backlog=2048,
        )
    else:
        from granian import Granian
        from granian.constants import HTTPModes, Interfaces, Loops
        from granian.http import HTTP1Settings

        interface = layer.partition("-")[2]
        made = Granian(
            "unused",
            port=port,
            interface=Interfaces(interface),
            loop=Loops.uvloop,
            http=HTTPModes.http1,
            websockets=False,
            backlog=2048,
            http1_settings=HTTP1Settings(max_buffer_size=MOST_HEAD),
            log_enabled=False,
        )
        made.serve(target_loader=partial(application, interface, store, durability), wrap_loader=False)


def start(layer, store, durability, stack):
    """Start a server with one experiment, warm it up, and return its process and port."""
    port = free_port()
    process = subprocess.Popen([sys.executable, __file__, "--serve", layer, store, durability, str(port)])
    stack.callback(process.wait)
    stack.callback(process.terminate)
    limit = time.monotonic() + 120
    while True:
        try:
            get(port, "/readyz")
            break
        except OSError:
            if process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"{LAYERS[layer]} did not start") from None
            time.sleep(0.1)
    post(port, "/v1/experiments", {"name": "load", "n_arms": 20, "policy": "ucb1"})
    measure(process, port, 8, 1.0)
    return process, port


def cpu_of(pid):
    """Return the processor seconds of a process and its children: Granian's worker is one."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_seconds(pid) + sum(cpu_of(child) for child in children)


def measure(process, port, n_connections, seconds):
    """Return requests a second, and microseconds of the server's processor time for each."""
    answers, before = multiprocessing.Queue(), cpu_of(process.pid)
    loading = multiprocessing.Process(target=clients, args=(port, n_connections, seconds, False, answers))
    loading.start()
    speed = answers.get()
    loading.join()
    return speed, 1e6 * (cpu_of(process.pid) - before) / (speed * seconds)


def compare(layers, durability, options):
    """Measure layers in turns; return requests a second and processor time of each turn, by layer."""
    found = {layer: [] for layer in layers}
    with tempfile.TemporaryDirectory(prefix="lsdt-") as folder, ExitStack() as stack:
        running = {}
        for layer in layers:
            running[layer] = start(layer, f"sqlite:///{folder}/{layer}.db", durability, stack)
        for turn in range(options.turns):
            for layer in layers if turn % 2 == 0 else layers[::-1]:
                found[layer].append(measure(*running[layer], options.connections, options.seconds))
    return found


def show(durability, found):
    print(f"| durability {durability} | requests a second | ratio | us of CPU each | ratio |")
    print("|---|---|---|---|---|")
    for layer, turns in found.items():
        columns = []
        for values, own in zip(zip(*turns, strict=True), zip(*found["today"], strict=True), strict=True):
            ratio = statistics.median(value / first for value, first in zip(values, own, strict=True))
            columns.append(f"{statistics.median(values):,.0f} | {ratio:.2f}")
        print(f"| {LAYERS[layer]} | {' | '.join(columns)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=8.0, help="of a turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--durability", default="full,process")
    parser.add_argument("--layers", default=",".join(LAYERS), help="today is always measured")
    parser.add_argument("--serve", nargs=4, metavar=("LAYER", "STORE", "DURABILITY", "PORT"))
    options = parser.parse_args()
    if options.serve:
        *words, port = options.serve
        serve_with(*words, int(port))
        return
    layers = [layer for layer in LAYERS if layer == "today" or layer in options.layers.split(",")]
    if not importlib.util.find_spec("granian"):
        layers = [layer for layer in layers if "granian" not in layer]
        print("Granian is left out: pip install granian")
    for durability in options.durability.split(","):
        show(durability, compare(layers, durability, options))


if __name__ == "__main__":
    main()
