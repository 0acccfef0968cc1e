"""Orientation: the order of all dissimilar pairs, found once for all arms together.

`growth` finds it, class by class; `images` turn classes and tell levels, means and bounds on gaps;
`growth_log` and `proofs` say why an arm is out.
"""

from lsdt.candidates.propagation.orientation.growth import Orientation, orient
from lsdt.candidates.propagation.orientation.growth_log import Log
from lsdt.candidates.propagation.orientation.proofs import explain_both_images, explain_model

__all__ = ["Log", "Orientation", "explain_both_images", "explain_model", "orient"]
