"""Why an arm is out, or why it may be the best: a text, and what anyone can check it with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.errors import InvalidInput
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lsdt.candidates.proof_steps import Step
    from lsdt.side_information.arms import ArmId


_SMALLEST, _LARGEST = 1e-280, 1e280


class Relation(NamedTuple):
    """One relation that a proof rests on; the arms are named by id (or index when there are no ids).

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)])
    >>> lsdt.candidate_set(side, "triangles").explain(0).relations[0]
    Relation(a=0, b=1, relation='similar')
    """

    a: ArmId
    b: ArmId
    relation: str


@dataclass(frozen=True, eq=False)
class Explanation:
    """The reason for one arm's fate; ``str(explanation)`` is the text.

    Attributes
    ----------
    arm : int
        Index of the arm.
    is_candidate : bool
        Whether it may be the best.
    text : str
        The argument in words.
    pairs : tuple of (int, int)
        The dissimilar pairs that the argument turns on, as indices.
    means : ndarray or None
        Means that satisfy every relation and make this arm the best (where the method finds them).
    steps : tuple of Step
        The argument step by step (of ``'propagation'``, where it takes more than a triangle).

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)])
    >>> why = lsdt.candidate_set(side).explain(0)
    >>> why.is_candidate, why.pairs
    (False, ((1, 2),))
    """

    side: SideInformation = field(repr=False)
    arm: int
    is_candidate: bool
    text: str
    pairs: tuple[tuple[int, int], ...] = ()
    means: NDArray[np.float64] | None = None
    rests_on: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    steps: tuple[Step, ...] = field(default=(), repr=False)
    listed: tuple[Relation, ...] = field(default=(), repr=False)

    @property
    def arm_id(self) -> ArmId:
        """Id of the arm, or its index when there are no ids."""
        return self.side.label(self.arm)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The known relations that the argument rests on: they alone exclude the arm."""
        return self.listed or tuple(relation_of(self.side, *pair) for pair in self.rests_on)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        return {
            "arm": self.arm_id,
            "candidate": self.is_candidate,
            "reason": self.text,
            "relations": [list(relation) for relation in self.relations],
            "steps": [step.to_dict() for step in self.steps],
            "means": None if self.means is None else self.means.tolist(),
        }


def check_side_information(side: Any) -> None:
    """Refuse what is no side information before something else trips over it."""
    if not isinstance(side, SideInformation):
        raise InvalidInput(f"a SideInformation is needed; got {type(side).__name__}")


def relation_of(side: SideInformation, first: int, second: int) -> Relation:
    """Return the relation of two arms given by index, with their names."""
    word = {1: "similar", -1: "dissimilar", 0: "unknown"}[side.store.relation(first, second)]
    return Relation(side.label(first), side.label(second), word)


def best_means(
    side: SideInformation, arm: int, coordinates: NDArray[np.float64], size: float = 1.0
) -> Explanation:
    """Explain a candidate by means under which it is the best; `size` is the unit of distinct thresholds."""
    # An epsilon at the edge of what floats hold leaves no room for means: then the unit is 1 as well.
    told = side.epsilon is not None and _SMALLEST < side.epsilon < _LARGEST
    unit = side.epsilon if told and side.epsilon is not None else size
    means = (coordinates - coordinates.min()) * unit
    scale = f"epsilon = {unit:g}" if told else "epsilon taken as 1"
    if side.store.thresholds is not None:
        scale = "in the units of the thresholds"
    text = (
        f"arm {side.label(arm)!r} may be the best: there are means that satisfy every relation and give it "
        f"the largest, {means[arm]:.6g} with the smallest at 0 ({scale}); see `means`."
    )
    return Explanation(side, arm, True, text, means=means)


def eliminated_by_pairs(
    side: SideInformation, arm: int, pairs: list[tuple[int, int]], wanted: int
) -> Explanation:
    """Word the triangle argument (Proposition 1) for an arm and its dissimilar pairs of similar arms."""
    name = repr(side.label(arm))
    named = [f"{side.label(first)!r} and {side.label(second)!r}" for first, second in pairs]
    text = (
        f"arm {name} cannot be the best: it is similar to {named[0]}, which are dissimilar. Were {name} the "
        "best, both would lie less than epsilon below it, hence be similar."
    )
    if wanted > 1:
        wrong = "a wrong relation" if wanted == 2 else f"{wanted - 1} wrong relations"
        text += f" The same argument works with {'; with '.join(named[1:])}, so {wrong} could not undo it."
    used = [pair for first, second in pairs for pair in ((arm, first), (arm, second), (first, second))]
    return Explanation(side, arm, False, text, tuple(pairs), rests_on=tuple(used))
