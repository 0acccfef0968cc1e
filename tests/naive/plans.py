"""Plans checked the slow way: relations one by one, and tries one at a time."""

from __future__ import annotations

import numpy as np

import lsdt


def broken(side, means):
    """Return the pairs whose relation the means do not satisfy."""
    found = []
    for a in range(side.n_arms):
        for b in range(a):
            apart, relation = abs(means[a] - means[b]), side.relation(side.label(a), side.label(b))
            if relation == "similar" and apart >= side.epsilon + 1e-12:
                found.append((a, b))
            if relation == "dissimilar" and apart < side.epsilon - 1e-12:
                found.append((a, b))
            low, high = side.difference(side.label(a), side.label(b)) if side.ranges is not None else (-9, 9)
            if not low - 1e-12 <= means[a] - means[b] <= high + 1e-12:
                found.append((a, b))
    return found


def tries_until_known(side, means, tolerance, delta, seed):
    """Return after how many tries of an agent that plays ``'identify'`` the best arm is known."""
    agent = lsdt.Agent(side, lsdt.Policy("identify", tolerance=tolerance), rewards="bernoulli", seed=seed)
    rng = np.random.default_rng(seed)
    tries = 0
    while not agent.stopping(delta, tolerance).stop:
        decision = agent.ask()
        agent.tell(decision, float(rng.random() < means[decision.arm]))
        tries += 1
    return tries
