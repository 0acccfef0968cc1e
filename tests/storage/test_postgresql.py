"""What a store in PostgreSQL must do beyond the contract: replicas, their order, races, lost connections."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, StoreFailed, StoreLocked
from lsdt.storage import Event, Kind, migrations, open_store, postgresql as postgresql_module
from postgresql_server import frozen
from systems import needs_fork


def ask(number):
    return Event(Kind.ASK, 1, number, 3)


def tell(number, reward=0.5):
    return Event(Kind.TELL, 2, number, 3, reward)


def numbers(store, after=0, **options):
    return [entry.number for batch in store.read("x", after, **options) for entry in batch]


@pytest.fixture
def replicas(postgresql_url):
    with open_store(postgresql_url) as first, open_store(postgresql_url) as second:
        first.create("x", "", b"begin")
        yield first, second


def test_replicas_share_a_log(replicas):
    leases = [store.lease("x", exclusive=False) for store in replicas]
    held = f"is open already, by process {os.getpid()} on"
    with open_store(replicas[0]._target) as third, pytest.raises(StoreLocked, match=held):
        third.lease("x")
    assert list(leases[0].append([ask(0), ask(1)])) == [True, True]
    assert list(leases[1].append([tell(0), ask(1), ask(2)])) == [True, False, True]
    assert list(leases[0].append([tell(0, 1.0), tell(2)])) == [False, True]
    assert numbers(replicas[0], settled=True) == numbers(replicas[1], settled=True) == [0, 1, 0, 2, 2]
    writers = [entry.writer for batch in replicas[0].read("x") for entry in batch]
    assert writers == [leases[0].writer] * 2 + [leases[1].writer] * 2 + [leases[0].writer]


def test_an_exclusive_lease_keeps_others_out(replicas):
    lease = replicas[0].lease("x")
    for exclusive in (True, False):
        with pytest.raises(StoreLocked, match="is open already, by process"):
            replicas[1].lease("x", exclusive=exclusive)
    lease.release()
    replicas[1].lease("x", exclusive=False)


def test_a_row_that_was_numbered_early_and_committed_late_is_not_passed_over(replicas):
    """A tail that went by the rows' numbers would have read number 1 and never seen number 0."""
    slow, fast = (store.lease("x", exclusive=False) for store in replicas)
    slow.insert([ask(0)])
    fast.append([ask(1)])
    assert numbers(replicas[1]) == [1]
    assert numbers(replicas[1], settled=True) == []  # it may still be preceded
    replicas[0].commit()
    assert numbers(replicas[1], settled=True) == [0, 1]


def test_a_race_for_one_decision_has_one_winner(replicas):
    """The loser waits for the winner's commit, looks again, and keeps the rest of its group."""
    first, second = (store.lease("x", exclusive=False) for store in replicas)
    first.append([ask(0)])
    first.insert([tell(0, 1.0)])
    found = []
    loser = threading.Thread(
        target=lambda: found.append(list(second.append([ask(5), tell(0, 0.0), tell(5)])))
    )
    loser.start()
    loser.join(0.3)
    assert loser.is_alive()
    replicas[0].commit()
    loser.join(10)
    assert found == [[True, False, True]]
    rewards = [entry.reward for batch in replicas[0].read("x") for entry in batch if entry.kind == Kind.TELL]
    assert rewards == [1.0, 0.5]
    assert list(second.append([ask(6)])) == [True]
    assert numbers(replicas[0])[-1] == 6  # and the chain of checksums is whole


