from __future__ import annotations

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, NAMED, SIDE, goes_on_alike, played
from lsdt.errors import InvalidInput, Unsupported
from lsdt.side_information import Beaten, BeatenSource, Origin
from lsdt.storage import open_store


def reopened(store, agent):
    agent.close()
    return lsdt.Agent.open(store, "x")


def test_an_epsilon_given_to_the_agent_is_kept():
    side, store = lsdt.SideInformation(3, [(0, 1)]), open_store("memory://")
    agent = lsdt.Agent.open(store, "x", side, policy="ckl_ucb", epsilon=0.1, snapshot_every=0)
    agent.tell(agent.ask(), 1.0)
    agent.extend(lsdt.SideInformation(4, [(0, 1), (2, 3)]))
    assert agent.side.epsilon == 0.1
    again = reopened(store, agent)
    assert again.side == agent.side
    assert goes_on_alike(agent, again)


def test_extending_does_not_draw_again_and_auto_chooses_again():
    agent = lsdt.Agent(SIDE, "ts", seed=1)
    arms = []
    for _ in range(12):
        agent.extend(SIDE)
        decision = agent.ask()
        agent.cancel(decision)
        arms.append(decision.arm)
    assert len(set(arms)) > 3
    store = open_store("memory://")
    complete = lsdt.complete(SIDE.n_arms, SIDE.similar_pairs())
    auto = lsdt.Agent.open(store, "x", complete, snapshot_every=0)
    assert auto.policy.name == "lsdt_csi"
    partial = lsdt.SideInformation(13, SIDE.similar_pairs())
    auto.extend(partial)
    assert auto.policy.name == "ts"
    assert lsdt.Agent.restore(auto.snapshot()).policy.name == "ts"
    assert reopened(store, auto).policy.name == "ts"


def test_extending_keeps_what_was_learned():
    store = open_store("memory://")
    partial = SIDE.reveal(0.3, 0.3, seed=1).explicit()
    policy = lsdt.Policy("ucb1", on="paper")
    agent = played(lsdt.Agent.open(store, "x", partial, policy=policy, snapshot_every=0), 200)
    waiting = agent.ask()
    before = agent.to_frame().set_index("arm")
    change = agent.extend(SIDE)
    after = agent.to_frame().set_index("arm")
    assert after[["plays", "mean"]].equals(before[["plays", "mean"]])
    assert set(agent.state().arms) == set(lsdt.candidate_set(SIDE).arms)
    assert change.new_arms == []
    assert len(change.out_of_play) > 0
    assert "no more" in change.text
    agent.tell(waiting, 1.0)
    state = agent.state().player.state
    assert state.tallies.counts.tolist() == agent.state().counts[agent.state().arms].tolist()
    assert np.allclose(state.tallies.sums, agent.state().sums[agent.state().arms])
    assert goes_on_alike(agent, reopened(store, agent))


def test_new_arms_may_come_in_any_order_when_they_have_ids():
    agent = played(lsdt.Agent(NAMED, "ucb1"), 50)
    ids = ["new", *reversed(NAMED.arm_ids)]
    larger = lsdt.from_means([0.95, *MEANS[::-1]], 0.2, arm_ids=ids)
    plays = agent.to_frame().set_index("arm").plays
    change = agent.extend(larger)
    assert change.new_arms == ["new"]
    assert change.in_play == ["new"]
    assert agent.to_frame().set_index("arm").plays.drop("new").sort_index().equals(plays.sort_index())
    assert agent.ask().arm_id == "new"
    strangers = lsdt.from_means(MEANS[:5], 0.2, arm_ids=list("abcde"))
    with pytest.raises(InvalidInput, match="none of the agent's arms is in the side information"):
        agent.extend(strangers)
    with pytest.raises(InvalidInput, match="must have arm ids"):
        agent.extend(SIDE)
    with pytest.raises(InvalidInput, match="takes a SideInformation"):
        agent.extend(None)
    with pytest.raises(InvalidInput, match="none may go"):
        lsdt.Agent(SIDE, "ucb1").extend(lsdt.SideInformation(3))


def test_a_failed_extension_changes_nothing():
    agent = played(lsdt.Agent(SIDE, "lsdt_csi"), 30)
    before = agent.snapshot()
    with pytest.raises(lsdt.errors.LsdtError):
        agent.extend(SIDE.reveal(0.5, 0.5))  # LSDT-CSI needs complete information
    assert agent.snapshot() == before


