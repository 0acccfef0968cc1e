"""What every policy in the registry must do; a new one is tested by being listed there."""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lsdt
from lsdt.kernel import jit
from lsdt.kernel.drivers import RunTotals, Setting
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.policy import parse_policy
from lsdt.policies.registry import BUILT_IN, specification_of
from lsdt.policies.specification import Choice

ROOT = Path(__file__).parent.parent.parent
GAUSSIAN = RewardModel("gaussian", 1.0)
MODELS = {"gaussian": GAUSSIAN, "bernoulli": RewardModel("bernoulli", 0.5)}
HORIZON = 300

rng = np.random.default_rng(5)
MEANS = np.sort(rng.uniform(0.1, 0.9, 25))[rng.permutation(25)]
SIDE = lsdt.from_means(MEANS, 0.15)
VARIANTS = [
    *BUILT_IN,
    *(f"lsdt_csi:index={index}" for index in ("moss", "kl_ucb", "gaussian_ts")),
    "lsdt_ts_psi:elimination=least_likely",
    *(f"{name}:{tails}" for name in ("ucb1", "lsdt_csi", "lsdt_psi") for tails in ("b=0.3", "tails=heavy")),
]


def policy(variant):
    return parse_policy(variant)


def ready(variant, side=SIDE, model=GAUSSIAN, seed=1):
    return policy(variant).begin(side, model, HORIZON, new_stream(seed))


def rewards(law, rounds, seed=2):
    noise = np.random.default_rng(seed)
    z, u = noise.normal(size=rounds), noise.random(rounds)
    if law == "gaussian":
        return lambda arm, t: float(MEANS[arm] + z[t])
    return lambda arm, t: float(u[t] < MEANS[arm])


def trajectory(start, reward, rounds=HORIZON, first=0):
    arms = []
    for t in range(first, rounds):
        chosen = start.player.select()
        arms.append(int(start.arms[chosen]))
        start.player.update(chosen, reward(arms[-1], t))
    return arms


@pytest.mark.parametrize("variant", VARIANTS)
def test_plays_allowed_arms_and_the_same_seed_gives_the_same_run(variant):
    for law, model in MODELS.items():
        first, again = (trajectory(ready(variant, model=model), rewards(law, HORIZON)) for _ in range(2))
        assert first == again, law
        assert set(first) <= set(range(25)), law
        if specification_of(variant.partition(":")[0]).offline:
            assert set(first) <= set(lsdt.candidate_set(SIDE, method="paper").arms.tolist()), law


@pytest.mark.parametrize("variant", VARIANTS)
def test_round_by_round_equals_the_simulator(variant):
    """What an agent will do, ask and tell, is what the driver does in one compiled loop, in any chunks."""
    start = ready(variant)
    copy = start.player.copy()
    checkpoints = np.array([100, HORIZON])
    gaps = MEANS.max() - MEANS

    def totals():
        counts = np.zeros(25, np.int64)
        return RunTotals(
            new_stream(9), np.zeros(2, np.int64), np.zeros(2), checkpoints, np.zeros(2), np.zeros(2), counts
        )

    setting = Setting(start.arms, MEANS, gaps, 0, 1.0, 0.0)
    whole = totals()
    start.player.play(setting, whole, HORIZON)

    noise = _gaussian_noise(HORIZON)
    arms = []
    for t in range(HORIZON):
        chosen = copy.select()
        arms.append(start.arms[chosen])
        copy.update(chosen, MEANS[arms[-1]] + noise[t])
    assert np.array_equal(np.bincount(arms, minlength=25), whole.plays)
    words = (player.packed.words().view(np.uint64) for player in (copy, start.player))
    assert np.array_equal(*words)
    assert np.allclose(whole.regret, [gaps[arms[:100]].sum(), gaps[arms].sum()])


