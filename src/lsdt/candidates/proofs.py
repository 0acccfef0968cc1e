"""Why an arm is excluded, or why it may be the best: in words, and as a proof that anyone can check.

A proof rests on relations. Longer proofs go step by step: each step rests on relations and earlier steps. The
depth d(j) of an arm is how far it lies below some point, in epsilons (in rewards where thresholds are
distinct). A link bounds the difference of two depths; the bounds of consecutive links add up. A dissimilar
pair has an order as soon as links rule out the other order. Links that lead from an arm back to itself and
add up to less than zero are a contradiction.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import check_kind
from lsdt.errors import counted
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.side_information import ArmId

_LEGENDS = (
    "a < leads along a similar pair, [n] is step n",
    "a < leads along a similar or a better pair, a <= along a range or up to the best, [n] is step n",
)
_SMALLEST, _LARGEST = 1e-280, 1e280  # an epsilon between these can be multiplied by depths of up to 1e28
_WIDTH = 86  # columns of a derivation's text, chosen by eye
# Longer derivations show only their first and last steps: about a screen, and the end, where the claim is.
_MOST_LINES, _HEAD, _TAIL = 60, 5, 10
_UNBROKEN = "\0"  # a space at which no line may break


class Relation(NamedTuple):
    """One relation that a proof rests on; the arms are named by id (or index when there are no ids).

    Attributes
    ----------
    a, b : str or int
        The two arms.
    relation : str
        ``'similar'`` or ``'dissimilar'``.

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

    def _repr_html_(self) -> str:
        return fields_card(self)


class ThresholdRelation(NamedTuple):
    """One relation that a proof rests on: less than `threshold` apart if similar, else at least as much."""

    a: ArmId
    b: ArmId
    relation: str
    threshold: float

    def _repr_html_(self) -> str:
        return fields_card(self)


class RangeRelation(NamedTuple):
    """One relation that a proof rests on: `a` is better than `b`, or mean a - mean b lies in a range.

    An open end is None; for ``'better'`` both are.
    """

    a: ArmId
    b: ArmId
    relation: str
    low: float | None
    high: float | None

    def _repr_html_(self) -> str:
        return fields_card(self)


class Link(NamedTuple):
    """``d(end) - d(start) < bound``, or ``<=`` where it is not strict.

    ``why`` is ``'similar'``, ``'better'``, ``'range'``, ``'best'`` (`end` is assumed the best: no arm lies
    above it), ``'step n'``, or ``'step n, turned'``: the order of that step reversed.
    """

    start: ArmId
    end: ArmId
    bound: float
    strict: bool
    why: str

    def _repr_html_(self) -> str:
        return fields_card(self)


