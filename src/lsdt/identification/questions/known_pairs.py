"""The arms a question may be about, a few hundred of them, with what is known among them as matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.identification.questions.order_classes import order_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

MOST_ARMS = 240
_MOST_HUBS = 80


class Question(NamedTuple):
    """A pair of arms, how many arms the answer is expected to exclude, and what it is for."""

    first: int
    second: int
    gain: float
    why: str


class KnownPairs(NamedTuple):
    """Rows and columns stand for `arms`, ascending.

    `similar` and `apart` are what is known; `better` has a True where the arm of the row is known to have the
    larger mean. `left` says which arms may be the best, `deep` to which none of these can be similar.
    """

    arms: NDArray[np.int64]
    similar: NDArray[np.bool_]
    apart: NDArray[np.bool_]
    better: NDArray[np.bool_]
    left: NDArray[np.bool_]
    deep: NDArray[np.bool_]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which pairs need no question; an arm and itself among them."""
        known = self.similar | self.apart
        np.fill_diagonal(known, True)
        return known

    def question(self, first: int, second: int, gain: float, why: str) -> Question:
        """Return a question about the arms at two places."""
        return Question(int(self.arms[first]), int(self.arms[second]), float(gain), why)


def known_pairs(
    side: SideInformation, better: NDArray[np.int64], left: NDArray[np.int64], wanted: int
) -> KnownPairs:
    """Return what is known, for information about arms, and pairs of which the first is better, by index.

    With more arms than fit, those with most relations are on it, and some that may be the best: first those
    that nothing is known to be similar to.
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
    over = _matrix(better, place, len(arms), both_ways=False)
    apart &= ~similar
    deep = order_classes(similar, apart).deep
    return KnownPairs(arms, similar, apart, over, is_left[arms], deep)


def _matrix(
    pairs: NDArray[np.int64], place: NDArray[np.int64], size: int, both_ways: bool = True
) -> NDArray[np.bool_]:
    result = np.zeros((size, size), bool)
    first, second = place[pairs[:, 0]], place[pairs[:, 1]]
    inside = (first >= 0) & (second >= 0)
    result[first[inside], second[inside]] = True
    return result | result.T if both_ways else result
