"""Which pairs to ask about, given the answers so far.

`votes` and `range_votes` count answers; `known_pairs` selects arms and what is known about them. Pairs are
chosen by `skeleton` (with `order_classes`) for answers similar or dissimilar, by `comparisons` for answers
that say which arm is better, and by `differences` for ranges.
"""
