from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy.spatial.distance import cdist

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, SideWarning, TooLarge
from lsdt.kernel.memory import memory_limit
from lsdt.side_information.sources import near_points
from naive.graphs import pair_set
from naive.sources import cosine_distance, length, monotone_range, near_pairs

TABLE = {"drink": ["tea", "coffee", "cola"], "sweet": [0.1, 0.2, 0.9], "hot": [1, 1, 0]}


@st.composite
def integer_points(draw):
    """Points on a grid, so that distances often equal the radius exactly."""
    features = draw(st.integers(1, 4))
    values = st.integers(-4, 4)
    point = st.lists(values, min_size=features, max_size=features)
    return draw(st.lists(point, min_size=1, max_size=14)), draw(st.integers(1, 6))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@given(given_points=integer_points())
@pytest.mark.filterwarnings("ignore::lsdt.errors.SideWarning")
def test_similar_pairs_are_those_that_are_near(metric, given_points):
    points, radius = given_points
    side = lsdt.from_features(points, lipschitz=0.5, epsilon=0.5 * radius, metric=metric)
    assert pair_set(side.similar_pairs()) == near_pairs(points, metric, radius)
    assert side.n_dissimilar == 0
    assert side.epsilon == 0.5 * radius


@pytest.mark.large
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_many_points_in_blocks_and_tiles(metric):
    """More than one block of rows and one tile, and coordinates far from the origin."""
    points = np.random.default_rng(3).normal(1e6, 1.0, (2_300, 3))
    radius = {"euclidean": 0.25, "manhattan": 0.4, "chebyshev": 0.2}[metric]
    side = lsdt.from_features(points, 1.0, radius, metric=metric)
    apart = cdist(points, points, {"manhattan": "cityblock"}.get(metric, metric))
    close = apart < radius * (1 - 1e-9)
    assert np.array_equal(side.similar_pairs(), np.argwhere(np.triu(close, 1)))
    assert side.n_similar > 1_000


def test_cosine_looks_at_directions_only():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(60, 5))
    stretched = points * 10.0 ** rng.integers(-150, 150, (60, 1))
    side = lsdt.from_features(stretched, lipschitz=2.0, epsilon=0.5, metric="cosine")
    expected = {
        frozenset((a, b)) for a in range(60) for b in range(a) if cosine_distance(points[a], points[b]) < 0.25
    }
    assert pair_set(side.similar_pairs()) == expected
    assert len(expected) > 20
    opposite = lsdt.from_features([[1.0, 0.0], [-1.0, 0.0]], 1.0, 2.001, metric="cosine")
    assert opposite.n_similar == 1
    with pytest.warns(SideWarning, match="no pair is similar"):
        assert lsdt.from_features([[1.0, 0.0], [-1.0, 0.0]], 1.0, 2.0, metric="cosine").n_similar == 0


def test_never_more_than_the_constant_allows():
    """Means that keep to the constant never make a similar pair of arms that are epsilon apart."""
    points = np.random.default_rng(1).random((80, 2))
    means = points @ [0.6, 0.8]  # changes by at most 1 per unit of distance
    side = lsdt.from_features(points, 1.0, 0.1)
    first, second = side.similar_pairs().T
    assert (np.abs(means[first] - means[second]) < 0.1).all()
    assert len(first) > 20


@given(st.floats(1e-200, 1e200), st.floats(1e-100, 1e100))
def test_units_do_not_matter(unit, reward):
    points = np.array([[0.0, 1.0], [0.3, 1.4], [2.0, 1.0], [0.0, 1.0]])
    side = lsdt.from_features(points * unit, reward / unit, 0.6 * reward)
    assert side.similar_pairs().tolist() == [[0, 1], [0, 3], [1, 3]]


