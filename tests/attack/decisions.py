"""The first decisions of policies, printed as JSON: with compiled code, or by the interpreter alone.

Run as ``python -m attack.decisions POLICY ...``; ``NUMBA_DISABLE_JIT=1`` gives the interpreter's.
"""

from __future__ import annotations

import json
import sys

import numpy as np

import lsdt
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel

ROUNDS = 30
MEANS = np.array([0.2, 0.55, 0.35, 0.8])  # few arms: most decisions come after each was played once


def decisions(policy: str) -> list[int]:
    """Return the arms that a policy plays first."""
    side = lsdt.from_means(MEANS, 0.3)
    start = lsdt.Policy(policy).begin(side, RewardModel("gaussian", 1.0), 300, new_stream(1))
    noise = np.random.default_rng(2).normal(size=ROUNDS)
    played = []
    for t in range(ROUNDS):
        chosen = start.player.select()
        played.append(int(start.arms[chosen]))
        start.player.update(chosen, float(MEANS[played[-1]] + noise[t]))
    return played


if __name__ == "__main__":
    sys.stdout.write(json.dumps({policy: decisions(policy) for policy in sys.argv[1:]}) + "\n")
