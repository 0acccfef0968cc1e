from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lsdt
from lsdt.errors import InvalidFile, InvalidInput


@pytest.fixture(scope="module")
def result():
    problem = lsdt.problems.uniform(n_arms=20, low=0.1, high=0.9, epsilon=0.2, rewards="bernoulli")
    policies = ["lsdt_csi", "ucb1", lsdt.Policy("ucb1", on="paper", alpha=0.5)]
    return lsdt.simulate(problem, policies, 100, 15, seed=3, checkpoints=5)


def test_the_frame_is_tidy(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["policy", "replication", "t", "regret", "reward"]
    assert len(frame) == 3 * 15 * 5
    row = frame[(frame.policy == "ucb1") & (frame.replication == 4) & (frame.t == 60)]
    assert row.regret.item() == result.regret("ucb1")[4, 2]
    assert row.reward.item() == result.reward("ucb1")[4, 2]


def test_summary_has_students_intervals(result):
    row = result.summary().loc["ucb1"]
    values = result.regret("ucb1")[:, -1]
    low, high = stats.t.interval(0.95, 14, values.mean(), stats.sem(values))
    assert (row.regret, row.low, row.high) == pytest.approx((values.mean(), low, high))
    assert result.summary(t=20).regret["ucb1"] == pytest.approx(result.regret("ucb1")[:, 0].mean())
    with pytest.raises(InvalidInput, match="round 7 was not recorded"):
        result.summary(t=7)


def test_differences_are_paired(result):
    frame = result.difference("ucb1", "lsdt_csi")
    expected = stats.ttest_rel(result.regret("ucb1")[:, -1], result.regret("lsdt_csi")[:, -1])
    interval = expected.confidence_interval(0.95)
    assert frame.iloc[-1][["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert (result.difference("ucb1", "ucb1")[["difference", "low", "high"]] == 0).all(axis=None)


def test_summary_has_the_worst_runs(result):
    row, values = result.summary().loc["ucb1"], result.regret("ucb1")[:, -1]
    assert (row.q95, row.q99) == pytest.approx((np.quantile(values, 0.95), np.quantile(values, 0.99)))
    assert row.worst == values.max()


def test_the_arms_of_every_round_can_be_kept(tmp_path):
    """The same rounds as without, for compiled policies and rewards and for those of a user's own."""

    class InTurn:
        def __init__(self, situation, rng):
            self.n_arms, self.rounds = situation.n_arms, 0

        def select(self):
            return self.rounds % self.n_arms

        def update(self, arm, reward):
            self.rounds += 1

    problem = lsdt.problems.uniform(n_arms=6, epsilon=0.2)
    study = {"horizon": 30, "replications": 3, "seed": 2}
    usual = lsdt.simulate(problem, ["ts", "lsdt_csi", InTurn], **study)
    kept = lsdt.simulate(problem, ["ts", "lsdt_csi", InTurn], **study, keep_arms=True)
    for label in usual.policies:
        assert np.array_equal(usual.regret(label), kept.regret(label))
        counts = [np.bincount(row, minlength=6).tolist() for row in kept.arms(label)]
        assert counts == usual.plays(label).tolist()
    assert kept.arms("InTurn")[0].tolist() == [t % 6 for t in range(30)]
    kept.save(tmp_path)
    again = lsdt.SimulationResult.load(tmp_path)
    assert np.array_equal(again.arms("ts"), kept.arms("ts"))
    with pytest.raises(InvalidInput, match="not kept in this study; run it with keep_arms=True"):
        usual.arms("ts")


def test_replications_are_added(tmp_path):
    problem = lsdt.problems.uniform(n_arms=6, epsilon=0.2)
    study = {"problem": problem, "policies": ["ts", "ucb1"], "horizon": 30, "seed": 2}
    whole = lsdt.simulate(**study, replications=9)
    few = lsdt.simulate(**study, replications=4)
    few.save(tmp_path)
    for first in (few, lsdt.SimulationResult.load(tmp_path)):
        more = lsdt.simulate(**study, replications=9, add_to=first)
        assert (more.replications, more.partial) == (9, False)
        for name in ("regret", "reward", "plays"):
            assert np.array_equal(getattr(more.arrays, name), getattr(whole.arrays, name)), name
        assert np.array_equal(more.arrays.online_seconds[:4], first.arrays.online_seconds)


def test_only_the_same_study_can_be_added_to():
    problem = lsdt.problems.uniform(n_arms=6, epsilon=0.2)
    study = {"problem": problem, "policies": ["ts"], "horizon": 30, "replications": 3}
    few = lsdt.simulate(**study)
    for changed, message in (
        ({"seed": 1}, r"another study\. Its seed: 0\. Here: 1\."),
        ({"policies": ["ucb1"]}, r"another study\. Its policies"),
        ({"problem": lsdt.problems.uniform(n_arms=6, epsilon=0.3)}, r"another study\. Its problem"),
        ({"horizon": 40}, r"another study\. Its checkpoints: 30 from 1 to 30\. Here: 40 from 1 to 40\."),
        ({"plays": False}, "made with plays=True"),
        ({"keep_arms": True}, "made with keep_arms=False"),
        ({"replications": 2}, "the number in all, .* goes up to 3; got 2"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lsdt.simulate(**study | changed, add_to=few)
    with pytest.raises(InvalidInput, match="add_to must be a SimulationResult; got int"):
        lsdt.simulate(**study, add_to=1)


def test_one_replication_has_no_interval():
    single = lsdt.simulate(lsdt.problems.uniform(n_arms=5, epsilon=0.2), "ucb1", 10, 1)
    assert single.summary()[["low", "high", "std"]].isna().all(axis=None)


def test_policies_are_found_by_label_or_value(result):
    policy = lsdt.Policy("ucb1", on="paper", alpha=0.5)
    assert np.array_equal(result.regret(policy), result.regret("ucb1 on paper (alpha=0.5)"))
    with pytest.raises(InvalidInput, match="no policy 'ucb' in this study.*did you mean 'ucb1'"):
        result.regret("ucb")


def test_seconds_and_parameters_are_kept(result):
    offline, online = result.seconds("lsdt_csi")
    assert (offline > 0).all()
    assert (online > 0).all()
    assert result.described[0]["parameters"]["alpha"] == 2.0  # 8 sigma^2 with sigma = 1/2
    assert result.described[2]["on"] == "paper"


def test_save_and_load(result, tmp_path):
    result.save(tmp_path / "study")
    again = lsdt.SimulationResult.load(tmp_path / "study")
    assert repr(again) == repr(result)
    for first, second in zip(again.arrays, result.arrays, strict=True):
        assert np.array_equal(first, second)
    for name in ("policies", "seed", "problem", "described", "partial", "requested", "per_horizon"):
        assert getattr(again, name) == getattr(result, name), name
    assert again.to_frame().equals(result.to_frame())
    assert (
        pd.read_parquet(tmp_path / "study/rounds.parquet").regret.tolist()
        == result.to_frame().regret.tolist()
    )
    result.save(tmp_path / "study")  # a second time takes the place of the first


def test_without_plays(tmp_path):
    lean = lsdt.simulate(lsdt.problems.uniform(n_arms=5, epsilon=0.2), "ucb1", 10, 2, plays=False)
    lean.save(tmp_path)
    for result in (lean, lsdt.SimulationResult.load(tmp_path)):
        with pytest.raises(InvalidInput, match="plays were not counted"):
            result.plays("ucb1")


def test_one_flipped_bit_is_refused_or_harmless(result, tmp_path):
    result.save(tmp_path)
    rng = np.random.default_rng(0)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        for bit in rng.choice(8 * len(whole), 150, replace=False).tolist():
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            try:
                again = lsdt.SimulationResult.load(tmp_path)
            except InvalidFile as error:
                assert str(tmp_path) in str(error)
            else:  # a blank of study.json
                assert path.name == "study.json", bit
                assert (again.described, again.problem) == (result.described, result.problem), bit
        path.write_bytes(whole)
    assert repr(lsdt.SimulationResult.load(tmp_path)) == repr(result)


def test_what_cannot_be_read_is_refused(result, tmp_path):
    with pytest.raises(InvalidFile, match=r"there is no .*study\.json"):
        lsdt.SimulationResult.load(tmp_path / "nowhere")
    result.save(tmp_path)
    about = json.loads((tmp_path / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(InvalidFile, match="format 99; this version reads 3"):
        lsdt.SimulationResult.load(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(InvalidFile, match="cannot read results"):
        lsdt.SimulationResult.load(tmp_path)
    result.save(tmp_path)
    pd.read_parquet(tmp_path / "rounds.parquet").head(3).to_parquet(tmp_path / "rounds.parquet")
    with pytest.raises(InvalidFile, match=r"rounds\.parquet in .* is not what was saved"):
        lsdt.SimulationResult.load(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFile, match="it is a file"):
        result.save(tmp_path / "file")


def test_an_earlier_study_stays_when_the_disk_is_full(result, tmp_path, monkeypatch):
    result.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = lsdt.simulate(lsdt.problems.uniform(n_arms=5, epsilon=0.2), "ucb1", 10, 2)
    calls, write = [], pd.DataFrame.to_parquet

    def full(frame, path, **options):
        calls.append(path)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        write(frame, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with pytest.raises(InvalidFile, match="plays.parquet.*No space left on device"):
        other.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
