"""The regret of mixture closure: docs/theory/regret-of-closure.md, with every constant written out."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from lsdt._html import fields_card
from lsdt._validation import checked_horizons, checked_number, checked_spread, checked_word
from lsdt.candidates import candidate_set, check_side_information
from lsdt.errors import InvalidInput
from lsdt.theory.true_means import check_relations, checked_means
from lsdt.theory.upper_bounds.curve import UpperBound

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import SideInformation

_ORDERS = np.geomspace(0.25, 400.0, 60)  # of alpha / (1 - alpha): the bound holds for every one
_MOST_DIVERGENCE = 100.0  # a smaller divergence only weakens the bound, and this one is as good as infinite
_SUMMED = 100_000  # rounds whose chances are summed one by one; an integral bounds the rest
_LOST_BY_MIXING = 2.0  # log(1 + plays) / 2 or so: only to choose clusters
_MOST_SEEDS = 24  # of clusters that are tried in turn
_STEPS = 60  # of a contraction from above; the bound holds after every step
_GIVE = 1e-9  # by which the policy relaxes bounds on gaps


class ClosureConstants(NamedTuple):
    """Bounds on the regret per unit of log T in the long run.

    Attributes
    ----------
    kl_ucb : float
        KL-UCB on the same candidates, which uses no relations: the sum of ``gap / KL(mean, best mean)``.
    pooled : float
        Mixture closure, by Theorem 1: arms whose rewards speak against one another count once.
    limit : float
        Mixture closure, by Theorem 2: relations also put arms that are supposed the best above the arm that
        is, whose mean is known in the long run.
    """

    kl_ucb: float
    pooled: float
    limit: float

    def _repr_html_(self) -> str:
        return fields_card(self)


class _Instance(NamedTuple):
    """The candidates that are not best: gaps, means and bounds among them.

    If arm i is supposed the best, with a mean of at least ``best + 0``, then arm j has at least the mean
    ``best - upper[i, j]``; in the long run, ``rise[i]`` more.
    """

    family: str
    variance: float
    n_candidates: int
    best: float
    means: NDArray[np.float64]
    gaps: NDArray[np.float64]
    upper: NDArray[np.float64]
    rise: NDArray[np.float64]


class _Cluster(NamedTuple):
    """Arms that are counted together, and the means that they have at least if one of them is the best."""

    arms: list[int]
    least: NDArray[np.float64]
    cost: float


def upper_bound_closure(
    side: SideInformation,
    means: ArrayLike,
    horizon: Any,
    rewards: str = "gaussian",
    sigma: float = 1.0,
    c: float = 1.0,
) -> UpperBound:
    """Bound the mean regret of the policy ``mixture_closure``.

    With K candidates, s = min(1/2, 1/K), and any division of the candidates that are not best into clusters,
    the bound is the sum over clusters S of ``max (gap / D) * A + max gap``, and of the largest gap times the
    sum over rounds t of ``1 / (t max(log t, 1)^c)``. D is the Renyi divergence of order alpha, any between
    0 and 1, of an arm's mean from the least one that it has if an arm of S is the best; A is the largest
    solution of ::

        A = log T + c log log T + (K - |S|) log 1/(1 - s) + |S| log 1/s + alpha / (1 - alpha)
            + the sum over S of log(1 + plays) / 2 at most, where the plays times D add up to A

    (with a little more, see docs/theory/regret-of-closure.md). Arms with small gaps may be counted by their
    gap times T instead. The best alpha, clusters and limit of small gaps are taken.

    Parameters
    ----------
    side : SideInformation
        Side information, partial or complete, that the means fit.
    means : array_like
        The true mean of every arm.
    horizon : int or list of int
        Number of rounds.
    rewards : {'gaussian', 'bernoulli'}
        ``'gaussian'`` for rewards that are sub-Gaussian with parameter sigma, ``'bernoulli'`` for any rewards
        in [0, 1].
    sigma : float
        Sub-Gaussian parameter; not used for rewards in [0, 1].
    c : float
        The policy's weight of log log t. With 0 the bound holds, but grows with more than the constants of
        `closure_constants`: the last sum is then about log T.

    Returns
    -------
    UpperBound
        ``leading`` is all that grows with the horizon; ``constant`` counts one play of each cluster.

    Examples
    --------
    >>> import lsdt
    >>> means = [0., .5, 1.]
    >>> side = lsdt.from_means(means, epsilon=.75)
    >>> bound = lsdt.theory.upper_bound_closure(side, means, horizon=10_000)
    >>> bound
    UpperBound(52.4795 = 51.4795 + 1)
    >>> lsdt.theory.upper_bound_csi(side, means, horizon=10_000)
    UpperBound(299.021 = 294.731 + 4.28987)
    """
    horizon = checked_horizons(horizon)
    c = checked_number(c, "c", at_least=0.0)
    instance = _instance(side, means, rewards, sigma)

    @cache
    def bound_at(rounds: float) -> tuple[float, float]:
        return _bound(instance, c, rounds)

    largest = float(instance.gaps.max()) if len(instance.gaps) else 0.0
    return UpperBound(
        horizon,
        largest,
        "",
        lambda rounds: np.array([bound_at(float(length))[0] for length in rounds]),
        lambda rounds: np.array([bound_at(float(length))[1] for length in rounds]),
    )


def closure_constants(
    side: SideInformation, means: ArrayLike, rewards: str = "gaussian", sigma: float = 1.0
) -> ClosureConstants:
    """Return the bounds that the theorems on ``mixture_closure`` give for its regret per unit of log T.

    Parameters are those of `upper_bound_closure`; the policy's c is any above 0.

    Examples
    --------
    >>> import lsdt
    >>> means = [0., 0., 0., 0., .5, 1., 1.4]
    >>> side = lsdt.from_means(means, epsilon=.55)
    >>> constants = lsdt.theory.closure_constants(side, means)
    >>> [round(value, 2) for value in constants]
    [5.71, 3.88, 1.43]
    >>> round(lsdt.theory.graves_lai_constant(side, means).value, 2)
    0.74
    """
    instance = _instance(side, means, rewards, sigma)
    alone = sum(_cluster(instance, [arm], instance.best - instance.upper).cost for arm in _arms(instance))
    pooled = sum(cluster.cost for cluster in _clusters(instance, instance.best - instance.upper))
    pooled = min(float(pooled), float(alone))
    risen = (instance.best + instance.rise)[:, None] - instance.upper
    possible = [arm for arm in _arms(instance) if rewards == "gaussian" or risen[arm, arm] <= 1.0 + _GIVE]
    limit = sum(cluster.cost for cluster in _clusters(instance, np.minimum(risen, _most(rewards)), possible))
    return ClosureConstants(float(alone), pooled, min(float(limit), pooled))


def _most(rewards: str) -> float:
    return math.inf if rewards == "gaussian" else 1.0


def _instance(side: SideInformation, means: ArrayLike, rewards: str, sigma: float) -> _Instance:
    check_side_information(side)
    checked_word(rewards, "rewards", ("gaussian", "bernoulli"))
    sigma, values = checked_spread(sigma, "sigma"), checked_means(means, side.n_arms)
    if rewards == "bernoulli" and not ((values >= 0.0) & (values <= 1.0)).all():
        arm = int(np.argmax((values < 0.0) | (values > 1.0)))
        raise InvalidInput(
            f"rewards in [0, 1] have means in [0, 1]; the mean of arm {side.label(arm)!r} is {values[arm]:g}"
        )
    if side.store.thresholds is None:
        check_relations(side, values, side.epsilon)
    known = side.is_complete and side.ranges is None
    found = candidate_set(side, "anchors" if known else "propagation")
    arms, n_arms = found.arms, len(found.arms)
    lower, upper = np.zeros((n_arms, n_arms)), np.full((n_arms, n_arms), math.inf)
    bounds = found.mutual_bounds
    row = np.repeat(np.arange(n_arms), np.diff(bounds.indptr))
    lower[row, bounds.indices], upper[row, bounds.indices] = bounds.lower, bounds.upper
    lower, upper = lower * (1.0 - _GIVE), upper * (1.0 + _GIVE)
    best, kept = float(values.max()), values[arms]
    tops = np.flatnonzero(kept == best)
    slack = _GIVE * max(1.0, float(np.abs(values).max()))
    gaps = best - kept
    fits = [(gaps >= lower[top] - slack) & (gaps <= upper[top] + slack) for top in tops]
    if not len(tops) or not np.all(fits):
        raise InvalidInput(
            f"the means contradict the side information: the arm with the largest mean, "
            f"{side.label(int(np.argmax(values)))!r}, cannot be the best with these means. Give means that "
            "fit the relations"
        )
    others = np.flatnonzero(kept < best)
    among = np.ix_(others, others)
    return _Instance(
        rewards,
        sigma**2,
        n_arms,
        best,
        kept[others],
        gaps[others],
        upper[among],
        lower[np.ix_(others, tops)].min(axis=1),
    )


def _arms(instance: _Instance) -> range:
    return range(len(instance.gaps))


def _clusters(
    instance: _Instance, least: NDArray[np.float64], arms: list[int] | None = None, each: float = 0.0
) -> list[_Cluster]:
    """Divide arms into clusters: time and again the one that saves most against its arms one by one.

    ``least[i, j]`` is the least mean of j if i is the best; `each` is the part of the level that every arm of
    a cluster adds. Any division gives a bound, so this need not be the best one.
    """
    left = list(_arms(instance) if arms is None else arms)
    alone = {arm: _cluster(instance, [arm], least, each) for arm in left}
    found: list[_Cluster] = []
    while len(left) > 1:
        seeds = left[:: math.ceil(len(left) / _MOST_SEEDS)]
        saved, best = max(
            (_grown(instance, least, alone, left, seed, each) for seed in seeds), key=lambda it: it[0]
        )
        if saved <= 0.0:
            break
        found.append(best)
        left = [arm for arm in left if arm not in best.arms]
    return found + [alone[arm] for arm in left]


def _grown(
    instance: _Instance,
    least: NDArray[np.float64],
    alone: dict[int, _Cluster],
    left: list[int],
    seed: int,
    each: float,
) -> tuple[float, _Cluster]:
    """Return the cluster around an arm that saves most, and what it saves; nearest arms join first."""
    nearest = sorted(left, key=lambda arm: (arm != seed, -min(least[arm, seed], least[seed, arm]), arm))
    best, most, separate = alone[seed], 0.0, 0.0
    for size, arm in enumerate(nearest, 1):
        separate += alone[arm].cost
        joint = _cluster(instance, nearest[:size], least, each)
        if joint.cost == math.inf:
            break
        if separate - joint.cost > most:
            best, most = joint, separate - joint.cost
    return most, best


def _cluster(instance: _Instance, arms: list[int], least: NDArray[np.float64], each: float = 0.0) -> _Cluster:
    """Return arms as a cluster; its cost is the regret per log T, infinite if they do not speak together.

    With `each`, the level is log T times 1 and `each` for every arm.
    """
    theta = least[np.ix_(arms, arms)].min(axis=0)
    if not (theta > instance.means[arms]).all():
        return _Cluster(arms, theta, math.inf)
    worst = float((instance.gaps[arms] / _kl(instance, arms, theta)).max())
    return _Cluster(arms, theta, worst * (1.0 + each * len(arms)))


def _kl(instance: _Instance, arms: list[int], theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the divergence of arms from these means."""
    mean = instance.means[arms]
    if instance.family == "gaussian":
        return np.asarray((theta - mean) ** 2 / (2.0 * instance.variance))
    with np.errstate(divide="ignore"):
        fails = xlogy(1.0 - mean, 1.0 - mean) - xlogy(1.0 - mean, 1.0 - theta)
    return np.asarray(xlogy(mean, mean) - xlogy(mean, theta) + fails)


