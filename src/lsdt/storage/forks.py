"""New locks in a child process after a fork: a lock held by another thread would block the child forever."""

from __future__ import annotations

import os
import sys
from threading import RLock
from typing import Protocol
from weakref import WeakSet

FORKED = "this process was forked from the one that opened the store; open the store again here"


class _Watched(Protocol):
    def forked(self) -> None:
        """Make new locks, and make calls raise that only the parent process may use."""


_WATCHED: WeakSet[_Watched] = WeakSet()


def watch_forks(watched: _Watched) -> None:
    """Call the `forked` method of an object, such as a store, in each child that this process forks."""
    _WATCHED.add(watched)


def _in_child() -> None:
    _compile_again()
    for each in list(_WATCHED):
        each.forked()


def _compile_again() -> None:
    """Give Numba and LLVM new locks, if they are loaded, as another thread may have been compiling.

    The child does not use what that thread was compiling, and compiles it again.
    """
    owners = (
        getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None),
        getattr(getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None), "_lock", None),
    )
    for owner in owners:
        if hasattr(owner, "_lock"):
            setattr(owner, "_lock", RLock())  # noqa: B010


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
