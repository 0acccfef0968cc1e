"""Whether an agent says when it is known which arm is the best."""

from __future__ import annotations

from threading import Event, Thread

import numpy as np
import pytest

import lsdt
from agent.examples import replica, write
from lsdt.agent.stopping import likely_tallies
from lsdt.storage import open_store

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


def clicked(agent, rounds, means):
    """Tell every click at once; return the decisions without one, which stay open."""
    rng, silent = np.random.default_rng(3), []
    for _ in range(rounds):
        decision = agent.ask()
        if rng.random() < means[decision.arm]:
            agent.tell(decision, 1)
        else:
            silent.append(decision)
    return silent


def test_decisions_without_a_reward_hold_it_up_until_they_are_closed():
    """Clicks are told at once, so what was told says nothing: both arms have a mean of 1."""
    agent = lsdt.Agent(lsdt.SideInformation(2, arm_ids=["tea", "juice"]), "ucb1", epsilon=0.2)
    silent = clicked(agent, 100, [0.8, 0.4])
    found = agent.stopping()
    assert not found.stop
    assert found.pending == len(silent) == agent.n_pending
    assert "decisions without a reward yet, counted at the worst" in found.text
    assert "agent.expire" in found.text
    assert found.rivals["pending"].sum() < found.pending  # the leader has some
    for decision in silent[:-3]:
        agent.tell(decision, 0)
    known = agent.stopping()
    assert (known.stop, known.arm_id, known.pending) == (True, "tea", 3)
    assert "3 decisions without a reward yet cannot change that" in known.text
    again = lsdt.Agent.restore(agent.snapshot())
    assert (again.stopping().evidence, again.stopping().pending) == (known.evidence, 3)
    assert agent.expire(older_than=1e-9, reward=0) == 3
    assert agent.stopping().pending == 0
    assert agent.stopping().delta < known.delta


def test_it_says_when_open_decisions_alone_hold_it_up():
    agent = lsdt.Agent(lsdt.SideInformation(2), "ucb1", epsilon=0.2)
    for arm in (0, 1):
        for _ in range(40):
            agent.observe(arm, arm)
    assert agent.stopping().stop
    decisions = [*agent.ask(100, allowed=[0]), *agent.ask(100, allowed=[1])]
    found = agent.stopping()
    assert not found.stop
    assert found.held_up
    assert found.tries_to_go == 0
    assert "200 decisions without a reward yet, counted at the worst, alone hold it up" in found.text
    agent.cancel_many(decisions)  # they leave the count
    assert agent.stopping().stop


def test_clicks_that_are_told_before_their_absence_are_not_taken_for_the_mean():
    """Both arms pay .3; of 300 more decisions of one, the 90 clicks are known, and nothing else yet."""
    agent = lsdt.Agent(lsdt.SideInformation(2), "ucb1", epsilon=0.1)
    for number in range(200):
        agent.observe(number % 2, number % 20 < 6)
    before = agent.stopping()
    shown = agent.ask(300, allowed=[0])
    agent.tell_many((each, 1) for at, each in enumerate(shown) if at % 10 >= 7)
    found = agent.stopping()
    assert (before.stop, found.stop, found.held_up) == (False, False, False)
    assert "210 decisions without a reward yet, counted at the worst, may hold it up" in found.text
    counts, sums = likely_tallies(agent.state())
    assert (counts.tolist(), sums.tolist()) == ([400, 100], [120.0, 30.0])
    assert agent.expire(older_than=1e-9, reward=0) == 210
    assert [each.tolist() for each in likely_tallies(agent.state())] == [[400, 100], [120.0, 30.0]]


def test_decisions_of_arms_that_cannot_be_the_best_do_not_count():
    side = lsdt.from_means([0.1, 0.3, 0.5, 0.7, 0.9], epsilon=0.25, arm_ids=list("abcde"))
    agent = lsdt.Agent(side, "ucb1@all")
    before = agent.stopping()
    for _ in range(30):
        agent.ask(allowed=["c"])
    assert (agent.stopping().evidence, agent.stopping().pending) == (before.evidence, 0)
    agent.ask(allowed=["a"])
    assert agent.stopping().pending == 1


def test_open_decisions_move_with_their_arms():
    agent = lsdt.Agent(lsdt.SideInformation(2, arm_ids=["tea", "juice"], epsilon=0.2), "ucb1")
    agent.ask(allowed=["juice"])
    agent.extend(lsdt.SideInformation(3, arm_ids=["water", "juice", "tea"], epsilon=0.2))
    rivals = agent.stopping().rivals.set_index("arm")["pending"]
    assert rivals.sum() + (agent.stopping().arm_id == "juice") == 1
    agent.retire("tea")
    assert agent.stopping().pending == 1


def test_decisions_of_a_replica_count_before_it_reads_them():
    store = open_store("memory://")
    lsdt.Agent.open(store, "drinks", lsdt.SideInformation(2, epsilon=0.2), policy="ucb1").close()
    first, second = (replica(store, "drinks") for _ in range(2))
    first.ask()
    assert (first.stopping().pending, second.stopping().pending) == (1, 0)
    write(first)
    for each in (first, second):
        each.refresh()
        assert each.stopping().pending == 1
        each.close()


def test_of_unbounded_rewards_it_states_the_condition_while_some_are_open():
    agent = lsdt.Agent(lsdt.SideInformation(2, epsilon=0.2), "ucb1", rewards="gaussian")
    agent.tell(agent.ask(), 3.0)
    before = agent.stopping()
    assert "late" not in before.text
    agent.ask()
    assert agent.stopping().evidence == before.evidence
    assert "1 decision has no reward yet, and this holds if no reward is late" in agent.stopping().text


class Slow(float):
    """A number whose value is not known before it is released; `asked` says that someone wants it."""

    def __new__(cls, value):
        made = super().__new__(cls, value)
        made.asked, made.released = Event(), Event()
        return made

    def __float__(self):
        self.asked.set()
        assert self.released.wait(60)
        return super().__float__()


def test_asks_and_tells_do_not_wait_for_a_judgement():
    """It works on copies: the agent decides on, and what is told meanwhile does not count."""
    agent, tolerance, found = played(lsdt.Agent(SIDE, "identify"), 5), Slow(0.2), []
    judge = Thread(target=lambda: found.append(agent.stopping(tolerance=tolerance)))
    decide = Thread(target=lambda: played(agent, 10), daemon=True)
    judge.start()
    assert tolerance.asked.wait(60)
    decide.start()
    decide.join(60)
    goes_on = not decide.is_alive()
    tolerance.released.set()
    judge.join()
    assert goes_on
    assert agent.n_told == 15
    assert "after 5 rewards" in found[0].text


def test_an_estimate_of_the_tries_or_a_reason():
    few = played(lsdt.Agent(SIDE, "identify"), 2).stopping()
    assert few.tries_to_go > 0
    assert few.no_estimate == ""
    many = lsdt.Agent(lsdt.SideInformation(1_001, epsilon=0.1), "ts").stopping()
    assert many.tries_to_go is None
    assert many.no_estimate == "with 1,001 candidates it would take too long to play ahead"


def test_no_estimate_of_tries_while_many_decisions_are_pending():
    agent = lsdt.Agent(lsdt.SideInformation(2, epsilon=0.1), "ucb1")
    for arm in (0, 1):
        for number in range(100):
            agent.observe(arm, float(number % 2))
    assert agent.stopping().no_estimate == ""
    for _ in range(20):
        agent.ask()
    found = agent.stopping()
    assert (found.stop, found.tries_to_go) == (False, None)
    assert found.no_estimate == "20 decisions without a reward yet may change it by much"
