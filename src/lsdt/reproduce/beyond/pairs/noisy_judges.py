"""Simulated judges that compare two arms, and are wrong in different ways; two rivals of `lsdt.Inquiry`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WORDS = ("worse", "equal", "better")
_TIE = 0.06  # differences below this are called equal
_SLIP = 0.1  # of the answers: one of the two other words
_SLOPE = 12.0  # of the log odds, for judges as in the model of Bradley and Terry
_PAIR = 0.06  # standard deviation of what a judge holds for or against an arm, next to one other arm


class NoisyJudge:
    """A judge of arms with these means.

    It looks at d = mean of the first arm - mean of the second + `bias`, says equal if |d| < .06, else better
    or worse, and with probability .1 one of the two other words instead. Of the `kind` ``"repeats"`` it gives
    the same answer to the same question; ``"odds"`` answers better or worse with log odds 12 d; ``"grudges"``
    adds to d a number of its own for every pair.
    """

    def __init__(self, means: Floats, rng: np.random.Generator, bias: float = 0.0, kind: str = "") -> None:
        self._means, self._rng, self._bias, self._kind = means, rng, bias, kind
        self._said: dict[tuple[int, int], str] = {}
        noise = rng.normal(0.0, _PAIR / math.sqrt(2.0), (len(means), len(means)))
        self._grudges = noise - noise.T

    def __call__(self, a: int, b: int) -> str:
        """Return how arm a, shown first, compares with arm b."""
        if self._kind == "repeats" and (a, b) in self._said:
            return self._said[a, b]
        apart = float(self._means[a] - self._means[b]) + self._bias
        if self._kind == "grudges":
            apart += float(self._grudges[a, b])
        if self._kind == "odds":
            return "better" if self._rng.random() < 1.0 / (1.0 + math.exp(-_SLOPE * apart)) else "worse"
        word = "equal" if abs(apart) < _TIE else "better" if apart > 0.0 else "worse"
        if self._rng.random() < _SLIP:
            word = [other for other in WORDS if other != word][int(self._rng.integers(2))]
        self._said[a, b] = word
        return word


def halving(means: Floats, arms: NDArray[np.int64], budget: int, rng: np.random.Generator) -> int:
    """Return the arm that successive halving finds within `budget` tries (Karnin and others 2013)."""
    wins, plays = np.zeros(len(means)), np.zeros(len(means))
    left = arms
    n_rounds = max(1, math.ceil(math.log2(len(arms)))) if len(arms) > 1 else 1
    for _ in range(n_rounds):
        each = max(1, budget // (len(left) * n_rounds))
        wins[left] += rng.binomial(each, means[left])
        plays[left] += each
        order = np.argsort(-wins[left] / plays[left], kind="stable")
        left = left[order[: max(1, -(-len(left) // 2))]]
    return int(left[0])


def win_counts(
    judge: Callable[[int, int], str], n_arms: int, calls: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the arms by their share of wins in `calls` random pairs; a tie is half a win.

    Every arm comes first, and second, about equally often.
    """
    score, played = np.zeros(n_arms), np.zeros(n_arms)
    n_asked = 0
    while n_asked < calls:
        order = rng.permutation(n_arms)
        for a, b in zip(order.tolist(), np.roll(order, 1).tolist(), strict=True):
            if n_asked == calls:
                break
            n_asked += 1
            won = WORDS.index(judge(a, b)) / 2.0
            score[a], score[b] = score[a] + won, score[b] + 1.0 - won
            played[[a, b]] += 1.0
    share = score / np.maximum(played, 1.0)
    return np.lexsort((rng.random(n_arms), -share))
