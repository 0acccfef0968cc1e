"""The epochs of LSDT-PSI: how often to play each arm, which arms go at the end, the index of the last phase.

Each policy decides what is pooled, and how wide the bounds are. These functions take any state with the
fields ``z, lambda_, horizon, epsilon, last_epoch, epoch, n_alive, cursor, total, alive, gone_at, target,
tallies, indptr, indices``. What the end of an epoch changes is a separate argument: an ask ends epochs in
the state itself, `select` in a copy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.kernel import Array, inlined, safe_log, whole_above
from lsdt.policies.parts.tallies import any_alive, is_allowed
from lsdt.policies.specification import Number

if TYPE_CHECKING:
    from lsdt.kernel import Allowed

LAMBDA = Number("lambda_", 0.125, "the paper's lambda: plays per epoch", above=0.0)
WHY_NO_PRIOR = "its epochs count plays of their own, and drop arms for good by them"

_LOG_TWO = math.log(2.0)
_MOST_PLAYS = 2.0**62  # more than any horizon; a target must fit into 64 bits

OVER, NO_TURNS = -1, -2  # instead of an arm: the epoch has to end; arms are not played in turn now


class Epoch(NamedTuple):
    """What the end of an epoch changes; the fields of the state, or copies."""

    number: Array
    n_alive: Array
    alive: Array
    gone_at: Array
    target: Array


@inlined
def epoch_of(state: Any) -> Epoch:
    """Return the epoch of a state; what is written to it is written to the state."""
    return Epoch(state.epoch, state.n_alive, state.alive, state.gone_at, state.target)


@inlined
def copied(epoch: Epoch) -> Epoch:
    """Return a copy of an epoch."""
    return Epoch(
        epoch.number.copy(),
        epoch.n_alive.copy(),
        epoch.alive.copy(),
        epoch.gone_at.copy(),
        epoch.target.copy(),
    )


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
    return safe_log(horizon) - 2.0 * epoch * _LOG_TWO


@inlined
def begin_epoch(state: Any, epoch: Epoch) -> None:
    """Set the targets: plays for arms that are alive or have a neighbour that is (the paper's S_m)."""
    epoch.number[0] += 1
    if epoch.number[0] > state.last_epoch:
        return
    plays = state.lambda_ * log_term(state.horizon, epoch.number[0]) * float(1 << (2 * epoch.number[0]))
    for arm in range(len(state.z)):
        wanted = epoch.alive[arm] == 1
        for place in range(state.indptr[arm], state.indptr[arm + 1]):
            wanted = wanted or epoch.alive[state.indices[place]] == 1
        epoch.target[arm] = int(min(whole_above(plays * state.z[arm]), _MOST_PLAYS)) if wanted else 0


@inlined
def whose_turn(state: Any, epoch: Epoch, allowed: Allowed) -> int:
    """Return the next arm short of its target, `OVER` if none is short.

    `NO_TURNS` after the last epoch, with one arm left, and while all that are short may not be played.
    """
    if epoch.number[0] > state.last_epoch or epoch.n_alive[0] <= 1:
        return NO_TURNS
    n_arms, answer = len(state.z), OVER
    for step in range(n_arms):
        arm = (state.cursor[0] + step) % n_arms
        if state.tallies.counts[arm] < epoch.target[arm]:
            if is_allowed(allowed, arm):
                return arm
            answer = NO_TURNS
    return answer


@inlined
def eliminate(state: Any, epoch: Epoch, pooled: Array, radius: Array) -> None:
    """Drop the arms whose pooled upper bound plus epsilon is at most the best lower bound."""
    best = -math.inf
    for arm in range(len(state.z)):
        if epoch.alive[arm] == 1:
            best = max(best, pooled[arm] - radius[arm])
    for arm in range(len(state.z)):
        if epoch.alive[arm] == 1 and pooled[arm] + radius[arm] + state.epsilon <= best:
            epoch.alive[arm] = 0
            epoch.gone_at[arm] = state.total[0]
            epoch.n_alive[0] -= 1


@inlined
def best_alive(state: Any, alive: Array, widths: Array, x: float, y: float, allowed: Allowed) -> int:
    """Return the arm that is alive with the largest ``mean + max(x w, y w^2)``, one never played first."""
    best, highest = -1, -math.inf
    none_left = not any_alive(alive, allowed)
    for arm in range(len(state.z)):
        if (alive[arm] == 1 or none_left) and is_allowed(allowed, arm):
            width = widths[arm]
            value = state.tallies.means[arm] + max(x * width, y * width * width)
            if state.tallies.counts[arm] == 0:
                value = math.inf
            if value > highest:
                best, highest = arm, value
    return best
