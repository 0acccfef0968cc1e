"""Three ways to choose the pairs that a judge is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.identification import Inquiry
from lsdt.reproduce.beyond.inquiry.judges import Answers
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.reproduce.beyond.inquiry.judges import Judge

    Floats = NDArray[np.float64]

# Constants of the ensemble, chosen on two seeds that the contest does not use, to favour this way of asking
# if answers are words (docs/paper/beyond.md).
_DRAWS = 24  # mean vectors
_SWEEPS = 3  # over all arms, after every batch
_BATCH = 10
_STEP = 0.1  # standard deviation of a local move, as a share of the range of the means
_DOUBT = 2.0  # log-likelihood lost per violated answer


class Asked(NamedTuple):
    """The number of answers, and the arms that are left."""

    answers: int
    left: NDArray[np.int64]


def random_pairs(judge: Judge, until: int, rng: np.random.Generator) -> Asked:
    """Ask about pairs in random order; bisection finds how many answers suffice."""
    n_arms = len(judge.means)
    pairs = _all_pairs(n_arms)[rng.permutation(n_arms * (n_arms - 1) // 2)]
    said = [judge(a, b) for a, b in pairs.tolist()]

    def left(n: int) -> NDArray[np.int64]:
        return Answers(pairs[:n].tolist(), said[:n]).left(n_arms, judge.epsilon)

    low, high = 0, len(pairs)
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if len(left(middle)) <= until else (middle, high)
    return Asked(high, left(high))


def most_uncertain(judge: Judge, until: int, rng: np.random.Generator) -> Asked:
    """Ask about the pairs on whose answer an ensemble of mean vectors disagrees most, ten at a time."""
    n_arms = len(judge.means)
    ensemble, pairs = Ensemble(judge, rng), _all_pairs(n_arms)
    is_open = np.ones(len(pairs), bool)
    answers = Answers([], [])
    left = np.arange(n_arms)
    while len(left) > until and is_open.any():
        unsure = np.where(is_open, ensemble.disagreement(pairs) + 1e-9 * rng.random(len(pairs)), -1.0)
        for at in _apart(pairs, np.argsort(-unsure, kind="stable"), is_open):
            is_open[at] = False
            a, b = pairs[at].tolist()
            answers.pairs.append((a, b))
            answers.said.append(judge(a, b))
            ensemble.tell(a, b, answers.said[-1])
        ensemble.move()
        left = answers.left(n_arms, judge.epsilon)
    return Asked(len(answers.pairs), left)


def inquiry(judge: Judge, until: int, rng: np.random.Generator) -> Asked:
    """Ask what `lsdt.Inquiry` asks, one pair at a time, and then random pairs if no answer can be wrong."""
    n_arms = len(judge.means)
    side = SideInformation(n_arms, epsilon=judge.epsilon)
    asking = Inquiry(side, judge.kind, wrong_rate=judge.wrong, until=until)
    asked: set[tuple[int, int]] = set()
    while questions := asking.next():
        for one in questions:
            a, b = side.index(one.a), side.index(one.b)
            asked.add((min(a, b), max(a, b)))
            asking.tell(a, b, judge(a, b))
    rest = [pair for pair in _all_pairs(n_arms).tolist() if tuple(pair) not in asked]
    order = rng.permutation(len(rest)).tolist() if not judge.wrong else []
    for number, at in enumerate(order):
        if number % _BATCH == 0 and len(asking.found) <= until:
            break
        a, b = rest[at]
        asking.tell(a, b, judge(a, b))
    return Asked(asking.n_answers, asking.found.arms)


WAYS: dict[str, Callable[[Judge, int, np.random.Generator], Asked]] = {
    "random pairs": random_pairs,
    "most uncertain pairs": most_uncertain,
    "lsdt.Inquiry": inquiry,
}


def _all_pairs(n_arms: int) -> NDArray[np.int64]:
    return np.stack(np.triu_indices(n_arms, 1), axis=1)


def _apart(pairs: NDArray[np.int64], order: NDArray[np.int64], is_open: NDArray[np.bool_]) -> list[int]:
    """Return a batch: the first open pairs in this order that have no arm in common."""
    taken: set[int] = set()
    found: list[int] = []
    for at in order.tolist():
        arms = set(pairs[at].tolist())
        if not is_open[at] or len(found) == _BATCH:
            break
        if not arms & taken:
            found.append(at)
            taken |= arms
    return found


class Ensemble:
    """Random mean vectors within the true range, moved by Metropolis steps to violate few answers."""

    def __init__(self, judge: Judge, rng: np.random.Generator) -> None:
        self._judge, self._rng = judge, rng
        self._low, self._high = float(judge.means.min()), float(judge.means.max())
        self._draws = rng.uniform(self._low, self._high, (_DRAWS, len(judge.means)))
        # For every arm: the other arm, the limits of the difference, and whether it lies inside them.
        self._known: list[list[tuple[int, float, float, bool]]] = [[] for _ in judge.means]

    def tell(self, a: int, b: int, said: Any) -> None:
        """Record an answer."""
        epsilon = self._judge.epsilon
        limits = {
            "similar": (-epsilon, epsilon, True),
            "equal": (-epsilon, epsilon, True),
            "dissimilar": (-epsilon, epsilon, False),
            "better": (epsilon, np.inf, True),
            "worse": (-np.inf, -epsilon, True),
        }
        low, high, inside = (*said, True) if isinstance(said, tuple) else limits[said]
        self._known[a].append((b, low, high, inside))
        self._known[b].append((a, -high, -low, inside))

    def move(self) -> None:
        """Move the mean vectors towards the recorded answers."""
        rng, width = self._rng, self._high - self._low
        for _sweep in range(_SWEEPS):
            for arm in rng.permutation(len(self._known)).tolist():
                if not self._known[arm]:
                    self._draws[:, arm] = rng.uniform(self._low, self._high, _DRAWS)
                    continue
                others, low, high, inside = (np.array(part) for part in zip(*self._known[arm], strict=True))
                near = self._draws[:, arm] + _STEP * width * rng.standard_normal(_DRAWS)
                far = rng.uniform(self._low, self._high, _DRAWS)
                tried = np.clip(np.where(rng.random(_DRAWS) < 0.5, near, far), self._low, self._high)
                broken = []
                for values in (self._draws[:, arm], tried):
                    apart = values[:, None] - self._draws[:, others]
                    broken.append((((apart >= low) & (apart <= high)) != inside).sum(axis=1))
                taken = rng.random(_DRAWS) < np.exp(-_DOUBT * (broken[1] - broken[0]))
                self._draws[taken, arm] = tried[taken]

    def disagreement(self, pairs: NDArray[np.int64]) -> Floats:
        """Return how uncertain the answer about each pair is: its entropy, or for ranges its variance."""
        apart = self._draws[:, pairs[:, 0]] - self._draws[:, pairs[:, 1]]
        if self._judge.kind == "range":
            variance: Floats = apart.var(axis=0)
            return variance
        epsilon = self._judge.epsilon
        if self._judge.kind == "similar":
            shares = [(np.abs(apart) < epsilon).mean(axis=0)]
        else:
            shares = [(apart >= epsilon).mean(axis=0), (apart <= -epsilon).mean(axis=0)]
        shares.append(1.0 - sum(shares))
        entropy: Floats = -sum(share * np.log(np.maximum(share, 1e-12)) for share in shares)
        return entropy
