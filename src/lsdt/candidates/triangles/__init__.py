"""Partial information, the paper's rule: an arm that is similar to two dissimilar arms is not the best.

`rule` is the method. `witnesses` finds the pairs that exclude an arm; `thresholds` does so where every pair
may have a threshold of its own. `wrong_relations` keeps a stated risk, `conflict` is a small contradiction.
The kernels: rows, windows, matchings.
"""
