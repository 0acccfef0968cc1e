"""The exact constant of Graves and Lai for complete side information and Gaussian rewards.

No uniformly good policy has a regret below ``C log T`` in the long run, and some policy attains it: C is the
least regret of rates that distinguish the true means from all other means that fit the graph and have
another best arm. docs/theory/bounds.md derives these sets of means; each component can be treated on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_spread
from lsdt.errors import InvalidInput
from lsdt.theory.lower_bounds.alternatives import component_of, polytope
from lsdt.theory.lower_bounds.cutting_planes import Game, Price, solve_game
from lsdt.theory.true_means import Truth, checked_truth

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import SideInformation
    from lsdt.theory.lower_bounds.alternatives import OrderedComponent


class GravesLai(NamedTuple):
    """The constant, between `value` and `value + gap`, and rates per log T whose regret is `value + gap`.

    Attributes
    ----------
    value : float
        A lower bound on the constant.
    gap : float
        The constant is at most ``value + gap``.
    rates : array
        Plays of every arm per log T that exclude every alternative.
    """

    value: float
    gap: float
    rates: NDArray[np.float64]

    def _repr_html_(self) -> str:
        return fields_card(self)


def graves_lai_constant(
    side: SideInformation, means: ArrayLike, sigma: float = 1.0, tolerance: float = 1e-6
) -> GravesLai:
    """Return the exact constant in front of log T that no uniformly good policy can beat.

    Parameters
    ----------
    side : SideInformation
        Complete side information with its epsilon.
    means : array_like
        The true mean of every arm.
    sigma : float
        Standard deviation of the rewards, which are Gaussian.
    tolerance : float
        Largest relative distance between the lower and the upper bound on the constant.

    Returns
    -------
    GravesLai
        ``value`` is a lower bound on the constant, ``value + gap`` an upper one; ``rates``, the plays of
        every arm per log T, attain the upper one. The best arms have rate 0: playing them costs nothing.

    Examples
    --------
    Three arms in a row; the outer ones can be best. Were arm 0 the best, the order would be reversed:

    >>> import lsdt
    >>> side = lsdt.from_means([0., .5, 1.], epsilon=.75)
    >>> found = lsdt.theory.graves_lai_constant(side, [0., .5, 1.])
    >>> round(found.value, 4), found.rates.round(4).tolist()
    (0.6531, [0.6531, 0.0, 0.0])
    >>> lsdt.theory.lower_bound_constant(side, [0., .5, 1.])   # the paper's C1, from one alternative only
    0.5

    Without similar arms and with a small epsilon it is the constant of Lai and Robbins, 2 / .5 + 2 / 1:

    >>> apart = lsdt.from_means([0., .5, 1.], epsilon=1e-6)
    >>> round(lsdt.theory.graves_lai_constant(apart, [0., .5, 1.]).value, 3)
    6.0
    """
    sigma = checked_spread(sigma, "sigma")
    tolerance = checked_spread(tolerance, "tolerance")
    truth = checked_truth(side, means)
    if truth.epsilon is None:
        raise InvalidInput(
            "the exact constant depends on epsilon, which this side information does not know; give it one "
            "with lsdt.complete(..., epsilon=...) or lsdt.from_means"
        )
    lower = upper = 0.0
    rates = np.zeros(side.n_arms)
    for first, last in truth.components():
        component = component_of(truth, first, last)
        arms = np.sort(component.arms)
        priced = _price_component(truth, component, arms, truth.epsilon, tolerance)
        lower, upper = lower + priced.lower, upper + priced.upper
        rates[arms] = priced.rates
    variance = 2.0 * sigma**2
    return GravesLai(float(variance * lower), float(variance * (upper - lower)), variance * rates)


def _price_component(
    truth: Truth, component: OrderedComponent, arms: NDArray[np.int64], epsilon: float, tolerance: float
) -> Price:
    """Return the bounds and rates of one component; lengths are scaled to be neither tiny nor huge."""
    gaps = truth.gaps[arms]
    own = bool((component.arms == truth.best).any())
    floored = own & np.isin(arms, truth.own) & (gaps > 0.0)
    if own and component.is_complete:
        rates = np.where(floored, 1.0 / np.where(floored, gaps, 1.0) ** 2, 0.0)
        return Price(float(gaps @ rates), float(gaps @ rates), rates)
    if len(arms) == 1:
        rate = 1.0 / (gaps + epsilon) ** 2
        return Price(float(gaps @ rate), float(gaps @ rate), rate)
    unit = epsilon + float(gaps.max())
    means, best, near = truth.means / unit, float(truth.means[truth.best]) / unit, epsilon / unit
    least = np.zeros(len(arms))
    if own:
        sets = [polytope(component.reverse(), means, near)]
        bottom = component.arms[component.right == component.right[0]]
        moved = np.isin(arms, bottom)  # at least epsilon above the best, when reversed
    else:
        ways = [component] if component.is_complete else [component, component.reverse()]
        sets = [polytope(way, means, near, best + near) for way in ways]
        moved = np.ones(len(arms), bool)
    least[moved] = gaps[moved] / unit + near
    game = Game(gaps / unit, floored, sets, least)
    priced = solve_game(game, tolerance)
    return Price(priced.lower / unit, priced.upper / unit, priced.rates / unit**2)
