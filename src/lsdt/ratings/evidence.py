"""The evidence behind side information from ratings, and notes for its user."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_whole
from lsdt.errors import InvalidInput, counted
from lsdt.ratings.rules.ranges import BETTER, RANGE, WORSE
from lsdt.ratings.rules.relations import DISSIMILAR, SIMILAR
from lsdt.ratings.statistics.ranking import lower_ends, shrunk_effects
from lsdt.ratings.undecided import why_undecided
from lsdt.side_information import ArmNames, StatedRisk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.ratings.engines.source import RatingSource
    from lsdt.ratings.from_ratings import RatingRequest
    from lsdt.ratings.rules.epsilon import GridPoint, Scan
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.ratings.statistics.missingness import Missingness
    from lsdt.ratings.statistics.pairs import PairStatistics
    from lsdt.side_information import ArmId, BeatenSource

_LEVEL = 0.95  # at which the lower ends of all items hold together; the default confidence of `from_ratings`
# By eye: items with fewer ratings are ranked behind the others, because their spread is hardly known.
_FEW_RATINGS = 10
_WORDS = {SIMILAR: "similar", DISSIMILAR: "dissimilar", BETTER: "better", WORSE: "worse", RANGE: "range"}

_TURNED = {"better": "worse", "worse": "better"}


class RatingWarning(UserWarning):
    """Something about the ratings that may make the relations drawn from them wrong."""


_is_silent = ContextVar("_is_silent", default=False)


@contextmanager
def without_rating_warnings() -> Iterator[None]:
    """Let `lsdt.from_ratings` issue no `RatingWarning` inside a ``with`` block, in this thread alone.

    The filters of `warnings` are shared by all threads: restoring them in one thread would undo what another
    has set meanwhile.
    """
    before = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(before)


def warn_of(alarms: Iterable[str], stacklevel: int) -> None:
    """Issue a `RatingWarning` for each, unless they are switched off in this thread."""
    if not _is_silent.get():
        for alarm in alarms:
            warnings.warn(alarm, RatingWarning, stacklevel=stacklevel + 1)


class PairEvidence(NamedTuple):
    """What the relation of one pair rests on, on the scale from 0 to 1.

    Attributes
    ----------
    relation : str
        ``'similar'`` or ``'dissimilar'``; for ranges, ``'better'`` or ``'worse'`` if the interval excludes 0,
        else ``'range'``.
    raters : int
        The number of users who rated both.
    difference : float
        Mean of their ratings of the first item minus those of the second.
    low, high : float
        The ends of its interval; NaN for the paper's rule, which has none.
    """

    relation: str
    raters: int
    difference: float
    low: float
    high: float

    def _repr_html_(self) -> str:
        return fields_card(self)


@dataclass(frozen=True, eq=False)
class RatingEvidence:
    """What side information from ratings rests on; `SideInformation.evidence`.

    Differences and epsilon are shares of the scale: with ratings from 1 to 5, 0.1 is 0.4 of a rating.

    Attributes
    ----------
    relations, rule, level, interval, search : str
        The options of `lsdt.from_ratings`; ``search`` is ``'given'`` if epsilon was, ``'none'`` for ranges.
        For ``guarantee='best'``, ``relations`` is ``'none'`` and ``level`` is ``'best'``.
    confidence : float
        The option of `lsdt.from_ratings`.
    epsilon : float or None
        The epsilon of the relations; ranges have none.
    scale : tuple of float
        The ends of the scale of ratings.
    n_users, n_ratings : int
        Size of the log.
    notes : tuple of str
        Remarks for the user.
    missingness : Missingness
        Whether ratings are missing at random.
    beaten : BeatenSource or None
        Which items are beaten, by which others, for ``guarantee='best'``; there are no relations then.
    left_out : int
        With very many items, the number of ranges that were not kept, see `lsdt.ratings.rules.hubs`.
    fingerprint : tuple of str
        Marks that identify the ratings, see `lsdt.ratings.fingerprint`.

    Examples
    --------
    >>> import lsdt
    >>> log, _ = lsdt.ratings.make_log(n_users=8000, n_items=12, ratings_per_user=8)
    >>> evidence = lsdt.from_ratings(log, guarantee="all").evidence
    >>> evidence.relations, evidence.scale
    ('ranges', (1.0, 5.0))
    """

    relations: str
    rule: str
    level: str
    interval: str
    search: str
    confidence: float
    epsilon: float | None
    scale: tuple[float, float]
    n_users: int
    n_ratings: int
    notes: tuple[str, ...]
    missingness: Missingness
    decided: PairStatistics
    words: NDArray[np.int8]
    half_widths: NDArray[np.float64]
    item_statistics: ItemStatistics
    tried: tuple[GridPoint, ...]
    left_out: int = 0
    fingerprint: tuple[str, ...] = ()
    beaten: BeatenSource | None = None

    @property
    def risk(self) -> float | None:
        """The probability that any relation is wrong, or the best item beaten; None if there is no bound."""
        bounded = self.rule == "interval" and self.level in ("family", "best")
        return round(1.0 - self.confidence, 12) if bounded else None

    @property
    def risks(self) -> tuple[StatedRisk, ...]:
        """What may be wrong in relations, for `SideInformation.risks`; beaten items state their own risk."""
        if self.risk is None or self.beaten is not None:
            return ()
        return (StatedRisk("a relation from ratings is wrong", self.risk),)

    @property
    def item_ids(self) -> tuple[ArmId, ...]:
        """Names of the items."""
        return self.decided.item_ids

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row per pair that is decided or has a range: a, b, relation, raters, difference, low, high.

        For ``guarantee='best'``, a row per beaten item and item that beat it: a, b, relation (``'beaten'``),
        raters, evidence (see `lsdt.side_information.BeatenSource`).
        """
        import pandas as pd

        ids = pd.Index(self.item_ids)
        if self.beaten is not None:
            return pd.DataFrame(
                {
                    "a": ids[self.beaten.arms],
                    "b": ids[self.beaten.beaters],
                    "relation": "beaten",
                    "raters": self.beaten.raters,
                    "evidence": self.beaten.evidence,
                }
            )
        decided = self.decided
        return pd.DataFrame(
            {
                "a": ids[decided.first],
                "b": ids[decided.second],
                "relation": np.select([self.words == word for word in _WORDS], list(_WORDS.values()), ""),
                "raters": decided.raters,
                "difference": decided.difference,
                "low": decided.difference - self.half_widths,
                "high": decided.difference + self.half_widths,
            }
        )

    @cached_property
    def items(self) -> pd.DataFrame:
        """A row per item: item, ratings, mean (on the original scale)."""
        import pandas as pd

        about = self.item_statistics
        return pd.DataFrame({"item": list(self.item_ids), "ratings": about.ratings, "mean": about.means})

    def ranking(self, items: Iterable[ArmId] | None = None, min_ratings: int = _FEW_RATINGS) -> pd.DataFrame:
        """Return a row per item, the best first.

        Raw means would put an item with two ratings of 5 on top. Items are ranked by ``quality``: the mean,
        corrected for the kindness of the raters (`lsdt.ratings.item_statistics`) and moved towards the mean
        of all items by as much as chance explains. ``low`` says how good an item is at least. With a
        probability of 95% that holds for all items of the log together, so also for the one that is ranked
        first.

        Parameters
        ----------
        items : iterable, optional
            The items to rank, such as ``found.arm_ids``; by default all.
        min_ratings : int
            Items with fewer ratings are ranked behind all others.

        Returns
        -------
        DataFrame
            ``item``, ``ratings``, ``mean`` (as rated), ``quality``, ``low``, and ``below``: an item that beat
            it, or that the interval of a decided pair shows to be better, the first of them in this ranking,
            or None.

        Examples
        --------
        >>> import lsdt
        >>> log, means = lsdt.ratings.make_log(n_users=8000, n_items=12, ratings_per_user=8)
        >>> side = lsdt.from_ratings(log)
        >>> side.evidence.ranking().head(3).round(2)
           item  ratings  mean  quality   low below
        0     5     7567  4.04     4.04  4.01  None
        1     6     4921  3.96     3.96  3.93     5
        2     9     7275  3.80     3.80  3.77     5
        """
        import pandas as pd

        about, (low, high) = self.item_statistics, self.scale
        few = about.ratings < checked_whole(min_ratings, "min_ratings", 0)
        quality, least = shrunk_effects(about), lower_ends(about, _LEVEL)
        order = np.lexsort((-quality, few))
        above = self._above(order)
        ids = self.item_ids
        better = pd.Series([None if at < 0 else ids[at] for at in above.tolist()], dtype=object)
        on_scale = {name: low + (high - low) * part for name, part in (("quality", quality), ("low", least))}
        frame = self.items.assign(**on_scale, below=better)
        if items is not None:
            wanted = np.zeros(len(ids), bool)
            wanted[[self._names.index(item) for item in items]] = True
            order = order[wanted[order]]
        return frame.iloc[order].reset_index(drop=True)

    def _above(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return, for every item, the first item in `order` that beat it or that is shown better, or -1."""
        decided, widths = self.decided, self.half_widths
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        found = np.full(len(order), len(order))
        for worse, better, is_worse in (
            (decided.first, decided.second, decided.difference + widths < 0.0),
            (decided.second, decided.first, decided.difference - widths > 0.0),
        ):
            np.minimum.at(found, worse[is_worse], place[better[is_worse]])
        if self.beaten is not None:
            np.minimum.at(found, self.beaten.arms, place[self.beaten.beaters])
        return np.asarray(np.append(order, -1)[found])

    @cached_property
    def scan(self) -> pd.DataFrame:
        """A row per epsilon tried: epsilon, by_triangles, similar, dissimilar, unknown, risk.

        ``by_triangles`` is how many items the triangle rule leaves, which the search for epsilon minimises;
        `lsdt.candidate_set` may leave fewer. It and the risk are missing where the relations contradict one
        another.
        """
        import pandas as pd

        from lsdt.ratings.rules.epsilon import GridPoint

        frame = pd.DataFrame(list(self.tried), columns=list(GridPoint._fields))
        return frame.astype({"by_triangles": "Int64", "risk": "float64"})

    def relation(self, a: ArmId, b: ArmId) -> PairEvidence | None:
        """Return the evidence for the relation of two items, `a` minus `b`; None if it is unknown."""
        first, second = (self._names.index(item) for item in (a, b))
        if first == second:
            raise InvalidInput(f"a relation needs two different items; got {a!r} twice")
        place = self.decided.at(first, second)
        if place is None:
            return None
        difference = float(self.decided.difference[place]) * (1.0 if first < second else -1.0)
        width = float(self.half_widths[place])
        word = _WORDS[int(self.words[place])]
        if first > second:
            word = _TURNED.get(word, word)
        raters = int(self.decided.raters[place])
        return PairEvidence(word, raters, difference, difference - width, difference + width)

    @cached_property
    def _names(self) -> ArmNames:
        return ArmNames(len(self.item_ids), self.item_ids)

    def count(self, *relations: str) -> int:
        """Return how many pairs have one of these relations, as of `pairs`."""
        codes = [code for code, word in _WORDS.items() if word in relations]
        return int(np.isin(self.words, codes).sum())

    def relations_in_words(self) -> str:
        """Return how many relations of each kind there are, or how many items are beaten."""
        if self.beaten is not None:
            items = counted(len(self.item_ids), "item")
            return f"none; {len(np.unique(self.beaten.arms)):,} of {items} beaten"
        unknown = f"{self.decided.n_pairs - len(self.words) - self.left_out:,} unknown"
        if self.epsilon is not None:
            similar, dissimilar = self.count("similar"), self.count("dissimilar")
            return f"{counted(similar, 'similar pair')}, {counted(dissimilar, 'dissimilar pair')}, {unknown}"
        ordered = f"{self.count('better', 'worse'):,} of which say which item is better"
        others = f", {self.left_out:,} left out" if self.left_out else ""
        return f"{counted(len(self.words), 'range')}, {ordered}{others}, {unknown}"

    def __str__(self) -> str:
        low, high = self.scale
        lines = [
            f"{counted(self.n_ratings, 'rating')} from {low:g} to {high:g} of "
            f"{counted(len(self.item_ids), 'item')} by {counted(self.n_users, 'user')}"
        ]
        if self.epsilon is None:
            lines.append(self.relations_in_words())
        else:
            on_scale = f"{self.epsilon * (high - low):g} on the scale of ratings"
            lines.append(f"epsilon {self.epsilon:g}, which is {on_scale}")
            lines.append(self.relations_in_words())
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def __repr__(self) -> str:
        decided, epsilon = counted(len(self.words), "range"), ""
        if self.beaten is not None:
            decided = counted(len(np.unique(self.beaten.arms)), "beaten item")
        if self.epsilon is not None:
            decided, epsilon = counted(len(self.words), "decided pair"), f", epsilon={self.epsilon:g}"
        return (
            f"RatingEvidence({decided}, rule={self.rule!r}, level={self.level!r}, "
            f"confidence={self.confidence:g}{epsilon})"
        )

    def _repr_html_(self) -> str:
        from lsdt.ratings.card import evidence_card

        return evidence_card(self)


class ThresholdFindings(NamedTuple):
    """Results of `from_ratings` with similar and dissimilar pairs, from which the notes are written."""

    request: RatingRequest
    source: RatingSource
    statistics: PairStatistics
    relations: NDArray[np.int8]
    scan: Scan
    split: bool
    missingness: Missingness


def notes_of(findings: ThresholdFindings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all notes, and those that deserve a warning."""
    epsilon = findings.scan.chosen.epsilon
    undecided = not findings.relations.any()
    alarms = []
    if undecided:
        alarms.append(why_undecided(findings.request, findings.source, epsilon))
    elif findings.scan.chosen.risk is None:
        alarms.append(
            f"At epsilon {epsilon:g} the relations contradict one another: some of them are wrong. Ask for "
            "more confidence, or another epsilon."
        )
    elif not findings.scan.met:
        alarms.append(_risk(findings))
    missing = "" if undecided else findings.missingness.note(epsilon)
    if not undecided and findings.missingness.matters(epsilon):
        alarms.append(missing)
        missing = ""
    notes = [
        findings.source.note,
        _scale(findings),
        _comparisons(findings),
        _level(findings),
        *_choice(findings),
        *alarms,
        missing,
    ]
    return tuple(filter(None, notes)), tuple(alarms)


def _scale(findings: ThresholdFindings) -> str:
    low, high = findings.source.scale
    epsilon = findings.scan.chosen.epsilon
    return (
        f"Ratings from {low:g} to {high:g} are put on the scale from 0 to 1; epsilon {epsilon:g} is "
        f"{epsilon * (high - low):g} on theirs."
    )


def _comparisons(findings: ThresholdFindings) -> str:
    listed, decided = findings.statistics, int(np.count_nonzero(findings.relations))
    return (
        f"Of {counted(listed.n_pairs, 'pair')} of items, {listed.n_compared:,} have common raters; the "
        f"relation of {decided:,} is decided; pairs with fewer than {findings.request.min_raters} are left "
        "unknown."
    )


def _level(findings: ThresholdFindings) -> str:
    request = findings.request
    if request.rule == "paper":
        return "The paper's rule does not know how sure a relation is; how many are wrong is not known."
    normal = normality_of(request)
    if request.level == "family":
        return (
            f"With a probability of {request.confidence:.4g} at least, no relation is wrong and the best "
            f"item is not lost, {normal}, for those who rate both items of a pair. That holds at every "
            "epsilon at once."
        )
    return share_wrong(request, "relations")


def normality_of(request: RatingRequest) -> str:
    """Return in words what the intervals need to hold."""
    if request.interval == "bootstrap":
        return "if users are many and means of differences nearly normal"
    if request.interval == "student":
        return "if means of differences are nearly normal (interval='bernstein' does not need that)"
    return "whatever the distribution of ratings within the scale"


def share_wrong(request: RatingRequest, what: str) -> str:
    """Return in words what the levels of the false discovery rate promise."""
    dependence = (
        "under any dependence of pairs"
        if request.level == "fdr_any"
        else "proven where pairs are independent or positively dependent, which those that share raters need "
        "not be"
    )
    return (
        f"A share of {request.error:.4g} of the {what} at most is expected to be wrong, "
        f"{normality_of(request)}, {dependence}. A single wrong one can lose the best item."
    )


def _choice(findings: ThresholdFindings) -> Iterator[str]:
    """Explain how epsilon was chosen."""
    scan, chosen = findings.scan, findings.scan.chosen
    if findings.request.epsilon != "auto":
        if chosen.risk is not None and scan.met:
            yield f"The epsilon given leaves {_candidates_text(findings)}."
        return
    tried = f"{counted(len(scan.points), 'value')} of epsilon from {scan.points[0].epsilon:g} to "
    tried += f"{scan.points[-1].epsilon:g} were tried"
    if scan.n_inconsistent:
        tried += f", {scan.n_inconsistent} of which contradict themselves"
    if not findings.relations.any():
        yield f"{tried}, and none decides a pair: epsilon {chosen.epsilon:g} means nothing."
    elif findings.request.search == "paper":
        fewest = f"{chosen.epsilon:g} leaves the fewest found: {_candidates_text(findings)}"
        yield f"{tried}, the paper's way; {fewest}."
    elif scan.met:
        low = [
            point for point in scan.points if point.risk is not None and point.risk <= findings.request.error
        ]
        yield (
            f"{tried}; at {len(low)} of them the estimated risk of losing the best item is at most "
            f"{findings.request.error:.4g}, and of these {chosen.epsilon:g} leaves the fewest: "
            f"{_candidates_text(findings)}."
        )
    else:
        yield f"{tried}."
    if findings.split:
        yield (
            "Half of the users, drawn at random, chose epsilon; the other half decided the relations, so "
            "that the choice does not spoil their level. Risks and candidates are those of the first half."
        )


def _risk(findings: ThresholdFindings) -> str:
    why = "no value that was tried has less"
    if findings.request.epsilon != "auto":
        why = "epsilon='auto' looks for a value with less"
    elif findings.request.search == "paper":
        why = "the paper's search does not look at it, search='grid' does"
    return (
        f"The estimated risk of losing the best item, {findings.scan.chosen.risk:.3g}, is above "
        f"{findings.request.error:.4g}: {why}. Epsilon {findings.scan.chosen.epsilon:g} leaves "
        f"{_candidates_text(findings)}."
    )


def _candidates_text(findings: ThresholdFindings) -> str:
    chosen = findings.scan.chosen
    return (
        f"{chosen.by_triangles or 0:,} of {counted(findings.statistics.n_items, 'item')} by triangles, with "
        f"an estimated risk of {chosen.risk or 0.0:.2g}"
    )
