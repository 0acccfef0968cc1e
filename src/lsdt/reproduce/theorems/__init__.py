"""What the paper proves, beside what is measured; `hardness/` holds the reductions behind Theorem 4."""
