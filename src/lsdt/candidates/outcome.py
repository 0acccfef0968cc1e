"""What every candidate method returns: the candidates, the reasons, and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.proofs import Explanation
    from lsdt.candidates.propagation.gap_bounds import GapBounds, MutualBounds
    from lsdt.candidates.propagation.method import Propagation, Stage
    from lsdt.candidates.triangles.conflict import Conflict
    from lsdt.side_information import SideInformation


class Evidence(Protocol):
    """What a method keeps in order to say why each arm is out or stays.

    Proofs are derived when `explain` is called, not before.
    """

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm, as an index into `lsdt.candidates.reasons.NAMES`."""

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Explain why one arm is excluded or stays; arms are named as `side` names them."""


class Reason(NamedTuple):
    """Why one arm of an outcome is out or stays; kind and proof are computed when asked for."""

    outcome: Outcome
    arm: int

    @property
    def kind(self) -> int:
        """The kind of reason, as an index into `lsdt.candidates.reasons.NAMES`."""
        return int(self.outcome.kinds[self.arm])

    def explain(self, side: SideInformation) -> Explanation:
        """Derive the proof; arms are named as `side` names them."""
        return self.outcome.evidence.explain(side, self.arm)


class Classes(NamedTuple):
    """Classes of interchangeable candidates: the members class by class, and where each class starts."""

    members: NDArray[np.int32]
    starts: NDArray[np.int64]

    def split(self) -> list[NDArray[np.int64]]:
        """Return one array of arms per class."""
        return np.split(self.members.astype(np.int64), self.starts[1:])


@dataclass(frozen=True, eq=False)
class Outcome:
    """The answer of one method.

    Attributes
    ----------
    side : SideInformation
        The relations that the answer depends on, including those that the triangle rule reads from ranges.
    arms : ndarray of int
        The candidates, ascending (read-only).
    evidence : Evidence
        Says why each arm is out or stays.
    is_exact : bool
        Whether every candidate really can be the best. (Every arm that can is always a candidate.)
    stages : tuple of Stage
        What each stage did, where the method has stages.
    notes : tuple of str
        Remarks for the user on how the answer was obtained.
    conflict : Conflict or None
        Relations that cannot all be true, if the method found some and fell back to a weaker rule.
    max_wrong : int
        How many relations may be wrong without losing the best arm.
    classes : Classes or None
        Classes of interchangeable candidates, for complete information.
    top : int
        Among how many of the best an arm must be able to be.
    derivation : Propagation or None
        The constraints and orders that propagation found, so that `mutual_bounds` can reuse them.
    """

    side: SideInformation
    arms: NDArray[np.int64]
    evidence: Evidence
    is_exact: bool
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()
    conflict: Conflict | None = None
    max_wrong: int = 0
    classes: Classes | None = None
    derivation: Propagation | None = None
    top: int = 1

    def __post_init__(self) -> None:
        self.arms.flags.writeable = False

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm (read-only); no proof is derived for it."""
        kinds = self.evidence.kinds
        kinds.flags.writeable = False
        return kinds

    def reason(self, arm: int) -> Reason:
        """Return why an arm is out or stays: the kind of reason, and the proof."""
        return Reason(self, arm)

    def bounds(self, arm: int) -> GapBounds | None:
        """Return bounds on the gaps below a candidate, or None where contradictory relations give none."""
        from lsdt.candidates.propagation.gap_bounds import gap_bounds

        return None if self.conflict is not None else gap_bounds(self.side, arm)

    def mutual_bounds(self) -> MutualBounds:
        """Return bounds on the gaps among the candidates; row i assumes that candidate i is the best."""
        from lsdt.candidates.propagation.gap_bounds import mutual_bounds

        # Kernels are compiled for writable arrays.
        return mutual_bounds(self.side, self.arms.copy(), found=self.derivation)
