"""Where side information comes from: what the store of relations cannot hold, kept together in one value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import is_number
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from lsdt.side_information.beaten import Beaten

_MOST_RISKS = 1000  # one source has one, merged sources add up, and more must be garbage
_LONGEST = 200  # characters in the text of a risk


class StatedRisk(NamedTuple):
    """What may be wrong in one source, and how probable that is at most.

    Attributes
    ----------
    what : str
        What may be wrong, such as ``'a range from past experiments is wrong'``.
    risk : float
        The probability, at most, that this is so.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_experiments({"arm": ["a", "b"], "successes": [30, 80], "trials": [200, 200]})
    >>> side.risks
    (StatedRisk(what='a range from past experiments is wrong', risk=0.05),)
    """

    what: str
    risk: float


class Origin(NamedTuple):
    """What is known about the sources of side information; every field may be empty.

    Attributes
    ----------
    scale : tuple of float or None
        The ends of the scale of ratings.
    fingerprint : tuple of str
        Marks of the ratings.
    beaten : Beaten or None
        Arms that were beaten in a log.
    risks : tuple of StatedRisk
        The risks that sources state for their relations; those of beaten arms are in `beaten`.
    """

    scale: tuple[float, float] | None = None
    fingerprint: tuple[str, ...] = ()
    beaten: Beaten | None = None
    risks: tuple[StatedRisk, ...] = ()

    def risks_for(self, top: int | None) -> tuple[StatedRisk, ...]:
        """Return the risks of relations and, unless `top` is None, that a beaten arm is among the best."""
        if self.beaten is None or top is None or (risk := self.beaten.risk_for(top)) == 0.0:
            return self.risks
        who = "the best arm" if top == 1 else f"one of the best {top} arms"
        return (*self.risks, StatedRisk(f"{who} is among those beaten in a log", risk))


def total_risk(risks: tuple[StatedRisk, ...]) -> float:
    """Return the probability, at most, that anything is wrong."""
    return round(min(1.0, math.fsum(each.risk for each in risks)), 12)


def risks_in_words(risks: tuple[StatedRisk, ...]) -> str:
    """Return risks as text, such as "0.05 is the risk that a range from past experiments is wrong"."""
    return " and ".join(f"{each.risk:g} is the risk that {each.what}" for each in risks)


def with_risk(delta: float, risk: float) -> str:
    """Return a probability of an error as text, and what side information adds to it."""
    return f"{delta:.2g}" + (f" + {risk:.2g}" if risk else "")


def but_for(delta: float, risk: float) -> str:
    """Return as text how probable an error is, or that nothing is guaranteed if that may be 1."""
    if delta + risk < 1.0:
        return f"but for a probability of {with_risk(delta, risk)}"
    return (
        f"if the relations are right (they may be wrong with a probability of up to {risk:.2g}, so nothing "
        "is guaranteed: leave out some sources, or all relations)"
    )


def risks_of_list(listed: Any) -> tuple[StatedRisk, ...]:
    """Read risks from JSON data, a list of pairs; refuse anything else.

    Examples
    --------
    >>> risks_of_list([["a relation from ratings is wrong", .05]])
    (StatedRisk(what='a relation from ratings is wrong', risk=0.05),)
    """
    if not isinstance(listed, list) or len(listed) > _MOST_RISKS or not all(map(_is_risk, listed)):
        shown = repr(listed)
        raise InvalidInput(
            f"risks are a list of [what may be wrong, probability]; got {shown[:60]}"
            f"{'...' if len(shown) > 60 else ''}"
        )
    return tuple(StatedRisk(what, float(risk)) for what, risk in listed)


def _is_risk(entry: Any) -> bool:
    if not isinstance(entry, (list, tuple)) or len(entry) != 2:
        return False
    what, risk = entry
    return isinstance(what, str) and 0 < len(what) <= _LONGEST and is_number(risk) and 0.0 < risk <= 1.0
