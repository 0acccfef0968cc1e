"""Side information from an order of the arms: prices, doses, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_list, checked_positive, checked_word, is_number
from lsdt.errors import InvalidInput, counted
from lsdt.kernel import require_memory
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.ranges import join_ranges
from lsdt.side_information.layouts.stores import known_store
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.tables import (
    is_missing,
    is_table,
    table_columns,
    take_groups,
    take_ids,
    take_numbers,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

WAYS = ("up", "down")
_BYTES_PER_PAIR = 120  # as ranges that are being joined
_NONE = "arms must have at least two arms in order; got none"
_FEWER = "give arms with the same value an order, or fewer of them"


class OrderEvidence(NamedTuple):
    """What side information from an order rests on; `SideInformation.evidence`.

    Attributes
    ----------
    n_orders : int
        How many orders there are; an arm is compared with arms of its own order.
    way : str
        Whether means go ``'up'`` or ``'down'`` along them.
    steepest : float or None
        The most that means were assumed to change per unit.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.from_order(["S", "M", "L"]).evidence
    OrderEvidence(n_orders=1, way='up', steepest=None)
    """

    n_orders: int
    way: str
    steepest: float | None

    def __str__(self) -> str:
        most = "" if self.steepest is None else f", by at most {self.steepest:g} per unit"
        return f"{counted(self.n_orders, 'order')}: means go {self.way}{most}, which is assumed"

    def _repr_html_(self) -> str:
        return fields_card(self)


def from_order(
    arms: Any,
    way: str = "up",
    within: Any = None,
    steepest: float | None = None,
) -> SideInformation:
    """Make side information from an order of the arms: means go up, or down, with the price, dose or size.

    Every arm is `better` than the one before it. That is your assumption; where equal means are possible it
    does no harm, as the arm that is ruled out is then no better than the one that is kept. One order of
    all arms leaves only its last arm; several (`within`) leave the last of each.

    Parameters
    ----------
    arms : mapping, list, table, or path
        The value of every arm, ``{"small": 1., "large": 2.5}``; or the arms in order. A list of lists is
        several orders. Or a table with columns ``arm`` and ``value``, and perhaps ``within``: a dataframe, a
        list of dicts, a dict of lists, or a ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file. Arms with
        equal values are not compared with one another.
    way : {'up', 'down'}
        Whether means go up or down along the order.
    within : mapping, optional
        The group of every arm, where the order holds only within groups: sizes of one drink, doses of one
        drug. Arms of different groups are not compared. In place of the column of a table, if it has one.
    steepest : float, optional
        The most that means change per unit of value, or per step of a list: neighbours then have a range from
        0 to this.

    Returns
    -------
    SideInformation
        Its ``evidence`` is an `OrderEvidence`.

    Notes
    -----
    If means rise to a peak and then fall, this is not an order. Call neighbours similar and use a policy for
    one peak, such as ``uts``.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_order({"tea S": 1, "tea L": 2, "cola S": 1, "cola L": 2},
    ...                        within={"tea S": "tea", "tea L": "tea", "cola S": "cola", "cola L": "cola"})
    >>> side
    SideInformation(4 arms, 0 similar pairs, 0 dissimilar pairs, 2 better pairs, partial)
    >>> lsdt.candidate_set(side).arm_ids
    ['tea L', 'cola L']
    >>> lsdt.from_order(["low", "middle", "high"], steepest=.1).difference("high", "middle")
    (0.0, 0.1)
    """
    checked_word(way, "way", WAYS)
    steepest = None if steepest is None else checked_positive(steepest, "steepest", ", the most per unit")
    if is_table(arms):
        arms, listed = _read_table(arms)
        within = listed if within is None else within
    ids, values, groups = _read_orders(arms)
    names = ArmNames(len(ids), ids)
    if names.ids == tuple(range(len(ids))):
        names = ArmNames(len(ids), None)
    if within is not None:
        groups = _groups_of(within, ids)
    pairs = _neighbours(values, groups)
    if not len(pairs):
        raise InvalidInput(
            "no two arms are in order: there is one arm in every group, or all values are equal; an order "
            "needs two arms with different values"
        )
    better = pairs[:, ::-1] if way == "up" else pairs  # the better arm first
    low, high = np.full(len(pairs), -np.inf), np.full(len(pairs), np.inf)
    if steepest is not None:
        low = np.zeros(len(pairs))
        high = steepest * np.abs(values[pairs[:, 1]] - values[pairs[:, 0]])
    known = join_ranges(better, better, low, high, names)
    none = adjacency_of_pairs(np.zeros((0, 2), np.int64), len(ids))
    store = known_store(len(ids), none, none).with_ranges(known)
    evidence = OrderEvidence(len(np.unique(groups[np.unique(pairs)])), way, steepest)
    return SideInformation._of(store, names, None, evidence)


def _read_table(rows: Any) -> tuple[dict[ArmId, float], dict[ArmId, Any] | None]:
    """Return the value and the group of every arm; None for groups if there is no such column."""
    what = repr(str(rows)) if isinstance(rows, (str, PathLike)) else "the table of an order"
    columns = table_columns(rows, what)
    arms, values = take_ids(columns, "arm", what), take_numbers(columns, "value", what)
    if len(set(arms)) < len(arms):
        raise InvalidInput(f"an arm occurs twice in {what}; an order has one row per arm")
    groups = take_groups(columns, "within", what)
    within = None if groups is None else dict(zip(arms, groups, strict=True))
    return dict(zip(arms, values.tolist(), strict=True)), within


def _read_orders(arms: Any) -> tuple[list[ArmId], NDArray[np.float64], NDArray[np.int64]]:
    """Return the arms, the value of each, and the number of its order."""
    if isinstance(arms, Mapping):
        ids = list(arms)
        if not ids:
            raise InvalidInput(_NONE)
        for name, value in arms.items():
            if not is_number(value) or not np.isfinite(float(value)):
                raise InvalidInput(f"the value of every arm must be a finite number; {name!r} has {value!r}")
        return ids, np.array([float(arms[name]) for name in ids]), np.zeros(len(ids), np.int64)
    rows = checked_list(arms, "arms", "arms in order, or a mapping from arms to values")
    if any(isinstance(row, (list, tuple)) for row in rows):
        chains = [checked_list(row, "every order", "arms") for row in rows]
    else:
        chains = [rows]
    ids = [name for chain in chains for name in chain]
    if not ids:
        raise InvalidInput(_NONE)
    seen = set()
    for name in ids:
        if not isinstance(name, (str, int, np.generic)):
            raise InvalidInput(f"arms must be strings or ints; got {name!r}")
        if name in seen:
            raise InvalidInput(
                f"arm {name!r} occurs twice; for an arm in several orders, merge one from_order for each"
            )
        seen.add(name)
    steps = [float(step) for chain in chains for step in range(len(chain))]
    lengths = [len(chain) for chain in chains]
    return ids, np.array(steps), np.repeat(np.arange(len(chains)), lengths)


def _groups_of(within: Any, ids: list[ArmId]) -> NDArray[np.int64]:
    if not isinstance(within, Mapping):
        raise InvalidInput(f"within must be a mapping from arms to groups; got {type(within).__name__}")
    missing = [name for name in ids if name not in within]
    if missing:
        raise InvalidInput(f"within names no group for arm {missing[0]!r}; give one for every arm")
    number: dict[Any, int] = {}
    for name in ids:
        if not isinstance(within[name], (str, int, float, np.generic)) or is_missing(within[name]):
            raise InvalidInput(f"within must name groups by text or numbers; {name!r} has {within[name]!r}")
    return np.array([number.setdefault(within[name], len(number)) for name in ids], np.int64)


def _neighbours(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs of arms of one group with consecutive values, the smaller value first.

    Pairs further apart follow from these.
    """
    order = np.lexsort((values, groups))
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0.0)
    starts = np.union1d(starts, np.flatnonzero(np.diff(groups[order], prepend=-1)))
    levels = np.split(order, starts[1:])  # arms of one group and value
    joined = [(one, two) for one, two in pairwise(levels) if groups[one[0]] == groups[two[0]]]
    count = sum(len(one) * len(two) for one, two in joined)
    require_memory(count * _BYTES_PER_PAIR, f"listing the {count:,} pairs of the order", _FEWER)
    found = [np.zeros((0, 2), np.int64)]
    for one, two in joined:
        found.append(np.column_stack([np.repeat(one, len(two)), np.tile(two, len(one))]))
    return np.concatenate(found)
