"""Side information from comparisons: who won, who lost, how often they tied."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import card, facts
from lsdt._validation import check_columns, checked_list, checked_share_inside
from lsdt.errors import InvalidInput, SideWarning, Unsupported, counted, listed
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.origin import StatedRisk
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.paired_strengths import Counts, clearly_better, fit_strengths
from lsdt.side_information.sources.tables import is_missing, table_columns, take_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_TIES = ("tie", "ties", "draw", "equal", "both")  # the first word of what counts as a tie: "both_bad"
_WHAT = "the table of comparisons"
_COUNTS = ("wins", "losses", "ties")
_OPTIONS = ("a", "b", "winner", *_COUNTS)
_ELSE = {"winner": "; or give the columns wins and losses"}
_MOST_SHOWN = 5  # strengths in the text of the evidence, by eye
_ONE_SIDED = 4.0  # standard errors, which a normal number exceeds 6 times in 100,000
_MOST_ARMS = 3_000  # the estimate inverts a matrix of this size, which takes some seconds and 300 MB
ASSUMPTION = "the judges prefer, more often than not, the arm with the larger mean reward"


class ComparisonEvidence(NamedTuple):
    """What side information from comparisons rests on; `SideInformation.evidence`.

    Attributes
    ----------
    arm_ids : tuple of str or int
        The arms.
    strengths : ndarray
        The estimated strength of every arm, on the scale of log odds.
    covariance : ndarray
        The covariance matrix of the strengths.
    position, position_error : float or None
        What coming first adds to the strength of an arm, and its standard error; None if no column says which
        arm came first.
    tie : float
        Half the width of the differences at which ties are most likely; 0 without ties.
    confidence : float
        The confidence that all better pairs are right.
    n_rows, n_counted : int
        The number of comparisons, and how many are left when the same judge, pair and order count once.
    notes : tuple of str
        What to know about these data.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_comparisons([("tea", "mate", "tea")] * 9 + [("tea", "mate", "mate")])
    >>> side.evidence.to_frame()["arm"].tolist(), side.evidence.n_counted
    (['tea', 'mate'], 10)
    """

    arm_ids: tuple[ArmId, ...]
    strengths: Floats
    covariance: Floats
    position: float | None
    position_error: float | None
    tie: float
    confidence: float
    n_rows: int
    n_counted: int
    notes: tuple[str, ...]

    @property
    def assumption(self) -> str:
        """What must be true for better pairs to say which mean reward is larger."""
        return ASSUMPTION

    @property
    def risk(self) -> float:
        """The probability that any better pair is wrong."""
        return round(1.0 - self.confidence, 12)

    @property
    def risks(self) -> tuple[StatedRisk, ...]:
        """The same risk, with what may be wrong; see `SideInformation.risks`."""
        return (StatedRisk("a better pair from comparisons is wrong", self.risk),)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm, strongest first: ``arm``, ``strength`` and its standard ``error``."""
        import pandas as pd

        order = np.argsort(-self.strengths, kind="stable")
        centred = self.covariance - self.covariance.mean(axis=0)
        centred = centred - centred.mean(axis=1)[:, None]  # strengths matter relative to their mean
        return pd.DataFrame(
            {
                "arm": [self.arm_ids[arm] for arm in order.tolist()],
                "strength": (self.strengths - self.strengths.mean())[order],
                "error": np.sqrt(np.maximum(np.diag(centred), 0.0))[order],
            }
        )

    def among(self, arms: NDArray[np.int64]) -> ComparisonEvidence:
        """Return the evidence about some of the arms."""
        return self._replace(
            arm_ids=tuple(self.arm_ids[arm] for arm in arms.tolist()),
            strengths=self.strengths[arms],
            covariance=self.covariance[np.ix_(arms, arms)],
        )

    def __str__(self) -> str:
        shown = [
            f"{row['arm']!r} {row['strength']:.2f} +- {row['error']:.2f}"
            for row in self.to_frame().head(_MOST_SHOWN).to_dict(orient="records")
        ]
        if len(self.arm_ids) > _MOST_SHOWN:
            shown.append(f"{len(self.arm_ids) - _MOST_SHOWN:,} weaker")
        number = counted(self.n_rows, "comparison")
        if self.n_counted < self.n_rows:
            number += f", of which {self.n_counted:,} count"
        return (
            f"{number}, of {counted(len(self.arm_ids), 'arm')}; strengths in log odds, with their standard "
            f"errors: {', '.join(shown)}; all better pairs hold with {self.confidence:g}"
        )

    def __repr__(self) -> str:
        number, arms = counted(self.n_counted, "comparison"), counted(len(self.arm_ids), "arm")
        return f"ComparisonEvidence({number}, {arms}, confidence {self.confidence:g})"

    def _repr_html_(self) -> str:
        known = {
            "comparisons": self.n_rows,
            "counted": self.n_counted,
            "position effect": self.position,
            "confidence": self.confidence,
            "assumes that": self.assumption,
        }
        return card("ComparisonEvidence", f"{counted(len(self.arm_ids), 'arm')} compared", facts(known))


