"""Which epsilon: two ways to choose one for a rule that turns ratings into relations.

**The grid** (`scan_grid`) tries many values. Each gives relations, and these give candidates (the triangle
rule). A small set of candidates is worth little when the best item is not in it. The **risk** of an epsilon
is the estimated probability that the best item is not a candidate: the sum, over the items that are not, of
the estimated probabilities of being the best (`ItemStatistics.best_chances`). Of the values whose risk is at
most 1 - confidence it chooses the one with the fewest candidates, then with the fewest unknown pairs, then
the smallest. Values that leave no candidate contradict themselves and are not chosen.

**The paper's search** (`search_epsilon`, Section 6.3) looks for the value that leaves the fewest candidates.
The paper doubles epsilon from 0.01 until more candidates are left than before, and then searches "binary"
between the last two values, in steps of 0.01. That leaves three things open, which are read here as follows.

- *Binary search for a minimum.* At the middle of the interval two neighbouring steps are compared: if the
  right one leaves fewer candidates the search goes on to the right, otherwise to the left. That finds the
  minimum of a function that falls and then rises. The number of candidates need not be one: then it finds a
  local minimum, which is what such a search can do. Of all steps tried in the interval the one with the
  fewest candidates is taken, the smallest epsilon if there are several.
- *No candidate left.* Then the relations contradict one another (some of the estimated distances are wrong by
  more than alpha allows for), and this epsilon is no answer, although zero is the smallest number there is.
  Doubling passes over it; the search between two values goes to the right of it, where relations are further
  from the noise.
- *No rise.* Doubling ends at the latest when all pairs are similar and nothing is eliminated (with intervals:
  when no pair is dissimilar).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._validation import checked_positive, checked_share_below_1
from lsdt.candidates import candidate_set, triangle_survivors
from lsdt.errors import InconsistentSideInformation, InvalidInput
from lsdt.ratings.rules.relations import DISSIMILAR, SIMILAR, PaperRule, side_information_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.ratings.rules.relations import RelationRule
    from lsdt.ratings.statistics.pairs import PairStatistics
    from lsdt.side_information import SideInformation

_MANY_ITEMS = 2_000
_POINTS, _FEW_POINTS = 80, 40  # at most; fewer for many items, where each takes a quarter of a second
_FINEST = 5e-4
_LARGEST = 1.0  # no two items are further apart on the scale from 0 to 1
NOTHING_SIMILAR = "at 1 no pair would ever be similar"


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


def scan_grid(rule: RelationRule, chances: NDArray[np.float64], most_risk: float) -> Scan:
    """Try the epsilons at which a rule has both similar and dissimilar pairs, and choose one.

    Parameters
    ----------
    rule : RelationRule
        From statistics of pairs to relations.
    chances : array of float
        Of every item to be the best.
    most_risk : float
        Of losing the best item.
    """
    many = rule.statistics.n_items > _MANY_ITEMS
    grid = grid_of(*rule.span, _FEW_POINTS if many else _POINTS)
    points = tuple(point_at(rule, epsilon, chances) for epsilon in grid)
    return choose_point(points, most_risk)


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


def point_at(rule: RelationRule, epsilon: float, chances: NDArray[np.float64]) -> GridPoint:
    """Return what an epsilon leaves, and at what risk."""
    related = rule.relate(epsilon)
    similar, dissimilar = (int((related.relations == word).sum()) for word in (SIMILAR, DISSIMILAR))
    unknown = rule.statistics.n_pairs - similar - dissimilar
    left = triangle_survivors(side_information_of(rule.statistics, related, epsilon))
    if len(left) == 0:
        return GridPoint(epsilon, None, similar, dissimilar, unknown, None)
    out = np.ones(len(chances), bool)
    out[left] = False
    return GridPoint(epsilon, len(left), similar, dissimilar, unknown, float(chances[out].sum()))


def choose_point(points: tuple[GridPoint, ...], most_risk: float) -> Scan:
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


class Tried(NamedTuple):
    """An epsilon that was tried, and how many candidates it leaves; None where it contradicts itself."""

    epsilon: float
    candidates: int | None


@dataclass(frozen=True, eq=False)
class EpsilonSearch:
    """What the search found.

    Attributes
    ----------
    epsilon : float
        The one that is taken.
    found : CandidateSet
        The candidates that it leaves (the paper's offline step).
    path : tuple of Tried
        Everything that was tried, in that order.
    """

    epsilon: float
    found: CandidateSet
    path: tuple[Tried, ...]

    @property
    def side(self) -> SideInformation:
        """The side information at this epsilon."""
        return self.found.side

    @property
    def n_inconsistent(self) -> int:
        """How many of the values tried contradict themselves."""
        return sum(tried.candidates is None for tried in self.path)


def search_epsilon(
    statistics: PairStatistics, alpha: float, start: float = 0.01, resolution: float = 0.01
) -> EpsilonSearch:
    """Search for the epsilon that leaves the fewest candidates, as the paper does on rating data.

    Few candidates are not the same as the right ones: where distances are noisy the smallest set may have
    lost the best item.

    Parameters
    ----------
    statistics : PairStatistics
        Of the items, on the scale from 0 to 1, as `start` and `resolution` are.
    alpha : float
        Of the paper's rule: similar below ``(1 - alpha) epsilon``, dissimilar above ``(1 + alpha) epsilon``;
        from 0 to below 1.
    start : float
        The first value, a multiple of `resolution`.
    resolution : float
        The step between values.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.RatingLog.from_matrix([[.2, .3, .4, .5, .6]], scale=(0, 1))
    >>> search = lsdt.ratings.search_epsilon(lsdt.ratings.pair_statistics(log), alpha=.1)
    >>> search.epsilon, search.found.arms.tolist()
    (0.16, [0, 4])
    >>> [tuple(tried) for tried in search.path][:5]
    [(0.01, 5), (0.02, 5), (0.04, 5), (0.08, 5), (0.16, 2)]
    """
    alpha = checked_share_below_1(alpha, "alpha", NOTHING_SIMILAR)
    return search_steps(PaperRule(statistics, alpha), start, resolution)


def search_steps(rule: RelationRule, start: float = 0.01, resolution: float = 0.01) -> EpsilonSearch:
    """Search as the paper does, with relations by any rule."""
    resolution = checked_positive(resolution, "resolution")
    first = round(checked_positive(start, "start") / resolution)
    if first < 1 or abs(first * resolution - start) > 1e-9 * start:
        raise InvalidInput(
            f"start must be a multiple of the resolution; got start={start!r}, resolution={resolution!r}"
        )
    trials = _Trials(rule, resolution)
    low, high = _bracket(trials, first)
    _narrow(trials, low, high)
    sizes = {step: found for step, found in trials.found.items() if found is not None and low <= step <= high}
    best = min(sizes, key=lambda step: (len(sizes[step]), step))
    return EpsilonSearch(trials.epsilon(best), sizes[best], trials.path())


class _Trials:
    """Candidates at multiples of the resolution, each found once."""

    def __init__(self, rule: RelationRule, resolution: float) -> None:
        self.rule, self.resolution = rule, resolution
        self.found: dict[int, CandidateSet | None] = {}

    def epsilon(self, step: int) -> float:
        return round(step * self.resolution, 12)

    def size(self, step: int) -> int | None:
        if step not in self.found:
            epsilon = self.epsilon(step)
            side = side_information_of(self.rule.statistics, self.rule.relate(epsilon), epsilon)
            try:
                self.found[step] = candidate_set(side, method="paper")
            except InconsistentSideInformation:
                self.found[step] = None
        found = self.found[step]
        return None if found is None else len(found)

    def exhausted(self, step: int) -> bool:
        return self.rule.exhausted(self.epsilon(step))

    def path(self) -> tuple[Tried, ...]:
        return tuple(Tried(self.epsilon(step), self.size(step)) for step in self.found)


def _bracket(trials: _Trials, first: int) -> tuple[int, int]:
    """Double until more candidates are left than before; return the last two values with any."""
    before, step = None, first
    while True:
        size = trials.size(step)
        if size is not None:
            if before is not None and size > len(trials.found[before] or ()):
                return before, step
            before = step
        if trials.exhausted(step):
            return before or step, step
        step *= 2


def _narrow(trials: _Trials, low: int, high: int) -> None:
    """Halve the interval towards fewer candidates, judged by two neighbours in its middle."""
    while low < high:
        middle = (low + high) // 2
        here, right = trials.size(middle), trials.size(middle + 1)
        if here is None or (right is not None and right < here):
            low = middle + 1
        else:
            high = middle
