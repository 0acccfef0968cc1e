"""Which pairs to ask about: `votes` count answers, `known_pairs` picks the arms, two ways choose the pairs.

`skeleton` is for similar and dissimilar answers, with `order_classes`; `comparisons` for answers that say
which arm is the better one.
"""
