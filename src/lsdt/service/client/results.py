"""What only a client returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lsdt._html import fields_card

if TYPE_CHECKING:
    from lsdt.side_information import ArmId


class RemoteDecision(NamedTuple):
    """A decision of a service: the fields of `lsdt.agent.Decision`, and the id to tell its reward with.

    Attributes
    ----------
    number : int
        Numbers count up from 0.
    arm : int
        The index of the arm.
    arm_id : str or int
        Its id.
    propensity : float or None
        The probability with which it was chosen, if it was asked for.
    id : str
        Any process can tell the reward under this id. It is safe to show to anybody.
    """

    number: int
    arm: int
    arm_id: ArmId
    propensity: float | None
    id: str

    def _repr_html_(self) -> str:
        return fields_card(self)


class StoppingAnswer(NamedTuple):
    """Whether the best arm, or the best `top`, are known, according to the service; see `Agent.stopping`.

    ``arm_ids`` are the arms to name, and ``arm_id`` is the first of them. Of all arms within the tolerance
    there may be none to name yet, and ``arm_id`` is None.
    """

    stop: bool
    arm_id: ArmId | None
    delta: float
    risk: float
    tolerance: float
    text: str
    evidence: float
    needed: float
    tries_to_go: int | None
    no_estimate: str
    pending: int
    arm_ids: list[ArmId]
    top: int | str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return fields_card(self)
