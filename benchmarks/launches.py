"""What best() says of launches where clicks are told at once and their absence later.

    python benchmarks/launches.py [RUNS]

Eight banners with click rates between 2 and 12%, 600 decisions, with and without relations (half of them,
epsilon .02). A decision that was not clicked is told 0 after so many further ones. Shown: how sure best()
says it is, how often the arm it names is the best, the same for the runs in which it says 90% or more, and
how often its 95% interval holds the true rate.
"""

from __future__ import annotations

import sys

import numpy as np

import lsdt

ARMS, ASKS, EPSILON = 8, 600, 0.02


def launch(seed, delay, related):
    rng = np.random.default_rng([seed, 5])
    means, late = rng.uniform(0.02, 0.12, ARMS), []
    side = lsdt.from_means(means, EPSILON).reveal(0.5, 0.5, seed=seed) if related else None
    side = side or lsdt.SideInformation(ARMS)
    agent = lsdt.Agent(side, policy="auto" if related else "ts", rewards="bernoulli", seed=seed)
    for _ in range(ASKS):
        decision = agent.ask()
        if rng.random() < means[decision.arm_id]:
            agent.tell(decision, 1)
        else:
            late.append(decision)
        if len(late) > delay:
            agent.tell(late.pop(0), 0)
    best = agent.best()
    truth = means[best.arm_id]
    return best.certainty, truth == means.max(), best.low <= truth <= best.high


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print("| relations | zeros late | says | right | 90% and more | of these right | intervals hold |")
    for related in (False, True):
        for delay in (0, 100, 400):
            found = np.array([launch(seed, delay, related) for seed in range(1_000, 1_000 + runs)], float)
            says, right, holds = found.T
            sure = says >= 0.9
            share = f"{right[sure].mean():.0%}" if sure.any() else "-"
            print(
                f"| {'half' if related else 'none'} | {delay} | {says.mean():.0%} | {right.mean():.0%} "
                f"| {int(sure.sum())} | {share} | {holds.mean():.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
