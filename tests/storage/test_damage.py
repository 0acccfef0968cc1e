"""Every bit of what a store reads back: changed, it is refused, or makes no difference."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from itertools import product

import httpx
import pytest

import lsdt
from lsdt.errors import DamagedStore, InvalidInput
from lsdt.service.app import create_app
from lsdt.service.hosting import Service
from lsdt.service.keys import add_key
from lsdt.service.settings import Settings
from lsdt.storage import Event, Kind, open_store

_ABOUT = '{"seed": 0, "expiry": {"after": 60, "reward": 0}}'
_SCOPES = ("keys", "sessions", "answers 1 x")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.db"
    with open_store(f"sqlite:///{path}") as store:
        store.create("x", _ABOUT, b"begin")
        lease = store.lease("x")
        lease.append([Event(Kind.ASK, 5, 0, 1, None, b"m"), Event(Kind.TELL, 6, 0, 1, 0.5)])
        lease.append([Event(Kind.ASK, 7, 1, 0)])
        for scope in _SCOPES:
            store.remember(scope, "k1", b'{"experiment": "A"}')
    return path


def content(store):
    """All that is read back; what is refused raises."""
    store.check_notes(but=("answers ", "units "))
    notes = {scope: store.recall(scope) for scope in _SCOPES}
    return store.find("x"), notes, [entry for batch in store.read("x") for entry in batch]


def flips(value):
    """Yield a value with each of its bits changed."""
    if value is None:
        return
    if isinstance(value, int):
        yield from (value ^ (1 << bit) for bit in range(62))
        return
    for bit in range(8 * len(value)):
        changed = bytearray(value)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


_COLUMNS = {
    "experiments": ("name", "created", "about", "compacted", "reserved", "checksum"),
    "notes": ("scope", "key", "time", "value", "checksum"),
    "events": ("position", "writer", "link", "kind", "time", "number", "arm", "data"),
}
_TEXTS = ("name", "about", "scope", "key")


@pytest.mark.parametrize("table", _COLUMNS)
def test_no_bit_of_a_row_changes_what_is_read(path, table):
    """A kept answer whose scope says another experiment is as good as forgotten; nothing else gets lost."""
    key, n_refused = {"experiments": "id", "notes": "scope", "events": "position"}[table], 0
    with (
        open_store(f"sqlite:///{path}", read_only=True) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("PRAGMA synchronous = OFF")
        whole = content(store)
        rows = [row for (row,) in other.execute(f"SELECT {key} FROM {table}").fetchall()]
        for row, column in product(rows, _COLUMNS[table]):
            new, old = ("CAST(? AS TEXT)", "CAST({} AS BLOB)") if column in _TEXTS else ("?", "{}")
            change = f"UPDATE {table} SET {column} = {new} WHERE {key} = "
            found = f"SELECT {old.format(column)} FROM {table} WHERE {key} = ?"
            (value,) = other.execute(found, (row,)).fetchone()
            for changed in flips(value):
                try:
                    other.execute(f"{change}?", (changed, row))
                except sqlite3.IntegrityError:  # the database itself refuses it
                    continue
                try:
                    is_lost = column == "scope" and changed.startswith(b"answers ")
                    assert content(store) == whole or is_lost, (row, column, changed)
                except InvalidInput:
                    n_refused += 1
                if column == key:
                    other.execute(f"{change}{new}", (value, changed))
                else:
                    other.execute(f"{change}?", (value, row))
        assert content(store) == whole
    assert n_refused > 500


@pytest.mark.parametrize("column", ["name", "about"])
def test_a_text_that_damage_made_null_is_refused(path, column):
    nullify(path, "experiments", column)
    with open_store(f"sqlite:///{path}", read_only=True) as store:
        (record,) = store.list()
        with pytest.raises(DamagedStore, match="does not match its checksum"):
            record.check()


def test_a_snapshot_that_damage_made_null_is_passed_over(path):
    with open_store(f"sqlite:///{path}") as store:
        store.snapshot(store.lease("x"), Event(Kind.SNAPSHOT, 8), b"later")
        store.commit()
    nullify(path, "snapshots", "blob", "WHERE position > 0")
    with open_store(f"sqlite:///{path}", read_only=True) as store:
        assert store.latest("x").blob == b"begin"


def nullify(path, table, column, which=""):
    """Write a NULL where the table allows none, as flipped bits in the header of a row do."""
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("PRAGMA writable_schema = ON")
        for kind in ("TEXT", "BLOB"):
            other.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?",
                (f"{column} {kind} NOT NULL", f"{column} {kind}", table),
            )
    with closing(sqlite3.connect(path)) as other, other:
        assert other.execute(f"UPDATE {table} SET {column} = NULL {which}").rowcount == 1


@pytest.mark.parametrize("n_lost", [1, 3])
def test_events_lost_behind_a_snapshot_are_noticed(tmp_path, n_lost):
    """The snapshot knows what they did, so nothing else would miss them until somebody exports the log."""
    path = tmp_path / "x.db"
    with lsdt.Agent.open(f"sqlite:///{path}", "x", lsdt.SideInformation(2), policy="ucb1") as agent:
        for _ in range(4):
            agent.tell(agent.ask(), 1.0)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("DELETE FROM events WHERE position > (SELECT max(position) FROM events) - ?", (n_lost,))
    with pytest.raises(DamagedStore, match="are missing; restore the store from a backup"):
        lsdt.Agent.open(f"sqlite:///{path}", "x")
    with (
        open_store(f"sqlite:///{path}", read_only=True) as store,
        pytest.raises(DamagedStore, match="are missing"),
    ):
        list(store.read("x"))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE lsdt.notes SET value = 'x' WHERE scope = 'keys'",
        "UPDATE lsdt.notes SET scope = 'keyr' WHERE scope = 'keys'",
        "UPDATE lsdt.notes SET key = 'k0' WHERE scope = 'sessions'",
        "UPDATE lsdt.experiments SET about = replace(about, '\"reward\": 0', '\"reward\": 1')",
        "UPDATE lsdt.experiments SET created = created + 1",
        "UPDATE lsdt.experiments SET reserved = reserved + 1",
        "UPDATE lsdt.events SET writer = writer # 4 WHERE number = 1",
        "UPDATE lsdt.events SET arm = 1 WHERE number = 1",
    ],
)
def test_changed_rows_of_a_database_are_refused(postgresql_url, damage):
    with open_store(postgresql_url) as store:
        store.create("x", _ABOUT, b"begin")
        lease = store.lease("x")
        lease.append([Event(Kind.ASK, 5, 0, 1), Event(Kind.ASK, 7, 1, 0)])
        store.remember_many([(scope, "k1", b"A") for scope in _SCOPES])
        store.commit()
        content(store)
        with store._writing(commit=True) as writes:
            assert writes.execute(damage).rowcount == 1
        with pytest.raises(DamagedStore, match="restore the store from a backup"):
            content(store)


def test_a_damaged_experiment_is_left_out_and_the_others_are_served(tmp_path):
    path = tmp_path / "x.db"
    service = Service(Settings(f"sqlite:///{path}"))
    for name in ("good", "bad"):
        service.make(name, lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    service._close_store()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE experiments SET about = about || ' ' WHERE name = 'bad'")
    service = Service(Settings(f"sqlite:///{path}"))
    answers = post(service, ("good", "ask", {}), ("bad", "ask", {}))
    assert [each.status_code for each in answers] == [200, 503]
    assert "does not match its checksum" in answers[1].json()["detail"]
    assert "does not match its checksum" in service.broken["bad"]
    assert list(service.hosted) == ["good"]
    service._close_store()


def post(service, *calls):
    async def run():
        transport = httpx.ASGITransport(create_app(service), client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return [
                await http.post(f"/v1/experiments/{name}/{what}", json=body, headers={"idempotency-key": "k"})
                for name, what, body in calls
            ]

    return asyncio.run(run())


def test_a_damaged_answer_is_an_error_for_its_key_alone(tmp_path):
    path = tmp_path / "x.db"
    service = Service(Settings(f"sqlite:///{path}"))
    service.make("x", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    (first,) = post(service, ("x", "ask", {}))
    service._close_store()
    with closing(sqlite3.connect(path)) as other, other:
        damage = (
            "UPDATE notes SET value = CAST(replace(CAST(value AS TEXT), '\"arm\":0', '\"arm\":1') AS BLOB)"
        )
        assert other.execute(f"{damage} WHERE scope LIKE 'answers %'").rowcount == 1
    service = Service(Settings(f"sqlite:///{path}"))
    again, told = post(service, ("x", "ask", {}), ("x", "observe", {"arm": 0, "reward": 1}))
    assert (again.status_code, again.json()["title"], told.status_code) == (500, "DamagedStore", 200)
    assert service.hosted["x"].agent.n_asked == 1
    assert first.json()["decisions"][0]["arm"] == 0
    service._close_store()


@pytest.mark.parametrize("scope", ["keys", "guard", "service"])
def test_damaged_notes_of_the_service_keep_it_from_starting(tmp_path, scope):
    path = tmp_path / "x.db"
    service = Service(Settings(f"sqlite:///{path}"))
    service.make("x", lsdt.SideInformation(2), {"policy": "ucb1"}, None)
    add_key(service.store, "read")
    service._close_store()
    with closing(sqlite3.connect(path)) as other, other:  # as one flipped bit would: the note is not found
        assert other.execute("UPDATE notes SET scope = 'x' || scope WHERE scope = ?", (scope,)).rowcount
    with pytest.raises(DamagedStore, match="a note in .* is damaged"):
        Service(Settings(f"sqlite:///{path}"))
