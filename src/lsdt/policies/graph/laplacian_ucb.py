"""Laplacian UCB: means estimated together along similar pairs, plus a width that shrinks for neighbours too.

SpectralUCB of Valko, Munos, Kveton and Kocák (2014) adds to every estimate the radius of a confidence
ellipsoid, the same for all arms, times the root of its own variance. Their radius is ``sigma sqrt(2 d log(1 +
T / ridge) + 2 log(1 / delta)) + norm``, d the effective dimension of the graph, an upper bound on the
determinant of the ellipsoid at the horizon T. ``radius="determinant"`` takes the determinant itself, as in
Theorem 2 of Abbasi-Yadkori, Pál and Szepesvári (2011), on which their proof rests: it is never wider, and
needs no horizon. The guarantee asks for ``norm`` to be at least ``sqrt(weight * sum over similar pairs of
(mu_i - mu_j)^2 + ridge * sum of mu_i^2)``, which is hardly ever known. ``radius="log"``, the default, is the
width of UCB1 on this estimate: no guarantee, and far less regret.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import inlined, safe_log1p, safe_sqrt
from lsdt.policies.parts.graph_estimate import RIDGE, WEIGHT, GraphEstimate, learn_mean, new_estimate
from lsdt.policies.parts.tallies import is_allowed
from lsdt.policies.specification import SIGMA, Choice, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.kernel import Allowed, Array, Real, Whole, Wholes
    from lsdt.policies.situation import Situation


class LaplacianUcbState(NamedTuple):
    """``doubt`` is 2 log(1 / delta), ``norm`` that of the means; both 0 where the radius is that of UCB1."""

    by_determinant: Whole
    sigma: Real
    alpha: Real
    doubt: Real
    norm: Real
    total: Wholes
    estimate: GraphEstimate


def prepare(situation: Situation, parameters: SimpleNamespace) -> LaplacianUcbState:
    """Start with nothing played: all means 0, as the ridge says."""
    by_determinant = parameters.radius == "determinant"
    return LaplacianUcbState(
        by_determinant,
        parameters.sigma,
        0.0 if by_determinant else parameters.alpha,
        -2.0 * math.log(parameters.delta) if by_determinant else 0.0,
        parameters.norm if by_determinant else 0.0,
        np.zeros(1),
        new_estimate(situation, parameters),
    )


@inlined
def radius_now(state: LaplacianUcbState) -> float:
    """Return this round's width of the index, in standard deviations of the estimate."""
    if state.by_determinant:
        return state.sigma * safe_sqrt(state.estimate.growth[0] + state.doubt) + state.norm
    return state.sigma * safe_sqrt(state.alpha * safe_log1p(float(state.total[0])))


def select(state: LaplacianUcbState, allowed: Allowed, stream: Array) -> int:
    """Play the largest index; an arm whose component was never played has a very large one."""
    means, variances, radius = state.estimate.means, state.estimate.variances, radius_now(state)
    best, highest = 0, -math.inf
    for arm in range(len(means)):
        if not is_allowed(allowed, arm):
            continue
        index = means[arm] + radius * safe_sqrt(variances[arm])
        if index > highest:
            best, highest = arm, index
    return best


def update(state: LaplacianUcbState, arm: int, reward: float, stream: Array) -> None:
    """Learn the reward, for the arm and all that are connected to it."""
    state.total[0] += 1
    learn_mean(state.estimate, arm, reward)


def score(state: LaplacianUcbState, arm: int) -> float:
    """Return the index of an arm."""
    return state.estimate.means[arm] + radius_now(state) * safe_sqrt(state.estimate.variances[arm])


SPECIFICATION = Specification(
    name="laplacian_ucb",
    title="Laplacian UCB",
    rule="argmax of m_i + r sqrt(P_ii), P = (diag(n) + weight L + ridge I)^-1, m = P s, s the sums of "
    "rewards, L the Laplacian of the similar pairs; r = sigma sqrt(alpha log(1 + t)), or sigma "
    "sqrt(log(det P_0 / det P) + 2 log(1 / delta)) + norm",
    reference="Valko, Munos, Kveton and Kocák (2014), SpectralUCB, in the basis of the arms; the estimate is "
    "also that of GRUB (Thaker, Malu, Rao and Dasarathy, 2022)",
    cost="O(K), and the square of the size of the played arm's component of the similarity graph",
    state=LaplacianUcbState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        WEIGHT,
        RIDGE,
        Choice(
            "radius",
            "log",
            "what the width is: of UCB1, or that of a confidence ellipsoid, as published",
            ("log", "determinant"),
        ),
        Number(
            "alpha",
            2.0,
            "width of the index with radius='log'",
            above=0.0,
            goes_with=("radius", ("log",)),
        ),
        Number(
            "delta",
            0.001,
            "probability that the ellipsoid does not hold the means",
            at_least=1e-300,
            at_most=1.0,
            goes_with=("radius", ("determinant",)),
        ),
        Number(
            "norm",
            1.0,
            "bound on the norm of the means in the metric of the prior",
            at_least=0.0,
            goes_with=("radius", ("determinant",)),
        ),
        SIGMA,
    ),
    needs=frozenset({"epsilon"}),
    score=score,
    score_name="index",
)
