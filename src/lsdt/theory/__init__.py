"""The paper's linear programmes and bounds."""

from lsdt.theory.domination import FractionalDomination, fractional_domination

__all__ = ["FractionalDomination", "fractional_domination"]
