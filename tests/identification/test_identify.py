"""lsdt.identify: play until the best arm is known."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from lsdt.errors import ContradictionWarning, InvalidInput, Unsupported

MEANS = {"tea": 0.2, "coffee": 0.3, "cocoa": 0.5, "juice": 0.85, "water": 0.9}
SIDE = lsdt.from_means(list(MEANS.values()), epsilon=0.2, arm_ids=list(MEANS))


def coins(seed=0):
    rng = np.random.default_rng(seed)
    return lambda drink: float(rng.random() < MEANS[drink])


def test_the_arm_that_is_played_most_may_lead():
    """Pair by pair, another arm kept the lead here for ever, of which little was known."""
    problem = lsdt.problems.uniform(
        n_arms=30, epsilon=0.15, rewards="bernoulli", p_similar=0.3, p_dissimilar=0.3
    )
    found = lsdt.identify(problem, seed=0, budget=2_000)
    assert found.stop
    assert found.gap < 0.15
    assert found.tries < 1_000


def test_a_leader_that_only_the_search_of_all_leaders_finds():
    """The arm with the largest mean had a rival that relations leave open; six others had none."""
    problem = lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli", 0.5, 0.5)
    found = lsdt.identify(problem, delta=0.05, seed=90374, budget=200)
    assert found.stop
    assert found.gap < 0.1


def test_a_function_is_asked_until_the_arm_is_known():
    asked = []

    def trial(drink):
        asked.append(drink)
        return MEANS[drink]

    found = lsdt.identify(trial, SIDE, delta=0.01)
    assert found.stop
    assert found.arm_id in ("juice", "water")
    assert found.delta <= 0.01
    assert found.gap is None
    assert found.tries == len(asked) == found.agent.n_told
    assert found.to_frame()["plays"].sum() == found.tries
    assert "is within 0.2 of the best" in found.text


def test_a_problem_is_simulated_and_seeds_repeat():
    problem = lsdt.problems.given(list(MEANS.values()), SIDE, "bernoulli")
    first, again, other = (lsdt.identify(problem, seed=seed) for seed in (3, 3, 4))
    assert (first.tries, first.arm_id, first.delta) == (again.tries, again.arm_id, again.delta)
    assert first.stop
    assert other.stop
    assert first.gap == pytest.approx(0.9 - MEANS[first.arm_id])


def test_batches():
    sizes = []

    def trial(drinks):
        sizes.append(len(drinks))
        return [MEANS[drink] for drink in drinks]

    found = lsdt.identify(trial, SIDE, batch=4, budget=10, delta=1e-9)
    assert sizes == [4, 4, 2]
    assert not found.stop
    with pytest.raises(InvalidInput, match="returns a reward for each; it got 4 arms and returned"):
        lsdt.identify(lambda drinks: [0.5], SIDE, batch=4)
    with pytest.raises(InvalidInput, match="returned 0.5"):
        lsdt.identify(lambda drinks: 0.5, SIDE, batch=4)


def test_a_fixed_budget_is_used_up_and_the_error_is_estimated():
    found = lsdt.identify(coins(), SIDE, delta=None, budget=60)
    assert found.tries == 60
    assert not found.stop
    assert found.arm_id in ("juice", "water")
    assert found.error < found.delta < 1.0
    assert "is the best guess after 60 rewards" in found.text
    short = lsdt.identify(coins(), SIDE, delta=None, budget=2)
    assert short.error > found.error


def test_other_policies_and_tolerances():
    found = lsdt.identify(coins(), SIDE, policy="ucb1@propagation", tolerance=0.3)
    assert found.stop
    assert found.tolerance == 0.3
    assert found.agent.policy.name == "ucb1"
    assert lsdt.identify(coins(), SIDE, tolerance=0.3).agent.policy.parameters["tolerance"] == 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": 3, "side": SIDE}, "a problem of lsdt.problems, or a function"),
        ({"source": len}, "side must be a SideInformation"),
        ({"source": len, "side": SIDE, "delta": 0.0}, "delta must"),
        ({"source": len, "side": SIDE, "tolerance": -1.0}, "tolerance must"),
        ({"source": len, "side": SIDE, "budget": 0}, "budget must"),
        ({"source": len, "side": SIDE, "batch": 0}, "batch must"),
        ({"source": len, "side": SIDE, "delta": None}, "give a budget"),
        ({"source": len, "side": SIDE, "seed": -1}, "seed must"),
        ({"source": lsdt.problems.uniform(5), "side": SIDE}, "has its own side information"),
        ({"source": lambda drink: 2.0, "side": SIDE}, "between 0 and 1|from 0 to 1"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        lsdt.identify(**arguments)


@pytest.mark.filterwarnings("ignore::lsdt.errors.ContradictionWarning")
def test_contradictory_relations_are_refused_unless_the_policy_plays_on_all_arms():
    wrong = lsdt.SideInformation(5, [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)], epsilon=0.1)
    with pytest.warns(ContradictionWarning):
        assert lsdt.candidate_set(wrong, method="propagation").conflict is not None
    with pytest.raises(Unsupported, match="contradict one another"):
        lsdt.identify(lambda arm: 0.5, wrong)
    found = lsdt.identify(lambda arm: float(arm == 2), wrong, policy="ucb1", tolerance=0.3)
    assert found.stop
    assert found.arm_id == 2


def test_relations_that_may_all_be_wrong_guarantee_nothing():
    """Risks add up; a text that says the best arm is found must not hide that they reach 1."""
    rows = {"arm": ["a", "b"], "successes": [30, 180], "trials": [200, 200]}
    side = lsdt.merge([lsdt.from_experiments(rows, confidence=0.5) for _ in range(2)])
    found = lsdt.identify(lambda arm: 0.9 if arm == "b" else 0.1, side, tolerance=0.05)
    assert (found.stop, found.risk) == (True, 1.0)
    assert "within 0.05 of the best, if the relations are right" in found.text
    assert "(they may be wrong with a probability of up to 1, so nothing is guaranteed" in found.text
