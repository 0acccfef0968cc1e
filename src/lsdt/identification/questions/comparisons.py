"""Which pairs to ask about when answers say which arm is better, or that both are about equal.

An arm that is worse than another is out, and so is an arm about equal to one that is worse than a third. So
all arms are compared with a champion, the best so far; then those about equal to it with one another. Where
these are all about equal, they are compared with arms that lost to the champion, and with the best of these:
who is about equal to one of them is out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.identification.questions.stage import Question, Stage

_SECOND = 0.05  # arms that an answer about two arms that are out is expected to exclude in the end
_NEAR = 0.12  # how probable it is that an arm that is out is about equal to one that is left


def comparison_questions(now: Stage) -> list[Question]:
    """Return questions, best first."""
    left, known = np.flatnonzero(now.left), now.known
    if len(left) < 2:
        return []
    wins = now.better.sum(axis=1)
    champion = int(left[np.argmax(wins[left])])
    is_new = (now.similar | now.apart).sum(axis=1) == 0
    gain = min((wins[champion] + 1.0) / (known[champion].sum() + 0.5), 1.0)
    new = [now.question(arm, champion, gain, "champion") for arm in left[is_new[left] & (left != champion)]]
    if new:
        return new
    found = _among_left(now, left, champion) + _below(now, left, champion)
    return sorted(found, key=lambda one: -one.gain)


def _among_left(now: Stage, left: NDArray[np.int64], champion: int) -> list[Question]:
    """Return questions about two arms that are left; the more are about equal, the less they promise."""
    known = now.known[np.ix_(left, left)]
    rows = left != champion
    equal = np.triu(now.similar[np.ix_(left[rows], left[rows])]).sum()
    asked = known.sum(axis=1) / len(left)
    found = []
    for place, other in np.argwhere(np.triu(~known)).tolist():
        own = champion in (left[place], left[other])
        chance = 0.5 if own else 1.0 / (4.0 + equal / 5.0)
        gain = chance * (1.0 + 0.01 * max(asked[place], asked[other]))
        found.append(now.question(left[place], left[other], gain, "end"))
    return found


def _below(now: Stage, left: NDArray[np.int64], champion: int) -> list[Question]:
    """Return questions about arms below the champion: who is about equal to one of them is out."""
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
        found += [now.question(arm, p, min(chance, 0.9), "end") for arm in left[~known[left, p]].tolist()]
    others = left[left != champion]
    wins = now.better.sum(axis=1)
    height = wins + np.where(now.similar, wins[None, :], 0).max(axis=1)
    vain = 1.0 + now.better[np.ix_(others, out)].sum() / 15.0
    for arm in left.tolist():
        rest = out[~known[out, arm]]
        rest = rest[np.lexsort((-height[rest], misses[rest]))][:5].tolist()
        found += [now.question(arm, p, _NEAR / vain / max(misses[p], 1), "end") for p in rest]
    # Where that is in vain too, the best of the arms that are out have a champion of their own.
    best = out[~now.better[np.ix_(out, out)].any(axis=0)]
    second = int(best[np.argmax(now.better[best].sum(axis=1))]) if len(best) else champion
    rivals = best[~known[best, second]].tolist()
    found += [now.question(arm, second, _SECOND, "order") for arm in rivals]
    if not rivals:
        for p in best[hits[best] == 0].tolist():
            chance = 0.5 / max(misses[p], 1)
            found += [now.question(arm, p, chance, "end") for arm in others[~known[others, p]][:1].tolist()]
    return found
