"""LSDT-PSI, step 2: epochs of exploration in proportion to z, elimination on pooled means, then UCB.

**Heavy tails.** The same epochs, with truncated means of pools, and of arms in the last phase. The bounds of
a pool fail with probability 1 / (T Delta_m^2) as in the paper. So the estimator of `truncation` is taken at
the level L_m = log(T Delta_m^2): the s-th reward of a pool is left out beyond (bound s / L_m)^(1/order), and
the radius is width bound^(1/order) (L_m / n)^(1 - 1/order). The levels of all epochs are known before the
first round and fall from one to the next, so that rewards left out at first may count later. A pool keeps one
sum for every epoch: of the rewards that count from that epoch on. No level is rounded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import compiled, inlined, ratio, safe_log, safe_pow, safe_sqrt
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
from lsdt.policies.parts.light_tails import NOT_HEAVY, SIGMA, TAILS, B
from lsdt.policies.parts.tallies import Tallies, add_reward, new_tallies
from lsdt.policies.parts.truncation import (
    HEAVY_TAILS,
    RUNGS,
    TRUNCATION_PLACES,
    Truncation,
    learn_truncated,
    new_truncation,
    steepness,
    truncated_mean,
)
from lsdt.policies.specification import Number, Specification
from lsdt.theory import solve_domination

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


class LsdtPsiState(NamedTuple):
    """``alive`` is the paper's B_m; ``target`` is how many plays an arm needs by the epoch's end.

    ``isq`` is one over the root of the count, for heavy tails the width of `truncation`. With these the pool
    of an arm has ``pool_counts`` rewards, and in ``pool_kept`` a sum for every epoch.
    """

    is_heavy: Whole
    beta: Real
    lambda_: Real
    alpha: Real
    b: Real
    epsilon: Real
    horizon: Real
    last_epoch: Whole
    z: Reals
    epoch: Wholes
    n_alive: Wholes
    cursor: Wholes
    total: Wholes
    alive: Wholes
    gone_at: Wholes
    target: Wholes
    tallies: Tallies
    isq: Reals
    truncation: Truncation
    pool_counts: Wholes
    pool_kept: Reals
    indptr: FixedWholes
    indices: FixedWholes


def narrow_from(epsilon: float, lambda_: float, beta: float, b: float = 0.0) -> float:
    """Return the m from which on every radius is at most epsilon / 8.

    A pool has lambda L 4^m plays or more, L = log(T 4^-m). The first term is the paper's, for general beta;
    the second is that of light tails.
    """
    by_root = math.log2(8.0 * math.sqrt(beta / lambda_) / epsilon)
    return max(by_root, 0.5 * math.log2(16.0 * b / (lambda_ * epsilon))) if b > 0.0 else by_root


def narrow_truncated_from(epsilon: float, lambda_: float, order: float, bound: float, width: float) -> float:
    """Return the m from which on every radius of truncated means is at most epsilon / 8.

    (L / n)^(1 - 1/order) is at most (4^-m / lambda)^(1 - 1/order).
    """
    by_root = math.log2(8.0 * width / epsilon) + math.log2(bound) / order
    return 0.5 * (by_root * order / (order - 1.0) - math.log2(lambda_))


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtPsiState:
    """Solve P2 on the candidates."""
    none, zero, n_arms = np.zeros(situation.n_arms), np.zeros(1), situation.n_arms
    epsilon, horizon = situation.epsilon, situation.horizon
    assert epsilon is not None
    assert horizon is not None
    is_heavy, lambda_ = parameters.tails == "heavy", parameters.lambda_
    if is_heavy:
        given = parameters.order, parameters.bound, parameters.width
        last = last_epoch(horizon, narrow_truncated_from(epsilon, lambda_, *given))
    else:
        last = last_epoch(horizon, narrow_from(epsilon, lambda_, parameters.beta, parameters.b))
    kept, pools, pool_kept = (n_arms * RUNGS, n_arms, n_arms * (last + 1)) if is_heavy else (0, 0, 0)
    return LsdtPsiState(
        is_heavy=is_heavy,
        beta=parameters.beta or 0.0,
        lambda_=lambda_,
        alpha=8.0 * (parameters.sigma or 0.0) ** 2,
        b=parameters.b or 0.0,
        epsilon=epsilon,
        horizon=float(horizon),
        last_epoch=last,
        z=solve_domination(situation.similar).z,
        epoch=np.array([-1]),  # the end of no epoch: the first ask begins the first
        n_alive=np.array([n_arms]),
        cursor=zero,
        total=zero,
        alive=np.ones(n_arms),
        gone_at=none,
        target=none,
        tallies=new_tallies(n_arms),
        isq=none,
        truncation=new_truncation(parameters, np.zeros(kept)),
        pool_counts=np.zeros(pools),
        pool_kept=np.zeros(pool_kept),
        indptr=situation.similar.indptr,
        indices=situation.similar.indices,
    )


@inlined
def bound_pools(state: LsdtPsiState, epoch: Epoch, pooled: Array, radius: Array) -> None:
    """Find the mean over every arm and its neighbours, and its radius; equation (16)."""
    level = log_term(state.horizon, epoch.number[0])
    for arm in range(len(state.z)):
        if epoch.alive[arm] == 0:
            continue
        count, total = state.tallies.counts[arm], state.tallies.sums[arm]
        for place in range(state.indptr[arm], state.indptr[arm + 1]):
            count += state.tallies.counts[state.indices[place]]
            total += state.tallies.sums[state.indices[place]]
        pooled[arm] = ratio(total, count)
        radius[arm] = max(safe_sqrt(ratio(state.beta * level, count)), ratio(2.0 * state.b * level, count))


@inlined
def bound_truncated_pools(state: LsdtPsiState, epoch: Epoch, pooled: Array, radius: Array) -> None:
    """Find the truncated mean over every arm and its neighbours at the level of the epoch, and its radius."""
    order = state.truncation.order
    steep = state.truncation.width * safe_pow(state.truncation.bound, 1.0 / order)
    level, epochs = log_term(state.horizon, epoch.number[0]), state.last_epoch + 1
    for arm in range(len(state.z)):
        if epoch.alive[arm] == 1:
            total, count = 0.0, state.pool_counts[arm]
            for number in range(epoch.number[0] + 1):
                total += state.pool_kept[arm * epochs + number]
            pooled[arm] = ratio(total, count)
            radius[arm] = steep * safe_pow(ratio(level, count), 1.0 - 1.0 / order)


@inlined
def end_epochs(state: LsdtPsiState, epoch: Epoch, allowed: Allowed) -> int:
    """End the epochs that are over, and begin the next; return what `whose_turn` says then."""
    turn = whose_turn(state, epoch, allowed)
    while turn == OVER:
        if epoch.number[0] >= 0:
            pooled, radius = np.empty(len(state.z)), np.empty(len(state.z))
            if state.is_heavy:
                bound_truncated_pools(state, epoch, pooled, radius)
            else:
                bound_pools(state, epoch, pooled, radius)
            eliminate(state, epoch, pooled, radius)
        begin_epoch(state, epoch)
        turn = whose_turn(state, epoch, allowed)
    return turn


@inlined
def largest_index(state: LsdtPsiState, epoch: Epoch, allowed: Allowed) -> int:
    """Return the choice of UCB among the arms that are alive."""
    level = safe_log(max(float(state.total[0]), 1.0))
    x, y = safe_sqrt(state.alpha * level), 8.0 * state.b * level
    if state.is_heavy:
        x = steepness(state.truncation)
    return best_alive(state, epoch.alive, state.isq, x, y, allowed)


def select(state: LsdtPsiState, allowed: Allowed, stream: Array) -> int:
    """Play an epoch's arms in turn; eliminate at its end; after the last epoch, or with one arm left, UCB."""
    epoch = epoch_of(state)
    turn = whose_turn(state, epoch, allowed)
    if turn == OVER:  # rarely: a copy in every round would cost more than the rest
        ended = copied(epoch)
        turn = end_epochs(state, ended, allowed)
        return turn if turn >= 0 else largest_index(state, ended, allowed)
    return turn if turn >= 0 else largest_index(state, epoch, allowed)