def renyi(
    family: str, variance: float, mean: NDArray[np.float64], theta: NDArray[np.float64], alpha: Any
) -> NDArray[np.float64]:
    """Return the Renyi divergence of order alpha of each mean from its theta, at most `_MOST_DIVERGENCE`."""
    if family == "gaussian":
        return np.asarray(np.minimum(alpha * (theta - mean) ** 2 / (2.0 * variance), _MOST_DIVERGENCE))
    with np.errstate(divide="ignore"):
        total = mean**alpha * theta ** (1.0 - alpha) + (1.0 - mean) ** alpha * (1.0 - theta) ** (1.0 - alpha)
        return np.asarray(np.minimum(-np.log(total) / (1.0 - alpha), _MOST_DIVERGENCE))


def _bound(instance: _Instance, c: float, rounds: float) -> tuple[float, float]:
    """Return what grows with the rounds, and the gaps of one play for each cluster."""
    if not len(instance.gaps):
        return 0.0, 0.0
    each = (math.log(instance.n_candidates) + _LOST_BY_MIXING) / max(math.log(rounds), 1.0)
    parts = []  # of each cluster, or of its arms one by one: largest gap, growing part
    for cluster in _clusters(instance, instance.best - instance.upper, each=each):
        single = [[arm] for arm in cluster.arms]
        alone = [_part(instance, arms, c, rounds) for arms in single]
        joint = _part(instance, cluster.arms, c, rounds)
        parts += [joint] if sum(joint) <= sum(map(sum, alone)) else alone
    parts.sort(reverse=True)
    missed = float(instance.gaps.max()) * _bad_rounds(c, rounds)
    best = (rounds * parts[0][0], 0.0)
    growing, once = missed, 0.0
    for number, (gap, part) in enumerate(parts):
        growing, once = growing + part, once + gap
        near = rounds * (parts[number + 1][0] if number + 1 < len(parts) else 0.0)
        best = min(best, (growing + near, once), key=sum)
    return best


