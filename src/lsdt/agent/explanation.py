"""Why an arm is played or not: by its relations, and by what happened since."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsdt.candidates import Explanation

if TYPE_CHECKING:
    from lsdt.agent.learner import Learner
    from lsdt.candidates import CandidateSet
    from lsdt.policies import Policy
    from lsdt.side_information import SideInformation


def offline_reason(
    side: SideInformation, policy: Policy, found: CandidateSet | None, arm: int
) -> Explanation:
    """Return the offline step's reason for an arm; `found` is None if the policy has no offline step."""
    if found is not None:
        return found.explain(side.label(arm))
    text = f"{policy.name} plays on all arms: nothing excludes one before it is tried"
    return Explanation(side, arm, True, text)


def explain_arm(learner: Learner, found: CandidateSet | None, arm: int) -> Explanation:
    """Return why an arm is played, or is not; see `Agent.why`."""
    why = offline_reason(learner.side, learner.policy, found, arm)
    name, since = repr(learner.side.label(arm)), ""
    place = learner.local_index(arm)
    if learner.retired is not None and learner.retired[arm]:
        since = f"arm {name} has retired and is not played until it is reinstated. "
    elif learner.policy.eliminates and place >= 0:
        state = learner.state_now()
        if not state.alive[place]:
            since = f"{learner.policy.name} dropped arm {name} after {int(state.gone_at[place]):,} rewards. "
    return replace(why, text=since + why.text) if since else why
