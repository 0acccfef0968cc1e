"""The paper's rule for partial information: an arm that is similar to two dissimilar arms is not the best.

`method` runs `rule`, after `range_pairs` has read ranges as pairs. `witnesses` finds the pairs that exclude
an arm, `thresholds` the same with a threshold per pair. `wrong_relations` excludes arms at a stated risk if
relations may be wrong; `conflict` finds a small contradiction. The kernels work on rows, windows and
matchings.
"""
