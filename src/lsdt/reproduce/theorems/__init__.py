"""Checks of what the paper proves; `hardness/` holds the reductions behind Theorem 4."""
