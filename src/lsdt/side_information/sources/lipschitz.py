"""How fast means change with the features, estimated from a pilot.

The difference of the means of two arms at distance d is taken to be normal around 0 with the variance

    v(d) = t^2 + s^2 d^2,

s for what the features explain and t for what they do not. Measured differences have the variance v(d) plus
that of their errors, which is known. So t and s are found by least squares on the squares of the differences
of neighbouring arms of the pilot, weighted by their precision. Half of the risk is that v is larger than its
upper limit, by the jackknife over arms; the other half, that one of the listed pairs differs by more than z
standard deviations. Hence

    |mu_i - mu_j| <= z sqrt(t^2 + s^2 d^2)        for all listed pairs, with the stated risk.

True slopes are no normal numbers. Where a function is flat nearly everywhere and steep somewhere the largest
is further out than z says, which `_TAIL` allows for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt.errors import InvalidInput, counted
from lsdt.side_information.sources.nearest_points import nearest_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.side_information.sources.pilots import Pilot

    Floats = NDArray[np.float64]

_FEWEST_ARMS = 20  # of a pilot: with fewer the jackknife says little of the variance
# Of reweighting, not to convergence: where a function is flat nearly everywhere, ever more weight goes to
# flat pairs, and 40 rounds found bounds up to 19 times smaller. In smooth worlds they differ by less than 1%.
_ROUNDS = 4
_FOLDS = 5
_LOCAL = 12  # neighbours in the pilot; further away functions level off, which hides how steep they are
# Chosen on seeds 0 to 19 of six worlds. On seeds 200 to 239, with pilots of 200 and of 2,000 tries, a range
# was wrong at most in 2 of 40 draws (a narrow bump) with 1.1, in 4 with 1, in 1 with 1.25.
_TAIL = 1.1


class LipschitzEstimate(NamedTuple):
    """A bound on differences of means, found from a pilot and checked on pairs that were held out.

    Attributes
    ----------
    lipschitz, unexplained : float
        Means of listed pairs differ by at most ``sqrt(unexplained**2 + (lipschitz * distance)**2)``.
    risk : float
        With at most this probability a listed pair differs by more, if slopes are about normal.
    n_arms, n_pairs : int
        Arms of the pilot, and their neighbouring pairs.
    n_contradicting : int
        Held-out pairs whose measured difference contradicts the bound found from the others.
    is_nearer : bool
        Whether the listed pairs are much nearer than those of the pilot, so that the bound is extrapolated.
    """

    lipschitz: float
    unexplained: float
    risk: float
    n_arms: int
    n_pairs: int
    n_contradicting: int
    is_nearer: bool

    def __str__(self) -> str:
        return (
            f"means differ by at most sqrt({self.unexplained:.3g}^2 + ({self.lipschitz:.3g} x distance)^2) "
            f"(risk {self.risk:g}), from {self.n_arms:,} arms of a pilot; {self.n_contradicting:,} of "
            f"{counted(self.n_pairs, 'held-out pair')} contradict it"
        )

    def _repr_html_(self) -> str:
        return fields_card(self)


def estimate_lipschitz(
    pilot: Pilot,
    points: Floats,
    distances: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats],
    listed: Floats,
    n_neighbours: int,
    risk: float,
) -> LipschitzEstimate:
    """Estimate the bound for pairs at the `listed` distances from the means of some arms.

    `points` are the features of all arms; `distances` returns the distances between pairs of arms.
    """
    n_arms = len(pilot.arm)
    if n_arms < _FEWEST_ARMS:
        raise InvalidInput(
            f"the pilot must have at least {_FEWEST_ARMS} arms, each measured twice or more; got {n_arms}. "
            "Measure more arms, or give the constant: lipschitz=..."
        )
    pairs = nearest_pairs(points[pilot.arm], min(n_neighbours, _LOCAL))
    apart = distances(pilot.arm[pairs[:, 0]], pilot.arm[pairs[:, 1]])
    unit = float(apart.max(initial=0.0)) or 1.0
    apart, listed = apart / unit, listed / unit  # so that squares neither vanish nor overflow
    difference = pilot.mean[pairs[:, 0]] - pilot.mean[pairs[:, 1]]
    noise = pilot.variance[pairs[:, 0]] + pilot.variance[pairs[:, 1]]
    near = Neighbours(pairs, apart, difference, noise)
    unexplained, slope = _bound(near, n_arms, len(listed), risk)
    # Whatever the model says: no bound that the pilot itself contradicts.
    surely = near.surely_apart(risk)
    unexplained = max(unexplained, float(surely[apart == 0.0].max(initial=0.0)))
    beyond = max(1.0, float((surely / _at(unexplained, slope, apart)).max(initial=0.0)))
    return LipschitzEstimate(
        lipschitz=slope * beyond / unit,
        unexplained=unexplained * beyond,
        risk=risk,
        n_arms=n_arms,
        n_pairs=len(pairs),
        n_contradicting=_contradicting(near, n_arms, len(listed), risk),
        is_nearer=bool(np.median(listed) < 0.5 * np.median(apart)),
    )


class Neighbours(NamedTuple):
    """Neighbouring arms of a pilot: their places in it, distances, differences, and variances of these."""

    pairs: NDArray[np.int64]
    distance: Floats
    difference: Floats
    noise: Floats

    def take(self, which: NDArray[np.bool_]) -> Neighbours:
        """Return some of the pairs."""
        return Neighbours._make(column[which] for column in self)

    def surely_apart(self, risk: float) -> Floats:
        """Return how far apart the means of every pair are at least, all pairs together with this risk."""
        from scipy.special import ndtri

        critical = float(-ndtri(risk / max(2 * len(self.noise), 1)))
        return np.maximum(np.abs(self.difference) - critical * np.sqrt(self.noise), 0.0)


def _at(unexplained: float, slope: float, distance: Floats) -> Floats:
    return np.maximum(np.hypot(unexplained, slope * distance), 1e-300)


def _bound(near: Neighbours, n_arms: int, n_listed: int, risk: float) -> tuple[float, float]:
    """Return what the features leave unexplained and the constant, both for all listed pairs."""
    from scipy.special import ndtri, stdtrit

    flat, slope, weights = _fit(near)
    shape = flat + slope * near.distance**2
    excess = near.difference**2 - near.noise
    upper, lower = weights * shape * excess, weights * shape**2
    whole = float(upper.sum() / max(lower.sum(), 1e-300))
    # Leave out one arm at a time, with all of its pairs.
    arms = near.pairs.ravel()
    left = [total.sum() - np.bincount(arms, np.repeat(total, 2), n_arms) for total in (upper, lower)]
    scales = left[0] / np.maximum(left[1], 1e-300)
    error = float(np.sqrt((n_arms - 1) / n_arms * np.square(scales - scales.mean()).sum()))
    scale = max(whole, 0.0) + float(-stdtrit(n_arms - 1, risk / 2)) * error
    reach = _TAIL * float(-ndtri(risk / (4.0 * max(n_listed, 1)))) * scale**0.5
    return reach * flat**0.5, reach * slope**0.5


def _fit(near: Neighbours) -> tuple[float, float, Floats]:
    """Return a and b of v = a + b distance^2, up to a factor, and the weights of the pairs."""
    from scipy.optimize import nnls

    unit = max(float(np.mean(near.distance**2)), 1e-300)
    design = np.column_stack([np.ones(len(near.distance)), near.distance**2 / unit])
    excess = near.difference**2 - near.noise
    found = np.array([0.0, max(float(excess.mean()), 0.0)])
    weights = np.ones(len(excess))
    for _ in range(_ROUNDS):
        spread = near.noise + design @ found
        if not spread.any():  # equal means, measured without error: nothing to weigh
            break
        weights = 1.0 / np.maximum(spread, 1e-12 * float(spread.max())) ** 2
        weights /= weights.max()
        root = np.sqrt(weights)
        better, _ = nnls(design * root[:, None], excess * root)
        if not better.any():  # differences are no larger than their errors
            break
        found = better
    if not found.any():
        found = np.array([0.0, 1.0])  # features explain everything; the scale is limited by the jackknife
    return float(found[0]), float(found[1] / unit), weights


def _contradicting(near: Neighbours, n_arms: int, n_listed: int, risk: float) -> int:
    """Return how many pairs contradict the bound that is found without a fifth of the arms."""
    fold = np.random.default_rng(0).permutation(n_arms) % _FOLDS
    surely, wrong = near.surely_apart(risk), np.zeros(len(near.noise), bool)
    for number in range(_FOLDS):
        held = (fold[near.pairs] == number).any(axis=1)
        if held.all() or not held.any():
            continue
        bound = _bound(near.take(~held), n_arms, n_listed, risk)
        wrong |= held & (surely > _at(*bound, near.distance))
    return int(wrong.sum())
