"""Where a policy plays: on all arms, or on those that an offline step leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt._validation import checked_word
from lsdt.candidates import CandidateSet, candidate_set
from lsdt.candidates.candidate_set import CHOICES

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation

ON = ("all", *CHOICES)  # all arms, or what a method of `lsdt.candidate_set` leaves


def checked_on(on: Any) -> str:
    """Return where a policy plays, or say what is accepted."""
    return checked_word(on, "on", ON)


def offline_step(side: SideInformation, on: str) -> CandidateSet | None:
    """Return the arms that the offline step leaves; None for all arms."""
    if on == "all":
        return None
    # Anchors are exact: of complete information propagation would leave the same, later.
    known = side.is_complete and side.ranges is None
    return candidate_set(side, method="anchors" if on == "propagation" and known else on)


class OfflineSteps:
    """The offline steps of one problem, each taken once for all policies that want it."""

    def __init__(self, side: SideInformation) -> None:
        self._side = side
        self._taken: dict[str, CandidateSet | None] = {}

    def of(self, on: str) -> CandidateSet | None:
        """Return what the step leaves; None for all arms."""
        if on not in self._taken:
            self._taken[on] = offline_step(self._side, on)
        return self._taken[on]
