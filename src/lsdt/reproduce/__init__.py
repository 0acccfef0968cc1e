"""The paper redone: one file per figure, table or check, with the claims it decides.

`campaign` runs the parts that `registry` lists. `framework/` is what parts are made of, `page/` the HTML
report, `paper/` the figures and tables, `theorems/` the checks of what is proved, `beyond/` what the paper
does not do.
"""

from lsdt.reproduce.campaign import Reproduction, reproduce
from lsdt.reproduce.framework.experiment import Request

__all__ = ["Reproduction", "Request", "reproduce"]
