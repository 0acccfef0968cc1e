"""Columns into arms and pairs: how arms are numbered, and which rows are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from lsdt.errors import InvalidInput
from lsdt.side_information.io.columns import arms_and_pairs, integers_from_text


def read(a, b, relation=None, **options):
    columns = [
        None if values is None else pa.chunked_array([pa.array(values)]) for values in (a, b, relation)
    ]
    threshold = options.pop("threshold", None)
    if threshold is not None:
        options["threshold"] = pa.chunked_array([pa.array(threshold)])
    return arms_and_pairs(*columns, place=lambda row: f"row {row}", **options)


def test_arms_are_numbered_by_appearance_in_the_first_column_then_in_the_second():
    found = read(["y", "x", "z"], ["x", "w", None], ["similar", "dissimilar", None])
    assert found.arm_ids == ["y", "x", "z", "w"]
    assert (found.similar.tolist(), found.dissimilar.tolist()) == ([[0, 1]], [[1, 3]])


def test_integers_from_zero_are_indices_unless_ids_are_kept():
    found = read([2, 0], [1, 2])
    assert (found.n_arms, found.arm_ids, found.similar.tolist()) == (3, None, [[2, 1], [0, 2]])
    kept = read([2, 0], [1, 2], keep_ids=True)
    assert (kept.arm_ids, kept.similar.tolist()) == ([2, 0, 1], [[0, 2], [1, 0]])
    gap = read([2, 0], [3, 2])
    assert (gap.arm_ids, gap.similar.tolist()) == ([2, 0, 3], [[0, 2], [1, 0]])


def test_integers_beside_missing_values_are_floats_in_pandas():
    assert read([1.0, 0.0], [0.0, None], ["similar", None]).similar.tolist() == [[1, 0]]
    assert read([0, 1], [1, None], ["similar", ""]).similar.tolist() == [[0, 1]]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
def test_the_pairs_are_those_of_the_rows(rows):
    word = {(min(a, b), max(a, b)): near for a, b, near in rows if a != b}
    listed = [(f"arm {a}", f"arm {b}", "similar" if near else "dissimilar") for (a, b), near in word.items()]
    listed.append(("alone", None, None))
    found = read(*zip(*listed, strict=True))
    for relation, pairs in (("similar", found.similar), ("dissimilar", found.dissimilar)):
        named = [(found.arm_ids[a], found.arm_ids[b], relation) for a, b in pairs.tolist()]
        assert named == [row for row in listed if row[2] == relation]
    assert sorted(found.arm_ids) == sorted({name for row in listed for name in row[:2] if name is not None})


def test_thresholds_follow_their_pairs_and_a_pair_may_be_in_both_relations():
    found = read([0, 0, 2], [1, 1, None], ["dissimilar", "similar", None], threshold=[0.1, 0.4, None])
    assert (found.similar.tolist(), found.dissimilar.tolist()) == ([[0, 1]], [[0, 1]])
    assert [column.tolist() for column in found.thresholds] == [[0.4], [0.1]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([], [], []), "there are no rows"),
        (([0, None], [1, 2]), "row 1 has no arm in column 'a'"),
        (([0, 1], [1, 1]), "row 1 joins arm 1 to itself"),
        (
            ([0, 1], [1, 2], ["similar", "simlar"]),
            "row 1 has the relation 'simlar'; .*did you mean 'similar'",
        ),
        (([0, 1], [1, 2], ["similar", None]), "row 1 has two arms and no relation"),
        (([0, 1], [1, None], ["similar", "similar"]), "row 1 has a relation and only one arm; .* column 'b'"),
        (([0, 1], [1, 0], ["dissimilar", "similar"]), r"similar \(row 1\) and as dissimilar \(row 0\)"),
        (([0, 1], ["x", "y"]), "must both hold text or both whole numbers"),
        (([0.5, 1.0], [1.0, 2.0]), "column 'a' must hold whole numbers or text; it holds fractions"),
        (([0, 1], [True, False]), r"column 'b' must hold arm ids .*; it holds bool"),
    ],
)
def test_a_bad_row_is_named(columns, message):
    with pytest.raises(InvalidInput, match=message):
        read(*columns)


@pytest.mark.parametrize("wrong", [0.0, -1.0, None, float("inf")])
def test_a_bad_threshold_is_named(wrong):
    with pytest.raises(
        InvalidInput,
        match="row 1 has the threshold .* every similar or dissimilar pair needs a positive number",
    ):
        read([0, 1], [1, 2], ["similar", "similar"], threshold=[0.1, wrong])


def test_text_is_integers_only_if_all_of_it_is():
    def both(a, b):
        return [column.to_pylist() for column in integers_from_text(*map(pa.chunked_array, ([a], [b])))]

    assert both(["7", "-3"], ["0", "12.0"]) == [[7, -3], [0, 12]]
    for other in ("07", "1e5", "-0", "x", str(2**63)):
        assert both(["7"], [other]) == [["7"], [other]]
