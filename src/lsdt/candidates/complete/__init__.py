"""Complete information: exactly the arms that can be the best.

`proper_order` finds the order of the arms, `anchors` the classes at its ends (Theorem 1), `interval_model`
the intervals that prove it, `recognition` says why there is none, `gap_bounds` how far below the others lie.
"""
