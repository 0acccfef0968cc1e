"""Reward laws: how an arm with a given mean pays, and the tails that policies assume.

Light tails (Laplace, exponential) have parameters nu and b. b is twice the scale, a common choice, and nu is
the smallest value that is valid with it: for both laws log E exp(x (X - mean)) / x^2 increases in x > 0, so
nu follows from its value at the end x = 1 / b.

Heavy tails with exponent a are described by a bound on the moment of order min(2, 1 + 3 (a - 1) / 4). Moments
of orders near a are huge, and orders near 1 give wide bounds. With this order, three quarters of the way from
1 to a, separating two arms one scale apart takes at most 50% more plays than with the best order, for
exponents from 1.3 on; for smaller exponents, set order and bound yourself.
"""

from __future__ import annotations

import builtins
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import check_sizes, checked_spread, checked_word
from lsdt.errors import InvalidInput, suggest
from lsdt.kernel import (
    BERNOULLI_LAW,
    EXPONENTIAL_LAW,
    FAMILIES,
    GAUSSIAN_LAW,
    LAPLACE_LAW,
    PARETO_LAW,
    RECORDED_LAW,
    STUDENT_T_LAW,
    Records,
    RewardModel,
    Tail,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Rewards",
    "bernoulli",
    "callable",
    "exponential",
    "gaussian",
    "laplace",
    "pareto",
    "recorded",
    "student_t",
]
_SAME_MEAN = 1e-9  # by which given means may differ from those of recorded rewards: room for rounding only
_MOST_SHAPE = 1e9  # beyond this, moments in closed form lose precision


@dataclass(frozen=True)
class Rewards:
    """A reward law, and the part of it that policies know.

    Attributes
    ----------
    name : str
        The name of the law.
    family : str
        ``'gaussian'`` or ``'bernoulli'``: the family whose divergence policies use.
    sigma : float
        The sub-Gaussian parameter that policies assume.
    law : int or None
        The number of the law in compiled code; None for a function in Python.
    scale, shape : float
        Parameters of the law.
    draw : callable or None
        The function in Python.
    tail : Tail or None
        The tail that policies for light and heavy tails assume; None if it follows from sigma.
    records : Records or None
        The recorded rewards of every arm, if the law draws from them.
    """

    name: str
    family: str
    sigma: float
    law: int | None
    scale: float = 1.0
    shape: float = 0.0
    draw: Callable[[int, np.random.Generator], float] | None = None
    tail: Tail | None = None
    records: Records | None = field(default=None, compare=False, repr=False)

    @property
    def model(self) -> RewardModel:
        """The part of the law that policies know."""
        return RewardModel(self.family, self.sigma, self.tail)

    def check_means(self, means: NDArray[np.float64]) -> None:
        """Raise `InvalidInput` if the law cannot have these means."""
        check_sizes(means, "means")
        if self.law == BERNOULLI_LAW and not ((means >= 0.0) & (means <= 1.0)).all():
            wrong = float(means[(means < 0.0) | (means > 1.0)][0])
            raise InvalidInput(f"Bernoulli rewards have means from 0 to 1; got {wrong:g}")
        if self.records is not None:
            _check_recorded_means(means, self.records)

    def describe(self) -> dict[str, Any]:
        """Return the law as plain data."""
        plain: dict[str, Any] = {"law": self.name, "family": self.family, "sigma": self.sigma}
        if self.tail is not None:
            plain["tail"] = self.tail._asdict()
        if self.records is not None:
            return {**plain, "recorded": len(self.records.values)}
        return plain if self.law is None else {**plain, "scale": self.scale, "shape": self.shape}

    def _repr_html_(self) -> str:
        return fields_card(self)


def gaussian(sigma: float = 1.0) -> Rewards:
    """Return the law of normal rewards with standard deviation `sigma`.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.rewards.gaussian(sigma=.5).sigma
    0.5
    """
    sigma = checked_spread(sigma, "sigma")
    return Rewards("gaussian", "gaussian", sigma, GAUSSIAN_LAW, sigma)


def bernoulli() -> Rewards:
    """Return the law of rewards that are 0 or 1: clicks, sales, likes.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.rewards.bernoulli().model
    RewardModel(family='bernoulli', sigma=0.5, tail=None)
    """
    return Rewards("bernoulli", "bernoulli", 0.5, BERNOULLI_LAW)


