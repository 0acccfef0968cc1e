"""LSDT-PSI for heavy tails: the same epochs, with truncated means of pools, and of arms in the last phase.

The bounds of a pool fail with probability 1 / (T Delta_m^2) as in the paper. So the estimator of `truncation`
is taken at the level L_m = log(T Delta_m^2): the s-th reward of a pool is left out beyond
(bound s / L_m)^(1/order), and the radius is width bound^(1/order) (L_m / n)^(1 - 1/order). The levels of all
epochs are known before the first round and fall from one to the next, so that rewards left out at first may
count later. A pool keeps one sum for every epoch: of the rewards that count from that epoch on. No level is
rounded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.jit import inlined
from lsdt.policies.parts.epochs import (
    LAMBDA,
    OVER,
    WHY_NO_PRIOR,
    Epoch,
    begin_epoch,
    best_alive,
    copied,
    eliminate,
    epoch_of,
    last_epoch,
    log_term,
    whose_turn,
)
from lsdt.policies.parts.tallies import Tallies, new_tallies
from lsdt.policies.parts.truncation import (
    BOUND,
    ORDER,
    RUNGS,
    WIDTH,
    add_truncated,
    add_up,
    rung_at,
    steepness,
)
from lsdt.policies.specification import Specification
from lsdt.theory.domination.fractional import solve_domination

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


class LsdtPsiTruncatedState(NamedTuple):
    """The state of LSDT-PSI with truncated means.

    ``kept`` and ``rung`` are those of `truncation`, for arms; ``widths`` is one over ``n^(1 - 1/order)``. The
    pool of an arm has ``pool_counts`` rewards, and in ``pool_kept`` a sum for every epoch.
    """

    order: Real
    bound: Real
    width: Real
    lambda_: Real
    epsilon: Real
    horizon: Real
    last_epoch: Whole
    z: Reals
    epoch: Wholes
    n_alive: Wholes
    cursor: Wholes
    total: Wholes
    rung: Wholes
    alive: Wholes
    gone_at: Wholes
    target: Wholes
    tallies: Tallies
    widths: Reals
    kept: Reals
    pool_counts: Wholes
    pool_kept: Reals
    indptr: FixedWholes
    indices: FixedWholes


def narrow_from(epsilon: float, lambda_: float, order: float, bound: float, width: float) -> float:
    """Return the m from which on every radius is at most epsilon / 8.

    A pool has lambda L 4^m plays or more, L = log(T 4^-m), so that (L / n)^(1 - 1/order) is at most
    (4^-m / lambda)^(1 - 1/order).
    """
    by_root = math.log2(8.0 * width / epsilon) + math.log2(bound) / order
    return 0.5 * (by_root * order / (order - 1.0) - math.log2(lambda_))


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtPsiTruncatedState:
    """Solve P2 on the candidates."""
    none, zero, n_arms = np.zeros(situation.n_arms), np.zeros(1), situation.n_arms
    epsilon, horizon = situation.epsilon, situation.horizon
    assert epsilon is not None
    assert horizon is not None
    given = parameters.order, parameters.bound, parameters.width
    last = last_epoch(horizon, narrow_from(epsilon, parameters.lambda_, *given))
    return LsdtPsiTruncatedState(
        *given,
        lambda_=parameters.lambda_,
        epsilon=epsilon,
        horizon=float(horizon),
        last_epoch=last,
        z=solve_domination(situation.similar).z,
        epoch=np.array([-1]),  # the end of no epoch: the first ask begins the first
        n_alive=np.array([n_arms]),
        cursor=zero,
        total=zero,
        rung=zero,
        alive=np.ones(n_arms),
        gone_at=none,
        target=none,
        tallies=new_tallies(n_arms),
        widths=none,
        kept=np.zeros(n_arms * RUNGS),
        pool_counts=none,
        pool_kept=np.zeros(n_arms * (last + 1)),
        indptr=situation.similar.indptr,
        indices=situation.similar.indices,
    )


@inlined
def bound_pools(state: LsdtPsiTruncatedState, epoch: Epoch, pooled: Array, radius: Array) -> None:
    """Find the truncated mean over every arm and its neighbours at the level of the epoch, and its radius."""
    steep = state.width * math.pow(state.bound, 1.0 / state.order)
    level, epochs = log_term(state.horizon, epoch.number[0]), state.last_epoch + 1
    for arm in range(len(state.z)):
        if epoch.alive[arm] == 1:
            total, count = 0.0, state.pool_counts[arm]
            for number in range(epoch.number[0] + 1):
                total += state.pool_kept[arm * epochs + number]
            pooled[arm] = total / count
            radius[arm] = steep * math.pow(level / count, 1.0 - 1.0 / state.order)


@inlined
def end_epochs(state: LsdtPsiTruncatedState, epoch: Epoch, allowed: Allowed) -> int:
    """End the epochs that are over, and begin the next; return what `whose_turn` says then."""
    turn = whose_turn(state, epoch, allowed)
    while turn == OVER:
        if epoch.number[0] >= 0:
            pooled, radius = np.empty(len(state.z)), np.empty(len(state.z))
            bound_pools(state, epoch, pooled, radius)
            eliminate(state, epoch, pooled, radius)
        begin_epoch(state, epoch)
        turn = whose_turn(state, epoch, allowed)
    return turn


@inlined
def largest_index(state: LsdtPsiTruncatedState, epoch: Epoch, allowed: Allowed) -> int:
    """Return the choice of UCB among the arms that are alive."""
    x = steepness(state.width, state.rung[0], state.order, state.bound)
    return best_alive(state, epoch.alive, state.widths, x, 0.0, allowed)


def select(state: LsdtPsiTruncatedState, allowed: Allowed, stream: Array) -> int:
    """Play an epoch's arms in turn; eliminate at its end; after the last epoch, or with one arm left, UCB."""
    epoch = epoch_of(state)
    turn = whose_turn(state, epoch, allowed)
    if turn == OVER:  # rarely: a copy in every round would cost more than the rest
        ended = copied(epoch)
        turn = end_epochs(state, ended, allowed)
        return turn if turn >= 0 else largest_index(state, ended, allowed)
    return turn if turn >= 0 else largest_index(state, epoch, allowed)


