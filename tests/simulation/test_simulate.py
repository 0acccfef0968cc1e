from __future__ import annotations

import math
import os
import subprocess
import sys
import time
import warnings

import joblib
import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, TooLarge, Unsupported

PROBLEM = lsdt.problems.uniform(n_arms=30, low=0.1, high=0.9, epsilon=0.15)
POLICIES = ["lsdt_csi", "ucb1", "ts"]


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first.arrays[:3], second.arrays[:3], strict=True))


class PlainUcb1:
    """A user's policy: UCB1, written without any thought of speed."""

    def __init__(self, situation, rng):
        self.counts, self.sums = [0] * situation.n_arms, [0.0] * situation.n_arms

    def select(self):
        if 0 in self.counts:
            return self.counts.index(0)
        x = math.sqrt(2.0 * math.log(sum(self.counts)))
        indices = [s / n + x * (1.0 / math.sqrt(n)) for s, n in zip(self.sums, self.counts, strict=True)]
        return indices.index(max(indices))

    def update(self, arm, reward):
        self.counts[arm] += 1
        self.sums[arm] += reward


def test_results_do_not_depend_on_workers_or_on_backends():
    alone = lsdt.simulate(PROBLEM, POLICIES, 200, 10, n_jobs=1)
    assert same(alone, lsdt.simulate(PROBLEM, POLICIES, 200, 10, n_jobs=2))
    with joblib.parallel_config("loky"):
        assert same(alone, lsdt.simulate(PROBLEM, POLICIES, 200, 10, n_jobs=2))


def test_results_do_not_depend_on_company_or_order():
    together = lsdt.simulate(PROBLEM, POLICIES, 200, 5)
    for label in POLICIES:
        assert np.array_equal(lsdt.simulate(PROBLEM, label, 200, 5).regret(label), together.regret(label))


def test_another_seed_is_another_study_and_more_replications_extend_it():
    short = lsdt.simulate(PROBLEM, "ucb1", 100, 4, seed=1).regret("ucb1")
    longer = lsdt.simulate(PROBLEM, "ucb1", 100, 8, seed=1).regret("ucb1")
    other = lsdt.simulate(PROBLEM, "ucb1", 100, 4, seed=2).regret("ucb1")
    assert np.array_equal(longer[:4], short)
    assert not np.array_equal(other, short)


def test_regret_is_the_gaps_of_the_plays():
    result = lsdt.simulate(PROBLEM, POLICIES, 150, 3, seed=7)
    for label in POLICIES:
        for replication in range(3):
            means = PROBLEM.draw(7, replication).means
            plays = result.plays(label)[replication]
            assert plays.sum() == 150
            assert result.regret(label)[replication, -1] == pytest.approx(plays @ (means.max() - means))


def test_reward_and_regret_add_up_to_the_best_mean():
    """Reward plus regret is T times the best mean plus noise of standard deviation sqrt(T)."""
    result = lsdt.simulate(PROBLEM, "ucb1", 400, 50)
    best = [PROBLEM.draw(0, replication).means.max() for replication in range(50)]
    noise = result.reward("ucb1")[:, -1] + result.regret("ucb1")[:, -1] - 400 * np.array(best)
    assert abs(noise.mean()) < 5 * 20 / math.sqrt(50)
    assert 0.6 < noise.std() / 20 < 1.4


def test_a_policy_in_plain_python_runs_beside_the_compiled_ones():
    result = lsdt.simulate(PROBLEM, ["ucb1", PlainUcb1], 120, 4)
    assert result.policies == ["ucb1", "PlainUcb1"]
    assert np.array_equal(result.plays("ucb1"), result.plays("PlainUcb1"))
    assert np.allclose(result.regret("ucb1"), result.regret("PlainUcb1"))
    assert np.allclose(result.reward("ucb1"), result.reward("PlainUcb1"))


