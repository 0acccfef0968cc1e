"""Policies: which arm to play next. One file each; `registry` lists them."""

from lsdt.policies.always import constant
from lsdt.policies.policy import Policy
from lsdt.policies.registry import available, register
from lsdt.policies.specification import Choice, Number, Specification

__all__ = ["Choice", "Number", "Policy", "Specification", "available", "constant", "register"]
