r"""Off-policy estimates: the value of a policy from events logged with known probabilities.

Event i showed item a_i, chosen with probability p_i, and was answered with r_i. A policy that would have
chosen a_i with probability pi_i gives it the weight w_i = pi_i / p_i. With a model m of the answers, m_i
its prediction for the event, v_i = sum over all items a of pi(a) m(a), and n events:

- IPS, inverse propensity scores (Horvitz and Thompson): ``sum w r / n``;
- SNIPS, self-normalised (Hajek): ``sum w r / sum w``;
- DR, doubly robust (Dudik, Langford and Li, 2011): ``sum (v + w (r - m)) / n``.

IPS and DR are unbiased when the probabilities are right and above 0 wherever the policy's are; DR also when
m is right. SNIPS has a bias that vanishes with n, and stays within the range of the answers. A policy that
always plays one item is the special case of pi 1 and 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ESTIMATORS = ("ips", "snips", "dr")


class Estimates(NamedTuple):
    """The value of a policy by IPS, SNIPS and DR, with standard errors.

    ``effective`` is the effective number of events; see `kish`.
    """

    values: tuple[float, float, float]
    errors: tuple[float, float, float]
    effective: float


def kish(weights: NDArray[Any]) -> float:
    """Return Kish's effective sample size, ``(sum w)^2 / sum w^2``.

    That many equally weighted observations would be as informative.
    """
    squares = float(np.square(weights, dtype=np.float64).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def estimates(
    rewards: NDArray[np.float64],
    weights: NDArray[np.float64],
    users: NDArray[Any],
    n_users: int,
    modelled: NDArray[np.float64],
    values: NDArray[np.float64],
) -> Estimates:
    """Estimate the mean reward of a policy.

    Parameters
    ----------
    rewards, weights, users : arrays
        For every event: the answer, the policy's probability of showing the item over the one with which it
        was shown, the number of the user.
    n_users : int
        Number of users.
    modelled, values : arrays
        For every event: the model's prediction for the item shown, and for the policy (m and v above). NaN
        without a model; then DR is NaN, too.
    """
    n_events, total = len(rewards), float(weights.sum())
    if total == 0.0:
        return Estimates((math.nan,) * 3, (math.nan,) * 3, 0.0)
    terms = weights * rewards
    ips, snips = float(terms.mean()), float(terms.sum()) / total
    robust = values + weights * (rewards - modelled)
    dr = float(robust.mean())

    def error(deviations: NDArray[np.float64]) -> float:
        """Return the standard error of a mean, with events clustered by user."""
        return float(np.sqrt(np.square(np.bincount(users, deviations, n_users)).sum())) / n_events

    errors = error(terms - ips), error(weights * (rewards - snips)) * n_events / total, error(robust - dr)
    return Estimates((ips, snips, dr), errors, kish(weights))


def acceptance(
    items: NDArray[Any], propensities: NDArray[np.float64], clip: float, n_items: int
) -> NDArray[np.float64]:
    """Return the probability with which to use each event, so that its use does not depend on the user.

    An event that showed item a with probability p is used with probability c(a) / p, where c(a) is the
    smallest p with which a was shown, or `clip` if that is larger. Item a is then shown and used with
    probability c(a) for every user. This is exact as long as no p is below `clip`.
    """
    smallest = np.full(n_items, math.inf)
    np.minimum.at(smallest, items, propensities)
    taken: NDArray[np.float64] = np.minimum(np.maximum(smallest, clip)[items] / propensities, 1.0)
    return taken