def test_an_object_is_copied_for_every_replication():
    class Counter:
        label = "always one"

        def __init__(self):
            self.seen = []

        def select(self):
            return 1

        def update(self, arm, reward):
            assert len(self.seen) < 10
            self.seen.append(reward)

    counter = Counter()
    result = lsdt.simulate(PROBLEM, [counter], 10, 3)
    assert counter.seen == []
    assert result.policies == ["always one"]
    assert (result.plays("always one")[:, 1] == 10).all()


def test_mistakes_in_a_users_policy_are_named():
    class Wrong:
        def __init__(self, situation, rng):
            pass

        def select(self):
            return 99

        def update(self, arm, reward):
            pass

    with pytest.raises(InvalidInput, match="'Wrong' selected 99; arms are 0 to 29"):
        lsdt.simulate(PROBLEM, [Wrong], 10, 1)
    with pytest.raises(InvalidInput, match="has no select"):
        lsdt.simulate(PROBLEM, [lambda situation, rng: object()], 10, 1)
    with pytest.raises(InvalidInput, match="a policy is a name"):
        lsdt.simulate(PROBLEM, [3], 10, 1)

    class Plain:
        def __init__(self):
            """Take nothing."""

    with pytest.raises(InvalidInput, match=r"two arguments, \(situation, rng\); or give an object of it"):
        lsdt.simulate(PROBLEM, [Plain], 10, 1)


def test_rewards_from_a_function():
    means = [1 / 3, 1 / 2, 3 / 5]
    law = lsdt.rewards.callable(lambda arm, rng: rng.beta(1 + arm, [2, 2, 2][arm]))
    problem = lsdt.problems.given(means, rewards=law)
    results = [lsdt.simulate(problem, ["ucb1", "kl_ucb", PlainUcb1], 100, 3, n_jobs=n) for n in (1, 2)]
    assert same(*results)
    assert np.array_equal(results[0].plays("ucb1"), results[0].plays("PlainUcb1"))
    broken = lsdt.rewards.callable(lambda arm, rng: math.nan)
    with pytest.raises(InvalidInput, match="returned nan for arm 0"):
        lsdt.simulate(lsdt.problems.given(means, rewards=broken), "ucb1", 10, 1)


def test_horizons_run_dependent_policies_once_each():
    problem = lsdt.problems.uniform(30, 0.1, 0.9, 0.15, "bernoulli", 0.5, 0.5)
    horizons = [50, 200, 400]
    result = lsdt.simulate(problem, ["lsdt_psi", "moss", "ucb1"], horizons=horizons, replications=4)
    for at, horizon in enumerate(horizons):
        single = lsdt.simulate(problem, ["lsdt_psi", "moss"], horizon, 4)
        for label in ("lsdt_psi", "moss"):
            assert np.array_equal(result.regret(label)[:, at], single.regret(label)[:, -1])
    once = lsdt.simulate(problem, "ucb1", 400, 4, checkpoints=horizons)
    assert np.array_equal(result.regret("ucb1"), once.regret("ucb1"))
    assert (result.plays("lsdt_psi").sum(axis=1) == 400).all()


@pytest.mark.parametrize(
    ("asked", "rounds"),
    [(None, [1, 2, 3]), (2, [2, 3]), ([1], [1, 3]), ([3, 1, 1], [1, 3])],
)
def test_checkpoints(asked, rounds):
    result = lsdt.simulate(PROBLEM, "ucb1", 3, 1, checkpoints=asked)
    assert result.checkpoints.tolist() == rounds


def test_long_runs_are_played_in_chunks_and_need_no_more_memory(monkeypatch):
    from lsdt.simulation import study

    whole = lsdt.simulate(PROBLEM, ["ts", "ckl_ucb"], 5_000, 2)
    monkeypatch.setattr(study, "_FIRST_STEPS", 7 * 30)
    monkeypatch.setattr(study, "_CHUNK_SECONDS", 1e-9)
    assert same(whole, lsdt.simulate(PROBLEM, ["ts", "ckl_ucb"], 5_000, 2))
    assert whole.checkpoints.size == 100


