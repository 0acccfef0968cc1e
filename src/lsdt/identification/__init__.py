"""Which arm is the best, and when that is known.

`identify` plays until the best arm is known, or as often as it may. `next_pairs` chooses pairs of arms to ask
about, and an `Inquiry` asks on, answer by answer; how pairs are chosen is in `questions/`.
"""

from lsdt.identification.identify import Identification, identify
from lsdt.identification.inquiry import Inquiry, NextPairs, PairQuestion, next_pairs

__all__ = ["Identification", "Inquiry", "NextPairs", "PairQuestion", "identify", "next_pairs"]
