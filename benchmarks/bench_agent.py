"""The live agent: what an ask and a tell cost, and a snapshot of very many arms."""

from __future__ import annotations

import statistics
from time import perf_counter

import numpy as np

import lsdt
from lsdt.kernel.random import Purpose
from timing import Row

TOSS = int(Purpose.TOSS)
PAIRS = 20_000
REPEATS = 9


def _agent() -> lsdt.Agent:
    side = lsdt.from_means(np.linspace(0.1, 0.9, 100), 0.1)
    agent = lsdt.Agent(side, policy="ucb1", rewards="bernoulli")
    for number in range(500):
        agent.tell(agent.ask(), float(number % 2))
    return agent


def _least(work: object) -> float:
    times = []
    for _ in range(REPEATS):
        started = perf_counter()
        work()  # type: ignore[operator]
        times.append((perf_counter() - started) / PAIRS)
    return min(times)


def _row(work: str, seconds: float, limit: float) -> Row:
    reached = f"{1e6 * seconds:.2f} us"
    return Row(work, seconds, "", None, reached, f"< {limit:g} us", 1e6 * seconds < limit)


def compiled_pair() -> Row:
    player = _agent().state().player

    def pairs() -> None:
        for number in range(PAIRS):
            arm = player.select_in(player.packed, number)
            player.teach_one(player.packed, number, TOSS, arm, 1.0)

    return _row("the compiled select and update of ucb1, K = 100", _least(pairs), 1.5)


def public_pair() -> Row:
    agent = _agent()

    def pairs() -> None:
        for _ in range(PAIRS):
            agent.tell(agent.ask(), 1.0)

    return _row("Agent.ask and Agent.tell, ucb1, K = 100", _least(pairs), 6.0)


def snapshot() -> Row:
    """Snapshot and restore against one copy of the bytes of the state: policy, books, side information."""
    side = lsdt.from_means(np.random.default_rng(0).random(1_000_000), 0.01)
    agent = lsdt.Agent(side, policy="ucb1")
    for _ in range(1_000):
        agent.tell(agent.ask(), 1.0)
    blob = agent.snapshot()
    lsdt.Agent.restore(agent.snapshot())
    both, copies = [], []
    for _ in range(REPEATS):
        started = perf_counter()
        again = lsdt.Agent.restore(agent.snapshot())
        both.append(perf_counter() - started)
        assert again.n_told == 1_000
        started = perf_counter()
        bytes(memoryview(blob))
        copies.append(perf_counter() - started)
    ratio = statistics.median(a / b for a, b in zip(both, copies, strict=True))
    work = f"snapshot and restore of 10^6 arms, ucb1 on all ({len(blob) / 2**20:.0f} MiB)"
    return Row(
        work, min(both), "one copy of the same bytes", min(copies), f"{ratio:.1f} x", "<= 5 x", ratio <= 5.0
    )


def overview() -> Row:
    """Look at 10^5 arms, three rewards each: the arm to recommend, and the table of all."""
    n_arms, rng = 100_000, np.random.default_rng(0)
    side = lsdt.SideInformation(n_arms, arm_ids=[f"item{arm}" for arm in range(n_arms)], epsilon=0.01)
    known = [f"item{arm}" for arm in rng.integers(0, n_arms, 3 * n_arms).tolist()]
    agent = lsdt.Agent(side, policy="ts", prior=(known, rng.integers(0, 2, 3 * n_arms)))
    times = []
    for _ in range(REPEATS):
        started = perf_counter()
        agent.best()
        agent.to_frame()
        times.append(perf_counter() - started)
    reached = f"{1e3 * min(times):.0f} ms"
    work = "Agent.best and Agent.to_frame of 10^5 arms, ts"
    return Row(work, min(times), "", None, reached, "< 100 ms", min(times) < 0.1)


WORKS = [compiled_pair, public_pair, snapshot, overview]