class _Comparisons(NamedTuple):
    """Comparisons as columns: two ids, counts for the first arm, and perhaps who came first and judged."""

    a: list[Any]
    b: list[Any]
    counts: Floats
    first: list[Any] | None
    judge: list[Any] | None


def from_comparisons(
    rows: Any,
    *,
    a: str = "a",
    b: str = "b",
    winner: str = "winner",
    wins: str = "wins",
    losses: str = "losses",
    ties: str = "ties",
    first: str = "first",
    judge: str = "judge",
    arm_ids: Iterable[ArmId] | None = None,
    confidence: float = 0.95,
) -> SideInformation:
    """Make side information from comparisons of two arms each: better pairs, all right with a confidence.

    The strengths of all arms are estimated together (Bradley and Terry 1952, with ties and an effect of
    coming first), so arms that never met are ordered through others. A pair is better if the interval of its
    difference of strengths excludes 0; the intervals hold together, for all pairs of arms. The confidence is
    asymptotic: on known truth it held from a few comparisons per arm on.

    This assumes that judges prefer, more often than not, the arm with the larger mean reward, and that
    comparisons are independent. Strengths are on a scale of their own: they say which mean is larger, and not
    by how much. If you have scores of several arms on the same examples, `from_ratings` says more.

    Parameters
    ----------
    rows : dataframe, list of dicts, dict of lists, list of (a, b, winner), or path
        A row per comparison, with the id of the winner, or the name of its column, or ``"tie"``. Or a row per
        pair with the counts `wins` and `losses` of the first arm, and perhaps `ties`. Words that begin like
        ``"tie"``, ``"draw"``, ``"equal"`` or ``"both bad"`` are ties, too.
        A path is that of a ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file.
    a, b, winner, wins, losses, ties : str
        Names of the columns.
    first : str
        The column with the arm that was shown first, by id or by the name of its column; if the first column
        always was, name it: ``first="a"``. Without such a column, no effect of the position is estimated, and
        a warning says if arms in the first column win more often than their strengths explain.
    judge : str
        The column that says who judged. The same judge, pair and order count once, however often they occur:
        such answers are hardly independent. Without such a column, or without a name in it, every row
        counts. In a table of counts, a row of one judge counts once, too, with a warning.
    arm_ids : iterable of str or of int, optional
        The arms, to fix their order or to have arms that were not compared.
    confidence : float
        The confidence that all better pairs are right.

    Returns
    -------
    SideInformation
        With better pairs only; its ``evidence`` is a `ComparisonEvidence`: strengths, errors, notes.

    Examples
    --------
    >>> import lsdt
    >>> rows = [("tea", "mate", "tea")] * 18 + [("tea", "mate", "mate")] * 2
    >>> rows += [("mate", "cola", "mate")] * 17 + [("mate", "cola", "tie")] * 3
    >>> side = lsdt.from_comparisons(rows)
    >>> side.relation("tea", "cola"), lsdt.candidate_set(side).arm_ids      # they never met
    ('better', ['tea'])
    """
    confidence = checked_share_inside(confidence, "confidence")
    columns = {"a": a, "b": b, "winner": winner, "wins": wins, "losses": losses, "ties": ties}
    check_columns("a, b, winner, wins, losses and ties", columns.values())
    check_columns("first and judge", (first, judge))
    table = _table(rows, (a, b, winner))
    read = _read(table, columns, first, judge)
    names = _names(read, arm_ids)
    counts, n_counted = _counts(read, names)
    fitted = fit_strengths(counts, names.n_arms)
    if read.first is None:
        _warn_of_position(counts, names.n_arms, a)
    covariance = fitted.covariance[:-2, :-2]
    part = _parts(counts, names.n_arms)
    better = clearly_better(fitted.strength, covariance, confidence)
    better = better[part[better[:, 0]] == part[better[:, 1]]]
    has_order = read.first is not None
    evidence = ComparisonEvidence(
        tuple(names.label(arm) for arm in range(names.n_arms)),
        fitted.strength,
        covariance,
        fitted.position if has_order else None,
        float(np.sqrt(fitted.covariance[-2, -2])) if has_order else None,
        fitted.tie,
        confidence,
        round(float(read.counts.sum())),
        n_counted,
        _notes(read, part, n_counted, a),
    )
    _warn(read, n_counted, len(better), confidence)
    side = SideInformation(names.n_arms, better=better)._with_names(names)
    return SideInformation._of(side._store, names, None, evidence)


