"""Small random unit interval graphs on which a search can test the paper's theorems on candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.reproduce.framework.certificates import makes_best
from lsdt.side_information import SideInformation, from_means

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Setting, Work

EPSILONS = (0.1, 0.9)  # a range in which few arms often make a connected graph that is not complete
SHARES = (0.2, 0.9)  # of the relations: a range from hardly any exclusion to nearly all
_COMPLETE, _PARTIAL = 1, 2  # numbers of random streams


def trials_of(trial: Callable[..., dict[str, Any]], graphs: Setting, work: Work) -> pd.DataFrame:
    """Return one row per replication: what a trial finds on its random graph."""
    import pandas as pd

    rows = []
    for run in range(graphs["replications"]):
        rows.append(trial(graphs["arms"], work.seed, run))
        work.done((run + 1) / graphs["replications"])
    return pd.DataFrame(rows)


def complete_trial(sizes: tuple[int, int], seed: int, run: int) -> dict[str, Any]:
    """Compare the candidates of a random connected graph that is not complete with Theorem 1."""
    means, epsilon = _connected_graph(sizes, np.random.default_rng((seed, run, _COMPLETE)))
    side = from_means(means, epsilon)
    searched, anchored = candidate_set(side, "exact"), candidate_set(side, "anchors")
    stated = np.flatnonzero(_end_classes(means, epsilon))
    shown = [makes_best(side, anchored.explain(arm).means, epsilon, arm) for arm in anchored.arms.tolist()]
    return {
        "run": run,
        "arms": len(means),
        "epsilon": epsilon,
        "candidates": len(searched),
        "search_as_stated": np.array_equal(searched.arms, stated),
        "anchors_as_stated": np.array_equal(anchored.arms, stated),
        "means_show_it": all(shown),
    }


def partial_trial(sizes: tuple[int, int], seed: int, run: int) -> dict[str, Any]:
    """Compare the candidates of a random, partly revealed graph with Proposition 1, B* and B0."""
    rng = np.random.default_rng((seed, run, _PARTIAL))
    means, epsilon = _connected_graph(sizes, rng)
    share = float(rng.uniform(*SHARES))
    complete = from_means(means, epsilon)
    side = complete.reveal(share, share, seed=int(rng.integers(2**31)))
    can = {name: np.zeros(len(means), bool) for name in ("exact", "triangles", "anchors")}
    for name, kept in can.items():
        kept[candidate_set(complete if name == "anchors" else side, name).arms] = True
    between = _between_dissimilar_arms(side)
    return {
        "run": run,
        "arms": len(means),
        "epsilon": epsilon,
        "revealed": share,
        "b_star": int(can["anchors"].sum()),
        "b": int(can["exact"].sum()),
        "b0": int(can["triangles"].sum()),
        "between": int(between.sum()),
        "between_excluded": not (between & can["exact"]).any(),
        "b_star_in_b": not (can["anchors"] & ~can["exact"]).any(),
        "b_in_b0": not (can["exact"] & ~can["triangles"]).any(),
    }


def _connected_graph(sizes: tuple[int, int], rng: np.random.Generator) -> tuple[NDArray[np.float64], float]:
    """Return means and an epsilon that give a connected graph in which not all arms are similar."""
    while True:
        means = rng.random(int(rng.integers(sizes[0], sizes[1] + 1)))
        epsilon = float(rng.uniform(*EPSILONS))
        if np.diff(np.sort(means)).max() < epsilon <= np.ptp(means):
            return means, epsilon


def _end_classes(means: NDArray[np.float64], epsilon: float) -> NDArray[np.bool_]:
    """Return flags for the arms with the same neighbours as the best arm or as the worst."""
    near = np.abs(means[:, None] - means) < epsilon
    ends = near[means.argmax()], near[means.argmin()]
    found: NDArray[np.bool_] = (near == ends[0]).all(axis=1) | (near == ends[1]).all(axis=1)
    return found


def _between_dissimilar_arms(side: SideInformation) -> NDArray[np.bool_]:
    """Return flags for the arms known to be similar to two arms that are known to be dissimilar."""
    near = np.zeros((side.n_arms, side.n_arms), bool)
    for a, b in side.similar_pairs().tolist():
        near[a, b] = near[b, a] = True
    between = np.zeros(side.n_arms, bool)
    for a, b in side.dissimilar_pairs().tolist():
        between |= near[a] & near[b]
    return between
