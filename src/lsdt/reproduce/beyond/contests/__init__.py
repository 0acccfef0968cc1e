"""Contests of every policy there is, one setting each, and runs that keep losing (`long`)."""
