"""Worlds with known means for features, past experiments and orders, and what is measured in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class FeatureWorld(NamedTuple):
    """Features of arms, a row each, and their true means."""

    points: Floats
    means: Floats

    @property
    def steepest(self) -> float:
        """The honest constant: the largest difference of means over distance, among all pairs."""
        from scipy.spatial.distance import cdist

        apart = cdist(self.points, self.points)
        np.fill_diagonal(apart, np.inf)
        return float((np.abs(self.means[:, None] - self.means) / apart).max())


def embeddings(rng: np.random.Generator, n_arms: int) -> FeatureWorld:
    """Return products with 64 numbers each, a noisy image of 4 hidden ones, and their click rates."""
    hidden = rng.normal(size=(n_arms, 4))
    points = hidden @ (rng.normal(size=(4, 64)) / 2.0) + 0.1 * rng.normal(size=(n_arms, 64))
    wish = 1.2 * hidden[:, 0] + 0.8 * np.sin(hidden[:, 1])
    means = 0.02 + 0.06 / (1.0 + np.exp(-wish)) + 0.002 * rng.normal(size=n_arms)
    return FeatureWorld(points, np.clip(means, 0.001, 0.999))


def bump(rng: np.random.Generator, n_arms: int) -> FeatureWorld:
    """Return points on a square with means that are flat but for one narrow bump: far from normal slopes."""
    points = rng.random((n_arms, 2))
    away = np.square(points - rng.uniform(0.2, 0.8, 2)).sum(axis=1)
    return FeatureWorld(points, 0.2 + 0.5 * np.exp(-away / 0.05))


def unexplained(rng: np.random.Generator, n_arms: int) -> FeatureWorld:
    """Return points on a square with means that rise along it, and much that no feature explains."""
    points = rng.random((n_arms, 2))
    return FeatureWorld(
        points, np.clip(0.3 + 0.3 * points[:, 0] + 0.03 * rng.normal(size=n_arms), 0.01, 0.99)
    )


WORLDS = {"embeddings": embeddings, "a bump": bump, "half unexplained": unexplained}


def clicks(
    rng: np.random.Generator,
    means: Floats,
    arms: NDArray[np.int64],
    trials: int,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return a table of successes among trials for some arms."""
    wins = rng.binomial(trials, means[arms])
    ids = [arm if names is None else names[arm] for arm in arms.tolist()]
    return {"arm": ids, "successes": wins.tolist(), "trials": [trials] * len(arms)}


def weekly(
    rng: np.random.Generator, means: Floats, weeks: int, most_trials: int, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return several experiments with half of the arms each, at levels of their own, of various sizes."""
    rows = []
    for week in range(weeks):
        arms = np.sort(rng.choice(len(means), len(means) // 2, replace=False))
        level = rng.uniform(-0.01, 0.01)
        for arm in arms.tolist():
            trials = int(rng.integers(most_trials // 10, most_trials))
            wins = int(rng.binomial(trials, np.clip(means[arm] + level, 0.0, 1.0)))
            rows.append({"arm": names[arm], "experiment": week, "successes": wins, "trials": trials})
    return rows


def linear_sampling(
    world: FeatureWorld, horizon: int, rng: np.random.Generator, n_components: int = 8
) -> float:
    """Return the regret of linear Thompson sampling on principal components.

    Gaussian, with an intercept; components have unit variance. The prior of a weight is normal with the
    deviation .05, and noise has the variance .05, about those of click rates like these: it is told more of
    the scale of rewards than the others.
    """
    prior, noise = 0.05, 0.05
    centred = world.points - world.points.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = min(n_components, int((sizes > 1e-9 * sizes[0]).sum()))
    design = np.column_stack([np.ones(len(centred)), left[:, :kept] * len(centred) ** 0.5])
    precision, told = np.eye(kept + 1) / prior**2, np.zeros(kept + 1)
    best, regret = world.means.max(), 0.0
    coins, normals = rng.random(horizon), rng.normal(size=(horizon, kept + 1))
    for coin, normal in zip(coins, normals, strict=True):
        root = np.linalg.cholesky(precision)
        centre = np.linalg.solve(precision, told)
        arm = int(np.argmax(design @ (centre + np.linalg.solve(root.T, normal))))
        row = design[arm]
        precision += np.outer(row, row) / noise
        told += row * (float(coin < world.means[arm]) / noise)
        regret += best - world.means[arm]
    return float(regret)
