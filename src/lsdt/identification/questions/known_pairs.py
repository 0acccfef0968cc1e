"""The arms that questions may be about, a few hundred at most, and what is known about their pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.identification.questions.order_classes import order_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

# The matrices have this many rows and columns. The choice of pairs multiplies them: larger ones would make a
# batch slower (docs/performance.md), smaller ones would leave fewer arms to choose from.
MOST_ARMS = 240
_MOST_HUBS = 80  # a third of the rows: the arms with the most relations, with which others are compared


class Question(NamedTuple):
    """A pair of arms, how many arms the answer is expected to exclude, and the reason: a key of `WHY`."""

    first: int
    second: int
    gain: float
    why: str


class KnownPairs(NamedTuple):
    """What is known about some arms, as boolean matrices; rows and columns stand for `arms`, ascending.

    `similar` and `apart` are the known pairs. `left` marks arms that may be the best, `deep` arms that rule
    this out for every arm similar to them (see `order_classes`).
    """

    arms: NDArray[np.int64]
    similar: NDArray[np.bool_]
    apart: NDArray[np.bool_]
    left: NDArray[np.bool_]
    deep: NDArray[np.bool_]

    @property
    def known(self) -> NDArray[np.bool_]:
        """The pairs that need no question, including each arm with itself."""
        known = self.similar | self.apart
        np.fill_diagonal(known, True)
        return known

    def question(self, first: int, second: int, gain: float, why: str) -> Question:
        """Return a question about the arms in two rows of the matrices."""
        return Question(int(self.arms[first]), int(self.arms[second]), float(gain), why)


def known_pairs(side: SideInformation, left: NDArray[np.int64], wanted: int) -> KnownPairs:
    """Return the matrices for `side`.

    `left` are the arms that may be the best, `wanted` is the number of questions. If there are too many arms,
    those with the most relations are selected, and some that may be the best: first those that are not known
    to be similar to any arm.
    """
    near, far = side.similar_pairs().astype(np.int64), side.dissimilar_pairs().astype(np.int64)
    n_arms = side.n_arms
    is_left = np.zeros(n_arms, bool)
    is_left[left] = True
    arms = np.arange(n_arms)
    most = max(MOST_ARMS, _MOST_HUBS + 2 * wanted)
    if n_arms > most:
        n_near = np.bincount(near.ravel(), minlength=n_arms)
        degree = n_near + np.bincount(far.ravel(), minlength=n_arms)
        hubs = np.argsort(-degree, kind="stable")[:_MOST_HUBS]
        rank = np.where(is_left, np.where(n_near == 0, 2, 1), 0)
        rank[hubs] = 3
        arms = np.sort(np.argsort(-rank, kind="stable")[:most])
    place = np.full(n_arms, -1)
    place[arms] = np.arange(len(arms))
    similar, apart = (_matrix(pairs, place, len(arms)) for pairs in (near, far))
    apart &= ~similar
    deep = order_classes(similar, apart).deep
    return KnownPairs(arms, similar, apart, is_left[arms], deep)


def _matrix(pairs: NDArray[np.int64], place: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    result = np.zeros((size, size), bool)
    first, second = place[pairs[:, 0]], place[pairs[:, 1]]
    inside = (first >= 0) & (second >= 0)
    result[first[inside], second[inside]] = True
    return result | result.T
