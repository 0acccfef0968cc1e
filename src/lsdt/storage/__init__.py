"""Logs of events by URL: what an agent was asked and told, stored so that nothing acknowledged is lost.

`store` defines the interface and its invariants, `events` the events and the checksums that chain them.
`memory` is a store in memory; `sqlite` and `postgresql` are dialects of `sql_store`, which uses the two
connections of `fail_stop`. `migrations` has the tables, `postgresql_connection` gives up on a silent server,
`file_systems` and `open_files` guard SQLite's files, and `forks` keeps child processes from using a parent's
store.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
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
