"""Ask a function, or an async function, about many pairs at the same time."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, Any

from lsdt.identification.parallel_calls import parallel_calls

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from lsdt.identification.inquiry import Inquiry
    from lsdt.identification.judges.answer_log import AnswerLog
    from lsdt.identification.pair_questions import PairQuestion
    from lsdt.side_information import ArmId

    Judge = Callable[[ArmId, ArmId], Any]


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
    judge raises an error, or on Ctrl-C, the questions under way are completed and counted before it ends.
    """
    n_asked, spent = 0, 0.0
    under_way: dict[Future[Any], PairQuestion] = {}
    unanswered: list[tuple[ArmId, ArmId]] = []
    failures: list[Exception] = []

    def take(future: Future[Any]) -> None:
        one = under_way.pop(future)
        try:
            answer = future.result()
            if answer is None:
                unanswered.append((one.a, one.b))
                return
            said = inquiry.checked_answer(answer)
        except Exception as error:
            error.add_note(f"This happened when the judge was asked about {one.a!r} and {one.b!r}.")
            failures.append(error)
            return
        inquiry.tell(one.a, one.b, said)
        if log is not None:
            log.add(one.a, one.b, said)

    try:
        with parallel_calls(judge, jobs) as submit:
            while True:
                room = jobs - len(under_way)
                room = room if calls is None else min(room, calls - n_asked)
                if room > 0 and not failures:
                    pending = [(one.a, one.b) for one in under_way.values()] + unanswered
                    for one in inquiry.next(room, cost, pending=pending):
                        if budget is not None and spent + one.cost > budget:
                            break
                        under_way[submit(one.a, one.b)] = one
                        n_asked, spent = n_asked + 1, spent + one.cost
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    take(future)
    finally:  # interrupted: what was asked is paid for
        for future in [each for each in under_way if each.done() and not each.cancelled()]:
            take(future)
    if failures:
        raise failures[0]
