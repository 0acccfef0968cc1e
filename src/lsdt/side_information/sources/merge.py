"""Merge several sources of side information, and report what each contributed and where they disagree."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import check_kind, checked_list, checked_texts, checked_word
from lsdt.errors import InconsistentSideInformation, InvalidInput, Unsupported, counted
from lsdt.kernel import require_memory
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.beaten import joined
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.ranges import join_ranges
from lsdt.side_information.layouts.stores import known_store
from lsdt.side_information.origin import Origin, total_risk
from lsdt.side_information.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId
    from lsdt.side_information.layouts.ranges import PairRanges
    from lsdt.side_information.origin import StatedRisk

WAYS = ("error", "unknown", "first")
_BYTES_PER_PAIR = 64  # of every source, while they are sorted and compared
_FEWER = "merge sources that list fewer pairs: complete information implies all of its dissimilar pairs"
_SHOWN = 5  # contradictions in an error or a printed report; `contradictions()` lists all
_DISAGREE = "the sources contradict one another, which on_conflict does not settle for ranges"
_TAKEN = {
    "error": "",
    "unknown": " (left unknown)",
    "first": " (the earlier source believed)",
}


def merge(
    sides: Iterable[SideInformation], names: Iterable[str] | None = None, on_conflict: str = "error"
) -> SideInformation:
    """Merge several sources: a log, features, a taxonomy, an expert's list.

    The arms are those of all sources, matched by id, in the order in which they first appear. Sources without
    ids must have the same number of arms. A relation is known if any source knows it; ranges of the
    same pair are intersected. Arms that are beaten in any source are beaten; the risks of the sources add up.

    Parameters
    ----------
    sides : iterable of SideInformation
        The sources, at least one. All that have an epsilon must have the same one.
    names : iterable of str, optional
        Names of the sources for reports and errors; by default ``"source 1"`` and so on.
    on_conflict : {'error', 'unknown', 'first'}
        What to do where one source calls a pair similar and another dissimilar: refuse, leave the pair
        unknown, or believe the source that comes first. Ranges that exclude one another, or the relation of
        their pair, are always refused.

    Returns
    -------
    SideInformation
        Its ``evidence`` is a `MergeReport`: what every source contributed, the contradictions, and the
        probability that a relation is wrong, which is the sum of those of the sources. Its scale is that of
        the sources from ratings; the others are assumed to be on the same scale.

    Raises
    ------
    InconsistentSideInformation
        When sources contradict one another and ``on_conflict='error'``; its ``conflict`` is the report.
        Contradictions that involve more than one pair are found by `candidate_set`.

    Examples
    --------
    >>> import lsdt
    >>> shelf = lsdt.from_groups({"tea": "hot", "coffee": "hot", "cola": "cold"}, epsilon=.1)
    >>> log = lsdt.SideInformation(3, [("tea", "coffee")], [("coffee", "cola")], ["tea", "coffee", "cola"])
    >>> side = lsdt.merge([log, shelf], names=["log", "shelf"])
    >>> side
    SideInformation(3 arms, 1 similar pair, 1 dissimilar pair, partial, epsilon=0.1)
    >>> print(side.evidence)
    2 sources, 2 pairs, no contradiction
      log: 2 pairs (1 similar, 1 dissimilar), 2 new, 1 agreeing, 0 contradicting
      shelf: 1 pair (1 similar, 0 dissimilar), 0 new, 1 agreeing, 0 contradicting
    """
    sources = _checked_sides(sides)
    labels = _checked_names(names, len(sources))
    checked_word(on_conflict, "on_conflict", WAYS)
    epsilon = _common_epsilon(sources, labels)
    arms, places = _common_arms(sources, labels)
    said = _collect_statements(sources, places, arms.n_arms)
    report = _report(said, sources, labels, arms, on_conflict)
    if on_conflict == "error" and report.n_contradictions:
        raise InconsistentSideInformation(
            f"{report.contradictions_text()}\n"
            "Drop or correct a source, or say on_conflict='unknown' or on_conflict='first'",
            report,
        )
    verdict = said.verdicts(on_conflict)
    graphs = [
        adjacency_of_pairs(_pairs(said.keys[verdict == relation], arms.n_arms), arms.n_arms)
        for relation in (1, -1)
    ]
    store = known_store(arms.n_arms, *graphs).with_ranges(_merge_ranges(sources, labels, places, arms))
    side = SideInformation._of(store, arms, epsilon, report)
    try:
        side._check_ranges()
    except InvalidInput as error:
        raise InconsistentSideInformation(f"{_DISAGREE}: {error}", report) from None
    titles: dict[ArmId, str] = {}
    for source in reversed(sources):
        titles |= source.titles or {}
    side = side.with_titles(titles) if titles else side
    marks = tuple(dict.fromkeys(mark for source in sources for mark in source.fingerprint))
    beaten = joined(
        [
            None if source.beaten is None else source.beaten.renumbered(place)
            for source, place in zip(sources, places, strict=True)
        ]
    )
    risks = tuple(risk for source in sources for risk in source._origin.risks)
    return side._with_origin(Origin(_common_scale(sources, labels), marks, beaten, risks))


def _common_scale(sources: list[SideInformation], labels: list[str]) -> tuple[float, float] | None:
    """Return the rating scale of the sources, or None; refuse different scales, whose epsilons do not mix."""
    known = [(label, side.scale) for label, side in zip(labels, sources, strict=True) if side.scale]
    for label, scale in known[1:]:
        if scale != known[0][1]:
            (low, high), (other_low, other_high) = known[0][1], scale
            raise InvalidInput(
                f"{known[0][0]!r} comes from ratings from {low:g} to {high:g} and {label!r} from ratings "
                f"from {other_low:g} to {other_high:g}, and their thresholds are shares of these; read both "
                "logs with one scale=(low, high)"
            )
    return known[0][1] if known else None


def _merge_ranges(
    sources: list[SideInformation], labels: list[str], places: list[NDArray[np.int64]], arms: ArmNames
) -> PairRanges | None:
    """Intersect the ranges of all sources; refuse ranges that exclude one another."""
    known = {
        label: (place[side.ranges.better_pairs()], place[side.ranges.rows()[0]], *side.ranges.rows()[1:])
        for label, side, place in zip(labels, sources, places, strict=True)
        if side.ranges is not None
    }

    def join(some: Iterable[str]) -> PairRanges | None:
        columns = zip(*(known[label] for label in some), strict=True)
        better, pairs, low, high = (np.concatenate(column) for column in columns)
        return join_ranges(better, pairs, low, high, arms)

    if not known:
        return None
    try:
        return join(known)
    except InvalidInput as all_together:
        error, who = all_together, ""
    for two in combinations(known, 2):
        try:
            join(two)
        except InvalidInput as of_these:
            error, who = of_these, f" ({two[0]!r} and {two[1]!r})"
            break
    raise InconsistentSideInformation(
        f"{_DISAGREE}{who}: {error}; or leave a source out, or state less in it (a higher confidence=, a "
        "smaller risk=)"
    )


def _checked_sides(sides: Any) -> list[SideInformation]:
    if isinstance(sides, SideInformation):
        raise InvalidInput("merge takes a list of side information; got a single one")
    sources = checked_list(sides, "sides", "SideInformation")
    for number, side in enumerate(sources, start=1):
        check_kind(side, SideInformation, f"source {number} of merge must be a SideInformation")
        if side.store.thresholds is not None:
            raise Unsupported(
                f"merge joins information at one epsilon, and source {number} has distinct thresholds; list "
                "the pairs of all sources with their thresholds in one SideInformation"
            )
    if not sources:
        raise InvalidInput("merge needs at least one source; got none")
    return sources


def _checked_names(names: Any, n_sources: int) -> list[str]:
    if names is None:
        return [f"source {number}" for number in range(1, n_sources + 1)]
    labels = [names] if isinstance(names, str) else checked_texts(names, "names", "texts, one per source")
    if len(labels) != n_sources:
        raise InvalidInput(f"names must be one text for each of the {n_sources} sources; got {labels!r}")
    if len(set(labels)) < n_sources:
        raise InvalidInput(f"sources must have different names; got {labels!r}")
    return labels


def _common_epsilon(sources: list[SideInformation], labels: list[str]) -> float | None:
    known = [(side.epsilon, label) for side, label in zip(sources, labels, strict=True) if side.epsilon]
    for epsilon, label in known:
        if epsilon != known[0][0]:
            raise InvalidInput(
                f"sources must mean the same epsilon; {known[0][1]!r} has {known[0][0]!r} and {label!r} has "
                f"{epsilon!r}. Rebuild one of them: relations at one threshold say little about another"
            )
    return known[0][0] if known else None


def _common_arms(
    sources: list[SideInformation], labels: list[str]
) -> tuple[ArmNames, list[NDArray[np.int64]]]:
    """Return all arms, and for every source the indices of its arms among them."""
    kinds = [None if side.arm_ids is None else type(side.arm_ids[0]).__name__ for side in sources]
    for label, side, kind in zip(labels, sources, kinds, strict=True):
        if kind != kinds[0]:
            words = {None: "no ids", "str": "ids that are text", "int": "ids that are numbers"}
            raise InvalidInput(
                f"ids say which arms are the same; {labels[0]!r} has {words[kinds[0]]} and {label!r} has "
                f"{words[kind]}. Give all sources the same kind"
            )
        if kind is None and side.n_arms != sources[0].n_arms:
            raise InvalidInput(
                f"sources without arm ids must have the same arms; {labels[0]!r} has {sources[0].n_arms} and "
                f"{label!r} has {side.n_arms}. Give them arm_ids"
            )
    if kinds[0] is None:
        everyone = np.arange(sources[0].n_arms)
        return ArmNames(len(everyone), None), [everyone] * len(sources)
    index: dict[Any, int] = {}
    places = [
        np.array([index.setdefault(name, len(index)) for name in side.arm_ids or ()], np.int64)
        for side in sources
    ]
    return ArmNames(len(index), list(index)), places


class _Statements(NamedTuple):
    """The statements of all sources, sorted by pair and then by source.

    ``keys`` are the pairs with a relation in any source, ascending, as ``smaller * n_arms + larger``. The
    statements on ``keys[p]`` are at ``starts[p] .. starts[p + 1] - 1`` of `relations` (1 similar, -1
    dissimilar) and of `speakers`, the numbers of the sources.
    """

    keys: NDArray[np.int64]
    starts: NDArray[np.int64]
    relations: NDArray[np.int8]
    speakers: NDArray[np.int32]

    def _counts(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def balance(self) -> NDArray[np.int64]:
        """Return for every pair how many more sources say similar than dissimilar."""
        sums = np.concatenate(([0], np.cumsum(self.relations, dtype=np.int64)))
        return np.asarray(np.diff(sums[self.starts]))

    def is_disputed(self) -> NDArray[np.bool_]:
        """Return for every pair whether its sources contradict one another."""
        return np.asarray(np.abs(self.balance()) < self._counts())

    def verdicts(self, on_conflict: str) -> NDArray[np.int8]:
        """Return the merged relation of every pair: 1, -1, or 0 for unknown."""
        first = self.relations[self.starts[:-1]]
        return np.where(self.is_disputed(), np.int8(0), first) if on_conflict == "unknown" else first

    def per_statement(self, of_pairs: NDArray[Any]) -> NDArray[Any]:
        """Repeat the value of every pair for each statement about it."""
        return np.repeat(of_pairs, self._counts())


def _collect_statements(
    sources: list[SideInformation], places: list[NDArray[np.int64]], n_arms: int
) -> _Statements:
    """Collect the similar and dissimilar pairs of all sources, sorted by pair and then by source."""
    keys, relations, speakers = [], [], []
    total = 0
    for number, (side, place) in enumerate(zip(sources, places, strict=True)):
        for relation, pairs in ((1, side.similar_pairs()), (-1, side.dissimilar_pairs())):
            total += len(pairs)
            require_memory(total * _BYTES_PER_PAIR, f"merging {total:,} pairs", _FEWER)
            ends = np.sort(place[pairs], axis=1)
            keys.append(ends[:, 0] * n_arms + ends[:, 1])
            relations.append(np.full(len(pairs), relation, np.int8))
            speakers.append(np.full(len(pairs), number, np.int32))
    all_keys = np.concatenate(keys)
    order = np.argsort(all_keys, kind="stable")  # sources keep their order within a pair
    ordered = all_keys[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    starts = np.concatenate((begins, [len(ordered)]))
    return _Statements(
        ordered[begins], starts, np.concatenate(relations)[order], np.concatenate(speakers)[order]
    )


def _pairs(keys: NDArray[np.int64], n_arms: int) -> NDArray[np.int64]:
    return np.column_stack(np.divmod(keys, n_arms))


def _report(
    said: _Statements, sources: list[SideInformation], labels: list[str], arms: ArmNames, on_conflict: str
) -> MergeReport:
    """Count what every source contributed, and list the pairs on which sources contradict one another."""
    is_first = np.zeros(len(said.speakers), bool)
    is_first[said.starts[:-1]] = True
    sizes, balance = said.per_statement(np.diff(said.starts)), said.per_statement(said.balance())
    alike = (sizes + balance * said.relations) // 2  # how many sources say the same about the pair

    def per_source(which: NDArray[np.bool_]) -> list[int]:
        counts: list[int] = np.bincount(said.speakers[which], minlength=len(sources)).tolist()
        return counts

    columns = zip(
        labels,
        per_source(said.relations == 1),
        per_source(said.relations == -1),
        per_source(is_first),
        per_source(alike > 1),
        per_source(alike < sizes),
        (0 if side.ranges is None else len(side.ranges.pairs) for side in sources),
        (side.risks for side in sources),
        (side.evidence for side in sources),
        strict=True,
    )
    disputed = said.is_disputed()
    found = Disputes(
        _pairs(said.keys[disputed], arms.n_arms),
        np.diff(said.starts)[disputed],
        said.relations[said.per_statement(disputed)],
        said.speakers[said.per_statement(disputed)],
    )
    return MergeReport(
        tuple(Source(*column) for column in columns), len(said.keys), on_conflict, found, arms.ids
    )


class Source(NamedTuple):
    """What one source contributed.

    Attributes
    ----------
    name : str
        Its name.
    n_similar, n_dissimilar : int
        How many similar and how many dissimilar pairs it has.
    n_new : int
        Those that no earlier source has.
    n_agreeing, n_contradicting : int
        Those that another source has with the same relation, or with the opposite one; with three sources or
        more a pair may be both.
    n_ranges : int
        Pairs for which it has a `better` relation or a range.
    risks : tuple of StatedRisk
        What may be wrong in it, and how probable that is; empty if it states no risk.
    evidence : object or None
        The evidence of this source.
    """

    name: str
    n_similar: int
    n_dissimilar: int
    n_new: int
    n_agreeing: int
    n_contradicting: int
    n_ranges: int = 0
    risks: tuple[StatedRisk, ...] = ()
    evidence: Any = None

    @property
    def n_pairs(self) -> int:
        """Number of its similar and dissimilar pairs."""
        return self.n_similar + self.n_dissimilar

    @property
    def risk(self) -> float | None:
        """The probability that anything in it is wrong; None if it states none."""
        return total_risk(self.risks) if self.risks else None

    def __str__(self) -> str:
        text = (
            f"{self.name}: {counted(self.n_pairs, 'pair')} ({self.n_similar:,} similar, "
            f"{self.n_dissimilar:,} dissimilar), {self.n_new:,} new, {self.n_agreeing:,} agreeing, "
            f"{self.n_contradicting:,} contradicting"
        )
        return f"{text}; {counted(self.n_ranges, 'pair')} with a range" if self.n_ranges else text

    def _repr_html_(self) -> str:
        return fields_card(self)


class Contradiction(NamedTuple):
    """A pair that some sources call similar and others dissimilar, with the names of both.

    Attributes
    ----------
    first, second : str or int
        The two arms.
    similar_in, dissimilar_in : tuple of str
        The names of the sources that call them so.

    Examples
    --------
    >>> import lsdt
    >>> log, expert = lsdt.SideInformation(2, [(0, 1)]), lsdt.SideInformation(2, [], [(0, 1)])
    >>> side = lsdt.merge([log, expert], ["log", "expert"], on_conflict="unknown")
    >>> side.evidence.contradictions()
    [Contradiction(first=0, second=1, similar_in=('log',), dissimilar_in=('expert',))]
    """

    first: ArmId
    second: ArmId
    similar_in: tuple[str, ...]
    dissimilar_in: tuple[str, ...]

    def __str__(self) -> str:
        yes, no = (" and ".join(map(repr, names)) for names in (self.similar_in, self.dissimilar_in))
        return f"({self.first!r}, {self.second!r}): similar in {yes}, dissimilar in {no}"

    def _repr_html_(self) -> str:
        return fields_card(self)


class Disputes(NamedTuple):
    """Pairs that sources disagree on, as arrays: the statements on each pair and their sources."""

    pairs: NDArray[np.int64]
    statements: NDArray[np.int64]  # number of statements about every pair
    relations: NDArray[np.int8]
    speakers: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MergeReport:
    """What every source contributed to merged side information: ``lsdt.merge(...).evidence``.

    Attributes
    ----------
    sources : tuple of Source
        In the order in which they were given.
    n_pairs : int
        How many pairs are similar or dissimilar in any source.
    on_conflict : str
        What was done about contradictions.

    Examples
    --------
    >>> import lsdt
    >>> log, expert = lsdt.SideInformation(3, [(0, 1)]), lsdt.SideInformation(3, [], [(0, 1), (1, 2)])
    >>> report = lsdt.merge([log, expert], ["log", "expert"], on_conflict="first").evidence
    >>> print(report)
    2 sources, 2 pairs, 1 contradiction (the earlier source believed)
      log: 1 pair (1 similar, 0 dissimilar), 1 new, 0 agreeing, 1 contradicting
      expert: 2 pairs (0 similar, 2 dissimilar), 1 new, 0 agreeing, 1 contradicting
      (0, 1): similar in 'log', dissimilar in 'expert'
    >>> report.to_frame()[["name", "n_pairs", "n_new"]].values.tolist()
    [['log', 1, 1], ['expert', 2, 1]]
    """

    sources: tuple[Source, ...]
    n_pairs: int
    on_conflict: str
    _disputed: Disputes = field(repr=False)
    _arm_ids: tuple[ArmId, ...] | None = field(repr=False)

    @property
    def risk(self) -> float | None:
        """The probability that anything in the sources that state one is wrong: the sum of theirs.

        None if no source states one. Relations of the other sources are assumed to be right.

        Examples
        --------
        >>> import lsdt
        >>> rows = {"arm": ["a", "b", "c"], "mean": [.2, .3, .5], "se": [.02, .02, .02]}
        >>> past, sizes = lsdt.from_experiments(rows), lsdt.from_order(["a", "b", "c"])
        >>> side = lsdt.merge([past, lsdt.from_experiments(rows, confidence=.99), sizes])
        >>> round(side.evidence.risk, 6)
        0.06
        """
        known = [source.risk for source in self.sources if source.risk is not None]
        return min(sum(known), 1.0) if known else None

    def risk_text(self) -> str:
        """Return the risk as text: what adds up to it, and which sources are assumed to be right."""
        if self.risk is None:
            return ""
        stated = []
        for source in self.sources:
            if source.risk is not None:
                whats = ", or ".join(dict.fromkeys(each.what for each in source.risks))
                stated.append(f"{source.name} {source.risk:.3g} ({whats})")
        trusted = [source.name for source in self.sources if source.risk is None]
        text = f"something is wrong with probability at most {self.risk:.3g}: {' + '.join(stated)}"
        return f"{text}; assumed right: {', '.join(trusted)}" if trusted else text

    @property
    def n_contradictions(self) -> int:
        """How many pairs one source calls similar and another dissimilar."""
        return len(self._disputed.pairs)

    def contradictions(self, most: int | None = None) -> list[Contradiction]:
        """Return the pairs on which sources contradict one another, ascending: the first few, or all."""
        return list(islice(self._contradictions(), most))

    def _contradictions(self) -> Iterator[Contradiction]:
        pairs, statements, relations, speakers = self._disputed
        ends = np.cumsum(statements)
        for pair, end, count in zip(pairs.tolist(), ends.tolist(), statements.tolist(), strict=True):
            said, by = relations[end - count : end], speakers[end - count : end]
            names = [tuple(self.sources[one].name for one in by[said == word]) for word in (1, -1)]
            yield Contradiction(self._label(pair[0]), self._label(pair[1]), *names)

    def _label(self, arm: int) -> ArmId:
        return arm if self._arm_ids is None else self._arm_ids[arm]

    @property
    def arms(self) -> tuple[ArmId, ...]:
        """The arms of all contradictions."""
        return tuple(map(self._label, np.unique(self._disputed.pairs).tolist()))

    @property
    def relations(self) -> tuple[tuple[ArmId, ArmId, str], ...]:
        """Relations that cannot all be true: both relations of every contradicted pair."""
        return tuple(
            (found.first, found.second, word)
            for found in self._contradictions()
            for word in ("similar", "dissimilar")
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per source: its name and its numbers of pairs, see `Source`."""
        import pandas as pd

        names = ["name", "n_pairs", *Source._fields[1:-2]]
        return pd.DataFrame(
            [[getattr(source, name) for name in names] for source in self.sources], columns=names
        )

    def contradictions_text(self) -> str:
        """Return as text the number of pairs on which sources contradict one another, and the first few."""
        shown = [f"  {found}" for found in self.contradictions(_SHOWN)]
        if self.n_contradictions > _SHOWN:
            shown.append(f"  ... and {self.n_contradictions - _SHOWN:,} more")
        head = f"the sources contradict one another about {counted(self.n_contradictions, 'pair')}:"
        return "\n".join([head, *shown])

    def __str__(self) -> str:
        many = f"{counted(len(self.sources), 'source')}, {counted(self.n_pairs, 'pair')}, "
        risk = [self.risk_text()] if self.risk is not None else []
        if not self.n_contradictions:
            return "\n  ".join([many + "no contradiction", *map(str, self.sources), *risk])
        head = many + counted(self.n_contradictions, "contradiction") + _TAKEN[self.on_conflict]
        lines = self.contradictions_text().splitlines()[1:]
        return "\n".join([head, *(f"  {each}" for each in (*self.sources, *risk)), *lines])

    def _repr_html_(self) -> str:
        from lsdt.side_information.card import merge_report_card

        return merge_report_card(self)
