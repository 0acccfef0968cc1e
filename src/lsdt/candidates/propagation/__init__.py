"""Partial information, the stronger rule: what follows from supposing an arm the best.

`method` runs it on `constraints`; `gap_bounds` is what it knows of those left. `derivation`
shows why an arm is out, `exclusion` puts it in words; `contradiction` serves when no arm is left.
"""
