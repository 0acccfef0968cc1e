"""The agents of a store, kept open, and how what they decide becomes durable.

`service` has the store and all experiments, `experiment` is one of them, `activity` what its page shows of
the log. `group_commit` makes many answers durable at once; `shared_commit` and `replication` do so where
several services share a store, and `following` reads along and writes nothing.
"""

from lsdt.service.hosting.activity import Activity, Point, log_position
from lsdt.service.hosting.experiment import MOST_AT_ONCE, MOST_CLOSED, HostedExperiment
from lsdt.service.hosting.following import READ_ONLY
from lsdt.service.hosting.group_commit import CommitResult, GroupCommit, Note
from lsdt.service.hosting.service import Service, answers_of_unit

__all__ = [
    "MOST_AT_ONCE",
    "MOST_CLOSED",
    "READ_ONLY",
    "Activity",
    "CommitResult",
    "GroupCommit",
    "HostedExperiment",
    "Note",
    "Point",
    "Service",
    "answers_of_unit",
    "log_position",
]
