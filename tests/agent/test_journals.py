from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, NAMED, SIDE, played, same_state
from lsdt.errors import InvalidFile, InvalidInput


def busy(record, side=SIDE):
    agent = played(lsdt.Agent(side, "ts", seed=3, record=record), 30)
    batch = agent.ask(5, allowed=[0, 3, 11] if side is SIDE else ["item0", "item3"])
    agent.tell(batch[2], 0.5)
    agent.cancel(batch[0])
    agent.observe(7 if side is SIDE else "item7", 1.0)
    agent.ask(propensity=True)
    return agent


@pytest.mark.parametrize("side", [SIDE, NAMED])
def test_an_agent_is_rebuilt_from_its_record(side, tmp_path):
    path = tmp_path / "deep/agent.jsonl"
    for record in ([], path):
        agent = busy(record, side)
        again = lsdt.Agent.rebuild(record, side)
        assert same_state(agent, again)
        assert agent.ask() == again.ask()
    assert json.loads(path.read_text().splitlines()[0])["event"] == "begin"


def test_a_rebuilt_agent_writes_on_and_a_torn_line_is_dropped(tmp_path):
    path = tmp_path / "agent.jsonl"
    agent = busy(path)
    with path.open("a") as file:
        file.write('{"event": "tell", "numb')  # the machine stopped here
    again = lsdt.Agent.rebuild(path, SIDE)
    assert same_state(agent, again)
    played(again, 10)
    assert same_state(again, lsdt.Agent.rebuild(path, SIDE))


def test_a_restored_agent_may_write_on(tmp_path):
    path = tmp_path / "agent.jsonl"
    agent = busy(path)
    again = lsdt.Agent.restore(agent.snapshot(), record=path)
    played(again, 10)
    assert same_state(again, lsdt.Agent.rebuild(path, SIDE))


def test_a_snapshot_and_a_record_combine(tmp_path):
    """Restored from an old snapshot, the agent plays what came after it again, out of the record."""
    path = tmp_path / "agent.jsonl"
    agent = busy(path)
    blob = agent.snapshot()
    played(agent, 25)
    agent.ask(2)
    again = lsdt.Agent.restore(blob, record=path)
    assert same_state(agent, again)
    played(again, 5)
    assert same_state(again, lsdt.Agent.rebuild(path, SIDE))
    with pytest.raises(InvalidInput, match="holds 0 events"):
        lsdt.Agent.restore(blob, record=[])
    with pytest.raises(InvalidInput, match="give that record, or none"):
        lsdt.Agent.restore(lsdt.Agent(SIDE).snapshot(), record=path)


def test_a_record_is_not_begun_twice(tmp_path):
    path = tmp_path / "agent.jsonl"
    busy(path)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match=r"is not empty; Agent\.rebuild"):
        lsdt.Agent(SIDE, record=path)
    (tmp_path / "notes.txt").write_text("my notes\nlast line")
    with pytest.raises(InvalidInput, match="is not empty"):
        lsdt.Agent(SIDE, record=tmp_path / "notes.txt")
    assert path.read_bytes() == before
    assert (tmp_path / "notes.txt").read_text() == "my notes\nlast line"
    with pytest.raises(InvalidFile, match="a record is a file"):
        lsdt.Agent(SIDE, record=tmp_path)
    with pytest.raises(InvalidInput, match="list for the record is not empty"):
        lsdt.Agent(SIDE, record=[1])


def test_what_cannot_be_written_down_is_not_learned(tmp_path):
    agent = lsdt.Agent(SIDE, "ucb1", record=tmp_path / "agent.jsonl")
    decision = agent.ask()
    agent._journal._file.close()
    agent._journal._file = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115
    before = agent.snapshot()
    for call in (lambda: agent.tell(decision, 1.0), lambda: agent.observe(2, 1.0), lambda: agent.cancel(0)):
        with pytest.raises(InvalidFile, match=r"cannot be written.*Agent\.rebuild"):
            call()
    assert agent.snapshot() == before
    again = lsdt.Agent.rebuild(tmp_path / "agent.jsonl", SIDE)
    again.tell(decision, 1.0)


