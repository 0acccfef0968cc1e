"""Proven bounds on regret: the paper's programmes and bounds, and the exact lower bound.

`domination/` solves programme P2, `lower_bounds/` holds Theorem 3 and Graves and Lai, `upper_bounds/`
Theorems 2 and 6. `assumptions` checks the assumptions of Theorem 5, `solver` runs HiGHS on linear programmes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsdt.theory.assumptions import (
        AssumptionCheck,
        Elimination,
        check_assumptions,
        elimination_probability,
    )
    from lsdt.theory.domination.fractional import FractionalDomination, fractional_domination
    from lsdt.theory.lower_bounds.graves_lai import GravesLai, graves_lai_constant
    from lsdt.theory.lower_bounds.lower_bound import LowerBound, lower_bound_constant, lower_bound_rates
    from lsdt.theory.upper_bounds.complete import upper_bound_csi
    from lsdt.theory.upper_bounds.curve import UpperBound
    from lsdt.theory.upper_bounds.partial import upper_bound_psi

_HOMES = {
    "AssumptionCheck": "assumptions",
    "Elimination": "assumptions",
    "FractionalDomination": "domination.fractional",
    "GravesLai": "lower_bounds.graves_lai",
    "LowerBound": "lower_bounds.lower_bound",
    "UpperBound": "upper_bounds.curve",
    "check_assumptions": "assumptions",
    "elimination_probability": "assumptions",
    "fractional_domination": "domination.fractional",
    "graves_lai_constant": "lower_bounds.graves_lai",
    "lower_bound_constant": "lower_bounds.lower_bound",
    "lower_bound_rates": "lower_bounds.lower_bound",
    "upper_bound_csi": "upper_bounds.complete",
    "upper_bound_psi": "upper_bounds.partial",
}
__all__ = [
    "AssumptionCheck",
    "Elimination",
    "FractionalDomination",
    "GravesLai",
    "LowerBound",
    "UpperBound",
    "check_assumptions",
    "elimination_probability",
    "fractional_domination",
    "graves_lai_constant",
    "lower_bound_constant",
    "lower_bound_rates",
    "upper_bound_csi",
    "upper_bound_psi",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lsdt.theory' has no attribute {name!r}")
    return getattr(import_module(f"lsdt.theory.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
