"""The tables of a store, as forward-only migration steps.

A database has a version. Missing steps are applied in one transaction; unsupported versions are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.errors import InvalidFile

if TYPE_CHECKING:
    from collections.abc import Sequence

APPLICATION = 0x6C736474  # "lsdt": marks our SQLite files
# The version after the first step. In earlier versions, writers had consecutive numbers and notes no
# checksum.
FIRST = 3

SQLITE: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE experiments (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused
            name TEXT NOT NULL UNIQUE,
            created INTEGER NOT NULL,
            about TEXT NOT NULL,
            compacted INTEGER NOT NULL DEFAULT 0,
            reserved INTEGER NOT NULL DEFAULT 0,
            checksum BLOB NOT NULL DEFAULT x''
        )""",
        """CREATE TABLE events (
            experiment INTEGER NOT NULL REFERENCES experiments (id),
            position INTEGER NOT NULL,
            writer INTEGER NOT NULL,
            link BLOB NOT NULL,
            kind INTEGER NOT NULL,
            time INTEGER NOT NULL,
            number INTEGER NOT NULL,
            arm INTEGER NOT NULL,
            reward REAL,
            data BLOB,
            PRIMARY KEY (experiment, position)
        ) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX asked_once ON events (experiment, number) WHERE kind = 1",
        "CREATE UNIQUE INDEX closed_once ON events (experiment, number) WHERE kind IN (2, 4, 5)",
        """CREATE TABLE snapshots (
            experiment INTEGER NOT NULL REFERENCES experiments (id),
            position INTEGER NOT NULL,
            time INTEGER NOT NULL,
            blob BLOB NOT NULL,
            checksum BLOB NOT NULL,
            PRIMARY KEY (experiment, position)
        )""",
        """CREATE TABLE writers (
            id INTEGER PRIMARY KEY, -- random
            experiment INTEGER NOT NULL REFERENCES experiments (id),
            pid INTEGER NOT NULL,
            host TEXT NOT NULL,
            time INTEGER NOT NULL
        )""",
        """CREATE TABLE notes (
            scope TEXT NOT NULL,
            key TEXT NOT NULL,
            time INTEGER NOT NULL,
            value BLOB NOT NULL,
            checksum BLOB NOT NULL,
            PRIMARY KEY (scope, key)
        ) WITHOUT ROWID""",
        "CREATE TABLE holder (id INTEGER PRIMARY KEY CHECK (id = 1), pid INTEGER, host TEXT, time INTEGER)",
    ),
)

POSTGRESQL: tuple[tuple[str, ...], ...] = (
    (
        "CREATE SCHEMA IF NOT EXISTS lsdt",
        "CREATE TABLE lsdt.schema_version (version integer NOT NULL)",
        """CREATE TABLE lsdt.experiments (
            id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL UNIQUE,
            created bigint NOT NULL,
            about text NOT NULL,
            compacted numeric NOT NULL DEFAULT 0,
            reserved bigint NOT NULL DEFAULT 0,
            checksum bytea NOT NULL DEFAULT ''
        )""",
        """CREATE TABLE lsdt.events (
            experiment integer NOT NULL REFERENCES lsdt.experiments (id),
            transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
            row integer NOT NULL,
            writer bigint NOT NULL,
            link bytea NOT NULL,
            kind smallint NOT NULL,
            time bigint NOT NULL,
            number bigint NOT NULL,
            arm bigint NOT NULL,
            reward double precision,
            data bytea,
            PRIMARY KEY (experiment, transaction, row)
        )""",
        "CREATE UNIQUE INDEX asked_once ON lsdt.events (experiment, number) WHERE kind = 1",
        "CREATE UNIQUE INDEX closed_once ON lsdt.events (experiment, number) WHERE kind IN (2, 4, 5)",
        """CREATE TABLE lsdt.snapshots (
            experiment integer NOT NULL REFERENCES lsdt.experiments (id),
            position numeric NOT NULL,
            time bigint NOT NULL,
            blob bytea NOT NULL,
            checksum bytea NOT NULL,
            PRIMARY KEY (experiment, position)
        )""",
        """CREATE TABLE lsdt.writers (
            id bigint PRIMARY KEY, -- random
            experiment integer NOT NULL REFERENCES lsdt.experiments (id),
            pid bigint NOT NULL,
            host text NOT NULL,
            time bigint NOT NULL
        )""",
        """CREATE TABLE lsdt.notes (
            scope text NOT NULL,
            key text COLLATE "C" NOT NULL, -- so that keys with one beginning lie side by side
            time bigint NOT NULL,
            value bytea NOT NULL,
            checksum bytea NOT NULL,
            PRIMARY KEY (scope, key)
        )""",
    ),
)


def missing_steps(
    seen: int, steps: Sequence[tuple[str, ...]], where: str
) -> list[tuple[int, tuple[str, ...]]]:
    """Return the steps that a database lacks, with their versions; raise `InvalidFile` if unsupported."""
    newest = FIRST + len(steps) - 1
    if seen > newest:
        raise InvalidFile(
            f"{where} was written by a newer lsdt: its tables have version {seen}, and this program supports "
            f"versions up to {newest}; upgrade lsdt"
        )
    if 0 < seen < FIRST:
        raise InvalidFile(
            f"{where} was written by an earlier lsdt: its tables have version {seen}, and this program "
            f"supports versions from {FIRST} on. Its decisions do not say which opening of the log made "
            "them, so after restoring a backup rewards could go to the wrong arms. Export the rewards with "
            "the lsdt that wrote it (GET .../events), and start a new store with them as "
            "prior=(arms, rewards)"
        )
    return [(version, step) for version, step in enumerate(steps, start=FIRST) if version > seen]