def asked(state: LsdtPsiState, arm: int, allowed: Allowed, stream: Array) -> None:
    """End the epochs that are over, and pass the turn on."""
    turn = end_epochs(state, epoch_of(state), allowed)
    if turn >= 0:
        state.cursor[0] = (turn + 1) % len(state.z)


@inlined
def add_to_pool(state: LsdtPsiState, arm: int, reward: float, share: float) -> None:
    """Count a reward in the pool of an arm; `share` is ``|reward|^order / bound``.

    It is put down at the first epoch whose threshold keeps it.
    """
    state.pool_counts[arm] += 1
    epochs, epoch = state.last_epoch + 1, 0
    while epoch < epochs and share * log_term(state.horizon, epoch) > state.pool_counts[arm]:
        epoch += 1
    if epoch < epochs:
        state.pool_kept[arm * epochs + epoch] += reward


@compiled
def learn_heavy(state: LsdtPsiState, arm: int, reward: float) -> None:
    """Count a reward for the truncated means of an arm and, while there are epochs, of its pools."""
    truncation = state.truncation
    learn_truncated(truncation, state.tallies, state.isq, state.total[0], arm, reward)
    if state.epoch[0] <= state.last_epoch:
        share = safe_pow(abs(reward), truncation.order) / truncation.bound
        add_to_pool(state, arm, reward, share)
        for place in range(state.indptr[arm], state.indptr[arm + 1]):
            add_to_pool(state, state.indices[place], reward, share)