def _warn_of_position(counts: Counts, n_arms: int, a: str) -> None:
    """Warn if arms of the first column, `a`, win more or less often than their strengths explain."""
    if not (counts.losses.any() and counts.wins.any()):
        return  # rows are written with the winner on one side, which says nothing of what was shown first
    turned = fit_strengths(counts._replace(order=np.ones(len(counts.a))), n_arms)
    error = float(np.sqrt(turned.covariance[-2, -2]))
    if abs(turned.position) > _ONE_SIDED * error:
        often = "more" if turned.position > 0.0 else "less"
        warnings.warn(
            f"arms in the first column win {often} often than their strengths explain (by "
            f"{turned.position:.2g} +- {1.96 * error:.2g} in log odds). If they were shown first, say "
            f"first={a!r}, or give a column with the arm that was: otherwise better pairs may be wrong. If "
            "it is only how rows were written, ignore this",
            SideWarning,
            stacklevel=3,
        )


def _warn(read: _Comparisons, n_counted: int, n_better: int, confidence: float) -> None:
    """Warn where counts of one judge are lost, and where nothing is ordered."""
    n_rows = round(float(read.counts.sum()))
    if read.judge is not None:
        named = np.array([not is_missing(one) for one in read.judge])
        several = named & (read.counts.sum(axis=1) > 1.0)
        if several.any():
            at = int(np.argmax(several))
            warnings.warn(
                f"{counted(int(several.sum()), 'row')} with a judge stand for several comparisons, and the "
                f"same judge, pair and order count once: {n_counted:,} of {n_rows:,} comparisons count (row "
                f"{at}: {read.counts[at].sum():g} of {read.a[at]!r} and {read.b[at]!r} by {read.judge[at]!r})"
                ". If a judge's answers are independent, like votes of different users, leave the column out",
                SideWarning,
                stacklevel=3,
            )
    if not n_better:
        order = "orders" if n_counted == 1 else "order"
        what = f"{counted(n_counted, 'comparison')} {order} no pair of arms at confidence {confidence:g}"
        once = (
            ""
            if n_counted == n_rows
            else f" ({n_rows:,}, of which the same judge, pair and order count once)"
        )
        warnings.warn(
            f"{what}{once}: this does not say which arm is the best. Add comparisons "
            "(lsdt.Inquiry and lsdt next-pairs say of which pairs), leave out arms that are not in "
            "question, or accept a lower confidence=",
            SideWarning,
            stacklevel=3,
        )


