"""Matching in a general graph, maximum or of a given size (Edmonds' blossom algorithm)."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, inlined


@compiled
def _common_base(mate: Array, base: Array, parent: Array, first: int, second: int) -> int:
    """Return the first common base on the paths of two outer vertices to the root."""
    on_way = np.zeros(len(mate), np.bool_)
    while True:
        first = base[first]
        on_way[first] = True
        if mate[first] == -1:
            break
        first = parent[mate[first]]
    while True:
        second = base[second]
        if on_way[second]:
            return second
        second = parent[mate[second]]


@compiled
def _mark_way(
    mate: Array, base: Array, parent: Array, in_blossom: Array, vertex: int, stop: int, child: int
) -> None:
    while base[vertex] != stop:
        in_blossom[base[vertex]] = True
        in_blossom[base[mate[vertex]]] = True
        parent[vertex] = child
        child = mate[vertex]
        vertex = parent[mate[vertex]]


@compiled
def _free_end(indptr: Array, indices: Array, mate: Array, root: int, parent: Array) -> int:
    """Search for an augmenting path from `root`; return its other end or -1."""
    n_vertices = len(mate)
    parent[:] = -1
    base = np.arange(n_vertices)
    is_outer = np.zeros(n_vertices, np.bool_)
    queue = np.empty(n_vertices, np.int64)
    queue[0] = root
    is_outer[root] = True
    head, tail = 0, 1
    while head < tail:
        vertex = queue[head]
        head += 1
        for entry in range(indptr[vertex], indptr[vertex + 1]):
            other = indices[entry]
            if base[vertex] == base[other] or mate[vertex] == other:
                continue
            if other == root or (mate[other] != -1 and parent[mate[other]] != -1):
                stop = _common_base(mate, base, parent, vertex, other)
                in_blossom = np.zeros(n_vertices, np.bool_)
                _mark_way(mate, base, parent, in_blossom, vertex, stop, other)
                _mark_way(mate, base, parent, in_blossom, other, stop, vertex)
                for inner in range(n_vertices):
                    if in_blossom[base[inner]]:
                        base[inner] = stop
                        if not is_outer[inner]:
                            is_outer[inner] = True
                            queue[tail] = inner
                            tail += 1
            elif parent[other] == -1:
                parent[other] = vertex
                if mate[other] == -1:
                    return np.int64(other)  # type: ignore[return-value]
                is_outer[mate[other]] = True
                queue[tail] = mate[other]
                tail += 1
    return -1


@compiled
def grow_matching(indptr: Array, indices: Array, mate: Array, enough: int) -> int:
    """Augment the matching `mate` (-1 where free) to `enough` pairs or a maximum; return its size."""
    size = 0
    for vertex in range(len(mate)):
        size += mate[vertex] >= 0
    size //= 2
    parent = np.empty(len(mate), np.int64)
    for root in range(len(mate)):
        if size >= enough:
            return size
        if mate[root] >= 0:
            continue
        end = _free_end(indptr, indices, mate, root, parent)
        if end < 0:
            continue
        size += 1
        while end >= 0:
            before = parent[end]
            following = mate[before]
            mate[end] = before
            mate[before] = end
            end = following
    return size


@inlined
def write_pairs(arms: Array, mate: Array, enough: int, out: Array) -> None:
    """Write the first `enough` matched pairs of `arms`, whose partners are at ``mate``, into `out`."""
    written = 0
    for number in range(len(mate)):
        if mate[number] > number and written < enough:
            out[written, 0], out[written, 1] = arms[number], arms[mate[number]]
            written += 1
