"""How kernels are compiled with Numba; importing this imports Numba."""

from __future__ import annotations

import gc
import os
import secrets
from itertools import count
from typing import TYPE_CHECKING, Any

import numba
from numba.core import event, types
from numba.core.bytecode import FunctionIdentity
from numba.core.registry import cpu_target

from lsdt.kernel import lowering  # noqa: F401  (registers how states and rules are compiled)
from lsdt.kernel.code_cache import CodeCache
from lsdt.kernel.compile_clock import CLOCK
from lsdt.kernel.jit import INLINED, NotLoaded, TieredFunction, compiling_is, may_compile

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _number_functions_apart() -> None:
    """Let Numba number what this process compiles as no other process does.

    The number is part of the names of machine code. Numba begins with 1 in every process, so code kept by two
    processes has equal names for the entries of two policies; loaded into a third process, one would find
    what belongs to the other.
    """
    FunctionIdentity._unique_ids = count(secrets.randbits(48) << 14)


_number_functions_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_functions_apart)


class _Compilation(event.Listener):
    """Runs the clock while Numba compiles, and stops Python's collector of cycles.

    Compilation makes millions of objects that all live until it ends; to look through them again and again
    takes an eighth of its time.
    """

    _collects = False

    def on_start(self, _event: object) -> None:
        """Start the clock."""
        if CLOCK.start():
            self._collects = gc.isenabled()
            gc.disable()

    def on_end(self, _event: object) -> None:
        """Stop the clock."""
        if CLOCK.stop() and self._collects:
            gc.enable()


event.register("numba:compile", _Compilation())  # type: ignore[no-untyped-call]


def make_dispatcher(function: TieredFunction) -> Any:
    """Return what Python calls to run a function compiled; code is kept on disk if it has a stamp."""
    dispatcher = _njit(function.py_func)
    stamp = function.stamp()
    if stamp is None:
        _compile_if_allowed(dispatcher)
    else:
        # Numba has no public way to use another cache; tests say so when its private parts change.
        _keep(dispatcher, CodeCache(function.name, stamp, may_compile))
    return dispatcher


def compile_for(function: TieredFunction, examples: tuple[Any, ...]) -> None:
    """Load or compile the code for arguments of the types of some examples, and call nothing."""
    dispatcher = function.dispatcher
    dispatcher.compile(tuple(dispatcher.typeof_pyval(example) for example in examples))
    function.loaded = dispatcher


def _keep(dispatcher: Any, kept: CodeCache) -> None:
    """Cache a dispatcher's code on disk; release its locks after each compilation, even a failed one."""
    dispatcher._cache, compile_it = kept, dispatcher.compile

    def compile_and_release(signature: Any) -> Any:
        try:
            return compile_it(signature)
        finally:
            kept.release_locks()

    dispatcher.compile = compile_and_release


def _compile_if_allowed(dispatcher: Any) -> None:
    compile_it = dispatcher.compile

    def compile_or_refuse(signature: Any) -> Any:
        if not may_compile():
            raise NotLoaded
        return compile_it(signature)

    dispatcher.compile = compile_or_refuse


_registered: list[Any] = []  # Numba keeps no more than weak references to dispatchers


def register_inlined() -> None:
    """Let compiled code know the small functions that have been declared since the last call."""
    while INLINED:
        seen, function = INLINED.pop()
        dispatcher = _njit(function, forceinline=True)
        _registered.append((seen, dispatcher))
        cpu_target.typing_context.insert_global(seen, types.Dispatcher(dispatcher))


def _njit(function: Callable[..., object], forceinline: bool = False) -> Any:
    """Return Numba's dispatcher for a function, which is compiled for types alone.

    Until Numba has seen all that is assigned to a variable that begins as -1, the variable's type is that
    constant, and what is called with it would be compiled for the constant as well.
    """
    # Numba takes the caller's options where there are none. What is inlined is never called from Python, so
    # the code for that call, a tenth of all compilation, is left out.
    options = {**_OPTIONS, "forceinline": forceinline, "no_cpython_wrapper": forceinline}
    dispatcher: Any = numba.njit(**options)(function)
    for_constants = dispatcher.get_call_template

    def get_call_template(args: Any, kws: dict[str, Any]) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}  # type: ignore[no-untyped-call]
        with compiling_is(True):  # its caller is being compiled
            return for_constants(tuple(map(types.unliteral, args)), plain)

    dispatcher.get_call_template = get_call_template
    return dispatcher


register_inlined()
