"""How sure `Agent.best` is, and how often it is right: on problems with known means.

    python benchmarks/calibration_of_best.py [problems of each kind, 48 by default]

Every problem is played by one of three policies and looked at three times. The constants of
`lsdt.policies.mean_posterior` were chosen on other seeds. The table is in docs/handbook/live.md.
"""

from __future__ import annotations

import sys
import warnings
from time import process_time

import numpy as np

import lsdt

SEED = 120_000
LOOKS = (100, 400, 2_000)
POLICIES = ("lsdt_closure", "soft_closure", "ts")
BINS = ((0.0, 0.5), (0.5, 0.85), (0.85, 0.95), (0.95, 1.01))


def uniform(rng, low=0.1, high=0.9):
    """Click rates without any pattern."""
    return rng.uniform(low, high, 24)


def clustered(rng):
    """Five groups of arms that are alike."""
    return np.clip(rng.uniform(0.1, 0.9, 5)[rng.integers(0, 5, 24)] + rng.normal(0.0, 0.03, 24), 0.01, 0.99)


def bell(rng):
    """Few arms at the ends, most in the middle."""
    return np.clip(rng.normal(0.5, 0.15, 24), 0.02, 0.98)


# What the means are like, the share of the relations that is known, epsilon, sigma (None for clicks).
KINDS = {
    "uniform, all relations": (uniform, 1.0, 0.1, None),
    "uniform, half of them": (uniform, 0.5, 0.1, None),
    "uniform, a fifth": (uniform, 0.2, 0.1, None),
    "rare clicks, half": (lambda rng: uniform(rng, 0.02, 0.12), 0.5, 0.02, None),
    "clustered, half": (clustered, 0.5, 0.1, None),
    "bell, half": (bell, 0.5, 0.1, None),
    "Gaussian, half": (uniform, 0.5, 0.1, 0.5),
}


def looks(kind, number):
    """Yield for each look: how sure it is, whether it is right, the share of intervals that hold, seconds."""
    means_of, share, epsilon, sigma = KINDS[kind]
    rng = np.random.default_rng([SEED, number])
    means = means_of(rng)
    side = lsdt.from_means(means, epsilon).reveal(share, share, seed=number)
    law = "bernoulli" if sigma is None else lsdt.rewards.gaussian(sigma=sigma)
    policy = POLICIES[number % 3]
    if sigma is not None and policy == "ts":
        policy = "ts_gaussian"
    agent = lsdt.Agent(side, policy=policy, rewards=law, seed=number)
    for until in LOOKS:
        while agent.n_told < until:
            decision = agent.ask()
            mean = means[decision.arm]
            agent.tell(decision, rng.random() < mean if sigma is None else mean + sigma * rng.normal())
        began = process_time()
        best = agent.best()
        seconds = process_time() - began
        frame = agent.to_frame()
        held = ((frame["low"] <= means) & (means <= frame["high"])).mean()
        yield best.certainty, best.arm_id == means.argmax(), held, seconds, "relations and" in best.text


def main() -> None:
    """Print how often it was right, by how sure it was and by kind of problem."""
    warnings.simplefilter("ignore")
    n_problems = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    rows = []
    for at, kind in enumerate(KINDS):
        rows += [(at, *look) for number in range(n_problems) for look in looks(kind, number)]
        _, sure, right, held, seconds, by_relations = np.array([row for row in rows if row[0] == at], float).T
        print(
            f"{kind:24} {len(sure):4} looks: sure {sure.mean():.2f}, right {right.mean():.2f}, 95% intervals "
            f"hold {held.mean():.3f}, {np.median(seconds):.3f} s, by relations {by_relations.mean():.3f}",
            flush=True,
        )
    _, sure, right, held, _, _ = np.array(rows, float).T
    for low, high in BINS:
        here = (low <= sure) & (sure < high)
        print(f"{low} to {high}: {here.sum()} looks, {sure[here].mean():.3f}, {right[here].mean():.3f}")
    print(f"95% intervals hold {held.mean():.3f}")


if __name__ == "__main__":
    main()
