"""What a store in a file must do beyond the contract: locks, forks, damage, migrations."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lsdt.errors import InvalidFile, InvalidInput, StoreFailed, StoreLocked
from lsdt.storage import Event, Kind, migrations, open_store, sqlite as sqlite_module
from lsdt.storage.file_systems import network_file_system
from systems import needs_fork, needs_links

ASK = Event(Kind.ASK, 1, 0, 3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lsdt.db"


def opened(path, **options):
    return open_store(f"sqlite:///{path}", **options)


def filled(path, n=5):
    with opened(path) as store:
        store.create("x", "", b"begin")
        store.lease("x").append([Event(Kind.OBSERVE, 1, -1, arm, 0.5) for arm in range(n)])


@needs_links
def test_a_second_process_is_refused_by_the_process_id_of_the_first(path):
    (path.parent / "alias").symlink_to(path.parent, target_is_directory=True)
    link = path.parent / "alias" / "link.db"  # which has the same lock
    link.symlink_to(path)
    code = f"from lsdt.storage import open_store; open_store('sqlite:///{link}')"
    with opened(path):
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert second.returncode == 1
        assert f"is being written by process {os.getpid()} on " in second.stderr.splitlines()[-1]
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_readers_come_while_a_writer_works(path):
    filled(path)
    with opened(path) as store:
        lease = store.lease("x")
        lease.insert([ASK])
        code = (
            "from lsdt.storage import open_store; "
            f"store = open_store('sqlite:///{path}', read_only=True); "
            "print(sum(len(batch) for batch in store.read('x')))"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "5"
        with opened(path, read_only=True) as reader, pytest.raises(InvalidInput, match="for reading only"):
            reader.lease("x")
    with pytest.raises(InvalidFile, match="there is no store"):
        opened(path.with_name("none.db"), read_only=True)


@needs_links
def test_in_one_process_a_file_is_opened_once(path):
    with opened(path) as first, opened(path) as second:
        assert first is second
        with pytest.raises(InvalidInput, match="with durability='full'"):
            opened(path, durability="process")
    link = path.with_name("link.db")
    link.symlink_to(path)
    with opened(path, durability="process") as first:
        assert open_store(f"sqlite:///{link}", durability="process") is first
        first.close()


@needs_fork
def test_a_forked_child_is_refused_and_does_no_harm(path):
    filled(path)
    with opened(path) as store:
        lease = store.lease("x")
        lease.append([ASK])
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                lease.append([ASK._replace(number=1)])
            except StoreFailed as error:
                code = 0 if "forked" in str(error) else 2
            try:
                opened(path)
                code = 3
            except StoreLocked:
                pass
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        lease.append([ASK._replace(number=2)])
        assert sum(len(batch) for batch in store.read("x")) == 7


@pytest.mark.parametrize("statement", ["COMMIT", "BEGIN IMMEDIATE", "INSERT INTO events"])
def test_a_failure_is_for_good_until_the_store_is_opened_again(path, statement):
    """Whatever fails, nothing of the group is kept, and nothing more is written."""
    filled(path)
    store = opened(path)
    lease = store.lease("x")
    lease.append([ASK])
    store._writes = Failing(store._writes, statement)
    with pytest.raises(StoreFailed, match="disk I/O error; make sure that the disk has room"):
        lease.append([ASK._replace(number=1)])
    store._writes = store._writes.real
    for call in (
        lambda: lease.append([ASK._replace(number=2)]),
        store.commit,
        lambda: list(store.read("x")),
        lambda: store.latest("x"),
    ):
        with pytest.raises(StoreFailed, match="open it again: everything that was answered is in it"):
            call()
    with opened(path) as again:  # without closing the first
        assert sum(len(batch) for batch in again.read("x")) == 6
        again.lease("x").append([ASK._replace(number=1)])


def test_a_failed_store_that_is_discarded_late_leaves_the_new_one_alone(path):
    filled(path)
    failed = opened(path)
    failed._writes = Failing(failed._writes, "COMMIT")
    with pytest.raises(StoreFailed, match="disk I/O error"):
        failed.create("y", "", b"")
    with opened(path) as again:
        failed.discard()
        with opened(path) as shared:
            assert shared is again
        again.lease("x").append([ASK])


class Failing:
    """A connection on which one statement fails."""

    def __init__(self, real, statement):
        self.real, self.statement = real, statement

    def execute(self, statement, *values):
        if statement.startswith(self.statement):
            raise sqlite3.OperationalError("disk I/O error")
        return self.real.execute(statement, *values)

    def commit(self):
        self.execute("COMMIT")

    def __getattr__(self, name):
        return getattr(self.real, name)


def test_an_interrupted_insert_is_plainly_broken(path, monkeypatch):
    filled(path)
    store = opened(path)
    lease = store.lease("x")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sqlite_module, "link_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lease.append([ASK])
    monkeypatch.undo()
    with pytest.raises(StoreFailed, match="interrupted while it wrote; open it again"):
        lease.append([ASK])
    with opened(path) as again:
        assert sum(len(batch) for batch in again.read("x")) == 5


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET reward = 0.25 WHERE position = 3",
        "UPDATE events SET reward = NULL WHERE position = 5",
        "UPDATE events SET arm = arm + 1 WHERE position = 1",
        "UPDATE events SET data = x'00' WHERE position = 2",
        "DELETE FROM events WHERE position = 2",
        "UPDATE events SET position = -position WHERE position IN (2, 3); "
        "UPDATE events SET position = 5 + position WHERE position < 0",
    ],
)
def test_a_log_that_was_changed_is_refused(path, damage):
    filled(path)
    connection = sqlite3.connect(path)
    connection.executescript(damage)
    connection.close()
    with opened(path) as store, pytest.raises(InvalidFile, match="the log is damaged: .* position"):
        list(store.read("x"))


def test_files_that_are_no_store_are_refused(path):
    path.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(InvalidFile, match="file is not a database"):
        opened(path)
    assert path.read_bytes().startswith(b"not a database")
    other = path.with_name("other.db")
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    for read_only in (False, True):
        with pytest.raises(InvalidFile, match="database of another program"):
            opened(other, read_only=read_only)
    with pytest.raises(InvalidFile, match="is a folder"):
        opened(path.parent)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_schema_of_bytes_that_are_no_text_is_refused(path, read_only):
    """Python cannot even read what SQLite says of it."""
    filled(path)
    content = path.read_bytes()
    assert content.count(b"CREATE TABLE holder") == 1
    damaged = content.replace(b"CREATE TABLE holder", b"CR\xb1ATE TABLE holder")
    path.write_bytes(damaged)
    with pytest.raises(InvalidFile, match="cannot open the store .*: the file is damaged"):
        opened(path, read_only=read_only)
    assert path.read_bytes() == damaged


def test_a_newer_schema_is_refused_and_an_older_one_goes_forward(path, monkeypatch):
    filled(path)
    step = ("CREATE TABLE later (id INTEGER)", "INSERT INTO later VALUES (7)")
    monkeypatch.setattr(sqlite_module, "SQLITE", (*migrations.SQLITE, step))
    with opened(path) as store:
        assert sum(len(batch) for batch in store.read("x")) == 5
        assert store._rows("SELECT id FROM later") == [(7,)]
    monkeypatch.undo()
    for read_only in (False, True):
        with pytest.raises(
            InvalidFile, match="tables have version 4, and this program supports versions up to 3; upg"
        ):
            opened(path, read_only=read_only)


@pytest.mark.parametrize("version", [1, 2])
def test_tables_without_epochs_and_checksums_are_refused_and_left_alone(path, version):
    filled(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(InvalidFile, match=f"earlier lsdt: its tables have version {version}.*prior="):
            opened(path, read_only=read_only)
    assert path.read_bytes() == before


def test_who_reads_hears_of_a_name_that_was_given_again(path):
    filled(path)
    with opened(path) as writes, opened(path, read_only=True) as reads:
        cursor = reads.cursor("x", 5)
        writes.delete("x")
        with pytest.raises(InvalidInput, match="there is no experiment 'x'"):
            reads.read("x")
        writes.create("x", "", b"anew")
        writes.lease("x").append([ASK._replace(number=number) for number in range(7)])
        assert reads.latest("x").blob == b"anew"
        assert sum(len(batch) for batch in reads.read("x")) == 7
        assert list(reads.read_new([cursor])[0]) == []


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    filled(path)
    steps = ("CREATE TABLE later (id INTEGER)", "INSERT INTO nowhere VALUES (7)")
    monkeypatch.setattr(sqlite_module, "SQLITE", (*migrations.SQLITE, steps))
    with pytest.raises(InvalidFile, match="no such table: nowhere"):
        opened(path)
    monkeypatch.undo()
    with opened(path) as store:
        assert sum(len(batch) for batch in store.read("x")) == 5
        assert store._rows("SELECT count(*) FROM sqlite_master WHERE name = 'later'") == [(0,)]


def test_network_file_systems_are_refused(path, monkeypatch):
    mounts = "/dev/sda1 / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\nx /home/local\\040disk ext4 rw 0 0\n"
    assert network_file_system(Path("/home/me"), mounts) == "nfs4"
    assert network_file_system(Path("/home/local disk/me"), mounts) == ""
    assert network_file_system(Path("/var"), mounts) == ""
    assert network_file_system(path) == ""
    monkeypatch.setattr(sqlite_module, "network_file_system", lambda _: "nfs4")
    with pytest.raises(
        InvalidFile, match=r"network file system \(nfs4\).*use a local disk, or postgresql://"
    ):
        opened(path)


def test_full_durability_syncs_every_commit(path):
    with opened(path) as store:
        assert store._writes.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert store._writes.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with opened(path, durability="process") as store:
        assert store._writes.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL
