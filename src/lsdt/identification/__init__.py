"""Which arm is the best, and when that is known.

`identify` plays until the best arm is known, or as often as it may. `next_pairs` chooses pairs of arms to ask
about, and an `Inquiry` asks on, answer by answer; how pairs are chosen is in `questions/`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
