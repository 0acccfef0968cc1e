"""A simulated judge of pairs, and the candidates that its answers leave.

A judge knows the means. For the kinds ``similar`` and ``better`` it answers with a word that compares the
difference with epsilon; for ``range``, with an interval as wide as epsilon, placed at random so that
it contains the difference.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KINDS = {"similar": "similar or dissimilar", "better": "better, worse or about equal", "range": "by how much"}
_OTHERS = {"similar": ("similar", "dissimilar"), "better": ("better", "worse", "equal")}


class Judge:
    """Answers of one kind about arms with these means; a share of them may be wrong.

    The answer about a pair does not depend on when it is asked; asking again draws a new answer.
    """

    def __init__(self, kind: str, means: Floats, epsilon: float, key: tuple[int, ...], wrong: float = 0.0):
        self.kind, self.means, self.epsilon, self.wrong = kind, means, epsilon, wrong
        self._key, self._n_asked = key, {}  # type: tuple[int, ...], dict[tuple[int, int], int]

    def __call__(self, a: int, b: int) -> Any:
        """Return how arm a compares with arm b: a word, or a range of the difference."""
        pair = min(a, b), max(a, b)
        time = self._n_asked[pair] = self._n_asked.get(pair, 0) + 1
        coins = np.random.default_rng([*self._key, *pair, time])
        is_wrong, place = coins.random() < self.wrong, coins.random()
        apart = float(self.means[a] - self.means[b])
        if self.kind == "range":
            if is_wrong:  # off by one to two epsilons, either way
                apart += math.copysign(self.epsilon * (1.0 + coins.random()), coins.random() - 0.5)
            low = apart - self.epsilon * (place if a < b else 1.0 - place)
            return low, low + self.epsilon
        said = word(self.kind, apart, self.epsilon)
        if is_wrong:
            others = [each for each in _OTHERS[self.kind] if each != said]
            said = others[int(coins.integers(len(others)))]
        return said


def word(kind: str, apart: float, epsilon: float) -> str:
    """Return the true answer as a word."""
    is_near = abs(apart) < epsilon
    if kind == "similar":
        return "similar" if is_near else "dissimilar"
    return "equal" if is_near else "better" if apart > 0.0 else "worse"


class Answers(NamedTuple):
    """The pairs asked about, and the answer to each: a word, or a range of the difference."""

    pairs: list[tuple[int, int]]
    said: list[Any]

    def side(self, n_arms: int, epsilon: float) -> SideInformation:
        """Return the answers as side information."""
        known: dict[str, list[Any]] = {name: [] for name in ("near", "far", "better", "ranges")}
        for (a, b), said in zip(self.pairs, self.said, strict=True):
            if isinstance(said, tuple):
                known["ranges"].append((a, b, *said))
            elif said in ("similar", "equal"):
                known["near"].append((a, b))
            else:
                known["far"].append((a, b))
                if said != "dissimilar":
                    known["better"].append((a, b) if said == "better" else (b, a))
        return SideInformation(
            n_arms,
            known["near"],
            known["far"],
            epsilon=epsilon,
            better=known["better"],
            ranges=known["ranges"],
        )

    def left(self, n_arms: int, epsilon: float) -> NDArray[np.int64]:
        """Return the arms that may be the best."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            side = self.side(n_arms, epsilon)
            method = "order" if not side.n_dissimilar and side.ranges is not None else "propagation"
            found: NDArray[np.int64] = candidate_set(side, method, progress=False).arms
        return found
