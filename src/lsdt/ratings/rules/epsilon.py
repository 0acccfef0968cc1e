"""Two ways to choose epsilon for a rule that turns ratings into relations.

**The grid** (`scan_grid`) tries many values. Each gives relations, and these give candidates by the triangle
rule. A small set of candidates is worth little if the best item is not in it. The **risk** of an epsilon is
the estimated probability that the best item is not a candidate: the sum of the estimated probabilities of
being the best (`ItemStatistics.best_chances`) over all items that are not candidates. Of the values whose
risk is at most 1 - confidence, the grid chooses the one with the fewest candidates, then with the fewest
unknown pairs, then the smallest. It never chooses a value that leaves no candidate, because its relations
contradict one another.

**The paper's search** (`search_epsilon`, Section 6.3) looks for the value that leaves the fewest candidates.
The paper doubles epsilon from 0.01 until the number of candidates rises, and then searches "binary" between
the last two values, in steps of 0.01. That leaves three points open, which are read here as follows.

- *Binary search for a minimum.* The search compares two neighbouring steps at the middle of the interval. If
  the right one leaves fewer candidates, it continues to the right, otherwise to the left. That finds the
  minimum of a function that falls and then rises. The number of candidates need not be such a function; then
  the search finds a local minimum. Of all steps tried in the interval it takes the one with the fewest
  candidates, the smallest epsilon if there are several.
- *No candidate left.* Then the relations contradict one another: some estimated distances are wrong by more
  than alpha allows. Such an epsilon is no answer, although zero is the smallest number. Doubling skips it,
  and the search between two values goes to its right, where relations are further from the noise.
- *No rise.* Doubling ends at the latest when all pairs are similar and nothing is eliminated (with intervals:
  when no pair is dissimilar).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import Html, card, fold, html_table
from lsdt._progress import track
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

# Values of epsilon tried, at most: 40 with very many items, when each takes a quarter of a second, else 80.
# More would find the fewest candidates more exactly, and take longer.
_MANY_ITEMS = 2_000
_POINTS, _FEW_POINTS = 80, 40
_FINEST = 5e-4  # step between them: 0.002 of a rating from 1 to 5, finer than any log decides
_LARGEST = 1.0  # no two items are further apart on the scale from 0 to 1
NOTHING_SIMILAR = "at 1 no pair would ever be similar"


class GridPoint(NamedTuple):
    """An epsilon of the grid, how many items the triangle rule leaves there, and the risk.

    Both are None if its relations contradict one another.
    """

    epsilon: float
    by_triangles: int | None
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
        The chosen one.
    met : bool
        Whether its risk is low enough.
    """

    points: tuple[GridPoint, ...]
    chosen: GridPoint
    met: bool

    @property
    def n_inconsistent(self) -> int:
        """The number of values with contradictory relations."""
        return sum(point.by_triangles is None for point in self.points)


def scan_grid(rule: RelationRule, chances: NDArray[np.float64], most_risk: float) -> Scan:
    """Try the epsilons at which a rule has both similar and dissimilar pairs, and choose one.

    Parameters
    ----------
    rule : RelationRule
        Turns the statistics of pairs into relations.
    chances : array of float
        For every item, the probability that it is the best.
    most_risk : float
        The largest accepted risk of losing the best item.
    """
    many = rule.statistics.n_items > _MANY_ITEMS
    grid = grid_of(*rule.span, _FEW_POINTS if many else _POINTS)
    tried = track(grid, "values of epsilon", len(grid))
    points = tuple(point_at(rule, epsilon, chances) for epsilon in tried)
    return choose_point(points, most_risk)


