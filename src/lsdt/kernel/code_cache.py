"""Compiled code on disk: one file for every function, state class, set of sources and signature.

Numba's own cache keeps one index for all functions that begin on the same line of a file, and writes index
and code one after the other without a lock. The entries of all policies are such functions: two processes at
once, or one that dies between the two writes, could leave an index that hands one policy the code of another,
for good and without a word. Here there is no index. The key is the name of the file and stands in it again;
a file is written beside its place and renamed; what is damaged, or was written for another key, is not used.

Processes that need the same code at the same time compile it once: the first one does, the others wait for
its file. A process that dies no longer holds anybody up, and nobody waits for minutes.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from lsdt.errors import CacheWarning

fcntl: Any = None
with suppress(ImportError):  # there is none on Windows
    import fcntl

PACKAGE = Path(__file__).resolve().parent.parent

_MAGIC = b"lsdt code 1\n"
_DIGEST = hashlib.sha256().digest_size
_WAIT_SECONDS = 60.0  # most functions are compiled in a second, none in a minute
_POLL_SECONDS = 0.02  # short beside a compilation, long beside a look at a file
_PLACES = 2**30  # in the file of those who compile
_LEFT_BEHIND_SECONDS = 3600.0  # a temporary file older than this belongs to a process that died


class CodeCache(_Cache):
    """The compiled versions of one function, as `numba.core.dispatcher` asks for them.

    Parameters
    ----------
    name : str
        The function and, for an entry of a policy, its class of state.
    stamp : str
        All sources the machine code depends on; files with another stamp are never read.
    """

    def __init__(self, name: str, stamp: str) -> None:
        self._name = name
        self._stamp = stamp
        self._enabled = True
        self._locks: list[CompileLock] = []

    @property
    def cache_path(self) -> str:
        """The folder that is looked into first."""
        return str(cache_folders()[0])

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None where it has to be compiled."""
        target_context.refresh()
        if not self._enabled:
            return None
        key = self._key(sig, target_context.codegen())
        code = self._load(key, sig, target_context)
        if code is None:
            lock = CompileLock(key)
            self._locks.append(lock)  # before the wait, which may be interrupted
            if lock.acquire():
                code = self._load(key, sig, target_context)
        return code

    def _load(self, key: bytes, sig: Any, target_context: Any) -> Any:
        for folder in cache_folders():
            payload = _read(folder / self._file_name(key), key)
            if payload is None:
                continue
            with suppress(pickle.UnpicklingError, AttributeError, ImportError):  # of a policy that is gone
                kept_for, code = pickle.loads(payload)
                if kept_for == sig:
                    return CompileResult._rebuild(target_context, *code)  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write down the code for a signature; where that fails, it is compiled again next time."""
        folder = writable_folder() if self._enabled and _can_be_kept(data) else None
        if folder is None:
            return
        key = self._key(sig, data.codegen)
        payload = dumps((sig, data._reduce()))  # type: ignore[no-untyped-call]
        content = b"".join([_MAGIC, len(key).to_bytes(4, "big"), key, payload])
        try:
            self._remove_outdated(folder)
            _write(folder / self._file_name(key), content + hashlib.sha256(content).digest())
        except OSError as error:
            _warn_once(f"compiled code could not be written to {str(folder)!r} ({error})")

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
        for folder in cache_folders():
            for path in folder.glob(f"{self._stem()}-*"):
                with suppress(OSError):
                    path.unlink()

    def _key(self, sig: Any, codegen: Any) -> bytes:
        """Say in full what code is for: function, sources, signature, processor, versions."""
        versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
        return repr((self._name, self._stamp, str(sig), codegen.magic_tuple(), versions)).encode()

    def _stem(self) -> str:
        """Return the part of a file's name that tells the function, for people and without collisions."""
        plain = "-".join(self._name.split(".")[-2:])
        plain = "".join(letter for letter in plain if letter.isalnum() or letter in "-_")
        return f"{plain[:60]}-{_short(self._name.encode())}"

    def _file_name(self, key: bytes) -> str:
        return f"{self._stem()}-{_short(self._stamp.encode())}-{hashlib.sha256(key).hexdigest()[:32]}.code"

    def _remove_outdated(self, folder: Path) -> None:
        """Remove code of this function from other sources, and what processes that died left behind.

        Other processes write and remove files here at the same time: one that is gone is no error.
        """
        current = f"{self._stem()}-{_short(self._stamp.encode())}-"
        oldest = time.time() - _LEFT_BEHIND_SECONDS
        for path in folder.glob(f"{self._stem()}-*"):
            if not path.name.startswith(current):
                with suppress(OSError):
                    path.unlink()
        for path in folder.glob("*.part"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


class CompileLock:
    """A lock between processes: one compiles a function for a signature, the others wait for its result.

    Every lock is one byte of the same file. The system releases the locks of a process that dies. Where
    nothing can be locked, all processes compile at once.
    """

    def __init__(self, key: bytes) -> None:
        self._place = int.from_bytes(hashlib.sha256(key).digest()[:8], "big") % _PLACES
        self._held: int | None = None

    def acquire(self) -> bool:
        """Take the lock; return whether another process held it first."""
        held, waited = _lock_file(writable_folder(), os.getpid()), False
        end = time.monotonic() + _WAIT_SECONDS
        while held is not None and time.monotonic() < end:
            try:
                fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._place)
            except (BlockingIOError, PermissionError):  # another process holds it
                waited = True
                time.sleep(_POLL_SECONDS)
            except OSError:  # the file system does not lock
                break
            else:
                self._held = held
                break
        return waited

    def release(self) -> None:
        """Release the lock."""
        if self._held is not None:
            fcntl.lockf(self._held, fcntl.LOCK_UN, 1, self._place)
            self._held = None


