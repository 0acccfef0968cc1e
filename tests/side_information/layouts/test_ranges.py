"""Ranges as part of side information: what is kept, what is refused, and that nothing loses them."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InconsistentSideInformation, InvalidFile, InvalidInput, Unsupported
from lsdt.side_information.io.arrays import fingerprint, side_as_arrays, side_of_arrays

INF = np.inf
DRINKS = ["tea", "coffee", "cocoa", "juice"]


def drinks(**more):
    return lsdt.SideInformation(
        4,
        similar=[("tea", "coffee")],
        dissimilar=[("tea", "juice")],
        arm_ids=DRINKS,
        epsilon=0.1,
        better=[("juice", "tea"), ("cocoa", "coffee")],
        ranges=[("coffee", "tea", -0.02, None), ("juice", "cocoa", 0.1, 0.3), ("cocoa", "coffee", None, 0.4)],
        **more,
    )


def random_side(seed, n_arms=6):
    """Relations of all kinds that hold for whole means."""
    rng = np.random.default_rng(seed)
    means = rng.integers(0, 6, n_arms)
    lists = {"similar": [], "dissimilar": [], "better": [], "ranges": []}
    for a in range(n_arms):
        for b in range(n_arms):
            word = rng.choice([*lists, None]) if a != b else None
            gap = int(means[a] - means[b])
            if word == "ranges":
                ends = gap - rng.integers(0, 3), gap + rng.integers(0, 3)
                ranges = (a, b, *(None if rng.random() < 0.3 else int(end) for end in ends))
                lists[word].append(ranges)
            elif (
                word is not None
                and {"similar": abs(gap) < 2, "dissimilar": abs(gap) >= 2, "better": gap > 0}[word]
            ):
                lists[word].append((a, b))
    ids = [f"arm {arm}" for arm in rng.permutation(n_arms)] if seed % 2 else None
    return lsdt.SideInformation(n_arms, **lists, epsilon=2, arm_ids=ids)


def test_what_is_said_of_a_pair_is_intersected():
    known = drinks().ranges
    assert known.pairs.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert known.low.tolist() == [-INF, -INF, -0.4, -0.3]
    assert known.high.tolist() == [0.02, 0.0, 0.0, -0.1]
    assert known.strict_low.tolist() == [False] * 4
    assert known.strict_high.tolist() == [False, True, True, False]
    assert known.better_pairs().tolist() == [[3, 0], [2, 1]]


def test_a_closed_end_at_0_is_not_better():
    side = lsdt.SideInformation(2, ranges=[(0, 1, 0, 1)])
    assert side.relation(0, 1) == "range"
    assert side.ranges.n_better == 0
    both = lsdt.SideInformation(2, ranges=[(0, 1, 0, 1)], better=[(0, 1)])
    assert both.relation(0, 1) == "better"
    assert both != side


def test_relations_in_words_and_numbers():
    side = drinks()
    assert side.relation("tea", "coffee") == "similar"
    assert side.relation("cocoa", "coffee") == "better"
    assert side.relation("cocoa", "juice") == "worse"
    assert side.relation("tea", "cocoa") is None
    assert side.difference("coffee", "tea") == (-0.02, 0.1)
    assert side.difference("tea", "coffee") == (-0.1, 0.02)
    assert side.difference("juice", "cocoa") == (0.1, 0.3)
    assert side.difference("tea", "cocoa") == (-INF, INF)
    assert side.bounds("tea", "coffee") == (0.0, 0.1)
    assert "2 better pairs, 3 ranges" in repr(side)


def test_information_without_ranges_has_none():
    side = lsdt.SideInformation(3, similar=[(0, 1)], ranges=[(0, 1, None, None)])
    assert side.ranges is None
    assert side == lsdt.SideInformation(3, similar=[(0, 1)])
    assert lsdt.from_means([0.1, 0.2], epsilon=0.3).ranges is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"better": [(0, 0)]}, "joins arm 0 to itself"),
        ({"better": [(0, 9)]}, "there is no arm 9"),
        (
            {"better": [(0, 1), (1, 0)]},
            r"\(0, 1\) leave no possible difference of means: it would be above 0 and below 0",
        ),
        ({"better": [(0, 1)], "ranges": [(1, 0, 0, None)]}, "above 0 and at most 0"),
        ({"ranges": [(0, 1, 0.3, 0.1)]}, "range number 0 goes from 0.3 to 0.1; low must not be above high"),
        ({"ranges": [(0, 1, float("nan"), 0.1)]}, "range number 0 goes from nan"),
        ({"ranges": [(0, 1, INF, None)]}, "goes from inf to inf"),
        ({"ranges": [(0, 1, 0.2, 0.3), (1, 0, 0, 1)]}, "at least 0.2 and at most 0"),
        ({"ranges": [(1, 1, 0, 1)]}, "range pair number 0 joins arm 1 to itself"),
        ({"ranges": [(0, 1, 0.1)]}, r"range number 0 is \(0, 1, 0.1\); a range is \(a, b, low, high\)"),
        ({"ranges": [(0, 1, "low", 1)]}, "has the end 'low'"),
        ({"ranges": [(0, 1, 10**400, None)]}, "too large"),
        ({"ranges": 5}, "must be a list"),
        ({"ranges": np.array(5)}, "must be a list"),
        ({"ranges": [np.array(5)]}, r"range number 0 is array\(5\); a range is"),
        ({"ranges": [(0, 1, 0, 1), list]}, "range number 1 is <class 'list'>; a range is"),
        ({"ranges": [{0, 1, 2, 3}]}, "range number 0 is {0, 1, 2, 3}; a range is"),
        ({"ranges": [{0: 1, 1: 2, 2: 3, 3: 4}]}, "a range is"),
        ({"similar": [np.array(5)]}, r"similar pair number 0 must be two arms; got array\(5\)"),
        ({"dissimilar": [list]}, "dissimilar pair number 0 must be two arms"),
        ({"better": [np.array(None)]}, "better pair number 0 must be two arms"),
        ({"better": [{0, 1}]}, "better pair number 0 is {0, 1}, a set, and has no first arm"),
        ({"ranges": np.array([[0, 1.5, 0, 1]])}, "must be arms, as whole numbers"),
        ({"ranges": pd.DataFrame({"a": [0]})}, "from_frame"),
        (
            {"similar": [(0, 1)], "epsilon": 0.1, "ranges": [(0, 1, 0.1, 0.2)]},
            "is similar .less than 0.1 apart",
        ),
        (
            {"similar": [(0, 1)], "epsilon": 0.1, "ranges": [(1, 0, 0.2, None)]},
            "its range goes from -inf to -0.2",
        ),
        (
            {"dissimilar": [(0, 1)], "epsilon": 0.1, "ranges": [(0, 1, 0, 0.05)]},
            "is dissimilar .at least 0.1",
        ),
        (
            {"similar": [(0, 2)], "dissimilar": [(0, 1)], "epsilon": (0.3, 0.2), "ranges": [(0, 1, 0, 0.15)]},
            "dissimilar .at least 0.2",
        ),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.SideInformation(3, **given)


def test_what_only_seems_contradictory():
    lsdt.SideInformation(2, similar=[(0, 1)], ranges=[(0, 1, 7, 8)])  # epsilon is unknown
    lsdt.SideInformation(2, dissimilar=[(0, 1)], epsilon=0.1, ranges=[(0, 1, -0.05, 0.1)])
    lsdt.SideInformation(2, dissimilar=[(0, 1)], epsilon=0.1, better=[(1, 0)])


def test_an_array_of_ranges():
    rows = [(0, 1, 0.5, 1.0), (2, 1, -INF, 0.25)]
    assert lsdt.SideInformation(3, ranges=np.array(rows)) == lsdt.SideInformation(3, ranges=rows)


def test_nothing_loses_ranges(tmp_path, thorough):
    for seed in range(100 if thorough else 12):
        side = random_side(seed)
        assert pickle.loads(pickle.dumps(side)) == side
        assert lsdt.from_frame(side.to_frame(), epsilon=2, complete=side.is_complete) == side
        for ending in ("csv", "parquet"):
            side.save(tmp_path / f"side.{ending}")
            assert lsdt.load(tmp_path / f"side.{ending}") == side
        assert side_of_arrays(*side_as_arrays(side)) == side
        assert lsdt.merge([side]) == side
        assert side.subset(side.arm_ids or range(6)) == side
        assert not side.ranges.pairs.flags.writeable


def test_a_frame_comes_back():
    side = drinks()
    frame = side.to_frame()
    assert frame.columns.tolist() == ["a", "b", "relation", "low", "high"]
    assert frame["relation"].tolist().count("range") == 3
    assert lsdt.from_frame(frame, epsilon=0.1).subset(DRINKS).ranges.n_better == 2
    renamed = frame.rename(columns={"low": "least", "high": "most"})
    assert lsdt.from_frame(renamed, epsilon=0.1, low="least", high="most") == lsdt.from_frame(
        frame, epsilon=0.1
    )
    with pytest.raises(InvalidInput, match="lacks the columns"):
        lsdt.from_frame(frame, low="least")
    spoilt = frame.assign(low=["x"] * len(frame))
    with pytest.raises(InvalidInput, match="has the end 'x'; the ends of a range are numbers"):
        lsdt.from_frame(spoilt)


def test_files_of_others(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,relation,low,high\ntea,mate,better,,\nmate,cola,range,.1,\ncola,tea,similar,,\n")
    side = lsdt.load(path)
    assert side.difference("mate", "cola") == (0.1, INF)
    assert side.relation("mate", "tea") == "worse"
    path.write_text("x,y,kind,from,to\ntea,mate,range,-.1,.2\n")
    assert lsdt.load(path, columns=["x", "y", "kind", "from", "to"]).difference("tea", "mate") == (-0.1, 0.2)
    path.write_text("a,b,relation,low,high\ntea,mate,range,.3,.2\n")
    with pytest.raises(InvalidFile, match="line 2 goes from 0.3 to 0.2"):
        lsdt.load(path)
    path.write_text("a,b,relation\ntea,mate,beter\n")
    with pytest.raises(InvalidFile, match="did you mean 'better'"):
        lsdt.load(path)


def test_thresholds_and_ranges_in_one_file(tmp_path):
    side = lsdt.SideInformation(
        3,
        similar=[(0, 1)],
        dissimilar=[(1, 2)],
        epsilon=(0.3, 0.2),
        better=[(2, 1)],
        ranges=[(2, 1, None, 0.9)],
    )
    for ending in ("csv", "parquet"):
        side.save(tmp_path / f"side.{ending}")
        assert lsdt.load(tmp_path / f"side.{ending}") == side


def test_content_has_its_own_checksum(tmp_path):
    path = tmp_path / "side.csv"
    drinks().save(path)
    path.write_text(path.read_text().replace("0.3", "0.4"))
    with pytest.raises(InvalidFile, match="content has changed since it was saved"):
        lsdt.load(path)
    assert fingerprint(drinks()) != fingerprint(drinks().reveal(1, 1, p_range=0))


def test_crafted_arrays_are_refused():
    arrays, about = side_as_arrays(drinks())
    changes = {
        "ranges_pairs": arrays["ranges_pairs"][::-1].copy(),
        "ranges_low": np.full(4, np.nan),
        "ranges_high": np.full(4, -5.0),
        "ranges_strict": np.full((4, 2), 2, np.int32),
    }
    loose = {"ranges_strict": np.ones((4, 2), np.int32)}
    for name, value in (*changes.items(), *loose.items()):
        with pytest.raises(InvalidInput):
            side_of_arrays({**arrays, name: value}, about)


def test_some_of_the_arms():
    part = drinks().subset(["coffee", "cocoa", "juice"])
    assert part.ranges.pairs.tolist() == [[0, 1], [1, 2]]
    assert part.difference("juice", "cocoa") == (0.1, 0.3)
    assert drinks().subset(["tea", "cocoa"]).ranges is None


def test_coins_for_ranges():
    side = lsdt.SideInformation(40, ranges=[(a, b, -1, 1) for a in range(40) for b in range(a)])
    assert side.reveal(0.5, 0.5) == side
    half, more = side.reveal(p_range=0.5, seed=3), side.reveal(p_range=0.7, seed=3)
    assert 300 < len(half.ranges.pairs) < 480
    assert set(map(tuple, half.ranges.pairs.tolist())) < set(map(tuple, more.ranges.pairs.tolist()))
    assert side.reveal(p_range=0).ranges is None
    kept = drinks().reveal(0, 0)
    assert kept.n_similar + kept.n_dissimilar == 0
    assert kept.ranges.same_as(drinks().ranges)
    with pytest.raises(InvalidInput, match="p_range"):
        side.reveal(p_range=2)


def test_ranges_of_several_sources():
    first = lsdt.SideInformation(2, arm_ids=["x", "y"], ranges=[("x", "y", 0, 0.5)])
    second = lsdt.SideInformation(
        3, arm_ids=["y", "x", "z"], ranges=[("y", "x", -1, -0.1)], better=[("z", "y")]
    )
    side = lsdt.merge([first, second])
    assert side.difference("x", "y") == (0.1, 0.5)
    assert side.relation("z", "y") == "better"
    assert "2 pairs with a range" in str(side.evidence)
    third = lsdt.SideInformation(2, arm_ids=["x", "y"], better=[("y", "x")])
    said = (
        r"on_conflict does not settle for ranges \('a' and 'c'\): the relations of the pair .* leave a source"
    )
    with pytest.raises(InconsistentSideInformation, match=said):
        lsdt.merge([second, first, third], names=["a", "b", "c"], on_conflict="first")
    near = lsdt.SideInformation(2, [("x", "y")], arm_ids=["x", "y"], epsilon=0.1)
    with pytest.raises(InconsistentSideInformation, match="is similar"):
        lsdt.merge([second, near])


def test_wrong_ranges_are_turned_round():
    assert drinks().corrupt(0) == drinks()
    side = lsdt.SideInformation(4, better=[(0, 1)], ranges=[(0, 1, None, 0.4), (1, 2, -0.1, 0.3)])
    wrong = side.corrupt(1)
    assert wrong == lsdt.SideInformation(4, better=[(1, 0)], ranges=[(1, 0, None, 0.4), (2, 1, -0.1, 0.3)])
    assert wrong.corrupt(1) == side
    many = lsdt.SideInformation(200, better=[(arm, arm + 1) for arm in range(199)])
    turned = many.corrupt(0.3, seed=4).ranges.strict_high
    assert 40 <= turned.sum() <= 80  # 60 on average; five standard deviations are 32
    assert np.array_equal(turned, many.corrupt(0.3, seed=4).ranges.strict_high)
    # Of a pair with both, both are flipped; a range inside epsilon has no place beside dissimilar.
    both = lsdt.SideInformation(
        3, similar=[(0, 1), (1, 2)], ranges=[(0, 1, -0.05, 0.05), (1, 2, 0.05, None)], epsilon=0.1
    ).corrupt(1)
    assert both.dissimilar_pairs().tolist() == [[0, 1], [1, 2]]
    assert both.ranges.pairs.tolist() == [[1, 2]]
    assert both.difference(1, 2) == (-np.inf, -0.05)


def test_what_cannot_hold_ranges():
    with pytest.raises(Unsupported, match="which arm is better"):
        drinks().to_networkx()
    assert drinks().reveal(1, 1, p_range=0).to_networkx().number_of_edges() == 2


def test_equal_thresholds_are_one_epsilon_with_ranges_too():
    side = lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=(0.1, 0.1), better=[(2, 1)])
    assert side == lsdt.SideInformation(3, [(0, 1)], [(1, 2)], epsilon=0.1, better=[(2, 1)])
    assert side.explicit().ranges is not None
