"""Decisions that a restored backup does not hold are refused, though their numbers were given again."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, strategies as st

import lsdt
from agent.examples import replica, write
from lsdt.agent.epochs import Epochs, epochs_of_array
from lsdt.errors import InvalidFile, InvalidInput, LostDecision
from lsdt.storage import open_store

SIDE = lsdt.SideInformation(3, arm_ids=["a", "b", "c"])


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from([-(2**63), 0, 5, 2**63 - 1])), max_size=40))
def test_epochs_are_those_of_a_plain_dictionary(asks):
    epochs, naive = Epochs(), {}
    for number, epoch in asks:
        if number not in naive:  # a log holds the ask of a number once
            naive[number] = epoch
            epochs.add(number, epoch)
    again = epochs_of_array(epochs.to_array(), 31)
    for found in (epochs, again, epochs.copy()):
        assert {number: found.of(number) for number in range(-1, 32)} == {
            number: naive.get(number) for number in range(-1, 32)
        }


@pytest.mark.parametrize(
    "rows", [[[0, 0, 1]], [[2, 1, 1]], [[-1, 1, 1]], [[0, 2, 1], [1, 3, 1]], [[0, 6, 1]]]
)
def test_runs_that_cannot_be_are_refused(rows):
    with pytest.raises(InvalidFile, match="epochs of decisions that were never asked for"):
        epochs_of_array(np.array(rows, np.int64), 5)


def test_an_opening_is_one_run_however_many_decisions_it_makes():
    agent = lsdt.Agent(SIDE, "ucb1")
    agent.ask(1000)
    again = lsdt.Agent.restore(agent.snapshot())
    again.tell_many([(decision, 1.0) for decision in again.ask(1000)])
    assert len(again.state().epochs.to_array()) == 2


def told_to_arms(agent):
    return agent.to_frame().set_index("arm").plays.to_dict()


def check_lost(agent, known, lost):
    """Of decisions before and after a backup, the former are taken, and the latter change nothing.

    Their numbers were given again, to other arms: pending, closed, or not given yet.
    """
    before, n_pending = told_to_arms(agent), agent.n_pending
    wrong = "was made by a log that is not here .was a backup, or an old snapshot, restored"
    for decision in lost:
        for refused in (
            lambda decision=decision: agent.tell(decision, 1.0),
            lambda decision=decision: agent.tell(decision, 1.0, repeat="ignore"),
            lambda decision=decision: agent.cancel(decision),
            lambda decision=decision: agent.cancel_before(decision),
        ):
            with pytest.raises(LostDecision, match=f"decision {decision.number} {wrong}"):
                refused()
    mixed = [(known[0], 1.0), *((decision, 1.0) for decision in lost)]
    with pytest.raises(LostDecision) as refused:
        agent.tell_many(mixed)
    assert [each.epoch for each in refused.value.decisions] == [each.epoch for each in lost]
    assert (told_to_arms(agent), agent.n_pending) == (before, n_pending)
    agent.tell_many([(decision, 1.0) for decision in known])
    for decision in known:
        before[decision.arm_id] += 1
    assert told_to_arms(agent) == before
    with pytest.raises(InvalidInput, match=f"decision {known[0].number} was told or cancelled before"):
        agent.tell(known[0], 1.0)
    assert agent.tell_many([(known[0], 1.0)]) == (0, 1)


def numbers_given_again(agent, lost):
    """Ask as often as was asked after the backup, other arms, and tell some; one number is left."""
    again = agent.ask(len(lost) - 1, allowed=["c"])
    assert {each.number for each in again} < {each.number for each in lost}
    agent.tell(again[0], 0.0)


def test_a_snapshot_in_memory():
    agent = lsdt.Agent(SIDE, "ucb1")
    known = agent.ask(4)
    blob = agent.snapshot()
    lost = agent.ask(6, allowed=["a", "b"])
    restored = lsdt.Agent.restore(blob)
    numbers_given_again(restored, lost)
    check_lost(restored, pickle.loads(pickle.dumps(known)), pickle.loads(pickle.dumps(lost)))
    number = restored.pending_numbers()[0]
    restored.tell(number, 1.0)  # a bare number is the decision that the log has
    with pytest.raises(InvalidInput, match="99 was never asked for"):
        restored.tell(99, 1.0)


def test_a_file_that_is_put_back(tmp_path):
    path, copy = tmp_path / "lsdt.db", tmp_path / "copy.db"
    agent = lsdt.Agent.open(f"sqlite:///{path}", "x", SIDE, policy="ucb1")
    known = agent.ask(4)
    agent.tell(known.pop(), 1.0)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    lost = agent.ask(6, allowed=["a", "b"])
    agent.tell(lost.pop(), 1.0)
    agent.close()
    shutil.copy(copy, path)
    for left in tmp_path.glob("lsdt.db-*"):
        left.unlink()
    with lsdt.Agent.open(f"sqlite:///{path}", "x") as restored:
        numbers_given_again(restored, lost)
        restored.snapshot()
        restored.ask(allowed=["c"])
    with lsdt.Agent.open(
        f"sqlite:///{path}", "x"
    ) as restored:  # from the snapshot, and from the log behind it
        check_lost(restored, known, lost[:-1])


def test_a_database_that_is_put_back(postgresql_url):
    """Replicas: each has its epoch, and takes the decisions of others that are in the log."""
    with open_store(postgresql_url) as store, open_store(postgresql_url) as other:
        lsdt.Agent.open(store, "x", SIDE, policy="ucb1").close()
        first = replica(store, "x")
        known = first.ask(2)
        write(first)
        tables = ("experiments", "writers", "events")
        backup = {table: store._rows(f"SELECT * FROM lsdt.{table}") for table in tables}
        second = replica(other, "x")
        lost = [*first.ask(2, allowed=["a"]), *second.ask(2, allowed=["b"])]
        for each in (first, second):
            write(each)
            each.close()
        with store._writing(commit=True) as writes:
            writes.execute("DELETE FROM lsdt.snapshots WHERE position > 0")
            writes.execute("DELETE FROM lsdt.events")
            writes.execute("DELETE FROM lsdt.writers")
            writes.execute(
                "UPDATE lsdt.experiments SET reserved = %s, checksum = %s", backup["experiments"][0][5:]
            )
            for table in tables[1:]:
                for row in backup[table]:
                    values = ", ".join(["%s"] * len(row))
                    writes.execute(f"INSERT INTO lsdt.{table} VALUES ({values})", row)
        third, fourth = replica(store, "x"), replica(other, "x")
        again = [third.ask() for _ in range(3)]
        write(third)
        assert {each.number for each in again} & {each.number for each in lost}
        for each in (third, fourth):
            for decision in lost:
                with pytest.raises(LostDecision, match=f"decision {decision.number} was made by a log"):
                    each.tell(decision, 1.0)
        with pytest.raises(LostDecision):
            fourth.tell(again[0], 1.0)  # not read yet: a service looks into the log, and tries again
        fourth.refresh()
        fourth.tell_many([(decision, 1.0) for decision in (*known, *again)])
        assert write(fourth) == [True] * 5
        fourth.refresh()
        assert fourth.n_told == 5
        third.close()
        fourth.close()
