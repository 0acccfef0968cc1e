"""An agent in a store: what was answered is there, and nothing else; invariants of `lsdt.storage.store`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import count

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, NAMED, SIDE, Clock, goes_on_alike, played, to_bytes
from lsdt.agent.journal import insert_batch
from lsdt.agent.learner import Learner
from lsdt.errors import InvalidFile, InvalidInput, StoreFailed, StoreLocked
from lsdt.storage import Kind, open_store
from systems import needs_fork, needs_signals


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/agents.db"


def busy(agent, side=SIDE):
    played(agent, 30)
    batch = agent.ask(5, allowed=[0, 3, 11] if side is SIDE else ["item0", "item3"])
    agent.tell(batch[2], 0.5)
    agent.cancel(batch[0])
    agent.observe(7 if side is SIDE else "item7", 1.0)
    agent.retire(2 if side is SIDE else "item2")
    agent.ask(propensity=True)
    return agent


@pytest.mark.parametrize("side", [SIDE, NAMED])
@pytest.mark.parametrize("every", [0, 7, 100_000])
def test_a_name_suffices(url, side, every):
    for name, policy in (("a", "ts"), ("b", "ossb"), ("c", "auto")):
        agent = lsdt.Agent.open(url, name, side, policy=policy, seed=3, snapshot_every=every)
        busy(agent, side)
        agent.close()
        with lsdt.Agent.open(url, name) as again:
            assert again.policy == agent.policy
            assert again.side == side
            assert goes_on_alike(agent, again)
            assert len(again.pending_numbers()) == 4
            assert "item2" not in [decision.arm_id for decision in again.ask(20)]


def test_many_pending_decisions_are_folded_exactly(url):
    """The state that runs ahead is where it was, wherever the log is cut."""
    agent = lsdt.Agent.open(url, "x", SIDE, policy="ucb1", snapshot_every=0, durability="process")
    rng, waiting = np.random.default_rng(1), []
    for round_ in range(900):
        waiting.append(agent.ask())
        if round_ > 300 or rng.random() < 0.3:
            decision = waiting.pop(rng.integers(len(waiting)))
            agent.tell(decision, float(rng.random() < MEANS[decision.arm]))
        if round_ in (250, 700, 701, 823):
            agent.close()
            again = lsdt.Agent.open(url, "x", snapshot_every=0, durability="process")
            assert goes_on_alike(agent, again, rounds=60)
            agent = again
    assert len(waiting) > 100
    agent.close()


def test_asks_and_tells_go_on_after_a_damaged_snapshot(url, tmp_path):
    import sqlite3

    agent = busy(lsdt.Agent.open(url, "x", SIDE, policy="ucb1", snapshot_every=20))
    agent.close()
    connection = sqlite3.connect(tmp_path / "agents.db")
    newest = "(SELECT max(position) FROM snapshots)"
    connection.execute(f"UPDATE snapshots SET blob = substr(blob, 1, 900) WHERE position = {newest}")
    connection.commit()
    with lsdt.Agent.open(url, "x") as again:
        assert goes_on_alike(agent, again)
    connection.execute("UPDATE snapshots SET blob = x'00'")
    connection.commit()
    connection.close()
    with pytest.raises(InvalidFile, match="has no snapshot that is whole; restore a backup"):
        lsdt.Agent.open(url, "x")


def test_a_new_agent_needs_side_information_and_an_old_one_the_same(url):
    with pytest.raises(InvalidInput, match=r"no experiment 'x' in .*\(there: none yet\); give side="):
        lsdt.Agent.open(url, "x")
    options = {"policy": "ucb1", "rewards": "gaussian", "seed": 4}
    lsdt.Agent.open(url, "x", NAMED, **options).close()
    lsdt.Agent.open(url, "x", NAMED, **options).close()
    with pytest.raises(InvalidInput, match=r"has other side information; go on with agent\.extend"):
        lsdt.Agent.open(url, "x", SIDE)
    for wrong, made in (
        ({"policy": "ts"}, "policy: ucb1"),
        ({"policy": "auto"}, "policy: ucb1"),
        ({"rewards": "bernoulli"}, "rewards: gaussian with sigma 1"),
        ({"seed": 5}, "seed: 4"),
        ({"horizon": 9}, "horizon: None"),
    ):
        with pytest.raises(InvalidInput, match=f"made with another {made}; leave it out"):
            lsdt.Agent.open(url, "x", **wrong)
    lsdt.Agent.open(url, "x", epsilon=NAMED.epsilon).close()
    with pytest.raises(InvalidInput, match="has epsilon 0.2; got epsilon=0.3; leave it out"):
        lsdt.Agent.open(url, "x", epsilon=0.3)
    lsdt.Agent.open(url, "no epsilon", lsdt.SideInformation(2)).close()
    with pytest.raises(InvalidInput, match="made with another epsilon: None"):
        lsdt.Agent.open(url, "no epsilon", epsilon=0.3)
    with pytest.raises(InvalidInput, match="made with another policy: 'auto', which chose ts"):
        lsdt.Agent.open(url, "no epsilon", policy="ucb1")
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'"):
        lsdt.Agent.open(url, "x", sed=4)
    with pytest.raises(InvalidInput, match="snapshot_every must be"):
        lsdt.Agent.open(url, "x", snapshot_every=-1)
    with lsdt.Agent.open(url, "x", NAMED) as agent:  # after all that, nobody holds it
        agent.extend(lsdt.SideInformation(13, arm_ids=[*NAMED.arm_ids, "new"], epsilon=0.2))
    lsdt.Agent.open(url, "x", NAMED).close()  # a program still names what it began with


def test_one_agent_has_a_name(url):
    agent = lsdt.Agent.open(url, "x", SIDE, policy="ucb1")
    with pytest.raises(StoreLocked, match="'x' is open already, in this process"):
        lsdt.Agent.open(url, "x")
    other = lsdt.Agent.open(url, "y", SIDE, policy="ucb1")
    agent.close()
    agent.close()
    with pytest.raises(StoreFailed, match="the agent is closed; open it again"):
        agent.ask()
    played(other, 3)
    del other  # forgotten, not closed
    with lsdt.Agent.open(url, "y") as again:
        assert again.n_told == 3


KILLED = """
import sys, lsdt
agent = lsdt.Agent.open(sys.argv[1], "x", lsdt.from_means([.2, .5, .9], .3), policy="ts", snapshot_every=40)
while True:
    decision = agent.ask()
    print("asked", decision.number, decision.arm, flush=True)
    if decision.number % 5:
        agent.tell(decision, decision.number % 2)
        print("told", decision.number, decision.arm, flush=True)
