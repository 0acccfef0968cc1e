"""Agents that learn what others were told."""

from __future__ import annotations

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, NAMED, SIDE, goes_on_alike, played, replica, write
from lsdt.errors import InvalidFile, InvalidInput, Unsupported
from lsdt.storage import Kind, open_store


def trio(policy="ucb1", **options):
    return [played(lsdt.Agent(SIDE, policy, seed=seed, **options), 40, seed) for seed in range(3)]


def test_counts_add_and_decisions_stay_apart():
    one, two, three = trio()
    waiting = two.ask()
    frames = [agent.to_frame() for agent in (one, two, three)]
    assert one.merge([two, three.snapshot()]) == 80
    merged = one.to_frame()
    assert merged.plays.tolist() == sum(frame.plays for frame in frames).tolist()
    sums = sum(np.nan_to_num(frame["mean"]) * frame.plays.to_numpy() for frame in frames)
    assert np.nan_to_num(merged["mean"]) * merged.plays.to_numpy() == pytest.approx(sums)
    assert one.state().player.state.tallies.counts.tolist() == merged.plays.tolist()
    assert (one.n_told, one.n_asked, one.n_pending) == (120, 40, 0)
    assert two.n_pending == 1
    two.tell(waiting, 1.0)
    assert two.n_told == 41
    assert one.ask().number == 40


def test_a_merged_agent_knows_what_one_knows_that_was_told_everything():
    one, two, three = trio("lsdt_closure")
    everything = lsdt.Agent(SIDE, "lsdt_closure", seed=0)
    for agent in (one, two, three):
        for arm, (count, total) in enumerate(zip(agent.state().counts, agent.state().sums, strict=True)):
            for number in range(count):
                everything.observe(arm, float(number < total))
    one.merge([two, three])
    assert one.to_frame().score.tolist() == pytest.approx(everything.to_frame().score.tolist(), nan_ok=True)
    assert one.stopping(0.05).delta == pytest.approx(everything.stopping(0.05).delta)


def test_decisions_that_were_open_when_agents_were_merged_count_at_their_worst():
    """Rewards may be late because of what they are, and these will not be told here."""
    side = lsdt.SideInformation(3, arm_ids=["tea", "juice", "water"], epsilon=0.2)
    one, two, three = (lsdt.Agent(side, "ucb1", seed=seed) for seed in range(3))
    for number in range(50):
        two.observe("tea", number % 10 > 0)
        two.observe("juice", number % 10 == 0)
        two.observe("water", number % 10 == 0)
    three.merge(two)
    assert three.stopping().stop
    for arm in ("tea", "juice"):
        two.ask(100, allowed=[arm])
    one.merge(two.snapshot())
    found = one.stopping()
    assert (found.stop, found.pending, one.n_pending) == (False, 200, 0)
    assert "(200 were open when their agents were merged, and stay so)" in found.text
    again = lsdt.Agent.restore(one.snapshot())
    again.extend(lsdt.SideInformation(3, arm_ids=["water", "tea", "juice"], epsilon=0.2))
    assert again.stopping().evidence == pytest.approx(found.evidence)
    last = lsdt.Agent.open("memory://", "last", side, policy="ucb1")
    last.merge(again)
    assert last.stopping().pending == 200


def test_arms_are_known_by_their_ids():
    fewer = lsdt.from_means(MEANS[4:8][::-1], 0.2, arm_ids=[f"item{i}" for i in (7, 6, 5, 4)])
    other = lsdt.Agent(fewer, "ts")
    for number in range(6):
        other.observe("item5", float(number % 2))
    agent = lsdt.Agent(NAMED, "ts")
    assert agent.merge(other) == 6
    assert agent.to_frame().set_index("arm").plays["item5"] == 6
    with pytest.raises(InvalidInput, match="has the arm 'item0', and this one has not; extend this one"):
        other.merge(lsdt.Agent(NAMED, "ts"))


def test_nobody_counts_twice():
    one, two, three = trio()
    copy = lsdt.Agent.restore(one.snapshot())
    for others in (one, copy, [two, one.snapshot()]):
        with pytest.raises(InvalidInput, match="with itself, or with a copy of itself; its rewards would"):
            one.merge(others)
    for others in ([two, two], [two, two.snapshot()]):
        with pytest.raises(InvalidInput, match="named twice, or was merged before"):
            one.merge(others)
    one.merge(two)
    with pytest.raises(InvalidInput, match="merged before, itself or through another"):
        one.merge(two)
    with pytest.raises(InvalidInput, match="merged before, itself or through another"):
        three.merge([two, one])
    with pytest.raises(InvalidInput, match="holds what this one was told: merge this one into it"):
        two.merge(one)
    again = lsdt.Agent.restore(one.snapshot())
    with pytest.raises(InvalidInput, match="merged before"):
        again.merge(two)
    assert one.n_told == 80