def test_blocks_of_numbers_are_handed_out_once(replicas):
    leases = [store.lease("x", exclusive=False) for store in replicas]
    taken = []

    def take(store, lease):
        for _ in range(50):
            first = store.reserve_numbers(lease, 7)
            taken.extend(range(first, first + 7))

    threads = [threading.Thread(target=take, args=pair) for pair in zip(replicas, leases, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(700))


def test_a_connection_that_dies_is_for_good(replicas):
    first, second = replicas
    lease = first.lease("x")
    lease.append([ask(0)])
    pid = first._writes.info.backend_pid
    second._rows("SELECT pg_terminate_backend(%s)", (pid,))
    with pytest.raises(StoreFailed, match="make sure that the server is running"):
        lease.append([ask(1)])
    with pytest.raises(StoreFailed, match="open it again"):
        lease.append([ask(2)])
    assert numbers(second) == [0]
    assert all(second.lease("x").append([ask(1)]))  # the lock went with the connection


def test_a_server_that_is_silent_is_given_up(postgresql_url):
    with (
        open_store(postgresql_url, patience=0.3) as writer,
        open_store(postgresql_url, patience=0.3, read_only=True) as reader,
    ):
        writer.create("x", "", b"")
        lease = writer.lease("x")
        lease.append([ask(0)])
        with frozen(postgresql_url):
            with pytest.raises(StoreFailed, match="the server has been silent for 0.3 s; make sure that"):
                lease.append([ask(1)])
            for call in (lambda: lease.append([ask(2)]), writer.commit, writer.list):
                with pytest.raises(StoreFailed, match="silent"):
                    call()
            with pytest.raises(StoreFailed, match="cannot be read: the server has been silent for 0.3 s"):
                reader.list()
            writer.close()  # at once
            writer.share()
    with open_store(postgresql_url) as again:
        assert numbers(again)[:1] == [0]
        assert all(again.lease("x").append([ask(7)]))


def test_a_server_that_is_busy_is_not_silent(postgresql_url):
    """A long answer that keeps coming is waited for."""
    with open_store(postgresql_url, patience=0.15) as store:
        rows = store._rows("SELECT repeat('x', 1000000), pg_sleep(.05) FROM generate_series(1, 10)")
        assert len(rows) == 10
        with pytest.raises(StoreFailed, match="silent for 0.15 s"):
            store._rows("SELECT pg_sleep(10)")


def test_a_log_of_another_server_is_refused(replicas):
    """A dump keeps the numbers of transactions, and the server it is put into counts its own."""
    first, _ = replicas
    first.lease("x").append([ask(0)])
    with first._writing(commit=True) as writes:
        writes.execute("UPDATE lsdt.events SET transaction = '99999999999'::xid8")
    with pytest.raises(InvalidFile, match="ahead of their server.*restore a physical backup"):
        open_store(first._target)


def test_replicas_that_race_for_the_same_keys_do_not_wait_in_a_ring(replicas):
    found = [0, 0]
    notes = [("answers", str(number), b"") for number in range(40)]

    def take(at):
        for start in range(0, 40, 10):
            part = notes[start : start + 10]
            with replicas[at].transaction():
                found[at] += sum(replicas[at].remember_many(part if at else part[::-1]))

    threads = [threading.Thread(target=take, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == 40


def test_an_experiment_that_was_deleted_meanwhile_cannot_be_written_to(replicas):
    first, second = replicas
    cursor = first.cursor("x", 0)
    second.delete("x")
    with pytest.raises(InvalidInput, match="there is no experiment 'x'"):
        first.lease("x")
    second.create("x", "", b"anew")
    assert first.latest("x").blob == b"anew"
    assert first.compact("x") == 0
    assert all(first.lease("x").append([ask(0)]))  # another of the same name
    assert numbers(second) == [0]
    assert [list(each) for each in first.read_new([cursor])] == [[]]


def test_a_follower_does_not_take_another_experiment_of_the_same_name_for_its_own(postgresql_url):
    side = lsdt.SideInformation(2, [(0, 1)], epsilon=0.1)
    with open_store(postgresql_url) as first, open_store(postgresql_url) as second:
        with lsdt.Agent.open(first, "x", side, policy="ucb1") as agent:
            agent.tell(agent.ask(), 1.0)
        follower = lsdt.Agent.follow(second, "x")
        assert follower.n_told == 1
        first.delete("x")
        with lsdt.Agent.open(first, "x", side, policy="ucb1") as agent:
            agent.tell_many([(each, 0.0) for each in agent.ask(3)])
        follower.refresh()
        assert follower.n_told == 1
        follower.close()
        with lsdt.Agent.open(second, "x", shared=True) as again:
            assert again.n_told == 3


def test_a_damaged_log_is_refused(replicas):
    first, _ = replicas
    first.lease("x").append([ask(0), tell(0), ask(1)])
    with first._writing(commit=True) as writes:
        writes.execute("UPDATE lsdt.events SET reward = 1 WHERE kind = 2")
    with pytest.raises(InvalidFile, match="the log is damaged"):
        numbers(first)


def test_a_newer_schema_is_refused_and_a_failed_step_changes_nothing(postgresql_url, monkeypatch):
    with open_store(postgresql_url) as store:
        store.create("x", "", b"")
    broken = ("CREATE TABLE lsdt.later (id integer)", "INSERT INTO lsdt.nowhere VALUES (7)")
    monkeypatch.setattr(postgresql_module, "POSTGRESQL", (*migrations.POSTGRESQL, broken))
    with pytest.raises(InvalidFile, match="nowhere"):
        open_store(postgresql_url)
    monkeypatch.setattr(postgresql_module, "POSTGRESQL", (*migrations.POSTGRESQL, broken[:1]))
    with open_store(postgresql_url) as store:
        assert store._rows("SELECT count(*) FROM lsdt.later") == [(0,)]
        assert [each.name for each in store.list()] == ["x"]
    monkeypatch.undo()
    for read_only in (False, True):
        with pytest.raises(
            InvalidFile, match="tables have version 4, and this program supports versions up to 3"
        ):
            open_store(postgresql_url, read_only=read_only)


@needs_fork
def test_a_forked_child_is_refused_and_does_no_harm(replicas):
    store, _ = replicas
    lease = store.lease("x")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            lease.append([ask(0)])
        except StoreFailed as error:
            code = 0 if "forked" in str(error) else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert all(lease.append([ask(0)]))


def test_a_password_is_not_shown():
    with pytest.raises(InvalidFile, match="cannot open the store postgresql://me@localhost:1/x") as caught:
        open_store("postgresql://me:secret@localhost:1/x?connect_timeout=1")
    assert "secret" not in str(caught.value)


def test_readers_do_not_write(replicas):
    with open_store(replicas[0]._target, read_only=True) as reader:
        assert numbers(reader) == []
        with pytest.raises(InvalidInput, match="for reading only"):
            reader.create("y", "", b"")


def test_without_the_driver_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from lsdt.storage import open_store\n"
        "open_store('postgresql://localhost/x')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'lsdt[postgresql]'" in ended.stderr.splitlines()[-1]
