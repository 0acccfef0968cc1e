"""Which pairs to ask about when answers are ranges: which arm is better, and by about how much.

Ranges add up along chains of pairs. So every arm is compared with a champion, the arm with the best lower
bound; then all are on one scale, and an arm that lies below the champion is out. No way of asking excludes
more arms than there are answers: the answered pairs form a graph, and at least one arm of every connected
component is left.

Among the arms that are left, ask about the two whose order the answer is most likely to decide. Suppose that
their difference is uniform between its bounds, and that an answer is a range of the usual width 2 w,
uniformly placed around the difference. Then it tells a difference d from 0 with probability min(|d| / (2 w),
1). If no such pair is open, excluded arms with narrow bounds serve as rulers: the answer is then effectively
wider by the width of the ruler's own bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.identification.questions.known_pairs import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# These rank questions; they never decide which arms are excluded. Guesses for the time before the first
# answers, and limits that keep a batch about 10^4 arms below a second (docs/performance.md).
_STEPS = 30  # pairs in a row along which ranges are added up; bounds along longer chains are wide anyway
_SPREAD = 1.0  # how far apart means may be, before anything is known: rewards are often in [0, 1]
_SHARE = 0.1  # half the width of an answer, as a share of the spread, before there are answers
_MOST_LEFT = 60  # arms that are compared with one another: 1,770 pairs
_MOST_RULERS = 20  # excluded arms that serve as rulers, for each of the arms above
_FAVOUR = 1.05  # prefers the champion among equals: arms compared with it are on its scale


class Differences(NamedTuple):
    """Known bounds on differences: ``low[i] <= mean of pairs[i, 0] - mean of pairs[i, 1] <= high[i]``.

    `asked` are the pairs that need no question; `half_width` is half the usual width of an answer, None if
    there are no answers with two ends.
    """

    n_arms: int
    pairs: NDArray[np.int64]
    low: Floats
    high: Floats
    asked: NDArray[np.int64]
    half_width: float | None


def range_questions(now: Differences, left: NDArray[np.int64]) -> list[Question]:
    """Return questions that may exclude some of the arms `left`, best first."""
    if len(left) < 2:
        return []
    champion = _champion(now, left)
    low, high = bounds_from(champion, now)
    known = np.isfinite(low) & np.isfinite(high)
    spread = _spread(low[known], high[known])
    half = _SHARE * spread if now.half_width is None else now.half_width
    asked = set(_key(now.asked, now.n_arms).tolist())
    low, high = np.maximum(low, -spread), np.minimum(high, spread)
    found = []
    others = left[left != champion]
    open_ = ~np.isin(_key(np.stack([others, np.full_like(others, champion)], 1), now.n_arms), list(asked))
    others = others[open_]
    chances = _FAVOUR * chance(low[others], high[others], half)
    for arm, gain in zip(others.tolist(), np.minimum(chances, 1.0).tolist(), strict=True):
        found.append(Question(arm, champion, gain, "champion"))
    found += _among_left(now, left[known[left]], champion, (low, high), half, asked)
    return _spread_out(sorted(found, key=lambda one: -one.gain), champion)


def bounds_from(arm: int, now: Differences) -> tuple[Floats, Floats]:
    """Return lower and upper bounds on every mean minus that of `arm`, infinite where nothing is known."""
    first, second = now.pairs[:, 0], now.pairs[:, 1]
    start, end = np.concatenate([second, first]), np.concatenate([first, second])
    most, least = np.concatenate([now.high, -now.low]), np.concatenate([now.low, -now.high])
    low, high = np.full(now.n_arms, -np.inf), np.full(now.n_arms, np.inf)
    low[arm] = high[arm] = 0.0
    for _step in range(_STEPS):
        new_low, new_high = low.copy(), high.copy()
        np.maximum.at(new_low, end, low[start] + least)
        np.minimum.at(new_high, end, high[start] + most)
        if np.array_equal(new_low, low) and np.array_equal(new_high, high):
            break
        low, high = new_low, new_high
    return low, high


def chance(low: Any, high: Any, half_width: Any) -> Any:
    """Return the probability that an answer tells which of two arms is better; 0 if that is known.

    Their difference lies between `low` and `high`; see the top of this module.
    """
    width = np.maximum(np.subtract(high, low), 1e-300)
    above, below = np.clip(high, 0.0, None), np.clip(np.negative(low), 0.0, None)
    told = (_told(above, half_width) + _told(below, half_width)) / width
    settled = (np.asarray(low) >= 0.0) | (np.asarray(high) <= 0.0)
    return np.where(settled, 0.0, np.minimum(told, 1.0))


def _told(distance: Any, half: Any) -> Any:
    """Return the integral of min(d / (2 w), 1) over d from 0 to `distance`, where w is `half`."""
    near = distance**2 / np.maximum(4.0 * np.asarray(half), 1e-300)
    return np.where(distance <= 2.0 * np.asarray(half), near, distance - half)


def _champion(now: Differences, left: NDArray[np.int64]) -> int:
    """Return the arm of `left` with the best lower bound, relative to the arm with the most relations."""
    n_known = np.bincount(now.pairs.ravel(), minlength=now.n_arms)
    low, _high = bounds_from(int(n_known.argmax()), now)
    best = left[np.lexsort((-n_known[left], -low[left]))[0]]
    return int(best)


def _spread(low: Floats, high: Floats) -> float:
    """Return an estimate of how far apart the means are, from bounds on them."""
    if len(low) < 3:
        return _SPREAD
    middle = (low + high) / 2.0
    return max(float(np.ptp(middle)), float((high - low).max()), 1e-12)


def _key(pairs: NDArray[np.int64], n_arms: int) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = pairs.min(axis=1) * n_arms + pairs.max(axis=1)
    return keys


def _among_left(
    now: Differences,
    left: NDArray[np.int64],
    champion: int,
    bounds: tuple[Floats, Floats],
    half: float,
    asked: set[int],
) -> list[Question]:
    """Return questions about two arms that are left, and about one of these and a ruler."""
    low, high = bounds
    top = left[left != champion]
    top = top[np.argsort(-high[top], kind="stable")][:_MOST_LEFT]
    found = []
    first, second = (top[places] for places in np.triu_indices(len(top), 1))
    gains = chance(low[first] - high[second], high[first] - low[second], half)
    for arm, other, gain in zip(first.tolist(), second.tolist(), gains.tolist(), strict=True):
        if min(arm, other) * now.n_arms + max(arm, other) not in asked:
            found.append(Question(arm, other, gain, "end"))
    is_ruler = np.isfinite(low) & np.isfinite(high)
    is_ruler[left] = False
    rulers = np.flatnonzero(is_ruler)
    width = high - low
    rulers = rulers[np.argsort(width[rulers], kind="stable")][:_MOST_RULERS]
    for ruler in rulers.tolist():
        gains = chance(low[top], high[top], half + width[ruler] / 2.0)
        for arm, gain in zip(top.tolist(), gains.tolist(), strict=True):
            if min(arm, ruler) * now.n_arms + max(arm, ruler) not in asked:
                found.append(Question(arm, ruler, gain / 2.0, "ruler"))
    return found


def _spread_out(found: list[Question], champion: int) -> list[Question]:
    """Return questions reordered so that one batch is about different arms, as far as possible.

    An arm is likely to be decided by the best question about it, so each further question about the same arm
    is worth half as much. The champion does not count.
    """
    used = {champion: -(10**9)}
    worth = []
    for one in found:
        turn = max(used.get(one.first, 0), used.get(one.second, 0))
        for arm in (one.first, one.second):
            used[arm] = used.get(arm, 0) + 1
        worth.append(one._replace(gain=one.gain * 0.5 ** min(turn, 60)))
    return sorted(worth, key=lambda one: -one.gain)
