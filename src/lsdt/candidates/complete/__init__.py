"""Complete information: exactly the arms that can be the best.

`proper_order` finds the order of the arms, `anchors` the classes at its ends (Theorem 1). `interval_model`
gives the intervals that prove the order, `recognition` shows why there is none, `gap_bounds` bounds how far
the other arms lie below the best.
"""
