"""Loading and compiling beside the work, so that no call waits for a compiler.

A thread takes requests for code, one after the other. What is not on disk is compiled into the cache by a
separate process, ``python -m lsdt.kernel.beside``, because a compiler in this process would hold Python's
lock for much of the time. Then the thread loads it, and later calls use it. Where a process cannot help
(code that is not kept, a cache that cannot be written to, an interpreter that cannot be started), the thread
compiles. `multiprocessing` would run the user's main module again, and is not used.
"""

from __future__ import annotations

import atexit
import importlib
import json
import logging  # noqa: F401  (Numba needs it; it must have its hooks for forks before those below)
import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel import jit
from lsdt.kernel.cache_files import writable_folder
from lsdt.kernel.stamps import PACKAGE

if TYPE_CHECKING:
    from lsdt.kernel.jit import TieredFunction

_NICENESS = 10  # the work comes first
_EXIT_SECONDS = 10.0  # a process ends only when no thread of it is inside the compiler


# Held while this process loads or compiles. A process that is forked meanwhile would wait for ever for the
# locks of Python's imports and Numba's compiler: the thread that holds them is not in it.
_in_compiler = threading.RLock()


class _Worker:
    """A thread that makes code ready, begun by the first request."""

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[tuple[TieredFunction, Any, threading.Event] | None]
        self.requests = queue.SimpleQueue()
        self.known: dict[tuple[str, str], threading.Event] = {}
        self.thread: threading.Thread | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = False
        self.lock = threading.Lock()

    def add(self, function: TieredFunction, kinds: Any) -> threading.Event:
        """Queue a request, unless it is known already; return the event that is set when it is done."""
        key = (function.name, json.dumps(kinds))
        with self.lock:
            if key in self.known:
                return self.known[key]
            done = self.known[key] = threading.Event()
            if self.stopped:
                done.set()
                return done
            self.requests.put((function, kinds, done))
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name="lsdt-compiler", daemon=True)
                self.thread.start()
            return done

    def _work(self) -> None:
        while (request := self.requests.get()) is not None and not self.stopped:
            function, kinds, done = request
            # Code that cannot be compiled now goes on being interpreted; an error of the function itself
            # shows where it is called.
            with suppress(Exception):
                if not function.is_on_disk() or not _is_loaded(function, kinds):
                    with suppress(Exception):  # a process may not be allowed, a folder not writable
                        self._compile_in_a_process(function, kinds)
                    if not self.stopped:
                        _load(function, kinds, may_compile=True)
            done.set()

    def _compile_in_a_process(self, function: TieredFunction, kinds: Any) -> None:
        address = _address(function)
        if address is None or not _is_python(sys.executable):
            return
        if function.stamp() is None or writable_folder() is None:
            return
        with self.lock:
            if self.stopped:
                return
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "lsdt.kernel.beside"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "LSDT_JIT": "always", "PYTHONPATH": _import_path()},
            )
        self.process.communicate(json.dumps([address, kinds]).encode())

    def stop(self) -> None:
        """End the process at once, and the thread as soon as it is not inside the compiler."""
        with self.lock:
            self.stopped = True
            process = self.process
            for done in self.known.values():
                done.set()
        if process is not None:
            with suppress(OSError):
                process.kill()
        self.requests.put(None)
        if self.thread is not None:
            self.thread.join(_EXIT_SECONDS)


_worker = _Worker()
atexit.register(lambda: _worker.stop())


def _renew() -> None:
    """Begin again in a forked process, which has no thread."""
    global _worker
    _worker = _Worker()
    _in_compiler.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_in_compiler.acquire, after_in_parent=_in_compiler.release, after_in_child=_renew
    )


def prepare(function: TieredFunction, arguments: tuple[Any, ...]) -> threading.Event | None:
    """Make code ready for calls with arguments of these types, and return at once.

    Returns what is set when that is done, or given up; None if it cannot be done for these arguments.
    """
    kinds = [_kind_of(argument) for argument in arguments]
    return None if None in kinds else _worker.add(function, kinds)


