"""Pauses, stops and tolerances: what is answered, what is learned, and that they stay."""

from __future__ import annotations

import pytest

import lsdt
from agent.examples import NAMED, applied, goes_on_alike, replica, write
from lsdt.agent import Halt, signature_of, snapshot
from lsdt.errors import InvalidFile, InvalidInput, Paused, Unsupported
from lsdt.storage import Event, Kind, open_store

FOUR = lsdt.SideInformation(4, arm_ids=["control", "red", "blue", "green"])


def test_a_paused_agent_refuses_to_decide_and_still_learns():
    agent = lsdt.Agent(FOUR, policy="ts")
    first = agent.ask()
    agent.pause(reason="wrong prices", by="alice")
    assert agent.status.name == "paused"
    assert agent.status.reason.endswith("by alice: wrong prices")
    for options in ({}, {"n": 3}, {"unit": "u"}, {"allowed": ["red"]}, {"n": 2, "distinct": True}):
        with pytest.raises(Paused, match=r"paused since .* UTC by alice: wrong prices; rewards are still"):
            agent.ask(**options)
    agent.tell(first, 1)
    agent.observe("red", 1)
    agent.retire("green")
    assert agent.n_told == 2
    assert repr(agent).endswith("2 rewards, paused)")
    agent.resume()
    assert agent.status == ("open", "", None)
    assert agent.ask().number == 1


def test_a_stopped_agent_answers_its_arm_and_learns_what_it_is_told():
    """By hand: floor, holdout and units give way; the policy does not notice."""
    agent = lsdt.Agent(FOUR, policy="ts", floor={"control": 0.5}, seed=3)
    before = {unit: agent.ask(unit=unit).arm_id for unit in "abcdef"}
    assert len(set(before.values())) > 1
    words = agent.state().words.tolist()
    agent.stop("green", reason="good enough")
    assert (agent.status.name, agent.status.arm_id) == ("stopped", "green")
    made = [agent.ask(), *agent.ask(3), agent.ask(allowed=["red", "green"])]
    made += [agent.ask(unit=unit) for unit in [*"abcdef", "new", "new"]]
    assert {(each.arm_id, each.propensity) for each in made} == {("green", 1.0)}
    assert agent.state().words.tolist() == words
    for decision in made:
        agent.tell(decision, 1)
    frame = agent.to_frame().set_index("arm")
    assert frame.loc["green", "plays"] == len(made)
    # A unit counts once: those that were there before, and the second visit of the new one, do not count.
    assert agent.state().settled_tallies()[0].tolist() == [0, 0, 0, len(made) - 7]
    with pytest.raises(InvalidInput, match="stopped with 'green', which is not allowed now"):
        agent.ask(allowed=["red"])
    with pytest.raises(InvalidInput, match="no 2 different arms"):
        agent.ask(2, distinct=True)
    assert agent.ask(1, distinct=True)[0].arm_id == "green"
    agent.resume()
    assert {unit: agent.ask(unit=unit).arm_id for unit in "abcdef"} == before
    assert agent.ask(unit="new").arm_id == "green"  # which it had first


def test_an_arm_that_the_policy_does_not_play_can_be_the_one():
    agent = lsdt.Agent(NAMED, policy="lsdt_csi")
    out = next(arm for arm in NAMED.arm_ids if arm not in agent.arms_in_play)
    agent.stop(out)
    for _ in range(3):
        agent.tell(agent.ask(), 1)
    agent.resume()
    assert agent.ask().arm_id in agent.arms_in_play


def test_what_cannot_be_is_refused():
    agent = lsdt.Agent(FOUR, policy="ts")
    with pytest.raises(InvalidInput, match="there is no arm 'purple'"):
        agent.stop("purple")
    agent.retire("red", reason="sold out")
    with pytest.raises(InvalidInput, match="'red' has retired; reinstate it first"):
        agent.stop("red")
    agent.stop("blue")
    with pytest.raises(InvalidInput, match="stopped with 'blue'; stop it with another arm first"):
        agent.retire("blue")
    with pytest.raises(InvalidInput, match="stopped with 'blue', which this side information lacks"):
        agent.extend(FOUR.subset(["control", "red", "green"]))
    agent.extend(lsdt.SideInformation(5, arm_ids=["new", "blue", "control", "red", "green"]))
    assert agent.ask().arm_id == "blue"
    for wrong in (3, "two\nlines", "x" * 501, "\ud800"):
        with pytest.raises(InvalidInput, match="reason must be text of at most 500 printable"):
            agent.pause(reason=wrong)
    assert agent.status.name == "stopped"
    agent.pause(reason="prix\u202f: trop élevé\u200d")  # a space and a joiner that Python does not print
    assert agent.halt.reason == "prix\u202f: trop élevé\u200d"


def test_each_action_leads_to_one_state_whatever_was_before():
    agent = lsdt.Agent(FOUR, policy="ts")
    actions = {"paused": agent.pause, "stopped": lambda: agent.stop("red"), "open": agent.resume}
    for first in actions.values():
        for name, second in actions.items():
            first()
            second()
            second()
            assert agent.status.name == name


