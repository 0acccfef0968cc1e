"""`CandidateSet`: the answer of `lsdt.candidate_set`."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates.proofs import claim
from lsdt.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.candidates.outcome import Outcome
    from lsdt.candidates.proofs import Explanation, Relation
    from lsdt.candidates.propagation.gap_bounds import GapBounds, MutualBounds
    from lsdt.candidates.propagation.method import Stage
    from lsdt.candidates.triangles.conflict import Conflict
    from lsdt.side_information import ArmId, SideInformation


class CandidateSet:
    """The arms that can be the best, or among the best `top`, and why.

    Attributes
    ----------
    side : SideInformation
        The side information that the answer is about. If the triangle rule read ranges as similar and
        dissimilar pairs, it contains these pairs too.
    method : str
        The method that found it: ``'order'``, ``'anchors'``, ``'triangles'``, ``'propagation'``,
        ``'probing'`` or ``'exact'``.
    seconds : float
        How long it took, without the time for compiling on first use.

    Examples
    --------
    >>> import lsdt
    >>> found = lsdt.candidate_set(lsdt.from_means([.1, .2, .3, .4, .5], epsilon=.25))
    >>> found.arms.tolist(), found.method, 2 in found
    ([0, 4], 'anchors', False)
    """

    def __init__(self, method: str, outcome: Outcome, seconds: float) -> None:
        self.side = outcome.side
        self.method = method
        self.seconds = seconds
        self._outcome = outcome

    @property
    def arms(self) -> NDArray[np.int64]:
        """Indices of the candidates, ascending (read-only)."""
        return self._outcome.arms

    @property
    def arm_ids(self) -> list[ArmId]:
        """Ids of the candidates (indices when there are no ids), in the order of `arms`."""
        return [self.side.label(arm) for arm in self.arms]

    @cached_property
    def classes(self) -> list[NDArray[np.int64]] | None:
        """Candidates with equal neighbourhoods, class by class; None for partial information."""
        classes = self._outcome.classes
        return None if classes is None else classes.split()

    @property
    def max_wrong(self) -> int:
        """How many relations may be wrong without losing the best arm, or one of the best `top`."""
        return self._outcome.max_wrong

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on how the answer was obtained; usually empty."""
        return self._outcome.notes

    @property
    def stages(self) -> tuple[Stage, ...]:
        """How many arms each stage examined and excluded, how long it took, and a remark.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(4, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)])
        >>> [(stage.name, stage.examined, stage.excluded) for stage in lsdt.candidate_set(side).stages]
        [('triangles', 4, 1), ('intervals', 3, 0), ('closure', 3, 0)]
        """
        return self._outcome.stages

    @property
    def conflict(self) -> Conflict | None:
        """Relations that cannot all be true, where ``'propagation'`` found some and fell back; else None."""
        return self._outcome.conflict

    @property
    def suggestion(self) -> Relation | None:
        """The relation of the conflict to check first: a guess, see `Conflict`."""
        return None if self.conflict is None else self.conflict.suggestion

    @property
    def top(self) -> int:
        """Among how many of the best the candidates may be; 1 for the best arm."""
        return self._outcome.top

    @property
    def claim(self) -> str:
        """What candidates can be, in words: ``'can be the best'``, ``'may be among the best 3'``."""
        return f"{self.verb} {claim(self.top)}"

    @property
    def verb(self) -> str:
        """``'can be'`` the best when the answer is exact, else ``'may be'``."""
        return "can be" if self._outcome.is_exact else "may be"

    def bounds(self, arm: ArmId) -> GapBounds:
        """Return bounds on the gap of every other arm to a candidate, if that candidate is the best.

        Parameters
        ----------
        arm : str or int
            The id of a candidate, or its index.

        Returns
        -------
        GapBounds
            ``lower`` and ``upper``: the mean of the candidate minus that of arm j lies between them, in units
            of the rewards (in epsilons if epsilon is unknown). ``upper`` is infinite where nothing is known.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(0, 2)])
        >>> lsdt.candidate_set(side).bounds(0)
        GapBounds(lower=array([0., 0., 1.]), upper=array([ 0.,  1., inf]))
        """
        self._check_bounds()
        index = self.side.index(arm)
        if not self._has(index):
            raise InvalidInput(
                f"arm {arm!r} cannot be the best, so there are no gaps below it; ask about a candidate"
            )
        bounds = self._outcome.bounds(index)
        if bounds is None:
            raise InvalidInput(
                "the relations contradict one another, so they bound no gaps; correct one of those in "
                "`conflict`"
            )
        return bounds

    @cached_property
    def mutual_bounds(self) -> MutualBounds:
        """Bounds on the gaps among the candidates as sparse rows; row i assumes that candidate i is best."""
        self._check_bounds()
        return self._outcome.mutual_bounds()

    def _check_bounds(self) -> None:
        if self.top > 1:
            raise Unsupported(
                f"bounds are on gaps below the best arm, and these may be among the best {self.top}; "
                "ask for the candidates with top=1"
            )

    def explain(self, arm: ArmId) -> Explanation:
        """Explain why an arm is excluded, with a witness that can be checked, or why it may be the best.

        Parameters
        ----------
        arm : str or int
            The id of the arm, or its index; with integer ids an int is an id.
        """
        return self._explain(self.side.index(arm))

    def _explain(self, arm: int) -> Explanation:
        """Explain an arm, given by index, in a text that shows titles."""
        reason = self._outcome.reason(arm)
        why = reason.explain(self.side)
        if self.top > 1:
            why = replace(why, top=self.top)
        if self._shown is self.side:
            return why
        return replace(why, text=reason.explain(self._shown).text)

    @cached_property
    def _shown(self) -> SideInformation:
        return self.side.shown()

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: ``arm``, ``candidate``, ``reason`` if excluded, ``class`` if it has one.

        Side information with titles adds ``title``.
        """
        import pandas as pd

        side = self.side
        candidate = np.zeros(side.n_arms, bool)
        candidate[self.arms] = True
        columns: dict[str, Any] = {
            "arm": [side.label(arm) for arm in range(side.n_arms)],
            "candidate": candidate,
            "reason": [
                None if candidate[arm] else self._outcome.reason(arm).explain(self._shown).text
                for arm in range(side.n_arms)
            ],
        }
        if side.titles is not None:
            known = side.titles
            titles = pd.Series([known.get(name) for name in columns["arm"]], dtype=object)
            columns = {"arm": columns.pop("arm"), "title": titles, **columns}
        if self.classes is not None:
            number = np.full(side.n_arms, -1)
            for at, members in enumerate(self.classes):
                number[members] = at
            columns["class"] = pd.array(np.where(candidate, number, 0), dtype="Int64")
            columns["class"][~candidate] = pd.NA
        return pd.DataFrame(columns)

    def __len__(self) -> int:
        return len(self.arms)

    def __iter__(self) -> Iterator[ArmId]:
        return iter(self.arm_ids)

    def __contains__(self, arm: ArmId) -> bool:
        try:
            index = self.side.index(arm)
        except InvalidInput:
            return False
        return self._has(index)

    def _has(self, index: int) -> bool:
        place = int(np.searchsorted(self.arms, index))
        return place < len(self.arms) and int(self.arms[place]) == index

    def __repr__(self) -> str:
        top = "" if self.top == 1 else f", top={self.top}"
        return f"CandidateSet({len(self)} of {self.side.n_arms:,} arms, method={self.method!r}{top})"

    def _repr_html_(self) -> str:
        from lsdt.candidates.card import candidate_set_card

        return candidate_set_card(self, self.side.n_arms)
