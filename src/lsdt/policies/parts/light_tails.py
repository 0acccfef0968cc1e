"""Light tails: the second width of the index, for means of few sub-exponential rewards.

Rewards are sub-exponential with parameters sigma and b if E exp(x (X - mean)) <= exp(sigma^2 x^2 / 2) for
all |x| < 1 / b; b = 0 is sub-Gaussian. The mean of n of them is above its expectation by x with probability
at most exp(-n min(x^2 / (2 sigma^2), x / (2 b))) (Wainwright, *High-Dimensional Statistics*, 2019,
Proposition 2.9, for the mean of n). So it is above by max(sigma sqrt(2 L / n), 2 b L / n) with probability at
most exp(-L).

The paper's indices have L = 4 log t, which makes max(sqrt(alpha log t / n), 8 b log t / n) with alpha =
8 sigma^2. The pooled bounds of LSDT-PSI have L = log(T 4^-m), which makes max(sqrt(beta L / n), 2 b L / n)
with beta = 2 sigma^2.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from lsdt._validation import LARGEST_REWARD
from lsdt.kernel import Array, compiled, inlined, safe_sqrt
from lsdt.policies import specification
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import Choice, Number

if TYPE_CHECKING:
    from lsdt.kernel import Allowed

TAILS = Choice(
    "tails",
    "sub_gaussian",
    "tails of the rewards: these say what sigma and b are by default, and 'heavy' plays by truncated means",
    ("sub_gaussian", "light", "heavy"),
    contest_words=("heavy",),
    truncating_words=("heavy",),
)
NOT_HEAVY = ("tails", ("sub_gaussian", "light"))
SIGMA = replace(
    specification.SIGMA,
    meaning="sub-Gaussian parameter of the rewards, first of two for light tails; by default the problem's",
    derive=lambda rewards, values: rewards.tails.nu if values["tails"] == "light" else rewards.sigma,
    goes_with=NOT_HEAVY,
)
B = Number(
    "b",
    None,
    "second sub-exponential parameter of the rewards; by default 0, and the problem's for light tails",
    lambda rewards, values: rewards.tails.b if values["tails"] == "light" else 0.0,
    at_least=0.0,
    at_most=LARGEST_REWARD,
    goes_with=NOT_HEAVY,
)


@inlined
def light_width(alpha: float, b: float, level: float, isq: float) -> float:
    """Return the width of an index at ``level = log t``; `isq` is one over the root of the count."""
    return max(safe_sqrt(alpha * level) * isq, 8.0 * b * level * isq * isq)


@compiled
def argmax_light(means: Array, isq: Array, x: float, y: float, allowed: Allowed) -> int:
    """Return the arm with the largest ``mean + max(x isq, y isq^2)``, the lowest one if there are several."""
    best, highest = 0, -math.inf
    for arm in range(len(means)):
        index = means[arm] + max(x * isq[arm], y * isq[arm] * isq[arm])
        if index > highest and is_allowed(allowed, arm):
            best, highest = arm, index
    return best
