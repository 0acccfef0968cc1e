"""Agents that are copied, pickled, or forked with their process: independent, or refused in words."""

from __future__ import annotations

import copy
import os
import pickle
import select
import signal
import threading

import numba
import pytest
from llvmlite.binding import ffi
from numba.core import compiler_lock

import lsdt
from agent.examples import SIDE, played, same_state
from lsdt.errors import InvalidInput, LostDecision, LsdtError, StoreFailed, Unsupported
from lsdt.simulation import study
from systems import skip_without_fork

_LONGEST = 60.0  # seconds after which a child is taken to hang
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda agent: pickle.loads(pickle.dumps(agent)),
}


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_a_copy_goes_on_alike_and_apart(make):
    agent = played(lsdt.Agent(SIDE, "ts", seed=3), 30)
    waiting = agent.ask()
    other = make(agent)
    assert same_state(agent, other)
    first, second = agent.ask(), other.ask()
    assert first == second
    other.tell(waiting, 1.0)  # asked before: known to both
    assert (agent.n_pending, other.n_pending) == (2, 1)
    agent.tell(waiting, 0.0)
    with pytest.raises(LostDecision):
        other.tell(first, 1.0)  # both gave the number, and this is not its own
    assert (agent.n_told, other.n_told) == (31, 31)
    other.observe(0, 1.0)
    assert agent.n_told == 31
    with pytest.raises(InvalidInput, match="copy of itself"):
        agent.merge(other)


def test_an_agent_with_a_store_is_neither_copied_nor_pickled():
    agent = lsdt.Agent.open("memory://", "x", SIDE, policy="ucb1")
    for make in COPIES.values():
        with pytest.raises(Unsupported, match=r"neither copied nor pickled.*Agent.restore\(agent.snapshot"):
            make(agent)
    agent.tell(agent.ask(), 1.0)  # and is not harmed
    lone = lsdt.Agent.restore(agent.snapshot())
    assert copy.copy(lone).n_told == 1
    agent.close()


def in_a_child(work):
    """Fork while another thread is in the middle of something, and return what `work` says in the child."""
    skip_without_fork()
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = str(work())
        except LsdtError as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException as error:
            said = f"unexpected {error!r}"
        os.write(writes, said.encode())
        os._exit(0)
    os.close(writes)
    ended, _, _ = select.select([reads], [], [], _LONGEST)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(reads) as stream:
        return stream.read() if ended else "hangs"


class Held:
    """A thread that holds a lock while this process forks."""

    def __init__(self, lock):
        self._lock, self._taken, self._done = lock, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self):
        with self._lock:
            self._taken.set()
            self._done.wait()

    def __enter__(self):
        self._thread.start()
        self._taken.wait()

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()


def test_a_forked_agent_goes_on_though_a_thread_held_its_lock():
    agent = played(lsdt.Agent(SIDE, "ucb1"), 30)
    agent.stopping()
    waiting = agent.ask()
    reads, writes = os.pipe()

    def work():
        agent.tell(waiting, 1.0)
        agent.tell(agent.ask(), 1.0)
        made = agent.ask()
        os.write(writes, pickle.dumps(made))
        agent.stopping()
        agent.close()
        return agent.n_told, len(lsdt.Agent.restore(agent.snapshot()).arms_in_play) > 0

    with Held(agent._lock):
        assert in_a_child(work) == "(32, True)"
    assert (agent.n_told, agent.n_pending) == (30, 1)
    made = pickle.loads(os.read(reads, 10_000))
    agent.ask(3)
    with pytest.raises(LostDecision):  # the parent gave that number, too
        agent.tell(made, 1.0)
    agent.tell(waiting, 1.0)
    os.close(reads)
    os.close(writes)


@pytest.mark.parametrize("lock", [compiler_lock.global_compiler_lock, ffi.lib._lock], ids=["numba", "llvm"])
def test_a_forked_child_compiles_though_a_thread_was_compiling(lock):
    agent = lsdt.Agent(SIDE, "ucb1")
    with Held(lock):
        assert in_a_child(lambda: (numba.njit(lambda x: x + 1)(1), agent.ask().number)) == "(2, 0)"


def test_a_forked_child_simulates_though_a_thread_was_loading_policies(monkeypatch):
    problem = lsdt.problems.uniform(3, 0.1, 0.9, 0.1)

    def regret():
        return lsdt.simulate(problem, ["ucb1"], horizon=10, replications=1, n_jobs=1).regret("ucb1").tolist()

    expected = regret()
    monkeypatch.setattr(study._LOADING, "loaded", set())
    with Held(study._LOADING.lock):
        assert in_a_child(regret) == repr(expected)


def test_an_agent_that_was_forked_in_the_middle_of_a_change_says_so():
    agent = lsdt.Agent(SIDE, "ucb1")
    ready, done = threading.Event(), threading.Event()

    decision, real = agent.ask(), agent._learner.apply

    def apply(*args):
        ready.set()
        done.wait()
        return real(*args)

    agent._learner.apply = apply
    thread = threading.Thread(target=agent.tell, args=(decision, 1.0))
    thread.start()
    ready.wait()
    said = in_a_child(agent.ask)
    done.set()
    thread.join()
    assert said.startswith("StoreFailed: the agent was interrupted in the middle of a change")
    assert agent.n_told == 1


@pytest.mark.parametrize("held", ["agent", "store", "reads"])
def test_a_forked_agent_with_a_store_is_refused_though_a_thread_held_a_lock(tmp_path, held):
    agent = lsdt.Agent.open(f"sqlite:///{tmp_path}/x.db", "x", SIDE, policy="ucb1")
    decision, store = agent.ask(), agent.lease.store
    lock = {"agent": agent._lock, "store": store._lock, "reads": store._read_lock}[held]

    def work():
        said = []
        for refused in (agent.ask, lambda: agent.tell(decision, 1.0), store.list, agent.snapshot):
            with pytest.raises(StoreFailed, match="this process was forked"):
                refused()
            said.append("refused")
        agent.close()
        return len(said)

    with Held(lock):
        assert in_a_child(work) == "4"
    agent.tell(decision, 1.0)
    agent.close()
