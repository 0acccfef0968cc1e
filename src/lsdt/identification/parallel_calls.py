"""Call a user's function, plain or async, several times at once."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    Submit = Callable[[Any, Any], Future[Any]]

MOST_JOBS = 1_000  # threads or connections that wait for answers; more would only queue somewhere else


@contextmanager
def parallel_calls(function: Callable[[Any, Any], Any], jobs: int) -> Iterator[Submit]:
    """Yield a function that begins a call and returns a future; at most `jobs` calls run at the same time.

    On leaving, calls that have not begun are cancelled, and plain functions that have begun are waited for.

    Examples
    --------
    >>> with parallel_calls(lambda a, b: a + b, 2) as submit:
    ...     [each.result() for each in [submit(1, 2), submit(3, 4)]]
    [3, 7]
    """
    if not (inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)):
        pool = ThreadPoolExecutor(jobs)
        try:
            yield lambda a, b: pool.submit(function, a, b)
        finally:
            pool.shutdown(cancel_futures=True)
        return
    free = asyncio.Semaphore(jobs)

    async def call(a: Any, b: Any) -> Any:
        async with free:
            return await function(a, b)

    # A loop in a thread of its own works in scripts and in notebooks, which already run one.
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    begun: set[Future[Any]] = set()

    def submit(a: Any, b: Any) -> Future[Any]:
        future = asyncio.run_coroutine_threadsafe(call(a, b), loop)
        begun.add(future)
        future.add_done_callback(begun.discard)
        return future

    try:
        yield submit
    finally:
        for future in tuple(begun):
            future.cancel()
        asyncio.run_coroutine_threadsafe(_settled(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _settled() -> None:
    """Wait until all other tasks of this loop have ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