class Step(NamedTuple):
    """One step of a derivation.

    Attributes
    ----------
    kind : str
        ``'order'``: the dissimilar arms `above` and `below` have this order, since the links lead from
        `below` to `above` and add up to less than `apart`. ``'supposition'``: assume this order; under the
        opposite order the same argument holds reflected. Only the first step is a supposition, except in
        arguments from all arms at once: there each order rests on one supposition, and suppositions can be
        reversed independently until some pair has the same order under two of them. ``'contradiction'``: the
        links lead from `above` to itself and add up to less than zero; a last step. ``'between'``: `above`
        lies strictly above `below`, since the links lead from `below` to `above` and add up to less than
        zero. Two of these end an argument that also holds reflected: the arm in question has one arm above
        it and one below it in either reflection. Better pairs and ranges have a direction: with them, one of
        the last two steps takes the supposition as it stands and the other takes it reversed; a single last
        step needs neither. For the best m, there are m of these steps up and m down (with better pairs and
        ranges, m for each reflection), to different arms.
    above, below : str or int
        The arms of the pair, by id (or index when there are no ids).
    apart : float
        ``d(below) - d(above) >= apart``; 0 for a contradiction.
    links : tuple of Link
        The links that imply it.
    """

    kind: str
    above: ArmId
    below: ArmId
    apart: float
    links: tuple[Link, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON data."""
        return {**self._asdict(), "links": [link._asdict() for link in self.links]}

    def _repr_html_(self) -> str:
        return fields_card(self)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why one arm is excluded or stays; ``str(explanation)`` is the text.

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
        The argument step by step (for ``'order'``, and for ``'propagation'`` where it takes more than a
        triangle).
    top : int
        Among how many of the best the arm may be, or cannot be.

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
    top: int = field(default=1, repr=False)

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

    def _repr_html_(self) -> str:
        from lsdt.candidates.card import explanation_card

        return explanation_card(self)

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


@dataclass(frozen=True, eq=False)
class ThresholdExplanation(Explanation):
    """An explanation whose relations have thresholds."""

    @property
    def relations(self) -> tuple[ThresholdRelation, ...]:  # type: ignore[override]
        """The known relations that the argument rests on: they alone exclude the arm."""
        return tuple(relation for pair in self.rests_on for relation in threshold_relations(self.side, *pair))


def check_side_information(side: Any) -> None:
    """Refuse a value that is not side information."""
    check_kind(side, SideInformation, "a SideInformation is needed")


def relation_of(side: SideInformation, first: int, second: int) -> Relation:
    """Return the relation of two arms given by index, with their names."""
    word = {1: "similar", -1: "dissimilar", 0: "unknown"}[side.store.relation(first, second)]
    return Relation(side.label(first), side.label(second), word)


def range_relation(side: SideInformation, first: int, second: int, is_better: bool) -> Relation:
    """Return the relation of two arms with a range: with `is_better` the better pair, else the range.

    The arm known to be above the other is named first; a range with an open lower end is turned round.
    """
    known = side.range_at(first, second)
    if known.high < 0.0 or known.strict_high or known.low == -np.inf:
        first, second, known = second, first, side.range_at(second, first)
    a, b = side.label(first), side.label(second)
    if is_better and known.strict_low:
        return RangeRelation(a, b, "better", None, None)  # type: ignore[return-value]
    # A strict end comes from a better pair, which is a separate relation.
    low, high = (
        None if strict or np.isinf(end) else end for end, strict in zip(known[:2], known[2:], strict=True)
    )
    return RangeRelation(a, b, "range", low, high)  # type: ignore[return-value]


def threshold_relations(side: SideInformation, first: int, second: int) -> list[ThresholdRelation]:
    """Return the known limits on the distance of two arms: an upper one, a lower one, both or none."""
    low, high = side.distance_at(first, second)
    a, b = side.label(first), side.label(second)
    similar = [ThresholdRelation(a, b, "similar", high)] if high < np.inf else []
    return similar + ([ThresholdRelation(a, b, "dissimilar", low)] if low > 0.0 else [])


def best_means(
    side: SideInformation,
    arm: int,
    coordinates: NDArray[np.float64],
    size: float | None = None,
    top: int = 1,
) -> Explanation:
    """Explain a candidate by means that put fewer than `top` arms above it.

    `size` is the unit of thresholds and ranges.
    """
    # An epsilon near the limits of floats leaves no room for means: use 1, as for an unknown epsilon.
    is_usable = side.epsilon is not None and _SMALLEST < side.epsilon < _LARGEST
    unit = side.epsilon if is_usable and side.epsilon is not None else 1.0
    scale = f"epsilon = {unit:g}" if is_usable else "epsilon taken as 1"
    if size is not None:
        unit, scale = size, "in the units of the thresholds"
        if side.ranges is not None:
            scale = "in the units of the ranges" if side.ranges.has_size else scale
    means = (coordinates - coordinates.min()) * unit
    text = (
        f"arm {side.label(arm)!r} may be the best: there are means that satisfy every relation and give it "
        f"the largest, {means[arm]:.6g} with the smallest at 0 ({scale})."
    )
    if top > 1:
        n_above = int((means > means[arm]).sum())
        few = "no arm" if n_above == 0 else counted(n_above, "arm")
        text = (
            f"arm {side.label(arm)!r} may be {claim(top)}: there are means that satisfy every relation and "
            f"put {few} above it; its own is {means[arm]:.6g}, the smallest 0 ({scale})."
        )
    return Explanation(side, arm, True, text, means=means)


def claim(top: int) -> str:
    """Return what a candidate may be."""
    return "the best" if top == 1 else f"among the best {top}"


def names_of(side: SideInformation, arms: Sequence[int]) -> str:
    """Return the names of arms for a sentence."""
    *some, last = (repr(side.label(arm)) for arm in arms)
    return f"{', '.join(some)} and {last}" if some else last


def explain_triangles(
    side: SideInformation, arm: int, pairs: list[tuple[int, int]], wanted: int, top: int = 1
) -> Explanation:
    """Explain by Proposition 1 why an arm is excluded: two arms similar to it are dissimilar."""
    name, (first, second) = repr(side.label(arm)), pairs[0]
    if top > 1:
        text = (
            f"arm {name} cannot be among the best {top}: it is similar to {named_pairs(side, pairs)}. Of "
            "each two, which are dissimilar, one lies above it: were both below, they would lie less than "
            "epsilon below it, hence be similar."
        )
        text += spare_pairs(wanted - top)
        return Explanation(side, arm, False, text, tuple(pairs), rests_on=triangle_pairs(arm, pairs))
    text = (
        f"arm {name} cannot be the best: it is similar to {side.label(first)!r} and {side.label(second)!r}, "
        f"which are dissimilar. Were {name} the best, both would lie less than epsilon below it, hence be "
        "similar."
    )
    text += same_argument(side, pairs, wanted)
    return Explanation(side, arm, False, text, tuple(pairs), rests_on=triangle_pairs(arm, pairs))


def same_argument(side: SideInformation, pairs: list[tuple[int, int]], wanted: int) -> str:
    """Return a sentence on the other pairs that exclude the arm; empty if `wanted`, how many, is 1."""
    if wanted == 1:
        return ""
    named = [f"{side.label(first)!r} and {side.label(second)!r}" for first, second in pairs[1:]]
    wrong = "a wrong relation" if wanted == 2 else f"{wanted - 1} wrong relations"
    return f" The same argument works with {'; with '.join(named)}, so {wrong} could not undo it."


def named_pairs(side: SideInformation, pairs: list[tuple[int, int]]) -> str:
    """Return the names of pairs for a sentence."""
    return "; to ".join(names_of(side, pair) for pair in pairs)


def spare_pairs(n_spare: int) -> str:
    """Return a sentence on pairs beyond those that it takes; empty if there are none."""
    if n_spare == 0:
        return ""
    wrong = "A wrong relation" if n_spare == 1 else f"{n_spare} wrong relations"
    return f" {wrong} could not undo it: there are {n_spare} more of these pairs than it takes."


def triangle_pairs(arm: int, pairs: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return all pairs of the triangles that an arm forms with the pairs that exclude it."""
    return tuple(pair for first, second in pairs for pair in ((arm, first), (arm, second), (first, second)))


def legend(steps: Sequence[Step]) -> str:
    """Return a text that explains the signs in a derivation."""
    return _LEGENDS[any(link.why in ("better", "range") for step in steps for link in step.links)]


def derivation_text(steps: Sequence[Step], best: ArmId | None) -> str:
    """Return the steps as numbered lines, without the middle ones if there are many; `best` has depth 0."""
    first: dict[tuple[ArmId, ArmId], int] = {}
    lines = []
    for number, step in enumerate(steps, 1):
        again = first.setdefault((step.above, step.below), number)
        if _HEAD < number <= len(steps) - _TAIL and len(steps) > _MOST_LINES:
            if number == _HEAD + 1:
                left_out = len(steps) - _HEAD - _TAIL
                lines.append(f"  ... {left_out:,} more steps, like all the others in `steps` ...")
            continue
        line = f"{number}. {_line(step, best)}"
        if step.kind == "order" and again < number:
            line += f" The same order follows in [{again}], so both suppositions hold or neither does."
        lines.append(
            textwrap.fill(
                line,
                _WIDTH,
                initial_indent="  ",
                subsequent_indent="     ",
                break_long_words=False,
                break_on_hyphens=False,
            ).replace(_UNBROKEN, " ")
        )
    return "\n".join(lines)


def _line(step: Step, best: ArmId | None) -> str:
    if step.kind == "contradiction":
        return f"But {_chain(step.links, best)}: a contradiction."
    if step.kind == "between":
        return f"{step.above!r} lies above {step.below!r}: {_chain(step.links, best)}."
    claim = f"{_depth(step.below, 0, best)} >= {_depth(step.above, step.apart, best)}"
    pair = f"{step.above!r} and {step.below!r} are dissimilar"
    if step.kind == "supposition":
        return f"{claim}, say: {pair}, and turned upside down all relations stay the same."
    if len(step.links) == 1 and step.links[0].why == "best":
        return f"{claim}: {pair}."
    return f"{claim}: {pair}, and {_chain(step.links, best)}."


def _chain(links: Sequence[Link], best: ArmId | None) -> str:
    """Return links as a chain of inequalities, from the end of the last back to the start of the first."""
    words = [_depth(links[-1].end, 0, best)]
    total = 0.0
    for link in reversed(links):
        total += link.bound
        reference = f" [{link.why.removeprefix('step ')}]" if link.why.startswith("step") else ""
        relation = "<" if link.strict else "<="
        words.append(f"{relation} {_depth(link.start, total, best)}{reference}".replace(" ", _UNBROKEN))
    return " ".join(words)


def _depth(arm: ArmId, more: float, best: ArmId | None) -> str:
    if arm == best and type(arm) is type(best):
        return f"{more:g}"
    if not more:
        return f"d({arm!r})"
    return f"d({arm!r}) {'+' if more > 0 else '-'} {abs(more):g}"
