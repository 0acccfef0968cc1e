"""Parts of a study on many workers: results as they come, a progress bar, an orderly end on Ctrl-C."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    Progress = bool | Callable[[float], None] | None

_QUIET_SECONDS = 2.0  # a progress bar appears only in runs that last longer


class Stopped(Exception):
    """The work was interrupted."""


class Token(NamedTuple):
    """The name of a study under way, and the process that began it."""

    name: str
    process: int


# Set by the main thread when work ends early; threads look at it now and then.
_STOPS: dict[str, threading.Event] = {}


def event_of(token: Token) -> threading.Event:
    """Return the event that stops a study; in another process one that nobody sets."""
    if token.process != os.getpid():
        return threading.Event()
    found = _STOPS.get(token.name)
    if found is None:  # a part that was handed out before the work ended
        raise Stopped
    return found


def run_parts(
    calls: list[Any],
    token: Token,
    total: int,
    unit: str,
    n_jobs: int,
    progress: Progress,
    take: Callable[[Any], int],
) -> bool:
    """Run joblib's calls, pass every result to `take`, and return whether the user interrupted.

    `take` returns how many of the `total` units, which the progress bar counts, are done by it.
    """
    bar, done = _progress_bar(total, unit, progress), 0
    stop = _STOPS.setdefault(token.name, threading.Event())
    parts = _as_finished(calls, n_jobs)
    try:
        for part in parts:
            more = take(part)
            done += more
            bar.update(more)
            if callable(progress):
                progress(done / total)
    except BaseException as error:
        stop.set()
        with warnings.catch_warnings():  # joblib warns of the parts that are given up
            warnings.simplefilter("ignore")
            parts.close()
        if isinstance(error, (KeyboardInterrupt, Stopped)):
            return True
        raise
    finally:
        bar.close()
        _STOPS.pop(token.name, None)
    return False


def _progress_bar(total: int, unit: str, progress: Progress) -> Any:
    from tqdm import tqdm

    show = sys.stderr.isatty() if progress is None else progress is True
    delay = 0 if progress is True else _QUIET_SECONDS
    return tqdm(total=total, unit=f" {unit}", disable=not show, delay=delay, leave=False)


def _as_finished(calls: list[Any], n_jobs: int) -> Generator[Any, None, None]:
    """Yield the results of the calls on joblib's workers as they come.

    Backends that give all results at once, as Ray's, get the calls in rounds of a few for every worker.
    """
    import joblib

    try:
        parallel = joblib.Parallel(n_jobs, prefer="threads", batch_size=1, return_as="generator_unordered")
    except ValueError:
        with joblib.Parallel(n_jobs, prefer="threads", batch_size=1) as parallel:
            size = 4 * max(joblib.effective_n_jobs(n_jobs), 1)
            for at in range(0, len(calls), size):
                yield from parallel(calls[at : at + size])
    else:
        yield from parallel(calls)
