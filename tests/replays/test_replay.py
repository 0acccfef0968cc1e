"""Replays beside naive loops over the same splits, and against logs whose truth is known."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, NoRelations, Unsupported
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.ratings import read_events
from lsdt.replays.result import within_scale
from lsdt.simulation.result import interval
from naive.replay import replayed, replayed_events, split_of, taken_events
from side_by_side import learn_one_by_one

BOUNDED = RewardModel("bernoulli", 0.5)
MEANS = np.array([0.3, 0.4, 0.5, 0.6])
IDS = ["mate", "nettle", "rooibos", "sencha"]


def table(seed=0, n_users=400, missing=0.4, means=MEANS):
    rng = np.random.default_rng(seed)
    ratings = np.round(1 + 4 * np.clip(means + 0.25 * rng.normal(size=(n_users, len(means))), 0, 1))
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return ratings


def log_of(seed=0, **options):
    return lsdt.ratings.RatingLog.from_matrix(table(seed, **options), IDS, scale=(1, 5))


def from_means(training):
    """Side information out of training ratings, as simple as can be."""
    return lsdt.from_means(training.unit().means(), 0.15, arm_ids=training.item_ids)


def events(seed=0, n_events=3000, n_users=300, chances=None):
    """Users of two kinds, whose liking of item 0 differs; `chances` are those of what each kind is shown."""
    rng = np.random.default_rng(seed)
    users = rng.integers(0, n_users, n_events)
    liking = np.array([[0.9, 0.5, 0.3], [0.1, 0.5, 0.4]])
    shown = np.full((2, 3), 1 / 3) if chances is None else np.array(chances)
    kind = users % 2
    items = (rng.random(n_events)[:, None] > shown[kind].cumsum(axis=1)).sum(axis=1)
    answers = (rng.random(n_events) < liking[kind, items]).astype(float)
    frame = pd.DataFrame({"user": users, "item": items, "rating": answers})
    return frame.assign(p=shown[kind, items]), liking.mean(axis=0)


CONFOUNDED = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]


def test_no_filter_of_warnings_brings_out_what_every_split_would_say():
    """Filters are those of all threads: any that ends what it ignored lets others hear of it."""
    rng = np.random.default_rng(5)
    alike = np.clip(0.5 + 0.1 * rng.normal(size=(120, 15)), 0, 1)
    log = lsdt.ratings.RatingLog.from_matrix(alike, scale=(0, 1))

    def risky(training):
        warnings.simplefilter("error", lsdt.ratings.RatingWarning)  # as if another thread had just done it
        return lsdt.from_ratings(training, rule="paper", search="paper")

    with warnings.catch_warnings():
        with pytest.raises(lsdt.ratings.RatingWarning, match="estimated risk"):
            risky(log.of_users(range(20)))
        lsdt.replay(log, "ts@triangles", horizon=40, train=1 / 6, splits=3, side=risky)


# ------------------------------------------------------------------ naive twins


def test_every_split_is_a_naive_replay():
    log, rounds, seed = log_of(), 120, 3
    names = ["ucb1", "ts@paper", "lsdt_psi"]
    result = lsdt.replay(log, names, horizon=rounds, train=0.2, splits=3, side=from_means, seed=seed)
    unit = (log.matrix() - 1) / 4
    for number in range(3):
        trained, tested, _ = split_of(400, 80, seed, number)
        side = from_means(log.of_users(trained))
        means = np.nanmean(log.matrix()[tested], axis=0)
        for name, label in zip(names, result.policies, strict=True):
            policy = lsdt.policies.policy.parse_policy(name)
            ready = policy.begin(side, BOUNDED, rounds, new_stream(seed, number, 2))
            history, spent = replayed(ready.player, ready.arms, unit, tested, rounds)
            items = [item for item, _, _ in history]
            rewards = [1 + 4 * rating for _, _, rating in history]
            reached = [t for t in result.checkpoints if t <= len(history)]
            assert result.reward(label)[number, : len(reached)] == pytest.approx(
                [sum(rewards[:t]) for t in reached]
            )
            assert np.isnan(result.reward(label)[number, len(reached) :]).all()
            assert result.regret(label)[number, len(reached) - 1] == pytest.approx(
                sum(means.max() - means[item] for item in items[: reached[-1]])
            )
            assert result.matched(label)[number] == result.effective(label)[number] == len(history)
            assert result.answers.spent[number, result.policies.index(label)] == spent
            assert result.mean_reward(label)[number] == pytest.approx(np.mean(rewards))
            assert np.array_equal(result.plays(label)[number], np.bincount(items, minlength=4))


@pytest.mark.parametrize("method", ["uniform", "propensity"])
def test_events_are_replayed_as_a_naive_loop_does(method):
    frame, _ = events(chances=CONFOUNDED)
    if method == "uniform":
        frame = frame.assign(p=None)
    rows = list(frame.itertuples(index=False, name=None))
    log = read_events(frame, propensity="p" if method == "propensity" else None)
    result = lsdt.replay(log, ["ucb1", "ts"], horizon=90, splits=2, seed=5, clip=0.15)
    for number in range(2):
        _, order = taken_events(rows, 30, 300, 5, number, clip=0.15)
        for name in ("ucb1", "ts"):
            ready = lsdt.Policy(name).begin(lsdt.SideInformation(3), BOUNDED, 90, new_stream(5, number, 2))
            history = replayed_events(ready.player, ready.arms, rows, order, 90)
            assert result.matched(name)[number] == len(history)
            assert result.mean_reward(name)[number] == pytest.approx(np.mean([r for _, _, r in history]))
            users = [rows[at][0] for _, at, _ in history]
            busy = np.bincount(users)
            assert result.effective(name)[number] == pytest.approx(busy.sum() ** 2 / (busy**2).sum())


def test_a_policy_with_a_prior_learns_the_users_trained_on_one_by_one():
    log, seed = log_of(), 1
    result = lsdt.replay(log, ["ts:prior_weight=0.5"], horizon=60, train=0.3, splits=2, seed=seed)
    unit = (log.matrix() - 1) / 4
    for number in range(2):
        trained, tested, _ = split_of(400, 120, seed, number)
        ready = lsdt.Policy("ts").begin(lsdt.SideInformation(4), BOUNDED, 60, new_stream(seed, number, 2))
        known = [(i, unit[u, i]) for u in trained for i in range(4) if not np.isnan(unit[u, i])]
        kept = np.random.default_rng((seed, number, 6)).random(len(known)) < 0.5
        learn_one_by_one(ready.player, [known[at] for at in np.flatnonzero(kept)])
        history, _ = replayed(ready.player, ready.arms, unit, tested, 60)
        assert result.mean_reward("ts (prior_weight=0.5)")[number] == pytest.approx(
            1 + 4 * np.mean([rating for _, _, rating in history])
        )


def test_a_share_of_the_users_is_tested_and_training_does_not_change_it(tmp_path):
    log, options = log_of(), {"horizon": 60, "splits": 3, "test": 0.5, "side": None, "seed": 4}
    less, more = (lsdt.replay(log, ["ucb1", "always:mate"], train=train, **options) for train in (0.1, 0.4))
    assert np.array_equal(less.reward("ucb1"), more.reward("ucb1"))  # which learns nothing from training
    for result, n_training in ((less, 40), (more, 160)):
        for number in range(3):
            trained, others, _ = split_of(400, n_training, 4, number)
            users = result.users(number)
            assert users[0].tolist() == trained
            assert users[1].tolist() == others[-200:]
            answers = log.matrix()[users[1], IDS.index("mate")]
            answers = answers[~np.isnan(answers)][:60]
            assert result.matched("always mate")[number] == len(answers)
            assert result.mean_reward("always mate")[number] == pytest.approx(answers.mean())
    less.save(tmp_path)
    again = lsdt.ReplayResult.load(tmp_path)
    assert np.array_equal(again.users(2)[1], less.users(2)[1])
    with pytest.raises(InvalidInput, match="split must be a whole number from 0 to 2; got 3"):
        less.users(3)


def test_only_events_of_the_users_tested_come_by():
    frame, _ = events()
    options = {"splits": 2, "horizon": 10_000, "seed": 5}
    with pytest.warns(UserWarning, match="means nothing"):
        result = lsdt.replay(read_events(frame), "always:2", train=0.1, test=0.3, **options)
    for number in range(2):
        tested = set(split_of(300, 30, 5, number)[1][-90:])
        shown = frame[(frame.item == 2) & frame.user.isin(tested)]
        assert result.matched("always 2")[number] == len(shown)


def test_references_by_hand():
    """The item that was best in training, judged with two ratings of the overall mean; an item by name."""
    nan = np.nan
    ratings = np.array([[0.9, nan, 0.2], [nan, 0.8, 0.3], [nan, 0.8, 0.1], [0.5, 0.5, 0.5], [0.4, 0.6, 0.2]])
    log = lsdt.ratings.RatingLog.from_matrix(ratings, ["a", "b", "c"], scale=(0, 1))
    with pytest.warns(UserWarning, match="means nothing"):
        result = lsdt.replay(log, ["best_training_mean", "always:c"], horizon=2, train=0.6, splits=8)
    assert result.policies == ["best_training_mean", "always c"]
    chosen = set()
    for number in range(8):
        trained, tested, _ = split_of(5, 3, 0, number)
        known = ratings[trained]
        overall, counts = np.nanmean(known), (~np.isnan(known)).sum(axis=0)
        shrunk = (np.nansum(known, axis=0) + 2 * overall) / (counts + 2)
        best = int(np.argmax(np.where(counts > 0, shrunk, -1)))
        chosen.add(best)
        answers = [ratings[user, best] for user in tested if not np.isnan(ratings[user, best])]
        assert result.matched("best_training_mean")[number] == len(answers[:2])
        if answers:
            assert result.mean_reward("best_training_mean")[number] == pytest.approx(np.mean(answers[:2]))
        assert result.mean_reward("always c")[number] == pytest.approx(np.mean(ratings[tested, 2][:2]))
    assert len(chosen) > 1


# ------------------------------------------------------------------ known truth


def test_a_replay_earns_what_the_policy_earns_live(thorough):
    """The mean reward on some logs is that of 50 times as many live runs, within four standard errors."""
    rounds, logs = 150, 60 if thorough else 24
    live = lsdt.simulate(
        lsdt.problems.given(MEANS, rewards="bernoulli"), ["ucb1", "ts"], rounds, 50 * logs, seed=9
    )
    found = {"ucb1": [], "ts": []}
    for seed in range(logs):
        rng = np.random.default_rng((1, seed))
        ratings = (rng.random((400, 4)) < MEANS).astype(float)
        ratings[rng.random(ratings.shape) < 0.4] = np.nan
        result = lsdt.replay(ratings, list(found), horizon=rounds, train=0.0, splits=1, seed=seed)
        for name, values in found.items():
            values.append(float(result.mean_reward(name)[0]))
    for name, values in found.items():
        truth = live.reward(name)[:, -1] / rounds
        error = math.hypot(np.std(values) / np.sqrt(logs), truth.std() / np.sqrt(50 * logs))
        assert abs(np.mean(values) - truth.mean()) < 4 * error


def test_propensities_undo_what_the_logger_did(thorough):
    """Item 0 was shown to those who like it: uniform replay is wrong about it, propensities are not."""
    plain, exact, stationary, root = [], [], [], 5 if thorough else 3
    for seed in range(root**2):
        frame, truth = events(seed, 2500, chances=CONFOUNDED)
        how = {"horizon": 100, "splits": 2, "seed": seed}
        plain.append(lsdt.replay(read_events(frame), "always:0", **how).mean_reward("always 0").mean())
        result = lsdt.replay(read_events(frame, propensity="p"), "always:0", **how)
        exact.append(result.mean_reward("always 0").mean())
        stationary.append(result.estimates()["reward"].to_list())
    assert truth[0] == 0.5
    assert abs(np.mean(exact) - 0.5) < 4 * np.std(exact) / root
    assert np.mean(plain) > 0.5 + 4 * np.std(plain)
    ips, snips, dr = zip(*stationary, strict=True)
    for values in (ips, snips, dr):
        assert abs(np.mean(values) - 0.5) < 4 * np.std(values) / root


def test_intervals_cover_the_truth_of_new_users(thorough):
    """95% intervals hold the live mean in at least 88 of 100 logs; those of independent runs do not.

    Of 20, they hold it in at least 16 but for one chance in 300.
    """
    logs, least, most = (100, 88, 60) if thorough else (20, 16, 13)
    rounds, covered, naive, estimated = 100, 0, 0, 0
    for seed in range(logs):
        rng = np.random.default_rng((2, seed))
        ratings = (rng.random((300, 4)) < MEANS).astype(float)
        ratings[rng.random(ratings.shape) < 0.4] = np.nan
        result = lsdt.replay(ratings, "always:3", horizon=rounds, splits=10, seed=seed)
        row = result.summary().iloc[0]
        covered += row.low <= 0.6 <= row.high
        _, low, high = interval(result.mean_reward("always 3"))
        naive += low <= 0.6 <= high
        frame, truth = events(seed, 1500, chances=CONFOUNDED)
        log = read_events(frame, propensity="p")
        found = lsdt.replay(log, "always:2", horizon=50, splits=5, seed=seed).estimates()
        estimated += ((found.low <= truth[2]) & (truth[2] <= found.high)).to_numpy()
    assert covered >= least
    assert naive <= most
    assert (estimated >= least).all()


def test_a_policy_that_draws_is_worth_what_its_draws_are():
    """After a short training Thompson sampling plays items 0 and 1, which are equally good, and 2 at times.

    Events of all three speak of it, more than of any item by itself.
    """
    frame, truth = events(3, 2500, chances=CONFOUNDED)
    words = ["ts", "always:0", "always:1", "always:2"]
    result = lsdt.replay(read_events(frame, propensity="p"), words, horizon=60, splits=3, train=0.3)
    found = result.estimates().query("estimator == 'snips'").set_index("policy")
    assert truth.tolist() == [0.5, 0.5, 0.35]
    assert found["effective"].idxmax() == "ts"
    assert found["reward"]["always 2"] < found["reward"]["ts"] < found["reward"].max()


def test_few_clicks_are_not_enough_and_intervals_stay_above_zero():
    """400 rounds at a click rate of .2% have .8 clicks a split: no rate, and no interval below 0."""
    rng = np.random.default_rng(0)
    rare = (rng.random((3000, 4)) < 0.002).astype(float)
    with pytest.warns(UserWarning, match="means nothing"):
        result = lsdt.replay(rare, ["ts", "always:1"], horizon=400, splits=6, side=None)
    table = result.summary()
    assert not table["enough"].any()
    assert table["reason"].str.match(r"a split has \d\.\d answers of 1, on average; at least 10 are").all()
    assert (
        (table["low"] >= 0) & (table["low"] <= table["reward"]) & (table["reward"] <= table["high"])
    ).all()
    many = lsdt.replay((rng.random((3000, 4)) < 0.1).astype(float), "ts", horizon=400, splits=6, side=None)
    assert many.summary()[["enough", "reason"]].iloc[0].tolist() == [True, ""]


def test_no_click_at_all_has_an_interval_from_zero():
    low, high = within_scale(np.array([0.0, 1.0, 0.5]), np.zeros(3), np.full(3, 100.0), 0.0, 1.0)
    assert low.tolist() == pytest.approx([0.0, 0.025 ** (1 / 100), 0.5])
    assert high.tolist() == pytest.approx([1 - 0.025 ** (1 / 100), 1.0, 0.5])


def test_every_missing_number_has_a_reason():
    log = log_of()
    once = lsdt.replay(log, "ts", horizon=60, splits=1, side=None).summary()
    assert once["low"].isna().all()
    assert once["reason"].tolist() == ["it played in one split: there is no interval"]


# ------------------------------------------------------------------ the result


def test_the_same_for_any_number_of_workers_and_company():
    log = log_of()
    several = [lsdt.replay(log, ["ucb1", "ts"], splits=6, n_jobs=jobs, side=from_means) for jobs in (1, 3)]
    for name in ("ucb1", "ts"):
        first, again = (result.reward(name) for result in several)
        assert np.array_equal(first, again)
    alone = lsdt.replay(log, "ts", splits=6)
    assert np.array_equal(alone.reward("ts"), several[0].reward("ts"))
    assert not np.array_equal(alone.reward("ts"), lsdt.replay(log, "ts", splits=6, seed=1).reward("ts"))


def test_it_is_a_result_like_the_simulators(tmp_path):
    result = lsdt.replay(log_of(), ["ucb1", "best_training_mean"], horizon=60, splits=5, checkpoints=[20, 60])
    assert isinstance(result, lsdt.SimulationResult)
    assert repr(result) == "ReplayResult(ucb1, best_training_mean; 5 splits of 60 rounds)"
    assert result.regret("ucb1").shape == result.reward("ucb1").shape == (5, 2)
    assert list(result.to_frame().columns) == ["policy", "replication", "t", "regret", "reward"]
    summary = result.summary()
    assert summary.loc["ucb1", "reward"] == pytest.approx(result.reward("ucb1")[:, -1].mean() / 60)
    assert summary.loc["ucb1", "regret"] == pytest.approx(result.regret("ucb1")[:, -1].mean() / 60)
    assert summary.enough.all()
    at_20 = result.summary(20)
    assert at_20.loc["ucb1", "reward"] == pytest.approx(result.reward("ucb1")[:, 0].mean() / 20)
    result.save(tmp_path)
    again = lsdt.ReplayResult.load(tmp_path)
    assert isinstance(again, lsdt.ReplayResult)
    assert again.notes == result.notes
    assert again.problem == result.problem
    pd.testing.assert_frame_equal(again.summary(), summary)
    for mine, kept in zip(result.answers, again.answers, strict=True):
        assert np.array_equal(mine, kept, equal_nan=True)
        assert mine.dtype == kept.dtype
    with pytest.raises(
        InvalidFile, match="of a replay, which SimulationResult does not read; lsdt.ReplayResult reads"
    ):
        lsdt.SimulationResult.load(tmp_path)
    lsdt.simulate(lsdt.problems.uniform(5), "ucb1", 10, 2).save(tmp_path / "study")
    with pytest.raises(InvalidFile, match="results of a simulation, which ReplayResult does not read"):
        lsdt.ReplayResult.load(tmp_path / "study")


def test_differences_are_paired_and_per_round():
    result = lsdt.replay(log_of(), ["ts", "ucb1"], horizon=100, splits=6, checkpoints=[50])
    apart = result.difference("ts", "ucb1")
    gaps = (result.reward("ts") - result.reward("ucb1")) / [50, 100]
    assert apart.difference.to_numpy() == pytest.approx(gaps.mean(axis=0))
    # 100 of 400 users answer, and so do 50 at half time; a tenth is trained on.
    items = [result.answers.overlap[:, column].mean() for column in (0, 1)]
    for at, share in ((1, max(*items, 0.25)), (0, max(*(item / 2 for item in items), 0.125))):
        half = 2.5705818 * np.sqrt(gaps[:, at].var(ddof=1) * (1 / 6 + share / (1 - share)))
        assert apart.high[at] - apart.low[at] == pytest.approx(2 * half)
    lost = result.difference("ts", "ucb1", of="regret")
    assert lost.difference[1] == pytest.approx(
        (result.regret("ts") - result.regret("ucb1"))[:, 1].mean() / 100
    )
    with pytest.raises(InvalidInput, match="of must be one of 'reward', 'regret'; got 'plays'"):
        result.difference("ts", "ucb1", of="plays")


def test_how_much_two_splits_share():
    """Always the same item: n of its N raters answer. Two items: weighted by their plays."""
    log = log_of(missing=0.5)
    result = lsdt.replay(log, ["always:mate", "ucb1"], horizon=100, splits=2)
    raters = log.counts()
    assert result.answers.overlap[0, 0] == pytest.approx(100 / raters[0])
    plays = result.plays("ucb1")[0]
    assert result.answers.overlap[0, 1] == pytest.approx(max(100 / 400, (plays**2 / raters).sum() / 100))


def test_too_few_answers_mean_nothing():
    log = log_of(n_users=80, missing=0.6)
    with pytest.warns(UserWarning, match=r"the answer for 'ucb1' means nothing: \d+ of 100 rounds were ans"):
        result = lsdt.replay(log, "ucb1", horizon=100, train=0.5, splits=3)
    assert not result.enough("ucb1")
    assert result.notes[0].startswith("the answer for 'ucb1' means nothing")
    assert np.isnan(result.difference("ucb1", "ucb1").difference.iloc[-1])
    with pytest.warns(UserWarning, match=r"of 5,000 rounds were answered, on average: less than 10%"):
        lsdt.replay(log_of(), "ucb1", horizon=5000, splits=2)
    frame, _ = events(n_users=10)
    with pytest.warns(UserWarning, match=r"worth \d users, on average; at least 30 are needed"):
        lsdt.replay(read_events(frame), "ucb1", splits=2)
    short = lsdt.replay(log_of(), "always:mate", horizon=300, splits=2)
    assert any(
        "The log ended before 'always mate' had played 300 rounds in 2 of 2" in note for note in short.notes
    )
    assert short.enough("always mate")


def test_notes_say_what_an_answer_rests_on():
    frame, _ = events(chances=CONFOUNDED)
    assert "nothing to do with the rating" in lsdt.replay(log_of(), "ts", splits=2).notes[0]
    uniform = lsdt.replay(read_events(events()[0]), "ts", splits=2).notes
    assert "chosen at random, regardless" in uniform[0]
    assert len(uniform) == 1
    skewed = pd.concat([frame, frame[frame.item == 1]])
    assert "not shown equally often" in lsdt.replay(read_events(skewed), "ts", splits=2).notes[1]
    known = read_events(frame, propensity="p")
    exact = lsdt.replay(known, "ts", splits=2).notes
    assert len(exact) == 1
    assert "probabilities" in exact[0]
    clipped = lsdt.replay(known, "ts", splits=2, clip=0.2).notes[1]
    assert f"{(frame.p < 0.2).mean():.1%} of the events have a propensity below the clip 0.2" in clipped


def test_an_interrupted_replay_keeps_what_is_finished(tmp_path):
    made = []

    class Impatient:
        def __init__(self, situation, rng):
            made.append(self)
            if len(made) == 4:
                raise KeyboardInterrupt

        def select(self):
            return 0

        def update(self, arm, reward):
            pass

    whole = lsdt.replay(log_of(), "ucb1", horizon=50, splits=6)
    with pytest.warns(UserWarning, match="3 of 6 splits are finished"):
        part = lsdt.replay(log_of(), ["ucb1", Impatient], horizon=50, splits=6, n_jobs=1, side=None)
    assert part.partial
    assert "partial: 6 were requested" in repr(part)
    assert np.array_equal(part.reward("ucb1"), whole.reward("ucb1")[part.numbers])
    shares = []
    lsdt.replay(log_of(), "ucb1", horizon=50, splits=4, n_jobs=1, progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_side_information_of_ones_own_and_by_split():
    seen = []

    def watched(training):
        seen.append((training.n_users, training.item_ids, training.high))
        return from_means(training)

    lsdt.replay(log_of(), ["ts@paper"], horizon=50, splits=3, train=0.25, side=watched)
    assert seen == [(100, tuple(IDS), 5.0)] * 3
    lsdt.replay(log_of(), ["ts", "always:mate"], horizon=50, splits=2, side=watched)
    assert len(seen) == 3  # nobody looks at it
    some = lsdt.SideInformation(2, arm_ids=["sencha", "nettle"], epsilon=0.2)
    result = lsdt.replay(log_of(), "ucb1", horizon=50, splits=2, side=some)
    assert result.plays("ucb1")[:, [0, 2]].sum() == 0
    assert result.plays("ucb1").sum() == 100
    with pytest.raises(InvalidInput, match="arm 'cola' of the side information is not an item"):
        lsdt.replay(log_of(), "ts", side=lsdt.SideInformation(2, arm_ids=["sencha", "cola"]))
    with pytest.raises(InvalidInput, match="about 3 arms without ids, and the log has 4 items"):
        lsdt.replay(log_of(), "ts", side=lsdt.SideInformation(3))
    with pytest.raises(InvalidInput, match="side must return a SideInformation; got list"):
        lsdt.replay(log_of(), "ts@paper", side=lambda training: [])
    claw = lsdt.complete(4, [(0, 1), (0, 2), (0, 3)], arm_ids=IDS)
    with pytest.warns(UserWarning, match="the relations contradict one another in 20 of 20 splits"):
        result = lsdt.replay(log_of(), "ts@paper", side=claw, n_jobs=1)
    assert (result.answers.arms == 4).all()


def test_bad_input_is_named():
    log, (frame, _) = log_of(), events()
    for options, message in (
        (
            {"test": 0.95},
            "test must leave users to test on who are not trained on; got 0.95 of 400 users, of",
        ),
        ({"test": 0.0}, "test must leave users to test on"),
        ({"test": "half"}, "test must be a number from 0 to 1; got 'half'"),
        ({"horizon": 0}, "horizon must be a whole number from 1 to .*; got 0"),
        ({"train": 1.0}, "train must leave users to train on and users to test on; got 1.0 of 400 users"),
        ({"train": 2.0}, "train must lie between 0 and 1"),
        ({"train": 0.0, "prior_weight": 1.0}, "train must leave users to train on"),
        ({"splits": 0}, "splits must be a whole number of at least 1; got 0"),
        ({"clip": -1}, "clip must lie between 0 and 1"),
        ({"side": 3}, "side must be 'interval', 'paper', a SideInformation, a function"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lsdt.replay(log, ["ts"], **options)
    with pytest.raises(InvalidInput, match="there is no arm 'cola'"):
        lsdt.replay(log, "always:cola", n_jobs=1)
    with pytest.raises(InvalidInput, match="say after always: which arm"):
        lsdt.replay(log, "always:")
    with pytest.raises(InvalidInput, match="twice, in row 1 and in row 3; keep one"):
        lsdt.replay(pd.DataFrame({"user": [1, 2, 1], "item": [1, 1, 1], "rating": [1, 0, 0]}), "ts")
    with pytest.raises(Unsupported, match="lsdt_psi cannot start with known rewards: its epochs"):
        lsdt.replay(log, ["lsdt_psi"], prior_weight=0.5)
    with pytest.raises(Unsupported, match="estimates need the probabilities"):
        lsdt.replay(log, "ts", splits=2).estimates()
    with pytest.raises(Unsupported, match="best_training_mean needs training ratings"):
        lsdt.simulate(lsdt.problems.uniform(5), "best_training_mean", 10, 1, n_jobs=1)
    with pytest.raises(
        InvalidInput, match=r"no column 'user'.*options of lsdt\.ratings\.read_log; give what"
    ):
        lsdt.replay(frame.drop(columns="user"), "ts")


def test_methods_are_chosen_by_what_there_is(tmp_path):
    frame, _ = events()
    known = read_events(frame, propensity="p")
    assert lsdt.replay(known, "ts", splits=1).problem["method"] == "propensity"
    ratings = lsdt.ratings.read_log(frame, duplicates="mean")
    assert lsdt.replay(ratings, "ts", splits=1).problem["method"] == "matrix"
    read = read_events(frame.rename(columns={"user": "who"}), user="who")
    assert lsdt.replay(read, "ts", splits=1).problem["method"] == "uniform"
    frame.to_csv(tmp_path / "log.csv", index=False)
    by_path = lsdt.replay(read_events(tmp_path / "log.csv", propensity="p"), "ts", splits=2)
    assert np.array_equal(by_path.reward("ts"), lsdt.replay(known, "ts", splits=2).reward("ts"))
    everyone = lsdt.replay(read_events(frame, user=None), "ts", splits=2)
    assert everyone.problem["users"] == len(frame)
    # Where every user has one rating, ratings and events are the same thing.
    single = frame.assign(user=np.arange(len(frame)))
    assert lsdt.replay(single, "ucb1", splits=1).problem["users"] == len(frame)


def test_side_information_by_the_name_of_a_rule():
    """What `from_ratings` finds in the users trained on, by either rule, and no other."""
    means = np.linspace(0.1, 0.9, 4)
    log = log_of(n_users=1500, missing=0.2, means=means)
    by_threshold = {"rule": "interval", "relations": "threshold"}
    options = {"interval": by_threshold, "paper": {"rule": "paper", "search": "paper"}}
    how = {"horizon": 80, "train": 0.3, "splits": 2, "n_jobs": 1}
    for name, asked in options.items():
        for epsilon in ("auto", 0.3):
            result = lsdt.replay(log, "ts@paper", side=name, epsilon=epsilon, relations="threshold", **how)

            def found(training, asked=asked, epsilon=epsilon):
                return lsdt.from_ratings(training, epsilon=epsilon, **asked)

            by_hand = lsdt.replay(log, "ts@paper", side=found, **how)
            assert np.array_equal(*(r.reward("ts on paper") for r in (result, by_hand)))
            assert result.problem["side"] == f"{name} rule, epsilon {epsilon}"
    with pytest.raises(InvalidInput, match=r"side must be .* \(did you mean 'interval'\?\)"):
        lsdt.replay(log, "ts", side="intervals")
    with pytest.raises(InvalidInput, match="epsilon is for side='interval' and side='paper'; got 0.3"):
        lsdt.replay(log, "ts", side=None, epsilon=0.3)
    with pytest.raises(
        InvalidInput, match="no side information from the 8 users trained on in split 0: none"
    ):
        lsdt.replay(log_of(n_users=80), "ts@paper", side=_refuse, n_jobs=1)


def _refuse(training):
    raise InvalidInput("none")


def test_side_information_of_ranges():
    log = log_of(n_users=3000, missing=0.2, means=np.linspace(0.1, 0.9, 4))
    how = {"horizon": 80, "train": 0.3, "splits": 2, "n_jobs": 1}
    result = lsdt.replay(log, ["ts@order", "ts@propagation"], **how)
    by_hand = lsdt.replay(
        log, ["ts@order"], side=lambda training: lsdt.from_ratings(training, relations="ranges"), **how
    )
    assert np.array_equal(*(each.reward("ts on order") for each in (result, by_hand)))
    assert np.array_equal(*(result.reward(f"ts on {method}") for method in ("order", "propagation")))
    assert (result.answers.arms < 4).all()
    assert (result.answers.relations == 6).all()  # every pair has a range
    assert result.problem["side"] == "interval rule, ranges"
    told = "'ts on paper' played on all 4 items: 'paper' uses ranges only as near or far pairs"
    known = lsdt.SideInformation(4, ranges=[(1, 0, 0.1, 0.5), (3, 2, 0.1, 0.5)])  # no triangle of pairs
    unread = lsdt.replay(log, ["ts@paper"], side=known, **how)
    assert any(note.startswith(told) for note in unread.notes)
    assert not any("near or far" in note for note in result.notes)
    primed = lsdt.replay(log, ["ts@order:prior_weight=1", "ts:prior_weight=1", "ts@order"], **how)
    told = "'ts on order (prior_weight=1)' learned the ratings from which the relations were found"
    assert any(note.startswith(told) for note in primed.notes)
    assert not any("learned the ratings" in note for note in result.notes)
    partly = lsdt.replay(log, ["ts@order"], side=partial(lsdt.from_ratings, confidence=0.9), **how)
    assert partly.problem["side"] == "interval rule, ranges"
    partly = lsdt.replay(log, ["ts@order"], side=partial(lsdt.from_ratings, epsilon=0.3), **how)
    assert partly.problem["side"] == "interval rule, epsilon 0.3"
    for options, told in (
        ({"side": "paper"}, "rule='paper' has none"),
        ({"side": None}, "relations is for side='interval'; got 'ranges' with another side"),
        ({"epsilon": 0.1}, "relations='ranges' needs no epsilon; got 0.1"),
    ):
        with pytest.raises(InvalidInput, match=told):
            lsdt.replay(log, "ts@order", relations="ranges", **options)
    with pytest.raises(InvalidInput, match="relations must be one of 'ranges', 'threshold'"):
        lsdt.replay(log, "ts@order", relations="range")


@pytest.mark.filterwarnings("ignore:the answer for")
def test_ranges_that_order_no_pair_are_no_relations():
    """Items of one quality: every range holds 0, so that equal means satisfy all, and nobody is excluded."""
    log = log_of(n_users=400, missing=0.2, means=np.full(4, 0.5))
    with pytest.warns(UserWarning, match=r"decide no relation .* in 2 of 2 splits"):
        result = lsdt.replay(log, ["ts@order"], relations="ranges", train=0.5, splits=2, n_jobs=1)
    assert (result.answers.relations == 0).all()
    assert (result.answers.arms == 4).all()


@pytest.mark.filterwarnings("ignore:the answer for")
def test_a_split_without_relations_is_played_on_all_items():
    log = log_of(n_users=80)
    with pytest.warns(UserWarning, match=r"the 8 users trained on decide no relation .* in 3 of 3 splits"):
        result = lsdt.replay(log, ["ts@paper", "ts", "lsdt_psi", "lsdt_closure"], splits=3, n_jobs=1)
    assert np.array_equal(result.reward("ts on paper"), result.reward("ts"), equal_nan=True)
    assert (result.answers.arms == log.n_items).all()
    assert (result.answers.relations == 0).all()

    def sometimes(training):
        if training.ratings[0] > np.median(log.ratings):
            raise NoRelations("none")
        return lsdt.SideInformation(log.n_items, dissimilar=[(0, 1)], arm_ids=log.item_ids, epsilon=0.1)

    result = lsdt.replay(log, ["ts@paper", "ts"], splits=8, side=sometimes, n_jobs=1)
    without = int((result.answers.relations[:, 0] == 0).sum())
    assert 0 < without < 8
    assert any(
        f"decide no relation between any two items in {without} of 8 splits" in note for note in result.notes
    )


def test_candidates_that_are_all_items_are_noted():
    log = log_of(n_users=600, missing=0.2)
    side = lsdt.SideInformation(log.n_items, dissimilar=[(0, 1)], arm_ids=log.item_ids, epsilon=0.1)
    how = {"horizon": 60, "splits": 2, "n_jobs": 1}
    told = [lsdt.replay(log, ["ts@paper", "ts"], side=each, **how).notes for each in (side, lambda log: side)]
    start = (
        f"All {log.n_items} items are candidates in every split, and 'ts on paper' played on all of them: "
    )
    assert any(note.startswith(f"{start}the relations exclude none. Train on more") for note in told[0])
    pairs = log.n_items * (log.n_items - 1) // 2
    decided = f"on average 1 of {pairs} pairs of items are decided, and the relations"
    assert any(note.startswith(f"{start}{decided}") for note in told[1])
    assert not any(note.startswith("All ") for note in lsdt.replay(log, ["ts"], side=side, **how).notes)


@pytest.mark.filterwarnings("ignore:the answer for")
def test_fewer_rounds_than_items_are_noted_if_nobody_asked_for_them():
    log = log_of(n_users=20, missing=0.8)
    result = lsdt.replay(log, ["ts"], splits=2, n_jobs=1)
    assert result.horizon < log.n_items
    said = f"By default {result.horizon} rounds? are played, .* there are {log.n_items} items"
    assert any(re.match(said, note) for note in result.notes)
    asked = lsdt.replay(log, ["ts"], horizon=result.horizon, splits=2, n_jobs=1)
    assert not any("By default" in note for note in asked.notes)


def test_half_of_the_answers_of_an_item_are_asked_for_by_default():
    log = log_of()
    assert lsdt.replay(log, "ts", splits=1, train=0.25).horizon == int(0.75 * log.n_ratings / 8)
    frame, _ = events(chances=CONFOUNDED)
    taken = sum(0.1 / p if item != 1 else 1.0 for item, p in zip(frame.item, frame.p, strict=True))
    assert lsdt.replay(read_events(frame, propensity="p"), "ts", splits=1).horizon == int(0.9 * taken / 6)


def test_processes_give_the_same():
    log = log_of()
    here = lsdt.replay(log, ["ts", "best_training_mean"], splits=2, n_jobs=1)
    with joblib.parallel_config("loky"):
        there = lsdt.replay(log, ["ts", "best_training_mean"], splits=2, n_jobs=2)
    for label in here.policies:
        assert np.array_equal(here.reward(label), there.reward(label))


@pytest.fixture
def recommended():
    with pytest.raises(Unsupported, match="needs training ratings") as refused:
        lsdt.simulate(lsdt.problems.given([0.2, 0.5]), "best_training_mean", horizon=5, replications=1)
    return re.search(r"lsdt\.[\w.]+\(", str(refused.value))[0] + "1).label"


def test_what_an_error_recommends_exists(recommended):
    assert eval(recommended, {"lsdt": lsdt}) == "always 1"


@pytest.mark.long
def test_what_an_error_recommends_exists_on_a_fresh_import(recommended):
    asked = f"import lsdt; print({recommended})"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout == "always 1\n"