def test_what_does_not_fit_is_refused():
    agent = lsdt.Agent(SIDE, "ucb1")
    for other, message in (
        (
            lsdt.Agent(SIDE, "ucb1", rewards="gaussian"),
            r"other rewards: bernoulli \(sigma=0.5\) here and gaus",
        ),
        (lsdt.Agent(NAMED, "ucb1"), "must all have arm ids, or none of them"),
        (lsdt.Agent(lsdt.SideInformation(13), "ucb1"), "has 13 arms and this one 12; extend this one first"),
        (3, "takes agents, or their snapshots; got int"),
        ([], "at least one other agent"),
    ):
        with pytest.raises(InvalidInput, match=message):
            agent.merge(other)
    with pytest.raises(InvalidFile):
        agent.merge(b"nothing")
    with pytest.raises(Unsupported, match="lsdt_psi cannot learn what others were told: .* can are .*ucb1"):
        lsdt.Agent(SIDE, "lsdt_psi", horizon=99).merge(agent)
    with pytest.raises(Unsupported, match="truncated means need every single reward"):
        lsdt.Agent(SIDE, "ucb1:tails=heavy").merge(agent)
    assert agent.n_told == 0


def test_the_prior_counts_once():
    known = {"prior": ([0, 1, 2] * 5, [1, 0, 1] * 5)}
    one, two = (lsdt.Agent(SIDE, "ucb1", **known) for _ in range(2))
    two.observe(3, 1.0)
    one.merge(two)
    assert one.to_frame().prior.sum() == 15
    assert one.state().player.state.tallies.counts[:4].tolist() == [5, 5, 5, 1]


def test_a_merge_is_in_the_log():
    store = open_store("memory://")
    agent = played(lsdt.Agent.open(store, "x", SIDE, policy="ts", snapshot_every=0), 30)
    _, two, three = trio("ts")
    agent.merge([two, three])
    played(agent, 50, seed=5)
    agent.ask(2)
    entries = [entry for batch in store.read("x") for entry in batch]
    agent.close()
    again = lsdt.Agent.open(store, "x")
    assert goes_on_alike(agent, again)
    assert again.drift(0.999).equals(agent.drift(0.999))
    assert again.state().order.cut_sums == agent.state().order.cut_sums
    with pytest.raises(InvalidInput, match="merged before"):
        again.merge(three)
    merged = next(entry for entry in entries if entry.kind == Kind.MERGE)
    fresh = lsdt.Agent(SIDE, "ts")
    for data in (None, merged.data[:-8], merged.data[:60] + b"x" + merged.data[61:]):
        with pytest.raises(InvalidFile):
            fresh.state().apply_events([merged._replace(data=data)])


def test_agents_that_forget_add_what_is_left():
    one, two = (lsdt.Agent(SIDE, "ts", forget=8, seed=seed) for seed in range(2))
    plain = lsdt.Agent(SIDE, "ts", seed=2)
    for agent in (one, two, plain):
        for _ in range(20):
            agent.observe(0, 1.0)
    left = [agent.to_frame().weight[0] for agent in (one, two)]
    one.merge([two, plain])
    assert one.to_frame().weight[0] == pytest.approx(sum(left) + 20)
    assert one.to_frame().plays[0] == 60
    one.observe(1, 0.0)  # the rewards of others are no rounds of this one
    assert one.to_frame().weight[0] == pytest.approx((sum(left) + 20) * 0.5**0.25)
    assert goes_on_alike(one, lsdt.Agent.restore(one.snapshot()))


def test_replicas_agree():
    """Whichever writes what: a merge that two of them write counts once, and all apply the same."""
    store = open_store("memory://")
    lsdt.Agent.open(store, "x", NAMED, policy="ts", forget=20).close()
    first, second = (replica(store, "x") for _ in range(2))
    other = played(lsdt.Agent(NAMED, "ts", seed=4), 30)
    for each in (first, second):
        assert each.merge(other) == 30
        each.retire("item3")
        write(each)
    decisions = first.ask(5)
    write(first)
    second.refresh()
    for decision in decisions:
        second.tell(decision, 1.0)
    write(second)
    for each in (first, second):
        each.refresh()
    assert first.n_told == second.n_told == 35
    assert first.to_frame().status[3] == "retired"
    second.reinstate("item3")
    fewer = lsdt.from_means(MEANS[2:6], 0.2, arm_ids=[f"item{arm}" for arm in range(2, 6)])
    proposal = first.propose_extension(fewer)
    assert first.extension_outcome(proposal) is None
    for each in (second, first):
        write(each)
    for each in (first, second):
        each.refresh()
    assert len(first.extension_outcome(proposal).retired) == 8
    assert first.arms_in_play == second.arms_in_play == [f"item{arm}" for arm in range(2, 6)]
    assert goes_on_alike(first, second)
    with pytest.raises(InvalidInput, match="'item3' has not retired"):
        first.reinstate("item3")
    for each in (first, second):
        each.close()