def grid_of(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` round values between two limits, at least one."""
    low, high = sorted((min(low, _LARGEST), min(high, _LARGEST)))
    step, steps = _FINEST, (2.0, 2.0, 2.5)  # 0.0005, 0.001, 0.002, 0.005, ...
    number = 0
    while (high - low) / step > most - 1:
        step *= steps[number % 3]
        number += 1
    first, last = max(1, ceil(low / step)), floor(high / step)
    return [round(multiple * step, 12) for multiple in range(first, max(first, last) + 1)]


def point_at(rule: RelationRule, epsilon: float, chances: NDArray[np.float64]) -> GridPoint:
    """Return how many items the triangle rule leaves at an epsilon, and the risk."""
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
    """Choose one of the points of a grid."""
    consistent = [point for point in points if point.risk is not None]
    if not consistent:
        raise InconsistentSideInformation(
            f"the relations contradict one another at each of the {len(points)} values of epsilon tried, "
            f"from {points[0].epsilon:g} to {points[-1].epsilon:g}: no item could be the best. Raise "
            "confidence, set rule='interval', or require more common raters with min_raters"
        )
    low = [point for point in consistent if point.risk is not None and point.risk <= most_risk]
    if low:
        best = min(low, key=lambda point: (point.by_triangles, point.unknown, point.epsilon))
        return Scan(points, best, True)
    safest = min(consistent, key=lambda point: (point.risk, point.by_triangles, point.unknown, point.epsilon))
    return Scan(points, safest, False)


class EpsilonTrial(NamedTuple):
    """An epsilon and how many candidates it leaves; None if its relations contradict one another."""

    epsilon: float
    candidates: int | None


@dataclass(frozen=True, eq=False)
class EpsilonSearch:
    """The answer of the search.

    Attributes
    ----------
    epsilon : float
        The chosen value.
    found : CandidateSet
        The candidates that it leaves (by the paper's offline step).
    path : tuple of EpsilonTrial
        Every value tried, in that order.
    """

    epsilon: float
    found: CandidateSet
    path: tuple[EpsilonTrial, ...]

    @property
    def side(self) -> SideInformation:
        """The side information at this epsilon."""
        return self.found.side

    @property
    def n_inconsistent(self) -> int:
        """The number of values tried with contradictory relations."""
        return sum(tried.candidates is None for tried in self.path)

    def _repr_html_(self) -> str:
        tried = html_table(EpsilonTrial._fields, self.path)
        left = fold("candidates", Html(self.found._repr_html_()))
        return card("EpsilonSearch", f"epsilon {self.epsilon:g}", tried, left)


def search_epsilon(
    statistics: PairStatistics, alpha: float, start: float = 0.01, resolution: float = 0.01
) -> EpsilonSearch:
    """Search for the epsilon that leaves the fewest candidates, as the paper does on rating data.

    The fewest candidates need not be the right ones: where distances are noisy, the smallest set may have
    lost the best item.

    Parameters
    ----------
    statistics : PairStatistics
        Statistics of the pairs of items, on the scale from 0 to 1, like `start` and `resolution`.
    alpha : float
        The margin of the paper's rule, from 0 to below 1: similar below ``(1 - alpha) epsilon``, dissimilar
        above ``(1 + alpha) epsilon``.
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
    """Search as the paper does, with any rule for the relations."""
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
    """The candidates at multiples of the resolution, computed once each."""

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

    def is_exhausted(self, step: int) -> bool:
        return self.rule.is_exhausted(self.epsilon(step))

    def path(self) -> tuple[EpsilonTrial, ...]:
        return tuple(EpsilonTrial(self.epsilon(step), self.size(step)) for step in self.found)


def _bracket(trials: _Trials, first: int) -> tuple[int, int]:
    """Double until the number of candidates rises; return the last two values that leave any."""
    before, step = None, first
    while True:
        size = trials.size(step)
        if size is not None:
            if before is not None and size > len(trials.found[before] or ()):
                return before, step
            before = step
        if trials.is_exhausted(step):
            return before or step, step
        step *= 2


def _narrow(trials: _Trials, low: int, high: int) -> None:
    """Halve the interval towards fewer candidates, comparing two neighbours at its middle."""
    while low < high:
        middle = (low + high) // 2
        here, right = trials.size(middle), trials.size(middle + 1)
        if here is None or (right is not None and right < here):
            low = middle + 1
        else:
            high = middle
