"""Arms compared by a judge who may be wrong: the next pairs, who may be the best, and what is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.errors import InvalidInput, counted
from lsdt.identification.judges.judge_model import (
    BETTER,
    EQUAL,
    MOST_MEMBERS,
    WORSE,
    JudgeModel,
)
from lsdt.identification.judges.likely_best import LikelyBest, best_chances
from lsdt.identification.judges.pair_choice import Pool, choose_pairs
from lsdt.identification.pair_questions import NextPairs, PairQuestion
from lsdt.side_information import Origin, SideInformation, StatedRisk, clearly_better, merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.identification.judges.judge_model import JudgeEstimate
    from lsdt.identification.pair_questions import Price
    from lsdt.side_information import ArmId

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CODES = {"worse": WORSE, "equal": EQUAL, "better": BETTER}
_WRONG = "a better pair from a judge is wrong"
_WORDS = {code: word for word, code in CODES.items()}
# Arms that the choice of pairs weighs against one another: 150 x 150 ordered pairs take 10 ms per question.
_POOL = 150
_HUB = 10  # answers about one arm; others have two or three when arms are dropped
_LEAST_GAIN = 1e-5  # a question that removes less of the uncertainty is not worth a call


class _JudgedAnswer(NamedTuple):
    """An answer: two positions among the candidates, in the order shown, the word, and who gave it."""

    first: int
    second: int
    word: str
    by: str | None


class JudgedArms:
    """Answers ``'better'``, ``'worse'`` or ``'equal'``; the parameters are those of `Inquiry`.

    What was known before is taken as certain: the arms that it excludes are out, and nothing is asked about
    them.
    """

    def __init__(
        self, side: SideInformation, wrong_rate: float, until: int, risk: float, repeats: bool
    ) -> None:
        self._base, self._until, self._risk, self._repeats = side, until, risk, repeats
        self._arms = np.sort(np.asarray(candidate_set(side, progress=False).arms, np.int64))
        self._place = {arm: at for at, arm in enumerate(self._arms.tolist())}
        self._model = JudgeModel(len(self._arms), wrong_rate)
        self._told: list[_JudgedAnswer] = []
        self._counted: set[tuple[str | None, int, int]] = set()
        self._asked: set[tuple[int, int]] = set()
        self._undropped = 1.0  # the probability that the best arm was not dropped from the model
        self._chances: tuple[int, Floats] = (-1, np.zeros(0))
        self.n_answers = 0

    def tell(self, first: int, second: int, answer: str, by: str | None = None) -> None:
        """Record an answer about two arms, given by index, in the order in which they were shown."""
        for arm in (first, second):
            if not self.accepts(arm):
                raise InvalidInput(
                    f"arm {self._base.label(arm)!r} cannot be the best by what was known before; only "
                    "answers about the other arms are accepted"
                )
        a, b = self._place[first], self._place[second]
        self.n_answers += 1
        self._asked.add((a, b))
        if not self._repeats:
            if (by, a, b) in self._counted:
                return  # the same judge, pair and order count once
            self._counted.add((by, a, b))
        self._told.append(_JudgedAnswer(a, b, answer, by))
        self._model.tell(a, b, CODES[answer])

    def accepts(self, arm: int) -> bool:
        """Return whether answers about an arm count: not if what was known before excludes it."""
        return arm in self._place

    @property
    def judge(self) -> JudgeEstimate:
        """How the judge errs."""
        return self._model.estimate()

    @property
    def found(self) -> LikelyBest:
        """The smallest set of arms that has the best arm with probability 1 - risk."""
        chances = self._best_chances()
        order = np.argsort(-chances, kind="stable")
        total = np.cumsum(chances[order])
        n_kept = min(int(np.searchsorted(total, 1.0 - self._risk - 1e-9)) + 1, len(order))
        kept = order[:n_kept]
        arms = self._arms[kept]
        probability = float(total[n_kept - 1]) * self._undropped
        return LikelyBest(arms, [self._base.label(arm) for arm in arms.tolist()], chances[kept], probability)

    def _best_chances(self) -> Floats:
        """Return the probability of every candidate to be the best."""
        if self._chances[0] == self._model.n_answers:
            return self._chances[1]
        self._trim()
        posterior = self._model.posterior()
        fresh = self._fresh()
        by_member, by_fresh = best_chances(posterior, len(fresh))
        chances = np.zeros(len(self._arms))
        chances[posterior.members] = by_member
        if len(fresh):
            chances[fresh] = by_fresh / len(fresh)
        self._chances = (self._model.n_answers, chances)
        return chances

    def _fresh(self) -> Ints:
        """Return the arms that were never asked about."""
        is_fresh = ~self._model.is_dropped
        is_fresh[self._model.posterior().members] = False
        return np.flatnonzero(is_fresh)

    def _trim(self) -> None:
        """If the model has become too large, drop the arms that are least likely to be the best."""
        while len(self._model.posterior().members) > MOST_MEMBERS:
            posterior = self._model.posterior()
            chances, _ = best_chances(posterior, len(self._fresh()))
            hopes = posterior.mean[:-1] + 3.0 * np.sqrt(np.diag(posterior.covariance)[:-1])
            # Arms that many others were compared with stay: without them, nothing is known of the others.
            hopes[self._model.n_asked()[posterior.members] >= _HUB] = np.inf
            worst = np.argsort(hopes, kind="stable")[: len(hopes) - (4 * MOST_MEMBERS) // 5]
            # Arms dropped before count as not the best here, so the probabilities of keeping it multiply.
            self._undropped *= max(1.0 - float(chances[worst].sum()), 0.0)
            self._model.drop(posterior.members[worst])

    @property
    def side(self) -> SideInformation:
        """What was known before, and the pairs whose order is clear: all right with probability 1 - risk."""
        posterior = self._model.posterior()
        members = self._arms[posterior.members]
        pairs = members[clearly_better(posterior.mean[:-1], posterior.covariance[:-1, :-1], 1.0 - self._risk)]
        label = self._base.label
        # A range known before is certain, and wins over the judge.
        better = [(a, b) for a, b in pairs.tolist() if not self._base.range_at(a, b).is_known]
        if not better:
            return self._base
        answered = SideInformation(
            self._base.n_arms,
            better=[(label(a), label(b)) for a, b in better],
            arm_ids=self._base.arm_ids,
        )
        answered = answered._with_origin(Origin(risks=(StatedRisk(_WRONG, self._risk),)))
        return merge([self._base, answered], ["before", "judge"])

    @property
    def disputed(self) -> pd.DataFrame:
        """The answers that are probably wrong: ``a``, ``b``, ``answer``, and the probability of a slip."""
        import pandas as pd

        doubts = self._model.doubts()
        rows = []
        for at in np.argsort(-doubts, kind="stable").tolist():
            if doubts[at] > 0.5:
                one = self._told[at]
                a, b = (self._base.label(int(self._arms[place])) for place in (one.first, one.second))
                rows.append({"a": a, "b": b, "answer": one.word, "doubt": float(doubts[at])})
        return pd.DataFrame(rows, columns=["a", "b", "answer", "doubt"])

    def next(self, n: int, price: Price | None, pending: Sequence[tuple[int, int]] = ()) -> NextPairs:
        """Return up to `n` pairs to ask about, or none and the reason; `pending` are being asked now."""
        found = self.found
        left = len(found)
        if left <= self._until and (self.judge.agrees or not self._is_likely(found)):
            return self._end(found, "arms that were dropped after few answers do not come back")
        waiting = [(self._place[a], self._place[b]) for a, b in pending]
        fresh = self._fresh()
        busy = {place for pair in waiting for place in pair}
        fresh = np.array([arm for arm in fresh.tolist() if arm not in busy], np.int64)
        if len(fresh) > _POOL:
            return NextPairs(self._placements(fresh, n, price), "", left)
        pool = self._pool(fresh, waiting)
        cost = None if price is None else lambda a, b: price(*self._labels(a, b))
        asked = set() if self._repeats else self._asked
        chosen = choose_pairs(pool, self._model.law, n, asked, waiting, cost)
        rows = [
            PairQuestion(
                *self._labels(one.first, one.second), one.gain, one.cost, self._why(one.first, one.second)
            )
            for one in chosen
            if one.gain >= _LEAST_GAIN
        ]
        if rows:
            return NextPairs(rows, "", left)
        n_arms = len(self._arms)
        if len(self._asked) + len(waiting) >= n_arms * (n_arms - 1) and not self._repeats:
            return self._end(found, "every pair was asked in both orders")
        return self._end(found, "no answer is expected to say more about which arm is the best")

    def _end(self, found: LikelyBest, why: str) -> NextPairs:
        """Return no questions, whether enough is known, and if not, what may be lost and what to do."""
        left, is_likely, agrees = len(found), self._is_likely(found), self.judge.agrees
        if left <= self._until and is_likely and agrees:
            which = "one of them is the best" if left > 1 else "it is the best"
            sure = f"with probability {found.probability:.3g}"
            told = ["the judge prefers arms with larger means"] if self.n_answers else []
            if self._base.risk:
                told.append(f"what was known before is right, which has a risk of {self._base.risk:g}")
            sure += f", if {' and '.join(told)}" if told else ""
            return NextPairs([], f"{counted(left, 'arm')} left; {which} {sure}", left, known=True)
        said = [f"{why}, so nothing more can be learnt from this judge"]
        if not agrees:
            said.append("its answers agree with one another hardly better than chance")
        if left == len(self._arms):
            said.append("no arm is out")
        elif agrees:
            lost = f"with probability {1.0 - found.probability:.2g} the best arm is not among them"
            said.append(f"{counted(left, 'arm')} left, but {lost}")
        else:
            said.append(f"{counted(left, 'arm')} left, but whether the best arm is among them cannot be said")
        which = "the arms that are left" if is_likely and agrees else "all arms, not only these,"
        said.append(f"try {which} with lsdt.identify, or ask another judge")
        return NextPairs([], "; ".join(said), left)

    def _is_likely(self, found: LikelyBest) -> bool:
        """Whether the best arm is among those found with the probability asked for."""
        return found.probability >= 1.0 - self._risk - 1e-9

    def _labels(self, first: int, second: int) -> tuple[ArmId, ArmId]:
        return self._base.label(int(self._arms[first])), self._base.label(int(self._arms[second]))

    def _why(self, first: int, second: int) -> str:
        chances = self._best_chances()
        likely = [place for place in (first, second) if chances[place] > 0.0]
        if len(likely) == 2:
            return "either may be the best"
        if len(likely) == 1:
            return f"to know more exactly how good {self._base.show(int(self._arms[likely[0]]))} is"
        return "to compare arms that were compared with different ones"

    def _placements(self, fresh: Ints, n: int, price: Price | None) -> list[PairQuestion]:
        """Return questions that compare each fresh arm with the best arm so far, in either order."""
        posterior = self._model.posterior()
        n_members = len(posterior.members)
        hub = int(posterior.members[posterior.mean[:-1].argmax()]) if n_members else int(fresh[-1])
        gain = 0.5 / (len(fresh) + n_members)  # half of one arm's share
        rows = []
        for number, arm in enumerate(fresh[fresh != hub][:n].tolist()):
            pair = self._labels(arm, hub) if number % 2 else self._labels(hub, arm)
            why = f"to compare {self._base.show(int(self._arms[arm]))} with the best so far"
            rows.append(PairQuestion(*pair, gain, 1.0 if price is None else price(*pair), why))
        return rows

    def _pool(self, fresh: Ints, pending: list[tuple[int, int]]) -> Pool:
        """Return the arms to choose from: the best members, and all fresh arms."""
        members, mean, covariance = self._model.posterior()
        hopes = mean[:-1] + 2.0 * np.sqrt(np.diag(covariance)[:-1])
        top = np.sort(np.argsort(-hopes, kind="stable")[: max(_POOL, 2)])
        waiting = {place for pair in pending for place in pair} - set(members.tolist())
        new = np.union1d(fresh, np.array(sorted(waiting), np.int64)).astype(np.int64)
        rows = np.append(top, len(members))
        size = len(top) + len(new) + 1
        where = np.append(np.arange(len(top)), size - 1)
        joint, middle = np.eye(size), np.zeros(size)
        joint[np.ix_(where, where)] = covariance[np.ix_(rows, rows)]
        middle[where] = mean[rows]
        arms = np.concatenate([members[top], new])
        return Pool(arms, middle, joint, self._best_chances()[arms])
