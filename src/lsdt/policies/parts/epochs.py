"""The epochs of LSDT-PSI: whom to play how often, who goes at the end, and the index of the last phase.

What is pooled, and how wide its bounds are, is each policy's own. These functions take any state with the
fields ``z, lambda_, horizon, epsilon, last_epoch, epoch, n_alive, cursor, total, alive, gone_at, target,
counts, means, indptr, indices``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lsdt.kernel.jit import Array, inlined
from lsdt.policies.parts.tallies import any_alive, is_allowed
from lsdt.policies.specification import Number

if TYPE_CHECKING:
    from lsdt.kernel.state import Allowed

LAMBDA = Number("lambda_", 0.125, "the paper's lambda: plays per epoch", above=0.0)
WHY_NO_PRIOR = "its epochs count plays of their own, and drop arms for good by them"


def last_epoch(horizon: int, narrow: float) -> int:
    """Return m_f, the number of the last epoch; -1 when there is none.

    It is the first from `narrow` on, or an earlier one: ``log(T Delta_m^2)`` is at least 1 in every epoch. In
    the paper the bounds are narrow when their radius is at most epsilon / 8.
    """
    by_horizon = math.floor(0.5 * math.log2(horizon / math.e))
    return max(by_horizon if narrow > by_horizon else math.ceil(narrow), -1)


@inlined
def log_term(horizon: float, epoch: int) -> float:
    """Return ``log(T Delta_m^2)`` of an epoch, ``Delta_m = 2^-m``."""
    return math.log(horizon) - 2.0 * epoch * math.log(2.0)


@inlined
def begin_epoch(state: Any) -> None:
    """Set the targets: plays for arms that are alive or have a neighbour that is (the paper's S_m)."""
    if state.epoch[0] > state.last_epoch:
        return
    plays = state.lambda_ * log_term(state.horizon, state.epoch[0]) * 4.0 ** state.epoch[0]
    for arm in range(len(state.z)):
        wanted = state.alive[arm] == 1
        for place in range(state.indptr[arm], state.indptr[arm + 1]):
            wanted = wanted or state.alive[state.indices[place]] == 1
        state.target[arm] = math.ceil(plays * state.z[arm]) if wanted else 0


@inlined
def next_to_play(state: Any, allowed: Allowed) -> int:
    """Return the next arm short of its target, in turn; -1 if there is none, -2 if none is allowed."""
    n_arms, answer = len(state.z), -1
    for step in range(n_arms):
        arm = (state.cursor[0] + step) % n_arms
        if state.counts[arm] < state.target[arm]:
            if is_allowed(allowed, arm):
                state.cursor[0] = (arm + 1) % n_arms
                return arm
            answer = -2
    return answer


@inlined
def eliminate(state: Any, pooled: Array, radius: Array) -> None:
    """Drop the arms whose pooled upper bound, with epsilon on top, is not above the best lower bound."""
    best = -math.inf
    for arm in range(len(state.z)):
        if state.alive[arm] == 1:
            best = max(best, pooled[arm] - radius[arm])
    for arm in range(len(state.z)):
        if state.alive[arm] == 1 and pooled[arm] + radius[arm] + state.epsilon <= best:
            state.alive[arm] = 0
            state.gone_at[arm] = state.total[0]
            state.n_alive[0] -= 1


@inlined
def best_alive(state: Any, widths: Array, x: float, y: float, allowed: Allowed) -> int:
    """Return the arm that is alive with the largest ``mean + max(x w, y w^2)``, one never played first."""
    best, highest = -1, -math.inf
    none_left = not any_alive(state.alive, allowed)
    for arm in range(len(state.z)):
        if (state.alive[arm] == 1 or none_left) and is_allowed(allowed, arm):
            width = widths[arm]
            value = state.means[arm] + max(x * width, y * width * width)
            if state.counts[arm] == 0:
                value = math.inf
            if value > highest:
                best, highest = arm, value
    return best
