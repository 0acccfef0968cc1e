"""The policy that ``'auto'`` stands for."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from lsdt.errors import ContradictionWarning
from lsdt.policies import OfflineSteps, Policy, parse_policy, refuse_object
from lsdt.side_information import PairStore, WindowStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel import RewardModel
    from lsdt.side_information import PairRanges, SideInformation

AS_TOLD = "asked for"  # the reason for a policy that the user names

# Following up the stored relations of a million arms took 80 s before the first decision
# (docs/performance.md). With more than this it would take many minutes.
_MOST_ARMS = 2_000_000
# With more candidates, a round of a closure policy takes milliseconds (0.33 ms among 6,559), and bounds are
# cut short.
_MOST_CANDIDATES = 20_000
MOST_DRAWN = 1_000  # candidates up to which lsdt_posterior draws means: its own limit


def choose_policy(
    policy: str | Policy,
    side: SideInformation,
    rewards: RewardModel,
    horizon: int | None,
    steps: OfflineSteps | None = None,
    *,
    forgets: bool = False,
) -> tuple[Policy, str]:
    """Return the policy and the reason for it; its offline step is cached in `steps`.

    With `forgets`, a policy that is chosen here can play on rewards that fade.
    """
    if isinstance(policy, Policy):
        return policy, AS_TOLD
    if not isinstance(policy, str):
        refuse_object(policy)
    if policy != "auto":
        return parse_policy(policy), AS_TOLD
    best, reason = _best(side, rewards, OfflineSteps(side) if steps is None else steps)
    if not forgets or best.forgets:
        return best, reason
    name, on = "ts" if rewards.family == "bernoulli" else "ts_gaussian", best.on
    return Policy(name, on=on), f"rewards fade, and {best.name} cannot forget: {name} can, on the same arms"


def with_remark(reason: str, remark: str) -> str:
    """Return the reason for a policy, with a remark on how it plays here."""
    return f"{reason}; {remark}" if remark else reason


def _best(side: SideInformation, rewards: RewardModel, steps: OfflineSteps) -> tuple[Policy, str]:
    """Return the applicable policy with the smallest regret in the contests of docs/paper/beyond.md."""
    kind = "complete" if side.is_complete else "partial"
    tail = rewards.tail
    if tail is not None and tail.b == 0.0:  # powers: no sigma bounds them, even where there is a variance
        return Policy("ucb1", on="propagation", tails="heavy"), (
            f"rewards have heavy tails and the side information is {kind}: truncated means on the arms that "
            "propagation leaves are not led astray by a few large rewards"
        )
    if tail is not None and tail.b > 0.0:
        return Policy("ucb1", on="propagation", tails="light"), (
            f"rewards have tails heavier than a Gaussian's and the side information is {kind}: an index for "
            "such tails, on the arms that propagation leaves"
        )
    plain = "ts" if rewards.family == "bernoulli" else "imed"
    if isinstance(side.store, PairStore) and side.n_arms > _MOST_ARMS:
        quick = "paper" if side.ranges is None else "order"
        rule = "the triangle rule takes" if side.ranges is None else "their order takes"
        return Policy(plain, on=quick), (
            f"the side information is {kind} and about {side.n_arms:,} arms: {rule} seconds where "
            "propagation would take many minutes; ask for lsdt_closure if they are worth it"
        )
    if isinstance(side.store, PairStore) and side.store.n_similar + side.store.n_dissimilar == 0:
        if side.ranges is not None:
            return _with_ranges_only(side, plain, steps)
        if side.beaten is not None:
            return Policy(plain, on="propagation"), (
                "the side information says which arms were beaten in a log, and nothing of pairs: "
                f"{plain} on the arms that are left"
            )
        return Policy(plain), (
            f"nothing is known of any pair of arms, so that each is learned by itself: {plain} needs neither "
            "horizon nor tuning. Give relations, similar=[...] and dissimilar=[...] with their epsilon, to "
            "learn of several arms from one reward"
        )
    if not side.has_epsilon:
        return _without_epsilon(side, rewards)
    if not side.is_complete and _contradicts_itself(side, steps):
        if side.epsilon is None:
            return _despite_contradiction(plain)
        return Policy("lsdt_watchful"), (
            f"the side information is {kind} and contradicts itself, so that some relation is wrong: "
            "LSDT-watchful believes relations as far as rewards and other relations allow"
        )
    found = steps.of("propagation")
    n_left = 0 if found is None else len(found.arms)
    if n_left > _MOST_CANDIDATES:
        return Policy(plain, on="propagation"), (
            f"the side information is {kind} and leaves {n_left:,} arms: to pool the rewards of so "
            f"many in every round, as LSDT-closure does for up to {_MOST_CANDIDATES:,}, would take too long"
        )
    if n_left > MOST_DRAWN:
        return Policy("lsdt_closure"), (
            f"the side information is {kind} and says how far apart means are, and leaves {n_left:,} arms, "
            "too many to draw means for: LSDT-closure pools the rewards of all arms through everything that "
            "the relations imply, and needs neither horizon nor tuning"
        )
    return Policy("lsdt_posterior"), (
        f"the side information is {kind} and says how far apart means are: LSDT-posterior draws means from "
        "all that the relations allow, weighs them by the rewards, and plays what tells most about the best "
        "arm for what it loses; it had the least regret in most contests, and needs neither horizon nor "
        "tuning"
    )


def _with_ranges_only(side: SideInformation, plain: str, steps: OfflineSteps) -> tuple[Policy, str]:
    """Return the policy with the smallest regret on ranges in the report's part beyond-pairs-features."""
    assert side.ranges is not None
    if _contradicts_itself(side, steps):
        return _despite_contradiction(plain)
    found = steps.of("propagation")
    assert found is not None
    among = side.ranges.among(found.arms, side.n_arms)
    is_pooled = among is not None and bool(_bounded(among).any())
    if is_pooled and len(found.arms) <= MOST_DRAWN:
        return Policy("lsdt_posterior"), (
            "the side information says in which range means differ: LSDT-posterior draws means from all "
            "that the ranges allow, weighs them by the rewards, and plays what tells most about the best "
            f"arm for what it loses; on ranges it had less regret than {plain} on the same arms"
        )
    if is_pooled and len(found.arms) <= _MOST_CANDIDATES:
        return Policy("lsdt_closure"), (
            "the side information says in which range means differ, and leaves "
            f"{len(found.arms):,} arms, too many to draw means for: LSDT-closure pools the rewards of "
            f"all arms through the ranges; with 1,500 products it had half of the regret of {plain}"
        )
    kind = "complete" if side.is_complete else "partial"
    return Policy(plain, on="propagation"), (
        f"the side information is {kind} and holds better pairs or ranges only: {plain} on the arms that "
        "they leave"
    )


