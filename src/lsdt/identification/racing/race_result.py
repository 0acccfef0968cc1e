"""What `lsdt.race` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lsdt._html import card, facts

if TYPE_CHECKING:
    import pandas as pd

    from lsdt._html import Html
    from lsdt.side_information import ArmId


class RaceResult(NamedTuple):
    """Which arm won a race; see `race`.

    Attributes
    ----------
    arm_id : str or int
        The arm that is named.
    arm : int
        Its index.
    stop : bool
        Whether it is known to be within the tolerance of the best arm. If not, it is the best guess.
    left : list
        The arms that were not beaten, the best mean first; with probability 1 - delta the best is among them.
    delta : float
        The accepted probability of an error.
    tolerance : float
        How far below the best arm the one that is named may lie.
    tries : int
        The number of evaluations.
    examples : int
        The number of examples that were used.
    text : str
        The result in a sentence.
    frame : DataFrame
        See `to_frame`.

    Examples
    --------
    >>> import lsdt, random
    >>> quality = {"short": .3, "polite": .5, "stepwise": .8}
    >>> found = lsdt.race(quality, lambda prompt, _: random.Random().random() < quality[prompt], range(5000))
    >>> found.arm_id, found.stop
    ('stepwise', True)
    """

    arm_id: ArmId
    arm: int
    stop: bool
    left: list[ArmId]
    delta: float
    tolerance: float
    tries: int
    examples: int
    text: str
    frame: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: arm, tries, mean, status.

        ``status`` is ``'left'``, ``'beaten'``, or ``'excluded'`` by the side information. A row also has
        ``beaten_by``, the arm with the largest e-value against it, and ``after``, the number of examples
        until then.
        """
        return self.frame.copy()

    def __repr__(self) -> str:
        return (
            f"RaceResult(arm_id={self.arm_id!r}, stop={self.stop}, left={len(self.left)}, "
            f"tries={self.tries:,}, examples={self.examples:,})"
        )

    def _repr_html_(self) -> Html:
        known = {
            "arm": self.arm_id,
            "known": self.stop,
            "arms left": len(self.left),
            "tolerance": self.tolerance,
            "evaluations": self.tries,
            "examples": self.examples,
        }
        return card("RaceResult", self.text, facts(known))
