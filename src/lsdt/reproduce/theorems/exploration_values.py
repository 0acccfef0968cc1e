"""Exploration values and domination number of the arms that elimination leaves, for `check_programmes`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.problems import uniform
from lsdt.reproduce.framework.claims import Claim, above, below, mean_of
from lsdt.reproduce.framework.sampling import values_at
from lsdt.side_information import subset

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.problems import UniformProblem
    from lsdt.side_information import SideInformation

_ROUNDING = 1e-9  # exploration values that differ by less are equal up to the solver's rounding
_REMARK = "Remark 5, Section 4.3"


def paper_problem(case: dict[str, Any], epsilon: float, fixed: bool) -> UniformProblem:
    """Return the paper's random problem with partial side information and this epsilon."""
    return uniform(
        case["arms"],
        case["low"],
        case["high"],
        epsilon,
        p_similar=case["p"],
        p_dissimilar=case["p"],
        fixed=fixed,
    )


def degrees_and_values(side: SideInformation, z: NDArray[np.float64]) -> dict[str, float]:
    """Return how degrees and exploration values compare, by rank correlation and pair by pair.

    The correlation is NaN if all degrees or all values are equal.
    """
    import pandas as pd

    degree = np.bincount(side.similar_pairs().ravel(), minlength=side.n_arms)
    ranks = pd.DataFrame({"degree": degree, "z": np.round(z, 9)}).rank()
    spread = bool((ranks.std() > 0.0).all())
    more = degree[:, None] > degree[None]
    return {
        "alone": int((degree == 0).sum()),
        "correlation": float(ranks["degree"].corr(ranks["z"])) if spread else np.nan,
        "pairs": int(more.sum()),
        "higher": int((more & (z[:, None] > z[None] + _ROUNDING)).sum()),
        "lower": int((more & (z[:, None] < z[None] - _ROUNDING)).sum()),
    }


def epsilon_rows(
    case: dict[str, Any], epsilons: list[float], runs: int, seed: int, fixed: bool
) -> list[dict[str, Any]]:
    """Return rows with arms left, their domination number and arms near the best, by epsilon and run."""
    rows = []
    for epsilon in epsilons:
        problem = paper_problem(case, epsilon, fixed)
        for run in range(runs):
            drawn = problem.draw(seed, run)
            kept = candidate_set(drawn.side, "triangles").arms
            gaps = drawn.means.max() - drawn.means[kept]
            rows.append(
                {
                    "epsilon": epsilon,
                    "run": run,
                    "left": len(kept),
                    "domination": domination_number(subset(drawn.side, kept)),
                    "near": int(((gaps > 0.0) & (gaps <= 4.0 * epsilon)).sum()),
                }
            )
    return rows


def degree_claim(rows: pd.DataFrame) -> Claim:
    """Return the claim on degrees and values, from the draws in which they differ."""
    known, apart = rows["correlation"].dropna(), rows[rows["pairs"] > 0]
    return Claim(
        "higher-degree-higher-z",
        "An arm with more similar arms has a higher exploration value (read: rank correlation above 0, and "
        "of two arms of different degree the one of higher degree has the higher value in more than half "
        "of the pairs).",
        "Section 4.2",
        (
            above("mean rank correlation of degree and z over draws", mean_of(known), 0.0),
            above("mean share of such pairs over draws", mean_of(apart["higher"] / apart["pairs"]), 0.5),
        ),
    )


def epsilon_claims(rows: pd.DataFrame) -> list[Claim]:
    """Return the claims on the change from each epsilon to the next, paired by run."""
    falls, rises = [], []
    for before, after in itertools.pairwise(sorted(rows["epsilon"].unique())):
        where = f"at epsilon {after:g} minus at {before:g}"
        few, near = (
            mean_of(values_at(rows, column, epsilon=after) - values_at(rows, column, epsilon=before))
            for column in ("domination", "near")
        )
        falls.append(below(f"domination number {where}", few, 0.0))
        rises.append(above(f"arms within 4 epsilon {where}", near, 0.0))
    return [
        Claim(
            "domination-falls-with-epsilon",
            "As epsilon grows the domination number of what elimination leaves falls (read: on average, from "
            "each epsilon tried to the next).",
            _REMARK,
            tuple(falls),
        ),
        Claim(
            "near-arms-rise-with-epsilon",
            "As epsilon grows, more of the arms that elimination leaves, the best aside, lie within 4 "
            "epsilon of the best (read: on average, from each epsilon tried to the next).",
            _REMARK,
            tuple(rises),
        ),
    ]


def epsilon_words(rows: pd.DataFrame) -> str:
    """Return a sentence on how many arms are left, dominate them and are near the best, by epsilon."""
    means = rows.groupby("epsilon")[["left", "domination", "near"]].mean()
    told = [
        f"{row.left:.1f} arms left at epsilon {epsilon:g}, {row.domination:.1f} to dominate them and "
        f"{row.near:.1f} within 4 epsilon"
        for epsilon, row in zip(means.index, means.itertuples(), strict=True)
    ]
    return f"On average there are {'; '.join(told)}."


def domination_number(side: SideInformation) -> int:
    """Return the size of a smallest dominating set of the similar pairs.

    This is branch and bound over sets of arms as bits of an integer, one component after another. It is
    exponential in the worst case, and fast for the few dozen arms that an elimination leaves.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.reproduce.theorems.exploration_values import domination_number
    >>> domination_number(lsdt.SideInformation(5, similar=[(0, 1), (1, 2), (2, 3), (3, 4)]))
    2
    """
    closed = [1 << arm for arm in range(side.n_arms)]
    for first, second in side.similar_pairs().tolist():
        closed[first] |= 1 << second
        closed[second] |= 1 << first
    total, left = 0, (1 << side.n_arms) - 1
    while left:
        component = _component(closed, left & -left)
        total += _fewest(closed, component, 0, component.bit_count())
        left &= ~component
    return total


def _component(closed: list[int], start: int) -> int:
    """Return all arms that can be reached from `start`."""
    found, unvisited = start, start
    while unvisited:
        arm = (unvisited & -unvisited).bit_length() - 1
        unvisited = (unvisited | (closed[arm] & ~found)) & ~(1 << arm)
        found |= closed[arm]
    return found


def _fewest(closed: list[int], uncovered: int, used: int, best: int) -> int:
    """Return the size of a smallest cover that extends `used` chosen arms, at most `best`."""
    if not uncovered:
        return min(used, best)
    most = max((cover & uncovered).bit_count() for cover in closed)
    if used - (-uncovered.bit_count() // most) >= best:
        return best
    # Every arm, or a neighbour of it, must be chosen: branch at the arm with the fewest choices.
    arm = min(_members(uncovered), key=lambda member: closed[member].bit_count())
    choices = sorted(_members(closed[arm]), key=lambda choice: -(closed[choice] & uncovered).bit_count())
    for choice in choices:
        best = _fewest(closed, uncovered & ~closed[choice], used + 1, best)
    return best


def _members(arms: int) -> list[int]:
    return [arm for arm in range(arms.bit_length()) if arms >> arm & 1]