def test_an_interrupted_study_keeps_what_is_finished(tmp_path):
    """With threads: see the test of Ctrl-C on the command line."""
    made = []

    class Impatient(PlainUcb1):
        def __init__(self, situation, rng):
            super().__init__(situation, rng)
            made.append(self)
            if len(made) == 8:
                raise KeyboardInterrupt

    full = lsdt.simulate(PROBLEM, ["ucb1"], 20, 12)
    with pytest.warns(UserWarning, match="of 12 replications are finished"):
        part = lsdt.simulate(PROBLEM, ["ucb1", Impatient], 20, 12, n_jobs=1)
    assert part.partial
    assert 1 <= part.replications < 12
    assert "partial: 12 were requested" in repr(part)
    assert np.array_equal(part.regret("ucb1"), full.regret("ucb1")[part.numbers])
    part.save(tmp_path)
    again = lsdt.SimulationResult.load(tmp_path)
    assert again.partial
    assert again.requested == 12
    assert same(part, again)


def test_interrupted_before_anything_is_finished_is_an_interrupt():
    def at_once(situation, rng):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lsdt.simulate(PROBLEM, [at_once], 20, 3)


def test_an_error_in_a_worker_reaches_the_user_as_it_is():
    sparse = lsdt.problems.uniform(n_arms=10, epsilon=0.001)
    with pytest.raises(Unsupported, match=r"osub needs a connected similarity graph.*\(in replication \d+\)"):
        lsdt.simulate(sparse, "osub", 10, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"horizon": 10**20}, "horizon must be a whole number from 1 to 1,000,000,000,000,000; got"),
        ({"horizons": [5, None]}, "horizons must be a list"),
        ({"horizon": 10, "horizons": [5]}, "not both"),
        ({}, "give a horizon"),
        ({"horizons": []}, "horizons must be a list"),
        ({"horizons": [5, -1]}, "horizons must be a list"),
        ({"horizons": [5], "checkpoints": 3}, "leave checkpoints out"),
        ({"horizon": 10, "checkpoints": 0}, "checkpoints must be"),
        ({"horizon": 10, "checkpoints": [11]}, "after the horizon 10"),
        ({"horizon": 10, "replications": 0}, "replications must be"),
        ({"horizon": 10, "seed": -1}, "seed must be"),
        ({"horizon": 10, "n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.simulate(PROBLEM, "ucb1", **arguments)


def test_bad_policies():
    with pytest.raises(InvalidInput, match="unknown policy 'usb1'.*did you mean 'ucb1'"):
        lsdt.simulate(PROBLEM, "usb1", 10)
    with pytest.raises(InvalidInput, match="two policies are called 'ucb1'"):
        lsdt.simulate(PROBLEM, ["ucb1", lsdt.Policy("ucb1")], 10)
    with pytest.raises(InvalidInput, match="at least one policy"):
        lsdt.simulate(PROBLEM, [], 10)
    with pytest.raises(
        InvalidInput, match="a problem is one of lsdt.problems, or an object with n_arms, .* has no n_arms"
    ):
        lsdt.simulate(3, "ucb1", 10)


def test_results_that_would_not_fit_are_refused_before_the_work():
    large = lsdt.problems.uniform(n_arms=1_000_000, epsilon=0.1)
    with pytest.raises(TooLarge, match="plays=False"):
        lsdt.simulate(large, "ucb1", 10, 10_000_000)


def test_a_progress_bar_on_request_only(capfd):
    lsdt.simulate(PROBLEM, "ucb1", 10, 3)
    assert capfd.readouterr().err == ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lsdt.simulate(PROBLEM, "ucb1", 10, 3, progress=True)
    assert "replications" in capfd.readouterr().err
    shares = []
    lsdt.simulate(PROBLEM, "ucb1", 10, 3, n_jobs=1, progress=shares.append)
    assert capfd.readouterr().err == ""
    assert shares == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_a_policy_in_plain_python_on_the_candidates():
    class OnCandidates(PlainUcb1):
        on = "paper"

    result = lsdt.simulate(PROBLEM, [lsdt.Policy("ucb1", on="paper"), OnCandidates], 60, 3)
    assert np.array_equal(result.plays("OnCandidates"), result.plays("ucb1 on paper"))


def test_threads_end_with_their_study():
    """After an error no policy is asked any more, and nothing is left behind."""
    from lsdt.simulation import workers

    calls = []

    class Slow(PlainUcb1):
        def select(self):
            calls.append(1)
            time.sleep(0.002)
            if len(calls) == 20:
                raise RuntimeError("enough")
            return super().select()

    with pytest.raises(RuntimeError, match="enough"):
        lsdt.simulate(PROBLEM, [Slow], 2_000, 8, n_jobs=2)
    assert workers._STOPS == {}
    seen = -1
    while len(calls) > seen:  # a round that was under way may end
        seen = len(calls)
        time.sleep(0.3)
    assert seen < 2_000


class OwnProblem:
    """What a user writes first: a word for the rewards, and nothing to describe it."""

    n_arms, rewards = 2, "gaussian"

    def draw(self, seed, replication):
        means = np.random.default_rng([seed, replication]).uniform(size=2)
        return lsdt.problems.Instance(means, lsdt.SideInformation(2, epsilon=0.1), self.rewards)


class Inherited(OwnProblem, lsdt.problems.Problem):
    """The same from the interface, whose describe() says nothing."""

    def describe(self):
        return super(OwnProblem, self).describe()


def test_a_problem_of_ones_own_may_name_its_rewards_and_need_not_describe_itself(tmp_path):
    results = [
        lsdt.simulate(problem, ["ucb1"], horizon=20, replications=3)
        for problem in (OwnProblem(), Inherited())
    ]
    assert [each.problem["kind"] for each in results] == ["OwnProblem", "Inherited"]
    assert results[0].problem["rewards"] == lsdt.rewards.gaussian().describe()
    assert (results[0].regret("ucb1") == results[1].regret("ucb1")).all()
    results[0].save(tmp_path / "own")
    assert lsdt.identify(OwnProblem(), seed=1, budget=5).tries == 5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rewards": "gausian"}, "rewards must be 'gaussian' or 'bernoulli'.*did you mean 'gaussian'"),
        ({"n_arms": 2.5}, "n_arms of the problem must be"),
        ({"draw": lambda *_: None}, r"draw\(seed, replication\) of a problem returns .*; got None"),
        ({"draw": lambda *_: ([1, 2], lsdt.SideInformation(2), None)}, "rewards must be 'gaussian'"),
        ({"describe": lambda: 3}, r"describe\(\) of a problem returns a dict of plain data; got 3"),
    ],
)
def test_what_a_problem_of_ones_own_lacks_is_said(changed, message):
    problem = OwnProblem()
    for name, value in changed.items():
        setattr(problem, name, value)
    with pytest.raises(InvalidInput, match=message):
        lsdt.simulate(problem, ["ucb1"], horizon=20, replications=3)


