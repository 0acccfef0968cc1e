"""The paper redone: figures, tables and checks, with the claims that they decide.

`runner` runs the parts that `registry` lists. `framework/` holds what parts are built from, `page/` the
HTML report, `paper/` the figures and tables, `theorems/` the checks of what is proved, and `beyond/` what the
paper does not do.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "Reproduction",
    "Request",
    "reproduce",
]
