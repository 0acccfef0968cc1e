"""Relations that the rewards contradict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_share
from lsdt.candidates import excluded_by_order, known_rows
from lsdt.errors import InvalidInput, Unsupported
from lsdt.side_information import DISTINCT, subset

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.candidates import RelationRows
    from lsdt.kernel import RewardModel
    from lsdt.side_information import SideInformation

_HALVINGS = 60  # an interval of length 1 is halved to a float's precision (53 bits), with some to spare


def suspects_frame(learner: Learner, risk: float) -> pd.DataFrame:
    """Return a row per relation that the rewards contradict; see `Agent.suspects`."""
    import pandas as pd

    side = learner.side
    if side.store.thresholds is not None:
        raise Unsupported(f"suspects() {DISTINCT}; it is not available for them")
    if side.epsilon is None and (side.ranges is None or side.n_similar or side.n_dissimilar):
        raise Unsupported("whether rewards contradict a relation depends on epsilon; give the agent one")
    accepted = checked_share(risk, "risk")
    if accepted == 0.0:
        raise InvalidInput("risk must be above 0: no rewards exclude a relation for certain; got 0")
    counts, sums = learner.tallies()
    played = np.flatnonzero(counts)
    means = np.divide(sums, counts, np.zeros(len(counts)), where=counts > 0)
    pairs, similar = _relations_of_played(side, played)
    told = evidence(means[pairs], counts[pairs], similar, side.epsilon or 0.0, learner.rewards)
    known = None if side.ranges is None else side.ranges.select(_both_among(side.ranges.pairs, played))
    words = np.where(similar, "similar", "dissimilar").tolist()
    low, high = np.full(len(pairs), math.nan), np.full(len(pairs), math.nan)
    if known is not None:
        both = known.pairs.astype(np.int64)
        told = np.concatenate(
            [told, range_evidence(means[both], counts[both], known.low, known.high, learner.rewards)]
        )
        pairs, words = np.concatenate([pairs, both]), words + ["range"] * len(both)
        low, high = np.concatenate([low, known.low]), np.concatenate([high, known.high])
    chosen = np.flatnonzero(told >= math.log(max(len(pairs), 1) / accepted))
    chosen = chosen[np.argsort(-told[chosen], kind="stable")]
    columns: dict[str, Any] = {
        "arm_a": [side.label(int(arm)) for arm in pairs[chosen, 0]],
        "arm_b": [side.label(int(arm)) for arm in pairs[chosen, 1]],
        "relation": [words[number] for number in chosen],
        "evidence": told[chosen],
    }
    if side.ranges is not None:
        columns |= {"low": low[chosen], "high": high[chosen]}
    for end, name in enumerate("ab"):
        columns[f"mean_{name}"] = means[pairs[chosen, end]]
        columns[f"plays_{name}"] = counts[pairs[chosen, end]]
    columns["returns"] = _returns(side, [(*map(int, pairs[number]), words[number]) for number in chosen])
    return pd.DataFrame(columns)


def _both_among(pairs: NDArray[np.int32], arms: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray(np.isin(pairs, arms).all(axis=1))


def _returns(side: SideInformation, suspected: list[tuple[int, int, str]]) -> list[list[Any]]:
    """Return, for each of these relations, the arms that it alone excludes."""
    words = {word for _, _, word in suspected}
    rows = known_rows(side) if words - {"range"} else None
    out = set(excluded_by_order(side).tolist()) if "range" in words else set()
    found = []
    for a, b, word in suspected:
        if word == "range":
            freed = sorted(out - set(excluded_by_order(side, without=(a, b)).tolist()))
        else:
            assert rows is not None
            freed = freed_arms(rows, a, b, word == "similar")
        found.append([side.label(arm) for arm in freed])
    return found


def _relations_of_played(
    side: SideInformation, played: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the known pairs of arms that were both played, and which are similar."""
    if len(played) == 0:
        return np.zeros((0, 2), np.int64), np.zeros(0, bool)
    inner = subset(side, played)
    listed = (inner.similar_pairs(), inner.dissimilar_pairs())
    pairs: NDArray[np.int64] = played[np.concatenate(listed).astype(np.int64)].reshape(-1, 2)
    return pairs, np.repeat([True, False], [len(each) for each in listed])


