"""How many tries `lsdt.identify` takes at most, whatever the rewards are: docs/theory/stopping.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lsdt._validation import checked_number, checked_share_inside, checked_spread, checked_whole, checked_word
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

_GRACE = 14  # forced exploration lags 12 plays behind; two more cover the rounds that it takes to catch up
_LOOKS = 100  # `identify` looks at the rule whenever tries have grown by one part in this many
# What the code certifies is a little less evidence than there is: rounding, and the rest of the last Newton
# step, are taken off. In 2,114 random cases that was at most a millionth; this is a thousand times as much.
_TAKEN_OFF = 1e-3
_LEAST = 1e-100  # the smallest tolerance, as a share of sigma: squares of smaller ones are 0


def most_tries(
    n_candidates: int,
    tolerance: float,
    delta: float = 0.05,
    rewards: str = "gaussian",
    sigma: float = 1.0,
) -> int:
    """Return after how many tries ``identify`` has stopped, whatever the rewards are.

    The rule says stop after K (n + 14)^2 tries at the latest, with K candidates, n the number of plays of
    each that is always enough evidence. `lsdt.identify` looks at the rule whenever tries have grown by 1%,
    which is added. Arms are tried one at a time. This is a worst case, quadratic in log(1 / delta), and
    mostly far above what is observed.

    Parameters
    ----------
    n_candidates : int
        Number of candidates.
    tolerance : float
        How far below the best arm the one found may lie.
    delta : float
        The accepted probability of finding an arm that is not good enough.
    rewards : {'gaussian', 'bernoulli'}
        ``'gaussian'`` for sub-Gaussian rewards, ``'bernoulli'`` for any rewards in [0, 1].
    sigma : float
        Sub-Gaussian parameter; not used for rewards in [0, 1].

    Examples
    --------
    >>> import lsdt
    >>> lsdt.theory.most_tries(5, tolerance=.5, rewards="bernoulli")
    44620
    >>> side = lsdt.from_means([.1, .3, .5, .7, .9], epsilon=.3)
    >>> problem = lsdt.problems.given([.1, .3, .5, .7, .9], side, "bernoulli")
    >>> lsdt.identify(problem, tolerance=.5).tries < 100
    True
    """
    n_arms = checked_whole(n_candidates, "n_candidates", 1)
    checked_word(rewards, "rewards", ("gaussian", "bernoulli"))
    sigma, tolerance = checked_spread(sigma, "sigma"), checked_number(tolerance, "tolerance", above=0.0)
    apart = tolerance if rewards == "bernoulli" else tolerance / sigma
    if apart < _LEAST:
        raise InvalidInput(
            f"tolerance must be at least {_LEAST:g}, for Gaussian rewards times sigma; got {tolerance:g}"
        )
    square = min(apart, 1.0 / _LEAST) ** 2
    share = min(0.5, 4.0 / n_arms)
    needed = -math.log(checked_share_inside(delta, "delta")) - math.log(share)
    needed -= n_arms * math.log1p(-share)

    def evidence(plays: int) -> float:
        if rewards == "bernoulli":
            return 0.5 * plays * square - 0.5 * math.log(math.pi * (plays + 0.5))
        return plays * square * (plays / (plays + 1)) / 8.0 - 0.5 * math.log1p(plays)

    needed += _TAKEN_OFF * (1.0 + needed)
    stopped = n_arms * (_least(evidence, needed) + _GRACE) ** 2
    before = stopped - 1  # the last look that may still say "not yet"
    return before + max(before // _LOOKS, 1)


def _least(evidence: Callable[[int], float], needed: float) -> int:
    """Return the least number of plays with enough evidence; the function falls first, and then rises."""
    most = 1
    while evidence(most) < needed:
        most *= 2
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        if evidence(middle) >= needed:
            most = middle
        else:
            least = middle
    return most
