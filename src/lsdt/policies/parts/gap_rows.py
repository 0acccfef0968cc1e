"""Bounds on the gaps among arms, as policies and the rule for stopping keep them.

If arm i is the best, it lies between ``lower`` and ``upper`` above every arm j of its row. Where every row
has all arms in it, bounds are two square tables without any index (16 bytes for a pair of arms), and arms
that were never played are skipped. Among very many arms, rows hold the nearest ones alone; there who is in a
row, and in which rows an arm is, takes an index (40 bytes for an entry, of which there are at most
`MOST_BOUNDS`), since neither rows nor columns have a place for every arm.

States that use these functions have ``rows``, beside ``family``, ``variance`` and ``tallies``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates import MOST_BOUNDS, MutualBounds
from lsdt.kernel import BERNOULLI, Array, compiled, inlined
from lsdt.policies.tolerance import cannot_hold, least_spread, unknown_gaps

if TYPE_CHECKING:
    from lsdt.kernel import FixedReals, FixedWholes, Wholes


class GapRows(NamedTuple):
    """Bounds on gaps; ``floor`` is the least mean that each arm has if it is the best.

    Whole rows are two square tables, which may be there twice: a row is read to solve for an arm, a column
    when one is played. ``played`` are the arms; `begin_plays` brings those with rewards forward. Arms are
    *equivalent* if they have the same floor and the same bounds to all arms that were played, so that rewards
    say the same about them; ``equivalence_class`` is the first arm equivalent to each.

    Of rows with some arms each, row i is ``others[indptr[i]:indptr[i + 1]]``, and ``played`` is empty. Column
    j is ``rows[starts[j]:starts[j + 1]]``, the arms that have j in their row, at ``places`` of it.
    """

    floor: FixedReals
    indptr: FixedWholes
    others: FixedWholes
    lower: FixedReals
    upper: FixedReals
    lower_by_column: FixedReals
    upper_by_column: FixedReals
    starts: FixedWholes
    rows: FixedWholes
    places: FixedWholes
    played: Wholes
    equivalence_class: Wholes


# Where the fields that change point, for a policy that has ``rows`` in its state.
ROW_PLACES = {"rows.played": "rows.floor", "rows.equivalence_class": "rows.floor"}


class Row(NamedTuple):
    """The terms of the cost of one arm: `size` of them, the first at place `first`.

    If every arm is in it, `played` lists all arms, those with rewards first: of the others there is no term.
    Else it is empty.
    """

    family: int
    variance: float
    floor: float
    first: int
    size: int
    counts: Array
    means: Array
    others: Array
    lower: Array
    upper: Array
    played: Array


def rows_of(bounds: MutualBounds, family: int, by_columns: bool = True) -> GapRows:
    """Return the rows of bounds, or of no bounds if they put means further apart than rewards can be.

    Who reads a column in every round has whole tables twice, `by_columns` too, in twice the memory.
    """
    if family == BERNOULLI and cannot_hold(least_spread(bounds)):
        bounds = unknown_gaps(len(bounds.indptr) - 1)  # every arm would be refuted before the first reward
    tables = tables_of(bounds, by_columns)
    return sparse_rows(bounds, family) if tables is None else full_rows(*tables, family, by_columns)


def tables_of(bounds: MutualBounds, by_columns: bool, most: int = MOST_BOUNDS) -> tuple[Array, Array] | None:
    """Return lower and upper bounds of all pairs; unknown gaps are between 0 and infinity.

    If it were left out, an arm with unknown gaps would explain all rewards but its own at no cost, and win
    every comparison. With more than `most` pairs (some 7,000 candidates) rows that are not whole stay as they
    are, and this is None, unless an index of them would take more memory than the tables.
    """
    n_arms, n_entries = len(bounds.indptr) - 1, len(bounds.indices)
    if n_entries == n_arms**2:
        return bounds.lower.reshape(n_arms, n_arms), bounds.upper.reshape(n_arms, n_arms)
    words = 4 if by_columns else 2
    if n_arms**2 > most and words * n_arms**2 > 5 * n_entries:
        return None
    lower, upper = np.zeros((n_arms, n_arms)), np.full((n_arms, n_arms), math.inf)
    for arm in range(n_arms):  # all at once would hold up other threads for seconds
        row = slice(bounds.indptr[arm], bounds.indptr[arm + 1])
        lower[arm, bounds.indices[row]] = bounds.lower[row]
        upper[arm, bounds.indices[row]] = bounds.upper[row]
    return lower, upper


def full_rows(lower: Array, upper: Array, family: int, by_columns: bool) -> GapRows:
    """Return rows with all arms in them: two square tables, with `by_columns` two copies of each."""
    n_arms = len(lower)
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    floor = lower.max(axis=1) if family == BERNOULLI else np.full(n_arms, -math.inf)
    _, first, equivalence_class = np.unique(floor, return_index=True, return_inverse=True)
    return GapRows(
        floor=floor,
        indptr=none,
        others=none,
        lower=lower.ravel(),
        upper=upper.ravel(),
        lower_by_column=lower.T if by_columns else nothing,
        upper_by_column=upper.T if by_columns else nothing,
        starts=none,
        rows=none,
        places=none,
        played=np.arange(n_arms),
        equivalence_class=first[equivalence_class],
    )


def sparse_rows(bounds: MutualBounds, family: int) -> GapRows:
    """Return rows with some arms each, by rows and by columns."""
    n_arms = len(bounds.indptr) - 1
    row, floor = np.repeat(np.arange(n_arms), np.diff(bounds.indptr)), np.full(n_arms, -math.inf)
    if family == BERNOULLI:
        np.maximum.at(floor, row, bounds.lower)
    places = np.argsort(bounds.indices, kind="stable")
    return GapRows(
        floor=floor,
        indptr=bounds.indptr,
        others=bounds.indices,
        lower=bounds.lower,
        upper=bounds.upper,
        lower_by_column=np.zeros(0),
        upper_by_column=np.zeros(0),
        starts=np.concatenate([[0], np.cumsum(np.bincount(bounds.indices, minlength=n_arms))]),
        rows=row[places],
        places=places,
        played=np.zeros(0, np.int64),
        equivalence_class=np.arange(n_arms),
    )


@inlined
def row_span(indptr: Array, n_played: int, arm: int) -> tuple[int, int]:
    """Return the place of the first entry of an arm's row, and how many entries it has."""
    if n_played > 0:
        return arm * n_played, n_played
    return indptr[arm], indptr[arm + 1] - indptr[arm]


