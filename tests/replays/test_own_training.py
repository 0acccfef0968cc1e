"""Replays with a log to train on and another to test on, and replays in the order of time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.ratings import read_events, read_log

MEANS = np.array([0.3, 0.4, 0.5, 0.6])


def ratings(seed=0, n_users=600, means=MEANS, first_user=0):
    """Ratings from 1 to 5, user after user, a few at a time."""
    rng = np.random.default_rng(seed)
    values = np.round(1 + 4 * np.clip(means + 0.25 * rng.normal(size=(n_users, len(means))), 0, 1))
    users, items = np.nonzero(rng.random(values.shape) < 0.6)
    when = 100.0 * users + rng.permutation(len(users)) / len(users)
    columns = {"user": users + first_user, "item": items, "rating": values[users, items], "when": when}
    return pd.DataFrame(columns)


def test_a_log_of_its_own_is_tested_on():
    train, test = ratings(1, 300), ratings(2, 500, MEANS[::-1], first_user=300)
    result = lsdt.replay(
        train, ["always:0", "always:3", "best_training_mean"], test_log=test, horizon=100, splits=3
    )
    summary = result.summary()
    # What was best in training, item 3, is the worst of what is tested.
    assert summary.loc["best_training_mean", "reward"] == summary.loc["always 3", "reward"]
    assert summary.loc["always 0", "reward"] > summary.loc["always 3", "reward"] + 0.5
    assert result.problem["training_users"] == train["user"].nunique()
    assert result.problem["trained_on"] == train["user"].nunique()
    trained, tested = result.users(0)
    assert sorted(trained) == list(range(train["user"].nunique()))
    assert sorted(tested) == list(range(test["user"].nunique()))
    assert result.users(1)[1].tolist() != tested.tolist()  # in another order
    assert "Intervals are for policies with this training" in " ".join(result.notes)
    again = lsdt.replay(
        train, ["always:0", "always:3", "best_training_mean"], test_log=test, horizon=100, splits=3, n_jobs=1
    )
    assert (again.arrays.reward == result.arrays.reward).all()
    part = lsdt.replay(train, "ts", test_log=test, horizon=50, splits=2, train=0.5, test=0.2)
    assert part.problem["trained_on"] == round(0.5 * train["user"].nunique())
    assert part.problem["tested_on"] == round(0.2 * test["user"].nunique())


def test_only_items_of_both_logs_are_played_on_one_scale():
    train = ratings(1, 300).query("item != 0 and rating < 5")
    test = ratings(2, 300).query("item != 3")
    result = lsdt.replay(train, "ucb1", test_log=test, horizon=50, splits=2, prior_weight=1.0)
    assert result.problem["item_ids"] == [1, 2]
    assert result.problem["scale"] == [1.0, 5.0]
    assert any(note.startswith("2 items without ratings to train on") for note in result.notes)
    with pytest.raises(InvalidInput, match="no item is both in the ratings trained on and in those tested"):
        lsdt.replay(train.query("item == 1"), "ts", test_log=test.query("item == 2"))
    with pytest.raises(InvalidInput, match="train must leave users to train on; got 0.0 of"):
        lsdt.replay(train, "ts", test_log=test, train=0.0)


def test_the_log_to_test_on_may_be_read_in_another_way():
    train, test = ratings(1, 300), ratings(2, 300, first_user=300)
    named = test.rename(columns={"item": "song", "rating": "stars"})
    policies, how = ["ts", "best_training_mean"], {"horizon": 50, "splits": 2}
    alike = lsdt.replay(train, policies, test_log=test, **how)
    other = lsdt.replay(train, policies, test_log=read_log(named, item="song", rating="stars"), **how)
    assert (alike.arrays.reward == other.arrays.reward).all()
    few, fewer = read_log(train, top=3), read_log(test, top=2)
    result = lsdt.replay(few, policies, test_log=fewer, **how)
    assert result.problem["item_ids"] == [item for item in fewer.item_ids if item in few.item_ids]
    assert list(result.notes[:2]) == [few.note, fewer.note]


def test_the_earliest_ratings_are_trained_on_and_users_come_in_order():
    frame = ratings(3)
    shuffled = frame.sample(frac=1.0, random_state=0)
    result = lsdt.replay(
        read_log(shuffled, time="when"),
        ["ucb1", "best_training_mean"],
        chronological=True,
        train=0.25,
        horizon=60,
        splits=4,
    )
    n_early = round(0.25 * len(frame))
    assert f"The earliest {n_early:,} ratings are trained on" in result.notes[0]
    log = read_log(frame, time="when")
    _, later = log.divide_by_time(0.25)
    assert result.problem["users"] == later.n_users
    assert result.problem["tested_on"] == (later.n_users + 1) // 2
    drawn = [result.users(split)[1] for split in range(4)]
    assert all((np.diff(tested) > 0).all() for tested in drawn)
    assert len({tuple(tested) for tested in drawn}) == 4
    whole = lsdt.replay(log, "always:3", chronological=True, train=0.25, horizon=40, splits=1)
    first_ones = later.ratings[later.items == 3][:40]  # its users are in the order of time
    assert whole.arrays.reward[0, 0, -1] == first_ones.sum()


def test_what_changes_with_time_is_seen():
    old, new = ratings(1, 400), ratings(2, 400, MEANS[::-1])
    frame = pd.concat([old, new.assign(user=new["user"] + 400, when=new["when"] + 1e5)])
    options = {"splits": 2, "horizon": 80, "train": 0.5}
    log = read_log(frame, time="when")
    mixed = lsdt.replay(log, "best_training_mean", **options).summary()["reward"].iloc[0]
    later = lsdt.replay(log, "best_training_mean", chronological=True, **options)
    assert later.summary()["reward"].iloc[0] < mixed - 0.3


def test_events_in_the_order_of_time():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"item": rng.integers(0, 3, 3000), "rating": rng.integers(0, 2, 3000)})
    frame["when"] = pd.date_range("2024-01-01", periods=3000, freq="min")
    shuffled = read_events(frame.sample(frac=1.0, random_state=1), user=None, time="when")
    result = lsdt.replay(shuffled, "always:1", chronological=True, train=0.5, horizon=40, splits=1)
    later = frame.iloc[1500:].query("item == 1")["rating"].to_numpy()
    assert result.arrays.reward[0, 0, -1] == later[:40].sum()


def test_time_is_needed_for_the_order_of_time():
    for read in (read_log, read_events):
        told = rf"does not say when ratings were given; .*{read.__name__}\(log, time='timestamp'\)"
        with pytest.raises(InvalidInput, match=told):
            lsdt.replay(read(ratings()), "ts", chronological=True)
        with pytest.raises(InvalidInput, match=told):  # of the log that is tested
            lsdt.replay(read(ratings(), time="when"), "ts", test_log=read(ratings()), chronological=True)
    with pytest.raises(InvalidInput, match="a share of 1 of the ratings leaves none that is later"):
        lsdt.replay(read_log(ratings(), time="when"), "ts", chronological=True, train=1.0)
    with pytest.raises(InvalidInput, match="chronological must be True or False; got 'yes'"):
        lsdt.replay(ratings(), "ts", chronological="yes")


# ---------------------------------------------------------------- splits that cannot be played

CIRCLE = {"similar": [(0, 1), (1, 3), (3, 2), (2, 0)], "dissimilar": [(0, 3), (1, 2)]}


def test_relations_that_contradict_one_another_do_not_end_a_replay():
    wrong = lsdt.SideInformation(4, **CIRCLE, epsilon=0.1, arm_ids=range(4))
    with pytest.raises(lsdt.errors.InconsistentSideInformation):
        lsdt.candidate_set(wrong, "paper")
    calls = []

    def side(log):
        calls.append(log)
        return wrong if len(calls) == 1 else lsdt.from_means(MEANS, 0.15, arm_ids=range(4))

    with pytest.warns(UserWarning, match="the relations contradict one another in 1 of 3 splits"):
        result = lsdt.replay(
            ratings(), ["ucb1@paper", "ts", "lsdt_psi"], side=side, horizon=60, splits=3, n_jobs=1
        )
    arms = result.answers.arms
    assert arms[:, 0].max() == 4 > arms[:, 0].min()
    assert result.played("ucb1 on paper").all()
    assert (result.summary()["rounds"] == 60).all()
    assert "where 'ucb1 on paper', 'lsdt_psi' played on all items" in " ".join(result.notes)


def test_a_policy_that_cannot_play_leaves_the_others_alone():
    calls = []

    def side(log):
        calls.append(log)
        full = lsdt.from_means(MEANS, 0.15, arm_ids=range(4))
        return full.reveal(0.5, 0.5) if len(calls) == 1 else full

    with pytest.warns(
        UserWarning, match=r"'lsdt_csi' could not play in 1 of 3 splits: lsdt_csi needs complete"
    ):
        result = lsdt.replay(ratings(), ["lsdt_csi", "ts"], side=side, horizon=60, splits=3, n_jobs=1)
    assert result.played("lsdt_csi").sum() == 2
    assert result.played("ts").all()
    there = result.played("lsdt_csi")
    mean = result.mean_reward("lsdt_csi")[there].mean()
    assert result.summary().loc["lsdt_csi", "reward"] == mean
    assert result.summary().loc["lsdt_csi", "rounds"] == 60
    behind = result.difference("ts", "lsdt_csi")["difference"].iloc[-1]
    paired = (result.reward("ts") - result.reward("lsdt_csi"))[there, -1].mean() / 60
    assert abs(behind - paired) < 1e-12
    partial = lsdt.from_means(MEANS, 0.15, arm_ids=range(4)).reveal(0.5, 0.5)
    with pytest.warns(UserWarning, match="could not play in 2 of 2 splits"):
        never = lsdt.replay(ratings(), ["lsdt_csi", "ts"], side=partial, horizon=60, splits=2)
    assert np.isnan(never.summary().loc["lsdt_csi", "reward"])
    assert not never.enough("lsdt_csi")
    with pytest.raises(Unsupported, match=r"needs complete side information.*\(in split 0\)"):
        lsdt.replay(ratings(), "lsdt_csi", side=partial, horizon=60, splits=2)


def test_the_same_side_information_takes_one_offline_step(monkeypatch):
    from lsdt.policies import offline

    taken = []
    found = offline.candidate_set
    side = lsdt.from_means(MEANS, 0.15, arm_ids=range(4)).reveal(0.9, 0.9)

    def watched(some, method):
        taken.extend([method] if some is side else [])
        return found(some, method)

    monkeypatch.setattr(offline, "candidate_set", watched)
    policies = ["ts@propagation", "ucb1@auto", "soft_closure", "ucb1@paper", "ts@triangles"]
    lsdt.replay(ratings(), policies, side=side, horizon=40, splits=3, n_jobs=1)
    assert sorted(taken) == ["propagation", "triangles"]