def test_a_problem_of_ones_own_is_checked():
    class Odd:
        n_arms = 3
        rewards = lsdt.rewards.gaussian()

        def __init__(self, means):
            self.means = means

        def draw(self, seed, replication):
            side = lsdt.SideInformation(len(self.means))
            return lsdt.problems.Instance(self.means, side, self.rewards)

        def describe(self):
            return {"kind": "odd", "size": np.int64(3)}

    with pytest.raises(InvalidInput, match=r"has 3 arms and drew means of shape \(5,\)"):
        lsdt.simulate(Odd([0.1] * 5), "ucb1", 10, 1)
    assert lsdt.simulate(Odd([0.1, 0.2, 0.3]), "ucb1", 10, 1).plays("ucb1").sum() == 10


def test_numbers_of_numpy_in_a_description_can_be_saved(tmp_path):
    result = lsdt.simulate(PROBLEM, "ucb1", 10, 1)
    result.problem["size"] = np.int64(7)
    result.save(tmp_path)
    assert lsdt.SimulationResult.load(tmp_path).problem["size"] == 7


def test_compilation_is_not_counted_as_playing(tmp_path):
    """A given problem, and a policy on candidates: no second signature is compiled."""
    script = """
import lsdt
problem = lsdt.problems.given([.1, .5, .9], lsdt.from_means([.1, .5, .9], .5))
result = lsdt.simulate(problem, ["moss", lsdt.Policy("moss", on="paper")], 20, 3, n_jobs=1)
entry = lsdt.policies.registry.specification_of("moss").entries().play
print(len(entry.dispatcher.signatures))
"""
    environment = {**os.environ, "LSDT_JIT": "always"}
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert answer.stdout.split() == ["1"]


