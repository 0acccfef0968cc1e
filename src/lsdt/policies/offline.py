"""Where a policy plays: on all arms, or on those that an offline step leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt._validation import checked_word
from lsdt.candidates import CandidateSet, candidate_set

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation

# Candidates are the paper's, whatever other methods there are; propagation leaves fewer.
ON = ("all", "candidates", "propagation")


def checked_on(on: Any) -> str:
    """Return where a policy plays, or say what is accepted."""
    return checked_word(on, "on", ON)


def offline_step(side: SideInformation, on: str) -> CandidateSet | None:
    """Return the arms that the offline step leaves; None for all arms."""
    if on == "all":
        return None
    if on == "candidates":
        return candidate_set(side, method="paper")
    return candidate_set(side, method="anchors" if side.is_complete else "propagation")


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
