"""From a log to side information: the whole way, what it rests on, and how often it loses the best item."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.ratings import RatingLog, RatingWarning, make_log, pair_statistics, read_log
from lsdt.ratings.statistics.intervals import DifferenceIntervals

nan = float("nan")


@pytest.fixture(scope="module")
def made():
    return make_log(n_users=4000, n_items=12, ratings_per_user=8, seed=1)


@pytest.fixture(scope="module")
def side(made):
    return lsdt.from_ratings(made.log, relations="threshold")


def test_a_log_by_hand():
    """Two items a fifth of the scale apart, a third beside the first, 40 users who agree but for a trifle."""
    rng = np.random.default_rng(0)
    values = np.array([1.0, 2.0, 1.05]) + 0.01 * rng.normal(size=(4000, 3))
    frame = pd.DataFrame(values, columns=["a", "b", "c"]).stack().reset_index()
    frame.columns = ["user", "item", "rating"]
    side = lsdt.from_ratings(read_log(frame, scale=(0, 5)), epsilon=0.1)
    assert side.arm_ids == ("a", "b", "c")
    assert [side.relation(*pair) for pair in ("ab", "ac", "bc")] == ["dissimilar", "similar", "dissimilar"]
    assert side.epsilon == 0.1
    told = side.evidence.relation("a", "b")
    assert (told.relation, told.raters) == ("dissimilar", 4000)
    assert told.difference == pytest.approx(-0.2, abs=1e-3)
    back = side.evidence.relation("b", "a")
    assert back.difference == -told.difference
    assert (back.low, back.high) == (-told.high, -told.low)
    assert told.low < told.difference < told.high
    width = DifferenceIntervals("student", 0.05 / 3).half_widths([4000], [told.difference], [0.0])[0]
    assert told.high - told.difference == pytest.approx(width, rel=0.1)


def test_evidence_is_what_the_relations_rest_on(made, side):
    evidence, log = side.evidence, read_log(made.log)
    pairs = evidence.pairs
    assert pairs.columns.tolist() == ["a", "b", "relation", "raters", "difference", "low", "high"]
    assert len(pairs) == side.n_similar + side.n_dissimilar
    for row in pairs.itertuples():
        assert side.relation(row.a, row.b) == row.relation
        inside = -side.epsilon < row.low <= row.high < side.epsilon
        outside = row.low > side.epsilon or row.high < -side.epsilon
        assert inside if row.relation == "similar" else outside
        told = evidence.relation(row.a, row.b)
        assert (told.relation, told.raters, told.low) == (row.relation, row.raters, row.low)
    everything = pair_statistics(log)
    at = everything.at(int(pairs["a"][0]), int(pairs["b"][0]))
    assert pairs["difference"][0] == everything.difference[at]
    unknown = next((a, b) for a in range(12) for b in range(a) if side.relation(a, b) is None)
    assert evidence.relation(*unknown) is None
    items = evidence.items
    assert items["item"].tolist() == list(range(12))
    assert items["ratings"].tolist() == log.counts().tolist()
    assert items["mean"].to_numpy() == pytest.approx(log.means())
    assert (evidence.n_ratings, evidence.scale) == (len(made.log), (1, 5))


def test_the_scan_shows_the_choice_and_notes_explain_it(side):
    evidence = side.evidence
    scan = evidence.scan
    assert scan.columns.tolist() == ["epsilon", "by_triangles", "similar", "dissimilar", "unknown", "risk"]
    chosen = scan[scan["epsilon"] == evidence.epsilon].iloc[0]
    assert (
        chosen["by_triangles"]
        == scan["by_triangles"].min()
        == len(lsdt.candidate_set(side, method="triangles"))
    )
    assert (chosen["similar"], chosen["dissimilar"]) == (side.n_similar, side.n_dissimilar)
    text = str(evidence)
    for part in (
        "ratings from 1 to 5 of 12 items by",
        f"epsilon {side.epsilon:g} is {4 * side.epsilon:g} on theirs",
        "With a probability of 0.95 at least, no relation is wrong and the best item is not lost",
        "holds at every epsilon at once",
        f"{len(scan)} values of epsilon from {scan['epsilon'].min():g} to {scan['epsilon'].max():g}",
        f"{chosen['by_triangles']:.0f} of 12 items by triangles, with an estimated risk of",
        "Comparing co-raters with the rest shows little",
    ):
        assert part in text, part
    assert repr(evidence).startswith(
        f"RatingEvidence({side.n_similar + side.n_dissimilar} decided pairs, rule='interval'"
    )


def test_evidence_changes_nothing_else_about_side_information(side, tmp_path):
    plain = lsdt.SideInformation(12, side.similar_pairs(), side.dissimilar_pairs(), range(12), side.epsilon)
    assert plain.evidence is None
    assert side == plain
    assert hash(side) == hash(plain)
    side.save(tmp_path / "side.parquet")
    loaded = lsdt.load(tmp_path / "side.parquet")
    assert loaded.evidence is None
    assert pickle.loads(pickle.dumps(side)) == side


def test_all_sources_give_the_same(made, side, tmp_path):
    made.log.to_csv(tmp_path / "log.csv", index=False)
    made.log.to_parquet(tmp_path / "log.parquet")
    shuffled = made.log.sample(frac=1, random_state=1)
    for log in (tmp_path / "log.csv", tmp_path / "log.parquet", pl.from_pandas(shuffled), read_log(made.log)):
        other = lsdt.from_ratings(log, relations="threshold")
        assert other == side
        pd.testing.assert_frame_equal(other.evidence.pairs, side.evidence.pairs, check_exact=True)
        pd.testing.assert_frame_equal(other.evidence.scan, side.evidence.scan, check_exact=True)


def test_any_scale_is_the_same_log(made, side):
    moved = made.log.assign(rating=100 - 10 * made.log["rating"])
    other = lsdt.from_ratings(moved, relations="threshold")
    assert other.evidence.scale == (50, 90)
    assert other == side
    assert np.allclose(other.evidence.pairs["difference"], -side.evidence.pairs["difference"])


def test_the_paper_s_rule_and_search_are_the_paper_s(made):
    log = read_log(made.log)
    found = lsdt.from_ratings(log, rule="paper", search="paper", alpha=0.2)
    search = lsdt.ratings.search_epsilon(pair_statistics(log), 0.2)
    assert found == search.side
    assert found.epsilon == search.epsilon
    assert dict(
        zip(found.evidence.scan["epsilon"], found.evidence.scan["by_triangles"], strict=True)
    ) == dict(search.path)
    assert found.evidence.pairs["low"].isna().all()
    assert "how many are wrong is not known" in str(found.evidence)


def test_too_few_common_raters_leave_a_pair_unknown(made):
    log = read_log(made.log)
    least = int(np.median(pair_statistics(log).raters))
    found = lsdt.from_ratings(log, epsilon=0.2, min_raters=least)
    assert found.evidence.pairs["raters"].min() >= least
    assert len(found.evidence.pairs) < len(lsdt.from_ratings(log, epsilon=0.2).evidence.pairs)


def test_fdr_decides_more_and_says_what_it_means(made):
    family, fdr, any_ = (
        lsdt.from_ratings(made.log, epsilon=0.1, level=level) for level in ("family", "fdr", "fdr_any")
    )
    decided = [len(one.evidence.pairs) for one in (family, any_, fdr)]
    assert decided == sorted(decided)
    assert decided[0] < decided[2]
    assert "share of 0.05 of the relations at most is expected to be wrong" in str(fdr.evidence)
    assert "under any dependence" in str(any_.evidence)


def test_fdr_with_a_search_splits_the_users(made):
    found = lsdt.from_ratings(made.log, relations="threshold", level="fdr", seed=3)
    assert "Half of the users, drawn at random, chose epsilon" in str(found.evidence)
    source = lsdt.ratings.engines.source.LogSource(read_log(made.log))
    choosing, deciding = source.halves(3)
    assert abs(choosing.n_users - deciding.n_users) <= 1
    assert choosing.n_ratings + deciding.n_ratings == source.n_ratings
    again = lsdt.from_ratings(deciding.log, epsilon=found.epsilon, level="fdr")
    assert again == found
    assert lsdt.from_ratings(made.log, relations="threshold", level="fdr", seed=3) == found
    decided = pair_statistics(deciding.log)
    assert found.evidence.pairs["raters"].max() <= decided.raters.max()


def test_the_best_item_is_seldom_lost_and_others_go(thorough):
    """At a confidence of 0.8: a fifth of the logs lose it in the mean, 4 standard deviations more allowed."""
    lost, left, n_logs = 0, [], 300 if thorough else 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RatingWarning)
        for seed in range(n_logs):
            log, means = make_log(n_users=1000, n_items=12, ratings_per_user=8, seed=seed)
            side = lsdt.from_ratings(log, relations="threshold", confidence=0.8, seed=seed)
            found = lsdt.candidate_set(side, method="triangles")
            lost += int(means.idxmax()) not in found
            left.append(len(found))
    assert lost <= n_logs * 0.2 + 4 * np.sqrt(n_logs * 0.2 * 0.8)
    assert np.mean(left) < 9


def test_risky_choices_are_warned_of():
    """Twenty raters of items of nearly the same quality: the paper's search throws most of them out."""
    rng = np.random.default_rng(5)
    log = RatingLog.from_matrix(np.clip(0.5 + 0.1 * rng.normal(size=(20, 15)), 0, 1), scale=(0, 1))
    with pytest.warns(RatingWarning, match="estimated risk of losing the best item, 0.* search='grid' does"):
        found = lsdt.from_ratings(log, rule="paper", search="paper")
    assert any("estimated risk" in note for note in found.evidence.notes)
    with pytest.warns(RatingWarning, match="epsilon='auto' looks for a value with less"):
        lsdt.from_ratings(log, rule="paper", epsilon=found.epsilon)
    calm = lsdt.from_ratings(log, rule="paper")
    assert calm.evidence.scan.set_index("epsilon")["risk"][calm.epsilon] <= 0.05


