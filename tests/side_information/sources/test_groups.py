from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InvalidInput, TooLarge
from lsdt.kernel.memory import memory_limit
from naive.graphs import pair_set
from naive.sources import between, same_group

SHELF = {"tea": "drinks/hot", "coffee": "drinks/hot", "cola": "drinks/cold", "bread": "food"}
paths = st.lists(st.sampled_from("ab"), max_size=3).map(tuple)


@given(st.lists(paths, min_size=1, max_size=12), st.sampled_from([None, 1, 2]))
def test_arms_of_one_group_are_similar(members, level):
    if level is not None and all(len(path) < level for path in members):
        return
    side = lsdt.from_groups(["/".join(path) or None for path in members], level=level)
    assert pair_set(side.similar_pairs()) == same_group(members, level)
    assert side.n_dissimilar == 0


@given(st.lists(paths, min_size=1, max_size=12), st.data())
def test_groups_that_lie_apart(members, data):
    groups = {path[:depth] for path in members for depth in range(1, len(path) + 1)}
    chosen = data.draw(
        st.lists(st.tuples(*[st.sampled_from(sorted(groups))] * 2), max_size=2) if groups else st.just([])
    )
    chosen = [(a, b) for a, b in chosen if a[: len(b)] != b[: len(a)]]
    apart = [("/".join(first), "/".join(second)) for first, second in chosen]
    side = lsdt.from_groups(["/".join(path) or None for path in members], apart=apart)
    expected = set().union(*(between(members, *pair) for pair in chosen))
    assert pair_set(side.dissimilar_pairs()) == expected
    assert pair_set(side.similar_pairs()) == same_group(members, None)


def test_levels_of_a_taxonomy():
    wide = lsdt.from_groups(SHELF, epsilon=0.2, level=1)
    assert wide.relation("tea", "cola") == "similar"
    assert wide.relation("tea", "bread") is None
    assert wide.epsilon == 0.2
    narrow = lsdt.from_groups(SHELF, level=2, apart=[("drinks", "food")])
    assert narrow.relation("tea", "cola") is None
    assert narrow.relation("tea", "bread") == narrow.relation("cola", "bread") == "dissimilar"
    dotted = lsdt.from_groups(["a.b", "a.c"], level=1, separator=".")
    assert dotted.n_similar == 1


def test_ways_to_say_it(tmp_path):
    expected = lsdt.SideInformation(3, [(0, 1)])
    assert lsdt.from_groups(["hot", "hot", "cold"]) == expected
    assert lsdt.from_groups({0: 1, 1: 1, 2: None}) == expected
    assert lsdt.from_groups(np.array([3, 3, 4])) == expected
    assert lsdt.from_groups(pd.Series([3.0, 3.0, np.nan])) == expected
    assert lsdt.from_groups(pd.Series(["x", "x", None], dtype="string")) == expected
    assert lsdt.from_groups(pa.chunked_array([["x", "x", None]])) == expected
    assert lsdt.from_groups([("a", "b"), ("a", "c"), None], level=1) == expected
    rows = [("c", "x"), ("b", None), ("a", "x")]
    table = pd.DataFrame(rows, columns=["arm", "group"])
    table.to_csv(tmp_path / "groups.csv", index=False)
    for given_as in (table, table.to_dict("list"), table.to_dict("records"), str(tmp_path / "groups.csv")):
        assert lsdt.from_groups(given_as) == lsdt.from_groups(dict(rows))
    named = lsdt.from_groups({"b": "x", "a": "x"}, arm_ids=["a", "b", "c"])
    assert named == lsdt.SideInformation(3, [("a", "b")], [], ["a", "b", "c"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": "hot"}, "groups must be a list of groups, one per arm, or a mapping .* the single 'hot'"),
        ({"groups": 3}, "groups must be a list of groups, one per arm, or a mapping"),
        ({"groups": []}, "at least one arm"),
        ({"groups": {"arm": ["a"]}}, "the table of groups has no column 'group'; found 'arm'"),
        ({"groups": {"arm": ["a", "a"], "group": [1, 2]}}, "an arm occurs twice in the table of groups"),
        ({"groups": ["a", "b//c"]}, "arm 1 has 'b//c'"),
        ({"groups": {"x": 1.5}}, "arm 'x' has 1.5"),
        ({"groups": ["a"], "level": 0}, "level must be a whole number of at least 1"),
        ({"groups": ["a"], "level": 2}, "no arm has a group at level 2; the longest path has 1 parts"),
        ({"groups": ["a"], "separator": ""}, "separator must be text"),
        ({"groups": SHELF, "arm_ids": ["tea", "cola"]}, "has the arm 'coffee', which is not among arm_ids"),
        ({"groups": SHELF, "apart": [("drinks/hott", "food")]}, "did you mean 'drinks/hot'"),
        ({"groups": SHELF, "apart": ["food"]}, "pairs of groups; got 'food'"),
        ({"groups": SHELF, "apart": [("drinks", "drinks/hot")]}, "must not share arms"),
        (
            {"groups": SHELF, "level": 1, "apart": [("drinks/hot", "drinks/cold")]},
            r"arms 'tea' \('drinks/hot'\) and 'cola' \('drinks/cold'\) are in one group at this level",
        ),
    ],
)
def test_bad_groups_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.from_groups(**arguments)


def test_a_group_of_too_many_is_refused():
    refused = pytest.raises(TooLarge, match="listing the 499,500 pairs of the groups .* deeper level")
    with memory_limit(2**22), refused:
        lsdt.from_groups(["a"] * 1_000)