"""


def test_what_was_answered_survives_a_kill(url, thorough):
    """Kill -9, again and again where there is time: nothing that was answered is lost or doubled."""
    answered = []
    for turn in range(3 if thorough else 1):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE, text=True
        ) as victim:
            for _ in range(60 + 35 * turn):
                answered.append(victim.stdout.readline().split())
            victim.kill()
            answered += [line.split() for line in victim.stdout.read().splitlines() if len(line.split()) == 3]
    with lsdt.Agent.open(url, "x") as agent:
        log = [
            ("asked" if entry.kind == Kind.ASK else "told", str(entry.number), str(entry.arm))
            for batch in agent.lease.store.read("x")
            for entry in batch
            if entry.kind in (Kind.ASK, Kind.TELL)
        ]
        assert len(set(log)) == len(log)
        assert set(map(tuple, answered)) <= set(log)
        assert len(log) - len(answered) <= 3  # one a kill may be kept and not answered
        told = [int(arm) for word, _, arm in log if word == "told"]
        assert agent.to_frame().plays.tolist() == np.bincount(told, minlength=3).tolist()


class Broken:
    """A store whose commit fails, or waits."""

    def __init__(self, store, commit):
        self._store, self.commit = store, commit

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_a_failed_commit_is_for_good_until_the_agent_is_opened_again(url):
    agent = lsdt.Agent.open(url, "x", SIDE, policy="ucb1")
    decision = agent.ask()
    store, lease = agent.lease.store, agent.lease
    real = store._writes

    class Full:
        def commit(self):
            raise sqlite_error("database or disk is full")

        def __getattr__(self, name):
            return getattr(real, name)

    store._writes = Full()
    with pytest.raises(StoreFailed, match="database or disk is full; make sure that the disk has room"):
        agent.tell(decision, 1.0)
    for call in (
        agent.ask,
        agent.snapshot,
        lambda: agent.tell(decision, 1.0),
        lambda: agent.tell(decision, 1.0, repeat="ignore"),
        lambda: agent.observe(2, 1.0),
        lambda: agent.cancel(0),
        lambda: agent.extend(SIDE),
    ):
        with pytest.raises(StoreFailed, match="disk is full"):
            call()
    store._writes = real
    assert lease.store is store
    with lsdt.Agent.open(url, "x") as again:
        assert again.n_told == 0
        again.tell(decision, 1.0)


def sqlite_error(message):
    import sqlite3

    return sqlite3.OperationalError(message)


def test_a_repeat_is_answered_after_what_it_repeats_is_kept():
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "x", SIDE, policy="ucb1")
    decision = agent.ask()
    gate, order = threading.Event(), []

    def slow():
        gate.wait(10)
        order.append("kept")
        store.commit()

    agent.lease.store = Broken(store, slow)

    def tell(repeat):
        agent.tell(decision, 1.0, repeat=repeat)
        order.append(repeat)

    first = threading.Thread(target=tell, args=("refuse",))
    first.start()
    while decision.number in agent._learner.pending:  # `state` would wait for the lock
        time.sleep(0.001)
    second = threading.Thread(target=tell, args=("ignore",))
    second.start()
    time.sleep(0.05)
    assert order == []
    gate.set()
    first.join()
    second.join()
    assert order[0] == "kept"
    assert sorted(order[1:]) == ["ignore", "refuse"]
    assert agent.n_told == 1


def test_a_group_is_kept_at_once():
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "x", SIDE, policy="ucb1")
    commits = count()
    agent.lease.store = Broken(store, lambda: (next(commits), store.commit()))
    with agent.group():
        for decision in agent.ask(10):
            agent.tell(decision, 1.0)
        assert list(store.read("x")) == []
    assert next(commits) == 1
    assert sum(len(batch) for batch in store.read("x")) == 20
    with pytest.raises(InvalidInput, match="never asked"):
        grouped(agent)
    assert sum(len(batch) for batch in store.read("x")) == 21  # as the agent has it


def test_what_was_decided_before_an_ask_fails_is_in_the_log(monkeypatch):
    """A policy of a user's own may choose an arm that there is not, after others of the same ask."""
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "drinks", SIDE, policy="ucb1", seed=3)
    decide = Learner.decide

    def fails_at_two(learner, number, *more, **options):
        if number == 2:
            raise InvalidInput("there is no such arm")
        return decide(learner, number, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "decide", fails_at_two)
        with pytest.raises(InvalidInput, match="no such arm"):
            agent.ask(5)
    agent.close()
    again = lsdt.Agent.open(store, "drinks")
    assert to_bytes(again) == to_bytes(agent)
    assert again.n_pending == 2
    assert again.ask().number == 2


