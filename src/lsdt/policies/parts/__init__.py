"""What several policies share.

`tallies` counts rewards; `epochs` are those of LSDT-PSI; `light_tails` and `truncation` serve light and heavy
tails, `closure_costs` and `closure_tangents` the policies on bounds of gaps.
"""
