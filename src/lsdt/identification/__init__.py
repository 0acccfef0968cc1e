"""Which arm is the best, and when that is known.

`identify` plays until the best arm is known, or as often as it may.
"""

from lsdt.identification.identify import Identification, identify

__all__ = ["Identification", "identify"]
