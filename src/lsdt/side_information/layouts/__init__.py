"""How side information is held: stored pairs (`adjacency`) or windows over sorted means (`windows`).

`stores` puts both behind one interface. `thresholds` are those of single pairs, `integer_steps` the same
without rounding; `reveal` hides or corrupts relations by coins, `materialise` writes them out, `subset` keeps
some arms.
"""
