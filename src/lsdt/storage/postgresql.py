"""A store in a PostgreSQL database: for more than one machine, and for replicas of one experiment.

One connection writes, another reads. A lease is an advisory lock of the writing session: the server releases
it with the connection, after the last transaction of that connection has ended.

Events of replicas apply in the order of their transactions. A row gets its number when it is inserted, before
its commit: a reader that followed a sequence would skip a row that was numbered early and committed late.
Therefore a row carries the id of its transaction and its number within the transaction, a position is the
pair (transaction, row) as one integer, and readers of settled events stop before the oldest transaction still
running (``pg_snapshot_xmin``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from lsdt.errors import InvalidFile, StoreFailed
from lsdt.storage.events import CLOSING, START, Entry, Event, Kind, first_link, link_of
from lsdt.storage.migrations import POSTGRESQL, missing_steps
from lsdt.storage.postgresql_connection import PatientConnection
from lsdt.storage.sql_store import EVENT_FIELDS, Dialect, SqlStore, entry_of
from lsdt.storage.store import LogCursor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.storage.fail_stop import Connection
    from lsdt.storage.sql_store import NoteRow
    from lsdt.storage.store import Lease

_ROWS = 1 << 22  # a position is transaction * _ROWS + row, so this limits the rows of one transaction
_PATIENCE = 15.0  # seconds without an answer after which the store fails; as `tcp_user_timeout` below
# Chosen so that a server that vanishes without closing the connection is noticed within seconds.
_TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_AT_ONCE = 20_000  # rows deleted per statement; more would let the server be silent for longer
_TRIES = 6  # attempts to insert a group; each repeat means that a race with another replica was lost
_ONCE = (Kind.ASK, *CLOSING)
_SPACE = 0x6C736474  # "lsdt": the first key of our advisory locks
_INSERT = """INSERT INTO events (experiment, writer, row, link, kind, time, number, arm, reward, data)
    SELECT ?, ?, ? + turn, link, kind, time, number, arm, reward, data FROM unnest(
        ?::bytea[], ?::smallint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::float8[], ?::bytea[]
    ) WITH ORDINALITY AS event (link, kind, time, number, arm, reward, data, turn)
    ON CONFLICT DO NOTHING RETURNING kind, number"""
_POSITION = "transaction::text::bigint AS moment, row"
_SETTLED = "AND transaction < pg_snapshot_xmin(pg_current_snapshot())"
_READ_NEW = f"""SELECT at.turn, found.* FROM
    unnest(?::integer[], ?::text[], ?::bigint[]) WITH ORDINALITY AS at (experiment, transaction, row, turn),
    LATERAL (
        SELECT {_POSITION}, {EVENT_FIELDS} FROM events
        WHERE experiment = at.experiment AND (transaction, row) > (at.transaction::xid8, at.row) {_SETTLED}
        ORDER BY transaction, row LIMIT ?
    ) AS found ORDER BY at.turn, found.moment, found.row"""

_OPEN_TRANSACTIONS = """SELECT pg_snapshot_xmin(taken)::text::bigint, pg_snapshot_xmax(taken)::text::bigint
    FROM pg_current_snapshot() AS taken"""


def _position_values(position: int) -> tuple[str, int]:
    transaction, row = divmod(position, _ROWS)
    return str(transaction), row


def _positioned(rows: list[Any]) -> list[Any]:
    # Not computed in SQL, where a `numeric` product is slower, and a 64-bit product may overflow.
    return [(row[0] * _ROWS + row[1], *row[2:]) for row in rows]


class PostgresqlStore(SqlStore):
    """A store in a database; `open_store` makes it.

    Parameters
    ----------
    url : str
        The URL, as libpq accepts it.
    durability : {'full', 'process'}
        Whether a commit waits for the server's disk.
    read_only : bool
        Whether nothing is ever written.
    patience : float or None
        How many seconds the server may be silent during a call before the store fails; None for 15.
    """

    is_shared = True
    _dialect = Dialect(
        columns=_POSITION,
        positioned=_positioned,
        position="(transaction, row)",
        parameter="(?::text::xid8, ?)",
        values=_position_values,
        ascending="transaction, row",
        descending="transaction DESC, row DESC",
        experiment="name, created, about, compacted, id, reserved, checksum",
        settled=_SETTLED,
        lock="FOR NO KEY UPDATE",
        letters='key COLLATE "C"',
        end=(2**63 - 1) * _ROWS,
        has_gaps=True,
    )
    _errors = (psycopg.Error,)
    _unreadable = StoreFailed
    _remedy = "the server is running and can be reached"

    def __init__(self, url: str, durability: str, read_only: bool, patience: float | None) -> None:
        shown = _without_password(url)
        super().__init__(shown, shown, durability, _PATIENCE if patience is None else patience)
        self._target = url
        self._n_rows = 0  # events inserted in the open transaction
        with self._opening():
            self._reads = self._connect(autocommit=True)
            if read_only:
                missing_steps(_version(self._reads), POSTGRESQL, self.url)
            else:
                self._writes = self._connect(autocommit=False)
                self._migrate(self._writes)
                self._writes.execute(f"SET synchronous_commit = {'on' if durability == 'full' else 'off'}")
                self._writes.commit()
                self._check_transactions()

    def _connect(self, *, autocommit: bool) -> PatientConnection:
        given = conninfo_to_dict(self._target)
        more: dict[str, Any] = {name: value for name, value in _TIMEOUTS.items() if name not in given}
        made = PatientConnection.connect(self._target, autocommit=autocommit, application_name="lsdt", **more)
        made.patience = self._patience
        made.execute("SET search_path TO lsdt")
        if not autocommit:
            made.commit()
        return made

    def _migrate(self, writes: Connection) -> None:
        """Apply the missing steps in one transaction; a lock keeps other programs from doing so meanwhile."""
        writes.execute("SELECT pg_advisory_xact_lock(?, 0)", (_SPACE,))
        for number, step in missing_steps(_version(writes), POSTGRESQL, self.url):
            for statement in step:
                writes.execute(statement)
            writes.execute("DELETE FROM schema_version")
            writes.execute("INSERT INTO schema_version VALUES (?)", (number,))
        writes.commit()

    def _check_transactions(self) -> None:
        """Raise `InvalidFile` for logs from another server: it numbers transactions differently."""
        late = """SELECT 1 FROM experiments, LATERAL (
                SELECT transaction FROM events WHERE experiment = id ORDER BY transaction DESC LIMIT 1
            ) AS newest WHERE transaction >= pg_snapshot_xmax(pg_current_snapshot())"""
        if self._rows(late):
            raise InvalidFile(
                f"the logs in {self.url} are ahead of their server, which counts fewer transactions: they "
                "come from a dump of another server; restore a physical backup (pg_basebackup) instead, or "
                "use the server they were written on"
            )

    # ---------------------------------------------------------------- writing

    def _begin(self, writes: Connection) -> None:
        self._n_rows = 0  # psycopg begins the transaction with the next statement

    def _lock_log(self, writes: Connection, lease: Lease) -> str:
        lock = "pg_try_advisory_lock" if lease.exclusive else "pg_try_advisory_lock_shared"
        if writes.execute(f"SELECT {lock}(?, ?)", (_SPACE, lease.number)).fetchone()[0]:
            return ""
        newest = "SELECT pid, host FROM writers WHERE experiment = ? ORDER BY time DESC LIMIT 1"
        found = writes.execute(newest, (lease.number,)).fetchone()
        return "another process" if found is None else f"process {found[0]} on {found[1]}"

    def _unlock_log(self, lease: Lease) -> None:
        unlock = "pg_advisory_unlock" if lease.exclusive else "pg_advisory_unlock_shared"
        with self._writing(commit=True) as writes:
            writes.execute(f"SELECT {unlock}(?, ?)", (_SPACE, lease.number))

    def _insert(self, writes: Connection, lease: Lease, events: Sequence[Event]) -> Sequence[bool]:
        """Insert events with one statement; if unique indexes exclude some, repeat without those.

        Events are chained, so those after an excluded one need other links. Inserting them one by one, as
        for SQLite, would take one round trip to the server for each.
        """
        seen: set[tuple[bool, int]] = set()
        for _ in range(_TRIES):
            new = _first_of_each(events, set(seen))
            rows = [event for event, fresh in zip(events, new, strict=True) if fresh]
            may_be_there = any(event.kind in _ONCE for event in rows)
            if may_be_there:
                writes.execute("SAVEPOINT before_rows")
            link, inserted = self._insert_rows(writes, lease, rows)
            if len(inserted) == len(rows):
                lease.link = link
                if may_be_there:
                    writes.execute("RELEASE before_rows")
                return new
            writes.execute("ROLLBACK TO before_rows")
            there = {(kind == Kind.ASK, number) for kind, number in inserted}
            seen |= {key for event in rows if (key := _once(event)) is not None and key not in there}
        raise StoreFailed(f"the log of {lease.name!r} changes faster than it can be written to")

    def _insert_rows(
        self, writes: Connection, lease: Lease, events: Sequence[Event]
    ) -> tuple[bytes, Sequence[tuple[int, int]]]:
        """Insert rows; return the link of the last, and the kind and number of each row that was new."""
        link, links = lease.link, []
        for event in events:
            link = link_of(link, event)
            links.append(link)
        if not events:
            return link, []
        columns = [list(column) for column in zip(*events, strict=True)]
        columns[0] = [int(kind) for kind in columns[0]]
        if self._n_rows + len(events) >= _ROWS:
            raise StoreFailed(f"one transaction holds fewer than {_ROWS:,} events; commit more often")
        whose = (lease.number, lease.writer, self._n_rows)
        made = writes.execute(_INSERT, (*whose, links, *columns)).fetchall()
        self._n_rows += len(events)
        return link, made

    def _last_position(self, writes: Connection, lease: Lease) -> int:
        transaction: int = writes.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()[0]
        return transaction * _ROWS + self._n_rows

    def _insert_notes(self, writes: Connection, rows: Sequence[NoteRow]) -> set[tuple[str, str]]:
        scopes, keys, times, values, checksums = (list(column) for column in zip(*rows, strict=True))
        insert = """INSERT INTO notes SELECT scope, key, ?, value, checksum
            FROM unnest(?::text[], ?::text[], ?::bytea[], ?::bytea[]) AS note (scope, key, value, checksum)
            ON CONFLICT DO NOTHING RETURNING scope, key"""
        return set(writes.execute(insert, (times[0], scopes, keys, values, checksums)).fetchall())

    def _delete_rows(self, writes: Connection, table: str, which: str, values: Sequence[Any]) -> int:
        """Delete rows with statements of bounded size, so that the server is never silent for long."""
        some = f"ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE {which} LIMIT {_AT_ONCE}))"
        n_gone = 0
        while True:
            n = super()._delete_rows(writes, table, some, values)
            n_gone += n
            if n < _AT_ONCE:
                return n_gone

    # ---------------------------------------------------------------- reading

    def _start(self, number: int, after: int) -> tuple[int, dict[int, bytes], int] | None:
        return after, self._anchors(number, after), START

    def _anchors(self, number: int, after: int) -> dict[int, bytes]:
        """Return the links that events after a position are chained to, as far as they are easily found."""
        if after > START:  # replicas write at the same time: only the writer at the position is known
            return self._link_at(number, after)
        whole = """SELECT writers.id FROM writers JOIN experiments ON experiments.id = experiment
            WHERE experiment = ? AND compacted = 0"""
        return {writer: first_link(writer) for (writer,) in self._rows(whole, (number,))}

    def cursor(self, name: str, position: int) -> LogCursor:
        """Return a cursor at a position."""
        number = self.number(name)
        return LogCursor(name, number, position, self._anchors(number, position))

    def open_transactions(self) -> tuple[int, int]:
        """Return the oldest transaction that runs, and the next one."""
        (row,) = self._rows(_OPEN_TRANSACTIONS)
        return row[0], row[1]

    def read_new(self, cursors: Sequence[LogCursor], batch: int = 10_000) -> Sequence[Sequence[Entry]]:
        """Return the settled events after each cursor, with one query for all cursors."""
        found: list[list[Any]] = [[] for _ in cursors]
        if not cursors:
            return found
        transactions, rows = zip(*(_position_values(cursor.position) for cursor in cursors), strict=True)
        values = ([cursor.number for cursor in cursors], list(transactions), list(rows), batch)
        for row in self._rows(_READ_NEW, values):
            found[row[0] - 1].append(row[1:])
        found = [_positioned(each) for each in found]
        for cursor, each in zip(cursors, found, strict=True):
            if each:
                self._check_rows(cursor.number, each, cursor.links)
                cursor.position = each[-1][0]
        return [list(map(entry_of, each)) for each in found]


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    who, at, where = rest.rpartition("@")
    return f"{scheme}://{who.partition(':')[0]}{at}{where}"


def _version(connection: Connection) -> int:
    if connection.execute("SELECT to_regclass('lsdt.schema_version')").fetchone()[0] is None:
        return 0
    found = connection.execute("SELECT version FROM schema_version").fetchone()
    return int(found[0]) if found else 0


def _once(event: Event) -> tuple[bool, int] | None:
    """Return a key that must be unique in a log: of the ask of a decision, or of its end; else None."""
    return (event.kind == Kind.ASK, event.number) if event.kind in _ONCE else None


def _first_of_each(events: Sequence[Event], seen: set[tuple[bool, int]]) -> list[bool]:
    """Return for each event whether it is new: neither in `seen` nor a repeat of an earlier event."""
    new = []
    for event in events:
        key = _once(event)
        new.append(key is None or key not in seen)
        if key is not None:
            seen.add(key)
    return new
