"""Partial information, the stronger rule: assume that an arm is the best and derive what follows.

Where there are better pairs and ranges, `order` comes first; it works on `difference_links`. `method` runs
the rule on `constraints`, after `orientation`, which considers all arms at once; `parts` does so in parallel
for parts that no relation joins. `gap_bounds` bounds how far the others lie below a candidate. `derivation`
proves that an arm cannot be the best, `exclusion` puts the proof into words. `contradiction` finds the
conflict when no arm is left.
"""