def _is_loaded(function: TieredFunction, kinds: Any) -> bool:
    try:
        _load(function, kinds, may_compile=False)
    except jit.NotLoaded:
        return False
    return True


def _load(function: TieredFunction, kinds: Any, may_compile: bool) -> None:
    with _in_compiler, jit.compiling_is(may_compile):
        from lsdt.kernel.compiler import compile_for

        compile_for(function, tuple(_example_of(kind) for kind in kinds))


def _kind_of(argument: Any) -> Any:
    """Describe the type of an argument in a form that JSON holds; None for types that kernels do not take."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return ["array", argument.dtype.str, argument.ndim, layout, flags.writeable]
    if isinstance(argument, np.generic):
        return ["number", argument.dtype.str]
    if isinstance(argument, (bool, int, float)):
        return [type(argument).__name__]
    if isinstance(argument, tuple):
        kind, parts = type(argument), [_kind_of(part) for part in argument]
        return None if None in parts else ["tuple", kind.__module__, kind.__qualname__, parts]
    return None


def _example_of(kind: Any) -> Any:
    """Return a small value of a type that `_kind_of` described."""
    word = kind[0]
    if word == "array":
        _, element, n_axes, layout, writeable = kind
        array = np.zeros((2,) * n_axes, element, order="F" if layout == "F" else "C")
        if layout == "A":
            array = np.zeros((4,) * n_axes, element)[(slice(None, None, 2),) * n_axes]
        array.flags.writeable = writeable
        return array
    if word == "number":
        return np.dtype(kind[1]).type(0)
    if word == "tuple":
        _, module, name, parts = kind
        values = [_example_of(part) for part in parts]
        made = _found(module, name)
        return tuple(values) if made is tuple else made(*values)
    return {"bool": False, "int": 0, "float": 0.0}[word]


def _address(function: TieredFunction) -> list[Any] | None:
    """Say where another process finds a function, or an entry's rule; None if it cannot."""
    if "<locals>" not in function.__qualname__:
        found = getattr(sys.modules.get(function.__module__), function.__qualname__, None)
        return ["function", function.__module__, function.__qualname__] if found is function else None
    state_class, _, entry = function.name.rpartition(".")
    if not state_class.startswith("lsdt."):
        return None
    from lsdt.kernel.drivers import RULES

    rule = RULES[_found(*_split(state_class))]
    parts = [None if part is None else [part.__module__, part.__qualname__] for part in rule]
    return ["entry", *_split(state_class), entry, parts]


def _split(path: str) -> tuple[str, str]:
    """Split the path of an object into module and name."""
    module, _, name = path.rpartition(".")
    return module, name


def _is_python(executable: str | None) -> bool:
    """Whether a file is an interpreter, and not a program that holds one: that would start a second time."""
    name = os.path.basename(executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _import_path() -> str:
    """Return this process's module search path, for a child process."""
    return os.pathsep.join([str(PACKAGE.parent), *(path for path in sys.path if path)])


def _found(module: str, name: str) -> Any:
    # A module that is known may be being imported by a thread that waits for this one.
    value: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _function_at(address: list[Any]) -> TieredFunction:
    """Return the function that `_address` named."""
    if address[0] == "function":
        function: TieredFunction = _found(address[1], address[2])
        return function
    from lsdt.kernel.drivers import define_rule, entries_of

    _, module, name, entry, parts = address
    state_class = _found(module, name)
    # Importing the class does not register its rule: that happens when a policy is first used.
    functions: list[Any] = [None if part is None else _found(*part) for part in parts]
    define_rule(state_class, *functions)
    found: TieredFunction = getattr(entries_of(state_class), entry)
    return found


def main() -> None:
    """Compile what standard input asks for into the cache."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    address, kinds = json.loads(sys.stdin.read())
    _load(_function_at(address), kinds, may_compile=True)


if __name__ == "__main__":
    main()
