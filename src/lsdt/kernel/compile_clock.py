"""How much time goes into compilation, and who wants to hear when it begins."""

from __future__ import annotations

from threading import get_ident
from time import perf_counter
from typing import TYPE_CHECKING

from lsdt._progress import on_compilation

if TYPE_CHECKING:
    from collections.abc import Callable


class CompileClock:
    """Adds up the time spent compiling; a function compiled for another counts once.

    ``begun`` maps a thread to what it wants called before it first compiles.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.begun: dict[int, Callable[[], None]] = {}
        self._depth = 0
        self._started = 0.0

    def start(self) -> bool:
        """Start the clock; return whether no compilation was under way."""
        outermost = self._depth == 0
        if outermost:
            self._started = perf_counter()
        self._depth += 1
        begun = self.begun.pop(get_ident(), None)
        if begun is not None:
            begun()
        while on_compilation:
            on_compilation.pop()()
        return outermost

    def stop(self) -> bool:
        """Stop the clock; return whether that was the outermost compilation."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._started
        return self._depth == 0


CLOCK = CompileClock()


class _CompileSeconds:
    """The seconds of compilation inside a ``with`` block."""

    __slots__ = ("_before", "_begun", "seconds")

    def __init__(self, begun: Callable[[], None] | None) -> None:
        self._begun = begun

    def __enter__(self) -> _CompileSeconds:
        self._before = CLOCK.seconds
        self.seconds = 0.0
        if self._begun is not None:
            CLOCK.begun[get_ident()] = self._begun
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = CLOCK.seconds - self._before
        if self._begun is not None:
            CLOCK.begun.pop(get_ident(), None)


def compile_seconds(begun: Callable[[], None] | None = None) -> _CompileSeconds:
    """Count the seconds of compilation inside a ``with`` block.

    `begun` is called before this thread first compiles in it; never if all code is on disk or interpreted.
    """
    return _CompileSeconds(begun)
