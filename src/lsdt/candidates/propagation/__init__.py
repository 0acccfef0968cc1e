"""Partial information, the stronger rule: assume that an arm is the best and derive what follows.

Where there are better pairs and ranges, `order` comes first; it goes along `difference_links`. `method` runs
the rule on `constraints`, after `orientation`, which looks at all arms at once; `gap_bounds` bounds how far
the others lie below a candidate. `derivation` proves that an arm cannot be the best, `exclusion` puts the
proof in words. `contradiction` finds the conflict when no arm is left.
"""