def student_t(degrees: float, scale: float = 1.0, sigma: float | None = None) -> Rewards:
    """Return a law with heavy tails: Student's t around the mean, with more than 1 degree of freedom.

    With up to 2 `degrees` the variance is infinite. Such rewards are not sub-Gaussian for any sigma; policies
    assume `sigma`, by default `scale`.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.rewards.student_t(degrees=1.5).name
    'student_t'
    """
    scale = checked_spread(scale, "scale")
    assumed = scale if sigma is None else checked_spread(sigma, "sigma")
    degrees = checked_spread(degrees, "degrees", 1.0, _MOST_SHAPE)
    tail = _student_t_tail(degrees, scale, assumed)
    return Rewards("student_t", "gaussian", assumed, STUDENT_T_LAW, scale, degrees, tail=tail)


def pareto(exponent: float, scale: float = 1.0, sigma: float | None = None) -> Rewards:
    """Return a law with a heavy right tail: Pareto with a tail exponent above 1, shifted to the mean.

    Up to exponent 2 the variance is infinite. Such rewards are not sub-Gaussian for any sigma; policies
    assume `sigma`, by default `scale`.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.rewards.pareto(exponent=1.5, scale=.5).scale
    0.5
    """
    scale = checked_spread(scale, "scale")
    assumed = scale if sigma is None else checked_spread(sigma, "sigma")
    exponent = checked_spread(exponent, "exponent", 1.0, _MOST_SHAPE)
    tail = _pareto_tail(exponent, scale, assumed)
    return Rewards("pareto", "gaussian", assumed, PARETO_LAW, scale, exponent, tail=tail)


def laplace(scale: float = 1.0, sigma: float | None = None) -> Rewards:
    """Return a law with light tails: Laplace, with density ``exp(-|x - mean| / scale) / (2 scale)``.

    Such rewards are not sub-Gaussian for any sigma. Policies for light tails know the right nu and b; all
    others assume `sigma`, by default the standard deviation.

    Examples
    --------
    >>> import lsdt
    >>> round(lsdt.rewards.laplace(scale=.5).sigma, 3)
    0.707
    """
    scale = checked_spread(scale, "scale")
    assumed = math.sqrt(2.0) * scale if sigma is None else checked_spread(sigma, "sigma")
    return Rewards("laplace", "gaussian", assumed, LAPLACE_LAW, scale, tail=_laplace_tail(scale))


def exponential(scale: float = 1.0, sigma: float | None = None) -> Rewards:
    """Return a law with a light right tail: exponential with standard deviation `scale`, shifted to the mean.

    Such rewards are not sub-Gaussian for any sigma. Policies for light tails know the right nu and b; all
    others assume `sigma`, by default the standard deviation.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.rewards.exponential(scale=.5).model.tails.b
    1.0
    """
    scale = checked_spread(scale, "scale")
    assumed = scale if sigma is None else checked_spread(sigma, "sigma")
    return Rewards("exponential", "gaussian", assumed, EXPONENTIAL_LAW, scale, tail=_exponential_tail(scale))


def recorded(rewards: Sequence[ArrayLike]) -> Rewards:
    """Return a law of recorded rewards: an arm pays one of its own records, all equally likely.

    Parameters
    ----------
    rewards : sequence of array_like
        For every arm a list of at least one reward from 0 to 1; its mean is the mean of the arm.
        `lsdt.problems.from_ratings` makes such a law from a log.

    Examples
    --------
    >>> import lsdt
    >>> law = lsdt.rewards.recorded([[0, .5, 1], [.25, .75]])
    >>> law.records.means().tolist(), law.model.sigma
    ([0.5, 0.5], 0.5)
    """
    try:
        arms = [np.array(each, np.float64) for each in rewards]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"rewards must be a list of numbers for every arm; got {rewards!r}") from None
    if not arms or any(each.ndim != 1 or len(each) == 0 for each in arms):
        raise InvalidInput("every arm needs a list of recorded rewards, with at least one")
    values = np.concatenate(arms)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        wrong = float(values[~((values >= 0.0) & (values <= 1.0))][0])
        raise InvalidInput(f"recorded rewards lie between 0 and 1; got {wrong:g}. Put them on that scale")
    starts = np.concatenate(([0], np.cumsum([len(each) for each in arms]))).astype(np.int64)
    return Rewards("recorded", "bernoulli", 0.5, RECORDED_LAW, records=Records(starts, values))


