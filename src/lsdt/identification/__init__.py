"""Which arm is the best, and when that is known.

`identify` plays until the best arm is known or the budget is used up. `next_pairs` chooses pairs of arms to
ask about; an `Inquiry` also takes the answers and chooses the next pairs. `questions/` does the choosing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
