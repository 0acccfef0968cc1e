"""What relations and rewards together say of the means: draws of mean vectors from their posterior.

The prior is flat on the mean vectors that satisfy all relations. Sequential Monte Carlo (Del Moral, Doucet
and Jasra, "Sequential Monte Carlo samplers", 2006) leads from there to the posterior: the likelihood of the
rewards comes in little by little, as a power that grows to 1. After each step draws are weighed, resampled
by their weights, and moved (`mean_posterior_kernel`). A single Markov chain would not do: where arms are
dissimilar, the mean vectors that satisfy all relations fall into pieces, and no arm gets from one piece into
another by itself. Many draws lie in many pieces, and die out where rewards refute them.

All random numbers come from one fixed seed, so the same rewards give the same answer.
"""

from __future__ import annotations

import math
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.kernel import new_stream
from lsdt.policies.mean_posterior_kernel import move_all, squeeze
from lsdt.policies.parts.mean_draws import (
    MOST_REPAIRS,
    draw_from,
    first_means,
    lay_on_lines,
    likely_width,
    relations_of,
    size_of,
)
from lsdt.policies.parts.mean_draws_kernel import RewardEvidence, draw_width_too, repair
from lsdt.side_information import SideInformation, subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.policies.parts.mean_draws_kernel import DrawnRelations

    Floats = NDArray[np.float64]

_SEED = 21  # any: the same agent draws the same means
_MOST_DRAWS, _FEWEST_DRAWS = 500, 200  # shares read off are right to some .02 to .04
_ENTRIES = 25_000  # draws times arms: more take longer than half a second
_WIDER = 1.1  # the box reaches a little beyond the means found; by eye
_ATTEMPTS = 40  # to find means that satisfy all relations; on random relations 1 in 3 succeeds
_MOST_SWEEPS = 2_000  # of one attempt to fit means into [0, 1]
_PRIOR_SWEEPS = 5  # between two draws of the prior
_SWEEPS, _LAST_SWEEPS = 2, 5  # after each step, and after the last
_LEAST_EFFECTIVE = 0.5  # the share of draws that a step must leave, by their weights
_HALVINGS = 40  # of the step between 0 and 1: to 1e-12


class MeanPrior(NamedTuple):
    """Draws of mean vectors from the prior: flat on those that satisfy all relations.

    Attributes
    ----------
    arms : array of int
        The arms that are drawn, ascending.
    draws : array
        A row per draw, a column per arm. Means of rewards in [0, 1] lie there. Others lie between 0 and
        `width`; their level means nothing.
    width : float
        How far apart the means can be.
    relations : DrawnRelations
        The relations, for moves.
    bounded : bool
        Whether means lie in [0, 1].
    has_sizes : bool
        Whether all relations count. Without an epsilon similar and dissimilar pairs have no size in rewards,
        so that only the order of the arms does.
    """

    arms: NDArray[np.int64]
    draws: Floats
    width: float
    relations: DrawnRelations
    bounded: bool
    has_sizes: bool


