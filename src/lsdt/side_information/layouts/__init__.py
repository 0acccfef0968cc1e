"""How side information is held: stored pairs (`adjacency`) or windows over sorted means (`windows`).

`stores` puts both behind one interface. `thresholds` holds a threshold per pair, `integer_steps` the same
without rounding, `ranges` bounds on signed differences. `reveal` hides or corrupts relations by coins,
`materialise` writes relations out, `subset` keeps some of the arms.
"""
