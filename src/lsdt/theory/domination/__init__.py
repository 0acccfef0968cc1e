"""Programme P2, the fractional dominating set: `fractional` is the entry.

`twins` merges arms, `simplex` solves small graphs exactly, `primal_dual` large ones with a certificate.
"""
