"""The two tiers of execution: a kernel is plain Python, and is compiled once it has become worth it.

A function decorated with `compiled` is an entry into compiled code: Python calls it, and so does compiled
code. On each call from Python it picks a tier:

1. code that is loaded is called;
2. a job that is large by its sizes is compiled at once, or loaded if its code is on disk (in a service, by a
   process, and the thread that answers requests does not wait for it: `compile_apart`);
3. anything else is interpreted, and its time added up. When the time spent would have paid for loading code
   from disk, or for compiling it, that is done beside (`beside`): by a thread, and a process for the
   compilation, while calls go on being interpreted.

Both tiers give the same bits, so an answer does not depend on the tier. Numba is imported when code is first
loaded or compiled, and only by `compiler`. ``LSDT_JIT`` overrides the choice: ``auto`` (the rules above),
``always`` or ``never`` compile.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from threading import get_ident, local
from time import thread_time
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel.cache_files import is_on_disk
from lsdt.kernel.stamps import package_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from threading import Event

Function = TypeVar("Function", bound="Callable[..., object]")

# Arrays inside compiled code: Numba checks their element types, so mypy need not.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_WORDS = ("auto", "always", "never")

# A first call with more numbers than this in its arrays is compiled: interpreted, a kernel that takes
# their number to the power of 1.5 would need about five seconds.
_LARGE = 50_000

# A call that took less predicts nothing about larger ones: most of its time, up to 0.1 ms, is overhead.
_SHORT_SECONDS = 0.001

# What compiling an entry costs, roughly: most take one to four seconds. That much time may go into
# interpreting one before it is compiled, so that no more than half of the time is ever wasted.
COMPILE_SECONDS = 2.0

# On a busy machine the process that compiles may hardly get to run. After this many times the expected wait,
# nothing is gained by interpreting any further.
_PATIENCE = 5.0

# What it costs to import Numba, by the same rule: that much time may go into interpreting all entries before
# code on disk is loaded.
_IMPORT_SECONDS = 0.5

# How long an entry is interpreted between two looks for its code on disk: a look reads the names of all files
# there, which takes about a millisecond, far longer than most calls.
_LOOK_SECONDS = 0.05

# For a large job of which nothing is known yet.
_LONGEST_WAIT = 600.0

# What it takes to find out that there is no code for arguments of other types, on every such call.
_MISS_SECONDS = 0.0005

# A study of fewer rounds than this is interpreted first: at some 50 us a round, that takes as long as to
# compile a policy.
_ROUNDS_WORTH_COMPILING = 20_000


class NotLoaded(Exception):
    """There is no code for these arguments, neither loaded nor on disk, and this call may not compile it."""


class _Thread(local):
    """What compiled functions may do when this thread calls them."""

    may_compile = False
    at_once = False  # inside `compile_ahead`, for work that is known to be large
    waits = True  # for code that another process compiles


_THREAD = _Thread()
# Threads inside an interpreted entry: what it calls is interpreted too. A set, because every call asks
# whether it is empty, which takes a tenth of a look into `_THREAD`.
_interpreting: set[int] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_interpreting.clear)
_interpreted_seconds = [0.0]  # of all entries in this process
_n_services = [0]  # that run in this process


@cache
def jit_mode() -> str:
    """Return what ``LSDT_JIT`` says; Numba's own ``NUMBA_DISABLE_JIT`` means never."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "never"
    mode = os.environ.get("LSDT_JIT") or "auto"
    if mode not in _WORDS:
        raise InvalidInput(f"LSDT_JIT is {mode!r}; accepted are {', '.join(_WORDS)}, or leave it unset")
    return mode


def may_compile() -> bool:
    """Whether the call that this thread is making may compile what is not on disk."""
    return _THREAD.may_compile


@contextmanager
def compiling_is(allowed: bool) -> Iterator[None]:
    """Allow or forbid the calls in this block to compile what is not on disk."""
    before, _THREAD.may_compile = _THREAD.may_compile, allowed
    try:
        yield
    finally:
        _THREAD.may_compile = before


@contextmanager
def compile_ahead(rounds: int) -> Iterator[None]:
    """Compile at once what is called in this block, if enough rounds will be played for that to pay."""
    before = _THREAD.at_once
    _THREAD.at_once = before or rounds >= _ROUNDS_WORTH_COMPILING
    try:
        yield
    finally:
        _THREAD.at_once = before


@contextmanager
def compile_apart() -> Iterator[None]:
    """Compile nothing in this process while the block runs, and never let this thread wait for a compiler.

    For the thread of a service that answers all requests. A compiler in the same process holds Python's lock
    for a tenth of a second at a time. So other threads wait until a process has compiled what their large
    jobs need, and this one interprets meanwhile.
    """
    before, _THREAD.waits = _THREAD.waits, False
    _n_services[0] += 1
    try:
        yield
    finally:
        _n_services[0] -= 1
        _THREAD.waits = before


