"""Harm to the files of an open SQLite store: nothing is answered that the file under its name lacks."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from contextlib import closing

import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, StoreFailed
from lsdt.storage import Event, Kind, open_store
from lsdt.storage.open_files import OpenFiles
from lsdt.storage.sqlite import SqliteStore

SIDE = lsdt.SideInformation(2)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "stores").mkdir()
    return tmp_path / "stores" / "lsdt.db"


def opened(path, **options):
    return open_store(f"sqlite:///{path}", **options)


def ask(number):
    return Event(Kind.ASK, 1, number, 3)


def numbers(path):
    with opened(path, read_only=True) as store:
        return [entry.number for batch in store.read("x") for entry in batch]


def beside(path, ending):
    return path.with_name(path.name + ending)


def remove(path):
    path.unlink()


def replace(path):
    shutil.copyfile(path, beside(path, "-copy"))
    beside(path, "-copy").replace(path)


def rename(path):
    path.rename(beside(path, "-moved"))


def rename_folder(path):
    path.parent.rename(path.parent.with_name("moved"))


def remove_log(path):
    beside(path, "-wal").unlink()


def replace_log(path):
    replace(beside(path, "-wal"))


def remove_index(path):
    beside(path, "-shm").unlink()


def remove_lock(path):
    beside(path, "-lock").unlink()


def link(path):
    os.link(path, beside(path, "-link"))


def truncate(path):
    os.truncate(path, 0)


def copy_backup_over(path):
    shutil.copyfile(beside(path, "-backup"), path)


HARMS = (remove, replace, rename, rename_folder, remove_log, replace_log, remove_index, remove_lock, link)
# Where everything that was answered is afterwards.
LEFT = {
    rename: lambda path: beside(path, "-moved"),
    rename_folder: lambda path: path.parent.with_name("moved") / path.name,
    remove_log: lambda path: path,
    replace_log: lambda path: path,
    remove_index: lambda path: path,
    remove_lock: lambda path: path,
}


@pytest.mark.parametrize("harm", HARMS)
def test_nothing_is_answered_after_harm_to_the_files(path, harm):
    store = opened(path)
    store.create("x", "", b"")
    lease = store.lease("x")
    lease.append([ask(0)])
    store.verify()
    harm(path)
    said = "a second name, a hard link," if harm is link else "removed or renamed|replaced by another file"
    with pytest.raises(
        StoreFailed, match=f"({said}).*; nothing more is stored or answered. Put the file back"
    ):
        lease.append([ask(1)])
    for call in (lambda: lease.append([ask(2)]), store.verify, lambda: store.latest("x")):
        with pytest.raises(StoreFailed, match="nothing more is stored or answered"):
            call()
    if harm in LEFT:  # while the store that failed is still there, and may be killed at any moment
        assert numbers(LEFT[harm](path))[:1] == [0]
    store.close()


@pytest.mark.parametrize("harm", HARMS)
def test_an_idle_store_finds_out_when_it_is_asked_and_when_it_is_closed(path, harm):
    with opened(path) as store:
        store.create("x", "", b"")
        store.lease("x").append([ask(0)])
    store = opened(path)
    harm(path)
    with pytest.raises(StoreFailed, match="while it was open"):
        store.verify()
    store.close()
    if harm in LEFT:
        again = opened(LEFT[harm](path))
        again.close()
        assert numbers(LEFT[harm](path)) == [0]


def test_a_renamed_store_leaves_no_log_that_could_be_applied_to_a_backup(path):
    with opened(path) as store:
        store.create("x", "", b"backup")
    shutil.copyfile(path, path.parent / "backup.db")
    store = opened(path)
    store.delete("x")
    path.rename(beside(path, "-moved"))
    (path.parent / "backup.db").rename(path)
    with pytest.raises(StoreFailed, match="replaced by another file"):
        store.create("y", "", b"")
    with opened(path, read_only=True) as kept:
        assert kept.latest("x").blob == b"backup"


def test_an_agent_refuses_everything_after_its_file_is_gone(path):
    agent = lsdt.Agent.open(f"sqlite:///{path}", "drinks", SIDE, policy="ucb1")
    agent.ask()
    path.unlink()
    for call in (agent.ask, lambda: agent.tell(0, 1.0), lambda: agent.observe(0, 1.0)):
        with pytest.raises(StoreFailed, match="lsdt.db' was removed or renamed while it was open"):
            call()
    agent.close()


@pytest.mark.parametrize("harm", [truncate, copy_backup_over])
def test_nothing_is_answered_after_the_file_was_overwritten_by_a_shorter_one(path, harm):
    with opened(path) as store:
        store.create("x", "", b"")
    shutil.copyfile(path, beside(path, "-backup"))
    with opened(path) as store:
        store.lease("x").append([ask(number) for number in range(5_000)])
    store = opened(path)
    harm(path)
    for call in (store.verify, lambda: store.create("y", "", b""), lambda: store.latest("x")):
        with pytest.raises(StoreFailed, match="became shorter, as when a backup is copied over it"):
            call()
    store.close()


def test_a_file_that_became_longer_must_not_become_shorter_again(path):
    store = opened(path)
    store.create("x", "", b"")
    before = path.stat().st_size
    store.lease("x").append([ask(number) for number in range(5_000)])
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    after = path.stat().st_size
    assert after > before
    store.verify()
    os.truncate(path, (before + after) // 2)
    with pytest.raises(StoreFailed, match="became shorter"):
        store.verify()
    store.close()


def test_a_file_that_grows_while_two_threads_look_has_not_become_shorter(path, monkeypatch):
    """Whoever looked first, and compares last, compares with what the other one saw."""
    path.write_bytes(b"short")
    files, look = OpenFiles(path), os.stat

    def look_while_it_grows(name):
        found = look(name)
        monkeypatch.undo()
        path.write_bytes(b"much longer")
        assert files.complaint() is None
        return found

    monkeypatch.setattr("lsdt.storage.open_files.os.stat", look_while_it_grows)
    assert files.complaint() is None


def test_a_file_that_becomes_shorter_while_it_is_opened_is_named(path, monkeypatch):
    with opened(path) as store:
        store.create("x", "", b"")
    begin = SqliteStore._begin_writing

    def begin_and_shorten(store, durability):
        begin(store, durability)
        os.truncate(path, path.stat().st_size - 1)

    monkeypatch.setattr(SqliteStore, "_begin_writing", begin_and_shorten)
    with pytest.raises(InvalidFile, match="copied over it, while it was opened; open it again"):
        opened(path)


def test_a_file_with_several_names_is_refused(path):
    with opened(path) as store:
        store.create("x", "", b"")
    link(path)
    for name in (path, beside(path, "-link")):
        for read_only in (False, True):
            with pytest.raises(InvalidFile, match="one of 2 names of one file .*remove the other names"):
                opened(name, read_only=read_only)
    beside(path, "-link").unlink()
    opened(path).close()


def test_one_who_only_reads_hears_that_the_file_was_replaced(path):
    with opened(path) as store:
        store.create("x", "", b"")
    with opened(path, read_only=True) as reader:
        reader.verify()
        replace(path)
        with pytest.raises(StoreFailed, match="replaced by another file"):
            reader.verify()


# ---------------------------------------------------------------- the write lock, held by another program


@pytest.fixture
def other(path):
    with opened(path) as store:
        store.create("x", "", b"")
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    yield connection
    connection.close()


def test_a_store_waits_for_the_write_lock_of_another_program(path, other):
    with opened(path) as store:
        lease = store.lease("x")
        other.execute("BEGIN IMMEDIATE")
        with store.writing_at_once() as can:
            assert not can
        waiting = threading.Thread(target=store.wait_to_write)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        with store.writing_at_once() as can:  # nor is a thread that waits waited for
            assert not can
        other.execute("COMMIT")
        waiting.join()
        with store.writing_at_once() as can:
            assert can
            lease.insert([ask(0)])
        store.commit()
    assert numbers(path) == [0]


def test_the_patience_for_another_program_ends(path, other):
    with opened(path, patience=0.05) as store:
        lease = store.lease("x")
        lease.append([ask(0)])
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailed, match="has held the write lock of .* for 0.05 s; end it"):
            lease.append([ask(1)])
        other.execute("COMMIT")
        with pytest.raises(StoreFailed, match="has held the write lock"):
            lease.append([ask(1)])
    assert numbers(path) == [0]
    with pytest.raises(InvalidInput, match="patience must be positive"):
        opened(path, patience=0)


def test_a_store_that_waits_has_not_failed(path, other):
    """Another thread that opens the file meanwhile gets the same store, not a new one over it."""
    store = opened(path)
    other.execute("BEGIN IMMEDIATE")
    waiting = threading.Thread(target=store.wait_to_write)
    waiting.start()
    waiting.join(0.05)
    found = []
    opening = threading.Thread(target=lambda: found.append(opened(path)))
    opening.start()
    opening.join(0.05)
    other.execute("COMMIT")
    waiting.join()
    opening.join()
    assert found == [store]
    store.close()
    store.close()
