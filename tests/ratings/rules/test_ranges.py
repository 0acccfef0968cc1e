"""Ranges out of ratings: the intervals themselves, what is left out, and how often one is wrong."""

from __future__ import annotations

import re
import warnings

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import lsdt
from lsdt.errors import ContradictionWarning, InvalidInput, NoRelations
from lsdt.ratings import RatingWarning, make_log, pair_statistics, read_log
from lsdt.ratings.engines.lazy_frames import open_log
from lsdt.ratings.from_ratings import RatingRequest, relate
from lsdt.ratings.rules.ranges import BETTER, RANGE, WORSE, FoundRanges, family_ranges, fdr_ranges
from lsdt.ratings.rules.relations import FdrRule
from lsdt.ratings.statistics.intervals import DifferenceIntervals


@pytest.fixture(scope="module")
def made():
    return make_log(n_users=4000, n_items=12, ratings_per_user=8, seed=1)


@pytest.fixture(scope="module")
def side(made):
    return lsdt.from_ratings(made.log, guarantee="all")


def test_a_log_by_hand():
    """Items a, b and c at 1, 2 and 1.05 of 5, 4000 users who agree but for a trifle."""
    rng = np.random.default_rng(0)
    values = np.array([1.0, 2.0, 1.05]) + 0.01 * rng.normal(size=(4000, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"]).stack().reset_index()
    frame.columns = ["user", "item", "rating"]
    side = lsdt.from_ratings(read_log(frame, scale=(0, 5)), relations="ranges")
    assert (side.epsilon, side.n_similar, side.n_dissimilar) == (None, 0, 0)
    width = DifferenceIntervals("student", 0.05 / 3).half_widths([4000], [-0.2], [8e-6])[0]
    low, high = side.difference("a", "b")
    assert (low, high) == (pytest.approx(-0.2 - width, abs=2e-4), pytest.approx(-0.2 + width, abs=2e-4))
    found = lsdt.candidate_set(side)
    assert found.arm_ids == ["b"]
    assert found.verb == "can be"
    assert str(found.explain("c")).startswith("arm 'c' cannot be the best: 'b' is better than it by at least")


def test_every_interval_is_a_range_rounded_outward_by_next_to_nothing(made, side):
    listed = pair_statistics(read_log(made.log), 30)
    widths = DifferenceIntervals("student", 0.05 / listed.n_pairs).half_widths(
        listed.raters, listed.difference, listed.variance
    )
    ranges = side.ranges
    np.testing.assert_array_equal(ranges.pairs, np.column_stack((listed.first, listed.second)))
    for ends, exact, sign in (
        (ranges.low, listed.difference - widths, 1),
        (ranges.high, listed.difference + widths, -1),
    ):
        off = sign * (exact - ends)
        assert ((off >= 0) & (off < 2.0**-29)).all()
        assert (ends * 2.0**30 == np.rint(ends * 2.0**30)).all()
    rows = [(*pair, low, high) for pair, low, high in zip(ranges.pairs, ranges.low, ranges.high, strict=True)]
    assert lsdt.SideInformation(12, arm_ids=side.arm_ids, ranges=rows) == side
    found = lsdt.candidate_set(side)
    assert found.notes == ()  # nothing was rounded again
    assert found.arms.tolist() == lsdt.candidate_set(side, "order").arms.tolist()


def test_ends_beyond_the_scale_are_open_and_pairs_with_two_of_them_are_left_out():
    log = lsdt.ratings.RatingLog.from_matrix(np.tile([[0.9, 0.1, 0.5]], (40, 1)), scale=(0, 1))
    listed = pair_statistics(log)
    found = FoundRanges(listed, np.array([0.5, 0.5, 1.7]))
    assert found.low.round(6).tolist() == [0.3, -0.1, -np.inf]
    assert found.high.round(6).tolist() == [np.inf, 0.9, np.inf]
    assert found.words.tolist() == [BETTER, RANGE, RANGE]
    assert FoundRanges(listed, np.array([0.0, 0.0, 0.1])).words.tolist() == [BETTER, BETTER, WORSE]

    class Wide(DifferenceIntervals):
        def half_widths(self, raters, difference, variance):
            return np.array([0.5, 0.5, 1.7])

    kept = family_ranges(listed, Wide("student", 0.1))
    assert kept.statistics.second.tolist() == [1, 2]
    assert kept.half_widths.tolist() == [0.5, 0.5]


def test_a_range_that_holds_0_is_kept_because_it_carries_an_order_on():
    """b is far below a, and c hardly above b, by many raters; few compared a and c themselves."""
    rng = np.random.default_rng(5)
    rows = []
    for first, second, users in (("a", "b", 2000), ("b", "c", 2000), ("a", "c", 31)):
        for user in range(users):
            for item in (first, second):
                liking = {"a": 0.7, "b": 0.3, "c": 0.31}[item] + 0.2 * rng.normal()
                rows.append((f"{first}{second}{user}", item, float(np.clip(round(4 * liking) / 4, 0, 1))))
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RatingWarning)
        side = lsdt.from_ratings(read_log(frame, scale=(0, 1)), relations="ranges", confidence=0.99999)
    assert [side.relation(*pair) for pair in ("ab", "bc", "ac")] == ["better", "range", "range"]
    assert lsdt.candidate_set(side).arm_ids == ["a"]


def test_the_evidence_counts_ranges(made, side):
    evidence = side.evidence
    pairs = evidence.pairs
    assert (evidence.relations, evidence.epsilon, evidence.search) == ("ranges", None, "none")
    assert len(pairs) == len(side.ranges.pairs) == evidence.count("better", "worse", "range")
    for row in pairs.itertuples():
        assert side.relation(row.a, row.b) == row.relation
        assert row.relation == ("better" if row.low > 0 else "worse" if row.high < 0 else "range")
    one = pairs[pairs["relation"] == "better"].iloc[0]
    assert evidence.relation(one.a, one.b).relation == "better"
    assert evidence.relation(one.b, one.a).relation == "worse"
    ordered = len(side.ranges.ordered_pairs())
    told = f"{len(pairs)} ranges, {ordered} of which say which item is better, {66 - len(pairs)} unknown"
    assert told in str(evidence)
    assert repr(evidence).startswith(f"RatingEvidence({len(pairs)} ranges, ")
    left = len(lsdt.candidate_set(side))
    assert any(note.startswith(f"The ranges leave {left} of 12 items") for note in evidence.notes)
    ranked = evidence.ranking()
    out = set(ranked["item"]) - set(lsdt.candidate_set(side).arm_ids)
    assert set(ranked.loc[ranked["below"].notna(), "item"]) <= out
    assert evidence.scan.empty
    with pytest.raises(
        InvalidInput, match="draws the choice of epsilon, but relations='ranges' has no epsilon"
    ):
        lsdt.plotting.plot_epsilon(evidence)


@pytest.mark.parametrize("level", ["family", "fdr"])
def test_the_same_from_an_engine_and_from_a_file(made, tmp_path, level):
    side = lsdt.from_ratings(made.log, relations="ranges", level=level)
    frame = duckdb.from_df(made.log)
    request = RatingRequest(
        "auto", 0.95, "interval", level, 0.1, "grid", None, "student", 0, "ranges"
    ).checked()
    assert not request.must_split
    there = relate(request, open_log(frame))
    np.testing.assert_array_equal(there.ranges.pairs, side.ranges.pairs)
    np.testing.assert_allclose(there.ranges.low, side.ranges.low, atol=1e-8)
    side.save(tmp_path / "side.parquet")
    loaded = lsdt.load(tmp_path / "side.parquet")
    assert loaded == side
    assert loaded.scale == (1.0, 5.0)


def test_ranges_that_order_nothing_say_so():
    frame, _ = make_log(n_users=200, n_items=60, ratings_per_user=10, seed=1)
    with pytest.warns(RatingWarning, match="No pair of items could be ordered: of 1,770 pairs") as told:
        side = lsdt.from_ratings(frame, relations="ranges")
    assert "a pair is ordered where its interval leaves out 0" in str(told[0].message)
    assert len(side.ranges.pairs) > 0
    assert len(lsdt.candidate_set(side)) == 60
    few = frame[frame["user"] < 20]
    with pytest.raises(NoRelations, match=re.escape("0 have the 30 that are needed")):
        lsdt.from_ratings(few, relations="ranges")
    with pytest.raises(NoRelations, match="no user rated two of the items"):
        lsdt.from_ratings(frame.drop_duplicates("user"), relations="ranges")


def test_contradictory_ranges_are_an_alarm():
    """Three groups of users, each of one pair, who make a circle of preferences."""
    rows = []
    for first, second in ("ab", "bc", "ca"):
        for user in range(300):
            rows += [(f"{first}{second}{user}", first, 0.9), (f"{first}{second}{user}", second, 0.1)]
    frame = pd.DataFrame(rows, columns=["user", "item", "rating"])
    with pytest.warns(RatingWarning) as told:
        side = lsdt.from_ratings(read_log(frame, scale=(0, 1)), relations="ranges")
    said = [str(each.message) for each in told]
    assert said[0].startswith("The ranges contradict one another")
    assert "of half the length of a range" in said[1]  # these ratings are missing not at random
    with pytest.warns(ContradictionWarning):
        assert len(lsdt.candidate_set(side)) > 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"relations": "range"}, "relations"),
        ({"relations": "ranges", "rule": "paper"}, "and rule='paper' has none"),
        ({"relations": "ranges", "epsilon": 0.1}, "needs no epsilon; got 0.1"),
        (
            {"relations": "ranges", "search": "paper"},
            "has no epsilon to search for; leave search='paper' out",
        ),
    ],
)
def test_bad_input_is_named(made, options, told):
    with pytest.raises(InvalidInput, match=re.escape(told)):
        lsdt.from_ratings(made.log, **options)


