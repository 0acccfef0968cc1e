"""Which policy an agent uses when it is left to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.errors import InvalidInput
from lsdt.policies import Policy

if TYPE_CHECKING:
    from lsdt.kernel.rewards import RewardModel
    from lsdt.side_information import SideInformation


def chosen_policy(
    policy: str | Policy, side: SideInformation, rewards: RewardModel, horizon: int | None
) -> tuple[Policy, str]:
    """Return the policy, and why it was chosen."""
    if isinstance(policy, Policy):
        return policy, "asked for"
    if not isinstance(policy, str):
        raise InvalidInput(f"policy must be 'auto', a name, or an lsdt.Policy; got {policy!r}")
    if policy != "auto":
        return Policy(policy), "asked for"
    if side.is_complete:
        return Policy("lsdt_csi", index="kl_ucb"), (
            "the side information is complete: LSDT-CSI learns on the end classes, and its KL-UCB index is "
            "three times better than the paper's in the paper's setting"
        )
    if rewards.family == "bernoulli":
        return Policy("ts", on="candidates"), (
            "the side information is partial and rewards lie between 0 and 1: Thompson sampling on the "
            "candidates had the smallest regret in the paper's setting of the policies without a horizon"
        )
    return Policy("imed", on="candidates"), (
        "the side information is partial: IMED on the candidates needs neither horizon nor tuning"
    )
