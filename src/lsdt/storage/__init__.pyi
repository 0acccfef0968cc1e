from .events import (
    CLOSING as CLOSING,
    Entry as Entry,
    Event as Event,
    Kind as Kind,
    event_of as event_of,
    new_epoch as new_epoch,
    now as now,
)
from .forks import FORKED as FORKED, watch_forks as watch_forks
from .store import (
    UNITS as UNITS,
    ExperimentRecord as ExperimentRecord,
    Lease as Lease,
    LogCursor as LogCursor,
    Snapshot as Snapshot,
    Store as Store,
    another as another,
    checked_name as checked_name,
    no_experiment as no_experiment,
    open_store as open_store,
    units_scope as units_scope,
)