@inlined
def row_of(state: Any, arm: int) -> Row:
    """Return the terms of the cost of an arm."""
    rows = state.rows
    is_full = len(rows.played) > 0
    return Row(
        state.family,
        state.variance,
        rows.floor[arm],
        arm * len(rows.played) if is_full else rows.indptr[arm],
        len(rows.played) if is_full else rows.indptr[arm + 1] - rows.indptr[arm],
        state.tallies.counts,
        state.tallies.means,
        rows.others,
        rows.lower,
        rows.upper,
        rows.played,
    )


@inlined
def term_of(row: Row, number: int) -> tuple[Any, Any, Any]:
    """Return the place of a term of a row, its arm and the plays of that; -1 if there are no more terms."""
    if len(row.played) == 0:
        place = np.uint64(row.first) + np.uint64(number)
        other = np.uint64(row.others[place])
        return place, other, row.counts[other]
    other = np.uint64(row.played[np.uint64(number)])
    count = row.counts[other]
    return np.uint64(row.first) + other, other, count if count > 0 else -1


@inlined
def entry_of(row: Row, number: int) -> tuple[Any, Any]:
    """Return the place of an entry of a row and its arm, whether that was played or not."""
    place = np.uint64(row.first) + np.uint64(number)
    return place, np.uint64(number) if len(row.played) > 0 else np.uint64(row.others[place])


@inlined
def columns_of(rows: GapRows) -> tuple[Array, Array]:
    """Return lower and upper bounds as `column_entry` finds them."""
    if len(rows.lower_by_column) > 0:
        return rows.lower_by_column, rows.upper_by_column
    return rows.lower, rows.upper


@inlined
def column_places(rows: GapRows, source: int) -> tuple[int, int]:
    """Return where the column of an arm begins in whole tables, and how far one entry lies from the next."""
    if len(rows.lower_by_column) > 0:
        return source * len(rows.played), 1
    return source, len(rows.played)


class Column(NamedTuple):
    """Where the arms that have one arm in their row are found, `size` of them, and their bounds.

    With whole tables, bounds lie at place `first` of `columns_of` and one every `step`. Else `step` is 0, and
    the arms are those of ``rows`` from `first` on.
    """

    size: int
    first: int
    step: int
    rows: Array
    places: Array


@inlined
def column_of(rows: GapRows, source: int) -> Column:
    """Return the column of an arm."""
    if len(rows.played) > 0:
        first, step = column_places(rows, source)
        return Column(len(rows.played), first, step, rows.rows, rows.places)
    first = rows.starts[source]
    return Column(rows.starts[source + 1] - first, first, 0, rows.rows, rows.places)


