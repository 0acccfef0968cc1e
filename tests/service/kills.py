"""Kill a service again and again under load: nothing acknowledged may be lost or doubled.

``python tests/service/kills.py --kills 50`` is the long form of what the tests do three times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).parent.parent))

from service.load import Load


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(store, port, *more):
    """Start a service and wait until it answers."""
    words = [sys.executable, "-m", "lsdt.cli.main", "serve", "--store", store, "--port", str(port), *more]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ)
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise RuntimeError(process.stderr.read().decode())
        try:
            get(port, "/readyz")
            return process
        except (URLError, OSError):
            time.sleep(0.05)
    process.kill()
    raise TimeoutError("the service did not start")


def get(port, path):
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read()


def post(port, path, body):
    made = Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), method="POST")
    with urlopen(made, timeout=300) as answer:
        return json.loads(answer.read())


def events(port, name):
    return [json.loads(line) for line in get(port, f"/v1/experiments/{name}/events").splitlines()]


def kill_again_and_again(folder, n_kills, seconds, n_connections=64, seed=0):
    """Return what became of a service under load; `seconds` between two kills."""
    store, port = f"sqlite:///{folder}/lsdt.db", free_port()
    process = start(store, port)
    try:
        post(port, "/v1/experiments", {"name": "load", "n_arms": 20, "policy": "ucb1"})
        load = Load(port, "load", n_connections, seed=seed)

        async def kills():
            nonlocal process
            for _ in range(n_kills):
                await asyncio.sleep(seconds * (0.5 + load.rng.random()))
                process.kill()
                await asyncio.to_thread(process.wait)
                process.stderr.close()
                process = await asyncio.to_thread(start, store, port)
            await asyncio.sleep(seconds)

        asyncio.run(load.run(kills()))
        arms = json.loads(get(port, "/v1/experiments/load/arms"))["arms"]
        outcome = load.check(events(port, "load"), arms)
    finally:
        process.send_signal(signal.SIGTERM)
        outcome_code = process.wait(60)
        process.stderr.close()
    return {
        "kills": n_kills,
        "acknowledged": load.n_acknowledged,
        "repeated": load.n_repeated,
        **outcome,
        "wrong answers": load.wrong,
        "exit code": outcome_code,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = kill_again_and_again(folder, options.kills, options.seconds, seed=options.seed)
    print(json.dumps(made, indent=2))  # noqa: T201
    sys.exit(bool(made["lost"] or made["doubled"] or made["wrong answers"]))
