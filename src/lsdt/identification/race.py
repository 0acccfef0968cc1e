"""`lsdt.race`: try arms on the same examples, and drop those that are beaten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import card, facts
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
from lsdt.candidates import candidate_set
from lsdt.errors import InvalidInput, counted
from lsdt.identification.paired_bets import PairedBets
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt._html import Html
    from lsdt._progress import Progress
    from lsdt.side_information import ArmId

_MOST_JOBS = 1_000  # threads that wait for answers; more would only queue somewhere else
# Up to this many pairs of arms are looked at after every example, which takes some milliseconds. With more,
# one looks whenever the examples have grown by a twentieth: some evaluations more, far fewer looks.
_ALWAYS, _GROWTH = 40_000, 0.05


class RaceResult(NamedTuple):
    """Which arm won a race; see `race`.

    Attributes
    ----------
    arm_id : str or int
        The arm that is named.
    arm : int
        Its index.
    stop : bool
        Whether it is known to be within the tolerance of the best arm. If not, it is the best guess.
    left : list
        The arms that were not beaten, the best mean first; with probability 1 - delta the best is among them.
    delta : float
        The accepted probability of an error.
    tolerance : float
        How far below the best arm the one that is named may lie.
    tries : int
        The number of evaluations.
    examples : int
        The number of examples that were used.
    text : str
        The result in a sentence.
    frame : DataFrame
        See `to_frame`.

    Examples
    --------
    >>> import lsdt, random
    >>> quality = {"short": .3, "polite": .5, "stepwise": .8}
    >>> found = lsdt.race(quality, lambda prompt, _: random.Random().random() < quality[prompt], range(5000))
    >>> found.arm_id, found.stop
    ('stepwise', True)
    """

    arm_id: ArmId
    arm: int
    stop: bool
    left: list[ArmId]
    delta: float
    tolerance: float
    tries: int
    examples: int
    text: str
    frame: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: arm, tries, mean, status.

        ``status`` is ``'left'``, ``'beaten'``, or ``'excluded'`` by the side information. A row also has
        ``beaten_by``, the arm with the largest e-value against it, and ``after``, the number of examples
        until then.
        """
        return self.frame.copy()

    def __repr__(self) -> str:
        return (
            f"RaceResult(arm_id={self.arm_id!r}, stop={self.stop}, left={len(self.left)}, "
            f"tries={self.tries:,}, examples={self.examples:,})"
        )

    def _repr_html_(self) -> Html:
        known = {
            "arm": self.arm_id,
            "known": self.stop,
            "arms left": len(self.left),
            "tolerance": self.tolerance,
            "evaluations": self.tries,
            "examples": self.examples,
        }
        return card("RaceResult", self.text, facts(known))


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
    evaluate : callable
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
        The most evaluations; by default the race ends with the examples.
    jobs : int
        How many evaluations run at the same time, in threads.
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
    width = checked_number(tolerance, "tolerance", at_least=0.0) / (high - low)
    limit = None if budget is None else checked_whole(budget, "budget", 1)
    threads = checked_whole(jobs, "jobs", 1, _MOST_JOBS)
    if not callable(evaluate):
        raise InvalidInput(
            "evaluate must be a function of an arm and an example that returns a score; got "
            f"{type(evaluate).__name__}"
        )
    in_order, number = _in_order(examples, checked_seed(seed))
    run = _Race(known, level, width)
    bar = ProgressBar(number, "examples", progress)
    pool = ThreadPoolExecutor(threads)
    try:
        for example in in_order:
            if run.is_over or (limit is not None and run.tries + len(run.left) > limit):
                break
            labels = [known.label(arm) for arm in run.left.tolist()]
            answers = pool.map(evaluate, labels, [example] * len(labels))
            scores = [
                _checked_score(answer, label, low, high)
                for answer, label in zip(answers, labels, strict=True)
            ]
            run.learn(np.array(scores))
            bar.update(1)
    finally:
        pool.shutdown(cancel_futures=True)
        bar.close()
    return run.result(tolerance, low, high)


