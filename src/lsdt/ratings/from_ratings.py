"""From a log of ratings to side information: which items are similar, which are not, and how sure that is."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.ratings.engines.source import source_of
from lsdt.ratings.evidence import RatingEvidence, RatingWarning
from lsdt.ratings.notes import Told, notes_of
from lsdt.ratings.request import Asked
from lsdt.ratings.rules.epsilon_grid import Scan, point_at, scan_grid
from lsdt.ratings.rules.epsilon_search import search_steps
from lsdt.ratings.rules.relations import side_information_of
from lsdt.ratings.statistics.missingness import MOST_USERS, check_missingness

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.engines.source import RatingSource
    from lsdt.ratings.rules.relations import Rule
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.side_information import SideInformation


def from_ratings(
    log: Any,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    epsilon: float | str = "auto",
    confidence: float = 0.95,
    rule: str = "interval",
    level: str = "family",
    alpha: float = 0.1,
    search: str = "grid",
    min_raters: int | None = None,
    interval: str = "student",
    duplicates: str = "error",
    scale: tuple[float, float] | None = None,
    seed: int = 0,
) -> SideInformation:
    """Find out from ratings which items are similar and which are dissimilar.

    Two items are compared on the users who rated both, so that how kindly these rate cancels out. All
    numbers are shares of the scale: with ratings from 1 to 5, an epsilon of 0.1 is 0.4 of a rating.

    Parameters
    ----------
    log : path, dataframe or RatingLog
        A row per rating; see `lsdt.ratings.read_log`. Spark dataframes and long DuckDB relations are worked
        on where they are.
    user, item, rating : str
        Names of the columns.
    epsilon : float or 'auto'
        The threshold between similar and dissimilar, as a share of the scale; ``'auto'`` searches for it.
    confidence : float
        How sure relations are to be, see `level`. The search for epsilon keeps the estimated risk of losing
        the best item at 1 - confidence, too.
    rule : {'interval', 'paper'}
        ``'interval'``: a pair is similar when the confidence interval of its difference lies inside
        (-epsilon, epsilon), dissimilar when it lies outside, unknown otherwise. ``'paper'``: similar when the
        difference is below ``(1 - alpha) epsilon``, dissimilar when above ``(1 + alpha) epsilon``; knows
        nothing of how sure that is.
    level : {'family', 'fdr', 'fdr_any'}
        ``'family'``: with probability `confidence` all relations are right, whichever epsilon is taken.
        ``'fdr'``: of the relations, a share of 1 - confidence is expected to be wrong (Benjamini and
        Hochberg; ``'fdr_any'``, Benjamini and Yekutieli, under any dependence). One wrong relation can lose
        the best item. This level is not kept by a search on the same data: half of the users, drawn by
        `seed`, choose epsilon, the other half decides the relations.
    alpha : float
        For the paper's rule.
    search : {'grid', 'paper'}
        ``'grid'``: of the values whose estimated risk is low enough, the one that leaves the fewest
        candidates. ``'paper'``: doubling, then halving, towards the fewest candidates whatever the risk.
    min_raters : int, optional
        Pairs with fewer common raters are unknown; by default 30, and 1 for the paper's rule.
    interval : {'student', 'bernstein'}
        ``'student'`` needs differences whose mean is nearly normal; ``'bernstein'`` needs nothing and is
        wider. See `lsdt.ratings.statistics.intervals`.
    duplicates : {'error', 'last', 'mean'}
        What to do where a user rated an item more than once.
    scale : tuple of float, optional
        The ends of the scale; by default the smallest and the largest rating.
    seed : int
        Of the draws that estimate the risk, and of what is drawn otherwise.

    Returns
    -------
    SideInformation
        With the items as arms, and ``evidence``: what every relation rests on, how epsilon was chosen, and
        notes on what to know.

    Examples
    --------
    >>> import lsdt
    >>> log, means = lsdt.ratings.make_log(n_users=8000, n_items=12, ratings_per_user=8)
    >>> side = lsdt.from_ratings(log)
    >>> side
    SideInformation(12 arms, 62 similar pairs, 3 dissimilar pairs, partial, epsilon=0.37)
    >>> lsdt.candidate_set(side).arm_ids, int(means.idxmax())
    ([5, 6, 7, 11], 5)
    >>> told = side.evidence.relation(0, 1)
    >>> told.relation, told.raters, round(told.difference, 2), round(told.low, 2), round(told.high, 2)
    ('similar', 3272, -0.09, -0.11, -0.07)
    """
    asked = Asked(epsilon, confidence, rule, level, alpha, search, min_raters, interval, seed).checked()
    return relate(asked, source_of(log, user, item, rating, duplicates, scale))


class _Decided(NamedTuple):
    """The rule that decides the relations, the epsilon it does so at, and how that was chosen."""

    rule: Rule
    scan: Scan
    split: bool

    @property
    def epsilon(self) -> float:
        return self.scan.chosen.epsilon


def relate(asked: Asked, source: RatingSource) -> SideInformation:
    """Do what is asked with a source of ratings."""
    if len(source.item_ids) < 2:
        raise InvalidInput(f"the log is about one item, {source.item_ids[0]!r}; a pair needs two")
    items = source.items()
    rule, scan, split = decided = _decided(asked, source, items)
    related = rule.relate(decided.epsilon)
    known = np.flatnonzero(related.relations)
    missingness = check_missingness(source.sample(MOST_USERS, asked.seed), asked.seed)
    notes, alarms = notes_of(
        Told(asked, source, rule.statistics, related.relations, scan, split, missingness)
    )
    for alarm in alarms:
        warnings.warn(alarm, RatingWarning, stacklevel=3)
    evidence = RatingEvidence(
        rule=asked.rule,
        level=asked.level if asked.rule == "interval" else "none",
        interval=asked.interval if asked.rule == "interval" else "none",
        search=asked.search if asked.epsilon == "auto" else "given",
        confidence=asked.confidence,
        epsilon=decided.epsilon,
        scale=source.scale,
        n_users=source.n_users,
        n_ratings=source.n_ratings,
        notes=notes,
        missingness=missingness,
        decided=rule.statistics.chosen(known),
        relations=related.relations[known],
        half_widths=related.half_widths[known],
        item_statistics=items,
        tried=scan.points,
    )
    return side_information_of(rule.statistics, related, decided.epsilon, evidence)


def _decided(asked: Asked, source: RatingSource, items: ItemStatistics) -> _Decided:
    """Choose epsilon, and the rule; on separate halves of the users where the level asks for it."""
    if not asked.must_split:
        rule = asked.rule_for(source)
        return _Decided(rule, _scan(asked, rule, items.best_chances(asked.seed)), False)
    choosing, deciding = source.halves(asked.seed)
    scan = _scan(asked, asked.rule_for(choosing), choosing.items().best_chances(asked.seed))
    return _Decided(asked.rule_for(deciding, scan.chosen.epsilon), scan, True)


def _scan(asked: Asked, rule: Rule, chances: NDArray[np.float64]) -> Scan:
    """Try values of epsilon: the one given, or those of a search."""
    listed = rule.statistics
    if listed.n_compared == 0:
        raise InvalidInput("no user rated two of the items, so that no two can be compared")
    most_risk = 1.0 - asked.confidence
    if not isinstance(asked.epsilon, str):
        point = point_at(rule, asked.epsilon, chances)
        return Scan((point,), point, point.risk is not None and point.risk <= most_risk)
    if len(listed) == 0:
        raise InvalidInput(
            f"of the {listed.n_compared:,} pairs of items with common raters none has at least "
            f"{asked.min_raters} and an interval short enough to decide anything; give more ratings, lower "
            "min_raters or confidence, or say which epsilon"
        )
    if asked.search == "grid":
        return scan_grid(rule, chances, most_risk)
    search = search_steps(rule)
    points = tuple(point_at(rule, tried.epsilon, chances) for tried in sorted(search.path))
    chosen = next(point for point in points if point.epsilon == search.epsilon)
    return Scan(points, chosen, chosen.risk is not None and chosen.risk <= most_risk)
