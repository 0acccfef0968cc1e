"""The strongest quick rule for partial information: assume that an arm is the best and derive what follows.

If there are better pairs or ranges, `order` runs first, on `difference_links`. Then `orientation` considers
all arms at once, and `method` runs the rule arm by arm on `constraints`; `parts` runs it in parallel on parts
of the arms that no relation connects. `gap_bounds` bounds how far the others lie below a candidate.
`derivation` proves that an arm cannot be the best, `exclusion` puts the proof into words. `contradiction`
finds the conflict when no arm is left.
"""
