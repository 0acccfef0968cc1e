"""Choose pairs, count answers that may be wrong, and derive the candidates by proof."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import checked_positive
from lsdt.candidates import candidate_set
from lsdt.errors import (
    ContradictionWarning,
    InconsistentSideInformation,
    InvalidInput,
    Unsupported,
    counted,
)
from lsdt.identification.answers import RANGE, WORDS
from lsdt.identification.pair_questions import NextPairs, PairQuestion
from lsdt.identification.questions.differences import Differences, range_questions
from lsdt.identification.questions.known_pairs import Question, known_pairs
from lsdt.identification.questions.range_votes import DISPUTED, Range, RangeVotes
from lsdt.identification.questions.skeleton import skeleton_questions
from lsdt.identification.questions.votes import Votes, needed_lead
from lsdt.side_information import SideInformation, merge

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.identification.pair_questions import Price

    Thresholds = tuple[NDArray[np.float64], NDArray[np.float64]]

# Ranges next to complete information need all pairs listed: two million at this many arms.
_MOST_COMPLETE = 2_000
# With more than _MANY arms the candidate set gets _SECONDS of time, so that a batch of questions about 10^4
# arms stays below a second (docs/performance.md). An arm that is kept for lack of time costs questions only.
_MANY = 1_000
_SECONDS = 0.3
_MOST_PRICED = 1_000  # calls of the user's cost function per batch, which may be slow: only the best pairs
_MOST_EXPLAINED = 8  # exclusions explained per batch, each a derivation of its own; the rest come later
_LEAST_GAIN = 1e-3  # questions that would exclude less than one arm in a thousand answers are not asked

WHY = {
    "place": "to find arms that {a} is similar to",
    "link": "to find out which arms stand side by side",
    "order": "to prove which arms stand inside the line",
    "end": "to tell arms near the end of the line apart",
    "champion": "to compare {a} with the best so far",
    "ruler": "to know more exactly where {a} stands",
    "contradiction": "answers contradict one another here",
    "check": "arms are excluded by this answer, which may be wrong",
}


class ProvedArms:
    """Answers that are facts, unless they are outvoted: similar or dissimilar, or ranges of differences.

    `answers`, `wrong_rate`, `until`, `max_wrong` and `epsilon` are those of `Inquiry`.
    """

    def __init__(
        self,
        side: SideInformation,
        answers: str,
        wrong_rate: float,
        until: int,
        max_wrong: int,
        epsilon: float | None,
    ) -> None:
        self.answers, self.until = answers, until
        self._base = side
        self._is_complete = side.is_complete and self.answers != RANGE
        if side.is_complete and not self._is_complete and side.n_arms > _MOST_COMPLETE:
            raise Unsupported(
                f"ranges in addition to complete information are limited to {_MOST_COMPLETE:,} arms; got "
                f"{side.n_arms:,}. Ask about the candidates: side.subset(lsdt.candidate_set(side).arm_ids)"
            )
        base = side if self._is_complete else side.explicit()
        nothing = np.zeros((0, 2), np.int64)
        self._near = nothing if self._is_complete else base.similar_pairs().astype(np.int64)
        self._far = nothing if self._is_complete else base.dissimilar_pairs().astype(np.int64)
        self._epsilon, self._thresholds = self._checked_epsilon(epsilon)
        self._better, self._ranges = nothing, []
        if side.ranges is not None:
            self._better = np.asarray(side.ranges.better_pairs(), np.int64).reshape(-1, 2)
            pairs, low, high = side.ranges.rows()
            self._ranges = [
                (int(a), int(b), float(x), float(y)) for (a, b), x, y in zip(pairs, low, high, strict=True)
            ]
        needed = needed_lead(side.n_arms, wrong_rate) if wrong_rate else max_wrong + 1
        self._votes = RangeVotes(needed) if self.answers == RANGE else Votes(needed)
        self._found: dict[int, CandidateSet] = {}

    def _checked_epsilon(self, epsilon: float | None) -> tuple[float | None, Thresholds | None]:
        """Return the epsilon of the answers, and a threshold for each known pair if these differ from it."""
        side = self._base
        given = None if epsilon is None else checked_positive(epsilon, "epsilon")
        known = side.thresholds
        if known is not None:
            if given is None and self.answers != RANGE:
                raise InvalidInput(
                    "the pairs of this side information have their own thresholds; say which threshold the "
                    "answers refer to with epsilon=, or use answers='range', which needs none"
                )
            return given, (known.similar, known.dissimilar)
        if given is None or side.epsilon is None or given == side.epsilon:
            return given or side.epsilon, None
        if self._is_complete:
            return side.epsilon, None  # nothing is asked
        return given, tuple(np.full(len(pairs), side.epsilon) for pairs in (self._near, self._far))  # type: ignore[return-value]

    @property
    def n_answers(self) -> int:
        """How many answers were given."""
        return self._votes.n_answers

    @property
    def side(self) -> SideInformation:
        """What was known before, with the answers that are settled."""
        if not any(True for _ in self._votes.leaders(self._votes.needed)):
            return self._base
        if self._thresholds is not None:
            return self._relations(self._votes.needed)
        label = self._base.label
        told = self._told(self._votes.needed)
        near, far = ([(label(a), label(b)) for a, b in rows] for rows in told[:2])
        answered = SideInformation(
            self._base.n_arms,
            similar=near,
            dissimilar=far,
            arm_ids=self._base.arm_ids,
            epsilon=self._epsilon,
            ranges=[(label(a), label(b), low, high) for a, b, low, high in told.ranges],
        )
        return merge([self._base, answered], on_conflict="first")

    @property
    def found(self) -> CandidateSet:
        """The candidates that the settled answers leave, as found by `lsdt.candidate_set`."""
        return self._candidates(self._votes.needed)

    @property
    def disputed(self) -> pd.DataFrame:
        """The pairs with different answers: ``a``, ``b``, and how often each answer was given.

        With ranges, the pairs whose answers have no difference in common: ``a``, ``b``, the number of
        ``answers``, and the ``low`` and ``high`` ends of where most of them overlap.
        """
        import pandas as pd

        label = self._base.label
        if isinstance(self._votes, RangeVotes):
            rows = [row | {"a": label(row["a"]), "b": label(row["b"])} for row in self._votes.disputed()]
            return pd.DataFrame(rows, columns=["a", "b", *DISPUTED])
        words = WORDS["similar"]
        rows = [
            {"a": label(a), "b": label(b), **{word: counts.get(word, 0) for word in words}}
            for a, b, counts in self._votes.disputed()
        ]
        return pd.DataFrame(rows, columns=["a", "b", *words])

    def tell(self, first: int, second: int, answer: str | Range) -> None:
        """Record an answer about two arms, given by index."""
        a, b = self._base.label(first), self._base.label(second)
        known = self._base.relation(a, b)
        if self._base.range_at(first, second).is_known:
            known = RANGE if known in WORDS["similar"] else known
        if known is not None and (self.answers != RANGE or known not in WORDS["similar"]):
            raise InvalidInput(
                f"the relation of {a!r} and {b!r} was known before ({known}); only answers about other pairs "
                "are accepted"
            )
        if isinstance(answer, Range) and not self._may_be(first, second, answer):
            least, most = self._base.bounds(a, b)
            apart = f"less than {most:g}" if most < np.inf else f"at least {least:g}"
            raise InvalidInput(
                f"{a!r} and {b!r} were known before to be {known}, {apart} apart, which rules out every "
                f"difference from {answer.low:g} to {answer.high:g}"
            )
        self._votes.add(first, second, answer)  # type: ignore[arg-type]
        self._found = {}

    def _may_be(self, first: int, second: int, answer: Range) -> bool:
        """Return whether a range contains a difference that is compatible with what was known before."""
        side = self._base
        if not side.has_epsilon:
            return True
        least, most = side.distance_at(first, second)
        is_far = answer.low <= -least or answer.high >= least
        return is_far and answer.low < most and answer.high > -most

    def next(self, n: int, price: Price) -> NextPairs:
        """Return up to `n` pairs to ask about, or none and the reason."""
        tentative = self._candidates(1)
        left = len(self.found)
        if self._is_complete and left > self.until:
            return NextPairs([], "every pair is known", left)
        conflict = tentative.conflict
        if conflict is not None:
            again = self._again(
                (self._base.index(one[0]), self._base.index(one[1]), 1.0) for one in conflict.relations
            )
            if not again:
                return NextPairs([], f"settled relations contradict one another: {conflict}", left)
            return self._offer(
                [Question(a, b, gain, "contradiction") for a, b, gain in again], n, price, left
            )
        if left <= self.until:
            return NextPairs([], f"{counted(left, 'arm')} left", left, known=True)
        if len(tentative) > self.until:
            found = self._choose(tentative, n)
            if found:
                return self._offer(found, n, price, left)
        checks = self._checks(tentative)
        if checks:
            return self._offer(checks, n, price, left)
        if len(tentative) <= self.until:
            return NextPairs([], f"{counted(left, 'arm')} left", left, known=left <= self.until)
        return NextPairs([], "no answer about an open pair is expected to exclude an arm", left)

    def _choose(self, tentative: CandidateSet, n: int) -> list[Question]:
        if isinstance(self._votes, RangeVotes):
            chosen = range_questions(self._differences(self._votes), np.asarray(tentative.arms))
            return [one for one in chosen if one.gain >= _LEAST_GAIN]
        told = self._told(1)
        side = SideInformation(
            self._base.n_arms, _joined(self._near, told.near), _joined(self._far, told.far)
        )
        chosen = skeleton_questions(known_pairs(side, np.asarray(tentative.arms), n))
        return [one for one in chosen if one.gain >= _LEAST_GAIN]

    def _differences(self, votes: RangeVotes) -> Differences:
        """Return bounds on differences: from ranges, better pairs, and similar pairs if epsilon is known."""
        rows = [*self._ranges, *self._told(1).ranges]
        pairs = [np.array([row[:2] for row in rows], np.int64).reshape(-1, 2), self._better]
        low = [np.array([row[2] for row in rows], np.float64), np.zeros(len(self._better))]
        high = [np.array([row[3] for row in rows], np.float64), np.full(len(self._better), np.inf)]
        size = self._thresholds[0] if self._thresholds is not None else self._epsilon
        if size is not None:
            limit = np.broadcast_to(np.asarray(size, np.float64), len(self._near))
            pairs, low, high = [*pairs, self._near], [*low, -limit], [*high, limit]
        before = np.array([row[:2] for row in self._ranges], np.int64).reshape(-1, 2)
        asked = _joined(np.concatenate([before, self._better]), votes.pairs())
        ends = np.concatenate(low), np.concatenate(high)
        return Differences(self._base.n_arms, np.concatenate(pairs), *ends, asked, votes.half_width())

    def _checks(self, tentative: CandidateSet) -> list[Question]:
        """Return questions that repeat answers which exclude an arm but are not settled yet."""
        if self._votes.needed == 1:
            return []
        settled = set(self.found.arms.tolist())
        doubtful = sorted(settled - set(tentative.arms.tolist()))
        weight: dict[tuple[int, int], float] = {}
        for arm in doubtful[:_MOST_EXPLAINED]:
            for one in tentative.explain(self._base.label(arm)).relations:
                pair = self._base.index(one[0]), self._base.index(one[1])
                weight[pair] = weight.get(pair, 0.0) + 1.0
        again = self._again((a, b, gain) for (a, b), gain in weight.items())
        return [Question(a, b, gain / self._votes.needed, "check") for a, b, gain in again]

    def _again(self, pairs: Iterable[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
        """Return the pairs that were answered but are not settled, least certain first, with their gain."""
        total: dict[tuple[int, int], float] = {}
        for a, b, gain in pairs:  # several relations may be about one pair
            pair = min(a, b), max(a, b)
            total[pair] = max(total.get(pair, 0.0), gain)
        rows = []
        for (a, b), gain in total.items():
            lead = self._votes.again(a, b)
            if lead is not None:
                rows.append((lead, -gain, a, b))
        return [(a, b, -gain) for _lead, gain, a, b in sorted(rows)]

    def _offer(self, found: list[Question], n: int, price: Price, left: int) -> NextPairs:
        label, show = self._base.label, self._base.show
        rows = []
        for one in found[: max(_MOST_PRICED, n)]:
            a, b = label(one.first), label(one.second)
            why = WHY[one.why].format(a=show(one.first))
            rows.append(PairQuestion(a, b, one.gain, price(a, b), why))
        rows.sort(key=lambda row: -row.expected / row.cost)
        return NextPairs(rows[:n], "", left)

    def _told(self, least: int) -> _StatedRelations:
        """Return the relations stated by answers that lead by at least `least`."""
        told = _StatedRelations([], [], [])
        for a, b, answer, _lead in self._votes.leaders(least):
            if isinstance(answer, Range):
                # Each answer was possible, but what they have in common need not be: then one is wrong.
                if self._may_be(a, b, answer):
                    told.ranges.append((a, b, *answer))
            else:
                (told.near if answer == "similar" else told.far).append((a, b))
        return told

    def _relations(self, least: int) -> SideInformation:
        """Return what was known before, with the answers that lead by at least `least`."""
        told = self._told(least)
        near, far = _joined(self._near, told.near), _joined(self._far, told.far)
        epsilon: Any = self._epsilon
        if self._thresholds is not None and len(near) + len(far):
            more = (np.full(len(rows), self._epsilon or np.inf) for rows in told[:2])
            epsilon = tuple(
                np.concatenate([before, each]) for before, each in zip(self._thresholds, more, strict=True)
            )
        side = SideInformation(
            self._base.n_arms,
            near,
            far,
            epsilon=epsilon,
            better=self._better,
            ranges=[*self._ranges, *told.ranges],
        )
        return side._with_names(self._base._names)._with_origin(self._base._origin)

    def _candidates(self, least: int) -> CandidateSet:
        if least in self._found:
            return self._found[least]
        if self._is_complete:
            found = candidate_set(self._base, progress=False)
        else:
            found = self._derived(self._relations(least))
        self._found[least] = found
        return found

    def _derived(self, side: SideInformation) -> CandidateSet:
        if self.answers == RANGE and not len(self._far):
            try:
                return candidate_set(side, "order", progress=False)  # which is exact here
            except InconsistentSideInformation:
                pass
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ContradictionWarning)  # `next` asks about the conflict again
            return candidate_set(
                side,
                "propagation",
                timeout=_SECONDS if self._base.n_arms > _MANY else None,
                progress=False,
            )


class _StatedRelations(NamedTuple):
    """Relations stated by answers: similar and dissimilar pairs, and ranges of differences."""

    near: list[tuple[int, int]]
    far: list[tuple[int, int]]
    ranges: list[tuple[int, int, float, float]]


def _joined(known: NDArray[np.int64], more: Any) -> NDArray[np.int64]:
    return np.concatenate([known, np.array(more, np.int64).reshape(-1, 2)])
