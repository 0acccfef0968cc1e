"""Ask a function, or an async function, about many pairs at the same time."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from lsdt.identification.inquiry import Inquiry
    from lsdt.identification.judges.answer_log import AnswerLog
    from lsdt.identification.pair_questions import PairQuestion
    from lsdt.side_information import ArmId

    Judge = Callable[[ArmId, ArmId], Any]
    Submit = Callable[[ArmId, ArmId], Future[Any]]


def ask_judge(
    inquiry: Inquiry,
    judge: Judge,
    jobs: int,
    calls: int | None,
    budget: float | None,
    cost: Any,
    log: AnswerLog | None,
) -> None:
    """Ask until the inquiry has no question left, or calls or budget are used up.

    `jobs` questions are under way at any time; the next one is chosen as soon as an answer arrives. If the
    judge raises an error, the questions under way are completed and counted before the error is raised.
    """
    n_asked, spent = 0, 0.0
    under_way: dict[Future[Any], PairQuestion] = {}
    unanswered: list[tuple[ArmId, ArmId]] = []
    failure: BaseException | None = None
    with _submitting(judge, jobs) as submit:
        while True:
            room = jobs - len(under_way)
            room = room if calls is None else min(room, calls - n_asked)
            if room > 0 and failure is None:
                pending = [(one.a, one.b) for one in under_way.values()] + unanswered
                for one in inquiry.next(room, cost, pending=pending):
                    if budget is not None and spent + one.cost > budget:
                        break
                    under_way[submit(one.a, one.b)] = one
                    n_asked, spent = n_asked + 1, spent + one.cost
            if not under_way:
                break
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                one = under_way.pop(future)
                try:
                    answer = future.result()
                    if answer is None:
                        unanswered.append((one.a, one.b))
                        continue
                    said = inquiry.checked_answer(answer)
                except Exception as error:
                    error.add_note(f"This happened when the judge was asked about {one.a!r} and {one.b!r}.")
                    failure = failure or error
                    continue
                inquiry.tell(one.a, one.b, said)
                if log is not None:
                    log.add(one.a, one.b, said)
    if failure is not None:
        raise failure


@contextmanager
def _submitting(judge: Judge, jobs: int) -> Iterator[Submit]:
    """Yield a function that begins to ask the judge and returns a future."""
    if inspect.iscoroutinefunction(judge) or inspect.iscoroutinefunction(type(judge).__call__):
        # A loop in a thread of its own works in scripts and in notebooks, which already run one.
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            yield lambda a, b: asyncio.run_coroutine_threadsafe(judge(a, b), loop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
        return
    pool = ThreadPoolExecutor(jobs)
    try:
        yield lambda a, b: pool.submit(judge, a, b)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
