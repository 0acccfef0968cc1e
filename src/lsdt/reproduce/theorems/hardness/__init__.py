"""The reductions behind Theorem 4: `formulas`, `reductions` with both answers, and the two parts."""
