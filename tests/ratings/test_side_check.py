"""Lipschitz constants, groups and other relations against ratings and rewards with known means."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.plotting.check import check_points

MEANS = np.array([0.2, 0.25, 0.3, 0.5, 0.52, 0.8])
GROUPS = ["low", "low", "low", "mid", "mid", "low"]  # the last is in the wrong one


def log_of(means=MEANS, n_users=4000, seed=1):
    rng = np.random.default_rng(seed)
    liking = (rng.random((n_users, len(means))) < means).astype(float)
    liking[rng.random(liking.shape) < 0.2] = np.nan
    return lsdt.ratings.RatingLog.from_matrix(liking, [f"item {at}" for at in range(len(means))], (0, 1))


def test_groups_by_hand():
    log = log_of()
    side = lsdt.from_groups(GROUPS, epsilon=0.2, arm_ids=log.item_ids, apart=[("low", "mid")])
    check = lsdt.check_side(side, log)
    assert (check.n_relations, check.n_tested) == (15, 15)
    table = check.pairs.set_index(["a", "b"])
    for at in range(3):
        row = table.loc[(f"item {at}", "item 5")]
        assert (row["relation"], row["group"], row["verdict"]) == ("similar", "low", "wrong")
        assert row["low"] <= MEANS[at] - MEANS[5] <= row["high"]
    assert table.loc[("item 3", "item 4"), "verdict"] == "right"
    assert table.loc[("item 0", "item 3"), "verdict"] == "right"  # .3 apart, as the groups say
    assert table.loc[("item 2", "item 3"), "verdict"] == "open"  # .2 apart
    assert check.n_wrong == 3
    # 3 of 15 are wrong, and that of items 2 and 4, 2 and 3 is nearly a toss of a coin.
    assert 3 / 15 <= check.share_wrong <= 5 / 15
    groups = check.groups().set_index("group")
    assert groups["wrong"].to_dict() == {"low": 3, "mid": 0}
    assert groups.index[0] == "low"
    assert abs(groups.loc["low", "share_wrong"] - 0.5) < 0.05
    assert "3 wrong" in str(check)
    assert "15 pairs, 3 wrong" in repr(check)


def test_a_lipschitz_constant_by_hand():
    log = log_of()
    side = lsdt.from_features(np.arange(6.0)[:, None], 0.1, 0.15, arm_ids=log.item_ids)
    found = lsdt.check_side(side, log).lipschitz
    assert found.n_pairs == 15
    assert found.pair == ("item 4", "item 5")  # .28 for a distance of 1
    assert 0.2 < found.smallest <= 0.28
    assert found.n_wrong >= 1
    assert found.assumed == 0.1
    wide = lsdt.check_side(lsdt.from_features(np.arange(6.0)[:, None], 0.3, 0.35, arm_ids=log.item_ids), log)
    assert wide.lipschitz.n_wrong == 0
    assert wide.lipschitz.share_wrong < found.share_wrong
    assert "is contradicted by 0 of 15 pairs; so is every one below" in str(wide)
    same = lsdt.check_side(lsdt.from_features(np.zeros((6, 1)), 0.3, 0.35, arm_ids=log.item_ids), log)
    assert same.lipschitz.smallest == np.inf
    assert "no constant holds: arms with the same features have different means" in str(same)
    lsdt.plotting.plot_check(same)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
def test_distances_are_those_that_decided(metric):
    points = np.random.default_rng(1).random((30, 4)) + 0.1
    limit = {"cosine": 0.05, "manhattan": 0.4}.get(metric, 0.2)
    side = lsdt.from_features(points, 1.0, limit, metric=metric)
    first, second = np.triu_indices(30, 1)
    near = side.evidence.distances(first, second) < side.epsilon
    listed = {tuple(pair) for pair in side.similar_pairs().tolist()}
    assert {(a, b) for a, b in zip(first[near].tolist(), second[near].tolist(), strict=True)} == listed
    some = side.subset(range(10, 30))
    assert some.evidence.distances([0], [1]) == side.evidence.distances([10], [11])


def test_rewards_of_an_agent():
    side = lsdt.from_groups(GROUPS, epsilon=0.2)
    agent = lsdt.Agent(side, "ucb1")
    rng = np.random.default_rng(0)
    for arm, mean in enumerate(MEANS):
        for reward in (rng.random(40 if arm == 0 else 1500) < mean).tolist():
            agent.observe(arm, float(reward))
    counts, means, variances = agent.arm_statistics()
    assert counts.tolist() == [40] + [1500] * 5
    assert np.abs(means[1:] - MEANS[1:]).max() < 0.05
    assert np.abs(variances[1:] - (MEANS * (1 - MEANS))[1:]).max() < 0.02
    check = lsdt.check_side(side, agent, min_raters=50)
    assert check.n_tested == 4  # arm 0 has too few
    assert check.pairs.query("verdict == 'wrong'")[["a", "b"]].to_numpy().tolist() == [[1, 5], [2, 5]]


def test_true_relations_are_seldom_called_wrong():
    """At 95% for all relations at once, over 60 logs: 3 expected, more than 9 with probability .003."""
    wrong = 0
    for seed in range(60):
        log = log_of(n_users=400, seed=seed)
        side = lsdt.from_means(MEANS, 0.12, arm_ids=log.item_ids).explicit()
        wrong += lsdt.check_side(side, log, min_raters=10).n_wrong > 0
    assert wrong <= 9


def test_the_estimate_is_right_on_average():
    rng, estimates, truths = np.random.default_rng(5), [], []
    for seed in range(12):
        means = np.clip(rng.normal(0.5, 0.12, 12), 0.05, 0.95)
        log = log_of(means, 600, seed)
        side = lsdt.from_groups(["one"] * 12, epsilon=0.15, arm_ids=log.item_ids)
        check = lsdt.check_side(side, log)
        estimates.append(check.share_wrong)
        apart = np.abs(means[:, None] - means)[np.triu_indices(12, 1)]
        truths.append(float((apart >= 0.15).mean()))
    assert abs(np.mean(estimates) - np.mean(truths)) < 0.05


def test_the_estimate_for_features_is_right_on_average():
    rng, shares = np.random.default_rng(6), []
    for seed in range(10):
        genres = rng.integers(0, 2, (20, 5)).astype(float)
        means = np.clip(0.5 + 0.08 * genres @ rng.normal(size=5) + 0.06 * rng.normal(size=20), 0.05, 0.95)
        log = log_of(means, 700, seed)
        order = [log.item_ids.index(f"item {at}") for at in range(20)]
        side = lsdt.from_features(genres, 0.1, 0.12, arm_ids=[f"item {at}" for at in range(20)])
        assert sorted(order) == list(range(20))
        check = lsdt.check_side(side, log)
        apart = np.abs(means[:, None] - means)
        similar = tuple(side.similar_pairs().T)
        first, second = np.triu_indices(20, 1)
        far = apart[first, second] > 0.1 * side.evidence.distances(first, second)
        shares.append([check.share_wrong, (apart[similar] >= 0.12).mean()])
        shares[-1] += [check.lipschitz.share_wrong, far.mean()]
    similar, true_similar, bound, true_bound = np.mean(shares, axis=0)
    assert abs(similar - true_similar) < 0.07
    assert abs(bound - true_bound) < 0.07


def test_pictures():
    log = log_of()
    groups = lsdt.check_side(lsdt.from_groups(GROUPS, epsilon=0.2, arm_ids=log.item_ids), log)
    points = check_points(groups)
    assert points.groups == ["low", "mid"]
    assert points.is_wrong.sum() == 3
    axes = lsdt.plotting.plot_check(groups)
    assert axes.get_xlabel() == "group"
    side = lsdt.from_features(np.arange(6.0)[:, None], 0.1, 0.15, arm_ids=log.item_ids)
    labels = lsdt.plotting.plot_check(lsdt.check_side(side, log)).get_legend_handles_labels()[1]
    assert "Lipschitz constant 0.1" in labels
    plain = lsdt.SideInformation(6, [(0, 1), (0, 5)], arm_ids=log.item_ids, epsilon=0.2)
    assert lsdt.plotting.plot_check(lsdt.check_side(plain, log)).get_xlabel().startswith("similar pairs")


def test_what_cannot_be_tested_is_named():
    log = log_of(n_users=100)
    with pytest.raises(InvalidInput, match="check_side takes a SideInformation"):
        lsdt.check_side(log, log)
    with pytest.raises(InvalidInput, match="give the side information an epsilon"):
        lsdt.check_side(lsdt.from_groups(GROUPS, arm_ids=log.item_ids), log)
    with pytest.raises(InvalidInput, match="none of the items rated is an arm"):
        lsdt.check_side(lsdt.from_groups(GROUPS, epsilon=0.1), log)
    side = lsdt.from_groups(GROUPS, epsilon=0.1, arm_ids=log.item_ids)
    with pytest.raises(InvalidInput, match="confidence must lie between 0 and 1; got 1"):
        lsdt.check_side(side, log, confidence=1)
    nothing = lsdt.check_side(side, log, min_raters=1000)
    assert nothing.n_tested == 0
    assert np.isnan(nothing.share_wrong)
    with pytest.raises(InvalidInput, match="no similar pair could be tested"):
        lsdt.plotting.plot_check(nothing)
    with pytest.raises(InvalidInput, match=r"plot_check takes what lsdt.check_side returns"):
        lsdt.plotting.plot_check(side)


def test_ranges_are_tested_too():
    """Two ranges by hand: one that the rewards contradict, one that contains their interval, one open."""
    side = lsdt.SideInformation(4, ranges=[(0, 1, 0.2, None), (2, 3, -0.9, 0.9), (0, 2, 0.0, 0.05)])
    agent = lsdt.Agent(lsdt.SideInformation(4), "ts")
    for arm, wins in enumerate([100, 100, 90, 110]):
        for number in range(200):
            agent.observe(arm, float(number < wins))
    check = lsdt.check_side(side, agent)
    rows = check.pairs.set_index(["a", "b"])
    assert rows["verdict"].to_dict() == {(0, 1): "wrong", (0, 2): "open", (2, 3): "right"}
    assert set(rows["relation"]) == {"range"}
    assert rows["limit"].isna().all()
    assert 1 / 3 < check.share_wrong < 1
    features = lsdt.from_features(np.arange(4.0)[:, None], 0.01, unexplained=0.02)
    found = lsdt.check_side(features, agent)
    assert found.lipschitz.allowed == pytest.approx(np.hypot(0.02, 0.01 * found.lipschitz.distances))
    assert found.n_tested == 6
    lsdt.plotting.plot_check(found)
