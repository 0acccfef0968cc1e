"""LSDT-PSI, step 2: epochs of exploration in proportion to z, elimination on pooled means, then UCB."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel.jit import inlined
from lsdt.policies.parts.tallies import add_reward, any_alive, is_allowed
from lsdt.policies.specification import SIGMA, Number, Specification
from lsdt.theory.domination.fractional import solve_domination

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel.jit import Array
    from lsdt.kernel.state import Allowed, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation


class LsdtPsiState(NamedTuple):
    """``alive`` is the paper's B_m; ``target`` is how often an arm is to be played by the epoch's end."""

    beta: Real
    lambda_: Real
    alpha: Real
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
    counts: Wholes
    sums: Reals
    means: Reals
    isq: Reals
    indptr: FixedWholes
    indices: FixedWholes


def last_epoch(horizon: int, epsilon: float, lambda_: float, beta: float) -> int:
    """Return m_f, the number of the last epoch; -1 when there is none."""
    by_epsilon = math.ceil(math.log2(8.0 * math.sqrt(beta / lambda_) / epsilon))
    by_horizon = math.floor(0.5 * math.log2(horizon / math.e))
    return max(min(by_epsilon, by_horizon), -1)


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtPsiState:
    """Solve P2 on the candidates."""
    none, zero, n_arms = np.zeros(situation.n_arms), np.zeros(1), situation.n_arms
    epsilon, horizon = situation.epsilon, situation.horizon
    assert epsilon is not None
    assert horizon is not None
    return LsdtPsiState(
        beta=parameters.beta,
        lambda_=parameters.lambda_,
        alpha=8.0 * parameters.sigma**2,
        epsilon=epsilon,
        horizon=float(horizon),
        last_epoch=last_epoch(horizon, epsilon, parameters.lambda_, parameters.beta),
        z=solve_domination(situation.similar).z,
        epoch=np.array([-1]),  # the end of no epoch: the first select begins the first
        n_alive=np.array([n_arms]),
        cursor=zero,
        total=zero,
        alive=np.ones(n_arms),
        gone_at=none,
        target=none,
        counts=none,
        sums=none,
        means=none,
        isq=none,
        indptr=situation.similar.indptr,
        indices=situation.similar.indices,
    )


@inlined
def log_term(state: LsdtPsiState) -> float:
    """Return ``log(T Delta_m^2)`` of the current epoch, ``Delta_m = 2^-m``."""
    return math.log(state.horizon) - 2.0 * state.epoch[0] * math.log(2.0)


@inlined
def begin_epoch(state: LsdtPsiState) -> None:
    """Set the targets: plays for arms that are alive or have a neighbour that is (the paper's S_m)."""
    if state.epoch[0] > state.last_epoch:
        return
    plays = state.lambda_ * log_term(state) * 4.0 ** state.epoch[0]
    for arm in range(len(state.z)):
        wanted = state.alive[arm] == 1
        for place in range(state.indptr[arm], state.indptr[arm + 1]):
            wanted = wanted or state.alive[state.indices[place]] == 1
        state.target[arm] = math.ceil(plays * state.z[arm]) if wanted else 0


@inlined
def next_to_play(state: LsdtPsiState, allowed: Allowed) -> int:
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
def pooled_bound(state: LsdtPsiState, arm: int, side: float) -> float:
    """Return the mean over an arm and its neighbours plus or minus its radius; equation (16)."""
    count, total = state.counts[arm], state.sums[arm]
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        count += state.counts[state.indices[place]]
        total += state.sums[state.indices[place]]
    return total / count + side * math.sqrt(state.beta * log_term(state) / count)


@inlined
def eliminate(state: LsdtPsiState) -> None:
    """Drop the arms whose pooled upper bound, with epsilon on top, is not above the best lower bound."""
    best = -math.inf
    for arm in range(len(state.z)):
        if state.alive[arm] == 1:
            best = max(best, pooled_bound(state, arm, -1.0))
    for arm in range(len(state.z)):
        if state.alive[arm] == 1 and pooled_bound(state, arm, 1.0) + state.epsilon <= best:
            state.alive[arm] = 0
            state.gone_at[arm] = state.total[0]
            state.n_alive[0] -= 1


@inlined
def best_alive(state: LsdtPsiState, allowed: Allowed) -> int:
    """Return the arm that is alive with the largest index; infinite for an arm never played."""
    best, highest = -1, -math.inf
    none_left = not any_alive(state.alive, allowed)
    width = math.sqrt(state.alpha * math.log(max(float(state.total[0]), 1.0)))
    for arm in range(len(state.z)):
        if (state.alive[arm] == 1 or none_left) and is_allowed(allowed, arm):
            value = math.inf if state.counts[arm] == 0 else state.means[arm] + width * state.isq[arm]
            if value > highest:
                best, highest = arm, value
    return best


def select(state: LsdtPsiState, allowed: Allowed, stream: Array) -> int:
    """Play an epoch's arms in turn; eliminate at its end; after the last epoch, or with one arm left, UCB."""
    while state.epoch[0] <= state.last_epoch and state.n_alive[0] > 1:
        arm = next_to_play(state, allowed)
        if arm >= 0:
            return arm
        if arm == -2:  # the epoch waits for arms that may not be played now
            break
        if state.epoch[0] >= 0:
            eliminate(state)
        state.epoch[0] += 1
        begin_epoch(state)
    return best_alive(state, allowed)


def update(state: LsdtPsiState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    state.total[0] += 1
    add_reward(state.counts, state.sums, state.means, arm, reward)
    state.isq[arm] = 1.0 / math.sqrt(state.counts[arm])


def score(state: LsdtPsiState, arm: int) -> float:
    """Return the mean over an arm and its neighbours."""
    count, total = state.counts[arm], state.sums[arm]
    for place in range(state.indptr[arm], state.indptr[arm + 1]):
        count += state.counts[state.indices[place]]
        total += state.sums[state.indices[place]]
    return total / count if count > 0 else math.nan


SPECIFICATION = Specification(
    name="lsdt_psi",
    title="LSDT-PSI",
    rule="epoch m: play arm i until ceil(lambda z_i log(T 4^-m) 4^m) times, then drop arms whose pooled "
    "upper bound + epsilon is at most the best pooled lower bound; at the end argmax of "
    "mean + sqrt(8 sigma^2 log t / n)",
    reference="the paper, Section 4.2, equation (16) and programme P2; general beta: Section 5.2",
    cost="O(|B0|), at the end of an epoch O(pairs)",
    state=LsdtPsiState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Number("lambda_", 0.125, "the paper's lambda: plays per epoch", above=0.0),
        Number(
            "beta",
            None,
            "radius of the pooled bounds; 2 sigma^2, and no less for the proof",
            lambda sigma: 2.0 * sigma**2,
            above=0.0,
        ),
        SIGMA,
    ),
    needs=frozenset({"epsilon", "horizon"}),
    offline="paper",
    score=score,
    score_name="pooled mean",
    why_no_prior="its epochs count plays of their own, and drop arms for good by them",
)
