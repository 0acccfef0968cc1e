"""OSSB: play every arm as often as the lower bound P1, at the means seen so far, asks for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import inlined, ratio, safe_log
from lsdt.policies.parts.tallies import Tallies, add_reward, argmax, is_allowed, new_tallies
from lsdt.policies.specification import SIGMA, Number, Specification
from lsdt.theory import EndClasses, fill_rates, leading_candidate

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Reals, Wholes
    from lsdt.policies.situation import Situation


class OssbState(NamedTuple):
    """``explored`` counts the asks that did not exploit.

    ``rates`` is a cache: the solution of P1 after ``solved`` rewards.
    """

    variance: Real
    epsilon: Real
    gamma: Real
    forced_exploration: Real
    total: Wholes
    explored: Wholes
    tallies: Tallies
    solved: Wholes
    rates: Reals
    classes: EndClasses


def prepare(situation: Situation, parameters: SimpleNamespace) -> OssbState:
    """Lay out classes and components."""
    zero, n_arms = np.zeros(1), situation.n_arms
    component_of = situation.components
    class_of = np.full(n_arms, -1)
    for number, members in enumerate(situation.classes):
        class_of[members] = number
    return OssbState(
        parameters.sigma**2,
        0.0 if situation.epsilon is None else situation.epsilon,
        parameters.gamma,
        parameters.forced_exploration,
        zero,
        zero,
        new_tallies(n_arms),
        np.array([-1]),
        np.zeros(n_arms),
        EndClasses(
            class_of,
            component_of,
            np.array([component_of[members[0]] for members in situation.classes]),
            np.concatenate([[0], np.cumsum(np.bincount(component_of))]),
            np.argsort(component_of, kind="stable"),
        ),
    )


@inlined
def solve(state: OssbState) -> None:
    """Solve P1 at the means seen so far, unless no reward has come since it was solved last."""
    if state.solved[0] == state.total[0]:
        return
    fill_rates(state.classes, state.tallies.means, state.variance, state.epsilon, state.rates)
    state.solved[0] = state.total[0]


@inlined
def explores(state: OssbState, allowed: Allowed) -> bool:
    """Say whether some arm has been played less often than the bound asks for."""
    solve(state)
    level = (1.0 + state.gamma) * safe_log(max(float(state.total[0]), 1.0))
    for arm in range(len(state.tallies.counts)):
        if state.tallies.counts[arm] < float(state.rates[arm]) * float(level) and is_allowed(allowed, arm):
            return True
    return False


@inlined
def explore(state: OssbState, allowed: Allowed) -> int:
    """Return the least-played arm if it is far behind, otherwise the arm furthest behind its rate."""
    counts, explored = state.tallies.counts, state.explored[0] + 1
    least, behind, smallest = -1, -1, math.inf
    for arm in range(len(counts)):
        if not is_allowed(allowed, arm):
            continue
        if least < 0 or counts[arm] < counts[least]:
            least = arm
        if state.rates[arm] > 0.0 and ratio(counts[arm], state.rates[arm]) < smallest:
            behind, smallest = arm, ratio(counts[arm], state.rates[arm])
    if behind < 0 or counts[least] <= state.forced_exploration * explored:
        return least
    return behind


def select(state: OssbState, allowed: Allowed, stream: Array) -> int:
    """Exploit when every arm has been played often enough, otherwise explore."""
    if explores(state, allowed):
        return explore(state, allowed)
    leader = leading_candidate(state.classes.class_of, state.tallies.means)
    return leader if is_allowed(allowed, leader) else argmax(state.tallies.means, allowed)


def asked(state: OssbState, arm: int, allowed: Allowed, stream: Array) -> None:
    """Count an ask that did not exploit."""
    if explores(state, allowed):
        state.explored[0] += 1


def update(state: OssbState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward."""
    state.total[0] += 1
    add_reward(state.tallies, arm, reward)


SPECIFICATION = Specification(
    name="ossb",
    title="OSSB",
    rule="c = solution of P1 at the current means; the leader when every n_i >= c_i (1 + gamma) log t; else, "
    "s such rounds so far, the least-played arm if its count is at most forced_exploration s, else argmin of "
    "n_i / c_i",
    reference="Combes, Magureanu and Proutiere (2017), with the paper's P1 (Appendix D, equation (53))",
    cost="O(K)",
    state=OssbState,
    prepare=prepare,
    select=select,
    update=update,
    asked=asked,
    parameters=(
        Number("gamma", 0.0, "how much more than the bound is explored", at_least=0.0),
        Number(
            "forced_exploration",
            0.001,
            "OSSB's epsilon; from 1 over the number of arms on it is round robin",
            at_least=0.0,
        ),
        SIGMA,
    ),
    needs=frozenset({"complete"}),
)
