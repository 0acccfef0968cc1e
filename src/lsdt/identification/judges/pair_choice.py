"""Which pairs to show to a judge, and in which order.

Let w be the probability of each arm to be the best. What matters is how the strengths of arms with a large w
differ, so uncertainty is the variance of strengths within one draw, weighted by w:

    J = sum over i of w_i Var(strength_i - sum over j of w_j strength_j).

An answer about a pair is expected to shrink the variance v of its perceived difference x to v - k v^2, and
the covariance C of everything by k (C u)(C u)^T, where x = u^T (strengths, position effect). So it is
expected to lower J by k times the variance, under w, of the numbers (C u)_i. The pair that lowers it most is
asked: often not two favourites, which the judge might call equal, but a favourite and an arm at the distance
where the judge's answer changes. The same computation weighs both orders of a pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.identification.judges.judge_model import difference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.identification.judges.judge_model import JudgeLaw

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_ROUNDS = 8  # a batch is chosen in this many rounds at most; within a round, pairs have no arm in common
_REVERSED = 0.5  # the gain of asking a pair the other way round: a judge's error about a pair may persist
_MOST_PRICED = 1_000  # calls of the user's cost function per round, which may be slow: only the best pairs
_MOST_CERTAIN = 0.9  # share of the variance of x that one answer may be expected to remove


class Pool(NamedTuple):
    """Arms to choose from: their joint distribution (`StrengthPosterior`), and how likely each is best."""

    arms: Ints
    mean: Floats
    covariance: Floats
    weight: Floats


class Chosen(NamedTuple):
    """A pair to show in this order, the share of uncertainty that the answer may remove, and its cost."""

    first: int
    second: int
    gain: float
    cost: float


def choose_pairs(
    pool: Pool,
    law: JudgeLaw,
    n: int,
    asked: set[tuple[int, int]],
    pending: list[tuple[int, int]],
    cost: Callable[[int, int], float] | None,
) -> list[Chosen]:
    """Return up to `n` pairs, best first, without those in `asked` and those that are `pending`.

    An answer that is pending, or asked for in the same batch, counts with the information expected of it.
    """
    found: list[Chosen] = []
    covariance = pool.covariance.copy()
    place = {arm: row for row, arm in enumerate(pool.arms.tolist())}
    closed = [(place[a], place[b]) for a, b in asked if a in place and b in place]
    expected = [(place[a], place[b]) for a, b in pending if a in place and b in place]
    gain, shrinkage = _gains(pool, covariance, law)
    while True:
        if expected:
            for a, b in expected:
                along = covariance[a] - covariance[b] + covariance[-1]
                spread = along[a] - along[b] + along[-1]
                covariance -= min(shrinkage[a, b], _MOST_CERTAIN / spread) * np.outer(along, along)
            closed += expected
            gain, shrinkage = _gains(pool, covariance, law)
        if closed:
            first, second = np.array(closed).T
            gain[second, first] *= _REVERSED
            gain[first, second] = 0.0
        step = _disjoint(gain, pool, -(-n // _ROUNDS), n - len(found), cost)
        found += [Chosen(int(pool.arms[a]), int(pool.arms[b]), worth, price) for a, b, worth, price in step]
        if not step or len(found) >= n:
            return found
        expected = [(a, b) for a, b, _, _ in step]


def _gains(pool: Pool, covariance: Floats, law: JudgeLaw) -> tuple[Floats, Floats]:
    """Return, for all ordered pairs of rows, the expected share of J that an answer removes, and k."""
    n_arms = len(pool.arms)
    first, second = np.arange(n_arms)[:, None], np.arange(n_arms)[None, :]
    mean, variance = difference(pool.mean, covariance, first, second)
    shrinkage = law.information(mean, variance)
    likely = np.flatnonzero(pool.weight)
    weight = pool.weight[likely] / pool.weight.sum()
    rows = covariance[likely]
    centred = np.sqrt(weight)[:, None] * (rows - weight @ rows)
    arms, last = centred[:, :-1], centred[:, -1]
    product, with_last = arms.T @ arms, arms.T @ last
    own = np.diag(product)
    lowered = own[:, None] + own[None, :] - 2.0 * product + last @ last
    lowered += 2.0 * (with_last[:, None] - with_last[None, :])
    total = float((weight * np.diag(covariance)[likely]).sum() - weight @ rows[:, likely] @ weight)
    gain = shrinkage * lowered / max(total, 1e-12)
    np.fill_diagonal(gain, 0.0)
    return np.minimum(gain, 1.0), shrinkage


def _disjoint(
    gain: Floats, pool: Pool, most: int, room: int, cost: Callable[[int, int], float] | None
) -> list[tuple[int, int, float, float]]:
    """Return the best rows of pairs that have no arm in common, at most `most`, by gain per cost."""
    n_arms = len(pool.arms)
    limit = min(_MOST_PRICED if cost is not None else 2 * n_arms * min(most, room), gain.size)
    best = np.argpartition(-gain, limit - 1, axis=None)[:limit]
    best = best[gain.ravel()[best] > 0.0]
    rows = []
    for flat, worth in zip(best.tolist(), gain.ravel()[best].tolist(), strict=True):
        a, b = divmod(flat, n_arms)
        price = 1.0 if cost is None else cost(int(pool.arms[a]), int(pool.arms[b]))
        rows.append((-worth / price, a, b, worth, price))
    found: list[tuple[int, int, float, float]] = []
    used: set[int] = set()
    for _, a, b, worth, price in sorted(rows):
        if len(found) == min(most, room):
            break
        if a not in used and b not in used:
            used |= {a, b}
            found.append((a, b, worth, price))
    return found