class TieredFunction:
    """A function that is interpreted until it is worth compiling.

    Parameters
    ----------
    function : function
        What is compiled, and interpreted unless `plain` is given.
    name : str
        Its name in the cache.
    stamp : function
        Returns the stamp of its sources, or None if code of it cannot be kept.
    work : function, optional
        Returns the size of a call from its arguments; by default, how many numbers its arrays hold.
    plain : function, optional
        The interpreter's version, where the same lines would not do.
    growth : float
        Time grows as the size of a call to this power.
    """

    def __init__(
        self,
        function: Callable[..., object],
        name: str,
        stamp: Callable[[], str | None],
        work: Callable[..., int] | None = None,
        plain: Callable[..., object] | None = None,
        growth: float = 1.5,
    ) -> None:
        update_wrapper(self, function)
        self.__qualname__: str = function.__qualname__
        self.py_func = function
        self.plain = plain or function
        self.name = name
        self.stamp = stamp
        self.loaded: Any = None  # Numba's dispatcher, once it has code for some signature
        self.spent = 0.0
        self._work = work or _n_numbers
        self._growth = growth
        self._largest = (0.0, 0)  # seconds and work of the interpreted call with the most work
        self._next_look = 0.0  # what has to be spent until code is looked for on disk
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function returns, from whichever tier."""
        if _interpreting and get_ident() in _interpreting:
            return self.plain(*arguments)
        loaded = self.loaded
        if loaded is not None:
            try:
                return loaded(*arguments)
            except NotLoaded:  # these arguments have other types than those before
                self.spent += _MISS_SECONDS
        return self._choose(arguments)

    def __reduce__(self) -> str:
        """Pickle by name, as functions are."""
        return self.__qualname__

    @property
    def dispatcher(self) -> Any:
        """Numba's view of this function; asking for it imports Numba."""
        if self._dispatcher is None:
            from lsdt.kernel.compiler import make_dispatcher

            self._dispatcher = make_dispatcher(self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What compiled code sees when it names this function."""
        return self.dispatcher._numba_type_

    def load(self, arguments: tuple[Any, ...]) -> Any:
        """Call the function with code from disk, or raise `NotLoaded`."""
        result = self.dispatcher(*arguments)
        self.loaded = self.dispatcher
        return result

    def compile(self, arguments: tuple[Any, ...]) -> Any:
        """Call the function with code from disk, or compile it first."""
        try:
            with compiling_is(True):
                return self.load(arguments)
        except Exception as error:
            if self._is_ours() or not type(error).__module__.startswith("numba."):
                raise
            raise InvalidInput(
                f"{self.name} cannot be compiled: {_reason(error)}. Use the part of Python that Numba "
                "compiles; with LSDT_JIT=never everything is interpreted, which is slow"
            ) from error

    def interpret(self, arguments: tuple[Any, ...], work: int = 0) -> Any:
        """Call the function in the interpreter, without NumPy's warnings, and add up its time."""
        thread = get_ident()
        started = thread_time()
        try:
            try:
                _interpreting.add(thread)
                with np.errstate(all="ignore"):  # compiled code does not warn either
                    result = self.plain(*arguments)
            finally:
                _interpreting.discard(thread)
        finally:
            _interpreting.discard(thread)  # again: Ctrl-C may have come just before it
            seconds = thread_time() - started
            self.spent += seconds
            _interpreted_seconds[0] += seconds
            if work >= self._largest[1]:  # of equal ones the last: the first pays for what happens once
                self._largest = (seconds, work)
        return _plain_numbers(result)

    def _choose(self, arguments: tuple[Any, ...]) -> Any:
        mode = jit_mode()
        if mode == "never":
            return self.interpret(arguments)
        if mode == "always" or _THREAD.at_once:
            return self.compile(arguments)
        work = self._work(*arguments)
        seconds = self._seconds_for(work)
        if seconds > COMPILE_SECONDS:
            if not _n_services[0]:
                return self.compile(arguments)
            ready = _prepare_beside(self, arguments)
            # No longer than it may take to interpret: on a busy machine a compiler may need minutes, and
            # the prediction may be wrong.
            if ready is not None and _THREAD.waits and ready.wait(min(seconds, _LONGEST_WAIT)):
                with suppress(NotLoaded):
                    return self.load(arguments)
        elif self.spent + seconds >= COMPILE_SECONDS:
            if self.spent > _PATIENCE * COMPILE_SECONDS and not _n_services[0] and self._is_ours():
                return self.compile(arguments)
            _prepare_beside(self, arguments)
        elif _interpreted_seconds[0] + seconds > _IMPORT_SECONDS and self._finds_code(seconds):
            # Another thread may be importing Numba, and a thread that does not wait must not load either.
            if _THREAD.waits and ("numba" in sys.modules or seconds > _IMPORT_SECONDS):
                with suppress(NotLoaded):  # the code on disk is for arguments of other types
                    return self.load(arguments)
            else:
                _prepare_beside(self, arguments)
        return self.interpret(arguments, work)

    def _is_ours(self) -> bool:
        """Whether this is a function of the package, which can be compiled; others need not be."""
        return self.name.startswith("lsdt.")

    def _finds_code(self, seconds: float) -> bool:
        """Whether code is on disk, if it is time to look for it before a call that takes this long."""
        if self.spent + seconds < self._next_look:
            return False
        self._next_look = self.spent + _LOOK_SECONDS
        return self.is_on_disk()

    def _seconds_for(self, work: int) -> float:
        """Predict how long a call takes interpreted, from the largest one so far."""
        seconds, known = self._largest
        if known == 0 or seconds < _SHORT_SECONDS:
            return 0.0 if work <= _LARGE else float("inf")
        share = work / known
        return seconds * (share if share <= 1.0 else share**self._growth)

    def is_on_disk(self) -> bool:
        """Whether code of this function is kept, for some signature."""
        stamp = self.stamp()
        return stamp is not None and is_on_disk(self.name, stamp)


def _reason(error: Exception) -> str:
    """Return the most informative line of a Numba error; its first lines name steps of the compiler."""
    lines = [line.strip() for line in str(error).splitlines()]
    telling = [
        line for line in lines if line.startswith(("Unknown", "Cannot", "Unsupported", "Untyped", "No conv"))
    ]
    return (telling or [line for line in lines if line] or [type(error).__name__])[0].rstrip(".")


def _prepare_beside(function: TieredFunction, arguments: tuple[Any, ...]) -> Event | None:
    from lsdt.kernel.beside import prepare

    return prepare(function, arguments)


def _n_numbers(*values: Any) -> int:
    """Return how many numbers the arrays among some arguments hold."""
    return _count(values)


def _count(values: Iterable[Any]) -> int:
    total = 0
    for value in values:
        if isinstance(value, np.ndarray):
            total += value.size
        elif isinstance(value, tuple):
            total += _count(value)
    return total


def _plain_numbers(result: Any) -> Any:
    """Return Python's numbers for NumPy's, as compiled code does."""
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, tuple):
        values = [_plain_numbers(value) for value in result]
        return type(result)(*values) if hasattr(result, "_fields") else tuple(values)
    return result


