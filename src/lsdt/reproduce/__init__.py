"""The paper redone: figures, tables and checks, with the claims that they decide.

`runner` runs the parts that `registry` lists. `framework/` holds what parts are built from, `page/` the
HTML report, `paper/` the figures and tables, `theorems/` the checks of what is proved, and `beyond/` what the
paper does not do.
"""

from lsdt.reproduce.framework.experiment import Request
from lsdt.reproduce.runner import Reproduction, reproduce

__all__ = ["Reproduction", "Request", "reproduce"]