@inlined
def column_entry(column: Column, number: int) -> tuple[Any, Any]:
    """Return an arm of a column, and the place of its bounds in `columns_of`."""
    if column.step > 0:
        return np.uint64(number), np.uint64(column.first) + np.uint64(column.step) * np.uint64(number)
    at = np.uint64(column.first) + np.uint64(number)
    return np.uint64(column.rows[at]), np.uint64(column.places[at])


@compiled
def split_classes(equivalence_class: Array, lower: Array, upper: Array, start: int, step: int) -> None:
    """Split classes of equivalent arms by their bounds to an arm that is played for the first time.

    Those are its column, which begins at `start`, one entry every `step`.
    """
    n_arms, column, each = len(equivalence_class), np.uint64(start), np.uint64(step)
    before, following = equivalence_class.copy(), np.full(n_arms, -1)
    for arm in range(n_arms):
        here = column + each * np.uint64(arm)
        first = min(before[arm], arm)  # of the new classes that this one splits into
        while first != arm:
            there = column + each * np.uint64(first)
            if lower[there] == lower[here] and upper[there] == upper[here]:
                break
            if following[first] < 0:
                following[first] = arm
            first = following[first]
        equivalence_class[arm] = first


@inlined
def bring_forward(played: Array, counts: Array, source: int) -> None:
    """List an arm with its first reward among those with rewards, which come first, in ascending order.

    So sums over them are those over whole rows, to the last bit, whichever arm was played first.
    """
    at = 0
    while at < len(played) and played[at] < source and counts[played[at]] > 0:
        at += 1
    moved = source
    while at < len(played):
        played[at], moved = moved, played[at]
        if moved == source:
            break
        at += 1


@inlined
def begin_plays(rows: GapRows, counts: Array, source: int) -> None:
    """List an arm that has its first reward, and split classes whose arms have different bounds to it."""
    if len(rows.played) > 0:
        bring_forward(rows.played, counts, source)
        lower, upper = columns_of(rows)
        start, step = column_places(rows, source)
        split_classes(rows.equivalence_class, lower, upper, start, step)


@inlined
def are_alike(equivalence_class: Array) -> bool:
    """Say whether any two arms are equivalent."""
    arm = 0
    while arm < len(equivalence_class) and equivalence_class[arm] == arm:
        arm += 1
    return arm < len(equivalence_class)


@compiled
def split_by_all(
    equivalence_class: Array, counts: Array, lower: Array, upper: Array, by_columns: bool
) -> None:
    """Split classes of equivalent arms by their bounds to all arms that were played."""
    n_arms = len(counts)
    for arm in range(n_arms):
        if counts[arm] > 0 and are_alike(equivalence_class):
            split_classes(
                equivalence_class,
                lower,
                upper,
                arm * n_arms if by_columns else arm,
                1 if by_columns else n_arms,
            )


def list_plays(rows: GapRows, counts: Array) -> None:
    """List the arms with rewards first, when counts were given at once; classes stay as they are."""
    if len(rows.played):
        rows.played[:] = np.argsort(counts == 0, kind="stable")


def fill_plays(rows: GapRows, counts: Array) -> None:
    """List the arms with rewards, and find the classes of equivalent arms, when counts were given at once."""
    list_plays(rows, counts)
    if len(rows.played):
        lower, upper = columns_of(rows)
        split_by_all(rows.equivalence_class, counts, lower, upper, lower is not rows.lower)


def narrow_rows(rows: GapRows, counts: Array, n_columns: int) -> GapRows:
    """Return rows that hold the arms played most, and each arm itself."""
    n_arms = len(counts)
    kept = np.argsort(-counts, kind="stable")[:n_columns]
    lower, upper = np.zeros((n_arms, len(kept) + 1)), np.full((n_arms, len(kept) + 1), math.inf)
    upper[:, -1] = 0.0  # the arm itself
    for number, other in enumerate(kept.tolist()):
        if len(rows.played):
            arms, places = np.arange(n_arms), np.arange(n_arms) * n_arms + other
        else:
            column = slice(rows.starts[other], rows.starts[other + 1])
            arms, places = rows.rows[column], rows.places[column]
        lower[arms, number], upper[arms, number] = rows.lower[places], rows.upper[places]
    is_there = np.ones(lower.shape, np.bool_)
    is_there[kept, -1] = False  # these are in the row already
    others = np.column_stack([np.tile(kept, (n_arms, 1)), np.arange(n_arms)])
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    return rows._replace(
        indptr=np.concatenate([[0], np.cumsum(is_there.sum(axis=1))]),
        others=others[is_there],
        lower=lower[is_there],
        upper=upper[is_there],
        lower_by_column=nothing,
        upper_by_column=nothing,
        starts=none,
        rows=none,
        places=none,
        played=none,
        equivalence_class=np.arange(n_arms),
    )
