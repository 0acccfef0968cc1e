"""The answer for pairs that stay in an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.proofs import Explanation
from lsdt.candidates.reasons import CANDIDATE, reasons_of
from lsdt.candidates.result import CandidateSet
from lsdt.errors import InvalidInput, LsdtError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.outcome import Outcome
    from lsdt.side_information import ArmId, LazyPairs, SideInformation

_MOST_STEPS = 100  # of a chain that explains an exclusion: as many as the order rule takes rounds


@dataclass(frozen=True, eq=False)
class EngineEvidence:
    """The rules that ran in the engine, and the answer `here` of a method in memory for the arms they left.

    `here` is None if no method continued in memory.
    """

    n_left: int
    rules: tuple[str, ...]
    here: CandidateSet | None = None

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm that was read."""
        return np.full(self.n_left, CANDIDATE) if self.here is None else reasons_of(self.here).kinds

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Explain why an arm that was read is excluded or stays."""
        if self.here is not None:
            return self.here.explain(side.label(arm))
        text = (
            f"arm {side.label(arm)!r} may be the best as far as {' and '.join(self.rules)} can tell: the "
            "engine found nothing that excludes it."
        )
        return Explanation(side, arm, True, text)


class EngineCandidateSet(CandidateSet):
    """The candidates of pairs that stay in their engine.

    ``side`` holds the arms that the engine did not exclude and the relations among them; ``arms`` are indices
    into it. Arms that the engine excluded are not in memory: `explain` asks the engine about them.

    Attributes
    ----------
    pairs : LazyPairs
        The pairs in the engine.
    n_arms : int
        Number of arms there.

    Examples
    --------
    >>> import duckdb, lsdt
    >>> rows = "(1, 2, 'similar'), (2, 3, 'similar'), (1, 3, 'dissimilar'), (3, 4, 'similar')"
    >>> frame = duckdb.sql(f"select * from (values {rows}) as t(a, b, relation)")
    >>> found = lsdt.candidate_set(frame, "paper")
    >>> found
    CandidateSet(3 of 4 arms, method='triangles', in duckdb)
    >>> found.arm_ids, found.side.similar_pairs().tolist()
    ([1, 3, 4], [[1, 2]])
    >>> print(found.explain(2))
    arm 2 cannot be the best: it is similar to 1 and 3, which are dissimilar. Were 2 the best, both would lie
    less than epsilon below it, hence be similar.
    """

    def __init__(
        self,
        pairs: LazyPairs,
        n_arms: int,
        rules: tuple[str, ...],
        method: str,
        outcome: Outcome,
        seconds: float,
    ) -> None:
        super().__init__(method, outcome, seconds)
        self.pairs, self.n_arms = pairs, n_arms
        self._rules = rules

    def explain(self, arm: ArmId) -> Explanation:
        """Explain why an arm is excluded, or why it may be the best.

        For an arm that the engine excluded, relations around it are read, further and further out, until they
        exclude it.

        Parameters
        ----------
        arm : str or int
            The id of the arm, as in the frame.
        """
        try:
            self.side.index(arm)
        except InvalidInput:
            return self._explain_exclusion(arm)
        return super().explain(arm)

    def _explain_exclusion(self, arm: ArmId) -> Explanation:
        from lsdt.candidates.candidate_set import candidate_set

        if type(arm) is not (str if self.pairs.has_text else int):
            raise InvalidInput(
                f"there is no arm {arm!r}; ids are {'text' if self.pairs.has_text else 'ints'}"
            )
        n_read = 0
        for radius in range(1, _MOST_STEPS):
            near = self.pairs.around([arm], radius)
            for rule in self._rules:
                try:
                    found = candidate_set(near, rule)
                except LsdtError as error:  # a contradiction: its message is the explanation
                    return Explanation(near, near.index(arm), False, str(error))
                if arm not in found:
                    return found.explain(arm)
            if near.n_arms == n_read:
                break
            n_read = near.n_arms
        raise InvalidInput(f"arm {arm!r} is out, but no chain of {_MOST_STEPS} steps or fewer shows why")

    def __repr__(self) -> str:
        where = f"method={self.method!r}, in {self.pairs.engine}"
        return f"CandidateSet({len(self)} of {self.n_arms:,} arms, {where})"

    def _repr_html_(self) -> str:
        from lsdt.candidates.card import candidate_set_card

        return candidate_set_card(self, self.n_arms)
