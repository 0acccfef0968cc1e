"""Propagation: from pairs to the answer, in stages, against the closure of all differences for every arm."""

from __future__ import annotations

import numpy as np

import lsdt
from lsdt.candidates.propagation.closure_kernel import eliminate_by_closure
from lsdt.candidates.propagation.constraints import system_around
from lsdt.kernel.parallel import over_blocks
from timing import Row, in_turns, peak_mib, timed


def _pairs(n_arms: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    means = np.random.default_rng(0).uniform(0.1, 1.0, n_arms)
    side = lsdt.from_means(means, 0.1).reveal(share, share).explicit()
    return side.similar_pairs(), side.dissimilar_pairs()


def _closures(side: lsdt.SideInformation) -> None:
    """The last stage alone, on every arm."""
    arms = np.arange(side.n_arms)
    system, possible = system_around(side, arms), np.ones(side.n_arms, bool)
    no_table = np.empty((0, 0), np.int64)
    over_blocks(
        lambda first, last: eliminate_by_closure(
            system.constraints, arms, first, last, side.n_arms, side.n_arms, possible, no_table, no_table
        ),
        side.n_arms,
        worth_sharing=9,
        smallest=8,
    )


def _row(n_arms: int, share: float, most_seconds: float, against_closures: bool) -> Row:
    small = lsdt.SideInformation(50, *_pairs(50, 0.5), epsilon=0.1)
    lsdt.candidate_set(small, "propagation")  # compiles
    pairs = _pairs(n_arms, share)

    def answer() -> lsdt.candidates.CandidateSet:
        return lsdt.candidate_set(lsdt.SideInformation(n_arms, *pairs, epsilon=0.1), "propagation")

    found, peak = answer(), peak_mib(answer)
    if against_closures:
        side = lsdt.SideInformation(n_arms, *pairs, epsilon=0.1)
        ours, other = in_turns(answer, lambda: _closures(side), 5)
        named = "closures of all arms"
    else:
        side = lsdt.SideInformation(n_arms, *pairs, epsilon=0.1)
        ours, other = timed(answer), timed(lambda: lsdt.candidate_set(side, "triangles"))
        named = "triangles alone"
    sizes = ", ".join(
        f"{stage.name} {stage.examined:,} to {stage.examined - stage.excluded:,}" for stage in found.stages
    )
    return Row(
        f"propagation, K = {n_arms:,}, p = {share:g}, epsilon .1, {len(found):,} arms left ({sizes})",
        ours,
        named,
        other,
        f"{1000 * ours:.3g} ms, {other / ours:.2g} x",
        f"<= {1000 * most_seconds:g} ms",
        ours <= most_seconds,
        peak,
    )


def hundred_half() -> Row:
    return _row(100, 0.5, 0.005, True)


def hundred_fifth() -> Row:
    return _row(100, 0.2, 0.1, True)


def thousand_half() -> Row:
    return _row(1_000, 0.5, 2.0, False)


def thousand_twentieth() -> Row:
    return _row(1_000, 0.05, 2.0, False)


def ten_thousand() -> Row:
    return _row(10_000, 0.01, 60.0, False)


WORKS = [hundred_half, hundred_fifth, thousand_half, thousand_twentieth, ten_thousand]