@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_it_stays_after_a_restart_and_the_log_says_who(kind, every, tmp_path):
    url = f"sqlite:///{tmp_path}/x.db" if kind == "sqlite" else f"memory://halts{every}"
    side = lsdt.SideInformation(4, arm_ids=FOUR.arm_ids)
    agent = lsdt.Agent.open(url, "x", side, policy="ts", snapshot_every=every)
    agent.sign_creation("carol")
    agent.pause(reason="wrong prices", by="alice")
    agent.set_tolerance(0.1, by="bob")
    agent.close()
    agent = lsdt.Agent.open(url, "x", snapshot_every=every)
    assert agent.status.reason.endswith("by alice: wrong prices")
    assert agent.tolerance == agent.stopping().tolerance == 0.1
    agent.stop("blue")
    agent.retire("red", by="bob")
    agent.reinstate("red", by="bob", reason="it is back")
    blob = agent.snapshot()
    agent.close()
    agent = lsdt.Agent.open(url, "x")
    assert (agent.status.arm_id, agent.ask().arm_id) == ("blue", "blue")
    assert lsdt.Agent.restore(blob).status.arm_id == "blue"
    with open_store(url) as store:
        entries = [entry for batch in store.read("x") for entry in batch]
        about = [(entry.kind, *signature_of(entry.data)) for entry in entries if entry.kind > Kind.SNAPSHOT]
        assert about == [
            (Kind.CREATE, "carol", ""),
            (Kind.PAUSE, "alice", "wrong prices"),
            (Kind.TOLERANCE, "bob", ""),
            (Kind.STOP, "", ""),
        ]
        retired = [signature_of(entry.data) for entry in entries if entry.kind == Kind.RETIRE]
        assert retired == [("bob", ""), ("bob", "it is back")]
    agent.close()


def test_replicas_follow_and_agree():
    with open_store("memory://halting") as store:
        lsdt.Agent.open(store, "x", NAMED, policy="ts").close()
        first, second = replica(store, "x"), replica(store, "x")
        start = store.latest("x").blob
        second.retire("item3")
        first.pause(by="alice")
        first.stop("item3", by="alice")  # it does not know of the other's
        for each in (second, first):
            write(each)
            for reader in (first, second):
                reader.refresh()
        for each in (first, second):
            assert (each.status.name, each.status.arm_id) == ("stopped", "item3")
        entries = [entry for batch in store.read("x") for entry in batch]
        assert goes_on_alike(applied(start, entries), first)
        assert goes_on_alike(first, second)
        follower = lsdt.Agent.follow(store, "x")
        assert (follower.status.name, follower.halt.name) == ("following", "stopped")
        for each in (first, second, follower):
            each.close()


def test_a_replica_resumes_what_it_has_not_read_yet():
    """A pause was acknowledged by another replica, and clients go on here: `resume` must not be lost."""
    with open_store("memory://resuming") as store:
        lsdt.Agent.open(store, "x", NAMED, policy="ts").close()
        first, second = replica(store, "x"), replica(store, "x")
        for act, undo in (("pause", "resume"), ("resume", "pause")):
            getattr(first, act)(by="alice")
            write(first)
            getattr(second, undo)(by="bob")
            write(second)
            for reader in (first, second):
                reader.refresh()
                assert reader.status.name == ("open" if undo == "resume" else "paused")
        for each in (first, second):
            each.close()


def test_a_tolerance_is_that_of_the_agent_unless_one_is_given():
    agent = lsdt.Agent(FOUR, policy="ts", tolerance=0.2)
    assert agent.stopping().tolerance == 0.2
    assert agent.stopping(tolerance=0.3).tolerance == 0.3
    agent.set_tolerance(None)
    with pytest.raises(Unsupported, match="has no epsilon"):
        agent.stopping()
    agent = lsdt.Agent(lsdt.SideInformation(2, epsilon=0.1), policy="ts", tolerance=0)
    assert agent.stopping().tolerance == 0
    for wrong in (-1, "x", float("nan")):
        with pytest.raises(InvalidInput, match="tolerance must be"):
            agent.set_tolerance(wrong)
    lsdt.Agent.open("memory://tolerant", "x", FOUR, tolerance=0.1).close()
    with pytest.raises(InvalidInput, match="made with another tolerance"):
        lsdt.Agent.open("memory://tolerant", "x", tolerance=0.2)


@pytest.mark.parametrize(
    "halt",
    [
        ["paused", 1, 0, "", ""],
        ["stopped", 1, -1, "", ""],
        ["stopped", 1, 4, "", ""],
        ["stopped", 1, True, "", ""],
        ["stopped", "x", 1, "", ""],
        ["gone", 1, 1, "", ""],
        ["stopped"],
    ],
)
def test_made_up_halts_are_refused(halt):
    agent = lsdt.Agent(FOUR, policy="ts")
    learner = agent.state()
    learner.halt = halt
    with pytest.raises(InvalidFile):
        lsdt.Agent.restore(snapshot.to_bytes(learner))
    learner.halt = Halt("stopped", 5, 2)
    assert lsdt.Agent.restore(snapshot.to_bytes(learner)).halt == Halt("stopped", 5, 2)


@pytest.mark.parametrize("data", [b"x", b"[]", b"\xff", b'"by"'])
def test_a_signature_that_cannot_be_read_is_an_error(data):
    with pytest.raises(InvalidFile, match="signature cannot be read"):
        lsdt.Agent(FOUR, policy="ts").state().apply(Event(int(Kind.PAUSE), 1, data=data), 0)
