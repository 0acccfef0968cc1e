"""Leave beaten arms out of the candidates that relations leave.

Relations are facts about pairs, and beaten arms are facts about which arm may be the best
(`lsdt.side_information.beaten`). So these come last, whatever the method, and nothing is derived from them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.outcome import Classes, Outcome
from lsdt.candidates.proofs import Explanation, claim
from lsdt.candidates.propagation.method import Stage
from lsdt.candidates.reasons import BEATEN, CANDIDATE
from lsdt.errors import ContradictionWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.outcome import Evidence
    from lsdt.side_information import Beaten, SideInformation

_CONTRADICTION = (
    "the relations leave only arms that were beaten, so that some relation or some test is wrong; the beaten "
    "arms stay"
)


@dataclass(frozen=True, eq=False)
class BeatenEvidence:
    """Why every arm is out or stays: by relations first, then because it was beaten."""

    relations: Evidence
    beaten: Beaten
    is_out: NDArray[np.bool_]
    top: int = 1

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm."""
        kinds = self.relations.kinds
        return np.where((kinds == CANDIDATE) & self.is_out, BEATEN, kinds)

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Explain an arm; one that relations exclude is explained by these."""
        if self.kinds[arm] == BEATEN:
            who = "the best arm" if self.top == 1 else f"any of the best {self.top} arms"
            risk = f"{who} is called beaten with a probability of at most {self.beaten.risk:g}"
            text = f"arm {side.label(arm)!r} is out: {self.beaten.in_words(side, arm, self.top)}; {risk}."
            return Explanation(side, arm, False, text)
        if self.kinds[arm] == CANDIDATE:
            may = f"arm {side.label(arm)!r} may be {claim(self.top)}"
            text = f"{may}: it was not beaten, and no relation excludes it."
            return Explanation(side, arm, True, text)
        return self.relations.explain(side, arm)


def without_beaten(outcome: Outcome, top: int = 1) -> Outcome:
    """Return the answer of a method without the arms that were beaten.

    Examples
    --------
    >>> import lsdt
    >>> log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5)
    >>> found = lsdt.candidate_set(lsdt.from_ratings(log))
    >>> found.arm_ids, len(found.explain(0).text) > 50
    ([2], True)
    """
    beaten = outcome.side.beaten
    if beaten is None:
        return outcome
    is_out = beaten.is_out(outcome.side.n_arms, top)
    arms = outcome.arms[~is_out[outcome.arms]]
    if len(arms) < min(top, len(outcome.arms)):
        warnings.warn(_CONTRADICTION, ContradictionWarning, stacklevel=4)
        return replace(outcome, notes=(*outcome.notes, _CONTRADICTION), is_exact=False)
    stage = Stage("beaten", len(outcome.arms), len(outcome.arms) - len(arms), 0.0)
    return replace(
        outcome,
        arms=arms,
        evidence=BeatenEvidence(outcome.evidence, beaten, is_out, top),
        is_exact=False,
        stages=(*outcome.stages, stage),
        classes=None if outcome.classes is None else _left(outcome.classes, is_out),
    )


def _left(classes: Classes, is_out: NDArray[np.bool_]) -> Classes:
    """Return the classes without some arms; empty ones are dropped."""
    kept = [part[~is_out[part]].astype(np.int32) for part in classes.split()]
    kept = [part for part in kept if len(part)]
    sizes = [len(part) for part in kept]
    return Classes(np.concatenate(kept), np.concatenate(([0], np.cumsum(sizes)[:-1])))