def ring_log():
    """Four items around a ring: neighbours are the same to their raters, those across are far apart."""
    rows = [(0.5, 0.5, nan, nan), (nan, 0.5, 0.5, nan), (nan, nan, 0.5, 0.5), (0.5, nan, nan, 0.5)]
    return RatingLog.from_matrix([*rows, (0.2, nan, 0.7, nan), (nan, 0.2, nan, 0.7)], scale=(0, 1))


def test_relations_that_contradict_one_another_are_warned_of():
    with pytest.warns(RatingWarning, match="At epsilon 0.2 the relations contradict one another"):
        side = lsdt.from_ratings(ring_log(), rule="paper", epsilon=0.2)
    assert side.evidence.scan["by_triangles"].isna().all()
    assert np.isnan(lsdt.plotting.plot_epsilon(side.evidence).lines[-1].get_ydata()).all()
    with pytest.raises(lsdt.errors.InconsistentSideInformation):
        lsdt.candidate_set(side)
    with pytest.raises(lsdt.errors.InconsistentSideInformation, match="values of epsilon tried, from"):
        lsdt.from_ratings(ring_log(), rule="paper")


def test_ratings_missing_not_at_random_are_warned_of():
    rng = np.random.default_rng(0)
    taste = rng.choice([-1.0, 1.0], (4000, 1)) * np.where(np.arange(10) % 2, 1, -1)
    values = np.clip(0.5 + np.linspace(0, 0.4, 10) * taste + 0.1 * rng.normal(size=taste.shape), 0, 1)
    values[rng.random(values.shape) > 0.5 + 0.35 * taste] = nan
    log = RatingLog.from_matrix(values, scale=(0, 1))
    with pytest.warns(RatingWarning) as caught:
        found = lsdt.from_ratings(log, epsilon=0.1)
    alarms = [str(one.message) for one in caught]
    assert any("seem to be missing not at random: " in alarm and "of epsilon" in alarm for alarm in alarms)
    assert all(alarm in found.evidence.notes for alarm in alarms)
    assert {one.filename for one in caught} == {__file__}
    assert found.evidence.missingness.matters(0.1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": "best"}, "epsilon must be a number or 'auto'; got 'best'"),
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": 1.5}, "epsilon is a share of the scale of ratings and must be below 1; got 1.5"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1; got 1.0"),
        ({"rule": "intervall"}, "rule must be one of 'interval', 'paper'; got 'intervall'.*did you mean"),
        ({"level": "bonferroni"}, "level must be one of 'family', 'fdr', 'fdr_any'"),
        ({"search": "binary"}, "search must be one of 'grid', 'paper'"),
        ({"interval": "normal"}, "interval must be one of 'betting', 'bootstrap'"),
        ({"alpha": 1}, "alpha must be below 1"),
        ({"alpha": 2}, "alpha must lie between 0 and 1"),
        ({"min_raters": 0}, "min_raters for rule='interval' must be a whole number from 1 to 2,147,483,647"),
        (
            {"min_raters": 1, "guarantee": "all"},
            "min_raters for rule='interval' must be a whole number from 2 to 2,147,483,647",
        ),
        ({"min_raters": 10**21}, "from 1 to 2,147,483,647; got 1000000000000000000000"),
        ({"min_raters": 0, "rule": "paper"}, "min_raters for rule='paper' must be a whole number from 1 to"),
        ({"seed": -1}, "seed must be a non-negative integer"),
    ],
)
def test_bad_parameters_are_named(made, wrong, message):
    with pytest.raises(lsdt.errors.InvalidInput, match=message):
        lsdt.from_ratings(made.log, **wrong)


