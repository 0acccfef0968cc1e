"""Policies: which arm to play next. One file each; `registry` lists them.

`policy` is what users ask for, `specification` what a policy's file declares, `situation` what it knows
before the first round, `prior` the rewards that it may learn before. The policies are in `paper/`,
`classic/`, `graph/` and `beyond/`; what several share is in `parts/`.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "Choice",
    "Number",
    "Policy",
    "Situation",
    "Specification",
    "available",
    "constant",
    "register",
]
