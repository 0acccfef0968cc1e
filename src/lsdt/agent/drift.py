"""Arms whose mean has changed: a test that may be looked at as often as one likes.

Cut the rewards of an arm in two after the s-th. If its mean theta never changed, the mixture martingales (of
docs/theory/stopping.md) of both parts, M(theta; first s) M(theta; the others), are one supermartingale, and
the least of that product over theta is below it. So is the mean of these over many s with weights that sum to
1. By Ville it ever reaches K / risk with a probability of at most risk / K, and of K arms that never change
any is ever listed with a probability of at most `risk`, however arms are chosen and however often one looks.

Rewards are taken in the order asked, up to the arm's first open decision: see `asked_order`, which proves
that the above holds for any delays. In the order told, zeros that come late would look like a drop.

Both least values are known in closed form. With Gaussian weights a = n^2 / (2 sigma^2 (n + 1)) it is that of
two parabolas; for rewards from 0 to 1 it lies at the mean of all rewards.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import checked_share
from lsdt.agent.cuts import CUTS, octaves, places_of_cuts
from lsdt.errors import InvalidInput, Unsupported
from lsdt.storage import now

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.kernel import RewardModel
    from lsdt.side_information import ArmId

_COLUMNS: dict[str, Any] = {
    "arm": object,
    "evidence": np.float64,
    "plays_before": np.int64,
    "mean_before": np.float64,
    "plays_after": np.int64,
    "mean_after": np.float64,
}


class Blocked(NamedTuple):
    """An arm most of whose plays the test cannot use yet, because an earlier decision is still open.

    Attributes
    ----------
    arm : str or int
        The id of the arm.
    decision : int
        The number of the open decision.
    seconds : float
        How long ago it was asked for.
    plays : int
        How many later plays of the arm wait for it. Beyond 4,096, plays are left out of the test for good.
    """

    arm: ArmId
    decision: int
    seconds: float
    plays: int


class Change(NamedTuple):
    """An arm whose mean has changed: evidence, and plays and mean before and after the likeliest moment."""

    arm: int
    evidence: float
    plays_before: int
    mean_before: float
    plays_after: int
    mean_after: float


def changed_arms(learner: Learner, risk: float) -> list[Change]:
    """Return the arms whose mean has changed, the clearest first; see `Agent.drift`."""
    accepted = checked_share(risk, "risk")
    if accepted == 0.0:
        raise InvalidInput("risk must be above 0: no rewards show a change for certain; got 0")
    if learner.rewards.tail is not None:
        raise Unsupported("whether a mean has changed is tested for rewards with Gaussian tails only")
    order = learner.order_now()
    cuts = order.cut_sums
    if not cuts:
        return []
    arms, lengths = np.array(list(cuts)), np.array([len(sums) for sums in cuts.values()])
    starts = np.cumsum(lengths) - lengths
    places = places_of_cuts(np.arange(lengths.sum()) - np.repeat(starts, lengths))
    kept = np.fromiter(chain.from_iterable(cuts.values()), np.float64, len(places))
    counts, sums = np.array([order.counts[arm] for arm in cuts]), np.array([order.sums[arm] for arm in cuts])
    values = cut_evidence(places, kept, np.repeat(counts, lengths), np.repeat(sums, lengths), learner.rewards)
    most = np.maximum.reduceat(values, starts)
    evidence = most + np.log(np.add.reduceat(np.exp(values - np.repeat(most, lengths)), starts))
    changes = []
    for at in np.flatnonzero(evidence >= math.log(learner.side.n_arms / accepted)).tolist():
        cut = int(starts[at] + values[starts[at] : starts[at] + lengths[at]].argmax())
        first, before = int(places[cut]), float(kept[cut])
        second, after = int(counts[at]) - first, float(sums[at]) - before
        means = before / first, after / max(second, 1)
        changes.append(Change(int(arms[at]), float(evidence[at]), first, means[0], second, means[1]))
    return sorted(changes, key=lambda change: -change.evidence)


def blocked_arms(learner: Learner) -> list[Blocked]:
    """Return the arms that an open decision blocks, those with most plays behind it first."""
    time = now()
    return [
        Blocked(learner.side.label(arm), number, max(0.0, 1e-6 * (time - learner.since(number))), plays)
        for arm, number, plays in learner.order_now().blocked()
    ]


def drift_frame(learner: Learner, risk: float) -> pd.DataFrame:
    """Return a row per arm whose mean has changed; see `Agent.drift`."""
    import pandas as pd

    rows = [(learner.side.label(change.arm), *change[1:]) for change in changed_arms(learner, risk)]
    if rows:
        frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    else:  # mostly there is none, and a watch looks often: to convert an empty frame takes milliseconds
        frame = pd.DataFrame({name: np.empty(0, kind) for name, kind in _COLUMNS.items()})
    frame.attrs["blocked"] = blocked_arms(learner)
    return frame


def cut_evidence(
    places: NDArray[np.int64],
    kept: NDArray[np.float64],
    counts: NDArray[np.int64],
    totals: NDArray[np.float64],
    rewards: RewardModel,
) -> NDArray[np.float64]:
    """Return, for each cut, the logarithm of its weight and of the evidence that the mean changed there.

    A cut lies after `places` rewards of an arm, which add up to `kept`; all its `counts` rewards add up to
    `totals`.
    """
    octave = octaves(places)
    weights = -np.log(CUTS * (octave + 1.0) * (octave + 2.0))
    first, second = places.astype(np.float64), (counts - places).astype(np.float64)
    rest = totals - kept
    if rewards.family == "bernoulli":
        return weights + _of_unit_rewards(first, kept, second, rest)
    a, b = (n**2 / (2.0 * rewards.sigma**2 * (n + 1.0)) for n in (first, second))
    apart = kept / first - rest / np.maximum(second, 1.0)
    evidence: NDArray[np.float64] = a * b / (a + b) * apart**2 - 0.5 * (np.log1p(first) + np.log1p(second))
    return weights + evidence


def _of_unit_rewards(first: Any, wins: Any, second: Any, more: Any) -> NDArray[np.float64]:
    from scipy.special import betaln, xlog1py, xlogy

    wins, more = np.clip(wins, 0.0, first), np.clip(more, 0.0, second)
    n = first + second
    mean = np.clip((wins + more) / n, 0.0, 1.0)
    parts = (betaln(s + 0.5, m - s + 0.5) - betaln(0.5, 0.5) for m, s in ((first, wins), (second, more)))
    evidence: NDArray[np.float64] = sum(parts) - xlogy(wins + more, mean) - xlog1py(n - wins - more, -mean)
    return evidence