def _despite_contradiction(plain: str) -> tuple[Policy, str]:
    """Return the policy for contradictions that `lsdt_watchful` cannot weigh: it needs one epsilon."""
    return Policy(plain, on="propagation"), (
        "the side information contradicts itself, so that some relation is wrong, and has no single epsilon "
        f"by which LSDT-watchful could doubt relations: {plain} on the arms that remain if few are wrong. "
        "lsdt.candidate_set(side).conflict names relations to correct"
    )


def _bounded(ranges: PairRanges) -> NDArray[np.bool_]:
    """Return which ranges have two ends, so that a reward of one arm says something about the other."""
    return np.isfinite(ranges.low) & np.isfinite(ranges.high)


def _contradicts_itself(side: SideInformation, steps: OfflineSteps) -> bool:
    """Say whether propagation finds a contradiction; information revealed from true means holds none."""
    if isinstance(side.store, WindowStore) and side.store.is_true:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # the reason says it
        found = steps.of("propagation")
    return found is not None and found.conflict is not None


def _without_epsilon(side: SideInformation, rewards: RewardModel) -> tuple[Policy, str]:
    if side.is_complete and side.ranges is None:
        return Policy("lsdt_csi", index="kl_ucb"), (
            "the side information is complete and its epsilon is not known: LSDT-CSI learns on the end "
            "classes, and its KL-UCB index is three times better than the paper's in the paper's setting"
        )
    name, kind = (
        "ts" if rewards.family == "bernoulli" else "imed",
        "complete" if side.is_complete else "partial",
    )
    return Policy(name, on="propagation"), (
        f"the side information is {kind} and its epsilon is not known, so rewards cannot be pooled: "
        f"{name} on the arms that propagation leaves needs neither horizon nor tuning. Give epsilon, the "
        "difference of means from which on arms are dissimilar, to pool them"
    )