def _notes(read: _Comparisons, part: Ints, n_counted: int, a: str) -> tuple[str, ...]:
    """Return what to know about the data."""
    notes = [f"better pairs say which mean reward is larger if {ASSUMPTION}"]
    if read.first is None:
        notes.append(
            "no column says which arm was shown first, so a preference for it cannot be separated; if it was "
            f"always the arm in the first column, say first={a!r}"
        )
    n_rows = round(float(read.counts.sum()))
    if read.judge is None:
        notes.append("no column says who judged, so repeated comparisons count as independent")
    else:
        if n_counted < n_rows:
            notes.append(
                f"the same judge, pair and order count once: {n_counted:,} of {n_rows:,} comparisons"
            )
        if n_unknown := sum(map(is_missing, read.judge)):
            notes.append(f"{counted(n_unknown, 'row')} without a judge, counted as independent")
    n_parts = int(part.max()) + 1
    if n_parts > 1:
        notes.append(
            f"the comparisons fall into {n_parts:,} groups of arms with no comparison between them; arms of "
            "different groups are not ordered"
        )
    return tuple(notes)


def _table(rows: Any, columns: tuple[str, str, str]) -> dict[str, list[Any]]:
    """Return the rows as lists, by name of the column."""
    if isinstance(rows, (list, tuple)) and rows and not all(isinstance(row, Mapping) for row in rows):
        for at, row in enumerate(rows):
            if not isinstance(row, (list, tuple)) or len(row) != len(columns):
                raise InvalidInput(
                    f"row {at} must be (a, b, winner), or all rows dicts with these columns; got {row!r}"
                )
        rows = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    return table_columns(rows, _WHAT)


def _read(table: dict[str, list[Any]], columns: dict[str, str], first: str, judge: str) -> _Comparisons:
    """Check the columns and return the comparisons."""

    def column(name: str) -> list[Any]:
        if name not in table and name in _OPTIONS:
            found = listed(list(table), name)
            raise InvalidInput(
                f"{_WHAT} has no column {name!r}; found {found}. If the column has another name, say "
                f"{name}=...{_ELSE.get(name, '')}"
            )
        return take_column(table, name, _WHAT)

    firsts, seconds = column(columns["a"]), column(columns["b"])
    for at, (one, other) in enumerate(zip(firsts, seconds, strict=True)):
        for arm in (one, other):
            if not isinstance(arm, (str, int, np.integer)) or isinstance(arm, bool) or is_missing(arm):
                raise InvalidInput(f"row {at}: an arm must be a string or a whole number; got {arm!r}")
        if one == other:
            raise InvalidInput(f"row {at} compares {one!r} with itself")
    if columns["wins"] in table or columns["losses"] in table:
        numbers = [column(columns[name]) for name in ("wins", "losses")]
        numbers.append(table.get(columns["ties"], [0] * len(firsts)))
        counts = _checked_counts(numbers)
    else:
        said = [
            _winner(one, other, word, columns, at)
            for at, (one, other, word) in enumerate(
                zip(firsts, seconds, column(columns["winner"]), strict=True)
            )
        ]
        counts = np.eye(3)[said]
    shown = None
    if first in table:
        shown = [
            _which(one, other, word, columns, f"row {at}: the column {first!r}")
            for at, (one, other, word) in enumerate(zip(firsts, seconds, table[first], strict=True))
        ]
    elif first != "first":
        column(first)
    judges = table.get(judge)
    if judges is None and judge != "judge":
        column(judge)
    return _Comparisons(firsts, seconds, counts, shown, judges)


