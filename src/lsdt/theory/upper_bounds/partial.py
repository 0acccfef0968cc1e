"""Theorem 6 of the paper: the regret of LSDT-PSI."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import checked_horizons, checked_spread, checked_word
from lsdt.candidates import candidate_set, check_side_information
from lsdt.errors import InvalidInput, Unsupported
from lsdt.side_information import DISTINCT, subset
from lsdt.theory.domination.fractional import solve_domination
from lsdt.theory.true_means import check_relations, checked_means
from lsdt.theory.upper_bounds.curve import UpperBound

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import SideInformation

_UCB_TAIL = math.pi**2 / 3.0  # the last phase has alpha = 8 sigma^2; see upper_bound_csi


class _Setting(NamedTuple):
    """What the bound depends on: the candidates and the policy's parameters.

    `z` are the exploration values, `near` the smallest gap among a candidate and those similar to it;
    `variance` is sigma squared.
    """

    gaps: NDArray[np.float64]
    z: NDArray[np.float64]
    near: NDArray[np.float64]
    epsilon: float
    variance: float
    lambda_: float
    beta: float

    @property
    def far(self) -> NDArray[np.bool_]:
        """The paper's Q: candidates more than 4 epsilon below the best."""
        return self.gaps > 4.0 * self.epsilon

    @property
    def last_epoch(self) -> int:
        """The last epoch, if the horizon is long enough to reach it."""
        return math.ceil(math.log2(8.0 * math.sqrt(self.beta / self.lambda_) / self.epsilon))

    def epoch_of(self, gaps: NDArray[np.float64]) -> NDArray[np.int64]:
        """The paper's m_i: the epoch at whose end an arm of Q is eliminated; the last one for other arms."""
        width = math.sqrt(self.lambda_ / self.beta) * (gaps - 3.0 * self.epsilon) / 4.0
        far = gaps > 4.0 * self.epsilon
        epoch = np.maximum(np.floor(-np.log2(np.where(far, width, 1.0))) + 1.0, 0.0)
        return np.where(far, epoch, max(self.last_epoch, 0)).astype(np.int64)


def upper_bound_psi(
    side: SideInformation,
    means: ArrayLike,
    horizon: Any,
    sigma: float = 0.5,
    lambda_: float = 0.125,
    beta: float | None = None,
    version: str = "paper",
) -> UpperBound:
    """Bound the mean regret of LSDT-PSI (Theorem 6).

    With 64 beta and 32 sigma^2 for the paper's 32 and 8, the leading term is the sum over candidates of

    - ``gap * max(32 sigma^2 log T / gap^2, 64 beta z log(T epsilon^2) / epsilon^2)`` up to 4 epsilon
      below the best,
    - ``gap * z * 64 beta log(T d^2) / d^2`` farther below, where d is the larger of epsilon and the smallest
      gap among the arm and its similar candidates minus 3 epsilon.

    The constant is that of Appendix H, written out. It is infinite for horizons below e 4^m, m the last
    epoch: the proof needs all epochs. That makes the bound vacuous unless T is many times (16 / epsilon)^2.

    Parameters
    ----------
    side : SideInformation
        Side information, partial or complete, with its epsilon; z is solved on its candidates.
    means : array_like
        The true mean of every arm.
    horizon : int or list of int
        Number of rounds.
    sigma : float
        Sub-Gaussian parameter of the rewards; 1/2 for rewards in [0, 1].
    lambda_ : float
        The policy's lambda.
    beta : float, optional
        The policy's beta; 2 sigma^2 by default.
    version : {'paper', 'proof'}
        ``'paper'``: the leading term as stated. ``'proof'``: with the plays that the policy really makes by
        the last epoch, up to four times those of the statement because that epoch is rounded up.

    Examples
    --------
    >>> import lsdt
    >>> means = [0., 0.5, 9., 9.5, 10.]
    >>> side = lsdt.from_means(means, epsilon=1.)
    >>> lsdt.theory.upper_bound_psi(side, means, horizon=100_000)
    UpperBound(21123.8 = 483.966 + 20639.8)
    """
    checked_word(version, "version", ("paper", "proof"))
    check_side_information(side)
    horizon = checked_horizons(horizon)
    setting = _setting(side, means, checked_spread(sigma, "sigma"), checked_spread(lambda_, "lambda_"), beta)
    constant, needed = _constant(setting), math.e * 4.0**setting.last_epoch
    stated = version == "paper"
    note = ""
    if setting.last_epoch < 0:
        needed, note = math.inf, "epsilon is so large that the policy has no epochs: the proof does not hold"
    elif np.min(horizon) < needed:
        note = f"the proof needs a horizon of at least e 4^{setting.last_epoch} = {needed:,.0f} rounds"
    return UpperBound(
        horizon,
        float(setting.gaps.max()),
        note,
        lambda rounds: _growing_terms(setting, rounds, stated),
        lambda rounds: np.where(rounds >= needed, constant, math.inf),
    )


