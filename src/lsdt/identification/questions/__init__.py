"""Which pairs to ask about: `votes` count answers, `stage` picks the arms to look at, and two ways to choose.

`skeleton` is for similar and dissimilar answers, with `order_classes`; `comparisons` for answers that say
which arm is the better one.
"""
