"""Which pairs to ask about when answers are facts, given the answers so far.

`votes` and `range_votes` count answers; `known_pairs` selects arms and what is known about them. Pairs are
chosen by `skeleton` (with `order_classes`) for answers similar or dissimilar, by `differences` for ranges.
"""
