"""Where compiled code is kept, and how files of it are read, written and locked; none of this needs Numba.

There is one file for every function, state class, set of sources and signature. The key is hashed into the
name of the file and stands in it again; a file is written beside its place and renamed; one that is damaged,
or was written for another key, is not used.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from lsdt.errors import CacheWarning
from lsdt.kernel.stamps import PACKAGE

fcntl: Any = None
with suppress(ImportError):  # there is none on Windows
    import fcntl

MAGIC = b"lsdt code 1\n"
_DIGEST = hashlib.sha256().digest_size
_WAIT_SECONDS = 60.0  # most functions are compiled in a second, none in a minute
_POLL_SECONDS = 0.02  # short beside a compilation, long beside a look at a file
_PLACES = 2**30  # in the file of those who compile
LEFT_BEHIND_SECONDS = 3600.0  # a temporary file older than this belongs to a process that died


def stem_of(name: str) -> str:
    """Return how the names of a function's files begin: readable, and without collisions."""
    plain = "-".join(name.split(".")[-2:])
    plain = "".join(letter for letter in plain if letter.isalnum() or letter in "-_")
    return f"{plain[:60]}-{short_hash(name.encode())}"


def is_on_disk(name: str, stamp: str) -> bool:
    """Whether some code of a function is kept, for these sources; only Numba can say for which signature."""
    start = f"{stem_of(name)}-{short_hash(stamp.encode())}-"
    return any(next(folder.glob(f"{start}*.code"), None) is not None for folder in cache_folders())


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


def short_hash(content: bytes) -> str:
    """Return sixteen digits that tell contents apart."""
    return hashlib.sha256(content).hexdigest()[:16]


def read_code(path: Path, key: bytes) -> bytes | None:
    """Return what a file keeps for a key, or None if it is missing, damaged, or for something else."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + 4 + len(key)
    head = MAGIC + len(key).to_bytes(4, "big") + key
    if not content.startswith(head) or len(content) < start + _DIGEST:
        return None
    if hashlib.sha256(content[:-_DIGEST]).digest() != content[-_DIGEST:]:
        return None
    return content[start:-_DIGEST]


def write_code(path: Path, content: bytes) -> None:
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
    cache folder. Code in a folder that is read-only now, as in a container, is used.
    """
    copy = f"lsdt-{short_hash(str(PACKAGE).encode())}"  # two copies of the package keep apart
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given) / copy]
    places = [PACKAGE / "__pycache__" / "compiled"]
    with suppress(RuntimeError):  # no home
        places.append(_user_caches() / copy)
    return places


def _user_caches() -> Path:
    """Return the folder for caches of this user, by the custom of the operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "lsdt" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lsdt"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lsdt"


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
    warn_once(f"compiled code cannot be kept: none of {', '.join(map(str, cache_folders()))} is writable")
    return None


_warned = False


def is_all_kept() -> bool:
    """Whether all code that was compiled could be written, as far as this process knows."""
    return not _warned


def warn_once(message: str) -> None:
    """Warn, once in this process, that compiled code is not kept."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{message}; every process has to compile again, which takes seconds. Set NUMBA_CACHE_DIR to a "
            "folder that can be written to.",
            CacheWarning,
            stacklevel=2,
        )
