"""Beyond the paper.

`contests/` of all policies, `wrong_relations/`, `massive/` numbers of arms, `identification/` of the best
arm, and means that change, `drift/`.
"""
