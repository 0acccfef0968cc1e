"""Compiled side of :mod:`lsdt.side_information.layouts.reveal`: coins decide which relations are seen.

Relations are coded 1 (similar), -1 (dissimilar) and 0 (unknown).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt.kernel import Array, compiled, inlined, pair_coin

# The kinds of layers, as codes that compiled code compares.
REVEAL = 0
REVEAL_BY_DISTANCE = 1
CORRUPT = 2


class CoinLayers(NamedTuple):
    """Layers of coins in the order in which they apply; every array has one entry per layer.

    ``similar`` and ``dissimilar`` are coin thresholds; ``tables[layer, 0]`` holds thresholds over the
    distance in epsilons from 0 to 1, ``tables[layer, 1]`` over its inverse, for the dissimilar pairs.
    """

    kind: Array
    key: Array
    similar: Array
    dissimilar: Array
    tables: Array


class CompleteBase(NamedTuple):
    """Complete relations as windows (``is_windows``) or as rows of similar neighbours."""

    is_windows: bool
    order: Array
    position: Array
    left_end: Array
    right_end: Array
    means: Array
    epsilon: float
    indptr: Array
    indices: Array


@inlined
def _table_threshold(table: Array, fraction: float) -> float:
    place = min(max(fraction, 0.0), 1.0) * (len(table) - 1)
    below = min(int(place), len(table) - 2)
    return float(table[below] + (place - below) * (table[below + 1] - table[below]))


@inlined
def relation_after(layers: CoinLayers, relation: int, distance: float, arm_a: int, arm_b: int) -> int:
    """Return the relation after every layer, given the true one; `distance` is in epsilons."""
    for layer in range(len(layers.kind)):
        if relation == 0:
            return relation
        coin = pair_coin(layers.key[layer], arm_a, arm_b)
        kind = layers.kind[layer]
        if kind == REVEAL_BY_DISTANCE:
            if relation > 0:
                threshold = _table_threshold(layers.tables[layer, 0], distance)
            else:
                threshold = _table_threshold(layers.tables[layer, 1], 1.0 / max(distance, 1e-300))
            if coin >= threshold:
                return 0
        else:
            below = coin < (layers.similar[layer] if relation > 0 else layers.dissimilar[layer])
            if kind == CORRUPT:
                relation = -relation if below else relation
            elif not below:
                return 0
    return relation


@inlined
def _fill_row(base: CompleteBase, layers: CoinLayers, arm: int, row: Array, first: int) -> None:
    """Write the relation of `arm` to every arm into `row`; arms before `first` get the true one, no coins."""
    row[:] = -1
    if base.is_windows:
        position = base.position[arm]
        for other in range(base.left_end[position], base.right_end[position]):
            row[base.order[other]] = 1
    else:
        for entry in range(base.indptr[arm], base.indptr[arm + 1]):
            row[base.indices[entry]] = 1
    row[arm] = 0
    if len(layers.kind) == 0:
        return
    for other in range(first, len(row)):
        distance = abs(base.means[arm] - base.means[other]) / base.epsilon if base.is_windows else 0.0
        if row[other] != 0:
            row[other] = relation_after(layers, row[other], distance, arm, other)


@inlined
def _count_row(row: Array) -> tuple[int, int]:
    """Return the numbers of similar and of dissimilar arms in a row."""
    n_similar, n_dissimilar = 0, 0
    for other in range(len(row)):
        n_similar += row[other] > 0
        n_dissimilar += row[other] < 0
    return n_similar, n_dissimilar


@inlined
def _write_row(row: Array, similar: Array, at_similar: int, dissimilar: Array, at_dissimilar: int) -> None:
    """Write the similar and dissimilar arms of a row from two places on; an empty array is not written."""
    for other in range(len(row)):
        if row[other] > 0 and len(similar) > 0:
            similar[at_similar] = other
            at_similar += 1
        elif row[other] < 0 and len(dissimilar) > 0:
            dissimilar[at_dissimilar] = other
            at_dissimilar += 1


@compiled
def count_relations(
    base: CompleteBase,
    layers: CoinLayers,
    n_arms: int,
    first: int,
    last: int,
    n_similar: Array,
    n_dissimilar: Array,
) -> None:
    """Count the relations of the arms ``first .. last - 1`` into the two arrays."""
    row = np.empty(n_arms, np.int8)
    for arm in range(first, last):
        _fill_row(base, layers, arm, row, 0)
        n_similar[arm], n_dissimilar[arm] = _count_row(row)


@compiled
def write_relations(
    base: CompleteBase,
    layers: CoinLayers,
    n_arms: int,
    first: int,
    last: int,
    similar_start: Array,
    similar: Array,
    dissimilar_start: Array,
    dissimilar: Array,
) -> None:
    """Write the sorted neighbours of the arms ``first .. last - 1``; an empty array is not written."""
    row = np.empty(n_arms, np.int8)
    for arm in range(first, last):
        _fill_row(base, layers, arm, row, 0)
        _write_row(row, similar, similar_start[arm], dissimilar, dissimilar_start[arm])


@compiled
def list_relations(base: CompleteBase, layers: CoinLayers, n_arms: int) -> tuple[Array, Array, Array, Array]:
    """Return both relations of few arms as sorted rows; a table of all pairs saves tossing coins twice."""
    table = np.empty((n_arms, n_arms), np.int8)
    similar_start, dissimilar_start = np.zeros(n_arms + 1, np.int64), np.zeros(n_arms + 1, np.int64)
    for arm in range(n_arms):
        row = table[arm]
        _fill_row(base, layers, arm, row, arm)
        for other in range(arm):
            row[other] = table[other, arm]
        n_similar, n_dissimilar = _count_row(row)
        similar_start[arm + 1] = similar_start[arm] + n_similar
        dissimilar_start[arm + 1] = dissimilar_start[arm] + n_dissimilar
    similar = np.empty(similar_start[n_arms], np.int32)
    dissimilar = np.empty(dissimilar_start[n_arms], np.int32)
    for arm in range(n_arms):
        _write_row(table[arm], similar, similar_start[arm], dissimilar, dissimilar_start[arm])
    return similar_start, similar, dissimilar_start, dissimilar


@inlined
def _similar_in_window(base: CompleteBase, layers: CoinLayers, arm: int, other: int) -> bool:
    """Return whether an arm in the window of another is similar to it after the layers."""
    distance = abs(base.means[arm] - base.means[other]) / base.epsilon
    return arm != other and relation_after(layers, 1, distance, arm, other) > 0


@compiled
def count_in_windows(base: CompleteBase, layers: CoinLayers, first: int, last: int, counts: Array) -> None:
    """Count the similar neighbours of the arms ``first .. last - 1``, if no layer corrupts relations."""
    for arm in range(first, last):
        position = base.position[arm]
        for place in range(base.left_end[position], base.right_end[position]):
            counts[arm] += _similar_in_window(base, layers, arm, base.order[place])


@compiled
def write_in_windows(
    base: CompleteBase, layers: CoinLayers, first: int, last: int, start: Array, similar: Array
) -> None:
    """Write the sorted similar neighbours of the arms ``first .. last - 1``, those of `count_in_windows`."""
    for arm in range(first, last):
        position = base.position[arm]
        found = start[arm]
        for place in range(base.left_end[position], base.right_end[position]):
            if _similar_in_window(base, layers, arm, base.order[place]):
                similar[found] = base.order[place]
                found += 1
        similar[start[arm] : found].sort()


@compiled
def write_bits(
    base: CompleteBase,
    layers: CoinLayers,
    n_arms: int,
    first: int,
    last: int,
    similar_bits: Array,
    dissimilar_bits: Array,
) -> None:
    """Set bit ``b`` of row ``a`` where the arms are similar, and likewise where they are dissimilar."""
    row = np.empty(n_arms, np.int8)
    for arm in range(first, last):
        _fill_row(base, layers, arm, row, 0)
        for word in range(similar_bits.shape[1]):
            similar = np.uint64(0)
            dissimilar = np.uint64(0)
            for bit in range(min(64, n_arms - 64 * word)):
                relation = row[64 * word + bit]
                similar |= np.uint64(relation > 0) << np.uint64(bit)
                dissimilar |= np.uint64(relation < 0) << np.uint64(bit)
            similar_bits[arm, word] = similar
            dissimilar_bits[arm, word] = dissimilar


@compiled
def relations_of_pairs(layers: CoinLayers, pairs: Array, relation: int) -> Array:
    """Apply the layers to listed pairs that all have this `relation`; return the relations that result."""
    left = np.empty(len(pairs), np.int8)
    for pair in range(len(pairs)):
        left[pair] = relation_after(layers, relation, 0.0, pairs[pair, 0], pairs[pair, 1])
    return left


@compiled
def relation_of_pair(layers: CoinLayers, relation: int, distance: float, arm_a: int, arm_b: int) -> int:
    """Return the relation of a single pair after the layers."""
    return relation_after(layers, relation, distance, arm_a, arm_b)
