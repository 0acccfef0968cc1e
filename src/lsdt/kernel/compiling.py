"""The one way a function of this package is compiled."""

from __future__ import annotations

import hashlib
import inspect
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Function = TypeVar("Function", bound="Callable[..., object]")

# Arrays inside compiled code: Numba checks their element types, so mypy need not.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

PACKAGE = Path(__file__).resolve().parent.parent


def compiled_sources() -> list[Path]:
    """Files that may hold compiled functions: all of ``kernel/`` and ``policies/``, every ``*_kernel.py``."""
    folders = (*PACKAGE.glob("kernel/*.py"), *PACKAGE.glob("policies/*.py"))
    return sorted({*folders, *PACKAGE.rglob("*_kernel.py")})


@cache
def _sources_stamp() -> bytes:
    digest = hashlib.sha256()
    for path in compiled_sources():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.digest()


def sources_stamp(*things: Any) -> str:
    """Return a stamp of the files of some classes and functions, and of what these call outside the package.

    The package's own files have a stamp of their own (`compiled`).
    """
    digest, seen = hashlib.sha256(), set()
    waiting = list(things)
    while waiting:
        thing = getattr(waiting[-1], "py_func", waiting[-1])
        waiting.pop()
        module = thing if inspect.ismodule(thing) else inspect.getmodule(thing)
        if module is None or (module.__name__, getattr(thing, "__qualname__", "")) in seen:
            continue
        seen.add((module.__name__, getattr(thing, "__qualname__", "")))
        digest.update(f"{module.__name__} {getattr(thing, '__qualname__', '')}".encode())
        if module.__name__.split(".")[0] in ("lsdt", "numpy", "numba", "math", "builtins"):
            continue
        with suppress(OSError, TypeError):
            digest.update(inspect.getsource(module).encode())
        if inspect.isfunction(thing):
            waiting += [
                thing.__globals__[name] for name in thing.__code__.co_names if name in thing.__globals__
            ]
    return digest.hexdigest()


def compiled(function: Function) -> Function:
    """Compile `function` with Numba on first use, release the GIL while it runs, keep it on disk.

    Numba recompiles a function when its own file changes, but not when a function it calls in another file
    does. All compiled sources of the package are therefore one stamp: edit any, and all compile anew.
    """
    dispatcher = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        # Numba has no public way to say what else a cached function depends on; a test watches over this.
        dispatcher._cache._cache_file._source_stamp = _sources_stamp()  # type: ignore[attr-defined]
    return cast("Function", dispatcher)


class CompilingSeconds(event.Listener):
    """Adds up the time Numba spends compiling; a function compiled for another counts once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._started = 0.0

    def on_start(self, _event: object) -> None:
        """Begin to count, unless a compilation is under way already."""
        if self._depth == 0:
            self._started = perf_counter()
        self._depth += 1

    def on_end(self, _event: object) -> None:
        """Stop to count when the outermost compilation ends."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._started


@contextmanager
def compiling_seconds() -> Iterator[CompilingSeconds]:
    """Count the seconds of compilation inside a ``with`` block."""
    listener = CompilingSeconds()
    with event.install_listener("numba:compile", listener):
        yield listener


def inlined(function: Function) -> Function:
    """Compile a small function that is called from inner loops, merged into its caller by LLVM."""
    return cast("Function", numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))
