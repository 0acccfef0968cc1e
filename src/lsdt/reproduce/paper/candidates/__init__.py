"""The sizes of B* and B0, and the two worked pictures."""