def mean_prior(
    side: SideInformation, bounded: bool, arms: NDArray[np.int64] | None = None, scale: float = 1.0
) -> MeanPrior | None:
    """Return draws from the prior, of some arms or all of them, divided by a scale.

    None where the relations have no size in rewards, and where no means are found to satisfy them: mostly
    because there are none, and the relations contradict one another.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.policies.mean_posterior import mean_prior
    >>> prior = mean_prior(lsdt.SideInformation(2, similar=[(0, 1)], epsilon=.1), bounded=True)
    >>> bool((abs(prior.draws[:, 0] - prior.draws[:, 1]) < .1).all())
    True
    """
    members = np.arange(side.n_arms) if arms is None else arms
    start = _start_of(side, bounded, members, scale)
    if start is None:
        return None
    n_arms, relations = len(members), start.relations
    draws = np.empty((min(max(_ENTRIES // n_arms, _FEWEST_DRAWS), _MOST_DRAWS), n_arms))
    kept, stream = np.arange(n_arms), new_stream(_SEED)
    draw_from(start.x, start.width, start.side, relations, start.size, _PRIOR_SWEEPS, kept, draws, stream)
    return MeanPrior(members, draws, start.width, relations, bounded, start.has_sizes)


def means_of_any_width(
    side: SideInformation, bounded: bool, arms: NDArray[np.int64], n_draws: int
) -> Floats | None:
    """Draw mean vectors, a row each, without knowing how far the means spread.

    `mean_prior` takes the width of the box as given, and its draws fill the box. Here the width is drawn too,
    from a uniform prior. Returns None where `mean_prior` does, and where relations say nothing about the
    width: that takes three arms, and both similar and dissimilar pairs.
    """
    start = _start_of(side, bounded, arms, 1.0)
    if start is None or len(arms) < 3 or not (start.side.n_similar and start.side.n_dissimilar):
        return None
    draws, widest = np.empty((n_draws, len(arms))), 1.0 if bounded else math.inf
    draw_width_too(start.x, start.width, widest, start.relations, _PRIOR_SWEEPS, draws, new_stream(_SEED))
    return draws


class _Start(NamedTuple):
    """Means that satisfy all relations, and what it takes to draw others."""

    x: Floats
    width: float
    side: SideInformation
    relations: DrawnRelations
    size: float
    has_sizes: bool


def _start_of(
    side: SideInformation, bounded: bool, members: NDArray[np.int64], scale: float
) -> _Start | None:
    some = subset(side, members)
    size, has_sizes = size_of(some), True
    if size is None and some.ranges is not None:
        has_sizes = not (some.n_similar or some.n_dissimilar)
        some = SideInformation(
            some.n_arms, better=some.ranges.better_pairs(), ranges=np.column_stack(some.ranges.rows())
        )
        size = size_of(some) or 1.0 / some.n_arms
    if size is None:
        return None
    relations = relations_of(some)
    if scale != 1.0:
        size /= scale
        relations = relations._replace(
            low=relations.low / scale, high=relations.high / scale, apart=relations.apart / scale
        )
    found = _start(some, relations, size, bounded)
    return None if found is None else _Start(*found, some, relations, size, has_sizes)


def _start(
    side: SideInformation, relations: DrawnRelations, size: float, bounded: bool
) -> tuple[Floats, float] | None:
    """Return a mean vector that satisfies all relations, and a width that it fits in; None if none is found.

    Where the usual first guess leads nowhere, others around it may, and means too far apart are squeezed.
    """
    ranges = side.ranges
    if ranges is not None and not (ranges.has_size or side.n_similar or side.n_dissimilar):
        return _in_order(side.n_arms, ranges.better_pairs())
    stream = new_stream(_SEED, 1)
    if side.is_complete and ranges is None and side.store.thresholds is None:
        return first_means(side, relations, size, bounded, stream)  # which is exact
    line, rng = lay_on_lines(relations, size), np.random.default_rng(_SEED)
    width = 1.0 if bounded else likely_width(side, size)
    for number in range(_ATTEMPTS):
        x = line + rng.normal(0.0, 0.5 * (number % 4) * size, len(line))
        room = float(np.ptp(x)) + 1.0 + size
        if not repair(x, x.min() - room, x.max() + room, relations, MOST_REPAIRS, stream):
            continue
        fits = squeeze(x, width or math.inf, relations, _MOST_SWEEPS, stream)
        span = float(np.ptp(x))
        if fits or not bounded:
            width = 1.0 if bounded else _WIDER * max(width, span)
            return x - x.min() + 0.5 * (width - span), width
    return None


def _in_order(n_arms: int, better: NDArray[np.int32]) -> tuple[Floats, float] | None:
    """Return equal steps from the worst arm to the best; None where the order runs in a circle."""
    above: dict[int, list[int]] = {arm: [] for arm in range(n_arms)}
    for one, other in better.tolist():
        above[one].append(other)
    try:
        order = list(TopologicalSorter(above).static_order())
    except CycleError:
        return None
    x = np.empty(n_arms)
    x[order] = (np.arange(n_arms) + 0.5) / n_arms
    return x, 1.0


def posterior_draws(prior: MeanPrior, first: Floats, second: Floats, span: float = 0.0) -> Floats:
    """Return mean vectors drawn from the posterior, a row each.

    Parameters
    ----------
    prior : MeanPrior
        Draws from the prior.
    first, second : array
        What rewards say of every arm. For means in [0, 1]: the powers of the mean and of 1 less it in the
        likelihood, which are the sums of rewards and of 1 less these. For others: a mean, and the precision
        with which it is known; of one arm at least it is positive.
    span : float
        How far apart means without ends are at least: the width of the box that they lie in is that, or what
        relations make likely. A wider one would favour means at its ends.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> from lsdt.policies.mean_posterior import mean_prior, posterior_draws
    >>> prior = mean_prior(lsdt.SideInformation(2, similar=[(0, 1)], epsilon=.1), bounded=True)
    >>> draws = posterior_draws(prior, np.array([80., 0.]), np.array([20., 0.]))
    >>> bool(.6 < draws[:, 1].mean() < .9)      # arm 1 was never played
    True
    """
    evidence = RewardEvidence(
        np.ascontiguousarray(first, np.float64), np.ascontiguousarray(second, np.float64), prior.bounded
    )
    draws, heat, stream, rng = prior.draws.copy(), 0.0, new_stream(_SEED), np.random.default_rng(_SEED)
    floors, width, precision = np.zeros(len(draws)), prior.width, float(second.sum())
    if not prior.bounded:  # the level of a draw is unknown: each is moved to where it fits best
        width = max(width, span)
        floors = (first @ second - draws @ second) / precision
        draws += floors[:, None]
    fits = _fits(draws, evidence)
    while heat < 1.0:
        step = _step(fits, 1.0 - heat)
        kept = _resampled(np.exp(step * (fits - fits.max())), rng)
        draws, floors = draws[kept], floors[kept]
        if heat == 0.0 and not prior.bounded:  # levels are flat before, and Gaussian after the first step
            levels = rng.normal(0.0, 1.0 / np.sqrt(step * precision), len(draws))
            draws, floors = draws + levels[:, None], floors + levels
        heat += step
        sweeps, floats = _SWEEPS if heat < 1.0 else _LAST_SWEEPS, not prior.bounded
        fits = move_all(draws, floors, width, floats, prior.relations, heat, evidence, sweeps, stream)
    return draws


def _fits(draws: Floats, evidence: RewardEvidence) -> Floats:
    """Return the log-likelihood of each draw, up to a constant."""
    if not evidence.is_coin:
        fits: Floats = -0.5 * ((draws - evidence.first) ** 2 @ evidence.second)
        return fits
    inside = np.clip(draws, 1e-300, 1.0 - 2.0**-53)
    return np.asarray(np.log(inside) @ evidence.first + np.log1p(-inside) @ evidence.second)


def _step(fits: Floats, most: float) -> float:
    """Return how much of the likelihood to let in at once: as much as leaves weight to enough draws."""
    behind = fits - fits.max()

    def leaves_enough(step: float) -> bool:
        weights = np.exp(step * behind)
        return bool(weights.sum() ** 2 >= _LEAST_EFFECTIVE * len(fits) * (weights**2).sum())

    if leaves_enough(most):
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if leaves_enough(middle) else (low, middle)
    return high


def _resampled(weights: Floats, rng: Any) -> NDArray[np.int64]:
    """Return which draws to go on with, each in proportion to its weight (systematic resampling)."""
    ends = np.cumsum(weights)
    points = (np.arange(len(weights)) + rng.random()) * (ends[-1] / len(weights))
    return np.minimum(np.searchsorted(ends, points, side="right"), len(weights) - 1)
