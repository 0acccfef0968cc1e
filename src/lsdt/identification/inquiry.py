"""`lsdt.Inquiry`: choose pairs to ask about, take answers that may be wrong, and say which arms are left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt._html import card, facts
from lsdt._validation import (
    check_kind,
    checked_flag,
    checked_number,
    checked_positive,
    checked_share_inside,
    checked_whole,
    checked_word,
)
from lsdt.errors import InvalidInput, counted
from lsdt.identification.answers import BETTER, KINDS, WORDS, checked_answer
from lsdt.identification.judges.answer_log import AnswerLog
from lsdt.identification.judges.asking import ask_judge
from lsdt.identification.judges.judged_arms import JudgedArms
from lsdt.identification.parallel_calls import MOST_JOBS
from lsdt.identification.proved_arms import ProvedArms
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    import pandas as pd

    from lsdt.candidates import CandidateSet
    from lsdt.identification.judges.asking import Judge
    from lsdt.identification.judges.judge_model import JudgeEstimate
    from lsdt.identification.judges.likely_best import LikelyBest
    from lsdt.identification.pair_questions import NextPairs, Price
    from lsdt.identification.questions.range_votes import Range
    from lsdt.side_information import ArmId

    Cost = float | Callable[[ArmId, ArmId], float] | None


class Inquiry:
    """Questions about pairs of arms: choose the next pairs, take the answers, say which arms are left.

    Parameters
    ----------
    side : SideInformation
        What is known beforehand, perhaps only the arms. It is assumed to be true.
    answers : {'similar', 'better', 'range'}
        The kind of answers. ``'better'``: a judge says whether the first arm is ``'better'`` or ``'worse'``
        than the second, or both are about ``'equal'``. These answers are evidence: how often the judge is
        wrong, and how much it favours the arm that is shown first, is estimated. ``'similar'``: ``'similar'``
        or ``'dissimilar'``. ``'range'``: by how much the first arm is better, at least and at most, in the
        units of rewards. These two kinds are facts, and arms are excluded by proof.
    wrong_rate : float
        The probability that an answer is wrong, below .5. Facts are then confirmed by repeated questions:
        an exclusion counts when every answer that it depends on leads by enough to be almost certainly right.
        For ``'better'``, only what to expect at first; 0 stands for 5%.
    until : int
        Stop when at most this many arms are left. For ``'better'``, not before the answers agree with one
        another better than chance (``inquiry.judge.agrees``).
    max_wrong : int
        How many of all facts may be wrong. Questions are repeated as with `wrong_rate`; as long as no more
        answers are wrong, the best arm is never lost. Give one of the two.
    epsilon : float, optional
        The threshold that similar and dissimilar refer to: means of similar arms are less than this apart. By
        default the epsilon of `side`; required if its pairs have their own thresholds.
    risk : float
        For ``'better'``: the accepted probability that the best arm is not among those left.
    repeats : bool
        For ``'better'``: whether the same judge, asked about the same pair in the same order, gives an
        independent answer. If not, such an answer counts once, and no question is asked twice.

    Examples
    --------
    Ten arms and a judge who knows their means, but is wrong one time in ten:

    >>> import lsdt, random
    >>> means = dict(zip("abcdefghij", [.1, .2, .3, .4, .5, .6, .7, .8, .9, 1.]))
    >>> coins = random.Random(1)
    >>> def judge(a, b):
    ...     if coins.random() < .1:
    ...         return coins.choice(["better", "worse", "equal"])
    ...     return "equal" if abs(means[a] - means[b]) < .15 else "better" if means[a] > means[b] else "worse"
    >>> inquiry = lsdt.Inquiry(lsdt.SideInformation(10, arm_ids=list(means)), answers="better")
    >>> found = inquiry.run(judge, jobs=1, calls=60)
    >>> "j" in found, len(found) <= 2, found.probability > .95
    (True, True, True)

    A judge who says by how much, to within .1:

    >>> inquiry = lsdt.Inquiry(lsdt.SideInformation(10, arm_ids=list(means)), answers="range", until=2)
    >>> while asked := inquiry.next():
    ...     for a, b in asked.pairs:
    ...         inquiry.tell(a, b, (means[a] - means[b] - .1, means[a] - means[b] + .1))
    >>> inquiry.found.arm_ids, inquiry.n_answers
    (['i', 'j'], 11)
    """

    def __init__(
        self,
        side: SideInformation,
        answers: str = "similar",
        wrong_rate: float = 0.0,
        until: int = 1,
        *,
        max_wrong: int = 0,
        epsilon: float | None = None,
        risk: float = 0.05,
        repeats: bool = False,
    ) -> None:
        check_kind(
            side, SideInformation, "side must be SideInformation, such as lsdt.SideInformation(n_arms)"
        )
        self.answers = checked_word(answers, "answers", KINDS)
        self.wrong_rate = checked_number(wrong_rate, "wrong_rate", at_least=0.0, at_most=0.49)
        self.max_wrong = checked_whole(max_wrong, "max_wrong", 0)
        if self.wrong_rate and self.max_wrong:
            raise InvalidInput(
                f"give wrong_rate or max_wrong, not both; got {self.wrong_rate} and {self.max_wrong}"
            )
        self.until = checked_whole(until, "until", 1)
        self.risk = checked_share_inside(risk, "risk")
        self.repeats = checked_flag(repeats, "repeats")
        self._before = side
        self._arms: JudgedArms | ProvedArms
        if self.answers == BETTER:
            for name, value in (("max_wrong", max_wrong), ("epsilon", epsilon)):
                if value:
                    raise InvalidInput(
                        f"{name} is for answers='similar' or 'range'; with answers='better' the errors of "
                        "the judge are estimated from the answers"
                    )
            self._arms = JudgedArms(side, self.wrong_rate, self.until, self.risk, self.repeats)
        else:
            self._arms = ProvedArms(side, answers, self.wrong_rate, self.until, self.max_wrong, epsilon)
        self._logs: set[str] = set()

    @property
    def n_answers(self) -> int:
        """How many answers were given."""
        return self._arms.n_answers

    @property
    def side_before(self) -> SideInformation:
        """What was known before the first answer."""
        return self._before

    @property
    def side(self) -> SideInformation:
        """What was known before, with what the answers settle.

        For ``'better'``, the pairs whose order is clear: all of them are right with probability 1 - `risk`,
        if the judge prefers arms with larger means.
        """
        return self._arms.side

    @property
    def found(self) -> CandidateSet | LikelyBest:
        """The arms that are left.

        For ``'better'``, the smallest set that has the best arm with probability 1 - `risk`, most probable
        first (`lsdt.identification.LikelyBest`). For facts, the candidates that the settled answers leave, as
        found by `lsdt.candidate_set`.
        """
        return self._arms.found

    @property
    def judge(self) -> JudgeEstimate:
        """How the judge errs, as estimated from answers of the kind ``'better'``."""
        if not isinstance(self._arms, JudgedArms):
            raise InvalidInput(f"only answers='better' has a model of the judge; this is {self.answers!r}")
        return self._arms.judge

    @property
    def disputed(self) -> pd.DataFrame:
        """The answers that others contradict.

        For ``'better'``, those that are probably wrong: ``a``, ``b``, ``answer``, and the probability
        ``doubt`` that it is a slip. For ``'similar'``, pairs with different answers: ``a``, ``b``, and how
        often each answer was given. For ``'range'``, pairs whose answers have no difference in common: ``a``,
        ``b``, the number of ``answers``, and the ``low`` and ``high`` ends of where most of them overlap.
        """
        return self._arms.disputed

    def checked_answer(self, answer: Any) -> str | Range:
        """Return an answer in the form in which it is counted; raise `InvalidInput` if it is not accepted."""
        return checked_answer(answer, self.answers)

    def tell(self, a: ArmId, b: ArmId, answer: Any, by: str | None = None) -> None:
        """Record an answer: how `a` compares with `b`.

        Parameters
        ----------
        a, b : str or int
            Two arms, by id or index, in the order in which they were shown.
        answer : str or (low, high)
            ``'similar'`` or ``'dissimilar'``; or ``'better'``, ``'worse'`` or ``'equal'``; the first letter
            is enough. For ranges, the smallest and the largest possible value of the mean of `a` minus that
            of `b`, None for an open end; or a text: ``'0.1..0.3'``, ``'0.2 +- 0.1'``, ``'>= 0.1'``.
        by : str, optional
            Who answered, if there are several judges. Their answers to the same question all count.
        """
        first, second = self._before.index(a), self._before.index(b)
        if first == second:
            raise InvalidInput(f"an answer is about two different arms; got {a!r} twice")
        said = self.checked_answer(answer)
        if isinstance(self._arms, JudgedArms):
            self._arms.tell(first, second, str(said), by)
        else:
            self._arms.tell(first, second, said)

    def next(
        self, n: int = 1, cost: Cost = None, *, pending: Iterable[tuple[ArmId, ArmId]] = ()
    ) -> NextPairs:
        """Return up to `n` pairs to ask about, or none and the reason.

        Parameters
        ----------
        n : int
            How many pairs to ask about at once.
        cost : float or function
            What an answer costs: a number, or a function of two ids. Pairs are ranked by what they are
            expected to tell per cost.
        pending : iterable of pairs
            Pairs that are being asked about and should not be asked about again.
        """
        n = checked_whole(n, "n", 1, 100_000)
        price = _checked_cost(cost)
        waiting = [(self._before.index(a), self._before.index(b)) for a, b in pending]
        if isinstance(self._arms, JudgedArms):
            return self._arms.next(n, price, waiting)
        asked = self._arms.next(n + len(waiting), price or (lambda _a, _b: 1.0))
        closed = {frozenset(pair) for pair in waiting}
        index = self._before.index
        rows = [one for one in asked if frozenset((index(one.a), index(one.b))) not in closed]
        return asked.keep(rows[:n])

    def run(
        self,
        judge: Judge,
        *,
        jobs: int = 8,
        calls: int | None = None,
        budget: float | None = None,
        cost: Cost = None,
        log: str | PathLike[str] | None = None,
    ) -> CandidateSet | LikelyBest:
        """Ask a judge until few arms are left, nothing useful is left to ask, or the budget is used up.

        Parameters
        ----------
        judge : function or async function
            It gets two ids, in the order in which the arms are to be shown, and returns an answer as `tell`
            takes it; None if it has none, and the pair is not asked again.
        jobs : int
            How many questions are asked at the same time, in threads or, for an async function, as tasks.
        calls : int, optional
            The most calls of the judge in this run; answers from the log do not count.
        budget : float, optional
            The most that all answers together may cost; requires `cost`.
        cost : float or function, optional
            What an answer costs: a number, or a function of two ids.
        log : path, optional
            A CSV file of answers. Those that it already has are counted first and not asked for again; every
            new answer is on disk before the next question, so an inquiry that was stopped goes on.

        Returns
        -------
        LikelyBest or CandidateSet
            The arms that are left, `found`. ``inquiry.next()`` says whether enough is ``known``, and in its
            ``reason`` why there are no more questions and what to do instead.
        """
        if not callable(judge):
            raise InvalidInput(f"judge must be a function of two arms that returns an answer; got {judge!r}")
        jobs = checked_whole(jobs, "jobs", 1, MOST_JOBS)
        calls = None if calls is None else checked_whole(calls, "calls", 0)
        if budget is not None:
            budget = checked_positive(budget, "budget")
            if cost is None:
                raise InvalidInput(
                    "budget needs cost=, what an answer costs; to limit their number give calls="
                )
        kept = None if log is None else AnswerLog(log)
        if kept is not None:
            self.resume(kept.path)
            kept.check_writable()
        ask_judge(self, judge, jobs, calls, budget, cost, kept)
        return self.found

    def resume(self, log: str | PathLike[str]) -> None:
        """Count the answers in a file that `run` wrote; once for each file, and none if it does not exist.

        For ``'better'``, answers about arms that `side` excludes are passed over: more may be known now than
        when they were given.
        """
        kept = AnswerLog(log)
        if str(kept.path.resolve()) not in self._logs:
            self._logs.add(str(kept.path.resolve()))
            kept.replay(self)

    def _accepts(self, a: ArmId, b: ArmId) -> bool:
        """Return whether `tell` takes an answer about two arms of `side`."""
        arms = self._before.index(a), self._before.index(b)
        return not isinstance(self._arms, JudgedArms) or all(map(self._arms.accepts, arms))

    def _repr_html_(self) -> str:
        known = {
            "answered with": WORDS.get(self.answers, ("ranges of differences",)),
            "arms at which to stop": self.until,
        }
        if self.answers == BETTER:
            known |= {"arms left": len(self.found), "accepted risk of losing the best": self.risk}
        else:
            known |= {
                "share of wrong answers": self.wrong_rate,
                "answers that may be wrong": self.max_wrong,
            }
        return card(
            "Inquiry",
            f"{counted(self.n_answers, 'answer')} about {counted(self._before.n_arms, 'arm')}",
            facts(known),
        )


def _checked_cost(cost: Cost) -> Price | None:
    if cost is None:
        return None
    if callable(cost):
        asked = cost

        def price(a: ArmId, b: ArmId) -> float:
            return checked_positive(asked(a, b), f"cost of {a!r} and {b!r}")

        return price
    same = checked_positive(cost, "cost", ", or a function of two ids that returns one")
    return lambda _a, _b: same


def next_pairs(
    side: SideInformation,
    n: int = 1,
    *,
    answers: str = "similar",
    cost: Cost = None,
    until: int = 1,
    epsilon: float | None = None,
) -> NextPairs:
    """Choose the pairs of arms that are most useful to ask about.

    This is one batch of questions. `Inquiry` also takes the answers, and allows for wrong ones.

    Parameters
    ----------
    side : SideInformation
        What is known, perhaps only the arms: ``lsdt.SideInformation(100)``.
    n : int
        How many pairs to ask about.
    answers : {'similar', 'better', 'range'}
        The kind of answers: ``'similar'`` or ``'dissimilar'``; or ``'better'``, ``'worse'`` or about
        ``'equal'``; or by how much, at least and at most.
    cost : float or function
        What an answer costs: a number, or a function of two ids.
    until : int
        Ask nothing if at most this many arms are left.
    epsilon : float, optional
        The threshold that similar and dissimilar refer to; by default the epsilon of `side`.

    Returns
    -------
    NextPairs
        ``pairs``; ``questions``, which say what each answer is expected to tell and why it is asked;
        ``reason``, if there is nothing to ask about.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, better=[("tea", "mate")], arm_ids=["tea", "mate", "coffee"])
    >>> lsdt.next_pairs(side, answers="better").pairs
    [('tea', 'coffee')]
    >>> lsdt.next_pairs(lsdt.from_means([.1, .2, .3], epsilon=.15)).reason
    'every pair is known'
    """
    return Inquiry(side, answers, until=until, epsilon=epsilon).next(n, cost)
