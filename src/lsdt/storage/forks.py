"""Stores that were open when a process forked: the child may not use them."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class _Watched(Protocol):
    def forked(self) -> None:
        """Know that this is the child."""


_WATCHED: WeakSet[_Watched] = WeakSet()


def watch_forks(store: _Watched) -> None:
    """Call `forked` of a store in every child that this process forks."""
    _WATCHED.add(store)


def _in_child() -> None:
    for store in list(_WATCHED):
        store.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