def test_a_service_drains_and_commits_in_another_thread():
    store = open_store("memory://")
    agents = [lsdt.Agent.open(store, name, SIDE, policy="ucb1", snapshot_every=4) for name in "xy"]
    for agent in agents:
        agent.autocommit = False
        decision = agent.ask()
        agent.tell(decision, 1.0)
        agent.observe(3, 0.0)
        agent.ask()
    assert not store._open
    for agent in agents:
        insert_batch(agent.lease, agent.drain())
    assert list(store.read("x")) == []
    thread = threading.Thread(target=store.commit)
    thread.start()
    thread.join()
    kinds = [Kind.ASK, Kind.TELL, Kind.OBSERVE, Kind.ASK, Kind.SNAPSHOT]
    for name, agent in zip("xy", agents, strict=True):
        assert [entry.kind for batch in store.read(name) for entry in batch] == kinds
        agent.ask()
        agent.close()
        assert goes_on_alike(agent, lsdt.Agent.open(store, name))


def grouped(agent):
    with agent.group():
        agent.observe(0, 1.0)
        agent.tell(99, 1.0)


def stopping_at(stop, lines):
    """A trace that interrupts at one of the lines that lsdt runs through."""

    def trace(frame, event, _):
        if "lsdt" not in frame.f_code.co_filename:
            return None
        if event == "line" and next(lines) == stop:
            raise KeyboardInterrupt
        return trace

    return trace


def test_an_interruption_anywhere_leaves_the_agent_right_or_plainly_broken(url):
    """Stop at every line that a call runs through: either it was not done, or done, or the agent says so."""
    seen = {"right": 0, "broken": 0}
    for stop in range(0, 400, 7):
        agent = lsdt.Agent.open(f"{url}{stop}", "x", SIDE, policy="ucb1", durability="process")
        played(agent, 2)
        lines = count()
        before = agent.n_told
        sys.settrace(stopping_at(stop, lines))
        try:
            decision = agent.ask()
            agent.tell(decision, 1.0)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        try:
            live = to_bytes(agent) if agent.status.name == "open" else None
            agent.ask()
            seen["right"] += 1
            assert live is not None
        except StoreFailed as error:
            assert "open it again" in str(error)
            seen["broken"] += 1
        n_pending = len(agent.pending_numbers())
        broken = agent.status.name == "failed"
        agent.close()
        with lsdt.Agent.open(f"{url}{stop}", "x", durability="process") as again:
            assert again.n_told in (before, before + 1)
            if not broken:
                assert goes_on_alike(agent, again, rounds=3)
                assert len(again.pending_numbers()) == n_pending
            played(again, 1)
        if next(lines) <= stop:
            break
    assert min(seen.values()) > 0