@pytest.mark.filterwarnings("ignore:half of the ranges:lsdt.errors.SideWarning")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
def test_units_of_embeddings_do_not_matter(metric):
    """Other warnings are errors here, such as one of an overflow."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(40, 3))
    means = 0.5 + 0.1 * np.tanh(points[:, 0])
    pilot = {"arm": np.arange(40), "mean": means, "se": np.full(40, 0.001)}
    plain = lsdt.from_features(points, metric=metric, pilot=pilot)
    for unit in (1e250, 1e-250):
        side = lsdt.from_features(points * unit, metric=metric, pilot=pilot)
        assert side.ranges.pairs.tolist() == plain.ranges.pairs.tolist()
        assert side.ranges.high == pytest.approx(plain.ranges.high, rel=1e-6)
    with pytest.raises(
        InvalidInput, match=r"at most 1e\+300 in size; arm 1 has -1e\+301 in feature 0; rescale"
    ):
        lsdt.from_features([[0.0], [-1e301]], 1.0)


def test_files_of_features(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(TABLE)[["drink", "sweet", "hot"]]
    expected = lsdt.from_features(frame, 1.0, 0.5, arm_ids="drink")
    frame.to_csv("named.csv", index=False)
    frame.rename(columns={"drink": "arm"}).to_parquet("features.parquet")
    np.save("features.npy", frame[["sweet", "hot"]].to_numpy(np.float32))
    assert lsdt.from_features("named.csv", 1.0, 0.5, arm_ids="drink") == expected
    assert lsdt.from_features(tmp_path / "features.parquet", 1.0, 0.5) == expected
    assert lsdt.from_features("features.npy", 1.0, 0.5).arm_ids is None
    assert lsdt.from_features("features.npy", 1.0, 0.5, arm_ids=TABLE["drink"]) == expected
    with pytest.raises(InvalidInput, match="no column 'arm' of ids; found 'drink'.* Name it: arm_ids=..."):
        lsdt.from_features("named.csv", 1.0)
    with pytest.raises(
        InvalidFile, match=r"a table ends in .csv, .tsv, .jsonl, .parquet or .npy; got 'x.xls'"
    ):
        lsdt.from_features("x.xls", 1.0)
    with pytest.raises(InvalidFile, match="cannot read 'none.npy': there is no such file"):
        lsdt.from_features("none.npy", 1.0)
    np.save("objects.npy", np.array([{}]), allow_pickle=True)
    with open("empty.npy", "wb"):
        pass
    for name in ("objects.npy", "empty.npy"):
        with pytest.raises(InvalidFile, match=f"'{name}' is no array of numbers as numpy.save writes it"):
            lsdt.from_features(name, 1.0)


def test_a_distance_of_just_epsilon_is_unknown():
    for points in ([[0.1], [0.2]], [[0.2], [0.3]]):  # although .3 - .2 < .1 in floats
        with pytest.warns(SideWarning, match=r"no two arms are less than .* = 0.1 apart.*Leave epsilon out"):
            assert lsdt.from_features(points, 1.0, 0.1).n_similar == 0
    assert Fraction(0.3) - Fraction(0.2) < Fraction(0.1)


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(TABLE), pl.DataFrame(TABLE), pl.LazyFrame(TABLE), pa.table(TABLE)],
    ids=["pandas", "polars", "polars lazy", "pyarrow"],
)
def test_any_dataframe_with_its_column_of_ids(frame):
    side = lsdt.from_features(frame, 1.0, 0.5, arm_ids="drink")
    assert side == lsdt.SideInformation(3, [("tea", "coffee")], [], TABLE["drink"], 0.5)


def test_frames_without_ids_and_ids_beside():
    frame = pd.DataFrame(TABLE)[["sweet", "hot"]]
    assert lsdt.from_features(frame, 1.0, 0.5).arm_ids is None
    numbered = frame.assign(arm=[30, 10, 20])  # ids, and no feature
    assert lsdt.from_features(numbered, 1.0, 0.5) == lsdt.from_features(frame, 1.0, 0.5, arm_ids=[30, 10, 20])
    assert lsdt.from_features(frame, 1.0, 0.5, arm_ids=[7, 8, 9]).relation(7, 8) == "similar"
    assert lsdt.from_features(frame.assign(hot=frame.hot == 1), 1.0, 0.5).n_similar == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lipschitz": 0}, "lipschitz must be positive and finite"),
        ({"lipschitz": "2"}, "lipschitz must be a positive number.*got '2'"),
        ({"epsilon": -1.0}, "epsilon must be positive"),
        ({"metric": "euclidian"}, r"metric must be one of .*\(did you mean 'euclidean'\?\)"),
        ({"X": [1.0, 2.0]}, r"a row per arm .* got the shape \(2,\); one feature per arm is"),
        ({"X": np.zeros((0, 2))}, "got the shape"),
        ({"X": [[1.0], [np.nan]]}, "features must be finite; arm 1 has nan in feature 0"),
        ({"X": [["a"], ["b"]]}, "features must be numbers; got an array of"),
        ({"X": [[1.0], [1.0, 2.0]]}, "X must be a table of numbers"),
        ({"X": pd.DataFrame(TABLE)}, r"the columns \['drink'\] are not; name the column of ids"),
        (
            {"X": pd.DataFrame(TABLE), "arm_ids": "drnk"},
            "there is no column 'drnk' of ids; .*did you mean 'drink'",
        ),
        ({"arm_ids": "drink"}, "names a column, and X is no dataframe"),
        ({"arm_ids": ["a"]}, "one id for each of the 2 arms"),
        ({"X": [[0.0, 0.0], [1.0, 1.0]], "metric": "cosine"}, "all features of arm 0 are 0"),
        ({"epsilon": 1e-308}, "must not be as small as 1e-308"),
        ({"lipschitz": [1.0, 2.0]}, "one for each of the 1 features; got 2"),
        ({"lipschitz": [0.0]}, "lipschitz must be positive"),
        ({"lipschitz": [1.0], "metric": "cosine"}, "a direction has one constant"),
        ({"lipschitz": [1e300], "X": [[1e300], [0.0]], "epsilon": None}, "must be a finite number; rescale"),
        ({"increasing": [3]}, "increasing names the feature 3; there are '0'"),
        ({"increasing": [0], "decreasing": [0]}, "feature 0 is both increasing and decreasing"),
        ({"increasing": [0], "metric": "cosine", "X": [[1.0], [2.0]]}, "has no single feature that grows"),
        ({"increasing": [0]}, "leave epsilon out"),
        ({"n_neighbours": 0}, "n_neighbours must be a whole number of at least 1"),
        ({"unexplained": -1.0}, "unexplained must"),
    ],
)
def test_bad_values_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.from_features(**{"X": [[0.0], [1.0]], "lipschitz": 1.0, "epsilon": 0.5, **arguments})


def test_more_pairs_than_memory_holds_are_refused():
    refused = pytest.raises(TooLarge, match="listing more than .* similar pairs .* use a smaller epsilon")
    with memory_limit(2**22), refused:
        lsdt.from_features(np.zeros((1_000, 2)), 1.0, 0.5)


def test_blocks_of_rows_join_without_a_gap():
    points = np.random.default_rng(8).random((40, 2))
    whole = near_points.near_pairs(points, 0.3, 2, "")
    assert np.array_equal(near_points.near_pairs(points, 0.3, 2, "", at_once=120), whole)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@given(given_points=integer_points(), data=st.data())
@pytest.mark.filterwarnings("ignore::lsdt.errors.SideWarning")
def test_ranges_are_those_that_the_constant_allows(metric, given_points, data):
    """All pairs are neighbours here; with monotone features, by the two steps of the definition."""
    points, constant = given_points
    signs = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(points[0]), max_size=len(points[0])))
    up, down = ([axis for axis, sign in enumerate(signs) if sign == which] for which in (1, -1))
    side = lsdt.from_features(
        points, 0.25 * constant, metric=metric, increasing=up, decreasing=down, n_neighbours=20
    )
    for a in range(len(points)):
        for b in range(a):
            low, high = monotone_range(points[a], points[b], signs, 0.25 * constant, metric)
            assert side.difference(a, b) == pytest.approx((low, high))
            assert (side.relation(a, b) == "better") == (low == 0.0 < high)


def test_one_constant_per_feature_is_a_sum():
    points, constants = [[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]], [0.1, 0.5]
    side = lsdt.from_features(points, constants)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        steps = [k * (x - y) for k, x, y in zip(constants, points[a], points[b], strict=True)]
        assert side.difference(a, b)[1] == pytest.approx(length(steps, "manhattan"))
    assert side.evidence.lipschitz == 1.0
    assert side.evidence.metric == "manhattan"


def test_cosine_ranges_and_what_features_leave_unexplained():
    side = lsdt.from_features([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]], 0.1, metric="cosine", unexplained=0.2)
    assert side.difference(0, 1)[1] == pytest.approx((0.2**2 + 0.1**2) ** 0.5)
    assert side.difference(0, 2)[1] == pytest.approx((0.2**2 + 0.2**2) ** 0.5)
    assert "sqrt(0.2^2 + (0.1 x distance)^2), which is assumed" in str(side.evidence)


def test_only_neighbours_have_ranges_and_the_rest_follows():
    points = np.arange(50.0)[:, None]
    side = lsdt.from_features(points, 0.1, n_neighbours=2)
    assert 48 < len(side.ranges.pairs) < 60
    assert side.relation(0, 40) is None
    both = lsdt.merge([side, lsdt.SideInformation(50, ranges=[(49, 0, 4.9, None)])])
    assert lsdt.candidate_set(both).arms.tolist() == [49]  # as steep as allowed all the way


def test_columns_are_named():
    frame = pd.DataFrame(TABLE)
    side = lsdt.from_features(frame, 1.0, arm_ids="drink", increasing=["hot"], decreasing=["sweet"])
    assert side.relation("tea", "coffee") == "better"
    with pytest.raises(InvalidInput, match=r"increasing names the feature 'hott'.*did you mean 'hot'"):
        lsdt.from_features(frame, 1.0, arm_ids="drink", increasing=["hott"])


def test_monotone_functions_keep_to_their_ranges():
    rng = np.random.default_rng(6)
    points = rng.random((120, 3))
    means = np.sqrt(points[:, 0]) * 0.1 + 0.2 * np.sin(3 * points[:, 1]) - 0.3 * points[:, 2] ** 2
    steep = 0.1 / (2 * np.sqrt(points[:, 0].min())), 0.6, 0.6
    known = lsdt.from_features(points, steep, increasing=[0], decreasing=[2]).ranges
    apart = means[known.pairs[:, 0]] - means[known.pairs[:, 1]]
    assert (apart >= known.low).all()
    assert (apart <= known.high).all()
    assert (known.low > -known.high).any()  # narrower on one side


def test_equal_features_are_pointed_out():
    with pytest.warns(SideWarning, match="4 of 5 arms have the same features as another one"):
        side = lsdt.from_features([[0.0], [0.0], [1.0], [1.0], [2.0]], lipschitz=0.1)
    assert side.difference(0, 1) == (0.0, 0.0)
    side = lsdt.from_features([[0.0], [0.0], [1.0]], lipschitz=0.1, unexplained=0.2)
    assert side.difference(0, 1) == (-0.2, 0.2)


@pytest.mark.filterwarnings("ignore::lsdt.errors.SideWarning")
@pytest.mark.parametrize("successes", [0, 50])
def test_a_pilot_without_spread_is_not_exact(successes):
    """Nothing in 50 trials may still be some percent: the ranges must not say that all means are equal."""
    points = np.random.default_rng(0).normal(size=(40, 3))
    pilot = {"arm": list(range(40)), "successes": [successes] * 40, "trials": [50] * 40}
    evidence = lsdt.from_features(points, pilot=pilot).evidence
    assert evidence.allowed(np.array([np.median(np.linalg.norm(points, axis=1))]))[0] > 0.01
    table = pd.DataFrame([(user, arm, successes) for user in range(9) for arm in range(40)])
    table.columns = ["user", "item", "rating"]
    log = lsdt.ratings.read_log(table, scale=(0, 50))
    assert lsdt.from_features(points, pilot=log).evidence.lipschitz > 0.0
