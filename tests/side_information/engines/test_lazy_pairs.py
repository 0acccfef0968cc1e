"""Pairs that stay in an engine are checked there; what is wrong is counted and shown."""

from __future__ import annotations

import math

import duckdb
import pandas as pd
import polars as pl
import pytest

import lsdt
from lsdt.errors import InvalidInput, TooLarge, Unsupported
from lsdt.kernel.memory import memory_limit
from lsdt.side_information.engines import open_tables

COLUMNS = ("a", "b", "relation", "low", "high")


def rows(*given):
    frame = pd.DataFrame([(*row, *[None] * (5 - len(row))) for row in given], columns=COLUMNS)
    return frame.astype({"low": float, "high": float, "relation": object})


def in_duckdb(frame):
    return duckdb.from_df(frame)


def in_polars(frame):
    return pl.from_pandas(frame).lazy()


ENGINES = pytest.mark.parametrize("opened", [in_duckdb, in_polars], ids=["duckdb", "polars"])


@ENGINES
def test_rows_are_counted(opened):
    frame = rows((1, 2, "similar"), (2, 3, "better"), (9, None, None), (1, 3, "range", -math.inf, 0.2))
    pairs = lsdt.from_lazy_frame(opened(frame.astype({"b": "Int64"})), epsilon=0.1)
    assert pairs.n_rows == 4
    assert pairs.counts == {"similar": 1, "dissimilar": 0, "better": 1, "range": 1}
    with open_tables(pairs) as tables:
        assert (tables.n_arms, tables.n_pairs) == (4, 1)
    side = pairs.around([1, 9], 1)
    assert side.arm_ids == (1, 2, 3, 9)
    assert side.epsilon == 0.1
    assert side.difference(1, 3) == (-math.inf, 0.2)
    assert pairs.around([9], 3).n_arms == 1


@ENGINES
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("x", "y", "similr"), ("x", "y", "no")], "2 rows of 2 have a relation that is not known.*a='x'"),
        ([("x", "y", None), ("x", "z", "similar")], "1 row of 2 has two arms and no relation.*b='y'"),
        ([("x", None, "similar"), ("x", "y", "similar")], "1 row of 2 has a relation and only one arm"),
        ([("x", "", "similar")], "a relation and only one arm"),
        ([(None, "y", "similar"), ("", "y", "similar")], "2 rows of 2 have no arm in column 'a'"),
        ([("x", "x", "dissimilar")], "the same arm twice.*a='x', b='x', relation='dissimilar'"),
        ([("x", "y", "range", 0.3, 0.2)], "ends that leave no difference.*low=0.3, high=0.2"),
        ([("x", "y", "range", math.inf, None)], "ends that leave no difference"),
    ],
)
def test_wrong_rows_are_refused(opened, given, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.from_lazy_frame(opened(rows(*given)))


@pytest.mark.parametrize(
    ("given", "epsilon", "message"),
    [
        (
            [(1, 2, "similar"), (2, 1, "dissimilar")],
            None,
            r"1 pair is both similar and dissimilar such as \(1, 2\)",
        ),
        (
            [(1, 2, "similar"), (2, 1, "range", 0.2, 0.3)],
            0.1,
            r"both similar and dissimilar, listed or by their range, such as \(1, 2\)",
        ),
        (
            [(1, 2, "better"), (2, 1, "better")],
            None,
            r"1 pair leave no .*\(1, 2\).*from 0.0 to -?0.0",
        ),
        (
            [(1, 2, "range", 0, 1), (2, 1, "range", 0.5, 1)],
            None,
            r"no possible difference .*from 0.0 to -0.5",
        ),
    ],
)
def test_pairs_that_contradict_themselves_are_refused(given, epsilon, message):
    pairs = lsdt.from_lazy_frame(in_polars(rows(*given)), epsilon=epsilon)
    with open_tables(pairs) as tables, pytest.raises(InvalidInput, match=message):
        tables.check()


def test_columns_and_kinds_are_checked():
    frame = rows((1, 2, "similar"))
    named = in_polars(
        frame.rename(columns={"a": "x", "b": "y", "relation": "kind", "low": "from", "high": "to"})
    )
    pairs = lsdt.from_lazy_frame(named, "x", "y", "kind", low="from", high="to")
    assert pairs.n_rows == 1
    for asked, message in (
        ({}, "lacks the columns 'a', 'b', 'relation'; found 'x', 'y', 'kind'"),
        ({"a": "x", "b": "x", "relation": "kind"}, "names of different columns"),
        ({"a": "x", "b": "kind", "relation": "y"}, "must both hold text or both whole numbers"),
        ({"a": "x", "b": "y", "relation": "from"}, "column 'from' must hold words"),
        ({"a": "from", "b": "y", "relation": "kind"}, "must hold arm ids"),
        ({"a": "x", "b": "y", "relation": "kind", "epsilon": -1}, "epsilon must be"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lsdt.from_lazy_frame(named, **asked)
    with pytest.raises(InvalidInput, match="there are no rows"):
        lsdt.from_lazy_frame(pl.DataFrame(schema={"a": int, "b": int, "relation": str}).lazy())
    with pytest.raises(Unsupported, match="distinct thresholds are compared in memory only"):
        lsdt.from_lazy_frame(in_polars(frame.assign(threshold=0.1)))
    for wrong in (frame, [(1, 2, "similar")]):
        with pytest.raises(InvalidInput, match="takes a DuckDB relation"):
            lsdt.from_lazy_frame(wrong)


def test_surroundings_that_do_not_fit_are_refused():
    pairs = lsdt.from_lazy_frame(in_polars(rows(*[(0, arm, "similar") for arm in range(1, 9)])))
    with memory_limit(500), pytest.raises(TooLarge, match="reading 8 rows around these arms"):
        pairs.around([0])
    with pytest.raises(InvalidInput, match="a list of ids, int as in the frame"):
        pairs.around(["0"])
    with pytest.raises(InvalidInput, match="none of these arms"):
        pairs.around([77])
