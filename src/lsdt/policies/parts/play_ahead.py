"""About how many more tries it takes until the best arm is known: the policy ``'identify'`` plays ahead.

Every run draws means that fit what is known. The best arm is drawn by the likelihood that its evidence leaves
it, its mean from what its rewards leave open, and the means of other arms likewise, moved into what relations
allow if that arm is the best. An arm that was never played lies anywhere in there. Rewards of these means are
drawn until the policy has all the evidence it needs. Choices are repeated for a sixteenth of the tries so
far, so that a run takes some hundred choices, however long it is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lsdt.kernel import (
    BERNOULLI,
    Allowed,
    Array,
    beta,
    compiled,
    copy_state,
    inlined,
    new_stream,
    normal,
    safe_sqrt,
    uniform,
)
from lsdt.policies.parts.evidence_tangents import learn_rewards
from lsdt.policies.parts.gap_rows import fill_plays
from lsdt.policies.parts.information import arm_to_play, put_interval
from lsdt.policies.parts.leaders import name_leader, none_can_reach, put_free_evidence
from lsdt.policies.parts.mixture_evidence import NOBODY, seen_mean

_RUNS = 15  # their median was within three times of real runs in 87% of trials
_MOST_ARMS = 1_000  # a run takes most of a second with more
_MOST_TRIES = 1_000_000  # as many as `lsdt.identify` tries by default
# No estimate is given where the upper quartile of the runs is more than this times the lower one.
_WIDEST = 4.0
_LOOKS = 100  # as in `lsdt.identify`
_RIVALS = 8  # of the last look, which mostly settle the next one
_SPREAD = 2.0  # of means that nothing is known of, in sigmas


class Ahead(NamedTuple):
    """About how many more tries it takes, or None and the reason."""

    tries: int | None
    reason: str = ""


@inlined
def likely_mean(state: Any, arm: int, stream: Array) -> float:
    """Draw a mean of a played arm from what its rewards leave open."""
    count, mean = float(state.tallies.counts[arm]), seen_mean(state.family, state.tallies.means[arm])
    if state.family == BERNOULLI:
        return beta(stream, count * mean + 0.5, count * (1.0 - mean) + 0.5)
    return mean + safe_sqrt(state.variance / count) * normal(stream)


@compiled
def draw_means(state: Any, best: int, stream: Array, means: Array) -> None:
    """Draw means of all arms that fit rewards and relations, that of `best` being the largest."""
    spread = _SPREAD * safe_sqrt(state.variance)
    top = 1.0 - uniform(stream)
    if state.tallies.counts[best] > 0:
        top = likely_mean(state, best, stream)
    if state.family == BERNOULLI:
        top = min(max(top, state.rows.floor[best]), 1.0)
    low, high = state.low, state.high
    put_interval(state, best, NOBODY, top, low, high)
    for arm in range(len(means)):
        least = max(low[arm], high[arm] - spread)
        mean = least + (high[arm] - least) * uniform(stream)
        if state.tallies.counts[arm] > 0:
            mean = likely_mean(state, arm, stream)
        means[arm] = min(max(mean, low[arm]), high[arm])


@inlined
def sum_of_rewards(state: Any, mean: float, count: int, stream: Array) -> float:
    """Draw the sum of this many rewards with a mean."""
    if state.family != BERNOULLI:
        return count * mean + safe_sqrt(count * state.variance) * normal(stream)
    total = 0.0
    for _ in range(count):
        total += 1.0 if uniform(stream) < mean else 0.0
    return total


@compiled
def tries_ahead(state: Any, means: Array, goal: float, most: int, stream: Array) -> int:
    """Return after how many tries all evidence reaches the goal if arms have these means; at most `most`."""
    gone, everything = 0, Allowed(True, np.ones(len(state.tallies.counts), np.bool_))
    while gone < most:
        arm = arm_to_play(state, everything)
        if state.evidence[0] >= goal:
            break
        step = max(gone // 16, 1)
        learn_rewards(state, arm, step, sum_of_rewards(state, means[arm], step, stream))
        gone += step
    return min(gone, most)


@compiled
def repeat_choice(state: Any, means: Array, count: int, stream: Array) -> None:
    """Choose an arm and play it this many times."""
    arm = arm_to_play(state, Allowed(True, np.ones(len(state.tallies.counts), np.bool_)))
    learn_rewards(state, arm, count, sum_of_rewards(state, means[arm], count, stream))


def play_out(state: Any, means: Array, goal: float, most: int, stream: Array) -> tuple[int, int]:
    """Play until all evidence reaches the goal, for at most `most` tries; `means` are the true means.

    Returns the tries, and how many arms then have less evidence than that against them. The rule is looked at
    as often as `lsdt.identify` does it: after every hundredth part of the tries so far. Up to the next look
    the same arm is played.
    """
    tries, strongest = 0, (np.zeros(0, np.int64), np.zeros(0))
    while tries < most:
        fill_plays(state.rows, state.tallies.counts)
        if not (len(strongest[0]) and none_can_reach(state, goal, *strongest)):
            named = name_leader(state)
            if named.evidence.min(initial=math.inf) >= goal:
                break
            strongest = named.order[:_RIVALS].copy(), named.point
        step = min(max(tries // _LOOKS, 1), most - tries)
        repeat_choice(state, means, step, stream)
        tries += step
    free, point = np.empty(len(means)), np.empty(len(means))
    put_free_evidence(state, free, point)
    return tries, int((free < goal).sum())


def play_ahead(state: Any, goal: float) -> Ahead:
    """Return about how many more tries it takes, from a state that has learned all rewards."""
    n_arms = len(state.tallies.counts)
    if n_arms > _MOST_ARMS:
        return Ahead(None, f"with {n_arms:,} candidates it would take too long to play ahead")
    means, runs = np.empty(n_arms), np.empty(_RUNS)
    free, point = np.empty(n_arms), np.empty(n_arms)
    put_free_evidence(state, free, point)
    chances = np.cumsum(np.exp(free.min() - free))
    bests = np.searchsorted(chances, chances[-1] * (np.arange(_RUNS) + 0.5) / _RUNS)  # as even as can be
    for run, best in enumerate(bests.tolist()):
        begun, stream = copy_state(state), new_stream(0, run, n_arms)
        draw_means(begun, best, stream, means)
        runs[run] = tries_ahead(begun, means, goal, _MOST_TRIES, stream)
    low, middle, high = np.quantile(runs, [0.25, 0.5, 0.75]).tolist()
    if middle >= _MOST_TRIES:
        return Ahead(
            None, f"most of {_RUNS} runs that were played ahead needed more than {_MOST_TRIES:,} tries"
        )
    if high > _WIDEST * max(low, 1.0):
        return Ahead(
            None,
            f"runs that were played ahead differ too much: a quarter needed fewer than {low:,.0f} tries, a "
            f"quarter more than {high:,.0f}",
        )
    return Ahead(max(1, round(middle)))
