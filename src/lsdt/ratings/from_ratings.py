"""From a log of ratings to side information: which items are beaten, or how items compare."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._progress import progress_of
from lsdt._validation import (
    MOST_RATERS,
    checked_epsilon,
    checked_seed,
    checked_share_below_1,
    checked_share_inside,
    checked_whole,
    checked_word,
)
from lsdt.errors import InvalidInput, NoRelations, Unsupported
from lsdt.ratings.beaten_notes import BeatenFindings, beaten_notes
from lsdt.ratings.engines.source import LogSource, source_of
from lsdt.ratings.evidence import RatingEvidence, ThresholdFindings, notes_of, warn_of
from lsdt.ratings.fingerprint import fingerprint_of
from lsdt.ratings.range_notes import RangeFindings, range_notes
from lsdt.ratings.rules import hubs
from lsdt.ratings.rules.beaten_items import beaten_by_bets, beaten_by_bootstrap
from lsdt.ratings.rules.epsilon import NOTHING_SIMILAR, Scan, point_at, scan_grid, search_steps
from lsdt.ratings.rules.ranges import family_ranges, fdr_ranges
from lsdt.ratings.rules.relations import FamilyRule, FdrRule, PaperRule, Screen, side_information_of
from lsdt.ratings.statistics.bootstrap import bootstrap_intervals
from lsdt.ratings.statistics.intervals import KINDS, DifferenceIntervals
from lsdt.ratings.statistics.missingness import MOST_USERS, check_missingness
from lsdt.ratings.statistics.pairs import PairStatistics
from lsdt.ratings.undecided import why_undecided
from lsdt.side_information import all_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lsdt._progress import Progress
    from lsdt.ratings.engines.source import RatingSource
    from lsdt.ratings.rules.ranges import FoundRanges
    from lsdt.ratings.rules.relations import RelationRule
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.side_information import SideInformation

_CHOICES = {
    "rule": ("interval", "paper"),
    "level": ("family", "fdr", "fdr_any"),
    "search": ("grid", "paper"),
    "interval": ("betting", "bootstrap", *KINDS),
    "relations": ("ranges", "threshold"),
    "guarantee": ("best", "all"),
}
_INTERVALS = {"best": ("betting", "bootstrap"), "all": (*KINDS, "bootstrap")}
# Each step's share of the time. Rough: they only move the progress bar.
_STEPS = {
    "parts of the log": (0.0, 0.2),
    "parts of the bootstrap": (0.2, 0.4),
    "parts of the pairs": (0.2, 0.6),
    "values of epsilon": (0.6, 1.0),
}
_NOT_COMPARED = "no user rated two of the items, so that no two can be compared"
# By rule of thumb, means of 30 differences are nearly normal; the paper compares whatever there is.
_MIN_RATERS = {"interval": 30, "paper": 1}


def from_ratings(
    log: Any,
    epsilon: float | str = "auto",
    confidence: float = 0.95,
    rule: str = "interval",
    level: str = "family",
    alpha: float = 0.1,
    search: str = "grid",
    min_raters: int | None = None,
    interval: str | None = None,
    seed: int = 0,
    *,
    guarantee: str | None = None,
    relations: str | None = None,
    progress: Progress = None,
) -> SideInformation:
    """Find out from ratings which items may be the best, or how all items compare.

    Two items are compared by the users who rated both, so that their kindness cancels out. By default, the
    result says which items are beaten, and the best one is lost with a probability of at most 5%.
    With ``guarantee='all'`` it holds relations of pairs, all of which are right with 95% confidence; that
    needs many more ratings. All numbers are shares of the scale: with ratings from 1 to 5, an epsilon of 0.1
    is 0.4 of a rating.

    Parameters
    ----------
    log : RatingLog, path, dataframe or array
        Ratings, as of `lsdt.ratings.read_log`, whose options say how they are read: which columns, which
        items, which scale. Spark dataframes and long DuckDB relations stay in their engine; to read them
        with options, use `lsdt.ratings.open_log`.
    epsilon : float or 'auto'
        The threshold between similar and dissimilar, as a share of the scale; ``'auto'`` searches for it
        where `relations` has one.
    confidence : float
        The probability of keeping the best item; with ``guarantee='all'`` the confidence in the relations,
        see `level`. A search for epsilon also keeps the estimated risk of losing the best item at
        1 - confidence.
    rule : {'interval', 'paper'}
        ``'interval'``: by the confidence interval of the difference of a pair, which is its range. With a
        threshold, a pair is similar when the interval lies inside (-epsilon, epsilon), dissimilar when it
        lies outside, unknown otherwise. ``'paper'``: similar when the difference is below
        ``(1 - alpha) epsilon``, dissimilar when above ``(1 + alpha) epsilon``, without any confidence.
    level : {'family', 'fdr', 'fdr_any'}
        ``'family'``: with probability `confidence` all relations are right, at every epsilon. ``'fdr'``: the
        expected share of wrong relations is at most 1 - confidence (Benjamini and Hochberg; ``'fdr_any'``,
        Benjamini and Yekutieli, under any dependence). One wrong relation can lose the best item. A search
        for epsilon on the same data would break this level, so half of the users, drawn by `seed`, choose it
        and the other half decides the relations.
    alpha : float
        The margin of the paper's rule.
    search : {'grid', 'paper'}
        ``'grid'``: of the values whose estimated risk is low enough, the one that leaves the fewest
        candidates. ``'paper'``: doubling, then halving, towards the fewest candidates whatever the risk.
    min_raters : int, optional
        Pairs with fewer common raters are unknown; by default 30, and 1 for e-values and the paper's rule.
    interval : {'betting', 'bootstrap', 'student', 'bernstein'}, optional
        For ``guarantee='best'``: ``'betting'``, the default, uses e-values, which hold for any ratings and
        any number of raters, however often one looks as the log grows. ``'bootstrap'`` leaves fewer items
        and holds if common raters are many. See `lsdt.ratings.statistics.betting` and
        `lsdt.ratings.statistics.best_bootstrap`.

        For ``guarantee='all'``: ``'student'``, the default, needs differences whose mean is nearly normal;
        ``'bernstein'`` holds for any distribution and is wider. See `lsdt.ratings.statistics.intervals`.
        ``'bootstrap'``: Student's intervals, a little shorter, for ``level='family'``: the largest error of
        all pairs is simulated instead of bounded by their number (see `lsdt.ratings.statistics.bootstrap`).
        Bets and bootstraps need a log in memory.
    seed : int
        The seed of all random draws, such as those that estimate the risk.
    guarantee : {'best', 'all'}, optional
        What the confidence is for. ``'best'``: the best item is not lost; the result has no relations, but
        says which items are beaten (`SideInformation.beaten`) and so are no candidates. Their errors are
        bounded only for the best item, so nothing else may be concluded from them. ``'all'``: relations of
        pairs, which agents and policies can use to learn about several items from one reward. By default
        ``'best'``, and ``'all'`` where an option of relations is given (`relations`, `epsilon`, `rule`,
        `level`, `search`, or an `interval` of ``'all'``) and for logs that stay in an engine.
    relations : {'ranges', 'threshold'}, optional
        For ``guarantee='all'``. ``'ranges'``: the interval of the difference itself, both ends, for every
        pair with enough common raters; one wider than the whole scale on both sides says nothing and is left
        out. It tells which item is better and by how much, so that `lsdt.candidate_set` excludes an item that
        lies below another. There is no epsilon then. At ``level='family'`` all ranges are right with
        probability `confidence`; at ``'fdr'`` only pairs that differ for sure have a range, and the expected
        share of wrong ones is at most 1 - confidence. ``'threshold'``: similar and dissimilar pairs, by
        epsilon. By default ranges, and a threshold where one is asked for: an `epsilon`, ``search='paper'``,
        ``rule='paper'``.
    progress : bool or function, optional
        Whether to show a progress bar; by default on a terminal when a step takes more than two seconds. A
        function is called with the share that is done.

    Returns
    -------
    SideInformation
        With the items as arms, and ``evidence``: what it rests on, how epsilon was chosen, and remarks.

    Examples
    --------
    >>> import lsdt
    >>> log, means = lsdt.ratings.make_log(n_users=8000, n_items=12, ratings_per_user=8)
    >>> side = lsdt.from_ratings(log)
    >>> side
    SideInformation(12 arms, 0 similar pairs, 0 dissimilar pairs, 11 beaten, partial)
    >>> found = lsdt.candidate_set(side)
    >>> found.arm_ids, int(means.idxmax())
    ([5], 5)
    >>> print(found.explain(6))  # doctest: +NORMALIZE_WHITESPACE
    arm 6 is out: beaten by 5 among 4,683 common raters, e-value 3e+05; the best arm is called beaten with a
    probability of at most 0.05.

    All ranges together, at the same confidence:

    >>> side = lsdt.from_ratings(log, guarantee="all")
    >>> side
    SideInformation(12 arms, 0 similar pairs, 0 dissimilar pairs, 66 ranges, partial)
    >>> print(lsdt.candidate_set(side).explain(6))
    arm 6 cannot be the best: 5 is better than it by at least 0.00775433.
    >>> pair = side.evidence.relation(0, 1)
    >>> pair.relation, pair.raters, round(pair.difference, 2), round(pair.low, 2), round(pair.high, 2)
    ('worse', 3272, -0.09, -0.11, -0.07)

    A threshold keeps less of the same intervals, and leaves more:

    >>> near = lsdt.from_ratings(log, relations="threshold")
    >>> near
    SideInformation(12 arms, 62 similar pairs, 3 dissimilar pairs, partial, epsilon=0.37)
    >>> lsdt.candidate_set(near).arm_ids
    [5, 6, 7, 11]
    """
    options = RatingRequest(
        epsilon, confidence, rule, level, alpha, search, min_raters, interval, seed, relations, guarantee
    )
    request = options.checked()
    with progress_of(progress, _STEPS):
        source = source_of(log)
        if request.guarantee == "best" and not isinstance(source, LogSource) and guarantee is None:
            request = replace(options, guarantee="all").checked()
        return relate(request, source)


class _Choice(NamedTuple):
    """The rule that decides the relations, its epsilon, and how that was chosen."""

    rule: RelationRule
    scan: Scan
    split: bool

    @property
    def epsilon(self) -> float:
        return self.scan.chosen.epsilon


def relate(request: RatingRequest, source: RatingSource) -> SideInformation:
    """Make the requested side information from a source of ratings."""
    if len(source.item_ids) < 2:
        raise InvalidInput(f"the log is about one item, {source.item_ids[0]!r}; a pair needs two")
    items = source.items()
    if request.guarantee == "best":
        return _find_beaten(request, source, items)
    if request.relations == "ranges":
        return _relate_by_ranges(request, source, items)
    rule, scan, split = choice = _choose(request, source, items)
    related = rule.relate(choice.epsilon)
    known = np.flatnonzero(related.relations)
    sample = source.sample(MOST_USERS, request.seed)
    missingness = check_missingness(sample, request.seed)
    notes, alarms = notes_of(
        ThresholdFindings(request, source, rule.statistics, related.relations, scan, split, missingness)
    )
    warn_of(alarms, stacklevel=3)
    evidence = RatingEvidence(
        relations="threshold",
        rule=request.rule,
        level=request.level if request.rule == "interval" else "none",
        interval=str(request.interval) if request.rule == "interval" else "none",
        search=request.search if request.epsilon == "auto" else "given",
        confidence=request.confidence,
        epsilon=choice.epsilon,
        scale=source.scale,
        n_users=source.n_users,
        n_ratings=source.n_ratings,
        notes=notes,
        missingness=missingness,
        decided=rule.statistics.select(known),
        words=related.relations[known],
        half_widths=related.half_widths[known],
        item_statistics=items,
        tried=scan.points,
        fingerprint=fingerprint_of(sample),
    )
    return side_information_of(rule.statistics, related, choice.epsilon, evidence)


def _find_beaten(request: RatingRequest, source: RatingSource, items: ItemStatistics) -> SideInformation:
    """Make side information that says which items are beaten."""
    if not isinstance(source, LogSource):
        raise Unsupported(
            "guarantee='best' goes through the log user by user, and this log stays in its engine; read it "
            "with lsdt.ratings.read_log if it fits in memory, or use guarantee='all'"
        )
    assert request.min_raters is not None
    if request.interval == "bootstrap":
        found = beaten_by_bootstrap(source.log, request.error, request.min_raters, request.seed)
    else:
        found = beaten_by_bets(source.log, items, request.error, request.min_raters)
    if found.n_compared == 0:
        raise NoRelations(_NOT_COMPARED)
    sample = source.sample(MOST_USERS, request.seed)
    missingness = check_missingness(sample, request.seed)
    notes, alarms = beaten_notes(BeatenFindings(request, source, found, items, missingness))
    warn_of(alarms, stacklevel=4)
    none = np.zeros(0)
    evidence = RatingEvidence(
        relations="none",
        rule=request.rule,
        level="best",
        interval=str(request.interval),
        search="none",
        confidence=request.confidence,
        epsilon=None,
        scale=source.scale,
        n_users=source.n_users,
        n_ratings=source.n_ratings,
        notes=notes,
        missingness=missingness,
        decided=PairStatistics(*(np.zeros(0, np.int32),) * 3, none, none, source.item_ids, found.n_compared),
        words=np.zeros(0, np.int8),
        half_widths=none,
        item_statistics=items,
        tried=(),
        fingerprint=fingerprint_of(sample),
        beaten=found.source,
    )
    return found.side_information(evidence)


def _relate_by_ranges(request: RatingRequest, source: RatingSource, items: ItemStatistics) -> SideInformation:
    """Make side information of ranges from a source of ratings."""
    found, left_out = _find_ranges(request, source, items)
    sample = source.sample(MOST_USERS, request.seed)
    missingness = check_missingness(sample, request.seed)
    notes, alarms = range_notes(
        RangeFindings(request, source, found, left_out, items.best_chances(request.seed), missingness)
    )
    warn_of(alarms, stacklevel=4)
    evidence = RatingEvidence(
        relations="ranges",
        rule=request.rule,
        level=request.level,
        interval=str(request.interval),
        search="none",
        confidence=request.confidence,
        epsilon=None,
        scale=source.scale,
        n_users=source.n_users,
        n_ratings=source.n_ratings,
        notes=notes,
        missingness=missingness,
        decided=found.statistics,
        words=found.words,
        half_widths=found.half_widths,
        item_statistics=items,
        tried=(),
        left_out=sum(left_out),
        fingerprint=fingerprint_of(sample),
    )
    return found.side_information(evidence)


def _find_ranges(
    request: RatingRequest, source: RatingSource, items: ItemStatistics
) -> tuple[FoundRanges, tuple[int, int]]:
    """Return the ranges, and how many others are not worth keeping, by reason."""
    if request.level != "family":
        rule = request.rule_for(source)
        assert isinstance(rule, FdrRule)
        _refuse_no_pairs(request, source, rule.statistics)
        return fdr_ranges(rule), (0, 0)
    intervals = request.strict_intervals(source)
    many = len(source.item_ids) > hubs.MANY_ITEMS
    screen = hubs.hub_screen(intervals, items) if many else Screen(intervals, -1.0, 1.0)
    assert request.min_raters is not None
    listed = source.pairs(request.min_raters, screen)
    _refuse_no_pairs(request, source, listed)
    left_out = screen.left_out if isinstance(screen, hubs.HubScreen) else (0, 0)
    return family_ranges(listed, intervals), left_out


def _refuse_no_pairs(request: RatingRequest, source: RatingSource, listed: PairStatistics) -> None:
    if listed.n_compared == 0:
        raise NoRelations(_NOT_COMPARED)
    if len(listed) == 0:
        raise NoRelations(why_undecided(request, source, None))


def _choose(request: RatingRequest, source: RatingSource, items: ItemStatistics) -> _Choice:
    """Choose epsilon and the rule; on separate halves of the users where the level needs it."""
    if not request.must_split:
        rule = request.rule_for(source)
        return _Choice(rule, _scan(request, source, rule, items.best_chances(request.seed)), False)
    choosing, deciding = source.halves(request.seed)
    chances = choosing.items().best_chances(request.seed)
    scan = _scan(request, choosing, request.rule_for(choosing), chances)
    return _Choice(request.rule_for(deciding, scan.chosen.epsilon), scan, True)


def _scan(
    request: RatingRequest, source: RatingSource, rule: RelationRule, chances: NDArray[np.float64]
) -> Scan:
    """Try values of epsilon: the one given, or those of a search."""
    listed = rule.statistics
    if listed.n_compared == 0:
        raise NoRelations(_NOT_COMPARED)
    most_risk = 1.0 - request.confidence
    if not isinstance(request.epsilon, str):
        point = point_at(rule, request.epsilon, chances)
        return Scan((point,), point, point.risk is not None and point.risk <= most_risk)
    if len(listed) == 0:
        raise NoRelations(why_undecided(request, source, None))
    if request.search == "grid":
        return scan_grid(rule, chances, most_risk)
    search = search_steps(rule)
    points = tuple(point_at(rule, tried.epsilon, chances) for tried in sorted(search.path))
    chosen = next(point for point in points if point.epsilon == search.epsilon)
    return Scan(points, chosen, chosen.risk is not None and chosen.risk <= most_risk)


@dataclass(frozen=True)
class RatingRequest:
    """The arguments of `lsdt.from_ratings`, which documents them."""

    epsilon: float | str
    confidence: float
    rule: str
    level: str
    alpha: float
    search: str
    min_raters: int | None
    interval: str | None
    seed: int
    relations: str | None = None
    guarantee: str | None = "all"

    def checked(self) -> RatingRequest:
        """Return the request with plain values and defaults filled in; refuse wrong ones."""
        for name in ("rule", "level", "search"):
            checked_word(getattr(self, name), name, _CHOICES[name])
        guarantee = self._checked_guarantee()
        interval = _INTERVALS[guarantee][0] if self.interval is None else self.interval
        checked_word(interval, "interval", _CHOICES["interval"])
        if interval not in _INTERVALS[guarantee]:
            accepted = " or ".join(map(repr, _INTERVALS[guarantee]))
            raise InvalidInput(
                f"guarantee={guarantee!r} has interval={accepted}; got {interval!r}. Leave one of them out"
            )
        if self.interval == "bootstrap" and self.level != "family":
            raise InvalidInput(
                f"interval='bootstrap' makes all intervals hold at once, and level={self.level!r} asks for "
                "less; leave one of them out"
            )
        return replace(
            self,
            guarantee=guarantee,
            interval=interval,
            relations=relations_of(self.relations, self.rule, self.epsilon, self.search),
            epsilon=_checked_epsilon(self.epsilon),
            confidence=checked_share_inside(self.confidence, "confidence"),
            alpha=checked_share_below_1(self.alpha, "alpha", NOTHING_SIMILAR),
            min_raters=self._checked_raters(interval),
            seed=checked_seed(self.seed),
        )

    def _checked_guarantee(self) -> str:
        """Return the guarantee: that of the options, where none is given."""
        usual = {
            "relations": None,
            "epsilon": "auto",
            "rule": "interval",
            "level": "family",
            "search": "grid",
        }
        asked = [name for name, value in usual.items() if not _is_word(getattr(self, name), value)]
        if self.guarantee is None:
            return "all" if asked or any(_is_word(self.interval, kind) for kind in KINDS) else "best"
        word = checked_word(self.guarantee, "guarantee", _CHOICES["guarantee"])
        if word == "best" and asked:
            raise InvalidInput(
                f"guarantee='best' says which items are beaten and decides no relations, but "
                f"{asked[0]}={getattr(self, asked[0])!r} is about relations; leave one of them out, or use "
                "guarantee='all'"
            )
        return word

    def _checked_raters(self, interval: str) -> int:
        usual = 1 if interval == "betting" else _MIN_RATERS[self.rule]
        least = 1 if self.rule == "paper" or interval == "betting" else 2
        raters: Any = usual if self.min_raters is None else self.min_raters
        return checked_whole(raters, f"min_raters for rule={self.rule!r}", least, MOST_RATERS)

    @property
    def error(self) -> float:
        """The accepted probability of an error, of each relation or of all together, as `level` says."""
        return 1.0 - self.confidence

    @property
    def must_split(self) -> bool:
        """Whether epsilon and the relations must come from different users."""
        searched = self.relations == "threshold" and self.epsilon == "auto"
        return searched and self.rule == "interval" and self.level != "family"

    def strict_intervals(self, source: RatingSource) -> DifferenceIntervals:
        """Return the intervals that hold for all pairs of items of a source at once."""
        if self.interval == "bootstrap":
            if not isinstance(source, LogSource):
                raise Unsupported(
                    "interval='bootstrap' draws weights for users, and this log stays in its engine; read it "
                    "with lsdt.ratings.read_log if it fits in memory, or use interval='student'"
                )
            return bootstrap_intervals(source.log, self.error, self.seed)
        assert self.interval is not None
        return DifferenceIntervals(self.interval, self.error / all_pairs(len(source.item_ids)))

    def rule_for(self, source: RatingSource, epsilon: float | None = None) -> RelationRule:
        """Compare the pairs of a source; a given `epsilon` is the only one at which the rule may be used."""
        if epsilon is None and not isinstance(self.epsilon, str):
            epsilon = self.epsilon
        ends = (0.0, 1.0) if epsilon is None else (epsilon, epsilon)
        assert self.min_raters is not None
        if self.rule == "paper":
            return PaperRule(source.pairs(self.min_raters, None), self.alpha)
        strict = self.strict_intervals(source)
        if self.level == "family":
            return FamilyRule(source.pairs(self.min_raters, Screen(strict, *ends)), strict)
        # A pair whose p-value exceeds the overall level is never decided: its two-sided interval is longer.
        assert self.interval is not None
        loose = DifferenceIntervals(self.interval, min(2.0 * self.error, 1.0))
        if self.relations == "ranges":
            ends = (0.0, 0.0)  # the interval excludes 0
        listed = source.pairs(self.min_raters, Screen(loose, *ends))
        return FdrRule(listed, strict, self.error, self.level == "fdr_any")


def _is_word(value: Any, word: str | None) -> bool:
    """Return whether a value is this word or None; an array would compare entry by entry."""
    return value is None if word is None else isinstance(value, str) and value == word


def relations_of(relations: Any, rule: Any = "interval", epsilon: Any = "auto", search: Any = "grid") -> str:
    """Return the requested relations; refuse unknown words and options that contradict them.

    Examples
    --------
    >>> relations_of(None), relations_of(None, epsilon=.1), relations_of(None, rule="paper")
    ('ranges', 'threshold', 'threshold')
    """
    if relations is None:
        asked = rule != "interval" or not isinstance(epsilon, str) or search != "grid"
        return "threshold" if asked else "ranges"
    word = checked_word(relations, "relations", _CHOICES["relations"])
    if word != "ranges":
        return word
    if rule != "interval":
        raise InvalidInput(
            f"relations='ranges' are confidence intervals, and rule={rule!r} has none; leave one of them out"
        )
    if not isinstance(epsilon, str):
        raise InvalidInput(
            f"relations='ranges' needs no epsilon; got {epsilon!r}. Leave it out, or set "
            "relations='threshold'"
        )
    if search != "grid":
        raise InvalidInput(
            f"relations='ranges' has no epsilon to search for; leave search={search!r} out, or set "
            "relations='threshold'"
        )
    return word


def relations_asked(options: Mapping[str, Any]) -> str:
    """Return which relations a call of `lsdt.from_ratings` with these options asks for."""
    usual = {"relations": None, "rule": "interval", "epsilon": "auto", "search": "grid"}
    return relations_of(*({**usual, **options}[name] for name in usual))


def _checked_epsilon(epsilon: Any) -> float | str:
    if isinstance(epsilon, str):
        if epsilon != "auto":
            raise InvalidInput(f"epsilon must be a number or 'auto'; got {epsilon!r}")
        return epsilon
    checked = checked_epsilon(epsilon)
    if checked >= 1.0:
        raise InvalidInput(
            f"epsilon is a share of the scale of ratings and must be below 1; got {epsilon!r}. Divide one on "
            "the original scale by the length of that scale"
        )
    return checked
