"""Priors of every policy in the registry: learned one by one, the same everywhere, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

import lsdt
from contract.test_asks import fields
from contract.test_policies import GAUSSIAN, HORIZON, MEANS, MODELS, SIDE, VARIANTS, policy, ready
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.random import Purpose, new_stream
from lsdt.policies.prior import learn_rewards
from lsdt.policies.registry import BUILT_IN, specification_of
from lsdt.storage import open_store
from side_by_side import learn_one_by_one

WITHOUT_PRIOR = {"lsdt_psi", "lsdt_ts_psi", "osub", "moss"}
WITH_PRIOR = [variant for variant in VARIANTS if variant.partition(":")[0] not in WITHOUT_PRIOR]

rng = np.random.default_rng(8)
ARMS = rng.integers(0, 25, 300)
REWARDS = (rng.random(300) < MEANS[ARMS]).astype(float)


def learned_plainly(start, arms, rewards):
    """What learning a prior is: the rewards of the arms in play, one update after the other."""
    place = {int(arm): at for at, arm in enumerate(start.arms)}
    known = zip(arms.tolist(), rewards.tolist(), strict=True)
    learn_one_by_one(start.player, [(place[arm], reward) for arm, reward in known if arm in place])


def test_which_policies_cannot_take_a_prior():
    """By hand: those that count rounds of their own, or drop arms for good."""
    assert {name for name in BUILT_IN if specification_of(name).why_no_prior} == WITHOUT_PRIOR


@pytest.mark.parametrize("variant", WITH_PRIOR)
def test_teaching_is_one_update_after_the_other(variant):
    for law, model in MODELS.items():
        taught, plain = (ready(variant, model=model) for _ in range(2))
        values = REWARDS if law == "bernoulli" else REWARDS + 0.3
        assert learn_rewards(taught, ARMS, values) == np.isin(ARMS, taught.arms).sum(), law
        learned_plainly(plain, ARMS, values)
        states = (start.player.packed.words().view(np.uint64) for start in (taught, plain))
        assert np.array_equal(*states), law


@pytest.mark.parametrize("variant", WITH_PRIOR)
def test_an_agent_with_a_prior_plays_what_the_simulator_plays(variant):
    """Known rewards, half of them learned: the same arms, from the same coins and tosses."""
    from lsdt.simulation.single_reward_kernel import draw_one

    known = {"prior": (ARMS, REWARDS), "prior_weight": 0.5}
    for law in MODELS:
        problem = lsdt.problems.given(MEANS, SIDE, law)
        result = lsdt.simulate(problem, policy(variant), 100, 1, seed=4, n_jobs=1, **known)
        agent = lsdt.Agent(SIDE, policy(variant), rewards=law, seed=4, **known)
        stream = new_stream(4, 0, Purpose.REWARD)
        for _ in range(100):
            decision = agent.ask()
            agent.tell(decision, draw_one(problem.rewards.law, MEANS[decision.arm], 1.0, 0.0, stream))
        frame = agent.to_frame()
        assert np.array_equal(frame.plays, result.plays(policy(variant))[0]), law
        assert 110 < frame.prior.sum() < 190
        assert agent.n_told == 100


@pytest.mark.parametrize("variant", WITH_PRIOR)
def test_an_agent_with_a_prior_survives(variant):
    """Restored from a snapshot, or opened from its store, it goes on as if nothing had happened."""
    store, few = open_store("memory://"), lsdt.from_means(MEANS[:10], 0.3)
    known = {"prior": (ARMS % 10, REWARDS), "prior_weight": 0.7}
    agent = lsdt.Agent.open(store, "x", few, policy=policy(variant), seed=2, snapshot_every=0, **known)
    for number in range(40):
        agent.tell(agent.ask(), float(number % 3 == 0))
    agent.ask(2)
    agent.close()
    opened = lsdt.Agent.open(store, "x")
    restored = lsdt.Agent.restore(opened.snapshot())
    frame, best = agent.to_frame(), agent.best()
    for again in (restored, opened):
        # Scores may differ in the last digits: lsdt_closure solves on from where it was.
        assert_frame_equal(again.to_frame(), frame, rtol=1e-12)
        assert again.best().text == best.text
    assert restored.ask(3) == opened.ask(3)
    assert restored.snapshot() == lsdt.Agent.restore(restored.snapshot()).snapshot()


@pytest.mark.parametrize("name", sorted(WITHOUT_PRIOR))
def test_the_others_refuse_and_say_which_can(name):
    reason = specification_of(name).why_no_prior
    with pytest.raises(Unsupported, match=f"{name} cannot start with known rewards: {reason}; .*ucb1, ts, "):
        lsdt.Policy(name, prior_weight=0.5)
    known = {"prior": (ARMS, REWARDS)}
    with pytest.raises(Unsupported, match=f"{name} cannot start with known rewards"):
        lsdt.Agent(SIDE, name, horizon=HORIZON, **known)
    problem = lsdt.problems.given(MEANS, SIDE, "bernoulli")
    with pytest.raises(Unsupported, match=f"{name} cannot start with known rewards"):
        lsdt.simulate(problem, [name, "ucb1"], 20, 1, **known)
    empty = lsdt.Policy(name, prior_weight=0)
    primed = lsdt.simulate(problem, [empty, "ucb1"], 20, 1, **known)
    without = lsdt.simulate(problem, [name, "ucb1"], 20, 1)
    assert np.array_equal(primed.reward(empty), without.reward(name))
    assert not np.array_equal(primed.plays("ucb1"), without.plays("ucb1"))


def test_off_by_default():
    """Nothing named after the paper, nor anything else, takes a prior unless it is asked for."""
    for name in BUILT_IN:
        assert lsdt.Policy(name).prior_weight is None
        start = policy(name).begin(SIDE, GAUSSIAN, HORIZON, new_stream(0))
        counts = [words for field, words in fields(start.player).items() if field.endswith("counts")]
        assert not any(words.any() for words in counts)
    with pytest.raises(InvalidInput, match=r"'ucb1 \(prior_weight=1\)' has a prior_weight, and there is"):
        lsdt.simulate(lsdt.problems.uniform(5), "ucb1:prior_weight=1", 10, 1)
    with pytest.raises(InvalidInput, match="has a prior_weight, and there is no prior"):
        lsdt.Agent(SIDE, lsdt.Policy("ucb1", prior_weight=1))
