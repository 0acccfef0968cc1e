"""Regret of the policies, Thompson sampling, and the tables of running times."""
