"""The one way a function of this package is compiled."""

from __future__ import annotations

import gc
import hashlib
import inspect
import os
import secrets
import sys
from functools import cache
from itertools import count
from pathlib import Path
from threading import get_ident
from time import perf_counter
from types import CellType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import event, types
from numba.core.bytecode import FunctionIdentity

from lsdt._progress import on_compilation
from lsdt.kernel.code_cache import PACKAGE, CodeCache
from lsdt.kernel.inner import InnerCompiler

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

Function = TypeVar("Function", bound="Callable[..., object]")

# Arrays inside compiled code: Numba checks their element types, so mypy need not.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "pipeline_class": InnerCompiler}

# For the overloads that stand for small functions.
INLINED: Any = {"forceinline": True, "no_cfunc_wrapper": True, **_INNER}


def compiled_sources() -> list[Path]:
    """Files that may hold compiled functions: all of ``kernel/`` and ``policies/``, every ``*_kernel.py``."""
    folders = (*(PACKAGE / "kernel").rglob("*.py"), *(PACKAGE / "policies").rglob("*.py"))
    return sorted({*folders, *PACKAGE.rglob("*_kernel.py")})


@cache
def _package_stamp() -> str:
    digest = hashlib.sha256()
    for path in compiled_sources():
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


# Packages whose code is covered by a stamp or a version of its own.
_KNOWN = {"lsdt", "numpy", "numba", *sys.stdlib_module_names} - {"__main__"}


def sources_stamp(*things: Any) -> str | None:
    """Return a stamp of the sources of some classes and functions and of all they use; None if unknown.

    Everything in the packages that `things` come from counts, and the files of other packages they use;
    Numba makes constants of their globals. Code typed at a prompt has no file, and a function made by another
    function may depend on its arguments: no stamp vouches for these.
    """
    plain = [getattr(thing, "py_func", thing) for thing in things]
    if any("<locals>" in thing.__qualname__ or not _is_from_its_file(thing) for thing in plain):
        return None
    digest = hashlib.sha256(_package_stamp().encode())
    roots = {_root(thing.__module__) for thing in plain}
    waiting = [sys.modules.get(thing.__module__) for thing in plain]
    seen: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module is None:
            return None
        if module.__name__ in seen or _root(module.__name__) in _KNOWN:
            continue
        seen.add(module.__name__)
        try:
            digest.update(f"{module.__name__} {Path(str(module.__file__)).read_text()}".encode())
        except (AttributeError, OSError, ValueError):
            return None
        if _root(module.__name__) in roots:
            waiting += _modules_used_by(module)
            digest.update(repr(_constants_of(module)).encode())
    return digest.hexdigest()


def _is_from_its_file(thing: Any) -> bool:
    """Whether a function was read from its module's file rather than typed, or executed as text."""
    file = getattr(sys.modules.get(thing.__module__), "__file__", None)
    code = getattr(thing, "__code__", None)
    return file is not None and (code is None or Path(code.co_filename).resolve() == Path(file).resolve())


def _root(module: str) -> str:
    return module.partition(".")[0]


def _modules_used_by(module: ModuleType) -> list[ModuleType]:
    """Return the modules among a module's globals, and those its functions and classes come from."""
    used = []
    for value in vars(module).values():
        plain = getattr(value, "py_func", value)
        used.append(plain if inspect.ismodule(plain) else sys.modules.get(getattr(plain, "__module__", "")))
    return [other for other in used if other is not None]


def _constants_of(module: ModuleType) -> list[tuple[str, str, str]]:
    """Return the plain values among a module's globals, wherever they come from."""
    constants = []
    for name, value in sorted(vars(module).items()):
        if isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic)):
            constants.append((name, type(value).__name__, repr(value)))
        elif isinstance(value, np.ndarray):
            constants.append(
                (name, str(value.dtype), f"{value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
            )
    return [constant for constant in constants if not constant[0].startswith("__")]


def _number_functions_apart() -> None:
    """Let Numba number what this process compiles as no other process does.

    The number is part of the names of machine code. Numba begins with 1 in every process, so that code kept
    by two of them has equal names for the entries of two policies; loaded into a third, one finds what
    belongs to the other.
    """
    FunctionIdentity._unique_ids = count(secrets.randbits(48) << 14)


_number_functions_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_functions_apart)


def compiled(function: Function) -> Function:
    """Compile `function` with Numba on first use, release the GIL while it runs, keep it on disk.

    Numba recompiles a function when its own file changes, but not when a function it calls in another file
    does. All compiled sources of the package are therefore one stamp: edit any, and all compile anew.
    """
    return _kept(function, f"{function.__module__}.{function.__qualname__}", _package_stamp)


def compiled_for(state_class: type, stamp: str | None) -> Callable[[Function], Function]:
    """Compile a function of which every class of state has its own; `stamp` is that of its sources.

    Without a stamp the code is not kept: whether it is still that of the sources could not be told.
    """

    def decorate(function: Function) -> Function:
        name = f"{state_class.__module__}.{state_class.__qualname__}.{function.__name__}"
        return _kept(function, name, None if stamp is None else lambda: stamp)

    return decorate


def _kept(function: Function, name: str, stamp: Callable[[], str] | None) -> Function:
    dispatcher, inner = _njit(function)
    if stamp is not None and not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        # Numba has no public way to bring a cache of one's own; tests say so when its private parts change.
        _keep(dispatcher, CodeCache(name, stamp()))
        _keep(inner, CodeCache(f"{name}.inner", stamp()))
    return cast("Function", dispatcher)


