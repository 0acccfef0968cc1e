"""Run the parts of a study on many workers: results as they come, progress, and a clean stop on Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from types import FrameType

    from lsdt._progress import Progress


class Stopped(Exception):
    """The work was interrupted."""


class Token(NamedTuple):
    """The name of a running study, and the process that started it."""

    name: str
    process: int


# Set by the main thread when work ends early; threads check them from time to time.
_STOPS: dict[str, threading.Event] = {}


def event_of(token: Token) -> threading.Event:
    """Return the event that stops a study; in another process, one that is never set."""
    if token.process != os.getpid():
        return threading.Event()
    found = _STOPS.get(token.name)
    if found is None:  # a part that was handed out before the work ended
        raise Stopped
    return found


def run_parts(
    calls: Sequence[Callable[[], Any]],
    token: Token,
    total: int,
    unit: str,
    n_jobs: int,
    progress: Progress,
    take: Callable[[Any], int],
) -> bool:
    """Run the calls, pass every result to `take`, and return whether the user interrupted.

    `take` returns how many of the `total` units that result completes, for the progress bar.
    """
    bar = ProgressBar(total, unit, progress)
    stop = _STOPS.setdefault(token.name, threading.Event())
    parts = _as_finished(calls, n_jobs)
    try:
        with _set_on_ctrl_c(stop):
            for part in parts:
                bar.update(take(part))
    except BaseException as error:
        stop.set()
        with warnings.catch_warnings():  # joblib warns about abandoned parts
            warnings.simplefilter("ignore")
            parts.close()
        if isinstance(error, (KeyboardInterrupt, Stopped)):
            return True
        raise
    finally:
        bar.close()
        _STOPS.pop(token.name, None)
    return False


@contextmanager
def _set_on_ctrl_c(stop: threading.Event) -> Iterator[None]:
    """Set `stop` as soon as Ctrl-C comes, before the KeyboardInterrupt is raised.

    Python drops exceptions that are raised inside destructors and callbacks. If the interrupt is lost that
    way, the workers still end.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # signals go to the main thread, or the program has chosen to ignore this one
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        stop.set()
        before(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def n_workers(n_jobs: int, n_parts: int) -> int:
    """Return how many workers there are for this many parts."""
    if n_parts == 1:
        return 1
    import joblib

    return int(joblib.effective_n_jobs(n_jobs))


def _as_finished(parts: Sequence[Callable[[], Any]], n_jobs: int) -> Generator[Any, None, None]:
    """Run the calls on joblib's workers and yield the results as they come.

    Backends that return all results at once, such as Ray's, get the calls in batches of a few per worker. A
    single part needs no workers, unless somebody who imported joblib has chosen some.
    """
    if len(parts) == 1 and "joblib" not in sys.modules:
        yield parts[0]()
        return
    import joblib

    calls = [joblib.delayed(part)() for part in parts]
    try:
        parallel = joblib.Parallel(n_jobs, prefer="threads", batch_size=1, return_as="generator_unordered")
    except ValueError:
        with joblib.Parallel(n_jobs, prefer="threads", batch_size=1) as parallel:
            size = 4 * max(joblib.effective_n_jobs(n_jobs), 1)
            for at in range(0, len(calls), size):
                yield from parallel(calls[at : at + size])
    else:
        yield from parallel(calls)
