"""What several policies share.

`tallies` counts rewards; `class_then_arm` is the choice of LSDT-CSI; `truncation` and `light_tails` serve
unusual tails; `closure_costs` and `closure_tangents` the policies on gaps.
"""
