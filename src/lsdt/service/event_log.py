"""The log of an experiment for others to read: JSON lines, or Parquet."""

from __future__ import annotations

import io
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from lsdt.agent import SIGNED, first_decision, signature_of
from lsdt.storage import CLOSING, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lsdt.side_information import SideInformation
    from lsdt.storage import Entry, Store

_WORDS = {int(kind): kind.name.lower() for kind in Kind}
_OF_DECISIONS = (Kind.ASK, *CLOSING, Kind.REPLACE)
_WITHOUT_REWARD = (Kind.ASK, Kind.RETIRE, Kind.TOLERANCE)  # which keep something else in its place
_ENCODER = msgspec.json.Encoder()
_BATCH = 5_000  # events read at a time: about half a megabyte of JSON


def entries(store: Store, name: str, after: int, limit: int | None) -> Iterator[Sequence[Entry]]:
    """Yield up to `limit` events after a position, in batches: those that nothing can precede any more."""
    left = limit
    size = _BATCH if limit is None else min(_BATCH, max(1, limit))
    for batch in store.read(name, after, settled=True, batch=size):
        part = batch if left is None else list(islice(batch, left))
        if part:
            yield part
        if left is not None:
            left -= len(part)
            if left <= 0:
                return


def as_row(entry: Entry, side: SideInformation) -> dict[str, Any]:
    """Return an event as a row of the log that users read.

    For a decision of a unit that had asked before, `first` is the number of its first decision. `by` and
    `reason` say who took an action, and why. The store holds the propensity of an ask in the column of the
    reward, and arms by number, which never changes.
    """
    is_ask, word = entry.kind == Kind.ASK, _WORDS.get(entry.kind, str(entry.kind))
    is_reward = entry.kind not in _WITHOUT_REWARD
    signed = signature_of(entry.data) if entry.kind in SIGNED else None
    if entry.kind == Kind.RETIRE and entry.reward == 0.0:
        word = "reinstate"
    return {
        "position": entry.position,
        "time": entry.time / 1e6,
        "event": word,
        "decision": entry.number if entry.number >= 0 and entry.kind in _OF_DECISIONS else None,
        "arm": side.label(entry.arm) if 0 <= entry.arm < side.n_arms else None,
        "reward": entry.reward if is_reward else None,
        "propensity": entry.reward if is_ask else None,
        "first": first_decision(entry.data) if is_ask else None,
        "tolerance": entry.reward if entry.kind == Kind.TOLERANCE else None,
        "by": signed.by or None if signed else None,
        "reason": signed.reason or None if signed else None,
    }


def json_lines(batch: Sequence[Entry], side: SideInformation) -> bytes:
    """Return events as JSON, one a line."""
    return _ENCODER.encode_lines([as_row(entry, side) for entry in batch])


def parquet(batches: Iterator[Sequence[Entry]], side: SideInformation) -> bytes:
    """Return events as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids = pa.string() if side.arm_ids is not None and isinstance(side.label(0), str) else pa.int64()
    schema = pa.schema(
        [
            ("position", pa.int64()),
            ("time", pa.float64()),
            ("event", pa.string()),
            ("decision", pa.int64()),
            ("arm", ids),
            ("reward", pa.float64()),
            ("propensity", pa.float64()),
            ("first", pa.int64()),
            ("tolerance", pa.float64()),
            ("by", pa.string()),
            ("reason", pa.string()),
        ]
    )
    target = io.BytesIO()
    with pq.ParquetWriter(target, schema) as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_pylist([as_row(each, side) for each in batch], schema))
    return target.getvalue()
