"""The paper's linear programmes and bounds, and the exact lower bound."""

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
    from lsdt.theory.bound_curves import UpperBound
    from lsdt.theory.complete_bound import upper_bound_csi
    from lsdt.theory.domination import FractionalDomination, fractional_domination
    from lsdt.theory.graves_lai import GravesLai, graves_lai_constant
    from lsdt.theory.lower_bound import LowerBound, lower_bound_constant, lower_bound_rates
    from lsdt.theory.partial_bound import upper_bound_psi

_HOMES = {
    "AssumptionCheck": "assumptions",
    "Elimination": "assumptions",
    "FractionalDomination": "domination",
    "GravesLai": "graves_lai",
    "LowerBound": "lower_bound",
    "UpperBound": "bound_curves",
    "check_assumptions": "assumptions",
    "elimination_probability": "assumptions",
    "fractional_domination": "domination",
    "graves_lai_constant": "graves_lai",
    "lower_bound_constant": "lower_bound",
    "lower_bound_rates": "lower_bound",
    "upper_bound_csi": "complete_bound",
    "upper_bound_psi": "partial_bound",
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
