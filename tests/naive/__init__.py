"""Slow and obvious: straight from the definitions, no cleverness, nothing shared with the package."""
