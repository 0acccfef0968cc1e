"""One run of GRUB: play the widest arm that is left, estimate on the graph, eliminate."""

from __future__ import annotations

import math

from lsdt.kernel import Array, compiled, normal, safe_log, safe_sqrt, uniform

_TIE = 1.0 + 1e-9  # variances that are equal but for rounding go to the lowest arm


@compiled
def run_grub(
    inverse: Array,
    means: Array,
    alive: Array,
    first: Array,
    true: Array,
    is_coin: bool,
    sigma: float,
    tolerance: float,
    delta: float,
    factor: float,
    by_plays: bool,
    bias: float,
    most: int,
    stream: Array,
) -> tuple[int, int, bool]:
    """Return the number of tries, the arm named, and whether it is the only one left.

    `inverse` is the inverse of the weighted Laplacian plus a play of each arm in `first`, which are made
    before any other; it, `means` and `alive` change. Half an interval is ``sqrt(P_ii) (factor sigma
    sqrt(log(2 w / delta)) + bias)``, w the number of arms times the square of the arm's effective plays
    1 / P_ii or, unless `by_plays`, of all tries.
    """
    n_arms = len(true)
    leader = 0
    for tries in range(1, most + 1):
        starting = tries <= len(first)
        if starting:
            arm = first[tries - 1]
        else:
            arm = -1
            for other in range(n_arms):
                if alive[other] and (arm < 0 or inverse[other, other] > _TIE * inverse[arm, arm]):
                    arm = other
        if is_coin:
            reward = 1.0 if uniform(stream) < true[arm] else 0.0
        else:
            reward = true[arm] + sigma * normal(stream)
        if starting:  # the play is in the inverse already: means are that inverse times the sums of rewards
            for other in range(n_arms):
                means[other] += inverse[other, arm] * reward
            continue
        total, error = 1.0 + inverse[arm, arm], reward - means[arm]
        for other in range(n_arms):
            means[other] += inverse[other, arm] / total * error
        for one in range(n_arms):
            if one != arm:
                share = inverse[one, arm] / total
                for other in range(n_arms):
                    inverse[one, other] -= share * inverse[arm, other]
        for other in range(n_arms):  # last, since all others need it
            inverse[arm, other] /= total
        highest = -math.inf
        for other in range(n_arms):
            if alive[other]:
                low = means[other] - half_width(
                    inverse[other, other], n_arms, tries, sigma, delta, factor, by_plays, bias
                )
                if low > highest:
                    leader, highest = other, low
        left = 0
        for other in range(n_arms):
            if alive[other] and other != leader:
                high = means[other] + half_width(
                    inverse[other, other], n_arms, tries, sigma, delta, factor, by_plays, bias
                )
                alive[other] = high > highest + tolerance
                left += alive[other]
        if left == 0:
            return tries, leader, True
    return most, leader, False


@compiled
def half_width(
    variance: float,
    n_arms: int,
    tries: int,
    sigma: float,
    delta: float,
    factor: float,
    by_plays: bool,
    bias: float,
) -> float:
    """Return half the width of an arm's interval."""
    plays = 1.0 / variance if by_plays else float(tries)
    level = max(safe_log(2.0 * n_arms * plays * plays / delta), 0.0)
    return safe_sqrt(variance) * (factor * sigma * safe_sqrt(level) + bias)