def _setting(
    side: SideInformation, means: ArrayLike, sigma: float, lambda_: float, beta: float | None
) -> _Setting:
    if side.store.thresholds is not None:
        raise Unsupported(f"the bound of LSDT-PSI {DISTINCT}")
    epsilon = side.epsilon
    if epsilon is None:
        raise Unsupported(
            "the bound of LSDT-PSI depends on epsilon, the threshold between similar and dissimilar; give "
            "the side information an epsilon"
        )
    beta = 2.0 * sigma**2 if beta is None else checked_spread(beta, "beta")
    if beta < 2.0 * sigma**2 * (1.0 - 1e-12):
        raise InvalidInput(
            f"beta must be at least 2 sigma^2 = {2.0 * sigma**2:g} for the proof; got {beta:g}"
        )
    arms = candidate_set(side, method="paper").arms
    values = checked_means(means, side.n_arms)
    check_relations(side, values, epsilon)
    similar = subset(side, arms).store.explicit().similar
    gaps = values.max() - values[arms]
    near = np.array([min(gaps[arm], *gaps[similar.neighbours(arm)], np.inf) for arm in range(len(arms))])
    return _Setting(gaps, solve_domination(similar).z, near, epsilon, sigma**2, lambda_, beta)


def _growing_terms(setting: _Setting, rounds: NDArray[np.float64], stated: bool) -> NDArray[np.float64]:
    """Return, for every horizon, the sum of the terms that grow with it."""
    gaps, far, epsilon = setting.gaps, setting.far, setting.epsilon
    if stated:
        width = np.where(far, np.maximum(setting.near - 3.0 * epsilon, epsilon), epsilon)
        factor = 64.0 * setting.beta / width**2
    else:
        epoch = np.where(far, setting.epoch_of(setting.near), max(setting.last_epoch, 0))
        factor, width = setting.lambda_ * 4.0**epoch, 0.5**epoch
    total = np.zeros(len(rounds))
    for place, length in enumerate(np.maximum(rounds, 1.0)):
        plays = setting.z * factor * np.maximum(np.log(length * width**2), 0.0)
        alone = 32.0 * setting.variance * math.log(length) / np.where(gaps > 0.0, gaps, 1.0) ** 2
        total[place] = float(gaps @ np.where(far, plays, np.maximum(plays, alone)))
    return total


def _constant(setting: _Setting) -> float:
    """Return the sum of the proof's cases (a) and (b), a play per arm for rounding up, and UCB's constant."""
    gaps, far = setting.gaps, setting.far
    kept = 2.0 * float((gaps[far] * 4.0 ** setting.epoch_of(gaps)[far]).sum())
    lost = 2.0 * (4.0 ** (max(setting.last_epoch, 0) + 1) - 1.0) / 3.0
    wrongly_gone = lost * int((gaps > 0.0).sum()) * float(gaps.max())
    return kept + wrongly_gone + float(gaps.sum()) + float(gaps[~far].sum()) * _UCB_TAIL
