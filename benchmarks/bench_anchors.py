"""Anchors: complete information, explicit and implicit, against scipy's search and numpy's sort."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

import lsdt
from timing import Row, in_turns, peak_mib, timed


def _uniform(n_arms: int, mean_degree: float) -> lsdt.SideInformation:
    means = np.random.default_rng(0).random(n_arms)
    return lsdt.from_means(means, mean_degree / (2 * n_arms))


def _two_sweeps(graph):  # type: ignore[no-untyped-def]
    n_arms = len(graph.indptr) - 1
    weights = np.ones(len(graph.indices))  # float64: what scipy would convert to on every call
    matrix = csr_array((weights, graph.indices, graph.indptr.astype(np.int32)), shape=(n_arms, n_arms))

    def run() -> None:
        order = breadth_first_order(matrix, 0, return_predecessors=False)
        breadth_first_order(matrix, order[-1], return_predecessors=False)

    return run


def explicit_ten_million() -> Row:
    side = _uniform(100_000, 200).explicit()
    lsdt.candidate_set(_uniform(100, 10).explicit())  # compiles
    peak = peak_mib(lambda: lsdt.candidate_set(side))
    ours, scipy = in_turns(lambda: lsdt.candidate_set(side), _two_sweeps(side.store.similar), 9)
    return Row(
        f"anchors, explicit, {side.n_similar:.1e} pairs (K = 10^5), recognition included",
        ours,
        "scipy breadth_first_order, twice",
        scipy,
        f"{ours / scipy:.2f} x",
        "<= 1.4 x",
        ours <= 1.4 * scipy,
        peak,
    )


def explicit_hundred_million() -> Row:
    seconds = []

    def whole() -> None:
        pairs = _uniform(1_000_000, 200).similar_pairs()
        side = lsdt.complete(1_000_000, pairs)
        seconds.append(timed(lambda: lsdt.candidate_set(side)))

    lsdt.candidate_set(_uniform(100, 10).explicit())
    peak = peak_mib(whole, whole_process=True)
    return Row(
        "anchors, explicit, 10^8 pairs (K = 10^6); memory from the list of pairs on",
        seconds[0],
        "",
        None,
        f"{peak / 1024:.2f} GiB",
        "<= 4 GiB",
        peak <= 4096,
        peak,
    )


def implicit_against_explicit() -> Row:
    implicit = _uniform(100_000, 200)
    explicit = implicit.explicit()
    lsdt.candidate_set(_uniform(100, 10))
    peak = peak_mib(lambda: lsdt.candidate_set(implicit))
    ours, other = in_turns(lambda: lsdt.candidate_set(implicit), lambda: lsdt.candidate_set(explicit), 9)
    return Row(
        "anchors, implicit, the same graph of 10^7 pairs",
        ours,
        "anchors, explicit",
        other,
        f"{other / ours:.0f} x",
        ">= 50 x",
        other >= 50 * ours,
        peak,
    )


def implicit_million() -> Row:
    means = np.random.default_rng(0).random(1_000_000)

    def whole() -> None:
        lsdt.candidate_set(lsdt.from_means(means, 0.01))

    lsdt.candidate_set(_uniform(100, 10))
    peak = peak_mib(whole)
    ours, sort = in_turns(whole, lambda: np.sort(means), 7)
    return Row(
        "anchors, implicit, K = 10^6, from_means included",
        ours,
        "numpy.sort of the means",
        sort,
        f"{ours / sort:.2f} x, {peak:.0f} MiB",
        "<= 6 x, < 100 MB",
        ours <= 6 * sort and peak * 2**20 < 100e6,
        peak,
    )


WORKS = [explicit_ten_million, explicit_hundred_million, implicit_against_explicit, implicit_million]