@cache
def _lock_file(folder: Path | None, _process: int) -> int | None:
    """Return the open file whose bytes are locked, or None; a forked process opens its own.

    It stays open for as long as the process lives: closing it would release all locks.
    """
    if folder is None or fcntl is None:
        return None
    try:
        return os.open(folder / "compiling", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _can_be_kept(result: Any) -> bool:
    """Whether machine code is free of addresses that hold in this process only."""
    return not (result.library.has_dynamic_globals or any(not part.can_cache for part in result.lifted))


def _read(path: Path, key: bytes) -> bytes | None:
    """Return what a file keeps for a key, or None if it is missing, damaged, or for something else."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 4 + len(key)
    head = _MAGIC + len(key).to_bytes(4, "big") + key
    if not content.startswith(head) or len(content) < start + _DIGEST:
        return None
    if hashlib.sha256(content[:-_DIGEST]).digest() != content[-_DIGEST:]:
        return None
    return content[start:-_DIGEST]


def _write(path: Path, content: bytes) -> None:
    """Put a file in its place as a whole or not at all."""
    handle, temporary = tempfile.mkstemp(suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):  # after the rename it is no longer there
            os.unlink(temporary)


def cache_folders() -> list[Path]:
    """Return where code may be kept, in the order in which it is looked for.

    It is ``NUMBA_CACHE_DIR`` alone where that is set, else the package's own ``__pycache__`` and the user's
    folder of caches. Code that was put into a folder that is read-only now, as in a container, is used.
    """
    copy = f"lsdt-{_short(str(PACKAGE).encode())}"  # two copies of the package keep apart
    if numba.config.CACHE_DIR:  # type: ignore[attr-defined]
        return [Path(numba.config.CACHE_DIR) / copy]  # type: ignore[attr-defined]
    places = [PACKAGE / "__pycache__" / "compiled"]
    with suppress(RuntimeError):  # no home
        own = AppDirs(appname="lsdt", appauthor=False)  # type: ignore[no-untyped-call]
        places.append(Path(own.user_cache_dir).expanduser() / copy)
    return places


@cache
def writable_folder() -> Path | None:
    """Return the first of the folders that can be written to; warn once if there is none."""
    for folder in cache_folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    _warn_once(f"compiled code cannot be kept: none of {', '.join(map(str, cache_folders()))} is writable")
    return None


_warned = False


def _warn_once(message: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{message}; every process compiles anew, which takes seconds. Set NUMBA_CACHE_DIR to a folder "
            "that can be written to.",
            CacheWarning,
            stacklevel=2,
        )
