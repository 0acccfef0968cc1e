"""Lower bounds: Theorem 3 (`lower_bound`, checked by `p1_programme`) and the exact constant (`graves_lai`).

`alternatives` are the other means that fit, `cutting_planes` the method, `linear_programme` the solver.
"""
