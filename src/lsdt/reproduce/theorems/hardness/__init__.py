"""The reductions behind Theorem 4: `formulas` builds them, `reductions` runs them, two parts show them."""
