"""Corrected rewards: by hand, against the log, after a restart, and what guarantees count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from agent.examples import SIDE, Clock, applied, goes_on_alike
from lsdt.agent import snapshot
from lsdt.errors import InvalidFile, InvalidInput, Unsupported
from lsdt.storage import Kind, open_store
from naive.guarantees import counted

TWO = lsdt.SideInformation(2, arm_ids=["tea", "juice"], epsilon=0.2)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_a_reward_is_replaced_for_a_while(clock):
    """By hand: told at 0, replaced after 59 s, refused after 60."""
    agent = lsdt.Agent(TWO, "ts", replace_within="1 minute")
    assert agent.replace_within == 60.0
    first, second = agent.ask(2)
    agent.tell(first, 1)
    agent.tell(second, 1, repeat="replace")  # the first time it is simply told
    clock.sleep(59)
    agent.tell(first, 0, repeat="replace")
    agent.tell(first, 0.25, repeat="replace")
    learner = agent.state()
    assert learner.sums.sum() == 1.25
    assert learner.squares.sum() == 1.0625
    assert learner.total == 1.25
    assert learner.n_told == 2
    clock.sleep(1)
    with pytest.raises(
        InvalidInput, match="cannot be corrected: it was cancelled, or told more than 60 s ago"
    ):
        agent.tell(first, 1, repeat="replace")
    assert agent.tell_many([(first, 1), (second, 0)], repeat="replace") == (0, 2)
    with pytest.raises(InvalidInput, match="decision 9 was never asked for"):
        agent.tell(9, 1, repeat="replace")
    with pytest.raises(InvalidInput, match="repeat='ignore' passes over"):
        agent.tell(first, 1)


def test_an_expired_decision_can_still_be_told(clock):
    agent = lsdt.Agent(TWO, "ts", replace_within=3600)
    decision = agent.ask()
    clock.sleep(10)
    assert agent.expire(5, 0.0) == 1
    clock.sleep(3000)
    assert agent.tell_many([(decision, 1.0)], repeat="replace") == (1, 0)
    assert agent.state().sums.tolist()[decision.arm] == 1.0
    other = agent.ask()
    agent.cancel(other)
    with pytest.raises(InvalidInput, match="cannot be corrected: it was cancelled"):
        agent.tell(other, 1, repeat="replace")


def test_one_request_may_tell_and_correct():
    agent = lsdt.Agent(TWO, "ts", replace_within=60)
    decision = agent.ask()
    assert agent.tell_many([(decision, 1.0), (decision, 0.0)], repeat="replace") == (1, 1)
    assert agent.state().total == 0.0
    assert agent.tell_many([(decision, 0.0), (decision, 1.0)], repeat="replace") == (1, 1)
    assert agent.state().total == 1.0


def test_of_several_corrections_in_one_request_the_last_one_counts(clock):
    agent = lsdt.Agent(TWO, "ts", replace_within=60)
    decision = agent.ask()
    agent.tell(decision, 1.0)
    assert agent.tell_many([(decision, 0.0), (decision, 1.0)], repeat="replace") == (0, 2)
    assert agent.state().total == 1.0
    assert agent.tell_many([(decision, 0.0), (decision, 0.5)], repeat="replace") == (1, 1)
    assert agent.state().total == 0.5


def test_until_it_is_final_a_reward_counts_as_pending(clock):
    agent = lsdt.Agent(TWO, "ts", replace_within=100)
    for _ in range(60):
        agent.tell(agent.ask(allowed=["tea"]), 1.0)
        agent.tell(agent.ask(allowed=["juice"]), 0.0)
    first = agent.stopping(tolerance=0.2)
    assert not first.stop
    assert first.pending == 120
    assert "120 decisions without a final reward yet" in first.text
    assert agent.best().anytime_low == 0.0
    assert agent.lift("juice").low[0] == -1.0
    assert agent.drift().empty
    clock.sleep(100)  # nothing happens meanwhile, and it is known all the same
    last = agent.stopping(tolerance=0.2)
    assert last.stop
    assert (last.pending, last.arm_id) == (0, "tea")
    assert agent.best().anytime_low > 0.8
    assert agent.lift("juice").low[0] > 0.5
    assert agent.n_told == 120


def test_drift_waits_for_final_rewards(clock):
    agent = lsdt.Agent(TWO, "ts", replace_within=100)
    for number in range(160):
        agent.tell(agent.ask(allowed=["tea"]), float(number < 80))
    assert agent.drift().empty
    assert agent.drift().attrs["blocked"][0].plays == 159
    clock.sleep(100)
    assert agent.drift().arm.tolist() == ["tea"]
    assert agent.drift().attrs["blocked"] == []


@pytest.mark.parametrize("policy", ["ts", "lsdt_closure", "ucb1", "identify", "ts_gaussian", "kl_ucb"])
def test_a_corrected_policy_has_learned_the_corrected_rewards(policy, clock):
    """The same scores as a policy that was told the right rewards at once, in tallies."""
    wrong, right = (lsdt.Agent(SIDE, policy, replace_within=1000, seed=1) for _ in range(2))
    rng = np.random.default_rng(0)
    decisions = [agent.ask(60) for agent in (wrong, right)]
    assert decisions[0] == decisions[1]
    for decision in decisions[0]:
        wrong.tell(decision.number, float(rng.random() < 0.5))
    final = {decision.number: float(rng.random() < 0.5) for decision in decisions[0]}
    for number, reward in final.items():
        right.tell(number, 1.0 - reward)
    for agent in (wrong, right):
        agent.tell_many(final.items(), repeat="replace")
    assert wrong.state().sums.tolist() == right.state().sums.tolist()
    assert np.array_equal(wrong.state().scores(), right.state().scores(), equal_nan=True)
    for _ in range(5):
        first, second = wrong.ask(), right.ask()
        assert first == second


@pytest.mark.parametrize("policy", ["ts", "ucb1", "identify"])
def test_the_log_restores_an_agent_with_corrections(policy, clock):
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "drinks", SIDE, policy=policy, replace_within=30, snapshot_every=0)
    rng, told = np.random.default_rng(2), []
    for number in range(200):
        decision = agent.ask()
        clock.sleep(1)
        if number % 4:
            agent.tell(decision, float(rng.random() < 0.5))
            told.append(decision)
        if number % 7 == 0 and told:
            agent.tell_many([(told[rng.integers(len(told))], rng.random())], repeat="replace")
        if number == 90:
            middle, position = agent.snapshot(), store.last("drinks", 1)[0].position
    entries = [entry for batch in store.read("drinks") for entry in batch]
    assert sum(entry.kind == Kind.REPLACE for entry in entries) > 5
    assert goes_on_alike(agent, applied(store.latest("drinks", 1).blob, entries))
    later = [entry for entry in entries if entry.position > position]
    assert goes_on_alike(agent, applied(middle, later))
    assert goes_on_alike(agent, lsdt.Agent.restore(agent.snapshot()))
    learner = agent.state()
    counts, sums, still_open = counted(entries, 12, 30 * 10**6, clock.now)
    assert learner.settled_tallies()[0].tolist() == counts
    assert learner.settled_tallies()[1].tolist() == pytest.approx(sums)
    assert learner.unsettled_counts().tolist() == still_open
    agent.close()
    with pytest.raises(InvalidInput, match="was made with another replace_within: 30.0"):
        lsdt.Agent.open(store, "drinks", replace_within=31)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from([0.0, 0.1, 0.7, 1.0])), max_size=60
    )
)
def test_any_sequence_counts_what_its_log_says(steps):
    """Asks, tells, corrections, expiries, cancellations and time, against the events alone."""
    with pytest.MonkeyPatch.context() as patch:
        clock, store = Clock(patch), open_store("memory://")
        agent = lsdt.Agent.open(store, "drinks", TWO, policy="ts", replace_within=10, snapshot_every=0)
        asked = []
        for what, which, reward in steps:
            clock.sleep(which)
            if what <= 1 or not asked:
                asked.append(agent.ask())
            elif what <= 3:
                agent.tell_many([(asked[-1 - which % len(asked)], reward)], repeat="replace")
            elif what == 4:
                agent.expire(6, None if which == 0 else 0.0)
            else:
                agent.observe("tea", reward)
        entries = [entry for batch in store.read("drinks") for entry in batch]
        for _ in range(2):
            learner = agent.state()
            counts, sums, still_open = counted(entries, 2, 10**7, clock.now)
            assert learner.settled_tallies()[0].tolist() == counts
            assert learner.settled_tallies()[1].tolist() == pytest.approx(sums)
            assert learner.unsettled_counts().tolist() == still_open
            clock.sleep(20)
        assert goes_on_alike(agent, applied(store.latest("drinks").blob, entries), rounds=3)


def test_corrections_are_merged_and_extended(clock):
    agent, other = (lsdt.Agent(TWO, "ts", replace_within=60, seed=seed) for seed in range(2))
    for each in (agent, other):
        each.tell(each.ask(allowed=["tea"]), 1.0)
    clock.sleep(30)
    agent.tell(agent.ask(allowed=["juice"]), 1.0)
    assert agent.merge(other) == 1
    clock.sleep(30)  # the agent's own first reward is final; that of the other was open when it was merged
    learner = agent.state()
    assert learner.settled_tallies()[0].tolist() == [1, 0]
    assert learner.unsettled_counts().tolist() == [1, 1]
    agent.extend(lsdt.SideInformation(3, arm_ids=["mate", "tea", "juice"]))
    learner = agent.state()
    assert learner.settled_tallies()[0].tolist() == [0, 1, 0]
    assert learner.unsettled_counts().tolist() == [0, 1, 1]
    agent.tell(1, 0.0, repeat="replace")
    assert agent.state().sums.tolist() == [0, 2, 0]


def test_rounding_never_leaves_the_range_of_rewards():
    """0.1 + 0.7 - 0.7 - 0.1 is below 0 in floats."""
    agent = lsdt.Agent(TWO, "ts", replace_within=60)
    decisions = [agent.ask(allowed=["tea"]) for _ in range(2)]
    agent.tell_many(zip(decisions, (0.1, 0.7), strict=True))
    for decision in reversed(decisions):
        agent.tell(decision, 0.0, repeat="replace")
    assert agent.state().sums[0] >= 0.0
    lsdt.Agent.restore(agent.snapshot())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replace_within": 0}, "replace_within is a stretch of time of at most ten years: seconds, a text"),
        ({"replace_within": "soon"}, "got 'soon'"),
        ({"replace_within": "500 weeks 3"}, "got '500 weeks 3'"),
        ({"replace_within": True}, "got True"),
        ({"replace_within": 1e9}, "at most ten years"),
        ({"replace_within": 60, "forget": 100}, "rewards that fade cannot be replaced"),
        (
            {"replace_within": 60, "policy": "moss", "horizon": 9},
            "rewards of moss cannot be replaced: its index",
        ),
        (
            {"replace_within": 60, "policy": "lsdt_psi", "horizon": 9},
            "rewards of lsdt_psi cannot be replaced",
        ),
    ],
)
def test_what_cannot_be_corrected_is_refused(options, message):
    with pytest.raises((InvalidInput, Unsupported), match=message):
        lsdt.Agent(SIDE, **{"policy": "ts"} | options)


def test_without_it_nothing_is_replaced():
    agent = lsdt.Agent(TWO, "ts")
    agent.tell(agent.ask(), 1)
    for call in (lambda: agent.tell(0, 0, repeat="replace"), lambda: agent.tell_many([], repeat="replace")):
        with pytest.raises(Unsupported, match="begin one with replace_within="):
            call()
    with pytest.raises(InvalidInput, match="repeat must be"):
        agent.tell(0, 0, repeat="again")


def test_damaged_snapshots_are_refused(clock):
    agent = lsdt.Agent(TWO, "ts", replace_within=60)
    agent.tell(agent.ask(), 1.0)
    for change in (
        lambda learner: learner.revisions.entries.update({7: learner.revisions.entries[0]}),
        lambda learner: learner.revisions.entries.update({0: learner.revisions.entries[0]._replace(arm=9)}),
        lambda learner: learner.revisions.entries.update(
            {0: learner.revisions.entries[0]._replace(reward=2.0)}
        ),
        lambda learner: learner.settled.add(0, 5.0),
    ):
        learner = agent.state()
        change(learner)
        with pytest.raises(InvalidFile):
            lsdt.Agent.restore(snapshot.to_bytes(learner))
