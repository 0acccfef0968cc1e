"""Agents and stores that exist when a process forks: a lock that another thread held would hang the child."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

FORKED = "this process was forked from the one that opened the store; open it here anew"


class _Watched(Protocol):
    def forked(self) -> None:
        """Make new locks, and refuse what only the parent may do: this is the child."""


_WATCHED: WeakSet[_Watched] = WeakSet()


def watch_forks(watched: _Watched) -> None:
    """Call `forked` of an agent or a store in every child that this process forks."""
    _WATCHED.add(watched)


def _in_child() -> None:
    for each in list(_WATCHED):
        each.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
