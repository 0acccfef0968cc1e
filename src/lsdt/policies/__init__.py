"""Policies: which arm to play next. One file each; `registry` lists them.

`policy` is what users ask for, `specification` what a policy's file declares, `situation` what it knows
before the first round, `prior` the rewards that it may learn before. The policies are in `paper/`,
`classic/`, `graph/` and `beyond/`; what several share is in `parts/`.
"""

from lsdt.policies.always import constant
from lsdt.policies.policy import Policy
from lsdt.policies.registry import available, register
from lsdt.policies.specification import Choice, Number, Specification

__all__ = ["Choice", "Number", "Policy", "Specification", "available", "constant", "register"]
