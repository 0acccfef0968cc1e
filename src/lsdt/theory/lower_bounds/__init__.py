"""Lower bounds: Theorem 3 (`lower_bound`, checked by `p1_programme`) and the exact constant (`graves_lai`).

`alternatives` describes the other means that fit the graph, `cutting_planes` finds the least regret that
excludes them, `linear_programme` wraps the solver.
"""
