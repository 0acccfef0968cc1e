"""What came of an attack."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """What came of an attack.

    Attributes
    ----------
    tried : int
        Cases that were tried.
    well : int
        Cases that were answered as promised.
    failures : list of str
        What went wrong in the others, with what to do to see it again.
    skipped : str
        What could not be tried here, and why; empty when everything was.
    """

    tried: int
    well: int
    failures: list[str]
    skipped: str = ""


def joined(outcomes: list[Outcome]) -> Outcome:
    """Return several outcomes as one."""
    return Outcome(
        sum(each.tried for each in outcomes),
        sum(each.well for each in outcomes),
        [failure for each in outcomes for failure in each.failures],
        "; ".join(each.skipped for each in outcomes if each.skipped),
    )
