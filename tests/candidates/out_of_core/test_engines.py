"""Pairs that stay in an engine leave the candidates that the same pairs leave in memory."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.candidates.options import USUAL
from lsdt.candidates.out_of_core.method import find_in_engine
from lsdt.candidates.out_of_core.rules import Limits
from lsdt.errors import InconsistentSideInformation, InvalidInput, Unsupported
from lsdt.kernel.memory import memory_limit
from lsdt.side_information.engines import open_tables
from strategies import examples

COLUMNS = ("a", "b", "relation", "low", "high")
EPSILON = 0.3
# A query may list a few wedges only: samples first, then arms in many parts.
SMALL = Limits(wedges_per_pair=0, fewest_wedges=12, fewest_sampled=2, worth_while=0.3)


def in_duckdb(frame):
    return duckdb.from_df(frame)


def in_polars(frame):
    return pl.from_pandas(frame).lazy()


def frame_of(*rows):
    frame = pd.DataFrame([(*row, *[None] * (5 - len(row))) for row in rows], columns=COLUMNS)
    kind = "string" if isinstance(rows[0][0], str) else "Int64"
    return frame.astype({"a": kind, "b": kind, "relation": "string", "low": float, "high": float})


def relations_of(side):
    """All that is known of pairs, by their names."""
    known = set()
    for word, pairs in (("similar", side.similar_pairs()), ("dissimilar", side.dissimilar_pairs())):
        known |= {(word, *sorted((side.label(a), side.label(b)), key=str)) for a, b in pairs.tolist()}
    if side.ranges is not None:
        for a, b in side.ranges.pairs.tolist():
            first, second = sorted((side.label(a), side.label(b)), key=str)
            known.add(("range", first, second, *side.difference(first, second), side.relation(first, second)))
    return known


@st.composite
def true_relations(draw, ranges):
    """Rows that hold for some means on a grid of tenths, with repeats, in any direction."""
    n_arms = draw(st.integers(2, 9))
    means = draw(st.lists(st.integers(0, 12), min_size=n_arms, max_size=n_arms))
    name = draw(st.sampled_from([lambda arm: 7 * arm - 20, lambda arm: f"arm {arm}"]))
    words = ["pair", "better", "range"] if ranges else ["pair"]
    arm = st.integers(0, n_arms - 1)
    picks = st.tuples(arm, arm, st.sampled_from(words), st.integers(0, 3), st.integers(0, 3))
    rows = [(name(0), None, None)]
    for a, b, word, below, above in draw(st.lists(picks, min_size=1, max_size=30)):
        gap = means[a] - means[b]
        if a == b:
            continue
        if word == "pair":
            rows.append((name(a), name(b), "similar" if abs(gap) < 3 else "dissimilar"))
        elif word == "better" and gap > 0:
            rows.append((name(a), name(b), "better"))
        elif word == "range":
            low, high = (gap - below) / 10, (gap + above) / 10
            rows.append((name(a), name(b), "range", low if below < 3 else None, high if above < 3 else None))
    return frame_of(*rows)


def check_agreement(frame, rows, method, limits):
    """Compare candidates and the relations among them with those in memory."""
    side = lsdt.from_frame(frame, epsilon=EPSILON)
    here = lsdt.candidate_set(side, method)
    there = find_in_engine(lsdt.from_lazy_frame(rows, epsilon=EPSILON), method, USUAL, limits)
    assert sorted(there.arm_ids, key=str) == sorted(here.arm_ids, key=str)
    assert there.n_arms == here.side.n_arms
    kept = (here if method == "triangles" else lsdt.candidate_set(side, "triangles")).side
    named = set(there.arm_ids)
    among = {row for row in relations_of(kept) if set(row[1:3]) <= named}
    assert relations_of(there.side) == among
    return there


@examples(0.4)
@given(frame=true_relations(ranges=False), limits=st.sampled_from([Limits(), SMALL]))
def test_triangles_are_those_in_memory(frame, limits):
    check_agreement(frame, in_polars(frame), "triangles", limits)


@examples(0.4)
@given(frame=true_relations(ranges=True), limits=st.sampled_from([Limits(), SMALL]))
def test_triangles_of_ranges_are_those_in_memory(frame, limits):
    check_agreement(frame, in_polars(frame), "triangles", limits)


@examples(0.4)
@given(frame=true_relations(ranges=True))
def test_order_is_that_in_memory(frame):
    if frame.relation.isin(["better", "range"]).any():
        found = check_agreement(frame, in_polars(frame), "order", Limits())
        assert not any("still fell" in note for note in found.notes)


@pytest.mark.parametrize(
    ("seed", "limits"),
    [
        pytest.param(0, Limits(), marks=pytest.mark.long, id="usual"),
        pytest.param(1, SMALL._replace(fewest_wedges=300), id="small"),
    ],
)
def test_duckdb_agrees(seed, limits):
    side = lsdt.from_means(np.random.default_rng(seed).random(50), 0.2).reveal(0.5, 0.3, seed=seed)
    frame = side.explicit().to_frame()
    frame = pd.concat([frame, frame.head(20).rename(columns={"a": "b", "b": "a"})])  # repeats, turned
    check_agreement(frame, in_duckdb(frame), "triangles", limits)


def test_arms_with_text():
    rows = [("tea", "coffee", "similar"), ("coffee", "cocoa", "similar"), ("cocoa", "tea", "dissimilar")]
    frame = frame_of(*rows, ("water", None, None), ("juice", "tea", "range", 0.05, None))
    found = lsdt.candidate_set(in_polars(frame), "paper")
    assert found.arm_ids == ["cocoa", "juice", "tea", "water"]
    assert "better pairs and ranges were not read by the triangle rule" in found.notes[0]
    assert found.side.relation("cocoa", "tea") == "dissimilar"
    both = lsdt.candidate_set(in_duckdb(frame))
    assert both.arm_ids == ["cocoa", "juice", "water"]
    assert [stage.name for stage in both.stages][:2] == ["order", "triangles"]


def test_an_order_by_hand_in_duckdb():
    """1 is above 2 by .2, and 3 is at most .1 above 2: out as well; 4 is level with 1."""
    rows = [
        (1, 2, "range", 0.2, None),
        (3, 2, "range", None, 0.1),
        (4, 1, "range", 0.0, 0.0),
        (6, 5, "better"),
    ]
    found = lsdt.candidate_set(in_duckdb(frame_of(*rows)), "order")
    assert found.arm_ids == [1, 4, 6]
    assert found.stages[0].excluded == 3
    assert str(found.explain(3)).startswith("arm 3 cannot be the best: 1 is better than it by at least 0.1")
    assert str(found.explain(5)) == "arm 5 cannot be the best: 6 is better than it."
    assert "may be the best as far as order can tell" in str(found.explain(4))
    assert found.side.difference(4, 1) == (0.0, 0.0)


def test_a_ranking_takes_two_rounds_and_a_long_chain_is_cut():
    better = frame_of(*[(arm, arm + 1, "better") for arm in range(40)])
    ranked = find_in_engine(lsdt.from_lazy_frame(in_polars(better)), "order", USUAL, Limits(most_rounds=3))
    assert ranked.arm_ids == [0]
    assert ranked.notes == ()
    steps = [(0, 1, "range", 4.0, None)] + [(arm + 1, arm, "range", None, 0.1) for arm in range(1, 30)]
    chain = lsdt.from_lazy_frame(in_polars(frame_of(*steps)))
    short = find_in_engine(chain, "order", USUAL, Limits(most_rounds=6))
    assert short.arm_ids == [0, *range(7, 31)]
    assert "order: bounds of 1 arm still fell in round 6" in short.notes[0]
    assert find_in_engine(chain, "order", USUAL, Limits()).arm_ids == [0]


def test_ends_without_a_common_quantum_are_rounded_outward():
    rng = np.random.default_rng(2)
    means = rng.random(40)
    pairs = rng.integers(0, 40, (300, 2))
    rows = [
        (
            int(a),
            int(b),
            "range",
            means[a] - means[b] - rng.random() / 20,
            means[a] - means[b] + rng.random() / 20,
        )
        for a, b in pairs
        if a != b
    ]
    frame = frame_of(*rows)
    found = check_agreement(frame, in_polars(frame), "order", Limits())
    assert "no common unit" in found.notes[0]


def test_hubs_are_decided_from_dissimilar_pairs():
    """A hub with 60 similar arms and one dissimilar pair among them: one step instead of 1,770 wedges."""
    rows = [(0, arm, "similar") for arm in range(1, 61)] + [(17, 44, "dissimilar"), (61, 17, "dissimilar")]
    pairs = lsdt.from_lazy_frame(in_polars(frame_of(*rows)))
    with open_tables(pairs) as tables:
        queries = tables.triangles()
        assert tuple(queries.count_open()) == (1, 1770)
        assert queries.prepare(10) == 1
        assert queries._routes.collect().rows() == [(0, True, 1.0)]  # two similar arms are left to look at
        assert queries.decide(0) == 1
    clique = [(0, arm, "similar") for arm in range(1, 31)]
    far = [(arm, 31 - arm, "dissimilar") for arm in range(1, 16)]
    with open_tables(lsdt.from_lazy_frame(in_polars(frame_of(*clique, *far)))) as tables:
        queries = tables.triangles()
        assert queries.prepare(10) == 2
        assert queries._routes.collect().rows() == [(0, False, 15.0)]
        assert [queries.decide(part) for part in range(2)] == [1, 0]


def test_a_sample_is_sound_and_decides_arms_with_few_pairs():
    side = lsdt.from_means(np.random.default_rng(5).random(80), 0.2).reveal(0.5, 0.3, seed=1).explicit()
    here = lsdt.candidate_set(side, "triangles")
    with open_tables(lsdt.from_lazy_frame(in_polars(side.to_frame()))) as tables:
        queries = tables.triangles()
        before = queries.count_open().arms
        excluded = queries.sample(4, 0)
        assert 0 < excluded < 80 - len(here)
        assert queries.count_open().arms <= before - excluded
        queries.sample(100, 1)
        assert queries.count_open().arms == 0  # no arm has so many similar pairs: all are decided
        assert tables.count_left() == len(here)


def test_time_that_is_over_leaves_more_arms():
    side = lsdt.from_means(np.random.default_rng(3).random(60), 0.2).reveal(0.5, 0.5, seed=1).explicit()
    found = lsdt.candidate_set(in_polars(side.to_frame()), "paper", timeout=1e-9)
    assert set(found.arm_ids) >= set(lsdt.candidate_set(side, "triangles").arm_ids)
    assert "time ran out after 0 of 1 part" in found.notes[0]


def test_propagation_goes_on_with_what_is_left():
    side = lsdt.from_means(np.random.default_rng(7).random(40), 0.15).reveal(0.6, 0.6, seed=2).explicit()
    found, paper = (lsdt.candidate_set(in_polars(side.to_frame()), method) for method in ("auto", "paper"))
    assert found.method == "propagation"
    assert found.arm_ids == lsdt.candidate_set(paper.side).arm_ids
    assert set(found.arm_ids) <= set(paper.arm_ids)
    assert found.stages[0].name == "triangles"
    arm = next(arm for arm in range(40) if arm not in paper)
    assert "which are dissimilar" in found.explain(arm).text
    assert found.explain(found.arm_ids[0]).is_candidate


def test_relations_that_do_not_fit_stay_in_the_engine():
    side = lsdt.from_means(np.random.default_rng(7).random(40), 0.15).reveal(0.3, 0.9, seed=2).explicit()
    with memory_limit(10_000):
        found = lsdt.candidate_set(in_polars(side.to_frame()))
    assert found.side.n_similar == 0
    assert "relations among the candidates do not fit in memory and were not read" in found.notes[0]
    assert found.arm_ids == lsdt.candidate_set(side, "triangles").arm_ids


def test_why_an_arm_is_out_is_read_from_the_engine():
    rows = [("x", "y", "similar"), ("y", "z", "similar"), ("x", "z", "dissimilar"), ("w", "x", "similar")]
    found = lsdt.candidate_set(in_polars(frame_of(*rows)), "paper")
    here = lsdt.candidate_set(lsdt.from_frame(frame_of(*rows)), "paper")
    assert found.arm_ids == ["w", "x", "z"]
    assert found.explain("y").text == here.explain("y").text
    assert repr(found) == "CandidateSet(3 of 4 arms, method='triangles', in polars)"
    assert "y" not in found
    assert found.to_frame().candidate.all()
    for wrong in ("v", 3):
        with pytest.raises(InvalidInput, match="there is no arm 3|none of these arms is in the frame"):
            found.explain(wrong)


def test_a_contradiction_that_leaves_no_arm():
    circle = [(0, 1, "similar"), (1, 2, "similar"), (2, 3, "similar"), (3, 0, "similar")]
    frame = frame_of(*circle, (0, 2, "dissimilar"), (1, 3, "dissimilar"))
    with pytest.raises(InconsistentSideInformation, match="each of 4 arms is excluded by triangles"):
        lsdt.candidate_set(in_polars(frame), "paper")
    round_ = frame_of((0, 1, "better"), (1, 2, "better"), (2, 0, "better"))
    with pytest.raises(InconsistentSideInformation, match="excluded by order"):
        lsdt.candidate_set(in_polars(round_), "order")


def test_tables_are_dropped():
    with duckdb.connect() as connection:
        frame = frame_of((0, 1, "similar"), (1, 2, "similar"), (0, 2, "dissimilar"))
        connection.register("rows", frame)
        assert lsdt.candidate_set(connection.table("rows"), "paper").arm_ids == [0, 2]
        assert connection.sql("select * from duckdb_tables()").fetchall() == []
        both = connection.sql("select * from rows union all select 2, 0, 'similar', null, null")
        with pytest.raises(InvalidInput, match=r"1 pair is both similar and dissimilar such as \(0, 2\)"):
            lsdt.candidate_set(both, "paper")
        assert connection.sql("select * from duckdb_tables()").fetchall() == []


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"method": "exact"}, Unsupported, "the method 'exact' needs all pairs in memory"),
        ({"method": "paper", "max_wrong": 1}, Unsupported, "all relations are assumed to be right"),
        ({"method": "paper", "wrong_rate": 0.1}, Unsupported, "all relations are assumed to be right"),
        ({"method": "order"}, InvalidInput, "nothing orders the arms"),
        ({"method": "papr"}, InvalidInput, "method must be one of"),
    ],
)
def test_what_an_engine_does_not_do(asked, error, message):
    with pytest.raises(error, match=message):
        lsdt.candidate_set(in_polars(frame_of((0, 1, "similar"))), **asked)


def test_a_frame_in_memory_is_not_side_information():
    with pytest.raises(InvalidInput, match=r"a SideInformation is needed.*got DataFrame"):
        lsdt.candidate_set(frame_of((0, 1, "similar")))


def test_a_dissimilar_pair_whose_better_arm_is_known_counts_by_epsilon():
    """1 is better than 2 by epsilon or more, and 3 less than epsilon above 2: below 1."""
    frame = frame_of((1, 2, "dissimilar"), (1, 2, "better"), (3, 2, "similar"))
    found = check_agreement(frame, in_polars(frame), "order", Limits())
    assert found.arm_ids == [1]
