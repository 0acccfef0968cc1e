"""Triangles: dense, sparse and implicit partial information, against scipy's sparse product."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

import lsdt
from lsdt.candidates.triangles.witnesses import _bits_of_windows, _scan_bits
from timing import Row, in_turns, peak_mib, timed


def _matrix(rows, n_arms: int):  # type: ignore[no-untyped-def]
    return csr_array((np.ones(len(rows.indices), np.float32), rows.indices, rows.indptr), (n_arms, n_arms))


def _product(side: lsdt.SideInformation):  # type: ignore[no-untyped-def]
    """The triangle rule as matrices: arm i goes when row i of (S D) * S is not zero."""
    similar, dissimilar = (_matrix(rows, side.n_arms) for rows in (side.store.similar, side.store.dissimilar))
    return lambda: (similar @ dissimilar).multiply(similar).sum(axis=1) == 0


def _compile() -> None:
    """Run every kernel once on a few arms, so that memory and time below are those of the work alone."""
    side = lsdt.from_means(np.linspace(0, 1, 100), 0.2).reveal(0.5, 0.5)
    _scan_bits(*_bits_of_windows(side.store), np.full((100, 1, 2), -1, np.int32))
    lsdt.candidate_set(side, "triangles")
    lsdt.candidate_set(side.explicit(), "triangles")
    lsdt.candidate_set(side.reveal(0.02, 0.02, seed=1).explicit(), "triangles")


def _against_product(work: str, side: lsdt.SideInformation, factor: float, repeats: int) -> Row:
    _compile()
    peak = peak_mib(lambda: lsdt.candidate_set(side, "triangles"))
    left = lsdt.candidate_set(side, "triangles").arms
    product = _product(side)
    assert np.array_equal(np.flatnonzero(product()), left)
    ours, scipy = in_turns(lambda: lsdt.candidate_set(side, "triangles"), product, repeats)
    return Row(
        f"{work}: {len(left):,} arms left",
        ours,
        "scipy sparse product",
        scipy,
        f"{scipy / ours:.0f} x",
        f">= {factor:g} x",
        scipy >= factor * ours,
        peak,
    )


def dense() -> Row:
    means = np.random.default_rng(0).random(5000)
    side = lsdt.from_means(means, 0.2).reveal(0.5, 0.5).explicit()
    return _against_product("triangles, dense, K = 5,000, p = .5, epsilon .2", side, 200, 1)


def sparse() -> Row:
    n_arms, relations = 100_000, 100
    rng = np.random.default_rng(0)
    means = rng.random(n_arms)
    pairs = rng.integers(0, n_arms, (n_arms * relations // 2, 2), np.int32)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    near = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]]) < 0.1
    side = lsdt.SideInformation(n_arms, pairs[near], pairs[~near], epsilon=0.1)
    return _against_product(
        "triangles, sparse, K = 10^5, 100 random relations an arm, epsilon .1", side, 5, 3
    )


def bits() -> Row:
    means = np.random.default_rng(0).random(100_000)
    side = lsdt.from_means(means, 0.2).reveal(0.5, 0.5)
    _compile()
    witnesses = np.full((side.n_arms, 1, 2), -1, np.int32)
    seconds = []

    def whole() -> None:
        similar, dissimilar = _bits_of_windows(side.store)
        seconds.append(timed(lambda: _scan_bits(similar, dissimilar, witnesses)))

    peak = peak_mib(whole, whole_process=True)
    assert np.array_equal(np.flatnonzero(witnesses[:, 0, 0] < 0), lsdt.candidate_set(side, "triangles").arms)
    return Row(
        "triangles, bit rows made in place, K = 10^5, p = .5, epsilon .2",
        seconds[0],
        "",
        None,
        f"{peak / 1024:.2f} GiB",
        "<= 3 GiB",
        peak <= 3072,
        peak,
    )


def implicit() -> Row:
    means = np.random.default_rng(0).random(1_000_000)
    side = lsdt.from_means(means, 0.01).reveal(0.5, 0.5)
    _compile()
    peak = peak_mib(lambda: lsdt.candidate_set(side, "triangles"))
    ours, sort = in_turns(lambda: lsdt.candidate_set(side, "triangles"), lambda: np.sort(means), 5)
    return Row(
        "triangles, implicit, K = 10^6, p = .5, epsilon .01 (5 10^9 similar pairs, none stored)",
        ours,
        "numpy.sort of the means",
        sort,
        f"{ours / sort:.2f} x",
        "<= 15 x",
        ours <= 15 * sort,
        peak,
    )


WORKS = [dense, bits, sparse, implicit]
