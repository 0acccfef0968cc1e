"""Identification: a try of the policy ``identify``, and a look at whether to stop."""

from __future__ import annotations

from time import perf_counter

import numpy as np

import lsdt
from timing import Row, in_turns

KNOWN = 0.2  # of the relations: few enough that the answer takes some hundred tries


def _agent(
    policy: str, means: np.ndarray, side: lsdt.SideInformation, tries: int
) -> tuple[lsdt.Agent, float]:
    """Play so many tries; return the agent and the seconds."""
    agent, rng = lsdt.Agent(side, policy, rewards="bernoulli", seed=0), np.random.default_rng(1)
    agent.tell(agent.ask(), 1)  # loads code
    coins, started = rng.random(tries), perf_counter()
    for coin in coins:
        decision = agent.ask()
        agent.tell(decision, float(coin < means[decision.arm]))
    return agent, perf_counter() - started


def _problem() -> tuple[np.ndarray, lsdt.SideInformation]:
    means = np.random.default_rng(0).uniform(0.1, 0.9, 100)
    return means, lsdt.from_means(means, 0.1).reveal(KNOWN, KNOWN).explicit()


def tries() -> Row:
    means, side = _problem()
    ours = min(_agent("identify", means, side, 1_000)[1] for _ in range(3)) / 1_000
    others = min(_agent("lsdt_closure", means, side, 1_000)[1] for _ in range(3)) / 1_000
    left = len(lsdt.candidate_set(side))
    return Row(
        f"a try of identify, ask and tell, K = 100, a fifth of the relations, {left} candidates",
        ours,
        "the same of lsdt_closure",
        others,
        f"{1e6 * ours:.0f} us, {ours / others:.2g} x",
        "<= 100 us",
        ours <= 1e-4,
    )


def look() -> Row:
    means, side = _problem()
    agent, _ = _agent("ts", means, side, 500)
    ours, best = in_turns(lambda: agent.stopping(), lambda: agent.best(), 5)
    return Row(
        "agent.stopping after 500 tries of ts, K = 100, a fifth of the relations",
        ours,
        "agent.best",
        best,
        f"{1e3 * ours:.3g} ms",
        "<= 10 ms",
        ours <= 0.01,
    )


def many() -> Row:
    """Look at 10,000 candidates that were all played; one value of f_i for each of them takes 10^8 terms."""
    drawn = lsdt.problems.sparse(10_000, relations_per_arm=10, reach=3.0).draw(0, 0)
    agent = lsdt.Agent(drawn.side, "ts@all", rewards="bernoulli", seed=0)
    rng = np.random.default_rng(1)
    for arm, mean in enumerate(drawn.means):
        for reward in rng.random(10) < mean:
            agent.observe(arm, float(reward))
    agent.stopping()  # makes the rule
    numbers = np.random.default_rng(2).random(10**7)
    ours, logs = in_turns(lambda: agent.stopping(), lambda: [np.log(numbers) for _ in range(10)], 2)
    left = len(agent.stopping().rivals) + 1
    return Row(
        f"agent.stopping, {left:,} candidates that were all played, 10 near relations each; the rule is made",
        ours,
        "numpy.log of 10^8 numbers",
        logs,
        f"{ours:.2g} s, {ours / logs:.2g} x",
        "<= 1 s",
        ours <= 1.0,
    )


def ahead() -> Row:
    means = np.random.default_rng(0).uniform(0.1, 0.9, 100)
    agent, _ = _agent("ts", means, lsdt.from_means(means, 0.1).reveal(KNOWN, 0.0).explicit(), 500)
    ours, best = in_turns(lambda: agent.stopping().tries_to_go, lambda: agent.best(), 3)
    return Row(
        "tries_to_go after 500 tries of ts, K = 100, a fifth of the similar pairs, 100 candidates",
        ours,
        "agent.best",
        best,
        f"{ours:.2g} s",
        "<= 0.5 s",
        ours <= 0.5,
    )


WORKS = [tries, look, many, ahead]