def test_logs_that_say_nothing_of_pairs():
    def log(values):
        return RatingLog.from_matrix(values, scale=(0, 1))

    for values, message in (
        ([[0.1], [0.2]], "the log is about one item, 0; a pair needs two"),
        ([[0.1, nan], [nan, 0.2]], "no user rated two of the items"),
        (
            [[0.1, 0.4], [0.3, 0.2]],
            "ordered: of 1 pair, 1 have common raters, 2 at the most, and 0 have the 30",
        ),
    ):
        with pytest.raises(lsdt.errors.InvalidInput, match=message):
            lsdt.from_ratings(log(values), guarantee="all")
    with pytest.warns(lsdt.ratings.RatingWarning, match="No pair of items could be decided"):
        nothing = lsdt.from_ratings(log([[0.1, 0.4], [0.3, 0.2]]), epsilon=0.1)
    assert (nothing.n_similar, nothing.n_dissimilar) == (0, 0)
    assert len(nothing.evidence.pairs) == 0
    with pytest.raises(lsdt.errors.InvalidInput, match="two different items; got 1 twice"):
        nothing.evidence.relation(1, 1)
    with pytest.raises(lsdt.errors.InvalidInput, match="there is no arm 7"):
        nothing.evidence.relation(1, 7)


def test_bernstein_needs_more_and_decides_less(made):
    sure = lsdt.from_ratings(made.log, epsilon=0.2, interval="bernstein")
    assert 0 < len(sure.evidence.pairs) < len(lsdt.from_ratings(made.log, epsilon=0.2).evidence.pairs)
    assert "whatever the distribution of ratings" in str(sure.evidence)


