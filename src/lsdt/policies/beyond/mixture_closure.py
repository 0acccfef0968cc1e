"""Mixture closure: the closure index with evidence for which a bound on regret is proved.

For every candidate i propagation bounds how far it lies above each other arm if it is the best. f_i(q) is the
least that log E can be if i is the best with mean q, where E is a product over all arms of mixtures of
likelihood ratios, a nonnegative supermartingale that starts at 1 (`mixture_evidence`, and
docs/theory/stopping.md). The index of i is the largest q with f_i(q) <= log t + c log log t; an arm for which
every q has more evidence against it is refuted for now.

So the best arm is refuted after t rewards with a probability of at most 1 / (t (log t)^c), whatever was
played and however many arms there are, and the regret is bounded: docs/theory/regret-of-closure.md.
`lsdt_closure` has no such proof and explores less.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import FAMILIES, inlined, safe_log
from lsdt.policies.parts.closure_tangents import index_bounds
from lsdt.policies.parts.cost_order import TANGENTS
from lsdt.policies.parts.evidence_tangents import learn_all
from lsdt.policies.parts.gap_rows import ROW_PLACES, GapRows, fill_plays
from lsdt.policies.parts.mixture_evidence import NOBODY, evidence_fields, least_evidence
from lsdt.policies.parts.mixture_index import largest_mean, learn_reward, solve_index
from lsdt.policies.parts.tallies import Tallies, fill_tallies, is_allowed, new_tallies
from lsdt.policies.specification import DIVERGENCE, SIGMA, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

# The share of each factor is this over the number of candidates: one arm refutes another at least cost.
SPEAKERS = 1.0


class MixtureClosureState(NamedTuple):
    """``largest`` is an arm's index where ``solved`` is the level of the round; see the parts for others."""

    family: Whole
    variance: Real
    c: Real
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
    bound: Reals
    largest: Reals
    solved: Reals
    rows: GapRows


def prepare(situation: Situation, parameters: SimpleNamespace) -> MixtureClosureState:
    """Start with nothing played."""
    family, none = FAMILIES[parameters.divergence], np.zeros(situation.n_arms)
    return MixtureClosureState(
        family=family,
        variance=parameters.sigma**2,
        c=parameters.c,
        tallies=new_tallies(situation.n_arms),
        point=np.full(TANGENTS * situation.n_arms, math.nan),
        value=np.zeros(TANGENTS * situation.n_arms),
        slope=np.zeros(TANGENTS * situation.n_arms),
        cheapest=np.full(situation.n_arms, math.nan),
        bound=none,
        largest=none,
        solved=none - 1.0,
        **evidence_fields(situation.mutual_bounds, family, SPEAKERS),
    )


@inlined
def level_now(state: MixtureClosureState) -> float:
    """Return how much evidence there may be against the index of an arm: log t + c log log t."""
    level = safe_log(max(float(state.total[0]), 1.0))
    return level + state.c * safe_log(max(level, 1.0))


@inlined
def least_refuted(state: MixtureClosureState, allowed: Allowed) -> int:
    """Return the allowed arm with the least evidence, for when all that may be played are refuted."""
    best, lowest = -1, math.inf
    for arm in range(len(state.bound)):
        if is_allowed(allowed, arm):
            value = least_evidence(state, arm, NOBODY, 0.0, math.nan)[1]
            if best < 0 or value < lowest:
                best, lowest = arm, value
    return best


def select(state: MixtureClosureState, allowed: Allowed, stream: Array) -> int:
    """Play the largest index, solving only for arms whose index may be."""
    level, bound, solved = level_now(state), state.bound, state.solved
    index_bounds(state.family, state.rows.floor, state.point, state.value, state.slope, level, bound)
    for arm in range(len(bound)):
        if not is_allowed(allowed, arm):
            bound[arm] = -math.inf
        elif solved[arm] == level:
            bound[arm] = state.largest[arm]
    while True:
        best, highest = -1, -math.inf
        for arm in range(len(bound)):
            if bound[arm] > highest:
                best, highest = arm, bound[arm]
        if best < 0:
            return least_refuted(state, allowed)
        if solved[best] == level:
            return best
        solve_index(state, best, level)


def update(state: MixtureClosureState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward and update the evidence that it changes."""
    learn_reward(state, arm, reward)


def fill(state: MixtureClosureState, counts: Array, sums: Array) -> None:
    """Start with rewards; no evidence is known yet."""
    fill_tallies(state.tallies, counts, sums)
    learn_all(state)
    fill_plays(state.rows, state.tallies.counts)


def score(state: MixtureClosureState, arm: int) -> float:
    """Return the index of an arm; minus infinity where the rewards refute that it is the best."""
    return largest_mean(state, arm, level_now(state), math.inf)[0]


SPECIFICATION = Specification(
    name="mixture_closure",
    title="Mixture closure",
    rule="argmax of the largest q with f_i(q) <= log t + c log log t, f_i(q) the sum over j of "
    "log(1 - s + s M_j), s = min(1/2, 1/K), M_j the mixture martingale of arm j at its mean clipped to "
    "[q - upper_ij, q - lower_ij], gaps mu_i - mu_j bounded by propagation",
    reference="this library, with a proved bound on regret; mixtures are of Robbins (1970)",
    cost="O(K) bounds and changed terms, O(row) terms for the arms solved for, mostly one or two",
    state=MixtureClosureState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Number(
            "c",
            1.0,
            "weight of log log t; the bound holds for every c, its constant of log T for c > 0",
            at_least=0.0,
        ),
        DIVERGENCE,
        SIGMA,
    ),
    needs=frozenset({"distances"}),
    offline="propagation",
    score=score,
    score_name="index",
    fill=fill,
    places=ROW_PLACES,
)
