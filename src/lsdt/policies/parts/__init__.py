"""What several policies share.

`tallies` counts rewards; `epochs` are those of LSDT-PSI; `light_tails` and `truncation` serve light and heavy
tails, `closure_costs`, `closure_tangents` and `cost_order` the policies on bounds of gaps.
"""
