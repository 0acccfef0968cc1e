"""One log of events by URL: what an agent was asked and told, kept so that nothing answered is lost.

`store` is the protocol and its invariants, `events` what is in a log and the checksums that chain it. A
store is one of `memory`, `sqlite` and `postgresql`; `migrations` holds their tables, `file_systems` says
which disks SQLite cannot trust, `open_files` whether its files are still in their places, `forks` that a
child may not use a store of its parent.
"""

from lsdt.storage.events import Entry, Event, Kind, new_epoch, now
from lsdt.storage.store import ExperimentRecord, Lease, LogCursor, Snapshot, Store, open_store

__all__ = [
    "Entry",
    "Event",
    "ExperimentRecord",
    "Kind",
    "Lease",
    "LogCursor",
    "Snapshot",
    "Store",
    "new_epoch",
    "now",
    "open_store",
]