def test_an_epsilon_given_to_the_agent_is_part_of_the_record():
    side, record = lsdt.SideInformation(3, [(0, 1)]), []
    agent = lsdt.Agent(side, "ckl_ucb", epsilon=0.1, record=record)
    agent.tell(agent.ask(), 1.0)
    agent.extend(lsdt.SideInformation(4, [(0, 1), (2, 3)]))
    assert agent.side.epsilon == 0.1
    again = lsdt.Agent.rebuild(record, side, lsdt.SideInformation(4, [(0, 1), (2, 3)]))
    assert same_state(agent, again)
    with pytest.raises(InvalidInput, match="does not extend the agent with the last 1"):
        lsdt.Agent.rebuild(record[:3], side, side)


def test_extending_does_not_draw_again_and_auto_chooses_again():
    agent = lsdt.Agent(SIDE, "ts", seed=1)
    arms = []
    for _ in range(12):
        agent.extend(SIDE)
        decision = agent.ask()
        agent.cancel(decision)
        arms.append(decision.arm)
    assert len(set(arms)) > 3
    record = []
    complete = lsdt.complete(SIDE.n_arms, SIDE.similar_pairs())
    auto = lsdt.Agent(complete, record=record)
    assert auto.policy.name == "lsdt_csi"
    partial = lsdt.SideInformation(13, SIDE.similar_pairs())
    auto.extend(partial)
    assert auto.policy.name == "ts"
    assert lsdt.Agent.restore(auto.snapshot()).policy.name == "ts"
    assert lsdt.Agent.rebuild(record, complete, partial).policy.name == "ts"


def test_records_that_do_not_fit_are_refused(tmp_path):
    record = []
    busy(record)
    with pytest.raises(InvalidInput, match="not the side information that the record was made with"):
        lsdt.Agent.rebuild(record, NAMED)
    wrong = [dict(event) for event in record]
    wrong[1]["arm"] = (wrong[1]["arm"] + 1) % 12
    with pytest.raises(InvalidFile, match="event 2 of the record is decision 0 for arm"):
        lsdt.Agent.rebuild(wrong, SIDE)
    with pytest.raises(InvalidFile, match="unknown kind: 'dance'"):
        lsdt.Agent.rebuild([record[0], {"event": "dance"}], SIDE)
    for nothing in ([], [{"x": 1}], [{"event": "begin", "format": 99}]):
        with pytest.raises(InvalidFile):
            lsdt.Agent.rebuild(nothing, SIDE)
    (tmp_path / "bad.jsonl").write_text("{}\nnot json\n")
    with pytest.raises(InvalidFile, match="line 2 of .* is not JSON"):
        lsdt.Agent.rebuild(tmp_path / "bad.jsonl", SIDE)
    with pytest.raises(InvalidFile, match="cannot read the record"):
        lsdt.Agent.rebuild(tmp_path / "none.jsonl", SIDE)


def test_extending_keeps_what_was_learned():
    record = []
    partial = SIDE.reveal(0.3, 0.3, seed=1).explicit()
    agent = played(lsdt.Agent(partial, lsdt.Policy("ucb1", on="paper"), record=record), 200)
    waiting = agent.ask()
    before = agent.to_frame().set_index("arm")
    change = agent.extend(SIDE)
    after = agent.to_frame().set_index("arm")
    assert after[["plays", "mean"]].equals(before[["plays", "mean"]])
    assert set(agent._learner.arms) == set(lsdt.candidate_set(SIDE).arms)
    assert change.new_arms == []
    assert len(change.out_of_play) > 0
    assert "no more" in change.text
    agent.tell(waiting, 1.0)
    state = agent._learner.player.state
    assert state.counts.tolist() == agent._learner.counts[agent._learner.arms].tolist()
    assert np.allclose(state.sums, agent._learner.sums[agent._learner.arms])
    assert same_state(agent, lsdt.Agent.rebuild(record, partial, SIDE))
    with pytest.raises(InvalidInput, match="was not given"):
        lsdt.Agent.rebuild(record, partial)


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
    fewer = lsdt.from_means(MEANS[:5], 0.2, arm_ids=[f"item{i}" for i in range(5)])
    with pytest.raises(InvalidInput, match="there is no arm"):
        agent.extend(fewer)
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
