"""Strengths of arms, given a judge's answers: a joint normal approximation, by expectation propagation.

A judge who is shown arm a first and arm b second perceives

    x = strength of a - strength of b + position effect + noise,    noise ~ N(0, s^2),

and says *better* if x > t, *worse* if x < -t, else *equal*. With probability `slip` the answer is arbitrary
instead: each word with probability 1/3. Strengths are N(0, 1) beforehand, which sets their unit.

An answer constrains one linear function of the strengths, so the law of all strengths is approximated by a
normal one in which every answer is a factor exp(r x - p x^2 / 2). Expectation propagation (Minka 2001) gives
r and p the values at which mean and variance of x are those under the true likelihood of that answer and the
factors of all others. Here these moments have closed forms, and all factors are updated at once.

s, t and slip are estimated by maximising the probability of every answer given all others, which the same
factors provide. A contradiction therefore makes the judge look less reliable and lowers the weight of the
answers that fit worst; it never discards what the other answers say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

WORSE, EQUAL, BETTER = 0, 1, 2
# What is assumed of a judge beforehand: the middle and the standard deviation of log s, log t and
# logit slip, in units of the spread of the arms. Chosen once, wide; after some 50 answers they hardly matter.
_MIDDLE = np.array([np.log(0.5), np.log(0.3), np.log(0.075 / 0.925)])
_WIDTH = np.array([1.0, 1.0, 1.0])
_POSITION = 0.25  # variance of the position effect beforehand: half the standard deviation of a strength
# Expectation propagation: how far every update goes, how often, and the change of precision at which it ends.
# With .7 it converged on all answers tried; a full step oscillates where many answers are about one arm.
_DAMPING, _ROUNDS, _CLOSE = 0.7, 40, 1e-3
_ROUGH = 2  # rounds while there are too many arms: one round goes .7 of the way, two .91
_LEAST_PRECISION = 1e-4  # of a factor: a surprising answer would have a negative one, which may not converge
_LEAST_CAVITY = 1e-3  # precision of x without its answer
_MORE = 1.2  # the judge is estimated again when there are this many times as many answers
_FIRST_FIT = 12  # answers before the judge is first estimated
_FITS = 4  # estimates of judge and strengths in turn; the fourth moves t by less than 1%
# Standard errors of `agreement` at which answers count as showing an order. In 30 inquiries on 12 arms with
# all 132 questions, judges who guessed came to 1.6 at most, those right in two thirds of the answers to 2.8
# (median), those right in more than nine tenths to 3.3 or more.
_CLEAR = 2.0
_FEW_ANSWERS = 20  # too few to tell a judge who guesses from one who knows
_LARGEST = 37.0  # standard deviations at which a normal tail is still above the smallest float
# Arms in the joint law: a refresh inverts a matrix of this size some twenty times, which takes .2 s.
MOST_MEMBERS = 300


class JudgeEstimate(NamedTuple):
    """How a judge errs, as estimated from the answers; `Inquiry.judge`.

    Strengths have mean 0 and standard deviation 1 before anything is known.

    Attributes
    ----------
    slip : float
        The probability that an answer has nothing to do with the arms.
    noise : float
        The standard deviation of the noise in a perceived difference of strengths.
    tie : float
        Differences of strengths below this are called equal.
    position : float
        What coming first adds to the strength of an arm.
    position_sd : float
        The standard deviation of that estimate.
    agreement : float
        How much better each answer is predicted by all others than by how often each word was given (the mean
        difference of log probabilities), in standard errors. Below 2, the answers do not show an order of the
        arms, and what is said of the best arm cannot be relied on. None for fewer than 20 answers.

    Examples
    --------
    >>> import lsdt
    >>> inquiry = lsdt.Inquiry(lsdt.SideInformation(3), answers="better")
    >>> inquiry.judge.position, inquiry.judge.position_sd      # nothing is known yet
    (0.0, 0.5)
    """

    slip: float
    noise: float
    tie: float
    position: float
    position_sd: float
    agreement: float | None = None

    @property
    def agrees(self) -> bool:
        """Whether the answers show an order of the arms; True while there are too few to tell."""
        return self.agreement is None or self.agreement >= _CLEAR

    @property
    def is_biased(self) -> bool:
        """Whether the position effect is clear: more than two standard deviations from 0."""
        return abs(self.position) > 2.0 * self.position_sd


class JudgeLaw(NamedTuple):
    """The parameters s, t and slip of a judge."""

    noise: float
    tie: float
    slip: float

    def moments(self, mean: Any, variance: Any, word: Any) -> tuple[Floats, Floats, Floats]:
        """Return the probability of answers, and two derivatives of its logarithm by the mean of x.

        `mean` and `variance` are those of x without noise, `word` the answers. With derivatives g and h, x
        given the answer has the mean ``mean + variance g`` and the variance ``variance + variance^2 h``.
        """
        ends = np.array([-np.inf, -self.tie, self.tie, np.inf])
        size = np.sqrt(variance + self.noise**2)
        low = np.clip((ends[word] - mean) / size, -_LARGEST, _LARGEST)
        high = np.clip((ends[np.add(word, 1)] - mean) / size, -_LARGEST, _LARGEST)
        inside = _between(low, high)
        at_low, at_high = _density(low), _density(high)
        chance = self.slip / 3.0 + (1.0 - self.slip) * inside
        first = (1.0 - self.slip) * (at_low - at_high) / size / chance
        second = (1.0 - self.slip) * (low * at_low - high * at_high) / (size * size) / chance
        return chance, first, second - first * first

    def information(self, mean: Any, variance: Any) -> Floats:
        """Return how much an answer is expected to shrink the variance of x, divided by its square.

        That is the expectation of minus h over the answers: the sum of squared derivatives of their
        probabilities, each divided by the probability.
        """
        from scipy.special import ndtr

        size = np.sqrt(variance + self.noise**2)
        low, high = (-self.tie - mean) / size, (self.tie - mean) / size
        worse, better = ndtr(low), ndtr(-high)
        at_low, at_high = _density(low), _density(high)
        total = np.zeros(np.shape(size))
        equal = np.maximum(1.0 - worse - better, 0.0)
        for inside, change in ((worse, at_low), (better, at_high), (equal, at_low - at_high)):
            total += change**2 / (self.slip / 3.0 + (1.0 - self.slip) * inside)
        information: Floats = total * ((1.0 - self.slip) / size) ** 2
        return information


class StrengthPosterior(NamedTuple):
    """The joint normal distribution of strengths of `members` and, in the last row, the position effect."""

    members: Ints
    mean: Floats
    covariance: Floats


class JudgeModel:
    """The answers about some arms, and what follows from them."""

    def __init__(self, n_arms: int, wrong_rate: float | None = None) -> None:
        self.n_arms = n_arms
        self._middle = _MIDDLE.copy()
        if wrong_rate:
            slip = min(1.5 * wrong_rate, 0.9)  # a slip is the right answer one time in three
            self._middle[2] = np.log(slip / (1.0 - slip))
        self._settings = self._middle.copy()
        self._first: list[int] = []
        self._second: list[int] = []
        self._words: list[int] = []
        self._is_dropped = np.zeros(n_arms, bool)
        self._factors = np.zeros((0, 2))  # of every answer: r and p
        self._n_fitted, self._n_used = 0, 0
        self._posterior = StrengthPosterior(np.zeros(0, np.int64), np.zeros(1), np.full((1, 1), _POSITION))

    def tell(self, first: int, second: int, word: int) -> None:
        """Add an answer about two arms, shown in this order."""
        self._first.append(first)
        self._second.append(second)
        self._words.append(word)

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return len(self._words)

    @property
    def law(self) -> JudgeLaw:
        """The judge's parameters, as estimated when the posterior was last computed."""
        return _law(self._settings)

    @property
    def is_dropped(self) -> NDArray[np.bool_]:
        """Which arms were left out of the joint law, to keep it small."""
        return self._is_dropped

    def n_asked(self) -> Ints:
        """Return how many answers every arm has."""
        return np.bincount(np.array([self._first, self._second], np.int64).ravel(), minlength=self.n_arms)

    def drop(self, arms: Ints) -> None:
        """Leave arms out of the joint distribution; answers about them no longer count."""
        self._is_dropped[arms] = True
        self._n_used = -1

    def posterior(self) -> StrengthPosterior:
        """Return the joint law of the strengths of all arms that were asked about."""
        if self._n_used != self.n_answers:
            self._refresh()
            self._n_used = self.n_answers
        return self._posterior

    def doubts(self) -> Floats:
        """Return for every answer the probability that it is a slip; NaN if it no longer counts."""
        self.posterior()
        doubts = np.full(self.n_answers, np.nan)
        used = self._used()
        if len(used):
            chance, _, _ = self.law.moments(*self._cavities(used), np.array(self._words)[used])
            doubts[used] = self.law.slip / 3.0 / chance
        return doubts

    def _used(self) -> Ints:
        """Return the numbers of the answers that count."""
        first, second = np.array(self._first, np.int64), np.array(self._second, np.int64)
        return np.flatnonzero(~(self._is_dropped[first] | self._is_dropped[second]))

    def _refresh(self) -> None:
        added = self.n_answers - len(self._factors)
        self._factors = np.concatenate([self._factors, np.zeros((added, 2))])
        used = self._used()
        if len(self._places(used)[0]) > MOST_MEMBERS:
            self._propagate(used, _ROUGH)  # enough to choose the arms to drop
            return
        self._propagate(used)
        if len(used) >= max(_FIRST_FIT, _MORE * self._n_fitted):
            for _ in range(_FITS):
                before = self._settings
                self._settings = self._fitted(used)
                self._propagate(used)
                if np.abs(self._settings - before).max() < 0.01:
                    break
            self._n_fitted = len(used)

    def _propagate(self, used: Ints, rounds: int = _ROUNDS) -> None:
        """Update the factors until they are consistent, and the posterior with them."""
        words, law = np.array(self._words, np.int64)[used], self.law
        self._solve(used)
        for _ in range(rounds if len(used) else 0):
            mean, variance = self._cavities(used)
            _, slope, bend = law.moments(mean, variance, words)
            precision = np.maximum(1.0 / (variance + variance**2 * bend) - 1.0 / variance, _LEAST_PRECISION)
            shift = (mean + variance * slope) * (1.0 / variance + precision) - mean / variance
            new = np.stack([shift, precision], axis=1)
            change = np.abs(precision - self._factors[used, 1]) / (1.0 + precision)
            self._factors[used] += _DAMPING * (new - self._factors[used])
            self._solve(used)
            if change.max() < _CLOSE:
                break

    def _places(self, used: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the members, and the rows of the two arms of every answer."""
        pairs = np.array([self._first, self._second], np.int64)[:, used]
        members, rows = np.unique(pairs, return_inverse=True)
        first, second = rows.reshape(pairs.shape)
        return members, first, second

    def _solve(self, used: Ints) -> None:
        """Compute the posterior from the factors."""
        members, first, second = self._places(used)
        shift, weight = self._factors[used].T
        size = len(members) + 1
        matrix = np.zeros(size * size)
        last = np.full(len(used), size - 1)
        signed = ((first, 1.0), (second, -1.0), (last, 1.0))
        for row, sign in signed:
            for column, other in signed:
                matrix += np.bincount(row * size + column, sign * other * weight, size * size)
        precision = matrix.reshape(size, size)
        precision[np.diag_indices(size)] += np.append(np.ones(size - 1), 1.0 / _POSITION)
        target = sum(sign * np.bincount(row, shift, size) for row, sign in signed)
        covariance: Floats = np.linalg.inv(precision).astype(np.float64)
        self._posterior = StrengthPosterior(members, covariance @ target, covariance)

    def _cavities(self, used: Ints) -> tuple[Floats, Floats]:
        """Return mean and variance of x for every answer, given all other answers."""
        _, first, second = self._places(used)
        _, mean, covariance = self._posterior
        middle, variance = difference(mean, covariance, first, second)
        shift, weight = self._factors[used].T
        rest = 1.0 / np.maximum(1.0 / variance - weight, _LEAST_CAVITY)
        return rest * (middle / variance - shift), rest

    def _fitted(self, used: Ints) -> Floats:
        """Return the settings that make every answer most probable, given all others."""
        from scipy.optimize import minimize

        cavities, words = self._cavities(used), np.array(self._words, np.int64)[used]

        def loss(settings: Floats) -> float:
            chance, _, _ = _law(settings).moments(*cavities, words)
            distance = (settings - self._middle) / _WIDTH
            return float(-np.log(chance).sum() + 0.5 * distance @ distance)

        # Three parameters and a flat top: no derivatives are needed, and a hundredth is close enough.
        options = {"xatol": 0.01, "fatol": 0.01, "maxiter": 120}
        best: Floats = minimize(loss, self._settings, method="Nelder-Mead", options=options).x
        return best

    def estimate(self) -> JudgeEstimate:
        """Return how the judge errs."""
        _, mean, covariance = self.posterior()
        law = self.law
        spread = float(np.sqrt(covariance[-1, -1]))
        return JudgeEstimate(law.slip, law.noise, law.tie, float(mean[-1]), spread, self._agreement())

    def _agreement(self) -> float | None:
        """Return how much better other answers predict an answer than frequencies do, in standard errors."""
        used = self._used()
        if len(used) < _FEW_ANSWERS:
            return None
        words = np.array(self._words, np.int64)[used]
        chance, _, _ = self.law.moments(*self._cavities(used), words)
        others = np.bincount(words, minlength=3)[words] - 1.0
        gain = np.log(chance) - np.log((others + 1.0 / 3.0) / len(used))
        return float(gain.mean() * np.sqrt(len(used)) / max(gain.std(), 1e-9))


def difference(mean: Floats, covariance: Floats, first: Any, second: Any) -> tuple[Floats, Floats]:
    """Return mean and variance of x for pairs of rows: strength minus strength plus the position effect."""
    own, with_last = np.diag(covariance), covariance[:, -1]
    variance = own[first] + own[second] + own[-1] - 2.0 * covariance[first, second]
    variance = variance + 2.0 * (with_last[first] - with_last[second])
    return mean[first] - mean[second] + mean[-1], np.maximum(variance, 1e-12)


def _law(settings: Floats) -> JudgeLaw:
    noise, tie = np.exp(settings[:2]).tolist()
    return JudgeLaw(noise, tie, float(1.0 / (1.0 + np.exp(-settings[2]))))


def _density(x: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    return density


def _between(low: Floats, high: Floats) -> Floats:
    """Return the normal probability between two points, from the tail in which it is exact."""
    from scipy.special import ndtr

    is_above = low + high > 0.0
    inside: Floats = ndtr(np.where(is_above, -low, high)) - ndtr(np.where(is_above, -high, low))
    return inside
