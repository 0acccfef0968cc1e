"""Orientation: the order of all dissimilar pairs, found once for all arms together.

`growth` finds it class by class, and `sweeps` over all arms complete a large class. `reflections` takes the
two reflections of a class and computes levels, means and bounds on gaps. `growth_log` and `proofs` explain
why an arm is out.
"""

from lsdt.candidates.propagation.orientation.growth import Orientation, orient
from lsdt.candidates.propagation.orientation.growth_kernel import connected_parts
from lsdt.candidates.propagation.orientation.growth_log import Log
from lsdt.candidates.propagation.orientation.proofs import (
    explain_both_reflections,
    explain_model,
    explain_top_by_log,
)

__all__ = [
    "Log",
    "Orientation",
    "connected_parts",
    "explain_both_reflections",
    "explain_model",
    "explain_top_by_log",
    "orient",
]
