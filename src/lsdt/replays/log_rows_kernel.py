"""Compiled part of `log_rows`: tallies of every item over some rows of a log."""

from __future__ import annotations

from lsdt.kernel import Array, compiled


@compiled
def tally_rows(
    starts: Array,
    items: Array,
    ratings: Array,
    weights: Array,
    rows: Array,
    counts: Array,
    totals: Array,
    sums: Array,
) -> None:
    """Add the ratings of some rows to the counts, weights and weighted sums of their items.

    If `weights` is empty, all weights are 1.
    """
    for number in range(len(rows)):
        for place in range(starts[rows[number]], starts[rows[number] + 1]):
            weight = weights[place] if len(weights) > 0 else 1.0
            counts[items[place]] += 1
            totals[items[place]] += weight
            sums[items[place]] += weight * ratings[place]