def asked(state: LsdtPsiTruncatedState, arm: int, allowed: Allowed, stream: Array) -> None:
    """End the epochs that are over, and pass the turn on."""
    turn = end_epochs(state, epoch_of(state), allowed)
    if turn >= 0:
        state.cursor[0] = (turn + 1) % len(state.z)


@inlined
def add_to_pool(state: LsdtPsiTruncatedState, arm: int, reward: float, share: float) -> None:
    """Count a reward in the pool of an arm; `share` is ``|reward|^order / bound``.

    It is put down at the first epoch whose threshold keeps it.
    """
    state.pool_counts[arm] += 1
    epochs, epoch = state.last_epoch + 1, 0
    while epoch < epochs and share * log_term(state.horizon, epoch) > state.pool_counts[arm]:
        epoch += 1
    if epoch < epochs:
        state.pool_kept[arm * epochs + epoch] += reward


def update(state: LsdtPsiTruncatedState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward for the arm and, while there are epochs, in the pools it belongs to."""
    state.total[0] += 1
    rung = rung_at(state.rung[0], state.total[0])
    add_truncated(
        state.tallies.counts, state.kept, state.tallies.sums, arm, reward, rung, state.order, state.bound
    )
    state.tallies.means[arm] = state.tallies.sums[arm] / state.tallies.counts[arm]
    state.widths[arm] = math.pow(state.tallies.counts[arm], 1.0 / state.order - 1.0)
    if rung > state.rung[0]:
        state.rung[0] = rung
        add_up(state.kept, state.tallies.counts, state.tallies.sums, state.tallies.means, rung)
    if state.epoch[0] <= state.last_epoch:
        share = math.pow(abs(reward), state.order) / state.bound
        add_to_pool(state, arm, reward, share)
        for place in range(state.indptr[arm], state.indptr[arm + 1]):
            add_to_pool(state, state.indices[place], reward, share)


def score(state: LsdtPsiTruncatedState, arm: int) -> float:
    """Return the truncated mean of an arm."""
    return state.tallies.means[arm] if state.tallies.counts[arm] > 0 else math.nan


SPECIFICATION = Specification(
    name="lsdt_psi_truncated",
    title="LSDT-PSI (truncated means)",
    rule="lsdt_psi with truncated means of pools, the s-th reward left out beyond (bound s / L)^(1/order), "
    "L = log(T 4^-m), and the radius width bound^(1/order) (L / n)^(1 - 1/order); at the end ucb1_truncated",
    reference="the paper, Section 5.2; Bubeck, Cesa-Bianchi and Lugosi (2013)",
    cost="O(|B0|), in epochs O(similar arms) more, at the end of an epoch O(|B0|)",
    state=LsdtPsiTruncatedState,
    prepare=prepare,
    select=select,
    update=update,
    asked=asked,
    parameters=(LAMBDA, ORDER, BOUND, WIDTH),
    needs=frozenset({"epsilon", "horizon"}),
    offline="paper",
    score=score,
    score_name="truncated mean",
    eliminates=True,
    learns_from_sums=False,
    why_no_prior=WHY_NO_PRIOR,
    places={"rung": RUNGS},
)
