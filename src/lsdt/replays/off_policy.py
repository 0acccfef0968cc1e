r"""Off-policy estimates: the value of a fixed choice from events logged with known probabilities.

With w = 1 / p the weight of an event that showed the choice a with probability p, 0 of one that did not, r
the answer, m(a) the mean of a in training, and n events:

- IPS, inverse propensity scores (Horvitz and Thompson): ``sum w r / n``;
- SNIPS, self-normalised (Hajek): ``sum w r / sum w``;
- DR, doubly robust (Dudik, Langford and Li, 2011): ``m(a) + sum w (r - m(a)) / n``.

IPS and DR are unbiased when the probabilities are right and above 0 for every item; DR also when m is right.
SNIPS has a bias that vanishes with n, and stays within the range of the answers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ESTIMATORS = ("ips", "snips", "dr")


class Estimates(NamedTuple):
    """The value of a choice by IPS, SNIPS and DR, with standard errors.

    ``effective`` is the number of equally weighted events that say as much.
    """

    values: tuple[float, float, float]
    errors: tuple[float, float, float]
    effective: float


def kish(weights: NDArray[Any]) -> float:
    """Return the effective sample size: how many equal weights say as much, ``(sum w)^2 / sum w^2``."""
    squares = float(np.square(weights, dtype=np.float64).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def estimates(
    rewards: NDArray[np.float64],
    weights: NDArray[np.float64],
    users: NDArray[Any],
    events_of: NDArray[np.int64],
    model: float,
) -> Estimates:
    """Estimate the mean reward of always playing one item.

    Parameters
    ----------
    rewards, weights, users : arrays
        Of the events that showed the item: the answer, one over the probability, the user.
    events_of : array of int
        Number of all events of every user, whatever they showed.
    model : float
        The mean of the item in training; NaN where nothing is known of it, and then there is no DR.
    """
    n_events, total = int(events_of.sum()), float(weights.sum())
    if total == 0.0:
        return Estimates((math.nan,) * 3, (math.nan,) * 3, 0.0)
    earned = float(weights @ rewards)
    snips, surplus = earned / total, weights * (rewards - model)
    ips, added = earned / n_events, float(surplus.sum()) / n_events

    def error(values: NDArray[np.float64], mean: float) -> float:
        """Return the standard error of ``sum values / n_events``, events of a user taken together."""
        sums = np.bincount(users, values, len(events_of)) - mean * events_of
        return float(np.sqrt(np.square(sums).sum())) / n_events

    errors = (
        error(weights * rewards, ips),
        error(weights * (rewards - snips), 0.0) * n_events / total,
        error(surplus, added),
    )
    return Estimates((ips, snips, model + added), errors, kish(weights))


def acceptance(
    items: NDArray[Any], propensities: NDArray[np.float64], clip: float, n_items: int
) -> NDArray[np.float64]:
    """Return the probability of taking each event, such that those taken look uniformly logged.

    An event that showed item a with probability p is taken with probability c(a) / p, c(a) being the smallest
    p with which a was shown, and at least `clip`. Whoever the user is, item a is then shown, and taken, with
    probability c(a): which events of an item are taken has nothing to do with the user any more. Above `clip`
    that is exact.
    """
    smallest = np.full(n_items, math.inf)
    np.minimum.at(smallest, items, propensities)
    taken: NDArray[np.float64] = np.minimum(np.maximum(smallest, clip)[items] / propensities, 1.0)
    return taken
