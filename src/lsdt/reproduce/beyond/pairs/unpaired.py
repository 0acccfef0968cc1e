"""Rivals of a race: finding the best arm from separate tries, and halving the arms on common examples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.identification import identify
from lsdt.kernel import RewardModel
from lsdt.policies import StoppingRule
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_PART = 1_000  # a choice is repeated for a thousandth of the tries so far, as in `beyond.identification`
_AT_ONCE = 500  # tries of `lsdt.identify` chosen together, to save time: a small share of those that it takes
_GROWTH = 1.1  # the tries by which identify's rule is evaluated again: it is at most a tenth late


class UnpairedRun(NamedTuple):
    """Which arm LUCB named, how many tries it took, and after how many identify's rule would have stopped."""

    arm: int
    tries: int
    by_identify: int


def play_lucb(
    scores: Numbers, tolerance: float, delta: float, most: int, rng: np.random.Generator
) -> UnpairedRun:
    """Play LUCB1 (Kalyanakrishnan and others 2012) on separate tries: each on an example of its own.

    Both stopping rules see the same tries, those that LUCB chooses. A rule that has not stopped within `most`
    tries counts as stopping there.
    """
    n_examples, n_arms = scores.shape
    counts, sums = np.zeros(n_arms), np.zeros(n_arms)
    rule = StoppingRule(SideInformation(n_arms), RewardModel("bernoulli", 0.5), tolerance)
    by_identify, look = 0, 10.0 * n_arms

    def play(arm: int, times: int) -> None:
        counts[arm] += times
        sums[arm] += scores[rng.integers(n_examples, size=times), arm].sum()

    for arm in range(n_arms):
        play(arm, 1)
    while counts.sum() < most:
        tries = counts.sum()
        radius = np.sqrt(np.log(1.25 * n_arms * tries**4 / delta) / (2.0 * counts))
        means = sums / counts
        leader = int(means.argmax())
        upper = means + radius
        upper[leader] = -math.inf
        rival = int(upper.argmax())
        if not by_identify and tries >= look:
            look = _GROWTH * tries
            if rule.judge(counts.astype(np.int64), sums).least >= math.log(1.0 / delta):
                by_identify = int(tries)
        if upper[rival] - (means[leader] - radius[leader]) < tolerance:
            break
        for arm in (leader, rival):
            play(arm, max(int(tries) // _PART, 1))
    tries = int(counts.sum())
    return UnpairedRun(int((sums / counts).argmax()), min(tries, most), by_identify or min(tries, most))


def identify_separately(
    scores: Numbers, tolerance: float, delta: float, most: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Return the arm that `lsdt.identify` names, each try on an example of its own, and its tries."""
    n_examples, n_arms = scores.shape

    def tried(arms: list[int]) -> list[float]:
        examples = rng.integers(n_examples, size=len(arms))
        paid: list[float] = scores[examples, arms].tolist()
        return paid

    found = identify(
        tried,
        SideInformation(n_arms),
        delta=delta,
        tolerance=tolerance,
        budget=most,
        batch=_AT_ONCE,
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    return found.arm, found.tries


def halve(scores: Numbers, budget: int, rng: np.random.Generator) -> int:
    """Return the arm that successive halving names; in each round all arms left share their examples."""
    n_examples, n_arms = scores.shape
    left, rounds = np.arange(n_arms), math.ceil(math.log2(n_arms))
    order, at = rng.permutation(n_examples), 0
    for _ in range(rounds):
        number = max(budget // (rounds * len(left)), 1)
        examples = order[np.arange(at, at + number) % n_examples]
        at += number
        means = scores[np.ix_(examples, left)].mean(axis=0)
        left = left[np.argsort(-means, kind="stable")[: math.ceil(len(left) / 2)]]
    return int(left[0])
