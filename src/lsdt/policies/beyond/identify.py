"""Identify: find the best arm with a guarantee, in few tries; play what tells the leader from its rivals.

f_i is the evidence against rival i being the best by more than the tolerance (`mixture_evidence`). The
strongest rival is the one with the least f_i; the arm played is the one whose reward says most about it, or
one that was hardly played (`information`). Once every f_i has reached log(1 / delta), the leader is within
the tolerance of the best arm but for a probability of delta, as `Agent.stopping` says. The policy itself
never stops, and does not mind regret.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import FAMILIES
from lsdt.policies.parts.evidence_tangents import (
    begin_leader,
    find_leader,
    lead_of,
    learn_rewards,
    put_back,
    tangent_fields,
)
from lsdt.policies.parts.gap_rows import ROW_PLACES, GapRows
from lsdt.policies.parts.information import arm_to_play
from lsdt.policies.parts.mixture_evidence import NOBODY, evidence_fields, least_evidence
from lsdt.policies.parts.tallies import Tallies, new_tallies
from lsdt.policies.specification import DIVERGENCE, SIGMA, Number, Specification
from lsdt.policies.tolerance import sized_bounds, tolerance_of, unknown_gaps

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.candidates import MutualBounds
    from lsdt.kernel import Allowed, Array, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


class IdentifyState(NamedTuple):
    """``evidence`` is the least f_i as the last round found it; see the parts for the other fields."""

    family: Whole
    variance: Real
    tolerance: Real
    odds: Real
    silence: Real
    total: Wholes
    tallies: Tallies
    pending: Wholes
    tops: Reals
    base: Reals
    top_base: Reals
    lowest: Reals
    lowest_sum: Reals
    point: Reals
    value: Reals
    slope: Reals
    cheapest: Reals
    least: Reals
    known: Wholes
    bound: Reals
    settled: Wholes
    leader: Wholes
    stands: Wholes
    evidence: Reals
    worth: Reals
    low: Reals
    high: Reals
    near_low: Reals
    near_high: Reals
    rows: GapRows


def first_state(bounds: MutualBounds, rewards: str, sigma: float, tolerance: float) -> IdentifyState:
    """Return the state for arms with these bounds on gaps, nothing played yet."""
    n_arms, family = len(bounds.indptr) - 1, FAMILIES[rewards]
    none = np.zeros(n_arms)
    return IdentifyState(
        family=family,
        variance=sigma**2,
        tolerance=tolerance,
        tallies=new_tallies(n_arms),
        worth=none,
        low=none,
        high=none,
        near_low=none,
        near_high=none,
        **tangent_fields(n_arms),
        **evidence_fields(bounds, family),
    )


def prepare(situation: Situation, parameters: SimpleNamespace) -> IdentifyState:
    """Start with nothing played; relations that contradict one another bound no gaps."""
    whole = situation.side if situation.offline is None else situation.offline.side
    tolerance = tolerance_of(whole, parameters.tolerance)
    if situation.offline is not None and situation.offline.conflict is not None:
        bounds = unknown_gaps(situation.n_arms)
    else:
        bounds = sized_bounds(whole, situation.mutual_bounds)
    return first_state(bounds, parameters.divergence, parameters.sigma, tolerance)


def select(state: IdentifyState, allowed: Allowed, stream: Array) -> int:
    """Play the arm whose reward tells most about the strongest rival of the leader, or one hardly played."""
    before = lead_of(state)
    arm = arm_to_play(state, allowed)
    put_back(state, before)
    return arm


def asked(state: IdentifyState, arm: int, allowed: Allowed, stream: Array) -> None:
    """Let a rival take the lead if there is less evidence against it."""
    if state.stands[0] == 0:
        find_leader(state)


def update(state: IdentifyState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and update the evidence that it changes."""
    learn_rewards(state, arm, 1, reward)


def score(state: IdentifyState, arm: int) -> float:
    """Return the evidence against an arm being the best by more than the tolerance over the leader."""
    begin_leader(state)
    leader = state.leader[0]
    if arm == leader:
        return least_evidence(state, arm, NOBODY, 0.0, math.nan)[1]
    return least_evidence(state, arm, leader, state.tolerance, math.nan)[1]


SPECIFICATION = Specification(
    name="identify",
    title="Identify",
    rule="the arm whose reward tells most, by KL, about the rival i with the least f_i, f_i(q) the sum over "
    "j of log(1 - c + c M_j), c = min(1/2, 4 / K), M_j the mixture martingale of arm j at its "
    "mean clipped to [q - upper_ij, q - lower_ij], gaps mu_i - mu_j bounded by propagation; "
    "first any arm with fewer than sqrt(t / K) - 12 plays",
    reference="this library; mixtures are of Robbins (1970), playing by what tells most of Chernoff (1959), "
    "forced exploration of Garivier and Kaufmann (2016)",
    cost="O(K) changed terms, O(row) for the rivals solved for, mostly one or two",
    state=IdentifyState,
    prepare=prepare,
    select=select,
    update=update,
    asked=asked,
    parameters=(
        Number(
            "tolerance",
            None,
            "how far below the best arm the one found may lie; by default epsilon",
            at_least=0.0,
        ),
        DIVERGENCE,
        SIGMA,
    ),
    offline="propagation",
    score=score,
    score_name="evidence against being the best",
    minimises_regret=False,
    places={"leader": "tallies.counts", **ROW_PLACES},
)
