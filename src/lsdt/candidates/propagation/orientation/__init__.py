"""Orientation: the order of all dissimilar pairs, found once for all arms together.

`growth` finds it, class by class, and `sweeps` of all arms complete a class that is large; `images` turn
classes and tell levels, means and bounds on gaps; `growth_log` and `proofs` say why an arm is out.
"""

from lsdt.candidates.propagation.orientation.growth import Orientation, orient
from lsdt.candidates.propagation.orientation.growth_kernel import connected_parts
from lsdt.candidates.propagation.orientation.growth_log import Log
from lsdt.candidates.propagation.orientation.proofs import explain_both_images, explain_model

__all__ = ["Log", "Orientation", "connected_parts", "explain_both_images", "explain_model", "orient"]