def test_large_seeds_are_different_seeds():
    from lsdt.kernel.random import new_stream

    keys = [(1 + 5 * 2**32, 0, 0), (1, 5, 0), (1, 5, 0, 0), (1, 0, 0), (2**64, 0, 0), (0, 0, 0)]
    assert (
        len({tuple(new_stream(*key).tolist()) for key in keys}) == len(keys) - 1
    )  # trailing zeros say nothing
    assert lsdt.simulate(PROBLEM, "ts", 10, 1, seed=2**70).replications == 1


class Cycle:
    """Play the arms in turn."""

    def __init__(self, situation, rng):
        self.n_arms, self.rounds = situation.n_arms, 0

    def select(self):
        """Return the next arm."""
        return self.rounds % self.n_arms

    def update(self, arm, reward):
        """Count the round."""
        self.rounds += 1


@pytest.mark.parametrize("policy", ["ts", "ucb1", Cycle])
@pytest.mark.parametrize("after", [1, 37, 100])
def test_plays_are_counted_after_a_round(policy, after):
    problem = lsdt.problems.uniform(n_arms=6, epsilon=0.2)
    first, whole = (lsdt.simulate(problem, [policy], rounds, 3, seed=2) for rounds in (after, 100))
    late = lsdt.simulate(problem, [policy], 100, 3, seed=2, plays_after=after)
    assert np.array_equal(late.plays(policy), whole.plays(policy) - first.plays(policy))
    assert np.array_equal(late.regret(policy), whole.regret(policy))
    assert late.plays(policy).sum() == 3 * (100 - after)


@pytest.mark.parametrize("after", [-1, 2.5, True])
def test_a_bad_round_to_count_from_is_named(after):
    with pytest.raises(InvalidInput, match="plays_after must be a whole number from 0 to"):
        lsdt.simulate(lsdt.problems.uniform(n_arms=3, epsilon=0.5), "ucb1", 5, 1, plays_after=after)


@pytest.mark.parametrize("seed", [3, 2**32 + 1])
def test_a_policy_plays_the_same_alone_and_beside_one_with_side_information(seed):
    """Alone it gets means without side information, and begins once for many replications."""
    beside = lsdt.simulate(PROBLEM, POLICIES, 60, 7, seed=seed)
    for name in ("ucb1", "ts"):
        alone = lsdt.simulate(PROBLEM, name, 60, 7, seed=seed, n_jobs=1)
        assert np.array_equal(alone.regret(name), beside.regret(name))
        assert np.array_equal(alone.plays(name), beside.plays(name))
    assert not np.array_equal(alone.regret("ts")[0], alone.regret("ts")[1])


def test_streams_do_not_depend_on_the_blocks_of_replications():
    """Beyond 256 replications, where streams come from the next chunk."""
    whole = lsdt.simulate(PROBLEM, "ts", 5, 260, seed=1).regret("ts")
    few = lsdt.simulate(PROBLEM, "ts", 5, 259, seed=1, n_jobs=1).regret("ts")
    assert np.array_equal(whole[:259], few)
