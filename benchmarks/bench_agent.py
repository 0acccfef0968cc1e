"""The live agent: what an ask and a tell cost, and a snapshot of very many arms."""

from __future__ import annotations

import statistics
from collections import deque
from time import perf_counter, process_time

import numpy as np

import lsdt
from lsdt.kernel import compile_ahead
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


def _cliques() -> lsdt.Agent:
    """An agent with 101 candidates in eleven components: ten cliques and one arm."""
    similar = [
        (10 * clique + i, 10 * clique + j) for clique in range(10) for i in range(10) for j in range(i)
    ]
    side = lsdt.SideInformation(101, similar=similar, epsilon=0.001)
    return lsdt.Agent(side, policy="lsdt_posterior", rewards="gaussian")


def _asks_and_rounds(n_pending: int, rounds: int = 300) -> tuple[float, float]:
    """Return the CPU seconds of an ask, and of an ask and a tell, with so many decisions pending."""
    agent, rng = _cliques(), np.random.default_rng(0)
    waiting: deque[lsdt.agent.Decision] = deque()
    means = np.append(np.repeat(np.arange(10, 0, -1) / 10.0, 10), 1.3)
    asks = 0.0
    for number in range(n_pending + 2 * rounds):
        if number == n_pending + rounds:
            asks, started = 0.0, process_time()
        began = process_time()
        waiting.append(agent.ask())
        asks += process_time() - began
        if len(waiting) > n_pending:
            decision = waiting.popleft()
            agent.tell(decision, means[decision.arm] + rng.normal())
    return asks / rounds, (process_time() - started) / rounds


def posterior_ahead() -> Row:
    with compile_ahead(10**6):
        _asks_and_rounds(2, 5)
        both = [(_asks_and_rounds(100), _asks_and_rounds(0)) for _ in range(3)]
    ratio = statistics.median(many[0] / none[0] for many, none in both)
    many, none = min(many[0] for many, _ in both), min(none[0] for _, none in both)
    work = "Agent.ask of lsdt_posterior with 100 decisions pending, K = 101"
    return Row(work, many, "with none pending", none, f"{ratio:.1f} x", "<= 3 x", ratio <= 3.0)


def posterior_round() -> Row:
    with compile_ahead(10**6):
        _asks_and_rounds(0, 5)
        seconds = min(_asks_and_rounds(0)[1] for _ in range(3))
    reached = f"{1e6 * seconds:.0f} us"
    work = "Agent.ask and Agent.tell of lsdt_posterior, K = 101"
    return Row(work, seconds, "", None, reached, "< 60 us", 1e6 * seconds < 60.0)


WORKS = [compiled_pair, public_pair, posterior_round, posterior_ahead, snapshot, overview]