def _check_recorded_means(means: NDArray[np.float64], records: Records) -> None:
    true = records.means()
    if true.shape != means.shape:
        raise InvalidInput(f"there are {len(means)} means, and recorded rewards of {len(true)} arms")
    wrong = np.abs(true - means) > _SAME_MEAN
    if wrong.any():
        arm = int(np.argmax(wrong))
        raise InvalidInput(
            f"the recorded rewards of arm {arm} have the mean {true[arm]:g}, and its mean is said to be "
            f"{means[arm]:g}; lsdt.problems.from_ratings takes both from a log"
        )


def callable(
    draw: Callable[[int, np.random.Generator], float], sigma: float = 0.5, family: str = "bernoulli"
) -> Rewards:
    """Return a law that calls your function ``draw(arm, rng)`` for every reward.

    `rng` is a NumPy Generator that the study seeds. Regret is still computed from the means of the problem.
    By default policies assume rewards in [0, 1]. A study on a cluster needs a function that can be pickled.

    Examples
    --------
    >>> import lsdt
    >>> rewards = lsdt.rewards.callable(lambda arm, rng: rng.beta(1 + arm, 2))
    >>> problem = lsdt.problems.given([1/3, 1/2, 3/5], rewards=rewards)
    """
    if not builtins.callable(draw):
        raise InvalidInput(f"draw must be a function of an arm and a random generator; got {draw!r}")
    checked_word(family, "family", FAMILIES)
    name = getattr(draw, "__name__", type(draw).__name__)
    return Rewards(f"callable {name}", family, checked_spread(sigma, "sigma"), None, draw=draw)


_BY_NAME = {"gaussian": gaussian, "bernoulli": bernoulli}


def checked_rewards(rewards: Any) -> Rewards:
    """Return a reward law, given by name or as a `Rewards` value, or say what is accepted."""
    if isinstance(rewards, Rewards):
        return rewards
    if isinstance(rewards, str) and rewards in _BY_NAME:
        return _BY_NAME[rewards]()
    raise InvalidInput(
        f"rewards must be {' or '.join(map(repr, _BY_NAME))}, or a law of lsdt.rewards "
        f"(laplace, student_t, callable, ...); got {rewards!r}" + suggest(str(rewards), _BY_NAME)
    )


def _laplace_tail(scale: float) -> Tail:
    """Return nu, b and the variance, from E exp(x (X - mean)) = 1 / (1 - scale^2 x^2)."""
    return Tail(scale * math.sqrt(8.0 * math.log(4.0 / 3.0)), 2.0 * scale, 2.0, 2.0 * scale**2)


def _exponential_tail(scale: float) -> Tail:
    """Return nu, b and the variance, from E exp(x (X - mean)) = exp(-scale x) / (1 - scale x)."""
    return Tail(scale * math.sqrt(8.0 * (math.log(2.0) - 0.5)), 2.0 * scale, 2.0, scale**2)


def _student_t_tail(degrees: float, scale: float, sigma: float) -> Tail:
    """Return the moment, in closed form. No nu is valid, so policies for light tails get sigma instead."""
    order = _order(degrees)
    logs = (
        math.lgamma((order + 1.0) / 2.0) + math.lgamma((degrees - order) / 2.0) - math.lgamma(degrees / 2.0)
    )
    moment = math.pow(scale * math.sqrt(degrees), order) * math.exp(logs) / math.sqrt(math.pi)
    return Tail(sigma, 0.0, order, moment)


def _pareto_tail(exponent: float, scale: float, sigma: float) -> Tail:
    """Return a bound on the moment.

    The part above the mean is in closed form; below the mean, rewards are at most ``below * scale`` away.
    """
    order, below = _order(exponent), 1.0 / (exponent - 1.0)
    logs = math.lgamma(order + 1.0) + math.lgamma(exponent - order) - math.lgamma(exponent)
    above = math.pow(1.0 + below, order - exponent) * math.exp(logs)
    share = 1.0 - math.pow(1.0 + below, -exponent)
    return Tail(sigma, 0.0, order, math.pow(scale, order) * (above + math.pow(below, order) * share))


def _order(exponent: float) -> float:
    return min(2.0, 1.0 + 0.75 * (exponent - 1.0))