@pytest.mark.usefixtures("always_compiled")  # an interpreted checksum has thousands of lines to stop at
def test_an_interrupted_close_can_be_repeated():
    """Stop at every line of close: after a second one the experiment can be opened, and the store is open.

    In memory only: an interruption at the end of a `with` statement leaves its lock taken, and that of all
    SQLite files would hold up other tests.
    """
    for stop in count():
        store = open_store("memory://")
        agent = lsdt.Agent.open(store, "x", SIDE, policy="ucb1")
        agent.ask()
        lines = count()
        sys.settrace(stopping_at(stop, lines))
        try:
            agent.close()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        agent.close()
        assert agent.lease is None
        try:
            lsdt.Agent.open(store, "x").close()
        except StoreFailed as error:  # it was interrupted while it wrote
            assert "interrupted" in str(error)
        store.close()
        if next(lines) <= stop:
            break


@needs_fork
def test_a_forked_agent_is_refused(url):
    agent = lsdt.Agent.open(url, "x", SIDE, policy="ucb1")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            agent.ask()
        except StoreFailed as error:
            code = 0 if "forked" in str(error) else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    played(agent, 2)
    agent.close()


def test_threads_share_an_agent(url):
    """Numbers are handed out once, every reward is counted, and the log is the state."""
    agent = lsdt.Agent.open(url, "x", SIDE, policy="ucb1", durability="process")
    numbers = []

    def work():
        for turn in range(60):
            decision = agent.ask()
            numbers.append(decision.number)
            if turn % 3:
                agent.tell(decision, 1.0)
            agent.tell(decision, 0.0, repeat="ignore") if turn % 3 else agent.cancel(decision)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(240))
    assert agent.n_told == 160
    agent.close()
    with lsdt.Agent.open(url, "x", durability="process") as again:
        assert goes_on_alike(agent, again)


def test_decisions_expire(monkeypatch):
    clock, agent = Clock(monkeypatch), lsdt.Agent(SIDE, "ucb1")
    first = agent.ask(3)
    clock.sleep(0.02)
    agent.ask()
    assert agent.expire(60.0) == 0
    assert agent.expire(0.01, reward=0.0) == 3
    assert agent.n_told == 3
    assert agent.pending_numbers() == [3]
    with pytest.raises(InvalidInput, match="told or cancelled before"):
        agent.tell(first[0], 1.0)
    clock.sleep(0.02)
    assert agent.expire(0.01) == 1
    assert agent.n_told == 3
    with pytest.raises(InvalidInput, match="older_than, in seconds, must be a number above 0"):
        agent.expire(-1.0)
    with pytest.raises(InvalidInput, match="rewards lie between 0 and 1"):
        agent.expire(1.0, reward=7)


def test_a_retired_arm_is_not_chosen():
    agent = lsdt.Agent(lsdt.SideInformation(3), "ucb1")
    agent.retire(0)
    assert {decision.arm for decision in agent.ask(10)} == {1, 2}
    with pytest.raises(InvalidInput, match="all arms that may be played have retired"):
        agent.ask(allowed=[0])
    agent.extend(lsdt.SideInformation(4))
    assert 0 not in {decision.arm for decision in lsdt.Agent.restore(agent.snapshot()).ask(10)}
    agent.retire(1)
    agent.retire(2)
    with pytest.raises(InvalidInput, match="last arm in play"):
        agent.retire(3)


@needs_signals
def test_a_stopped_writer_still_holds_its_store(url):
    code = f"""
import time
from lsdt.storage import open_store
store = open_store({url!r})
print("open", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "open\n"
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreLocked, match=f"by process {holder.pid} "):
            lsdt.Agent.open(url, "x", SIDE)
        holder.kill()
    lsdt.Agent.open(url, "x", SIDE, policy="ucb1").close()


def test_an_opening_that_is_refused_leaves_the_store_to_its_owner():
    with open_store("memory://") as store:
        lsdt.Agent.open(store, "x", SIDE, policy="ucb1").close()
        with pytest.raises(InvalidInput, match="was made with another policy"):
            lsdt.Agent.open(store, "x", policy="ts")
        with lsdt.Agent.open(store, "x") as agent:  # the lease was given back, and the store is open
            agent.ask()


def test_a_file_is_followed_while_it_is_written(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    with lsdt.Agent.open(url, "x", SIDE, policy="ucb1") as agent, lsdt.Agent.follow(url, "x") as follower:
        played(agent, 5)
        assert follower.n_told == 0
        follower.refresh()
        assert goes_on_alike(agent, follower)


def test_an_agent_whose_last_commit_fails_lets_the_store_go(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    agent = lsdt.Agent.open(url, "x", SIDE, policy="ucb1")
    agent.autocommit = False
    agent.ask()
    agent.autocommit = True
    (tmp_path / "x.db-wal").unlink()
    with pytest.raises(StoreFailed, match="was removed"):
        agent.close()
    agent.close()  # a second time, there is nothing left to do
    with lsdt.Agent.open(url, "x") as again:
        again.ask()
