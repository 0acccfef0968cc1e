"""Figures and tables of the paper: `candidates/`, `regret/` (with running times) and `jester/`."""
