"""Published ways to find the best arm without relations; many runs at once, in arrays (run, arm).

All of them look for an arm within a tolerance of the best, with an error of at most delta:

- successive elimination (Even-Dar, Mannor, Mansour 2006),
- LUCB (Kalyanakrishnan, Tewari, Auer, Stone 2012) and KL-LUCB (Kaufmann, Kalyanakrishnan 2013),
- Track-and-Stop (Garivier, Kaufmann 2016), D-tracking, with the weights of Gaussian rewards,
- top-two Thompson sampling (Russo 2016), the challenger by transport cost (Shang and others 2020).

The last two stop by the generalised likelihood ratio, with the threshold of Kaufmann and Koolen (2021). Each
choice is repeated for a thousandth of the tries so far, so that a run takes some thousand steps. Repeating
costs tries, since an arm may get more plays at once than it needs: with a hundredth, it costs up to three
times as many tries on all of 100 arms, and up to 40% more on candidates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.identification.rules.coins_kernel import (
    coin_transport_costs,
    highest_rivals,
    lower_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

_PART = 1_000  # a choice is repeated (tries so far) / _PART times; the text above says what that costs
_MOST_STEPS = 30  # of Newton's method: far more than it needs, as it converges quadratically
_SAME = 1e-12  # relative step at which Newton's method stops: some thousand rounding errors


class Runs(NamedTuple):
    """Unfinished runs: plays and rewards of arms, which arms exist, the reward law, tolerance and delta."""

    counts: Reals
    sums: Reals
    there: NDArray[np.bool_]
    family: str
    sigma: float
    tolerance: float
    delta: float
    rng: np.random.Generator

    @property
    def means(self) -> Reals:
        """The empirical means; minus infinity where a run has fewer arms than others."""
        return np.where(self.there, self.sums / np.maximum(self.counts, 1.0), -math.inf)

    @property
    def tries(self) -> Reals:
        """The number of tries of every run."""
        total: Reals = self.counts.sum(axis=1)
        return total

    @property
    def sizes(self) -> Reals:
        """The number of arms of every run."""
        size: Reals = self.there.sum(axis=1).astype(np.float64)
        return size

    @property
    def steps(self) -> Reals:
        """How often a choice is repeated."""
        return np.maximum(self.tries // _PART, 1.0)


class NextPlays(NamedTuple):
    """How often every arm is played next, which arm leads, and whether the run stops and names it."""

    plays: Reals
    leader: NDArray[np.int64]
    stop: NDArray[np.bool_]


class FinishedRuns(NamedTuple):
    """The number of tries of every run, the arm it named, and whether it stopped in time."""

    tries: Reals
    named: NDArray[np.int64]
    stopped: NDArray[np.bool_]


def play_rule(
    rule: Callable[[Runs], NextPlays],
    means: Reals,
    family: str,
    sigma: float,
    tolerance: float,
    delta: float,
    most: int,
    seed: Any,
) -> FinishedRuns:
    """Play until every run stops or has had `most` tries; a mean of NaN marks a missing arm.

    Examples
    --------
    >>> import numpy as np
    >>> from lsdt.identification.rules.without_relations import lucb, play_rule
    >>> outcome = play_rule(lucb, np.array([[.1, .9]] * 5), "gaussian", 1., .1, .05, 10_000, 0)
    >>> outcome.named.tolist()
    [1, 1, 1, 1, 1]
    """
    n_runs = len(means)
    rng, there = np.random.default_rng(seed), np.isfinite(means)
    true = np.where(there, means, 0.0)
    counts, sums = np.zeros_like(true), np.zeros_like(true)
    tries, named, stopped = np.zeros(n_runs), np.zeros(n_runs, np.int64), np.zeros(n_runs, bool)
    left = np.arange(n_runs)
    _pay(counts, sums, true, left, there.astype(np.float64), family, sigma, rng)
    while len(left):
        runs = Runs(counts[left], sums[left], there[left], family, sigma, tolerance, delta, rng)
        plays, leader, stop = rule(runs)
        tries[left], named[left], stopped[left] = runs.tries, leader, stop
        going = ~stop & (runs.tries < most)
        left, plays = left[going], plays[going]
        _pay(counts, sums, true, left, plays, family, sigma, rng)
    return FinishedRuns(tries, named, stopped)


def _pay(
    counts: Reals,
    sums: Reals,
    true: Reals,
    left: NDArray[np.int64],
    plays: Reals,
    family: str,
    sigma: float,
    rng: np.random.Generator,
) -> None:
    """Draw the rewards of this many plays of every arm in the runs `left`, and add them up."""
    rows, arms = np.nonzero(plays)
    times, at = plays[rows, arms], (left[rows], arms)
    if family == "bernoulli":
        paid = rng.binomial(times.astype(np.int64), true[at]).astype(np.float64)
    else:
        paid = times * true[at] + sigma * np.sqrt(times) * rng.standard_normal(len(times))
    counts[at] += times
    sums[at] += paid


def _one(runs: Runs, arms: NDArray[np.int64]) -> Reals:
    """Return an array with 1 at one arm of every run, and 0 elsewhere."""
    flags = np.zeros_like(runs.counts)
    flags[np.arange(len(arms)), arms] = 1.0
    return flags


def _take(values: Reals, arms: NDArray[np.int64]) -> Reals:
    taken: Reals = values[np.arange(len(arms)), arms]
    return taken


# ---------------------------------------------------------------- confidence intervals


def elimination(runs: Runs) -> NextPlays:
    """Play all arms that may be the best in turn; an arm is eliminated if its interval is below another's."""
    means, n = runs.means, np.maximum(runs.counts, 1.0)
    level = np.log(4.0 * runs.sizes[:, None] * n**2 / runs.delta)
    width = runs.sigma * np.sqrt(2.0 * level / n)
    low, high = means - width, means + width
    leader = means.argmax(axis=1)
    alive = runs.there & (high >= low.max(axis=1, keepdims=True))
    rivals = np.where(_one(runs, leader) > 0.0, -math.inf, high)
    stop = rivals.max(axis=1) - _take(low, leader) <= runs.tolerance
    rounds = np.maximum(n.max(axis=1, keepdims=True) // _PART, 1.0)
    return NextPlays(alive * rounds, leader, stop)


def lucb(runs: Runs) -> NextPlays:
    """Play the leader and the arm with the highest upper bound among the others."""
    level = np.log(1.25 * runs.sizes * runs.tries**4 / runs.delta)[:, None]
    width = runs.sigma * np.sqrt(2.0 * level / np.maximum(runs.counts, 1.0))
    return _by_bounds(runs, runs.means - width, runs.means + width)


def kl_lucb(runs: Runs) -> NextPlays:
    """Play as LUCB does, with bounds by Kullback-Leibler divergence, alpha = 1.1 and k = 405.5."""
    level = np.log(405.5 * runs.sizes * runs.tries**1.1 / runs.delta)
    level = (level + np.log(np.maximum(level, 1.0)))[:, None] / np.maximum(runs.counts, 1.0)
    if runs.family != "bernoulli":
        width = runs.sigma * np.sqrt(2.0 * level)
        return _by_bounds(runs, runs.means - width, runs.means + width)
    means = runs.means
    leader = means.argmax(axis=1)
    rival, high = highest_rivals(means, level, leader)
    low = lower_bounds(_take(means, leader), _take(level, leader))
    return _leader_and_rival(runs, leader, rival, high - low <= runs.tolerance)


def _by_bounds(runs: Runs, low: Reals, high: Reals) -> NextPlays:
    leader = runs.means.argmax(axis=1)
    rivals = np.where(_one(runs, leader) > 0.0, -math.inf, high)
    stop = rivals.max(axis=1) - _take(low, leader) <= runs.tolerance
    return _leader_and_rival(runs, leader, rivals.argmax(axis=1), stop)


def _leader_and_rival(
    runs: Runs, leader: NDArray[np.int64], rival: NDArray[np.int64], stop: NDArray[np.bool_]
) -> NextPlays:
    plays = np.maximum(_one(runs, leader), _one(runs, rival))
    return NextPlays(plays * np.maximum(runs.steps // 2, 1.0)[:, None], leader, stop)


# ---------------------------------------------------------------- likelihood ratios


def transport_costs(runs: Runs, leader: NDArray[np.int64]) -> Reals:
    """Return the log-likelihood ratio against every arm being better than the leader by the tolerance."""
    means, n = np.where(runs.there, runs.means, 0.0), np.maximum(runs.counts, 1.0)
    if runs.family == "bernoulli":
        coins: Reals = coin_transport_costs(n, means, runs.there, leader, runs.tolerance)
        return coins
    top, n_top = _take(means, leader)[:, None], _take(n, leader)[:, None]
    gap = np.maximum(top - means + runs.tolerance, 0.0)
    costs = gap**2 / (2.0 * runs.sigma**2 * (1.0 / n + 1.0 / n_top))
    costs = np.where(runs.there, costs, math.inf)
    costs[np.arange(len(leader)), leader] = math.inf
    return costs


def _is_known(runs: Runs, leader: NDArray[np.int64], costs: Reals) -> NDArray[np.bool_]:
    n = np.maximum(runs.counts, 1.0)
    x = 0.5 * np.log(np.maximum(runs.sizes - 1.0, 1.0) / runs.delta)
    threshold = 2.0 * (x + 4.0 * np.log1p(x + np.sqrt(2.0 * x)))[:, None]
    threshold = threshold + 3.0 * (np.log1p(np.log(n)) + np.log1p(np.log(_take(n, leader)))[:, None])
    return np.asarray((costs >= threshold).all(axis=1), np.bool_)


def track_and_stop(runs: Runs) -> NextPlays:
    """Play the arm furthest behind the optimal proportions at the empirical means, or a rarely played arm."""
    leader = runs.means.argmax(axis=1)
    weights = oracle_weights(runs, leader)
    missing = np.where(runs.there, runs.tries[:, None] * weights - runs.counts, -math.inf)
    rare = np.where(runs.there, runs.counts, math.inf)
    forced = rare.min(axis=1) < np.sqrt(runs.tries) - 0.5 * runs.sizes
    chosen = np.where(forced, rare.argmin(axis=1), missing.argmax(axis=1))
    stop = _is_known(runs, leader, transport_costs(runs, leader))
    return NextPlays(_one(runs, chosen) * runs.steps[:, None], leader, stop)


def oracle_weights(runs: Runs, leader: NDArray[np.int64]) -> Reals:
    """Return the optimal proportions for Gaussian rewards: x_a = y / (half_a - y), scaled.

    Here half_a = (gap_a + tolerance)^2 / 2, and y makes sum x_a^2 = 1 over the rivals; the leader has x = 1.
    """
    means = np.where(runs.there, runs.means, -math.inf)
    half = 0.5 * (_take(means, leader)[:, None] - means + runs.tolerance) ** 2
    rivals = runs.there & (_one(runs, leader) == 0.0)
    half = np.where(rivals, half, math.inf)
    least = half.min(axis=1, keepdims=True)
    # The sum of squares is convex in y, and at least 1 at half of the least half_a, where Newton's method
    # starts: its steps descend to the root.
    y = 0.5 * np.where(np.isfinite(least), least, 1.0)
    for _ in range(_MOST_STEPS):
        shares = y / (half - y)
        squares = shares**2
        slope = 2.0 * (squares * (1.0 + shares)).sum(axis=1, keepdims=True) / y
        step = (squares.sum(axis=1, keepdims=True) - 1.0) / np.where(slope > 0.0, slope, math.inf)
        if not (step > _SAME * y).any():
            break
        y = y - np.maximum(step, 0.0)
    shares = np.where(rivals, y / (half - y), 0.0) + _one(runs, leader)
    weights: Reals = shares / shares.sum(axis=1, keepdims=True)
    return weights


def top_two(runs: Runs) -> NextPlays:
    """Play the arm that is best in a draw from the posterior, or, half of the time, its strongest rival."""
    n = np.maximum(runs.counts, 1.0)
    if runs.family == "bernoulli":
        draws = runs.rng.beta(1.0 + runs.sums, 1.0 + np.maximum(runs.counts - runs.sums, 0.0))
    else:
        draws = runs.sums / n + runs.sigma / np.sqrt(n) * runs.rng.standard_normal(n.shape)
    first = np.where(runs.there, draws, -math.inf).argmax(axis=1)
    second = transport_costs(runs, first).argmin(axis=1)
    chosen = np.where(runs.rng.random(len(first)) < 0.5, first, second)
    leader = runs.means.argmax(axis=1)
    stop = _is_known(runs, leader, transport_costs(runs, leader))
    return NextPlays(_one(runs, chosen) * runs.steps[:, None], leader, stop)


# By the names that tables show.
RULES: dict[str, Callable[[Runs], NextPlays]] = {
    "successive elimination": elimination,
    "LUCB": lucb,
    "KL-LUCB": kl_lucb,
    "Track-and-Stop": track_and_stop,
    "top-two Thompson sampling": top_two,
}

# By the words that `lsdt.identify_many` takes.
WORDS = {
    "successive_elimination": elimination,
    "lucb": lucb,
    "kl_lucb": kl_lucb,
    "track_and_stop": track_and_stop,
    "top_two": top_two,
}
