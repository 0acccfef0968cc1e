"""Where a policy plays: on all arms, or on those that an offline step leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt._validation import checked_word
from lsdt.candidates import CHOICES, CandidateSet, candidate_set, method_for

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation

ON = ("all", *CHOICES)  # all arms, or what a method of `lsdt.candidate_set` leaves


def checked_on(on: Any) -> str:
    """Return where a policy plays, or say what is accepted."""
    return checked_word(on, "on", ON)


def offline_step(side: SideInformation, on: str) -> CandidateSet | None:
    """Return the arms that the offline step leaves; None for all arms."""
    return None if on == "all" else candidate_set(side, _method(side, on))


def _method(side: SideInformation, on: str) -> str:
    """Return the method of the step, the same for all words that mean the same."""
    # Anchors are exact: of complete information propagation would leave the same, later.
    known = side.is_complete and side.ranges is None
    return "anchors" if on == "propagation" and known else method_for(side, on)


def is_anchors(on: str) -> bool:
    """Say whether the step of complete information without ranges is that of anchors."""
    return on in ("auto", "paper", "anchors", "propagation")


class OfflineSteps:
    """The offline steps of one problem, each taken once for all policies that want it."""

    def __init__(self, side: SideInformation) -> None:
        self._side = side
        self._taken: dict[str, CandidateSet] = {}

    def of(self, on: str) -> CandidateSet | None:
        """Return the candidates of the step, or None if all arms are played."""
        if on == "all":
            return None
        method = _method(self._side, on)
        if method not in self._taken:
            self._taken[method] = candidate_set(self._side, method)
        return self._taken[method]
