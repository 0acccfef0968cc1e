"""The paper's search for epsilon on ratings (Section 6.3): the one that leaves the fewest candidates.

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
from typing import TYPE_CHECKING, NamedTuple

from lsdt._validation import checked_epsilon, checked_share
from lsdt.candidates import candidate_set
from lsdt.errors import InconsistentSideInformation, InvalidInput
from lsdt.ratings.rules.relations import PaperRule, side_information_of

if TYPE_CHECKING:
    from lsdt.candidates import CandidateSet
    from lsdt.ratings.rules.relations import Rule
    from lsdt.ratings.statistics.pairs import PairStatistics
    from lsdt.side_information import SideInformation


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
    alpha = checked_share(alpha, "alpha")
    if alpha == 1.0:
        raise InvalidInput("alpha must be below 1; got 1")
    return search_steps(PaperRule(statistics, alpha), start, resolution)


def search_steps(rule: Rule, start: float = 0.01, resolution: float = 0.01) -> EpsilonSearch:
    """Search as the paper does, with relations by any rule."""
    resolution = checked_epsilon(resolution)
    first = round(checked_epsilon(start) / resolution)
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

    def __init__(self, rule: Rule, resolution: float) -> None:
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
