"""lsdt: learn which of very many arms is best when some pairs are known to be similar or dissimilar.

Names are loaded when first used, so that ``import lsdt`` and ``lsdt --help`` stay instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsdt import errors, report
    from lsdt.candidates import CandidateSet, candidate_set, recognise
    from lsdt.side_information import SideInformation

__version__ = "0.1.0"
__all__ = ["CandidateSet", "SideInformation", "candidate_set", "errors", "recognise", "report"]

_MODULES = ("errors", "report")
_HOMES = {
    "CandidateSet": "lsdt.candidates",
    "SideInformation": "lsdt.side_information",
    "candidate_set": "lsdt.candidates",
    "recognise": "lsdt.candidates",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"lsdt.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'lsdt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
