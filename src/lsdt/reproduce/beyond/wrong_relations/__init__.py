"""Contests in which some relations are wrong: who loses what, and who loses the best arm."""