def _keep(dispatcher: Any, kept: CodeCache) -> None:
    """Cache a dispatcher's code on disk; release its locks after each compilation, even a failed one."""
    dispatcher._cache, compile_it = kept, dispatcher.compile

    def compile_and_release(signature: Any) -> Any:
        try:
            return compile_it(signature)
        finally:
            kept.release_locks()

    dispatcher.compile = compile_and_release


class _CompilingSeconds(event.Listener):
    """Adds up the time Numba spends compiling; a function compiled for another counts once.

    ``begun`` is what a thread wants called before it compiles for the first time.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.begun: dict[int, Callable[[], None]] = {}
        self._depth = 0
        self._started = 0.0

    def on_start(self, _event: object) -> None:
        """Begin to count, unless a compilation is under way already."""
        if self._depth == 0:
            self._started = perf_counter()
        self._depth += 1
        begun = self.begun.pop(get_ident(), None)
        if begun is not None:
            begun()
        while on_compilation:
            on_compilation.pop()()

    def on_end(self, _event: object) -> None:
        """Stop to count when the outermost compilation ends."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._started


class _NoCollection(event.Listener):
    """Keeps Python's collector of cycles from running while Numba compiles.

    Compilation makes millions of objects that all live until it ends; to look through them again and again
    takes an eighth of its time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._was_enabled = False

    def on_start(self, _event: object) -> None:
        """Stop the collector, unless a compilation is under way already."""
        if self._depth == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, _event: object) -> None:
        """Let the collector go on when the outermost compilation ends."""
        self._depth -= 1
        if self._depth == 0 and self._was_enabled:
            gc.enable()


_COMPILING = _CompilingSeconds()
event.register("numba:compile", _NoCollection())  # type: ignore[no-untyped-call]
event.register("numba:compile", _COMPILING)  # type: ignore[no-untyped-call]


class _CompileSeconds:
    """The seconds of compilation inside a ``with`` block.

    One listener serves all blocks: to install one costs more than most of them take.
    """

    __slots__ = ("_before", "_begun", "seconds")

    def __init__(self, begun: Callable[[], None] | None) -> None:
        self._begun = begun

    def __enter__(self) -> _CompileSeconds:
        self._before = _COMPILING.seconds
        self.seconds = 0.0
        if self._begun is not None:
            _COMPILING.begun[get_ident()] = self._begun
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = _COMPILING.seconds - self._before
        if self._begun is not None:
            _COMPILING.begun.pop(get_ident(), None)


def compile_seconds(begun: Callable[[], None] | None = None) -> _CompileSeconds:
    """Count the seconds of compilation inside a ``with`` block.

    `begun` is called before this thread first compiles in it, and not at all where all code is on disk.
    """
    return _CompileSeconds(begun)


def inlined(function: Function) -> Function:
    """Compile a small function that is called from inner loops, merged into its caller by LLVM."""
    return cast("Function", _njit(function, forceinline=True)[0])


def _njit(function: Callable[..., object], forceinline: bool = False) -> tuple[Any, Any]:
    """Return what Python calls, and what compiled code calls.

    Around every function Numba compiles one that Python can call, which unpacks the arguments, and one for
    code in C. Both hold the function once more, and to unpack a state with dozens of arrays is more code than
    most functions are. What only compiled code calls is compiled without them.

    It is compiled for types alone. Until Numba has seen all that is assigned to a variable that begins as -1,
    its type is that constant, and what is called with it would be compiled for the constant as well, for
    nothing.
    """
    options = {**_OPTIONS, "forceinline": forceinline}  # unless it is said, that of the caller holds
    dispatcher: Any = numba.njit(**options)(function)
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return dispatcher, dispatcher
    inner: Any = numba.njit(**options, **_INNER)(function)
    for_constants = inner.get_call_template

    def get_call_template(args: Any, kws: dict[str, Any]) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}  # type: ignore[no-untyped-call]
        return for_constants(tuple(map(types.unliteral, args)), plain)

    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = inner.get_overload
    dispatcher.inner = inner
    dispatcher.is_called = False
    for called in _functions_in(function):
        called.is_called = True
    compile_for_python = dispatcher.compile

    def compile_once(signature: Any) -> Any:
        if dispatcher.is_called and not forceinline:
            dispatcher._compiler.py_func = _call_of(inner)
        return compile_for_python(signature)

    dispatcher.compile = compile_once
    return dispatcher, inner


def _functions_in(function: Callable[..., object]) -> list[Any]:
    """Return the compiled functions among the names that a function uses."""
    code, cells = function.__code__, function.__closure__ or ()
    values = [function.__globals__.get(name) for name in code.co_names]
    values += [cell.cell_contents for cell in cells if cell != CellType()]
    return [value for value in values if hasattr(value, "inner")]


def _call_of(inner: Any) -> Callable[..., object]:
    """Return a function that calls another.

    What Python and compiled code both call would be compiled twice. For Python this is compiled instead: it
    is small, whatever it calls. It names its module: of code without one, Numba reads nothing from disk.
    """
    names = ", ".join(inspect.signature(inner.py_func).parameters)
    scope: dict[str, Any] = {"inner": inner, "__name__": inner.py_func.__module__}
    exec(f"def call({names}):\n    return inner({names})\n", scope)
    return cast("Callable[..., object]", scope["call"])
