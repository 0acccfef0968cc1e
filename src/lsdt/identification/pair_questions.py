"""Pairs to ask about, and what each answer is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lsdt._html import card, facts, fields_card, html_table
from lsdt.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

    from lsdt.side_information import ArmId

    Price = Callable[[ArmId, ArmId], float]


class PairQuestion(NamedTuple):
    """A pair to ask about.

    Attributes
    ----------
    a, b : str or int
        The arms, by id (or index when there are no ids).
    expected : float
        How much the answer is expected to tell. If answers are facts, the number of arms that it excludes, by
        itself or with the questions that follow it. If a judge says which is better, the share that it
        removes of the uncertainty about which arm is the best.
    cost : float
        What the answer costs; 1 by default.
    why : str
        What the answer is for.

    Examples
    --------
    >>> import lsdt
    >>> one = lsdt.next_pairs(lsdt.SideInformation(4)).questions[0]
    >>> one.a, one.b, one.expected, one.why
    (1, 0, 0.25, 'to find arms that 1 is similar to')
    """

    a: ArmId
    b: ArmId
    expected: float
    cost: float
    why: str

    def _repr_html_(self) -> str:
        return fields_card(self)


class NextPairs:
    """The pairs to ask about next, best first; see `next_pairs`.

    Attributes
    ----------
    questions : tuple of PairQuestion
        The pairs, what each is expected to exclude, and why it is asked.
    reason : str
        If there are no questions, why not; else empty.
    left : int
        How many arms may still be the best.
    known : bool
        Whether nothing is left to ask because enough is known: at most `until` arms are left and, if a judge
        answered, the best one is among them with the probability asked for. If there are no questions and
        this is False, no more can be learnt in this way, and `reason` says what to do instead.

    Examples
    --------
    >>> import lsdt
    >>> asked = lsdt.next_pairs(lsdt.SideInformation(4), n=2)
    >>> asked.pairs, len(asked), asked.left
    ([(1, 0), (2, 0)], 2, 4)
    """

    def __init__(
        self, questions: Iterable[PairQuestion], reason: str, left: int, known: bool = False
    ) -> None:
        self.questions, self.reason, self.left, self.known = tuple(questions), reason, left, known

    @property
    def pairs(self) -> list[tuple[ArmId, ArmId]]:
        """The pairs alone."""
        return [(one.a, one.b) for one in self.questions]

    def keep(self, questions: Iterable[PairQuestion]) -> NextPairs:
        """Return the same with only these questions."""
        return NextPairs(questions, self.reason, self.left, self.known)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per pair: ``a``, ``b``, ``expected``, ``cost``, ``why``."""
        import pandas as pd

        return pd.DataFrame(self.questions, columns=list(PairQuestion._fields))

    def __len__(self) -> int:
        return len(self.questions)

    def __iter__(self) -> Iterator[PairQuestion]:
        return iter(self.questions)

    def __repr__(self) -> str:
        said = f"{len(self)} of them" if self.questions else f"none: {self.reason}"
        return f"NextPairs({said}; {counted(self.left, 'arm')} left)"

    def _repr_html_(self) -> str:
        rows = html_table(("a", "b", "expected", "cost", "why"), self.questions)
        lead = self.reason or f"{counted(len(self), 'pair')} to ask about"
        return card("NextPairs", lead, rows, facts({"arms that may be the best": self.left}))