def test_arms_that_are_missing_retire():
    """Of the best arms of the old catalogue none is left: the best of the others is played all the same."""
    store = open_store("memory://")
    agent = played(lsdt.Agent.open(store, "x", NAMED, policy="lsdt_closure", snapshot_every=0), 60)
    waiting, before = agent.ask(), agent.to_frame().set_index("arm")
    ids = [f"item{arm}" for arm in (2, 5, 4, 3)]
    catalogue = lsdt.from_means([*MEANS[[2, 5, 4, 3]], 0.55], 0.2, arm_ids=[*ids, "new"])
    change = agent.extend(catalogue)
    gone = {f"item{arm}" for arm in (0, 1, 6, 7, 8, 9, 10, 11)}
    assert set(change.retired) == gone
    assert change.new_arms == ["new"]
    assert change.text.endswith("; 8 arms retired")
    assert set(agent.arms_in_play) == set(lsdt.candidate_set(catalogue).arm_ids)
    assert agent.side.arm_ids[:12] == NAMED.arm_ids
    after = agent.to_frame().set_index("arm")
    assert after.loc[before.index, ["plays", "mean"]].equals(before[["plays", "mean"]])
    assert set(after.index[after.status == "retired"]) == gone
    agent.tell(waiting, 1.0)
    assert agent.best(0).arm_id not in gone
    for _ in range(20):
        decision = agent.ask()
        assert decision.arm_id in catalogue.arm_ids
        agent.tell(decision, 1.0)
    again = reopened(store, agent)
    assert goes_on_alike(agent, again)
    assert lsdt.Agent.restore(again.snapshot()).arms_in_play == agent.arms_in_play
    again.reinstate("item11")
    with pytest.raises(InvalidInput, match="'item11' has not retired; "):
        again.reinstate("item11")


def test_relations_of_arms_that_are_gone_still_count():
    """Tea and juice lie within 2 epsilon through mate, which goes; nobody is kept out by that."""
    side = lsdt.SideInformation(
        4,
        [("tea", "mate"), ("mate", "juice")],
        [("cola", "tea")],
        arm_ids=["tea", "mate", "juice", "cola"],
        epsilon=0.1,
    )
    agent = lsdt.Agent(side, "lsdt_closure")
    agent.extend(lsdt.SideInformation(3, dissimilar=[("cola", "tea")], arm_ids=["tea", "juice", "cola"]))
    assert (agent.side.n_similar, agent.side.n_dissimilar) == (2, 1)
    assert "mate" not in agent.arms_in_play
    other = lsdt.Agent(side, "lsdt_closure")
    other.extend(lsdt.SideInformation(3, arm_ids=["tea", "juice", "cola"], epsilon=0.3))
    assert other.side.n_similar == 0  # relations at another epsilon say something else


def test_relations_of_arms_that_are_gone_keep_nobody_out():
    """Mate lies between tea and juice, and cannot be the best while both are there."""
    ids = ["tea", "mate", "juice"]
    side = lsdt.SideInformation(3, [(0, 1), (1, 2)], [(0, 2)], arm_ids=ids, epsilon=0.1)
    agent = lsdt.Agent(side, "lsdt_closure")
    assert agent.arms_in_play == ["tea", "juice"]
    agent.extend(lsdt.SideInformation(2, [(0, 1)], arm_ids=["mate", "juice"], epsilon=0.1))
    assert agent.arms_in_play == ["mate", "juice"]


def test_all_may_not_go():
    agent = lsdt.Agent(NAMED, "ucb1")
    agent.retire("item3")
    with pytest.raises(InvalidInput, match="all arms that would be in play have retired; reinstate some"):
        agent.extend(lsdt.from_means(MEANS[3:4], 0.2, arm_ids=["item3"]))
    assert len(agent.arms_in_play) == 11


def test_candidates_of_those_that_are_left_and_back():
    """By hand: of five arms on a line the ends may be the best; without the upper one, the next may."""
    side = lsdt.from_means([0.1, 0.3, 0.5, 0.7, 0.9], epsilon=0.25, arm_ids=list("abcde"))
    agent = lsdt.Agent(side, lsdt.Policy("ucb1", on="propagation"))
    agent.observe("e", 1)
    agent.extend(agent.side.subset(list("abcd")))
    assert agent.arms_in_play == ["a", "d"]
    agent.extend(side)
    agent.reinstate("e")
    assert agent.arms_in_play == ["a", "e"]
    assert agent.to_frame().set_index("arm").plays["e"] == 1