def test_items_are_ranked_by_their_quality(made, side):
    """By hand: with very many ratings nothing is shrunk, and 12 lower ends lie 2.64 standard errors below."""
    evidence, about = side.evidence, side.evidence.item_statistics
    effects, order = 1 + 4 * about.effects, np.argsort(-about.effects)
    low = effects - 4 * 2.64 * np.hypot(about.errors, about.level_error)
    ranking = evidence.ranking()
    assert ranking.columns.tolist() == ["item", "ratings", "mean", "quality", "low", "below"]
    assert ranking["item"].tolist() == order.tolist()
    assert ranking["quality"].to_numpy() == pytest.approx(effects[order], abs=2e-3)
    assert ranking["low"].to_numpy() == pytest.approx(low[order], abs=2e-3)
    assert ranking["mean"].tolist() == [evidence.items["mean"][item] for item in ranking["item"]]
    pairs = evidence.pairs
    for row in ranking.itertuples():
        better = {each.b for each in pairs.itertuples() if each.a == row.item and each.high < 0}
        better |= {each.a for each in pairs.itertuples() if each.b == row.item and each.low > 0}
        first = next((item for item in ranking["item"] if item in better), None)
        assert row.below == first
    some = evidence.ranking([3, 7, 5])
    assert some["item"].tolist() == [item for item in ranking["item"] if item in (3, 7, 5)]
    with pytest.raises(lsdt.errors.InvalidInput, match="there is no arm 99"):
        evidence.ranking([99])


def test_two_ratings_do_not_put_an_item_on_top(made):
    new = pd.DataFrame({"user": [0, 1], "item": [99, 99], "rating": [5.0, 5.0]})
    evidence = lsdt.from_ratings(pd.concat([made.log, new]), epsilon=0.2).evidence
    assert evidence.items["mean"].idxmax() == 12
    assert evidence.ranking()["item"].iloc[0] != 99
    assert evidence.ranking()["item"].iloc[0] == evidence.ranking([*range(12)])["item"].iloc[0]
    assert evidence.ranking()["item"].iloc[-1] == 99  # fewer than ten ratings: behind all others
    assert evidence.ranking(min_ratings=0)["item"].iloc[-1] != 99


def test_a_log_without_a_column_of_users_is_refused():
    log, _ = lsdt.ratings.make_log(n_users=30, n_items=4, ratings_per_user=3, seed=1)
    for read in (lsdt.ratings.open_log, lsdt.ratings.read_log):
        with pytest.raises(
            InvalidInput, match="user must be a column, .* read it with lsdt.ratings.read_events"
        ):
            read(log, user=None)


def test_reading_is_left_to_the_reader(made):
    """A log is read once for many uses, and an error of the default reading says where its options are."""
    named = made.log.rename(columns={"user": "who", "rating": "stars"})
    with pytest.raises(
        InvalidInput, match=r"no column 'user' .*options of lsdt\.ratings\.read_log; give what"
    ):
        lsdt.from_ratings(named)
    with pytest.raises(InvalidInput, match=r"cannot read 'nowhere\.csv': No such file or directory$"):
        lsdt.from_ratings("nowhere.csv")
    log = read_log(named, user="who", rating="stars")
    assert lsdt.from_ratings(log).evidence.pairs.equals(lsdt.from_ratings(made.log).evidence.pairs)
    assert lsdt.from_ratings(log.matrix()).evidence.pairs.equals(lsdt.from_ratings(log).evidence.pairs)
