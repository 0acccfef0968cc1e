"""An upper bound on regret as a value and as a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._html import card, facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class UpperBound:
    """An upper bound on the mean regret: ``leading + constant``.

    Call it on rounds to get the whole curve, as `lsdt.plotting.plot_regret` does with its ``bounds``.

    Attributes
    ----------
    horizon : int or ndarray
        The horizon or horizons of the bound.
    leading : float or ndarray
        The terms that grow with the horizon.
    constant : float or ndarray
        The paper's O(.) term, written out; infinite where the proof does not hold.
    value : float or ndarray
        Their sum: the bound.
    vacuous : bool or ndarray
        Whether the bound is at least the regret of always playing the worst candidate.
    note : str
        Why the proof does not hold, where it does not; else empty.
    """

    horizon: Any
    largest_gap: float
    note: str
    leading_at: Curve
    constant_at: Curve

    @property
    def leading(self) -> Any:
        """The terms that grow with the horizon."""
        return _same_shape(self.leading_at(np.atleast_1d(np.asarray(self.horizon, float))), self.horizon)

    @property
    def constant(self) -> Any:
        """The term that does not grow; infinite where the proof does not hold."""
        return _same_shape(self.constant_at(np.atleast_1d(np.asarray(self.horizon, float))), self.horizon)

    @property
    def value(self) -> Any:
        """The bound."""
        return self.leading + self.constant

    @property
    def vacuous(self) -> Any:
        """Whether the bound is at least the regret of always playing the worst candidate."""
        worse = np.asarray(self.value) >= self.largest_gap * np.asarray(self.horizon, float)
        return bool(worse) if worse.ndim == 0 else worse

    def __call__(self, rounds: ArrayLike) -> NDArray[np.float64]:
        """Return the bound after each number of rounds in `rounds`."""
        at = np.asarray(rounds, np.float64)
        flat = np.atleast_1d(at)
        return (self.leading_at(flat) + self.constant_at(flat)).reshape(at.shape)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        if np.ndim(self.horizon):
            return f"UpperBound({len(self.horizon)} horizons)"
        remark = ", vacuous" if self.vacuous else ""
        return f"UpperBound({self.value:.6g} = {self.leading:.6g} + {self.constant:.6g}{remark})"

    def _repr_html_(self) -> str:
        names = ("horizon", "value", "leading", "constant", "vacuous", "note")
        return card("UpperBound", "", facts({name: getattr(self, name) for name in names}))


def _same_shape(values: NDArray[np.float64], horizon: Any) -> Any:
    return values if np.ndim(horizon) else float(values[0])
