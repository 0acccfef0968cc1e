"""The reductions behind Theorem 4: formulas, what they become, and both answers."""
