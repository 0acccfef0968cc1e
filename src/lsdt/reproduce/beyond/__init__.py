"""Beyond the paper.

`contests/` of all policies, `wrong_relations/`, `massive/` numbers of arms, `identification/` of the best
arm, means that change (`drift/`), and which pairs to ask about (`inquiry/`).
"""
