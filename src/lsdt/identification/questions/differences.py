"""Which pairs to ask about when answers are ranges: which arm is better, and by about how much.

Ranges add up along pairs. So every arm is compared with a champion, the arm with the best lower bound; then
all are known on one scale, and out is who lies below the champion. No way of asking excludes more arms than
there are answers: the answered pairs are a graph, and of every piece of it one arm is left.

Of those that are left, ask about the two whose order is likeliest to come out. Let their difference be
anywhere between its bounds, and an answer a range of the usual width 2 w that holds it, anywhere. Then it
tells a difference d from 0 with probability min(|d| / (2 w), 1). Where no such pair is open, arms further
down that are known well serve as a ruler: with them the width is larger by that of their own bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.identification.questions.known_pairs import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STEPS = 30  # pairs in a row along which ranges are added up
_SPREAD = 1.0  # how far apart means may be, while nothing is known
_SHARE = 0.1  # of that, half of the width of an answer, while there is none
_MOST_LEFT = 60  # arms that are compared with one another
_MOST_RULERS = 20
_FAVOUR = 1.05  # for the champion: what is compared with it is known on its scale


class Differences(NamedTuple):
    """What is known of differences: ``low <= mean of pairs[i, 0] - mean of pairs[i, 1] <= high``.

    `asked` are the pairs that need no question; `half_width` is half of the usual width of an answer, or
    None.
    """

    n_arms: int
    pairs: NDArray[np.int64]
    low: Floats
    high: Floats
    asked: NDArray[np.int64]
    half_width: float | None


def range_questions(now: Differences, left: NDArray[np.int64]) -> list[Question]:
    """Return questions about arms, those `left` among them, best first."""
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
    """Return bounds of every mean minus that of one arm, infinite where nothing is known."""
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
    """Return how probable it is that an answer tells which of two arms is better."""
    width = np.maximum(np.subtract(high, low), 1e-300)
    above, below = np.clip(high, 0.0, None), np.clip(np.negative(low), 0.0, None)
    told = (_told(above, half_width) + _told(below, half_width)) / width
    settled = (np.asarray(low) >= 0.0) | (np.asarray(high) <= 0.0)
    return np.where(settled, 0.0, np.minimum(told, 1.0))


def _told(distance: Any, half: Any) -> Any:
    """Return the integral of min(d / (2 w), 1) up to a distance."""
    near = distance**2 / np.maximum(4.0 * np.asarray(half), 1e-300)
    return np.where(distance <= 2.0 * np.asarray(half), near, distance - half)


def _champion(now: Differences, left: NDArray[np.int64]) -> int:
    """Return the arm with the best lower bound, on the scale of the arm with most relations."""
    n_known = np.bincount(now.pairs.ravel(), minlength=now.n_arms)
    low, _high = bounds_from(int(n_known.argmax()), now)
    best = left[np.lexsort((-n_known[left], -low[left]))[0]]
    return int(best)


def _spread(low: Floats, high: Floats) -> float:
    """Return how far apart means seem to be."""
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
    """Return questions about two arms that are left, and about one of them with a ruler."""
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
    """Return questions so that those that are asked at once are about different arms, as far as they go.

    Whoever has a better question already is likely to be out, or in, by that one: the next is worth half.
    """
    used = {champion: -(10**9)}
    worth = []
    for one in found:
        turn = max(used.get(one.first, 0), used.get(one.second, 0))
        for arm in (one.first, one.second):
            used[arm] = used.get(arm, 0) + 1
        worth.append(one._replace(gain=one.gain * 0.5 ** min(turn, 60)))
    return sorted(worth, key=lambda one: -one.gain)
