"""Relations that the rewards contradict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_share
from lsdt.candidates.seriation import known_rows
from lsdt.errors import InvalidInput, Unsupported
from lsdt.side_information.layouts.subset import subset
from lsdt.side_information.layouts.thresholds import DISTINCT

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.candidates.seriation import RelationRows
    from lsdt.kernel.rewards import RewardModel
    from lsdt.side_information import SideInformation

_HALVINGS = 60


def suspects_frame(learner: Learner, risk: float) -> pd.DataFrame:
    """Return a row per relation that the rewards contradict; see `Agent.suspects`."""
    import pandas as pd

    if learner.side.store.thresholds is not None:
        raise Unsupported(f"suspects() {DISTINCT}; it is not available for them")
    if learner.side.epsilon is None:
        raise Unsupported("whether rewards contradict a relation depends on epsilon; give the agent one")
    accepted = checked_share(risk, "risk")
    if accepted == 0.0:
        raise InvalidInput("risk must be above 0: no rewards exclude a relation for certain; got 0")
    counts, sums = learner.tallies()
    pairs, similar = _relations_of_played(learner.side, np.flatnonzero(counts))
    means = sums / np.maximum(counts, 1)
    told = evidence(means[pairs], counts[pairs], similar, learner.side.epsilon, learner.rewards)
    chosen = np.flatnonzero(told >= math.log(max(len(pairs), 1) / accepted))
    chosen = chosen[np.argsort(-told[chosen], kind="stable")]
    label, rows = learner.side.label, known_rows(learner.side) if len(chosen) else None
    columns: dict[str, Any] = {"arm_a": [], "arm_b": [], "relation": [], "evidence": told[chosen]}
    for end, name in enumerate("ab"):
        columns[f"mean_{name}"] = means[pairs[chosen, end]]
        columns[f"plays_{name}"] = counts[pairs[chosen, end]]
    columns["returns"] = []
    for number in chosen:
        a, b = int(pairs[number, 0]), int(pairs[number, 1])
        columns["arm_a"].append(label(a))
        columns["arm_b"].append(label(b))
        columns["relation"].append("similar" if similar[number] else "dissimilar")
        assert rows is not None
        columns["returns"].append([label(arm) for arm in freed_arms(rows, a, b, bool(similar[number]))])
    return pd.DataFrame(columns)


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
    cost = _least_apart(high, n_high, low, n_low, epsilon)
    # Dissimilar arms may also be the other way round.
    other_way = np.where(similar, math.inf, _least_apart(low, n_low, high, n_high, epsilon))
    return np.where(contradicted, np.minimum(cost, other_way), 0.0)


def _least_apart(
    high: NDArray[np.float64],
    n_high: NDArray[np.float64],
    low: NDArray[np.float64],
    n_low: NDArray[np.float64],
    epsilon: float,
) -> NDArray[np.float64]:
    """Return the least divergence from coins whose means are exactly epsilon apart."""
    from scipy.special import rel_entr

    if epsilon >= 1.0:
        return np.full(len(high), math.inf)

    def slope(p: NDArray[np.float64], n: NDArray[np.float64], q: NDArray[np.float64]) -> Any:
        q = np.clip(q, 1e-12, 1.0 - 1e-12)
        return n * (q - p) / (q * (1.0 - q))

    start, end = np.zeros(len(high)), np.full(len(high), 1.0 - epsilon)
    for _ in range(_HALVINGS):
        middle = 0.5 * (start + end)
        falls = slope(high, n_high, middle + epsilon) + slope(low, n_low, middle) < 0.0
        start, end = np.where(falls, middle, start), np.where(falls, end, middle)
    q = 0.5 * (start + end)

    def coins(p: NDArray[np.float64], q: NDArray[np.float64]) -> Any:
        return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)

    total: NDArray[np.float64] = n_high * coins(high, np.minimum(q + epsilon, 1.0)) + n_low * coins(low, q)
    return total


def freed_arms(rows: RelationRows, a: int, b: int, similar: bool) -> list[int]:
    """Return the arms that the triangle rule excludes by this relation and by nothing else."""
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