def _part(
    instance: _Instance, arms: list[int], c: float, rounds: float, orders: NDArray[np.float64] = _ORDERS
) -> tuple[float, float]:
    """Return the largest gap of a cluster, and the bound on its regret apart from one play."""
    size, alpha = len(arms), orders / (1.0 + orders)
    theta = _cluster(instance, arms, instance.best - instance.upper).least
    mean, gaps = instance.means[arms], instance.gaps[arms]
    apart = renyi(instance.family, instance.variance, mean, theta, alpha[:, None])
    share, level = min(0.5, 1.0 / instance.n_candidates), math.log(max(rounds, 1.0))
    level += c * math.log(max(level, 1.0))
    level += size * math.log(1.0 / share) - (instance.n_candidates - size) * math.log1p(-share)
    fixed = level + orders - 0.5 * np.log(apart).sum(axis=1)
    offset = apart.sum(axis=1)
    if instance.family == "gaussian":
        fixed += (alpha[:, None] ** 2 * (theta - mean) ** 2).sum(axis=1) / (2.0 * instance.variance)
    else:
        fixed += 0.5 * size * math.log(math.pi)
        offset *= 0.5

    def turned(total: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.maximum(fixed + 0.5 * size * np.log((total + offset) / size), 0.0))

    total = np.maximum(fixed, 1.0)
    while (turned(total) > total).any():
        total = np.where(turned(total) > total, 2.0 * total, total)
    for _ in range(_STEPS):
        total = turned(total)
    return float(gaps.max()), float(((gaps / apart).max(axis=1) * total).min())


def _bad_rounds(c: float, rounds: float) -> float:
    """Return a bound on the expected number of rounds in which the rewards refute the truth."""
    t = np.arange(1.0, min(rounds, _SUMMED + 1.0))
    known = float((np.maximum(np.log(t), 1.0) ** -c / t).sum())
    if rounds <= _SUMMED + 1.0:
        return known
    start, end = math.log(_SUMMED), math.log(rounds - 1.0)
    rest = math.log(end / start) if c == 1.0 else (end ** (1.0 - c) - start ** (1.0 - c)) / (1.0 - c)
    return known + rest