def interpreted_as(plain: Callable[..., object]) -> Callable[[Function], Function]:
    """Mark an inlined function that only the compiler reads; the interpreter runs `plain` instead.

    NumPy warns when whole numbers of 64 bits overflow, which random numbers and checksums do on purpose, and
    Python's own whole numbers are ten times as fast.
    """
    return lambda function: inlined(function, plain)


def compiled(
    function: Function, work: Callable[..., int] | None = None, plain: Callable[..., object] | None = None
) -> Function:
    """Let `function` be compiled, or loaded from disk, when that pays; the GIL is released while it runs.

    Numba recompiles a function when its own file changes, but not when a function it calls in another file
    does. All compiled sources of the package therefore share one stamp: edit any, and all are recompiled.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    return cast("Function", TieredFunction(function, name, package_stamp, work, plain))


def compiled_for(
    state_class: type,
    stamp: Callable[[], str | None],
    work: Callable[..., int] | None = None,
    plain: Callable[..., object] | None = None,
) -> Callable[[Function], Function]:
    """Like `compiled`, for a function that has one version per state class.

    If `stamp`, which is that of its sources, is None, the code is not kept: nothing could tell whether it is
    still that of the sources.
    """

    def decorate(function: Function) -> Function:
        name = f"{state_class.__module__}.{state_class.__qualname__}.{function.__name__}"
        return cast(
            "Function", TieredFunction(function, name, stamp, work, plain, growth=1.0)
        )  # as its rounds

    return decorate


# Small functions that are merged into their callers: what the interpreter calls, and what is compiled.
INLINED: list[tuple[Callable[..., object], Callable[..., object]]] = []


def inlined(function: Function, plain: Callable[..., object] | None = None) -> Function:
    """Let compiled code merge a small function into its callers; Python calls it as it is, or `plain`."""
    seen = cast("Function", plain or function)
    INLINED.append((seen, function))
    register = getattr(sys.modules.get("lsdt.kernel.compiler"), "register_inlined", None)
    if register is not None:  # else it registers all when it is imported
        register()
    return seen