class _Race:
    """The state of a race: who is left, and the evidence so far; scores are on the scale from 0 to 1."""

    def __init__(self, side: SideInformation, delta: float, tolerance: float) -> None:
        n_arms = side.n_arms
        self.side, self.delta, self.tolerance = side, delta, tolerance
        self.left: NDArray[np.int64] = np.array(candidate_set(side, progress=False).arms)
        self.is_excluded = np.ones(n_arms, bool)
        self.is_excluded[self.left] = False
        self._entered = self.left.copy()
        # With a tolerance two kinds of tests can go wrong, and each takes half of the error.
        share = delta if tolerance == 0.0 else delta / 2.0
        self._needed = math.log(max(len(self.left) - 1, 1) / share)
        self._bets = PairedBets(len(self.left))
        self._near = PairedBets(len(self.left), tolerance) if tolerance > 0.0 else None
        self._sums, self._counts = np.zeros((2, n_arms))
        self._leads, self._common = np.zeros((2, len(self.left), len(self.left)))
        self.beaten_by: dict[int, tuple[int, int]] = {}
        self.examples = self.tries = self._looked_at = 0
        self.winner: int | None = int(self.left[0]) if len(self.left) == 1 else None

    @property
    def is_over(self) -> bool:
        """Whether the best arm is known."""
        return self.winner is not None

    def learn(self, scores: NDArray[np.float64]) -> None:
        """Learn the scores of the arms that are left on one example; NaN where there is none."""
        self.examples += 1
        self.tries += int(np.isfinite(scores).sum())
        tried = np.isfinite(scores)
        arms, scores = self.left[tried], scores[tried]
        self._sums[arms] += scores
        self._counts[arms] += 1.0
        places = np.searchsorted(self._entered, arms)
        pairs = np.ix_(places, places)
        self._leads[pairs] += scores[:, None] - scores
        self._common[pairs] += 1.0
        for bets in (self._bets, self._near):
            if bets is not None:
                bets.learn(places, scores)
        waited = self.examples - self._looked_at > _GROWTH * self._looked_at
        if len(self.left) ** 2 <= _ALWAYS or waited:
            self._look()

    def _look(self) -> None:
        """Drop the arms that are beaten, and see whether one is known to be good enough."""
        self._looked_at = self.examples
        places = np.searchsorted(self._entered, self.left)
        out = self._bets.against_best()[places] >= self._needed
        if out.all():  # only if a claim that is true was refuted: keep the arm with the least against it
            out[np.argmin(self._bets.against_best()[places])] = False
        for place in places[out].tolist():
            rival = int(np.argmax(self._bets.log_e[place]))
            self.beaten_by[int(self._entered[place])] = int(self._entered[rival]), self.examples
        self.left = self.left[~out]
        if len(self.left) == 1:
            self.winner = int(self.left[0])
        elif self._near is not None:
            leader = self._leader()
            if all(self._is_near(rival, leader) for rival in self.left.tolist() if rival != leader):
                self.winner = leader

    def _leader(self) -> int:
        """Return the arm with the best mean, compared with each other one on the examples of both."""
        return int(self.left[np.argmax(self._leads_of_left())])

    def _leads_of_left(self) -> NDArray[np.float64]:
        at = np.ix_(*[np.searchsorted(self._entered, self.left)] * 2)
        return np.asarray((self._leads[at] / np.maximum(self._common[at], 1.0)).mean(axis=1))

    def _is_near(self, rival: int, leader: int) -> bool:
        """Return whether a rival is known to be better than the leader by the tolerance at most."""
        assert self._near is not None
        first, second = np.searchsorted(self._entered, (rival, leader))
        if self._near.log_e[first, second] >= self._needed:
            return True
        return self.side.difference(self.side.label(rival), self.side.label(leader))[1] <= self.tolerance

    def result(self, tolerance: float, low: float, high: float) -> RaceResult:
        """Return who won, or who leads."""
        stop, arm = self.is_over, self._leader() if self.winner is None else self.winner
        order = np.argsort(-self._leads_of_left(), kind="stable")
        left = [self.side.label(each) for each in self.left[order].tolist()]
        name = self.side.label(arm)
        spent = f"{counted(self.examples, 'example')} and {counted(self.tries, 'evaluation')}"
        risk = "" if self.side.beaten is None else f", and {self.side.beaten.risk:g} for arms beaten in a log"
        if stop:
            where = "the best" if len(self.left) == 1 else f"within {tolerance:g} of the best"
            text = f"arm {name!r} is {where}, but for a probability of {self.delta:g}{risk}, after {spent}"
        else:
            text = (
                f"arm {name!r} is the best guess after {spent}: {counted(len(left), 'arm')} of "
                f"{self.side.n_arms:,} may be the best, but for a probability of {self.delta:g}{risk}"
            )
        frame = self._frame(low, high)
        return RaceResult(
            name, arm, stop, left, self.delta, tolerance, self.tries, self.examples, text, frame
        )

    def _frame(self, low: float, high: float) -> pd.DataFrame:
        import pandas as pd

        arms = range(self.side.n_arms)
        status = np.where(self.is_excluded, "excluded", "beaten").astype(object)
        status[self.left] = "left"
        means = np.divide(
            self._sums, self._counts, np.full(len(self._sums), np.nan), where=self._counts > 0.0
        )
        beaters = {arm: self.side.label(by) for arm, (by, _) in self.beaten_by.items()}
        after = {arm: number for arm, (_, number) in self.beaten_by.items()}
        return pd.DataFrame(
            {
                "arm": [self.side.label(arm) for arm in arms],
                "tries": self._counts.astype(np.int64),
                "mean": low + (high - low) * means,
                "status": status,
                "beaten_by": pd.Series([beaters.get(arm) for arm in arms], dtype=object),
                "after": pd.array([after.get(arm) for arm in arms], dtype="Int64"),
            }
        )


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


def _in_order(examples: Any, seed: int) -> tuple[Iterator[Any], int | None]:
    """Return the examples in the order in which they are used, and their number, if it is known."""
    if hasattr(examples, "columns"):
        raise InvalidInput(
            "examples must be a list or an iterator; got a dataframe. Give a list of its rows, such as "
            "frame.to_dict('records')"
        )
    listed = isinstance(examples, Sequence) or (isinstance(examples, np.ndarray) and examples.ndim > 0)
    if listed and not isinstance(examples, (str, bytes)):
        order = np.random.default_rng(seed).permutation(len(examples))
        return (examples[place] for place in order.tolist()), len(order)
    try:
        if isinstance(examples, (str, bytes)):
            raise TypeError
        return iter(examples), None
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
