"""What it costs to ask for a unit: processor time of an ask and a tell, beside an ask without a unit.

Run ``python benchmarks/bench_units.py`` (``--seconds 5``: of every turn on the service). A known unit is one
of 1,000 that asked before; a new one never did. In memory, on SQLite in groups of 64, and over HTTP with 64
connections, on SQLite and on PostgreSQL; all by turns, and the least of each is compared. ``--million`` gives
10^6 units an arm, in memory and on SQLite, and prints what they take; ``--replace`` what it takes to keep
rewards that may be replaced.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from itertools import count

import numpy as np

import lsdt
from bench_service import Caller, Database, free_port, measure, post, start
from timing import _status

SIDE = lsdt.from_means(np.linspace(0.1, 0.9, 100), 0.1)
KINDS = ("no unit", "known unit", "new unit")
PAIRS, GROUP, TURNS, N_KNOWN = 10_000, 64, 9, 1_000


def names(kind, numbers):
    """Return whom the next pairs are asked for."""
    if kind == "new unit":
        return [f"user-{next(numbers)}" for _ in range(PAIRS)]
    return [None if kind == "no unit" else f"known-{at % N_KNOWN}" for at in range(PAIRS)]


def pairs(agent, units):
    """Ask and tell once for each."""
    for unit in units:
        agent.tell(agent.ask() if unit is None else agent.ask(unit=unit), 1.0)


def grouped(agent, units):
    """Ask and tell in groups, each written at once."""
    for first in range(0, len(units), GROUP):
        with agent.group():
            pairs(agent, units[first : first + GROUP])


def by_turns(new, work):
    """Return the least microseconds of processor time of a pair of each kind."""
    agents, numbers = {kind: new(kind) for kind in KINDS}, count()
    taken = {kind: [] for kind in KINDS}
    for turn in range(TURNS + 1):
        for kind, agent in agents.items():
            units, began = names(kind, numbers), time.process_time()
            work(agent, units)
            if turn:
                taken[kind].append(1e6 * (time.process_time() - began) / PAIRS)
    return {kind: min(each) for kind, each in taken.items()}


class KnownCaller(Caller):
    """A connection that asks for units that asked before."""

    def send_ask(self):
        """Ask for the next unit."""
        content = json.dumps({"unit": self.unit()}).encode()
        head = f"POST /v1/experiments/load/ask HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(content)}"
        self.transport.write(head.encode() + b"\r\n\r\n" + content)

    def unit(self):
        """Return who asks."""
        return f"known-{int.from_bytes(os.urandom(4), 'little') % N_KNOWN}"


class NewCaller(KnownCaller):
    """A connection that asks for units that never asked."""

    def unit(self):
        """Return who asks."""
        return f"user-{os.urandom(12).hex()}"


def over_http(store, seconds):
    """Return the least microseconds of the service's processor time of an ask and a tell of each kind."""
    port, taken = free_port(), {kind: [] for kind in KINDS}
    process = start(store, port)
    try:
        post(port, "/v1/experiments", {"name": "load", "n_arms": 100, "policy": "ucb1"})
        for turn in range(4):
            for kind, caller in zip(KINDS, (Caller, KnownCaller, NewCaller), strict=True):
                _, cpu = measure(process, port, 64, seconds, kind=caller)
                if turn:
                    taken[kind].append(2.0 * cpu)
    finally:
        process.terminate()
        process.wait()
    return {kind: min(each) for kind, each in taken.items()}


def show(where, found):
    """Print times and ratios."""
    base = found["no unit"]
    shown = ", ".join(f"{kind} {each:.1f} us ({each / base:.2f})" for kind, each in found.items())
    print(f"{where}: {shown}", flush=True)


def million(folder):
    """Print what 10^6 units take in memory, and on disk."""
    for where, url in (("memory", None), ("SQLite", f"sqlite:///{folder}/million.db")):
        agent = lsdt.Agent(SIDE, "ucb1")
        if url is not None:
            agent = lsdt.Agent.open(url, "load", side=SIDE, policy="ucb1", durability="process")
        before = _status("VmRSS")
        for first in range(0, 10**6, 10_000):
            with agent.group():
                for number in range(first, first + 10_000):
                    agent.cancel(agent.ask(unit=f"user-{number}"))
        taken = _status("VmRSS") - before
        print(f"10^6 units, {where}: {taken:.0f} MiB of memory", end="")
        agent.close()
        print("" if url is None else f", {os.path.getsize(url[10:]) / 2**20:.0f} MiB on disk", flush=True)


def replaceable():
    """Print what an ask, a tell and a snapshot take with rewards that may be replaced, and without."""
    agents = {within: lsdt.Agent(SIDE, "ucb1", replace_within=within) for within in (None, "30 days")}
    taken = {within: [] for within in agents}
    for _ in range(TURNS):
        for within, agent in agents.items():
            began = time.process_time()
            pairs(agent, [None] * PAIRS)
            taken[within].append(1e6 * (time.process_time() - began) / PAIRS)
    for within, agent in agents.items():
        began = time.process_time()
        size = len(agent.snapshot())
        took = 1e3 * (time.process_time() - began)
        print(f"replace_within={within}: {min(taken[within]):.1f} us an ask and a tell; with", end=" ")
        print(f"{agent.n_told:,} rewards a snapshot of {size / 2**20:.2f} MiB takes {took:.0f} ms")


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=5.0)
    reader.add_argument("--million", action="store_true")
    reader.add_argument("--replace", action="store_true")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if asked.million:
            million(place)
        elif asked.replace:
            replaceable()
        else:

            def stored(kind):
                """Return an agent of its own on SQLite."""
                url = f"sqlite:///{place}/{kind.split()[0]}.db"
                return lsdt.Agent.open(url, "load", side=SIDE, policy="ucb1", durability="process")

            show("in memory", by_turns(lambda _: lsdt.Agent(SIDE, "ucb1"), pairs))
            show("SQLite, groups of 64", by_turns(stored, grouped))
            show("over HTTP, SQLite", over_http(f"sqlite:///{place}/http.db", asked.seconds))
            with Database(f"{place}/postgresql") as postgresql:
                show("over HTTP, PostgreSQL", over_http(postgresql.url, asked.seconds))
