"""Evaluate arms on examples, several at once, and hand out the scores example by example."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.identification.racing.score_log import example_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lsdt.identification.parallel_calls import Submit
    from lsdt.identification.racing.score_log import ScoreLog
    from lsdt.side_information import ArmId


class _Row(NamedTuple):
    """An example that arms are being tried on: what it is called, and the future score of each arm."""

    name: str
    scores: dict[ArmId, Future[Any]]


class Evaluations:
    """Scores of the arms that are left on one example after the other.

    While fewer than `jobs` evaluations are under way, the next example is begun, so that workers do not wait
    for the slowest arm. Evaluations of arms that are dropped meanwhile are cancelled where that is possible.

    Attributes
    ----------
    n_scores : int
        How many scores there are, from the log or from calls, needed or not; those that are None do not
        count, nor do they use up the budget.
    """

    def __init__(
        self,
        submit: Submit,
        examples: Iterable[tuple[int, Any]],
        jobs: int,
        check: Callable[[Any, ArmId], float],
        log: ScoreLog | None,
        budget: int | None,
    ) -> None:
        self._submit, self._examples, self._jobs = submit, iter(examples), jobs
        self._check, self._log, self._budget = check, log, budget
        self._rows: deque[_Row] = deque()
        self._called: dict[Future[Any], tuple[ArmId, str, Any]] = {}
        self._arrived: SimpleQueue[Future[Any]] = SimpleQueue()
        self._names: set[str] = set()
        self._n_begun = self.n_scores = 0

    def rows(self, left: Callable[[], list[ArmId]]) -> Iterator[dict[ArmId, float]]:
        """Yield the scores of each example, NaN for none; `left` says which arms are still in the race."""
        while self._rows or self._begin(left()):
            row = self._rows.popleft()
            while any(future in self._called for future in row.scores.values()):
                while len(self._called) < self._jobs and len(self._rows) < self._jobs:
                    if not self._begin(left()):
                        break
                future = self._arrived.get()
                if future in self._called:  # not cancelled meanwhile
                    self._keep(future)
            yield {arm: self._check(future.result(), arm) for arm, future in row.scores.items()}
            self._cancel(set(row.scores) - set(left()))

    def _begin(self, arms: list[ArmId]) -> bool:
        """Begin the next example; return False if there is none, or if it would exceed the budget."""
        if self._budget is not None and self._n_begun + len(arms) > self._budget:
            return False
        for number, example in self._examples:
            name = example_name(example, number)
            # An example that occurs again is another try, not the score that the log has.
            row = _Row(f"#{number}" if name in self._names else name, {})
            self._names.add(row.name)
            for arm in arms:
                row.scores[arm] = self._evaluate(arm, example, row.name)
            self._n_begun += len(arms)
            self._rows.append(row)
            return True
        return False

    def _evaluate(self, arm: ArmId, example: Any, name: str) -> Future[Any]:
        if self._log is not None and self._log.has(arm, name):
            known: Future[Any] = Future()
            known.set_result(self._log.get(arm, name))
            self._count(known.result())
            return known
        future = self._submit(arm, example)
        self._called[future] = arm, name, example
        future.add_done_callback(self._arrived.put)
        return future

    def _keep(self, future: Future[Any]) -> None:
        """Write a score down; an error of `evaluate` is raised with a note."""
        arm, name, example = self._called.pop(future)
        try:
            score = future.result()
            self._check(score, arm)
        except Exception as error:
            error.add_note(f"This happened when arm {arm!r} was tried on the example {example!r}.")
            raise
        self._count(score)
        if self._log is not None:
            self._log.add(arm, name, score)

    def _count(self, score: float | None) -> None:
        if score is None:
            self._n_begun -= 1
        else:
            self.n_scores += 1

    def _cancel(self, arms: set[ArmId]) -> None:
        """Cancel evaluations of arms that are out, where they have not begun."""
        for row in self._rows:
            for arm in arms & row.scores.keys():
                future = row.scores.pop(arm)
                if future.cancel():
                    self._called.pop(future, None)
                    self._n_begun -= 1

    def keep_rest(self) -> None:
        """Write down all scores that have arrived since, after an error or at the end of the race."""
        for future in [each for each in self._called if each.done() and not each.cancelled()]:
            try:
                self._keep(future)
            except Exception:  # the first error is raised already, or the score is not needed
                continue