def evidence(
    means: NDArray[np.float64],
    counts: NDArray[np.int64],
    similar: NDArray[np.bool_],
    epsilon: float,
    rewards: RewardModel,
) -> NDArray[np.float64]:
    """Return the log-likelihood ratio of any means against the likeliest that satisfy each relation."""
    above = np.where(means[:, 0] >= means[:, 1], 0, 1)
    at = np.arange(len(means))
    high, low = means[at, above], means[at, 1 - above]
    n_high, n_low = counts[at, above].astype(float), counts[at, 1 - above].astype(float)
    contradicted = (high - low > epsilon) == similar
    if rewards.family != "bernoulli":
        excess = np.where(contradicted, high - low - epsilon, 0.0)
        gaussian: NDArray[np.float64] = 0.5 * excess**2 * n_high * n_low / (n_high + n_low) / rewards.sigma**2
        return gaussian
    apart = np.full(len(means), epsilon)
    cost = _least_apart(high, n_high, low, n_low, apart)
    # Dissimilar arms may also be the other way round.
    other_way = np.where(similar, math.inf, _least_apart(low, n_low, high, n_high, apart))
    return np.where(contradicted, np.minimum(cost, other_way), 0.0)


def range_evidence(
    means: NDArray[np.float64],
    counts: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    rewards: RewardModel,
) -> NDArray[np.float64]:
    """Return the log-likelihood ratio of any means against the likeliest whose difference is in each range.

    Examples
    --------
    >>> import numpy as np
    >>> from lsdt.kernel.rewards import RewardModel
    >>> means, counts = np.array([[.5, .2], [.5, .4]]), np.array([[100, 100], [100, 100]])
    >>> low, high = np.array([-.1, -.1]), np.array([.1, .1])
    >>> range_evidence(means, counts, low, high, RewardModel("gaussian", 1.)).round(6).tolist()
    [1.0, 0.0]
    """
    difference = means[:, 0] - means[:, 1]
    nearest = np.clip(difference, low, high)
    first, second = counts.astype(float).T
    if rewards.family != "bernoulli":
        weight = first * second / (first + second)
        gaussian: NDArray[np.float64] = 0.5 * (difference - nearest) ** 2 * weight / rewards.sigma**2
        return gaussian
    cost = _least_apart(means[:, 0], first, means[:, 1], second, nearest)
    return np.where(difference == nearest, 0.0, cost)


def _least_apart(
    high: NDArray[np.float64],
    n_high: NDArray[np.float64],
    low: NDArray[np.float64],
    n_low: NDArray[np.float64],
    apart: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the least divergence from coins of which the first mean exceeds the second by just this much."""
    from scipy.special import rel_entr

    possible, epsilon = np.abs(apart) < 1.0, np.clip(apart, -1.0, 1.0)

    def slope(p: NDArray[np.float64], n: NDArray[np.float64], q: NDArray[np.float64]) -> Any:
        q = np.clip(q, 1e-12, 1.0 - 1e-12)
        return n * (q - p) / (q * (1.0 - q))

    start, end = np.maximum(-epsilon, 0.0), np.minimum(1.0 - epsilon, 1.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (start + end)
        falls = slope(high, n_high, middle + epsilon) + slope(low, n_low, middle) < 0.0
        start, end = np.where(falls, middle, start), np.where(falls, end, middle)
    q = 0.5 * (start + end)

    def coins(p: NDArray[np.float64], q: NDArray[np.float64]) -> Any:
        return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)

    above = np.clip(q + epsilon, 0.0, 1.0)
    total: NDArray[np.float64] = n_high * coins(high, above) + n_low * coins(low, q)
    return np.where(possible, total, math.inf)


def freed_arms(rows: RelationRows, a: int, b: int, similar: bool) -> list[int]:
    """Return the arms that the triangle rule excludes only because of this relation."""
    near = {arm: _row(rows, arm, 1) for arm in (a, b)}
    affected = (a, b) if similar else tuple(sorted(near[a] & near[b]))
    freed = []
    for arm in affected:
        around = _row(rows, arm, 1)
        if similar:
            with_it, without = around, around - {a, b}
            if _holds_dissimilar(rows, with_it, None) and not _holds_dissimilar(rows, without, None):
                freed.append(arm)
        elif not _holds_dissimilar(rows, around, {a, b}):
            freed.append(arm)
    return freed


def _row(rows: RelationRows, arm: int, sign: int) -> set[int]:
    part = slice(rows.indptr[arm], rows.indptr[arm + 1])
    return set(rows.indices[part][rows.signs[part] == sign].tolist())


def _holds_dissimilar(rows: RelationRows, arms: set[int], but: set[int] | None) -> bool:
    """Say whether two of the arms are dissimilar, one pair left out."""
    for arm in arms:
        far = _row(rows, arm, -1) & arms
        if but is not None and arm in but:
            far = far - but
        if far:
            return True
    return False
