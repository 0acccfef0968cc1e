"""Proven bounds on regret: the paper's programmes and bounds, and the exact lower bound.

`domination/` solves programme P2, `lower_bounds/` holds Theorem 3 and Graves and Lai, `upper_bounds/`
Theorems 2 and 6, and the regret of mixture closure. `assumptions` checks the assumptions of Theorem 5,
`solver` runs HiGHS on linear programmes.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "AssumptionCheck",
    "ClosureConstants",
    "Elimination",
    "FractionalDomination",
    "GravesLai",
    "LowerBound",
    "UpperBound",
    "check_assumptions",
    "closure_constants",
    "elimination_probability",
    "fractional_domination",
    "graves_lai_constant",
    "lower_bound_constant",
    "lower_bound_rates",
    "most_tries",
    "upper_bound_closure",
    "upper_bound_csi",
    "upper_bound_psi",
]
