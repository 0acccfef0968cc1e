"""The reductions behind Theorem 4: built in `formulas`, run in `reductions`, shown in the two parts."""
