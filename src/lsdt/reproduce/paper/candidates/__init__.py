"""The sizes of B* and B0, and the two worked examples.

Figs. 1 and 2 are `example_uig`, Fig. 3 `example_partial`, Fig. 4 `fig_bstar`, Fig. 5 `fig_b0`.
"""
