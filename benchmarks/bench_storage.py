"""Agents in a store: opening one with a long log, and asking while many decisions are pending."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

import lsdt
from lsdt.storage import Event, Kind, open_store
from lsdt.storage.events import first_link, link_of
from timing import Row, in_turns

EVENTS = int(os.environ.get("LSDT_BENCH_EVENTS", 10**7))
PENDING = 1_000
ASKS = 5_000
SIDE = lsdt.from_means(np.linspace(0.1, 0.9, 100), 0.1)


def _write_log(path: Path) -> None:
    """Write a log of asks and tells, a hundred of them pending at any time, straight into the tables."""
    lsdt.Agent.open(f"sqlite:///{path}", "x", SIDE, policy="ucb1", snapshot_every=0).close()
    with open_store(f"sqlite:///{path}") as store:
        writer = store.lease("x").writer
    rng = np.random.default_rng(0)
    arms, rewards = rng.integers(0, 100, EVENTS // 2).tolist(), rng.integers(0, 2, EVENTS // 2).tolist()

    def rows():
        link, position = first_link(writer), 0
        for number in range(EVENTS // 2 + 100):
            for kind, at in ((Kind.ASK, number), (Kind.TELL, number - 100)):
                if 0 <= at < len(arms):
                    reward = float(rewards[at]) if kind == Kind.TELL else None
                    event = Event(int(kind), 10**15 + position, at, arms[at], reward)
                    link, position = link_of(link, event), position + 1
                    yield (1, position, writer, link, *event)

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows())
    connection.execute("COMMIT")
    connection.close()


def _opened(path: Path) -> float:
    """Return the seconds that opening takes; closing leaves a snapshot."""
    started = perf_counter()
    agent = lsdt.Agent.open(f"sqlite:///{path}", "x")
    seconds = perf_counter() - started
    assert agent.n_told >= EVENTS // 2
    agent.tell(agent.ask(), 1.0)
    agent.close()
    return seconds


def _opening(times: int) -> float:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "agents.db"
        _write_log(path)
        return [_opened(path) for _ in range(times)][-1]


def opening() -> Row:
    """Open an agent from the whole of its log."""
    seconds = _opening(1)
    work = f"open an agent after {EVENTS:,} events, ucb1, K = 100"
    return Row(work, seconds, "", None, f"{seconds:.1f} s", "<= 60 s", seconds <= 60.0)


def opening_with_snapshot() -> Row:
    """Open it again, from the snapshot that it left."""
    seconds = _opening(2)
    return Row("the same with a snapshot", seconds, "", None, f"{seconds:.2f} s", "<= 5 s", seconds <= 5.0)


def pending() -> Row:
    """Ask and tell while a thousand decisions are pending, against none."""
    agents = [lsdt.Agent(SIDE, "ucb1") for _ in range(2)]
    for agent in agents:
        for number in range(500):
            agent.tell(agent.ask(), float(number % 2))
    waiting = agents[1].ask(PENDING)
    turn = iter(range(10**9))

    def without() -> None:
        for _ in range(ASKS):
            agents[0].tell(agents[0].ask(), 1.0)

    def with_many() -> None:
        for _ in range(ASKS):
            at = next(turn) % PENDING
            agents[1].tell(waiting[at], 1.0)
            waiting[at] = agents[1].ask()

    many, none = in_turns(with_many, without)
    work = f"ask and tell of ucb1, K = 100, with {PENDING:,} decisions pending"
    ratio = many / none
    return Row(work, many / ASKS, "with none", none / ASKS, f"{ratio:.1f} x", "<= 3 x", ratio <= 3.0)


def kept() -> Row:
    """Ask and tell of an agent in a file, waiting for the operating system or for the disk."""
    seconds = {}
    with tempfile.TemporaryDirectory() as place:
        for durability in ("full", "process"):
            url = f"sqlite:///{place}/{durability}.db"
            agent = lsdt.Agent.open(url, "x", SIDE, policy="ucb1", durability=durability)
            agent.tell(agent.ask(), 1.0)
            started = perf_counter()
            for _ in range(500):
                agent.tell(agent.ask(), 1.0)
            seconds[durability] = (perf_counter() - started) / 500
            agent.close()
    work = "ask and tell of ucb1 kept in SQLite, durability='process'"
    ratio = seconds["full"] / seconds["process"]
    reached = f"{1e6 * seconds['process']:.0f} us"
    return Row(work, seconds["process"], "'full'", seconds["full"], reached, f"({ratio:.0f} x faster)", True)


WORKS = [opening, opening_with_snapshot, pending, kept]
