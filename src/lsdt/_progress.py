"""Progress of long work: a bar on a terminal or in a notebook, or a callback.

A computation enters `progress_of`; loops inside it, at any depth, iterate through `track`. Outside of it, and
inside `without_progress`, `track` is a plain loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Progress = bool | Callable[[float], None] | None
Item = TypeVar("Item")

_QUIET_SECONDS = 2.0  # before a bar appears; chosen by eye: shorter work would only flash one up

# Callbacks, each called once, when code has to be compiled because it is not on disk yet.
on_compilation: list[Callable[[], None]] = []


class ProgressBar:
    """A progress bar, or a callback that is called with the finished share.

    Parameters
    ----------
    total : int or None
        Number of units, if known.
    unit : str
        Their name.
    progress : bool, function or None
        Show a bar or not; by default on a terminal or in a notebook, when the work takes more than two
        seconds. A function is called with the share that is done.
    """

    def __init__(self, total: int | None, unit: str, progress: Progress) -> None:
        show = _is_watched() if progress is None else progress is True
        delay = 0 if progress is True else _QUIET_SECONDS
        self._bar: Any = None
        if show:  # tqdm makes an interprocess lock even for a bar that is not shown
            self._bar = _bar_class()(total=total, unit=f" {unit}", delay=delay, leave=False)
        self._total, self._done = total, 0
        self._call: Callable[[float], None] | None = progress if callable(progress) else None

    def update(self, more: int = 1) -> None:
        """Add finished units."""
        self._done += more
        if self._bar is not None:
            self._bar.update(more)
        if self._call is not None and self._total:
            self._call(self._done / self._total)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


def _bar_class() -> Any:
    """Return the notebook bar if it can be shown, else the text bar.

    `tqdm.auto` would warn if ipywidgets is missing, and mistake an IPython terminal for a notebook.
    """
    from tqdm import tqdm

    return tqdm if not _is_notebook() or find_spec("ipywidgets") is None else _NotebookBar


class _NotebookBar:
    """A bar as a widget that leaves nothing behind when it is closed.

    tqdm would leave the first state of the widget as text, which a saved notebook shows wherever no widgets
    run.
    """

    def __init__(self, *, delay: float, **options: Any) -> None:
        from tqdm.notebook import tqdm

        self._bar = tqdm(display=False, **options)
        self._from = monotonic() + delay
        self._shown: Any = None
        self._show()

    def _show(self) -> None:
        if self._shown is None and monotonic() >= self._from:
            from IPython.display import display

            self._shown = display(self._bar.container, display_id=True)

    def update(self, more: int) -> None:
        """Add finished units."""
        self._bar.update(more)
        self._show()

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()
        if self._shown is not None:
            self._shown.update({"text/plain": ""}, raw=True)


def _is_watched() -> bool:
    """Return whether a user sees the output: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or _is_notebook()


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class _Work:
    """A computation of several loops, each of which covers a part of the whole."""

    def __init__(self, progress: Progress, ends: Mapping[str, tuple[float, float]]) -> None:
        self._progress, self._ends, self._told = progress, ends, 0.0

    def bar(self, total: int | None, unit: str) -> ProgressBar:
        if not callable(self._progress):
            return ProgressBar(total, unit, self._progress)
        begin, end = self._ends.get(unit, (0.0, 0.0))
        return ProgressBar(total, unit, lambda share: self.tell(begin + (end - begin) * share))

    def tell(self, share: float) -> None:
        """Call the caller's function, if any, never with a smaller share than before."""
        self._told = max(self._told, share)
        if callable(self._progress):
            self._progress(self._told)


_current: ContextVar[_Work | None] = ContextVar("_current", default=None)
_is_off = ContextVar("_is_off", default=False)


@contextmanager
def progress_of(progress: Any, ends: Mapping[str, tuple[float, float]]) -> Iterator[None]:
    """Show the progress of the loops inside.

    `ends` maps the unit of a loop to the part of the whole that it covers, such as ``(0.2, 1.0)``. A nested
    computation with ``progress=None`` counts as a part of the outer one.
    """
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InvalidInput(f"progress must be True, False, None or a function; got {progress!r}")
    if _is_off.get() or (progress is None and _current.get() is not None):
        yield
        return
    work = _Work(progress, ends)
    before = _current.set(work)
    try:
        yield
        work.tell(1.0)
    finally:
        _current.reset(before)


@contextmanager
def without_progress() -> Iterator[None]:
    """Switch off progress inside, for this thread; used where the caller reports progress of the whole."""
    before, current = _is_off.set(True), _current.set(None)
    try:
        yield
    finally:
        _is_off.reset(before)
        _current.reset(current)


@contextmanager
def counter(total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that adds finished units to the progress, if it is shown; any thread may call it."""
    work = _current.get()
    if work is None:
        yield lambda _more: None
        return
    bar, lock = work.bar(total, unit), Lock()

    def count(more: int) -> None:
        with lock:
            bar.update(more)

    try:
        yield count
    finally:
        bar.close()


def track(items: Iterable[Item], unit: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items of a loop, and show how many are done, if progress is shown."""
    work = _current.get()
    if work is None:
        yield from items
        return
    bar = work.bar(total, unit)
    try:
        for item in items:
            yield item
            bar.update()
    finally:
        bar.close()
