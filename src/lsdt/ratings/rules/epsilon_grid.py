"""Which epsilon: all of a grid, with how much each lets go and at what risk.

Every epsilon of the grid gives relations, and these give candidates (the triangle rule). A small set of
candidates is worth little when the best item is not in it. The **risk** of an epsilon is the estimated
probability that the best item is among those let go: the sum, over the items that are not candidates, of the
estimated probabilities of being the best (`ItemStatistics.best_chances`). Chosen is, of the values whose risk
is at most 1 - confidence, the one with the fewest candidates, then with the fewest unknown pairs, then the
smallest. Values that leave no candidate contradict themselves and are not chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.triangles.rule import arms_left
from lsdt.errors import InconsistentSideInformation
from lsdt.ratings.rules.relations import DISSIMILAR, SIMILAR, side_information_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.rules.relations import Rule

_MANY_ITEMS = 2_000
_POINTS, _FEW_POINTS = 80, 40  # at most; fewer for many items, where each takes a quarter of a second
_FINEST = 5e-4
_LARGEST = 1.0  # no two items are further apart on the scale from 0 to 1


class GridPoint(NamedTuple):
    """An epsilon of the grid; candidates and risk are None where it contradicts itself."""

    epsilon: float
    candidates: int | None
    similar: int
    dissimilar: int
    unknown: int
    risk: float | None


@dataclass(frozen=True)
class Scan:
    """A grid of values and the one that was chosen.

    Attributes
    ----------
    points : tuple of GridPoint
        In the order of epsilon.
    chosen : GridPoint
        One of them.
    met : bool
        Whether its risk is as low as was asked for.
    """

    points: tuple[GridPoint, ...]
    chosen: GridPoint
    met: bool

    @property
    def n_inconsistent(self) -> int:
        """How many values contradict themselves."""
        return sum(point.candidates is None for point in self.points)


def scan_grid(rule: Rule, chances: NDArray[np.float64], most_risk: float) -> Scan:
    """Try the epsilons at which a rule has both similar and dissimilar pairs, and choose one.

    Parameters
    ----------
    rule : Rule
        From statistics of pairs to relations.
    chances : array of float
        Of every item to be the best.
    most_risk : float
        Of losing the best item.
    """
    many = rule.statistics.n_items > _MANY_ITEMS
    grid = grid_of(*rule.span, _FEW_POINTS if many else _POINTS)
    points = tuple(point_at(rule, epsilon, chances) for epsilon in grid)
    return chosen_of(points, most_risk)


def grid_of(low: float, high: float, most: int) -> list[float]:
    """Return round values between two, at most so many of them; at least one."""
    low, high = sorted((min(low, _LARGEST), min(high, _LARGEST)))
    step, steps = _FINEST, (2.0, 2.0, 2.5)  # 0.0005, 0.001, 0.002, 0.005, ...
    number = 0
    while (high - low) / step > most - 1:
        step *= steps[number % 3]
        number += 1
    first, last = max(1, ceil(low / step)), floor(high / step)
    return [round(multiple * step, 12) for multiple in range(first, max(first, last) + 1)]


def point_at(rule: Rule, epsilon: float, chances: NDArray[np.float64]) -> GridPoint:
    """Return what an epsilon leaves, and at what risk."""
    related = rule.relate(epsilon)
    similar, dissimilar = (int((related.relations == word).sum()) for word in (SIMILAR, DISSIMILAR))
    unknown = rule.statistics.n_pairs - similar - dissimilar
    left = arms_left(side_information_of(rule.statistics, related, epsilon))
    if len(left) == 0:
        return GridPoint(epsilon, None, similar, dissimilar, unknown, None)
    out = np.ones(len(chances), bool)
    out[left] = False
    return GridPoint(epsilon, len(left), similar, dissimilar, unknown, float(chances[out].sum()))


def chosen_of(points: tuple[GridPoint, ...], most_risk: float) -> Scan:
    """Choose among the points of a grid."""
    consistent = [point for point in points if point.risk is not None]
    if not consistent:
        raise InconsistentSideInformation(
            f"at each of the {len(points)} values of epsilon that were tried, from {points[0].epsilon:g} to "
            f"{points[-1].epsilon:g}, the relations contradict one another: no item could be the best. Ask "
            "for more confidence, for rule='interval', or for more common raters with min_raters"
        )
    low = [point for point in consistent if point.risk is not None and point.risk <= most_risk]
    if low:
        best = min(low, key=lambda point: (point.candidates, point.unknown, point.epsilon))
        return Scan(points, best, True)
    safest = min(consistent, key=lambda point: (point.risk, point.candidates, point.unknown, point.epsilon))
    return Scan(points, safest, False)
