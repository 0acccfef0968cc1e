"""Means estimated together: similar arms pull one another's estimates, as a ridge regression on the graph.

The estimate is the vector m that minimises ``sum of (reward - m_arm)^2 + weight * sum over similar pairs of
(m_i - m_j)^2 + ridge * sum of m_i^2``. With n_i plays and sum s_i of arm i, ``m = P s`` and ``P = (diag(n) +
weight L + ridge I)^-1``, L the Laplacian of the similarity graph. Under normal rewards and the prior whose
precision is ``(weight L + ridge I) / sigma^2``, the posterior of the means is ``N(m, sigma^2 P)``. This is
the estimator of Valko, Munos, Kveton and Kocák (2014), in the basis of the arms instead of the eigenvectors
of L (a rotation, which changes neither the estimate nor P), and with ``ridge = 0`` that of GRUB (Thaker,
Malu, Rao and Dasarathy, 2022).

P is kept as a square root F, ``P = F F^T``, one block for each connected component. A reward of arm a
changes it by Potter's rule: with ``f`` the row of a, ``p = F f`` and ``d = 1 + f.f``, ``F -= p f^T / (d +
sqrt(d))``. That costs the square of the component's size, keeps P positive whatever the rounding, and F is
at hand when the means are drawn together.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.errors import TooLarge
from lsdt.kernel import inlined, safe_log1p, safe_sqrt
from lsdt.policies.specification import Number

if TYPE_CHECKING:
    from types import SimpleNamespace

    from numpy.typing import NDArray

    from lsdt.kernel import FixedWholes, Reals
    from lsdt.policies.situation import Situation

_MOST_ENTRIES = 4_000_000  # of F: 32 MB, and seconds before the first round if they are one component


class GraphEstimate(NamedTuple):
    """``means`` is m, ``variances`` the diagonal of P; ``growth`` is log(det P_0 / det P), P_0 without plays.

    Components lie one after the other in ``members``; that of an arm is ``members[first[arm]:end[arm]]``.
    ``factor`` holds the blocks of F row by row, that of an arm from ``row[arm]`` on.
    """

    means: Reals
    variances: Reals
    growth: Reals
    factor: Reals
    row: FixedWholes
    first: FixedWholes
    end: FixedWholes
    members: FixedWholes


def new_estimate(situation: Situation, parameters: SimpleNamespace) -> GraphEstimate:
    """Return the estimate before the first reward; None as `weight` means (sigma / epsilon)^2."""
    n_arms, labels = situation.n_arms, situation.components
    sizes = np.bincount(labels)
    entries = int((sizes.astype(np.int64) * sizes).sum())
    if entries > _MOST_ENTRIES:
        raise TooLarge(
            "a policy that estimates means together keeps a number for every two arms of a component of the "
            f"similarity graph; these would be {entries:,}, and at most {_MOST_ENTRIES:,} are accepted; use "
            "it on the candidates (on='propagation'), or use ckl_ucb"
        )
    weight = parameters.weight
    if weight is None:
        assert situation.epsilon is not None
        weight = min((parameters.sigma / situation.epsilon) ** 2, MOST_WEIGHT)
    members = np.argsort(labels, kind="stable")
    ends = np.cumsum(sizes)
    blocks = [
        _root_of_inverse(_similarities(situation, part), weight, parameters.ridge)
        for part in np.split(members, ends[:-1])
    ]
    factor = np.concatenate([block.ravel() for block in blocks])
    variances, row = np.zeros(n_arms), np.zeros(n_arms, np.int64)
    width = sizes[labels[members]]
    row[members] = np.cumsum(width) - width
    variances[members] = np.concatenate([[math.fsum(line) for line in block * block] for block in blocks])
    first = (ends - sizes)[labels]
    return GraphEstimate(
        np.zeros(n_arms), variances, np.zeros(1), factor, row, first, first + sizes[labels], members
    )


def _similarities(situation: Situation, part: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 for every similar pair among the arms of a component, in their order there."""
    place = np.zeros(situation.n_arms, np.int64)
    place[part] = np.arange(len(part))
    table = np.zeros((len(part), len(part)))
    indptr, indices = situation.similar
    for at, arm in enumerate(part):
        table[at, place[indices[indptr[arm] : indptr[arm + 1]]]] = 1.0
    return table


def _root_of_inverse(similar: NDArray[np.float64], weight: float, ridge: float) -> NDArray[np.float64]:
    """Return F with ``F F^T = (weight L + ridge I)^-1``, upper triangular.

    Elimination as Grassmann, Taksar and Heyman do it (1985): the sums of the rows are kept beside the other
    entries, so that numbers are only ever added, multiplied and divided. Every entry of F is then right to
    nearly all digits, however large the weight and small the ridge. No linear algebra library is called:
    what it returns differs between processors, and agents must be the same everywhere.
    """
    size = len(similar)
    pull, excess, inverse = weight * similar, np.full(size, ridge), np.eye(size)
    for at in range(size):
        rest = slice(at + 1, size)
        pivot = excess[at] + math.fsum(pull[at, rest])
        share = pull[at, rest] / pivot
        pull[rest, rest] += share[:, None] * pull[at, rest]
        excess[rest] += share * excess[at]
        inverse[rest, : at + 1] += share[:, None] * inverse[at, : at + 1]
        inverse[at, : at + 1] /= math.sqrt(pivot)
    return np.ascontiguousarray(inverse.T)


@inlined
def learn_mean(estimate: GraphEstimate, arm: int, reward: float) -> None:
    """Update the estimate; all other rows need the row of the arm itself, so it is changed last."""
    means, variances, factor, members = (
        estimate.means,
        estimate.variances,
        estimate.factor,
        estimate.members,
    )
    first, end, own = estimate.first[arm], estimate.end[arm], estimate.row[arm]
    size = end - first
    total = 1.0 + variances[arm]
    error = reward - means[arm]
    step = 1.0 / (total + safe_sqrt(total))
    estimate.growth[0] += safe_log1p(variances[arm])
    for place in range(first, end + 1):
        other = members[place] if place < end else arm
        if place < end and other == arm:
            continue
        row, shared = estimate.row[other], 0.0
        for at in range(size):
            shared += factor[row + at] * factor[own + at]
        change, square = step * shared, 0.0
        for at in range(size):
            entry = factor[row + at] - change * factor[own + at]
            factor[row + at] = entry
            square += entry * entry
        variances[other] = square
        means[other] += shared / total * error


# Parameters of the policies that estimate in this way.
MOST_WEIGHT = 1e12
WEIGHT = Number(
    "weight",
    None,
    "weight of a similar pair: how many rewards say as much of the difference of two means; by default "
    "(sigma / epsilon)^2",
    above=0.0,
    at_most=MOST_WEIGHT,
)
RIDGE = Number(
    "ridge",
    0.01,
    "weight of the prior mean, 0, in rewards of each arm",
    at_least=1e-9,
    at_most=1e6,
)