def beaten_side(*facts):
    """Four drinks; a fact is (who is beaten, by whom), each enough by itself."""
    drinks = ["tea", "mate", "cola", "juice"]
    rows = sorted((drinks.index(arm), drinks.index(by)) for arm, by in facts)
    arms, beaters = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    raters, evidence = np.full(len(rows), 90), np.full(len(rows), 9.0)
    source = BeatenSource("betting", 0.05, 60.0, arms, beaters, raters, evidence)
    return lsdt.SideInformation(4, arm_ids=drinks)._with_origin(Origin(beaten=Beaten((source,))))


def test_arms_come_back_when_all_that_beat_them_have_retired():
    side = beaten_side(("mate", "tea"), ("cola", "tea"), ("cola", "juice"))
    store = open_store("memory://")
    agent = played(lsdt.Agent.open(store, "x", side, snapshot_every=0), 20)
    assert agent.arms_in_play == ["tea", "juice"]
    plays = agent.to_frame().plays.tolist()
    agent.retire("tea")
    assert agent.arms_in_play == ["mate", "juice"]  # cola is still beaten by juice
    assert agent.to_frame().plays.tolist() == plays
    agent.retire("juice")
    assert agent.arms_in_play == ["mate", "cola"]
    again = reopened(store, agent)
    assert again.arms_in_play == ["mate", "cola"]
    assert goes_on_alike(agent, again)
    again.reinstate("tea")
    assert again.arms_in_play == ["tea", "mate", "cola"]


def test_the_last_arm_may_retire_if_others_come_back():
    agent = lsdt.Agent(beaten_side(("mate", "tea"), ("cola", "tea"), ("juice", "tea"), ("juice", "mate")))
    assert agent.arms_in_play == ["tea"]
    agent.retire("tea")
    assert agent.arms_in_play == ["mate", "cola"]
    agent.retire("cola")
    agent.retire("mate")
    assert agent.arms_in_play == ["juice"]
    with pytest.raises(InvalidInput, match="'juice' is the last arm in play"):
        agent.retire("juice")


def test_a_beater_that_is_not_allowed_excludes_no_longer():
    """Tea beats mate and cola, juice beats cola: without tea mate may be the best, without both cola, too."""
    side = beaten_side(("mate", "tea"), ("cola", "tea"), ("cola", "juice"))
    for policy in ("auto", "ts@propagation", "ucb1@triangles"):
        store = open_store("memory://")
        agent = played(lsdt.Agent.open(store, "x", side, policy=policy, snapshot_every=0), 12)
        assert {each.arm_id for each in agent.ask(8, allowed=["mate"])} == {"mate"}
        asked = agent.ask(40, allowed=["mate", "cola"])
        assert {each.arm_id for each in asked} == {"mate", "cola"}
        for each in asked:
            agent.tell(each, float(each.arm_id == "cola"))
        later = [agent.ask(allowed=["mate", "cola"], unit=f"u{number}").arm_id for number in range(10)]
        assert later.count("cola") >= 8
        assert agent.arms_in_play == ["tea", "juice"]
        slate = agent.ask(2, allowed=["mate", "cola"], distinct=True)
        assert {each.arm_id for each in slate} == {"mate", "cola"}
        again = reopened(store, agent)
        assert again.to_frame().plays.tolist() == agent.to_frame().plays.tolist()
        assert goes_on_alike(agent, again)


def test_allowed_arms_that_an_allowed_arm_or_a_relation_excludes_are_refused():
    side = beaten_side(("mate", "tea"), ("cola", "mate"), ("cola", "tea"), ("juice", "tea"))
    agent = lsdt.Agent(side)
    assert {each.arm_id for each in agent.ask(5, allowed=["mate", "cola"])} == {"mate"}  # which beat cola
    with pytest.raises(InvalidInput, match="3 different arms were asked for, and 2 may be played"):
        agent.ask(3, allowed=["mate", "cola", "juice"], distinct=True)
    relations = lsdt.SideInformation(2, better=[("tea", "mate")], arm_ids=["tea", "mate"])
    with pytest.raises(Unsupported, match=r"a relation excludes each.*agent.extend\(side.subset\(arms\)\)"):
        lsdt.Agent(relations).ask(allowed=["mate"])


def test_beaten_arms_come_back_on_a_shared_log_too():
    side = beaten_side(("mate", "tea"), ("cola", "tea"), ("cola", "juice"))
    here = lsdt.Agent.open("memory://retired", "x", side, shared=True)
    there = lsdt.Agent.open("memory://retired", "x", shared=True)
    here.retire("tea")
    assert here.arms_in_play == ["mate", "juice"]
    there.refresh()
    assert there.arms_in_play == ["mate", "juice"]
    there.retire("juice")
    here.refresh()
    assert here.arms_in_play == there.arms_in_play == ["mate", "cola"]
    assert here.ask(allowed=["cola"]).arm_id == "cola"
