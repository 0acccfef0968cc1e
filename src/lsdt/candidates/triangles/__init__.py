"""Partial information, the paper's rule: an arm that is similar to two dissimilar arms is not the best.

`method` runs `rule`, after `range_pairs` has read ranges as pairs. `witnesses` finds the pairs that exclude
an arm; `thresholds` does so where every pair may have its own threshold. `wrong_relations`
keeps to a stated risk, `conflict` finds a small contradiction. The kernels work on rows, windows and
matchings.
"""
