"""Side information whose pairs have thresholds of their own."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, Unsupported
from lsdt.side_information.layouts.subset import subset, with_epsilon
from naive.thresholds import tightest
from strategies import any_thresholds, examples

SideInformation = lsdt.SideInformation


def made(problem, scale=0.1, ids=None):
    n_arms, similar, dissimilar = problem
    values = tuple(scale * np.array(list(relation.values()), float) for relation in (similar, dissimilar))
    return SideInformation(n_arms, list(similar), list(dissimilar), ids, epsilon=values)


RANGES = SideInformation(
    4, similar=[(0, 1), (1, 2)], dissimilar=[(1, 0), (2, 3)], epsilon=([0.3, 0.2], [0.1, 0.7])
)


def test_three_ways_to_give_them():
    similar, dissimilar = [(0, 1), (1, 2)], [(0, 2), (2, 3)]
    by_pair = SideInformation(4, similar, dissimilar, epsilon=([0.1, 0.2], [0.3, 0.4]))
    matrix = np.full((4, 4), np.nan)
    for (a, b), value in zip(similar + dissimilar, [0.1, 0.2, 0.3, 0.4], strict=True):
        matrix[a, b] = matrix[b, a] = value
    assert SideInformation(4, similar, dissimilar, epsilon=matrix) == by_pair
    assert SideInformation(4, similar, dissimilar, epsilon=matrix.tolist()) == by_pair
    two = SideInformation(4, similar, dissimilar, epsilon=(0.1, 0.3))
    assert two.thresholds.similar.tolist() == [0.1, 0.1]
    assert two.thresholds.dissimilar.tolist() == [0.3, 0.3]
    assert [len(values) for values in two.store.thresholds] == [1, 1]
    assert (two.epsilon, two.is_complete) == (None, False)
    assert two != by_pair


def test_its_own_thresholds_make_it_again():
    again = SideInformation(4, RANGES.similar_pairs(), RANGES.dissimilar_pairs(), epsilon=RANGES.thresholds)
    assert again == RANGES
    assert hash(again) == hash(RANGES)
    assert (
        repr(again)
        == "SideInformation(4 arms, 2 similar pairs, 2 dissimilar pairs, partial, thresholds 0.1 to 0.7)"
    )


@given(st.data())
def test_the_tightest_of_repeated_thresholds_counts(data):
    n_arms = data.draw(st.integers(2, 6))
    arm = st.integers(0, n_arms - 1)
    pair = st.tuples(arm, arm).filter(lambda pair: pair[0] != pair[1])
    listed = [data.draw(st.lists(st.tuples(pair, st.integers(low, low + 9)), max_size=12)) for low in (20, 1)]
    pairs, values = ([[entry[at] for entry in relation] for relation in listed] for at in (0, 1))
    side = SideInformation(n_arms, *pairs, epsilon=tuple(values))
    near, far = (tightest(pairs[at], values[at], bool(at)) for at in (0, 1))
    for a in range(n_arms):
        for b in range(a):
            expected = (far.get((b, a), 0.0), near.get((b, a), np.inf))
            if side.epsilon is not None or side.thresholds is not None or expected == (0.0, np.inf):
                assert side.bounds(a, b) == side.bounds(b, a) == expected
    assert side.similar_pairs().tolist() == [list(pair) for pair in sorted(near)]
    if side.thresholds is not None:
        assert side.thresholds.similar.tolist() == [near[pair] for pair in sorted(near)]
        assert side.thresholds.dissimilar.tolist() == [far[pair] for pair in sorted(far)]


def test_equal_thresholds_are_one_epsilon():
    plain = SideInformation(3, [(0, 1), (1, 2)], [(0, 2)], epsilon=0.1)
    for epsilon in ((0.1, 0.1), ([0.1, 0.1], [0.1]), np.full((3, 3), 0.1)):
        side = SideInformation(3, [(0, 1), (1, 2)], [(0, 2)], epsilon=epsilon)
        assert side == plain
        assert side.is_complete
        assert (side.epsilon, side.thresholds) == (0.1, None)
    assert SideInformation(3, [(0, 1)], epsilon=(0.1, 0.2)).epsilon == 0.1  # no pair has the other one
    assert SideInformation(3, epsilon=(0.1, 0.2)).epsilon is None
    assert subset(RANGES, np.array([1, 2])).epsilon == 0.2
    assert subset(RANGES, np.array([0, 3])).epsilon is None


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        ((0.1, 0.1), r"pair \('b', 'c'\).*less than 0.1 apart.*at least 0.1 apart"),
        ((0.1 + 0.2, [0.05, 0.3]), r"less than 0.3 apart.*at least 0.3 apart"),
        ((0.1, [0.05, 0.2]), r"pair \('b', 'c'\) is listed both as similar"),
        (([0.1, 0.0], 0.1), r"positive and finite; that of the similar pair \('b', 'c'\) is 0"),
        ((0.1, -1), "the dissimilar one is -1"),
        ((0.1, np.inf), "the dissimilar one is inf"),
        ((0.1, [np.nan, 1]), r"dissimilar pair \('a', 'c'\) is nan"),
        (([0.1, 0.2, 0.3], 0.1), r"each of the 2 similar pairs as listed; got an array of shape \(3,\)"),
        ((0.1, "x"), "got 'x'"),
        ((0.1, None), "got None"),
        ((0.1, True), "got True"),
        ((0.1,), "got a tuple of 1"),
        ([0.1, 0.2], r"got shape \(2,\) for 3 arms"),
        (np.ones((2, 2)), r"got shape \(2, 2\) for 3 arms"),
        ([["x"]], "got something else"),
        (np.arange(9.0).reshape(3, 3), r"symmetric; the pair \('a', 'b'\) has 1 and 3"),
        (np.zeros((3, 3)), r"similar pair \('a', 'b'\) is 0"),
    ],
)
def test_what_is_refused(epsilon, message):
    with pytest.raises(InvalidInput, match=message):
        SideInformation(
            3, [("a", "b"), ("b", "c")], [("a", "c"), ("c", "b")], arm_ids=["a", "b", "c"], epsilon=epsilon
        )


def test_where_one_epsilon_is_needed_the_reason_is_given():
    for policy in ("ckl_ucb", "lsdt_csi", "osub"):
        with pytest.raises(Unsupported, match="distinct thresholds; use lsdt_closure"):
            lsdt.Agent(RANGES, policy=policy, rewards="gaussian")
    with pytest.raises(Unsupported, match="lsdt_closure"):
        lsdt.Agent(RANGES, policy="lsdt_psi", horizon=100)
    with pytest.raises(Unsupported, match="distinct thresholds; use 'propagation'"):
        lsdt.candidate_set(RANGES, "anchors")
    with pytest.raises(Unsupported, match="distinct thresholds"):
        lsdt.merge([RANGES, RANGES])
    with pytest.raises(Unsupported, match="distinct thresholds"):
        lsdt.theory.upper_bound_psi(RANGES, [0.0, 0.2, 0.3, 1.0], horizon=100)
    with pytest.raises(InvalidInput, match="distinct thresholds"):
        with_epsilon(RANGES, 0.1)
    with pytest.raises(InvalidInput, match="give the side information an epsilon"):
        SideInformation(2, [(0, 1)]).bounds(0, 1)
    with pytest.raises(Unsupported, match="known range"):
        RANGES.corrupt(0.5)


@examples(0.4)
@given(any_thresholds(), st.sampled_from([0.1, 1 / 3, 1e-300, 1e300]), st.booleans())
def test_files_and_other_libraries_bring_it_back(tmp_path_factory, problem, scale, named):
    ids = [f"arm {arm}" for arm in range(problem[0])] if named else None
    side = made(problem, scale, ids)
    folder = tmp_path_factory.mktemp("files")
    for name in ("side.csv", "side.parquet"):
        side.save(folder / name)
        assert lsdt.load(folder / name) == side
    assert pickle.loads(pickle.dumps(side)) == side
    assert lsdt.from_networkx(side.to_networkx()) == side
    if side.thresholds is not None:
        assert pickle.loads(pickle.dumps(side)).store.thresholds.similar.flags.writeable is False
        frame = pd.read_parquet(folder / "side.parquet")
        for table in (frame, pl.from_pandas(frame)):
            again = lsdt.from_frame(table)
            assert again.thresholds is not None
            assert sorted(again.thresholds.similar) == sorted(side.thresholds.similar)


def test_columns_of_thresholds(tmp_path):
    frame = pd.DataFrame(
        {"a": "xyx", "b": "yzy", "relation": ["similar", "dissimilar", "dissimilar"], "at": [0.3, 0.2, 0.1]}
    )
    frame = frame.assign(a=list("xyx"), b=list("yzy"))
    side = lsdt.from_frame(frame, threshold="at")
    assert side.bounds("x", "y") == (0.1, 0.3)
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert lsdt.load(tmp_path / "x.csv", columns=("a", "b", "relation", "at")) == side
    called = frame.rename(columns={"at": "threshold"})
    assert lsdt.from_frame(called) == side
    with pytest.raises(InvalidInput, match="both as similar"):  # without thresholds it is a contradiction
        lsdt.from_frame(called, threshold=None)
    with pytest.raises(InvalidInput, match="lacks the columns"):
        lsdt.from_frame(frame, threshold="height")
    with pytest.raises(InvalidInput, match="threshold .* must be the names of different columns"):
        lsdt.from_frame(frame, threshold="a")
    with pytest.raises(InvalidInput, match="epsilon=0.1 too"):
        lsdt.from_frame(called, epsilon=0.1)
    with pytest.raises(InvalidInput, match="complete information has one epsilon"):
        lsdt.from_frame(called, complete=True)


@pytest.mark.parametrize("entry", ["", "wide", "-1", "inf", "0"])
def test_a_bad_threshold_in_a_file_is_named_with_its_line(tmp_path, entry):
    path = tmp_path / "x.csv"
    path.write_text(f"a,b,relation,threshold\nx,y,similar,0.5\ny,z,similar,{entry}\nw,,,\n")
    with pytest.raises(InvalidFile, match="line 3 has the threshold"):
        lsdt.load(path)
    path.write_text("a,b,relation,threshold\nx,y,similar,0.5\ny,z,dissimilar,1\nw,,,\n")
    assert lsdt.load(path).n_arms == 4


def test_edges_of_networkx_that_lack_a_threshold_are_refused():
    graph = nx.Graph()
    graph.add_edge(0, 1, relation="similar", threshold=0.1)
    graph.add_edge(1, 2, relation="dissimilar")
    with pytest.raises(InvalidInput, match=r"the edge \(1, 2\) has none"):
        lsdt.from_networkx(graph)
    graph.edges[1, 2]["threshold"] = "far"
    with pytest.raises(InvalidInput, match="'far'; give a number"):
        lsdt.from_networkx(graph)
    assert RANGES.to_networkx().is_multigraph()


@given(any_thresholds(), st.integers(0, 99), st.data())
def test_some_arms_keep_their_thresholds(problem, seed, data):
    side = made(problem)
    arms = np.array(sorted(data.draw(st.sets(st.integers(0, side.n_arms - 1), min_size=1))))
    part = subset(side, arms)
    for i, a in enumerate(arms.tolist()):
        for j, b in enumerate(arms[:i].tolist()):
            if part.epsilon is not None or part.thresholds is not None:
                assert part.bounds(i, j) == side.bounds(a, b)
            else:
                assert part.relation(i, j) is side.relation(a, b) is None


@given(any_thresholds(), st.integers(0, 99))
def test_what_is_revealed_keeps_its_threshold_and_what_flips_does_too(problem, seed):
    side = made(problem)
    shown = side.reveal(0.5, 0.5, seed)
    n_arms, similar, dissimilar = problem
    plain = SideInformation(n_arms, list(similar)).reveal(0.5, 0.5, seed)
    assert (shown.similar_pairs() == plain.explicit().similar_pairs()).all()
    pairs = [(a, b) for a in range(n_arms) for b in range(a)]
    for a, b in pairs:
        if shown.relation(a, b) is not None and not set(similar) & set(dissimilar):
            assert shown.bounds(a, b) == side.bounds(a, b)
    if set(similar) & set(dissimilar):
        return
    wrong = side.corrupt(1.0, seed)
    for a, b in pairs:
        if side.relation(a, b) is not None:
            low, high = side.bounds(a, b)
            assert wrong.bounds(a, b) == ((high, np.inf) if low == 0.0 else (0.0, low))


def test_an_agent_keeps_them_in_its_snapshot(tmp_path):
    url = f"sqlite:///{tmp_path}/agents.db"
    agent = lsdt.Agent.open(url, "ranges", side=RANGES, policy="ucb1", seed=3, snapshot_every=0)
    again = lsdt.Agent.restore(agent.snapshot())
    assert again.side == RANGES
    agent.extend(RANGES.reveal(0.9, 0.9, seed=1))
    later = SideInformation(4, [(0, 1)], [(2, 3)], epsilon=(0.5, 0.2))
    agent.extend(later)
    agent.close()
    with lsdt.Agent.open(url, "ranges", side=RANGES) as opened:
        assert opened.side == agent.side == later
    with pytest.raises(InvalidInput, match="distinct thresholds"):
        lsdt.Agent(RANGES, epsilon=0.1)
