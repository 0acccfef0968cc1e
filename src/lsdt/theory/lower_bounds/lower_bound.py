"""Theorem 3 of the paper: the constant C1 of programme P1, and the rates that attain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lsdt._html import fields_card
from lsdt._validation import checked_spread
from lsdt.errors import InvalidInput
from lsdt.theory.lower_bounds.linear_programme import LinearProgramme
from lsdt.theory.lower_bounds.lower_bound_kernel import rates_at
from lsdt.theory.true_means import Truth, checked_truth, layout

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import SideInformation
    from lsdt.theory.lower_bounds.lower_bound_kernel import EndClasses


class LowerBound(NamedTuple):
    """The constant C1 and the plays of every arm per log T that attain it; best arms have rate 0.

    Attributes
    ----------
    value : float
        C1.
    rates : array
        Plays of every arm per log T.
    """

    value: float
    rates: NDArray[np.float64]

    def _repr_html_(self) -> str:
        return fields_card(self)


def lower_bound_constant(side: SideInformation, means: ArrayLike, sigma: float = 1.0) -> float:
    """Return C1 of Theorem 3: no uniformly good policy has a regret below ``C1 log T`` in the long run.

    Rewards are Gaussian with standard deviation `sigma`. C1 rests on a few alternatives to the true means;
    `graves_lai_constant` takes them all and is never below it. `lower_bound_rates` gives the rates as well.

    Parameters
    ----------
    side : SideInformation
        Complete side information; a disconnected graph needs its epsilon.
    means : array_like
        The true mean of every arm.
    sigma : float
        Standard deviation of the rewards.

    Examples
    --------
    Arms 2 and 3 form the best class, arm 0 the other one. Arm 2 needs 2 / .04 plays per log T, and plays of
    arm 0 must show that its class is not the best:

    >>> import lsdt
    >>> means = [0., .4, .8, 1.]
    >>> side = lsdt.from_means(means, epsilon=.7)
    >>> [c.tolist() for c in lsdt.candidate_set(side).classes]
    [[0], [2, 3]]
    >>> round(lsdt.theory.lower_bound_constant(side, means), 4)
    10.6173
    """
    return lower_bound_rates(side, means, sigma).value


def lower_bound_rates(side: SideInformation, means: ArrayLike, sigma: float = 1.0) -> LowerBound:
    """Return C1 with the rates of P1; see `lower_bound_constant`.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([0., .5, 1.], epsilon=2.)
    >>> lsdt.theory.lower_bound_rates(side, [0., .5, 1.])
    LowerBound(value=6.0, rates=array([2., 8., 0.]))
    """
    sigma = checked_spread(sigma, "sigma")
    truth = checked_truth(side, means)
    classes = layout(truth)
    n_components = len(classes.component_starts) - 1
    if n_components > 1 and truth.epsilon is None:
        raise InvalidInput(
            f"the similarity graph has {n_components} components, and how far apart they must stay is "
            "epsilon, which this side information does not know; give it one with "
            "lsdt.complete(..., epsilon=...) or lsdt.from_means"
        )
    epsilon = truth.epsilon or 0.0
    rates = rates_at(classes, truth.means, sigma**2, epsilon)
    _share_rates(truth, classes, epsilon, sigma, rates)
    return LowerBound(float(truth.gaps @ rates), rates)


def _share_rates(
    truth: Truth, classes: EndClasses, epsilon: float, sigma: float, rates: NDArray[np.float64]
) -> None:
    """Lower `rates` in place where the two classes of a component can share plays.

    The closed form pays for the two classes separately. This concerns components without the best arm.
    """
    for number in range(len(classes.component_starts) - 1):
        two_classes = int((classes.class_component == number).sum()) == 2
        if number == classes.component_of[truth.best] or not two_classes:
            continue
        arms = classes.component_arms[classes.component_starts[number] : classes.component_starts[number + 1]]
        means, best = truth.means[arms], truth.means[truth.best]
        upright = np.full(len(arms), best + epsilon - means.min())
        mirrored = best + epsilon + means.max() - 2.0 * means
        divergences = np.column_stack([upright, mirrored]) ** 2 / (2.0 * sigma**2)
        scaled = divergences / truth.gaps[arms][:, None]
        size = float(scaled.max())
        programme = LinearProgramme(np.ones(2), np.zeros(2), np.full(2, np.inf))
        programme.add(csr_array(scaled / size), np.ones(len(arms)))
        rates[arms] = np.maximum(programme.solve().duals, 0.0) / (size * truth.gaps[arms])
