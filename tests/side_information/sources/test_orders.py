from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InvalidInput

LADDER = ["S", "M", "L", "XL"]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=2, max_size=9),
    st.sampled_from(["up", "down"]),
)
def test_what_follows_is_the_order_within_groups(rows, way):
    """The pairs listed imply exactly: same group and larger value."""
    values = {f"a{number}": float(value) for number, (value, _) in enumerate(rows)}
    within = {f"a{number}": group for number, (_, group) in enumerate(rows)}
    truth = {
        (a, b)
        for a in values
        for b in values
        if within[a] == within[b] and (values[a] > values[b] if way == "up" else values[a] < values[b])
    }
    if not truth:
        with pytest.raises(InvalidInput, match="no two arms are in order"):
            lsdt.from_order(values, way, within)
        return
    side = lsdt.from_order(values, way, within)
    better = {(side.label(a), side.label(b)) for a, b in side.ranges.better_pairs().tolist()}
    assert better <= truth
    reached = set(better)
    while more := {(a, d) for a, b in reached for c, d in better if b == c} - reached:
        reached |= more
    assert reached == truth
    best = [arm for arm in values if not any(worse == arm for _, worse in truth)]
    assert lsdt.candidate_set(side).arm_ids == best


def test_a_list_is_an_order():
    side = lsdt.from_order(LADDER)
    assert side.ranges.n_better == 3
    assert side.relation("XL", "L") == "better"
    assert lsdt.candidate_set(side).arm_ids == ["XL"]
    assert lsdt.candidate_set(lsdt.from_order(LADDER, way="down")).arm_ids == ["S"]
    assert side.evidence == (1, "up", None)


def test_several_orders():
    side = lsdt.from_order([["a", "b"], ["c", "d", "e"]])
    assert lsdt.candidate_set(side).arm_ids == ["b", "e"]
    assert str(side.evidence) == "2 orders: means go up, which is assumed"


def test_tables(tmp_path):
    rows = [("tea S", 1, "tea"), ("tea L", 2, "tea"), ("cola L", 2, "cola"), ("cola S", 0.5, "cola")]
    table = pd.DataFrame(rows, columns=["arm", "value", "within"])
    table.to_csv(tmp_path / "sizes.csv", index=False)
    columns = table.to_dict("list")
    for given_as in (
        table,
        dict(table),
        columns,
        table.to_dict("records"),
        tmp_path / "sizes.csv",
        str(tmp_path / "sizes.csv"),
    ):
        assert lsdt.candidate_set(lsdt.from_order(given_as)).arm_ids == ["tea L", "cola L"]
    (tmp_path / "word.csv").write_text("arm,value\nS,1\nM,two\nL,3\n")
    with pytest.raises(InvalidInput, match=r"value must be a finite number; row 1 of '.*word.csv' has 'two'"):
        lsdt.from_order(tmp_path / "word.csv")
    table = table.drop(columns="within")
    assert lsdt.candidate_set(lsdt.from_order(table)).arm_ids == ["tea L", "cola L"]  # the largest of all
    counts = pd.DataFrame({"arm": [20, 10], "value": [1.0, 2.0]})
    assert lsdt.candidate_set(lsdt.from_order(counts)).arm_ids == [10]


def test_a_bound_per_unit():
    side = lsdt.from_order({"low": 1.0, "middle": 3.0, "high": 3.5}, steepest=0.1)
    assert side.difference("middle", "low") == (0.0, 0.2)
    assert side.difference("low", "middle") == (-0.2, 0.0)
    assert side.relation("high", "middle") == "better"
    assert lsdt.candidate_set(side).arm_ids == ["high"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arms": 3}, "arms must be a list of arms in order"),
        (
            {"arms": pd.DataFrame({"drink": ["a"], "value": [1]})},
            "an order has no column 'arm'; found 'drink'",
        ),
        ({"arms": {"arm": ["a", "a"], "value": [1, 2]}}, "an arm occurs twice in the table of an order"),
        (
            {"arms": {"arm": ["a", "b"], "value": [1, None]}},
            "value must be a finite number; row 1 .* has None",
        ),
        ({"arms": []}, "at least two arms in order; got none"),
        ({"arms": ["a", "b", "a"]}, "arm 'a' occurs twice; .* merge one from_order for each"),
        ({"arms": {"a": 1.0, "b": "2"}}, "must be a finite number; 'b' has '2'"),
        ({"arms": {"a": 1.0, "b": 1.0}}, "no two arms are in order"),
        ({"way": "upward"}, r"way must be one of .*\(did you mean 'up'\?\)|way must be one of"),
        ({"within": {"S": 1}}, "no group for arm 'M'"),
        ({"within": [1, 2]}, "within must be a mapping"),
        ({"within": dict.fromkeys(LADDER, float("nan"))}, "within must name groups .*; 'S' has nan"),
        ({"steepest": 0.0}, "steepest must be positive"),
    ],
)
def test_bad_values_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.from_order(**{"arms": LADDER, **arguments})


@pytest.mark.parametrize(
    ("arms", "options", "message"),
    [
        ([np.array(7)], {}, r"arms must be strings or ints; got array\(7\)"),
        ([["a", {0}]], {}, r"arms must be strings or ints; got \{0\}"),
        ({}, {}, "at least two arms in order; got none"),
        ({"a": 1, 2: 2}, {}, "all strings or all ints"),
        ({"a": 1, "b": 2}, {"within": {"a": [1], "b": 2}}, r"'a' has \[1\]"),
        ({"a": 1, "b": 2}, {"within": {"a": (1, [2]), "b": 2}}, "must name groups by text or numbers"),
    ],
)
def test_arms_and_groups_that_cannot_be_names(arms, options, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.from_order(arms, **options)
