"""Regret under rewards with heavy and light tails: the figures of docs/handbook/policies.md.

    python benchmarks/tails_of_rewards.py [PART ...]

A run is lost when its regret is above half of what the worst arm costs: more than half of the rounds were
played at the wrong end. Policies without truncation are run more often, as a few lost runs make their mean.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

import lsdt

ONE = np.linspace(-1.0, 1.0, 20)  # at each end one arm can be the best
TWO = np.sort([*np.linspace(-1.0, 1.0, 18), -0.99, 0.99])  # at each end two
T_REWARDS, PARETO = lsdt.rewards.student_t(1.5), lsdt.rewards.pareto(1.5)


def show(part, means, rewards, words, horizon, replications, points=(), side=None):
    """Print a line per policy: mean regret at every point, its median, the worst run, and runs lost."""
    side = lsdt.from_means(means, 0.15) if side is None else side
    problem = lsdt.problems.given(means, side, rewards)
    for word in words:
        started, policy = process_time(), lsdt.policies.parse_policy(word)
        every = [*points, horizon]
        result = lsdt.simulate(problem, policy, horizon, replications, n_jobs=1, checkpoints=every)
        regret = result.regret(policy)
        last = regret[:, -1]
        means_at = ", ".join(f"{mean:,.0f}" for mean in regret.mean(axis=0))
        print(
            f"{part} | {word} | {means_at} | median {np.median(last):,.0f} | worst {last.max():,.0f} "
            f"| lost {(last > 0.5 * np.ptp(means) * horizon).sum()} | {process_time() - started:.0f} s",
            flush=True,
        )


def exponential():
    law = lsdt.rewards.exponential(2.0)
    show("exponential, 1 + 1", ONE, law, ["ucb1@paper:alpha=2"], 10_000, 400)
    show("exponential, 2 + 2", TWO, law, ["lsdt_csi:sigma=0.5"], 10_000, 400)
    show(
        "exponential, 2 + 2",
        TWO,
        law,
        ["lsdt_psi:sigma=0.5", "lsdt_psi", "lsdt_psi:tails=light"],
        10_000,
        400,
    )


def gaussian():
    law = lsdt.rewards.gaussian(lsdt.rewards.laplace(2.0).model.sigma)
    show("Gaussian, 1 + 1", ONE, law, ["ucb1@paper:alpha=2"], 10_000, 400)
    show("Gaussian, 2 + 2", TWO, law, ["lsdt_csi:sigma=0.5"], 10_000, 400)


def psi():
    words = ["lsdt_psi", "lsdt_psi:tails=heavy", "lsdt_psi:tails=heavy,width=1"]
    for horizon in (10_000, 100_000):
        for word, runs in zip(words, (400, 50, 50), strict=True):
            show(f"Student t, T = {horizon}", TWO, T_REWARDS, [word], horizon, runs)
    show("Pareto, T = 100000", TWO, PARETO, words, 100_000, 400)
    show("Pareto, T = 100000", TWO, PARETO, ["ucb1@paper", "lsdt_csi"], 100_000, 400)


def several():
    """More than one good arm, and ten arms about which nothing is known."""
    show("Student t, 2 + 2", TWO, T_REWARDS, ["ucb1@paper"], 100_000, 400)
    nothing = lsdt.SideInformation(10, epsilon=0.1)
    words = ["ucb1@all", "ucb1@all:tails=heavy", "ucb1@all:tails=heavy,width=1"]
    for gap in (1.0, 4.0):
        means = gap * np.eye(10)[9]
        show(f"Student t, the best of ten by {gap:g}", means, T_REWARDS, words, 100_000, 400, (), nothing)


def student():
    for means, name in ((ONE, "ucb1@paper"), (TWO, "lsdt_csi")):
        for more, runs in (("", 400), (":tails=heavy,width=1", 50), (":tails=heavy", 50)):
            show("Student t", means, T_REWARDS, [name + more], 1_000_000, runs, (10_000, 100_000))
    for more, runs in (("", 400), (":tails=heavy,width=1", 50), (":tails=heavy", 50)):
        show("Student t, T = 10^6", TWO, T_REWARDS, ["lsdt_psi" + more], 1_000_000, runs)


PARTS = {each.__name__: each for each in (exponential, gaussian, psi, several, student)}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
