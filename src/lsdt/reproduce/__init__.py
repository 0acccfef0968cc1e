"""Reproduction of the paper: figures, tables and checks, with the claims that they decide.

`runner` runs the parts that `registry` lists. `framework/` holds the building blocks of parts, `page/` the
HTML report, `paper/` the figures and tables, `theorems/` checks of the paper's theorems, and `beyond/`
studies that go beyond the paper.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "Reproduction",
    "Request",
    "reproduce",
]