def test_pairs_are_selected_for_the_false_discovery_rate_as_by_hand(made):
    listed = pair_statistics(read_log(made.log), 30)
    about = listed.raters, listed.difference, listed.variance
    strict = DifferenceIntervals("student", 0.05 / listed.n_pairs)
    values = 2 * strict.tails(*about, np.abs(listed.difference))
    most = max(k for k in range(67) if (values <= k * 0.05 / 66).sum() >= k)
    found = fdr_ranges(FdrRule(listed, strict, 0.05, False))
    assert len(found.statistics) == most
    assert found.n_ordered == most
    widths = DifferenceIntervals("student", most * 0.05 / 66).half_widths(*about)
    np.testing.assert_allclose(found.half_widths, widths[values <= most * 0.05 / 66])
    alike = pair_statistics(
        lsdt.ratings.RatingLog.from_matrix(np.random.default_rng(0).random((50, 4)), scale=(0, 1))
    )
    assert len(fdr_ranges(FdrRule(alike, strict, 0.05, False)).statistics) == 0


def test_known_truth(thorough):
    """Logs of 10 items at an error of .2: no more have a wrong range than chance allows, but for one in 10^4.

    A range is wrong if the true difference lies outside. At the false discovery rate it is the mean share of
    wrong ones that has a limit. Shares lie between 0 and 1: the standard deviation of their mean is at most a
    half over the root of the number of logs.
    """
    logs, error = (300 if thorough else 15), 0.2
    any_wrong, lost, shares = 0, 0, []
    for seed in range(logs):
        frame, means = make_log(n_users=1200, n_items=10, ratings_per_user=6, seed=seed)
        log, truth = read_log(frame, scale=(1, 5)), (means.to_numpy() - 1.0) / 4.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RatingWarning)
            family, fdr = (
                lsdt.from_ratings(log, relations="ranges", confidence=1 - error, level=level)
                for level in ("family", "fdr")
            )
            found = lsdt.candidate_set(family)
        any_wrong += wrong(family.ranges, truth).any()
        lost += int(np.argmax(truth)) not in found
        shares.append(0.0 if fdr.ranges is None else wrong(fdr.ranges, truth).mean())
    most = binom.ppf(1 - 1e-4, logs, error)
    assert any_wrong <= most
    assert lost <= most
    assert np.mean(shares) <= error + 4 * 0.5 / np.sqrt(logs)


def wrong(ranges, truth):
    """Which ranges do not hold the true difference."""
    first, second = ranges.pairs.T
    true = truth[first] - truth[second]
    return (true < ranges.low) | (true > ranges.high)
