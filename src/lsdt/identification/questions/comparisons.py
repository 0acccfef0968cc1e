"""Which pairs to ask about when answers say which arm is better, or that both are about equal.

An arm that is worse than another is out, and so is an arm about equal to one that is worse than a third. So
all arms are compared with a champion, the best so far, then those about equal to it with one another. If
these are all about equal too, they are compared with arms that lost to the champion, the best of these
first: an arm about equal to one of them is out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.identification.questions.known_pairs import KnownPairs, Question

# Guesses that rank questions: they affect how many are asked (measured in docs/paper/beyond.md), never which
# arms are excluded.
_SECOND = 0.05  # arms that an answer about two excluded arms excludes in the end
_NEAR = 0.12  # the probability that an excluded arm is about equal to one that is left


class _Pairs(NamedTuple):
    """Pairs of positions in `KnownPairs.arms`, the expected gain of asking about each, and the reason."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gain: NDArray[np.float64]
    why: str


def comparison_questions(now: KnownPairs, most: int) -> list[Question]:
    """Return up to `most` questions, best first."""
    left, known = np.flatnonzero(now.left), now.known
    if len(left) < 2:
        return []
    wins = now.better.sum(axis=1)
    champion = int(left[np.argmax(wins[left])])
    is_new = (now.similar | now.apart).sum(axis=1) == 0
    gain = min((wins[champion] + 1.0) / (known[champion].sum() + 0.5), 1.0)
    new = left[is_new[left] & (left != champion)]
    if len(new):
        return [now.question(arm, champion, gain, "champion") for arm in new[:most].tolist()]
    return _best(now, [_among_left(now, left, champion), *_below(now, left, champion)], most)


def _best(now: KnownPairs, found: list[_Pairs], most: int) -> list[Question]:
    """Return the `most` questions with the largest gain; ties go to those listed first."""
    gain = np.concatenate([one.gain for one in found])
    first, second = (np.concatenate([one[part] for one in found]) for part in (0, 1))
    reason = np.repeat(np.arange(len(found)), [len(one.gain) for one in found])
    order = np.argsort(-gain, kind="stable")[:most]
    rows = zip(*(each[order].tolist() for each in (first, second, gain, reason)), strict=True)
    return [now.question(arm, other, worth, found[at].why) for arm, other, worth, at in rows]


def _pairs(arms: Any, others: Any, gain: Any, why: str) -> _Pairs:
    first, second, worth = np.broadcast_arrays(np.asarray(arms, np.int64), others, gain)
    return _Pairs(first, second.astype(np.int64), worth.astype(np.float64), why)


def _among_left(now: KnownPairs, left: NDArray[np.int64], champion: int) -> _Pairs:
    """Return questions about two arms that are left; the more of these are equal, the smaller the gain."""
    known = now.known[np.ix_(left, left)]
    rows = left != champion
    equal = np.triu(now.similar[np.ix_(left[rows], left[rows])]).sum()
    asked = known.sum(axis=1) / len(left)
    place, other = np.nonzero(np.triu(~known))
    own = ~rows[place] | ~rows[other]
    chance = np.where(own, 0.5, 1.0 / (4.0 + equal / 5.0))
    gain = chance * (1.0 + 0.01 * np.maximum(asked[place], asked[other]))
    return _pairs(left[place], left[other], gain, "end")


def _below(now: KnownPairs, left: NDArray[np.int64], champion: int) -> list[_Pairs]:
    """Return questions about arms below the champion: an arm about equal to one of them is out."""
    known = now.known
    out = np.flatnonzero(~now.left)
    if not len(out):
        return []
    top = now.left | now.similar[champion]
    hits, misses = now.similar[:, top].sum(axis=1), now.apart[:, top].sum(axis=1)
    hits -= now.similar[:, champion]
    found = []
    for p in out[(hits[out] > 0) & now.apart[out, champion]].tolist():
        chance = (hits[p] + 0.5) / (hits[p] + misses[p])
        found.append(_pairs(left[~known[left, p]], p, min(chance, 0.9), "end"))
    others = left[left != champion]
    wins = now.better.sum(axis=1)
    height = wins + np.where(now.similar, wins[None, :], 0).max(axis=1)
    vain = 1.0 + now.better[np.ix_(others, out)].sum() / 15.0
    lowest_last = out[np.lexsort((-height[out], misses[out]))]
    for arm in left.tolist():
        rest = lowest_last[~known[lowest_last, arm]][:5]
        found.append(_pairs(arm, rest, _NEAR / vain / np.maximum(misses[rest], 1), "end"))
    # If that does not help either, find the champion of the best excluded arms.
    best = out[~now.better[np.ix_(out, out)].any(axis=0)]
    second = int(best[np.argmax(now.better[best].sum(axis=1))]) if len(best) else champion
    rivals = best[~known[best, second]]
    found.append(_pairs(rivals, second, _SECOND, "order"))
    if not len(rivals):
        for p in best[hits[best] == 0].tolist():
            chance = 0.5 / max(misses[p], 1)
            found.append(_pairs(others[~known[others, p]][:1], p, chance, "end"))
    return found
