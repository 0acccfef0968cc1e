"""Run a kernel in the tier of one's choice."""

from __future__ import annotations

from functools import cache
from threading import get_ident
from typing import TYPE_CHECKING, Any

from lsdt.kernel import compiler, jit

if TYPE_CHECKING:
    from collections.abc import Callable


def interpreted(function: Any) -> Callable[..., Any]:
    """Return a function that runs a kernel, and all that it calls, in the interpreter."""
    plain = getattr(function, "plain", function)

    def call(*arguments):
        jit._interpreting.add(get_ident())
        try:
            return plain(*arguments)
        finally:
            jit._interpreting.discard(get_ident())

    return call


@cache
def compiled(function: Any) -> Callable[..., Any]:
    """Return a function that runs a kernel compiled."""
    if isinstance(function, jit.TieredFunction):
        return lambda *arguments: function.compile(arguments)
    (found,) = [dispatcher for seen, dispatcher in compiler._registered if seen is function]
    return compiler._njit(found.py_func)  # what is inlined cannot be called from Python
