"""Checks of the paper's theorems and remarks; `hardness/` holds the reductions behind Theorem 4."""
