"""Whether an agent says when it is known which arm is the best."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt

MEANS = [0.1, 0.2, 0.5, 0.8, 0.9]
SIDE = lsdt.from_means(MEANS, epsilon=0.2, arm_ids=list("abcde"))


def played(agent, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = agent.ask()
        agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
    return agent


def test_nothing_is_known_at_first():
    found = lsdt.Agent(SIDE, "identify").stopping()
    assert not found.stop
    assert found.delta == 1.0
    assert found.rivals["open"].any()
    assert found.tries_to_go > 0
    assert "not known yet after 0 rewards" in found.text


@pytest.mark.parametrize("policy", ["identify", "ucb1", "lsdt_closure"])
def test_any_policy_may_sample(policy):
    agent = lsdt.Agent(SIDE, policy, horizon=400)
    found = played(agent, 400).stopping(delta=0.01)
    assert found.stop
    assert found.delta <= 0.01
    assert found.arm_id in "de"
    assert not found.rivals["open"].any()
    assert set(found.rivals["settled_by"]) <= {"relations", "rewards"}
    assert found.tries_to_go == 0
    assert f"arm {found.arm_id!r} is within 0.2 of the best" in found.text


def test_evidence_grows_with_plays_and_the_estimate_of_tries_shrinks():
    agent = lsdt.Agent(SIDE, "identify")
    first = played(agent, 3).stopping(delta=1e-6)
    later = played(agent, 40, seed=1).stopping(delta=1e-6)
    assert later.delta < first.delta
    assert later.tries_to_go < first.tries_to_go
    rivals = later.rivals
    assert rivals["evidence"].is_monotonic_increasing
    assert (rivals["missing"] > 0).equals(rivals["open"])


def test_known_rewards_do_not_count():
    """A prior is no evidence: nothing says that it came from these arms as they are now."""
    agent = lsdt.Agent(SIDE, "identify", prior=(["a"] * 50 + ["e"] * 50, [0.0] * 50 + [1.0] * 50))
    assert agent.stopping().delta == 1.0


def test_relations_that_contradict_one_another_are_not_used():
    means = np.linspace(0.1, 0.9, 30)
    side = lsdt.from_means(means, epsilon=0.2).reveal(0.8, 0.8, seed=0).corrupt(0.2, seed=0)
    with pytest.warns(lsdt.errors.ContradictionWarning):
        assert lsdt.candidate_set(side, method="propagation").conflict is not None
    found = lsdt.Agent(side, "ucb1").stopping()
    assert "contradict one another" in found.note
    assert len(found.rivals) == 29


def test_a_single_arm_is_the_best():
    found = lsdt.Agent(lsdt.SideInformation(1, epsilon=0.1), "ucb1").stopping()
    assert found.stop
    assert found.arm_id == 0
    assert len(found.rivals) == 0


def test_extension_brings_a_rule_of_its_own():
    agent = played(lsdt.Agent(SIDE, "identify"), 60)
    assert agent.stopping().stop
    more = lsdt.SideInformation(6, arm_ids=list("abcdef"), epsilon=0.2)
    agent.extend(more)
    found = agent.stopping()
    assert not found.stop
    assert "f" in set(found.rivals["arm"])


def test_restored_agents_say_the_same():
    agent = played(lsdt.Agent(SIDE, "identify"), 20)
    again = lsdt.Agent.restore(agent.snapshot())
    assert again.stopping().delta == agent.stopping().delta
    assert again.ask().arm == agent.ask().arm
