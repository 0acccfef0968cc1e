"""`lsdt.race`: try arms on the same examples, and drop those that are beaten."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._progress import ProgressBar
from lsdt._validation import (
    check_kind,
    checked_list,
    checked_number,
    checked_seed,
    checked_share_inside,
    checked_whole,
    is_number,
)
from lsdt.errors import InvalidInput
from lsdt.identification.parallel_calls import MOST_JOBS, parallel_calls
from lsdt.identification.racing.evaluations import Evaluations
from lsdt.identification.racing.race_state import RaceState
from lsdt.identification.racing.score_log import ScoreLog
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from os import PathLike

    from lsdt._progress import Progress
    from lsdt.identification.racing.race_result import RaceResult
    from lsdt.side_information import ArmId

_MOST_EMPTY = 1_000  # examples in a row without a score, of an iterator that may have no end


def race(
    arms: Iterable[ArmId],
    evaluate: Callable[[Any, Any], Any],
    examples: Iterable[Any],
    *,
    side: SideInformation | None = None,
    delta: float = 0.05,
    tolerance: float = 0.0,
    scale: tuple[float, float] = (0.0, 1.0),
    budget: int | None = None,
    jobs: int = 1,
    log: str | PathLike[str] | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> RaceResult:
    """Try arms on the same examples, drop those that are beaten, and stop when the best arm is known.

    The paired form of `identify`: what makes an example easy or hard is the same for all arms and cancels
    out. All arms that are still in the race are evaluated on the next example. With probability at
    least 1 - delta, the arm that is named is within the tolerance of the best one, on average over examples
    like these; this holds for any scores within the scale and at every look. See docs/guides/race.md.

    Parameters
    ----------
    arms : iterable of str or of int
        The arms.
    evaluate : function or async function
        ``evaluate(arm, example)`` returns a score within the scale, or None where this arm cannot be tried on
        this example.
    examples : iterable
        What arms are tried on. A list is taken in random order; an iterator in its own order, which must not
        depend on scores.
    side : SideInformation, optional
        What is known about the arms: those that it excludes are never tried, and a rival that it shows to be
        no better by more than the tolerance needs no further evidence. Its own risk adds to delta.
    delta : float
        The accepted probability of naming an arm that is not good enough.
    tolerance : float
        How far below the best arm the one that is named may lie, on the scale of scores. With 0 the race
        ends when one arm is left.
    scale : tuple of float
        The smallest and the largest possible score.
    budget : int, optional
        The most evaluations, with those in the `log` but without those that returned None; by default the
        race ends with the examples.
    jobs : int
        How many evaluations run at the same time, in threads or, for an async function, as tasks. To keep
        them busy the next examples are begun early, so that up to `jobs` evaluations may not be needed.
    log : path, optional
        A CSV file of scores. Those that it has are not asked for again, and every new one is on disk before
        the race goes on, so that a race that was stopped continues where it was. An example is known by its
        text if it is text or a whole number, else, or if it occurs again, by its place in the list.
    seed : int
        The same seed gives the same order of examples.
    progress : bool or function, optional
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    RaceResult
        ``arm_id``, ``stop``, ``left``, ``tries``, ``to_frame()``.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> hardness, skill = rng.random(2000), {"a": .05, "b": .1, "c": .3}
    >>> found = lsdt.race(skill, lambda arm, example: skill[arm] > hardness[example], range(2000))
    >>> found
    RaceResult(arm_id='c', stop=True, left=1, tries=70, examples=27)
    """
    names = checked_list(arms, "arms", "arms")
    known = _checked_side(names, side)
    low, high = _checked_scale(scale)
    level = checked_share_inside(delta, "delta")
    checked_tolerance = checked_number(tolerance, "tolerance", at_least=0.0)
    limit = None if budget is None else checked_whole(budget, "budget", 1)
    threads = checked_whole(jobs, "jobs", 1, MOST_JOBS)
    if not callable(evaluate):
        raise InvalidInput(
            "evaluate must be a function of an arm and an example that returns a score; got "
            f"{type(evaluate).__name__}"
        )
    in_order, number = _in_order(examples, checked_seed(seed))

    def check(answer: Any, arm: ArmId) -> float:
        return _checked_score(answer, arm, low, high)

    kept = None if log is None else ScoreLog(log, check, names)
    run = RaceState(known, level, checked_tolerance, (low, high))
    if limit is not None and not run.is_over and limit < len(run.left):
        raise InvalidInput(
            f"budget must allow one evaluation of each of the {len(run.left):,} arms that may be the best; "
            f"got {limit}"
        )
    if kept is not None:
        kept.check_writable()
    bar = ProgressBar(number, "examples", progress)
    evaluations = None
    try:
        with parallel_calls(evaluate, threads) as submit:
            evaluations = Evaluations(submit, in_order, threads, check, kept, limit)
            rows = iter(()) if run.is_over else evaluations.rows(run.labels_left)
            n_empty = 0
            for scores in rows:
                run.learn(scores)
                bar.update(1)
                n_empty = n_empty + 1 if all(map(math.isnan, scores.values())) else 0
                if number is None and n_empty == _MOST_EMPTY:
                    warnings.warn(
                        f"evaluate returned None for every arm on the last {_MOST_EMPTY:,} examples, and "
                        "there may be no end of them: the race ended",
                        stacklevel=2,
                    )
                    break
                if run.is_over:
                    break
    finally:
        bar.close()
        if evaluations is not None:
            evaluations.keep_rest()
    return run.result(evaluations.n_scores)


def _checked_side(names: list[Any], side: Any) -> SideInformation:
    """Return what is known about the arms, which are in the order in which they were given."""
    if not names:
        raise InvalidInput("a race needs at least one arm; got none")
    bare = SideInformation(len(names), arm_ids=names)
    if side is None:
        return bare
    check_kind(side, SideInformation, "side must be a SideInformation")
    for name in names:
        side.index(name)  # refuses an arm that it does not have
    return side.subset(names)  # type: ignore[no-any-return]


def _checked_scale(scale: Any) -> tuple[float, float]:
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"scale must be two numbers, (low, high); got {scale!r}") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"the scale must go from low to high, both finite; got {low:g} to {high:g}")
    return low, high


def _in_order(examples: Any, seed: int) -> tuple[Iterator[tuple[int, Any]], int | None]:
    """Return places and examples in the order in which they are used, and their number, if it is known."""
    if hasattr(examples, "columns"):
        raise InvalidInput(
            "examples must be a list or an iterator; got a dataframe. Give a list of its rows, such as "
            "frame.to_dict('records')"
        )
    listed = isinstance(examples, Sequence) or (isinstance(examples, np.ndarray) and examples.ndim > 0)
    if listed and not isinstance(examples, (str, bytes)):
        order = np.random.default_rng(seed).permutation(len(examples))
        return ((place, examples[place]) for place in order.tolist()), len(order)
    try:
        if isinstance(examples, (str, bytes)):
            raise TypeError
        return enumerate(examples), None
    except TypeError:
        raise InvalidInput(f"examples must be a list or an iterator; got {examples!r}") from None


def _checked_score(answer: Any, arm: ArmId, low: float, high: float) -> float:
    """Return a score on the scale from 0 to 1, NaN for None."""
    if answer is None:
        return math.nan
    if isinstance(answer, (bool, np.bool_)):
        answer = float(answer)
    if not is_number(answer) or not low <= answer <= high:
        raise InvalidInput(
            f"evaluate returned {answer!r} for arm {arm!r}; a score is a number from {low:g} to {high:g} "
            "(another scale is given by scale=(low, high)), or None"
        )
    return (float(answer) - low) / (high - low)