def _checked_counts(columns: list[list[Any]]) -> Floats:
    for name, column in zip(_COUNTS[:2], columns[:2], strict=True):
        empty = [row for row, value in enumerate(column) if is_missing(value)]
        if empty:
            raise InvalidInput(f"row {empty[0]}: {name} is missing; write 0 if there were none")
    try:
        counts = np.array(
            [[0 if is_missing(value) else value for value in each] for each in columns], np.float64
        ).T
    except (TypeError, ValueError):
        raise InvalidInput("wins, losses and ties must be numbers, how often each occurred") from None
    bad = ~((counts >= 0.0) & np.isfinite(counts))
    if bad.any():
        row, at = np.argwhere(bad)[0].tolist()
        raise InvalidInput(f"row {row}: {_COUNTS[at]} must be a count, 0 or more; got {counts[row, at]:g}")
    if not counts.any():
        raise InvalidInput("all counts are 0; give at least one comparison")
    return counts


def _winner(one: Any, other: Any, word: Any, columns: dict[str, str], at: int) -> int:
    """Return 0 if the first arm won, 1 if the second did, 2 for a tie."""
    if isinstance(word, str) and word not in (one, other) and re.split("[^a-z]", word.lower())[0] in _TIES:
        return 2
    which = _which(one, other, word, columns, f"row {at}: the winner", ", or 'tie'")
    return 0 if which > 0 else 1


def _which(one: Any, other: Any, word: Any, columns: dict[str, str], what: str, more: str = "") -> float:
    """Return 1 if a word means the first arm of a row, -1 if the second."""
    for means, sign in ((one, 1.0), (other, -1.0), (columns["a"], 1.0), (columns["b"], -1.0)):
        if word == means:
            return sign
    raise InvalidInput(
        f"{what} must be {one!r} or {other!r}, or the name of the column, {columns['a']!r} or "
        f"{columns['b']!r}{more}; got {word!r}"
    )


def _names(read: _Comparisons, arm_ids: Iterable[ArmId] | None) -> ArmNames:
    found = list(dict.fromkeys(arm for pair in zip(read.a, read.b, strict=True) for arm in pair))
    if arm_ids is None:
        ids = [int(arm) if isinstance(arm, np.integer) else arm for arm in found]
    else:
        ids = checked_list(arm_ids, "arm_ids", "ids, one per arm")
        unknown = [arm for arm in found if arm not in set(ids)]
        if unknown:
            raise InvalidInput(f"arm_ids lacks arms that were compared: {listed(unknown)}")
    if len(ids) > _MOST_ARMS:
        raise Unsupported(
            f"comparisons of more than {_MOST_ARMS:,} arms need too large a matrix; got {len(ids):,}. Keep "
            "the arms with the most comparisons"
        )
    return ArmNames(len(ids), ids)


def _counts(read: _Comparisons, names: ArmNames) -> tuple[Counts, int]:
    """Return the comparisons by index; the same judge, pair and order share one comparison."""
    a = np.array([names.index(arm) for arm in read.a], np.int64)
    b = np.array([names.index(arm) for arm in read.b], np.int64)
    order = np.zeros(len(a)) if read.first is None else np.array(read.first)
    counts = read.counts
    if read.judge is not None:
        shown = np.where(order == 0.0, np.minimum(a, b), np.where(order > 0.0, a, b))
        hidden = np.where(shown == a, b, a)
        # A row without a judge is not the same judge as another such row.
        judges = [("row", at) if is_missing(one) else ("judge", one) for at, one in enumerate(read.judge)]
        keys = list(zip(judges, shown.tolist(), hidden.tolist(), strict=True))
        total: dict[Any, float] = {}
        for key, number in zip(keys, counts.sum(axis=1).tolist(), strict=True):
            total[key] = total.get(key, 0.0) + number
        share = np.array([1.0 if key[0][0] == "row" else max(total[key], 1.0) for key in keys])
        counts = counts / share[:, None]
    return Counts(a, b, order, *counts.T), round(float(counts.sum()))


def _parts(counts: Counts, n_arms: int) -> Ints:
    """Return the number of the connected part of every arm; only arms of one part can be compared."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    used = (counts.wins + counts.losses + counts.ties) > 0.0
    graph = coo_array((np.ones(used.sum()), (counts.a[used], counts.b[used])), (n_arms, n_arms))
    part: Ints = connected_components(graph, directed=False)[1]
    return part
