"""Compiled code on disk, in the form in which Numba asks for it.

Numba's own cache keeps one index for all functions that begin on the same line of a file, and writes index
and code one after the other without a lock. The entries of all policies are such functions: two processes at
once, or one that dies between the two writes, could leave an index that silently hands one policy the code of
another, for good. Here there is no index (`cache_files`).

Processes that need the same code at the same time compile it once: the first one does, the others wait for
its file, but not for more than a minute. The locks of a process that dies are released.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from lsdt.kernel import cache_files
from lsdt.kernel.cache_files import (
    LEFT_BEHIND_SECONDS,
    MAGIC,
    CompileLock,
    read_code,
    short_hash,
    stem_of,
    warn_once,
)
from lsdt.kernel.jit import NotLoaded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class CodeCache(_Cache):
    """The compiled versions of one function, as `numba.core.dispatcher` asks for them.

    Parameters
    ----------
    name : str
        The function and, for an entry of a policy, its class of state.
    stamp : str
        All sources the machine code depends on; files with another stamp are never read.
    may_compile : function, optional
        Says whether what is not on disk may be compiled now; always, by default.
    """

    def __init__(self, name: str, stamp: str, may_compile: Callable[[], bool] | None = None) -> None:
        self._name = name
        self._stamp = stamp
        self._may_compile = may_compile
        self._enabled = True
        self._locks: list[CompileLock] = []

    @property
    def cache_path(self) -> str:
        """The folder that is looked into first."""
        return str(cache_files.cache_folders()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None if it has to be compiled.

        Raise `NotLoaded` if it would have to be compiled now, and may not.
        """
        target_context.refresh()
        if not self._enabled:
            return None
        key = self._key(sig, target_context.codegen())
        code = self._load(key, sig, target_context)
        if code is None:
            if self._may_compile is not None and not self._may_compile():
                raise NotLoaded
            lock = CompileLock(key)
            self._locks.append(lock)  # before the wait, which may be interrupted
            if lock.acquire():
                code = self._load(key, sig, target_context)
        return code

    def _load(self, key: bytes, sig: Any, target_context: Any) -> Any:
        for folder in cache_files.cache_folders():
            payload = read_code(folder / self._file_name(key), key)
            if payload is None:
                continue
            with suppress(pickle.UnpicklingError, AttributeError, ImportError):  # of a policy that is gone
                kept_for, code = pickle.loads(payload)
                if kept_for == sig:
                    return CompileResult._rebuild(target_context, *code)  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write down the code for a signature; where that fails, it is compiled again next time."""
        folder = cache_files.writable_folder() if self._enabled and _can_be_kept(data) else None
        if folder is None:
            return
        key = self._key(sig, data.codegen)
        payload = dumps((sig, data._reduce()))  # type: ignore[no-untyped-call]
        content = b"".join([MAGIC, len(key).to_bytes(4, "big"), key, payload])
        try:
            self._remove_outdated(folder)
            cache_files.write_code(folder / self._file_name(key), content + hashlib.sha256(content).digest())
        except OSError as error:
            warn_once(f"compiled code could not be written to {str(folder)!r} ({error})")

    def release_locks(self) -> None:
        """Let other processes go on: the code is written, or cannot be compiled here."""
        while self._locks:
            self._locks.pop().release()

    def enable(self) -> None:
        """Read and write from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Remove what is kept of this function."""
        for folder in cache_files.cache_folders():
            for path in folder.glob(f"{stem_of(self._name)}-*"):
                with suppress(OSError):
                    path.unlink()

    def _key(self, sig: Any, codegen: Any) -> bytes:
        """Say in full what code is for: function, sources, signature, processor, versions."""
        versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
        return repr((self._name, self._stamp, str(sig), codegen.magic_tuple(), versions)).encode()

    def _file_name(self, key: bytes) -> str:
        digest = hashlib.sha256(key).hexdigest()[:32]
        return f"{stem_of(self._name)}-{short_hash(self._stamp.encode())}-{digest}.code"

    def _remove_outdated(self, folder: Path) -> None:
        """Remove code of this function from other sources, and the leftovers of processes that died.

        Other processes write and remove files here at the same time: one that is gone is no error.
        """
        current = f"{stem_of(self._name)}-{short_hash(self._stamp.encode())}-"
        oldest = time.time() - LEFT_BEHIND_SECONDS
        for path in folder.glob(f"{stem_of(self._name)}-*"):
            if not path.name.startswith(current):
                with suppress(OSError):
                    path.unlink()
        for path in folder.glob("*.part"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


def _can_be_kept(result: Any) -> bool:
    """Whether machine code is free of addresses that hold in this process only."""
    return not (result.library.has_dynamic_globals or any(not part.can_cache for part in result.lifted))
