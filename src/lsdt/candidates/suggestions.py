"""Which relation of a conflict to doubt: a guess.

Any relation of a minimal conflict resolves it when it goes. But near a wrong relation there are usually many
conflicts, and all of them hold it: the one whose going leaves most arms around the conflict possible again is
doubted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.derivations import Supposition, supposition
from lsdt.candidates.exclusions import arms_possible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.candidates.constraints import Field

_SIZES = (96, 48, 24)  # arms around the conflict: all of them, if these hold no other conflict
_MOST_TRIED = 60


def doubtful(
    around: Field, pairs: Sequence[tuple[int, int]], appearances: dict[tuple[int, int], int]
) -> tuple[int, int]:
    """Return the pair whose relation to doubt; `appearances` counts the conflicts found with each."""
    places = around.places(np.array(pairs))
    seeds = np.unique(places)
    tried = list(range(min(len(pairs), _MOST_TRIED)))
    for size in _SIZES:
        near = supposition(around, around.nearest(seeds, max(size, len(seeds))))
        scores = [_left_without(near, places[at]) for at in tried]
        if max(scores) > 0:
            break
    best = max(tried, key=lambda at: (scores[at], appearances.get(pairs[at], 0), -at))
    return pairs[best]


def _left_without(near: Supposition, pair: NDArray[np.int64]) -> int:
    """Return how many of some arms can be the best of them once a relation is gone."""
    two = np.searchsorted(near.arms, np.sort(pair))
    similar, dissimilar = ((one != two).any(axis=1) for one in (near.similar, near.dissimilar))
    rest = replace(
        near,
        similar=near.similar[similar],
        similar_steps=near.similar_steps[similar],
        dissimilar=near.dissimilar[dissimilar],
        dissimilar_steps=near.dissimilar_steps[dissimilar],
    )
    return int(arms_possible(rest, np.arange(len(near.arms))).sum())
