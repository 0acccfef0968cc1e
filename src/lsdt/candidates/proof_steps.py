"""A chain of reasoning that anyone can check: each step rests on relations and on steps before it.

Depths are how far arms lie below some point, in epsilons (in rewards where thresholds are distinct): d(j). A
link bounds a difference of two depths;
links that follow one another add up. A dissimilar pair has an order as soon as links exclude the other; links
that lead from an arm back to itself and add up to less than nothing are a contradiction.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.side_information.arms import ArmId

_WIDTH = 86
LEGEND = "a < leads along a similar pair, [n] is step n"
_UNBROKEN = "\0"  # a space at which no line ends


class Link(NamedTuple):
    """``d(end) - d(start) < bound``, or ``<=`` where it is not strict.

    ``why`` is ``'similar'``, ``'best'`` (`end` is supposed the best: no arm lies above it) or ``'step n'``.
    """

    start: ArmId
    end: ArmId
    bound: float
    strict: bool
    why: str


class Step(NamedTuple):
    """One step of a derivation.

    Attributes
    ----------
    kind : str
        ``'order'``: the dissimilar arms `above` and `below` have this order, since the links lead from
        `below` to `above` and add up to less than `apart`. ``'supposition'``: they have this order, or else
        all that follows is turned upside down; only the first step may be one. ``'contradiction'``: the links
        lead from `above` to itself and add up to less than zero; always the last step.
    above, below : str or int
        The arms of the pair, by id (or index when there are no ids).
    apart : float
        ``d(below) - d(above) >= apart``; 0 of a contradiction.
    links : tuple of Link
        What it follows from.
    """

    kind: str
    above: ArmId
    below: ArmId
    apart: float
    links: tuple[Link, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON data."""
        return {**self._asdict(), "links": [link._asdict() for link in self.links]}


def worded(steps: Sequence[Step], best: ArmId | None) -> str:
    """Return the steps as numbered lines; `best` has depth 0."""
    lines = [
        textwrap.fill(
            f"{number}. {_line(step, best)}",
            _WIDTH,
            initial_indent="  ",
            subsequent_indent="     ",
            break_long_words=False,
            break_on_hyphens=False,
        ).replace(_UNBROKEN, " ")
        for number, step in enumerate(steps, 1)
    ]
    return "\n".join(lines)


def _line(step: Step, best: ArmId | None) -> str:
    if step.kind == "contradiction":
        return f"But {_chain(step.links, best)}: a contradiction."
    claim = f"{_depth(step.below, 0, best)} >= {_depth(step.above, step.apart, best)}"
    pair = f"{step.above!r} and {step.below!r} are dissimilar"
    if step.kind == "supposition":
        return f"{claim}, say: {pair}, and turned upside down all relations stay the same."
    if len(step.links) == 1 and step.links[0].why == "best":
        return f"{claim}: {pair}."
    return f"{claim}: {pair}, and {_chain(step.links, best)}."


def _chain(links: Sequence[Link], best: ArmId | None) -> str:
    """Return links as one row of inequalities, from the end of the last back to the start of the first."""
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
