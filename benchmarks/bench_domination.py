"""Programme P2, the fractional dominating set: proven to one percent, against the simplex method of HiGHS."""

from __future__ import annotations

import numpy as np

import lsdt
from lsdt.theory.domination.fractional import solve_domination
from timing import Row, in_turns, peak_mib, timed

_DEGREE = 20


def _reveal(n_arms: int) -> lsdt.SideInformation:
    """A unit interval graph with half of its pairs revealed: 20 similar pairs an arm."""
    means = np.random.default_rng(0).random(n_arms)
    return lsdt.from_means(means, _DEGREE / n_arms).reveal(0.5, 0.5)


def _geometric(n_arms: int) -> lsdt.SideInformation:
    """Points in the unit square, similar when they are near: 20 similar pairs an arm."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(0).random((n_arms, 2))
    near = cKDTree(points).query_pairs(np.sqrt(_DEGREE / np.pi / n_arms), output_type="ndarray")
    return lsdt.SideInformation(n_arms, near)


def _compile() -> None:
    lsdt.theory.fractional_domination(_reveal(100), method="primal_dual")
    lsdt.theory.fractional_domination(_reveal(2500))
    lsdt.theory.fractional_domination(lsdt.from_means([0.0, 1.0], 1.0))


def _against_simplex(work: str, side: lsdt.SideInformation) -> Row:
    _compile()
    similar = side.store.listed_similar()
    answers = {}

    def solve(method: str) -> None:
        answers[method] = solve_domination(similar, method=method)

    peak = peak_mib(lambda: solve("auto"))
    ours, simplex = in_turns(lambda: solve("auto"), lambda: solve("simplex"), 0)
    ours = min(ours, *(timed(lambda: solve("auto")) for _ in range(4)))
    certified, exact = answers["auto"], answers["simplex"]
    assert certified.gap <= 0.01
    assert certified.lower <= exact.size * (1 + 1e-9) <= certified.size * (1 + 2e-9)
    return Row(
        f"{work}: C2 <= {certified.size:.1f}, proven to {certified.gap:.2%} (exactly {exact.size:.1f})",
        ours,
        "HiGHS simplex",
        simplex,
        f"{simplex / ours:.0f} x",
        ">= 20 x",
        simplex >= 20 * ours,
        peak,
    )


def revealed() -> Row:
    return _against_simplex("P2, half of a unit interval graph, K = 10^4, degree 20", _reveal(10_000))


def geometric() -> Row:
    return _against_simplex("P2, random geometric graph, K = 10^4, degree 20", _geometric(10_000))


def _large(work: str, side: lsdt.SideInformation, most_seconds: float) -> Row:
    _compile()
    seconds, answers = [], []

    def whole() -> None:
        seconds.append(timed(lambda: answers.append(lsdt.theory.fractional_domination(side))))

    peak = peak_mib(whole, whole_process=True)
    gap = answers[0].gap
    return Row(
        f"{work}: C2 <= {answers[0].size:.0f}, proven to {gap:.2%}",
        seconds[0],
        "",
        None,
        f"{seconds[0]:.1f} s, {peak / 1024:.2f} GiB",
        f"<= {most_seconds:g} s, <= 4 GiB, 1%",
        gap <= 0.01 and seconds[0] <= most_seconds and peak <= 4096,
        peak,
    )


def revealed_large() -> Row:
    work = "P2, half of a unit interval graph, K = 10^5, degree 20, listing the pairs included"
    return _large(work, _reveal(100_000), 20)


def geometric_large() -> Row:
    return _large("P2, random geometric graph, K = 10^5, degree 20", _geometric(100_000), 20)


WORKS = [revealed, geometric, revealed_large, geometric_large]