def update(state: LsdtPsiState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    state.total[0] += 1
    if state.is_heavy:
        learn_heavy(state, arm, reward)
        return
    add_reward(state.tallies, arm, reward)
    state.isq[arm] = 1.0 / safe_sqrt(state.tallies.counts[arm])


def score(state: LsdtPsiState, arm: int) -> float:
    """Return the mean over an arm and its neighbours; for heavy tails the truncated mean of the arm."""
    if state.is_heavy:
        return truncated_mean(state.tallies, arm)
    count, total = state.tallies.counts[arm], state.tallies.sums[arm]
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        count += state.tallies.counts[state.indices[place]]
        total += state.tallies.sums[state.indices[place]]
    return total / count if count > 0 else math.nan


SPECIFICATION = Specification(
    name="lsdt_psi",
    title="LSDT-PSI",
    rule="epoch m: play arm i until ceil(lambda z_i L 4^m) times, L = log(T 4^-m), then drop arms whose "
    "pooled upper bound + epsilon is at most the best pooled lower bound; at the end argmax of mean + "
    "sqrt(8 sigma^2 log t / n); with b > 0 the radius sqrt(beta L / n) of a pool is at least 2 b L / n, and "
    "the width of the index at least 8 b log t / n; for heavy tails means of pools leave the s-th reward out "
    "beyond (bound s / L)^(1/order), the radius is width bound^(1/order) (L / n)^(1 - 1/order), and at the "
    "end the index is that of ucb1",
    reference="the paper, Section 4.2, equation (16) and programme P2; general beta, light and heavy tails: "
    "Section 5.2, with Wainwright (2019), Proposition 2.9, and Bubeck, Cesa-Bianchi and Lugosi (2013)",
    cost="O(|B0|), at the end of an epoch O(pairs); for heavy tails in epochs O(similar arms) more",
    state=LsdtPsiState,
    prepare=prepare,
    select=select,
    update=update,
    asked=asked,
    parameters=(
        LAMBDA,
        TAILS,
        SIGMA,
        B,
        Number(
            "beta",
            None,
            "radius of the pooled bounds; 2 sigma^2, and no less for the proof",
            lambda _, values: 2.0 * values["sigma"] ** 2,
            above=0.0,
            goes_with=NOT_HEAVY,
        ),
        *HEAVY_TAILS,
    ),
    needs=frozenset({"epsilon", "horizon"}),
    offline="paper",
    score=score,
    score_name="pooled mean",
    eliminates=True,
    why_no_prior=WHY_NO_PRIOR,
    places=TRUNCATION_PLACES,
)
