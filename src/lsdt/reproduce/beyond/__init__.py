"""Studies beyond the paper.

`contests/` compares all policies, `wrong_relations/` adds wrong relations, `massive/` has very many arms,
`identification/` finds the best arm, `graphs/` meets rivals from papers on graph bandits, `drift/` has means
that change, `inquiry/` chooses pairs to ask about, and `pairs/` gets side information from judges and
comparisons.
"""
