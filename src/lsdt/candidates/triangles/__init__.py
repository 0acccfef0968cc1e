"""Partial information, the paper's rule: an arm that is similar to two dissimilar arms is not the best.

`rule` is the method and `thresholds` the same with a threshold a pair; `wrong_relations` keeps a stated risk,
`conflict` is a small contradiction. The kernels: rows, windows, matchings.
"""
