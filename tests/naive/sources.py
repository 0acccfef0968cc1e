"""Side information from features, groups, experiments and orders, and its merging, by their definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.stats import beta, norm


def near(first, second, metric, limit):
    """Whether two points are less than `limit` apart, in exact arithmetic."""
    steps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True)]
    if metric == "manhattan":
        return sum(steps) < limit
    if metric == "chebyshev":
        return max(steps) < limit
    return sum(step * step for step in steps) < limit * limit


def near_pairs(points, metric, limit):
    return {
        frozenset(pair)
        for pair in combinations(range(len(points)), 2)
        if near(*(points[arm] for arm in pair), metric, Fraction(limit))
    }


def cosine_distance(first, second):
    dot = math.fsum(a * b for a, b in zip(first, second, strict=True))
    return 1.0 - dot / math.hypot(*first) / math.hypot(*second)


def same_group(paths, level):
    """Pairs of arms whose paths agree in their first `level` parts (None: altogether)."""
    return {
        frozenset((a, b))
        for a, b in combinations(range(len(paths)), 2)
        if paths[a] and paths[b] and len(paths[a]) >= (level or 1) and paths[a][:level] == paths[b][:level]
    }


def between(paths, first, second):
    """Pairs of arms with one in either group."""

    def inside(path, group):
        return path[: len(group)] == group

    return {
        frozenset((a, b))
        for a in range(len(paths))
        for b in range(len(paths))
        if inside(paths[a], first) and inside(paths[b], second)
    }


def merged(sources, on_conflict):
    """Relations of named pairs from a list of dicts; and what every source contributed."""
    said, taken, counts = {}, {}, []
    for number, source in enumerate(sources):
        for pair, word in source.items():
            said.setdefault(pair, []).append((number, word))
    for pair, statements in said.items():
        words = {word for _, word in statements}
        if len(words) == 1 or on_conflict == "first":
            taken[pair] = statements[0][1]
    for number, source in enumerate(sources):
        others = [other for at, other in enumerate(sources) if at != number]
        counts.append(
            (
                sum(word == "similar" for word in source.values()),
                sum(word == "dissimilar" for word in source.values()),
                sum(all(pair not in before for before in sources[:number]) for pair in source),
                sum(any(other.get(pair) == word for other in others) for pair, word in source.items()),
                sum(
                    any(pair in other and other[pair] != word for other in others)
                    for pair, word in source.items()
                ),
            )
        )
    disputed = {pair for pair, statements in said.items() if len({word for _, word in statements}) > 1}
    return taken, counts, disputed


def nearest_pairs(points, count):
    """Every point with its `count` nearest others; distances must not tie."""
    found = set()
    for here, point in enumerate(points):
        others = sorted(
            (math.dist(point, other), there) for there, other in enumerate(points) if there != here
        )
        found |= {frozenset((here, there)) for _, there in others[:count]}
    return found


def length(steps, metric):
    sizes = [abs(step) for step in steps]
    return {"manhattan": sum(sizes), "chebyshev": max(sizes), "euclidean": math.hypot(*sizes)}[metric]


def monotone_range(first, second, signs, lipschitz, metric):
    """The range of f(first) - f(second) for all Lipschitz f that rise (1) or fall (-1) with some features.

    Raising what raises f costs nothing, so go first to the corner that is best of both, then to the point.
    """

    def most_gained(here, there):  # the most that f(there) is above f(here)
        corner = [
            a if sign and sign * (b - a) < 0 else b for a, b, sign in zip(here, there, signs, strict=True)
        ]
        return lipschitz * length([b - a for a, b in zip(here, corner, strict=True)], metric)

    return 0.0 - most_gained(first, second), most_gained(second, first)


def cell_limits(row, critical):
    """The limits of one measured mean: normal, or Clopper and Pearson's."""
    if "se" in row:
        return row["mean"] - critical * row["se"], row["mean"] + critical * row["se"]
    wins, trials, tail = row["successes"], row["trials"], norm.sf(critical)
    low = beta.ppf(tail, wins, trials - wins + 1) if wins else 0.0
    return low, beta.isf(tail, wins + 1, trials - wins) if wins < trials else 1.0


def experiment_ranges(rows, critical):
    """Differences of all arms that experiments connect: least squares with a level for every experiment."""
    arms, experiments = (list(dict.fromkeys(row[name] for row in rows)) for name in ("arm", "experiment"))
    design = np.zeros((len(rows), len(arms) + len(experiments)))
    for number, row in enumerate(rows):
        design[number, arms.index(row["arm"])] = 1.0
        design[number, len(arms) + experiments.index(row["experiment"])] = 1.0
    means = np.array([row["mean"] if "se" in row else row["successes"] / row["trials"] for row in rows])
    roots = np.sqrt([1 / row["se"] ** 2 if "se" in row else row["trials"] for row in rows])
    inverse = np.linalg.pinv(design * roots[:, None]) * roots  # coefficients of every unknown
    found = {}
    for a, b in combinations(range(len(arms)), 2):
        wanted = np.zeros(design.shape[1])
        wanted[a], wanted[b] = 1.0, -1.0
        share = inverse[a] - inverse[b]
        if not np.allclose(share @ design, wanted, atol=1e-8):
            continue  # the data do not determine this difference
        below = above = 0.0
        for weight, row, mean in zip(share, rows, means, strict=True):
            low, high = cell_limits(row, critical)
            down, up = weight * (mean - low), weight * (high - mean)
            below += down**2 if weight > 0 else up**2
            above += up**2 if weight > 0 else down**2
        found[arms[a], arms[b]] = share @ means - below**0.5, share @ means + above**0.5
    return found


def jackknife_scale(pairs, shape, weights, excess, n_arms):
    """The factor of `shape` that fits `excess` best, and its standard error by leaving out arms."""

    def fit(kept):
        return sum(weights[k] * shape[k] * excess[k] for k in kept) / sum(
            weights[k] * shape[k] ** 2 for k in kept
        )

    everything = range(len(pairs))
    left = [fit([k for k in everything if arm not in pairs[k]]) for arm in range(n_arms)]
    centre = sum(left) / n_arms
    error = ((n_arms - 1) / n_arms * sum((one - centre) ** 2 for one in left)) ** 0.5
    return fit(everything), error
