"""The arms that may be the best, and the probability that the best arm is among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import card, facts
from lsdt.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.identification.judges.judge_model import StrengthPosterior
    from lsdt.side_information import ArmId

    Floats = NDArray[np.float64]

_DRAWS = 4_000  # the standard error of a probability of .95 is then .0035
_SEED = 0  # every posterior is judged by the same draws, so equal answers give equal results
# The normal law of strengths is an approximation, with estimated settings of the judge, and its tails are too
# light: of sets with a stated 90 to 95% (mean 92%), 85% had the best arm. Draws from Student's law with this
# many degrees of freedom have about the stated share, for judges of seven kinds and 10 or 40 arms.
_FREEDOM = 6.0
_OUT = 8.0  # standard deviations: members this far below the leader are not drawn


class LikelyBest:
    """The arms that may be the best, most probable first; `Inquiry.found` for a judge's answers.

    Attributes
    ----------
    arm_ids : list of str or int
        The arms.
    arms : ndarray
        Their indices.
    probability : float
        The probability that the best arm is among them.
    chances : ndarray
        The probability of being the best, for each of them.

    Examples
    --------
    >>> import lsdt
    >>> inquiry = lsdt.Inquiry(lsdt.SideInformation(3, arm_ids=["tea", "mate", "cola"]), answers="better")
    >>> found = inquiry.found
    >>> len(found), found.probability, "tea" in found
    (3, 1.0, True)
    """

    def __init__(
        self, arms: NDArray[np.int64], arm_ids: list[ArmId], chances: Floats, probability: float
    ) -> None:
        self.arms, self.arm_ids, self.chances = arms, arm_ids, chances
        self.probability = round(max(0.0, min(1.0, probability)), 10)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: ``arm_id`` and ``chance``, its probability of being the best."""
        import pandas as pd

        return pd.DataFrame({"arm_id": self.arm_ids, "chance": self.chances})

    def __len__(self) -> int:
        return len(self.arms)

    def __contains__(self, arm: Any) -> bool:
        return arm in self.arm_ids or (arm in self.arms.tolist() and isinstance(arm, (int, np.integer)))

    def __iter__(self) -> Iterator[ArmId]:
        return iter(self.arm_ids)

    def __repr__(self) -> str:
        return f"LikelyBest({counted(len(self), 'arm')}, probability {self.probability:.3g})"

    def _repr_html_(self) -> str:
        from lsdt._html import html_table

        rows = html_table(("arm", "chance"), list(zip(self.arm_ids[:20], self.chances[:20], strict=True)))
        lead = f"{counted(len(self), 'arm')} may be the best"
        return card(
            "LikelyBest", lead, rows, facts({"probability that the best is among them": self.probability})
        )


class BestChances(NamedTuple):
    """The probability of being the best: of each member of a posterior, and of all fresh arms together."""

    members: Floats
    fresh: float


def best_chances(posterior: StrengthPosterior, n_fresh: int) -> BestChances:
    """Draw strengths, and count which arm is the best; `n_fresh` more arms were never asked about."""
    mean, variance = posterior.mean[:-1], np.diag(posterior.covariance)[:-1]
    chances = np.zeros(len(mean))
    rng = np.random.default_rng(_SEED)
    fresh = _largest_of(n_fresh, rng)
    if not len(mean):
        return BestChances(chances, 1.0 if n_fresh else 0.0)
    spread = np.sqrt(variance)
    top = np.flatnonzero(mean + _OUT * spread >= (mean - spread).max())
    block = posterior.covariance[np.ix_(top, top)]
    root = np.linalg.cholesky(block + 1e-10 * np.eye(len(top)))
    tails = np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, _DRAWS))[:, None]
    draws = mean[top] + tails * (rng.standard_normal((_DRAWS, len(top))) @ root.T)
    leader = draws.argmax(axis=1)
    is_fresh = fresh > draws[np.arange(_DRAWS), leader]
    np.add.at(chances, top[leader[~is_fresh]], 1.0 / _DRAWS)
    return BestChances(chances, float(is_fresh.mean()))


def _largest_of(n: int, rng: np.random.Generator) -> Floats:
    """Return draws of the largest of `n` standard normal numbers; minus infinity for none."""
    from scipy.special import ndtri

    uniform = rng.random(_DRAWS)
    if not n:
        return np.full(_DRAWS, -np.inf)
    largest: Floats = ndtri(uniform ** (1.0 / n))
    return largest