def _gaussian_noise(rounds):
    from lsdt.simulation.single_reward_kernel import draw_one

    stream = new_stream(9)
    return [draw_one(0, 0.0, 1.0, 0.0, stream) for _ in range(rounds)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_restored_copy_goes_on_as_if_nothing_had_happened(variant):
    start, reward = ready(variant), rewards("gaussian", HORIZON)
    before = trajectory(start, reward, 120)
    saved = start.player.packed.buffer.tobytes()
    on = trajectory(start, reward, HORIZON, 120)
    other = ready(variant)
    other.player.packed.buffer[:] = np.frombuffer(saved)
    other.player.round = 120
    assert len(before) == 120
    assert trajectory(other, reward, HORIZON, 120) == on


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_single_arm_is_played(variant):
    one = lsdt.from_means([0.3], 0.1)
    start = policy(variant).begin(one, GAUSSIAN, 5, new_stream(0))
    for _ in range(5):
        assert start.player.select() == 0
        start.player.update(0, 1.0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_inputs_are_left_untouched(variant):
    side = SIDE.explicit()
    before = [array.copy() for array in side.store.explicit().similar]
    trajectory(ready(variant, side), rewards("gaussian", HORIZON), 50)
    assert all(
        np.array_equal(old, new) for old, new in zip(before, side.store.explicit().similar, strict=True)
    )


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_bad_parameter_is_named(name):
    with pytest.raises(lsdt.errors.InvalidInput, match=rf"{name} has no parameter 'nonsense'"):
        lsdt.Policy(name, nonsense=1)
    for parameter in specification_of(name).parameters:
        for wrong in ("nonsense", float("nan"), -1.0, True):
            with pytest.raises(lsdt.errors.InvalidInput, match=f"{name}: {parameter.name} must be .*; got"):
                lsdt.Policy(name, **{parameter.name: wrong})


@pytest.mark.parametrize("name", BUILT_IN)
def test_flags_say_what_the_state_has(name):
    """A policy that eliminates keeps who is left; one that truncates cannot start again from sums."""
    declared = specification_of(name)
    assert declared.eliminates == ({"alive", "gone_at"} <= set(declared.state._fields))
    words = {
        word for each in declared.parameters if isinstance(each, Choice) for word in each.truncating_words
    }
    assert bool(words) == ("truncation" in declared.state._fields)
    assert lsdt.Policy(name).learns_from_sums
    assert not any(lsdt.Policy(name, tails=word).learns_from_sums for word in words)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_policy_has_its_file_its_documentation_and_its_twin(name):
    declared = importlib.import_module(BUILT_IN[name]).SPECIFICATION
    assert declared.name == name == BUILT_IN[name].rpartition(".")[2]
    assert declared.rule
    assert declared.reference
    assert declared.cost
    assert all(parameter.meaning for parameter in declared.parameters)
    assert f"| `{name}` |" in (ROOT / "docs/handbook/policies.md").read_text()
    twins = "".join(path.read_text() for path in sorted((ROOT / "tests/naive").glob("policies*.py")))
    assert f'"{name}"' in twins


# A fifth of what it takes to compile all policies.
SLOW_TO_COMPILE = ("identify", "mixture_closure")


def words_of(variants):
    """Choices and every word of the state after some hundred rounds, and the evidence of a stopping rule."""
    few = lsdt.from_means(MEANS[:10], 0.3)
    found = {}
    for variant in variants:
        for law, model in MODELS.items():
            start = ready(variant, few, model)
            arms = trajectory(start, rewards(law, HORIZON))
            if start.player.entries.expect is not None:  # as an agent with three pending decisions
                numbers = np.arange(HORIZON, HORIZON + 3)
                start.player.expect(start.player.packed, numbers, np.arange(3), np.full(3, 0.5))
            found[f"{variant}, {law}"] = [arms, start.player.packed.words().tobytes().hex()]
    for law in MODELS:
        agent = lsdt.Agent(few.reveal(0.5, 0.5, seed=1), "ucb1", rewards=law, seed=3)
        reward = rewards(law, HORIZON)
        for t in range(HORIZON):
            decision = agent.ask()
            agent.tell(decision, reward(decision.arm, t))
            if t % 50 == 0:
                stopping = agent.stopping(tolerance=0.05)
                found[f"evidence, {law}, {t}"] = [stopping.arm, stopping.evidence.hex()]
    return found


PLAIN = """
import sys; sys.path[:0] = [{tests!r}]
import json
from contract.test_policies import words_of
print(json.dumps(words_of(sys.argv[1:])))
"""


@pytest.mark.parametrize(
    "variants",
    [
        pytest.param([variant for variant in VARIANTS if variant not in SLOW_TO_COMPILE], id="most"),
        pytest.param(SLOW_TO_COMPILE, id="slow", marks=pytest.mark.long),
    ],
)
def test_compiled_equals_plain_python(variants, monkeypatch):
    """Compiled, interpreted, or now this and now that: the same choices, states and evidence, bit for bit."""
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAIN.format(tests=str(ROOT / "tests")), *variants],
        env={**os.environ, "LSDT_JIT": "never"},
        capture_output=True,
        text=True,
        check=True,
    )
    plain = json.loads(answer.stdout)
    monkeypatch.setattr("lsdt.kernel.jit.jit_mode", lambda: "always")
    for name, compiled in words_of(variants).items():
        assert plain[name] == compiled, name
    monkeypatch.setattr(jit.TieredFunction, "__call__", in_either_tier(random.Random(0)))
    for name, changing in words_of(variants).items():
        assert plain[name] == changing, name


def in_either_tier(rng):
    """Return a way to call kernels that changes its tier at random, between any two calls."""

    def call(function, *arguments):
        if jit._interpreting:
            return function.plain(*arguments)
        return function.compile(arguments) if rng.random() < 0.5 else function.interpret(arguments)

    return call


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_agent_plays_what_the_simulator_plays(variant):
    """The same seed, and the rewards of replication 0: the same arms."""
    from lsdt.kernel.random import Purpose
    from lsdt.simulation.single_reward_kernel import draw_one

    chosen = policy(variant)
    for law in MODELS:
        problem = lsdt.problems.given(MEANS, SIDE, law)
        result = lsdt.simulate(problem, chosen, HORIZON, 1, seed=4, n_jobs=1)
        agent = lsdt.Agent(SIDE, chosen, rewards=law, horizon=HORIZON, seed=4)
        stream = new_stream(4, 0, Purpose.REWARD)
        for _ in range(HORIZON):
            decision = agent.ask()
            agent.tell(decision, draw_one(problem.rewards.law, MEANS[decision.arm], 1.0, 0.0, stream))
        assert np.array_equal(agent.state().counts, result.plays(chosen)[0]), law
