"""Which relation of a conflict to doubt: a guess.

Any relation of a minimal conflict resolves it when it goes. But near a wrong relation there are usually many
conflicts, and all of them hold it: the one whose going leaves most arms around the conflict possible again is
doubted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.propagation.derivation import supposition
from lsdt.candidates.propagation.exclusion import arms_possible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import Field
    from lsdt.candidates.propagation.derivation import Supposition

_SIZES = (96, 48, 24)  # arms around the conflict: all of them, if these hold no other conflict
_MOST_TRIED = 60


def doubtful(around: Field, known: Supposition, appearances: Sequence[int]) -> int:
    """Return which relation of a conflict to doubt; `appearances` counts the conflicts found with each."""
    places = known.arms[np.concatenate([known.similar, known.dissimilar])]
    tried = range(min(len(places), _MOST_TRIED))
    for size in _SIZES:
        near = supposition(around, around.nearest(known.arms, max(size, len(known.arms))))
        scores = [_left_without(near, places[at], at < len(known.similar)) for at in tried]
        if max(scores) > 0:
            break
    return max(tried, key=lambda at: (scores[at], appearances[at], -at))


def _left_without(near: Supposition, pair: NDArray[np.int64], is_similar: bool) -> int:
    """Return how many of some arms can be the best of them once a relation is gone."""
    two = np.searchsorted(near.arms, np.sort(pair))
    pairs = near.similar if is_similar else near.dissimilar
    gone = int(np.flatnonzero((pairs == two).all(axis=1))[0]) + (0 if is_similar else len(near.similar))
    rest = near.resting_on(np.delete(np.arange(near.n_relations), gone))
    return int(arms_possible(rest, np.arange(len(near.arms))).sum())
