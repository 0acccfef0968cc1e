"""The claims of the paper and the rule that decides them.

A check compares a measured quantity and its 95% interval with the range that a claim gives for it:

- *confirmed*: the whole interval lies in the range,
- *refuted*: the whole interval lies outside,
- *undecided*: neither, or there is no interval (a single run).

A claim *holds* when all its checks are confirmed, *does not hold* when none is confirmed and one or more are
refuted, and *holds in part* otherwise. A claim without a decided check is marked as undecided. A statement
about all cases is confirmed when every case agrees, and refuted by one counterexample. No verdict is written
by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.simulation import LEVEL, interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"
HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"


class VerdictWords(NamedTuple):
    """A verdict in words, for one claim and for several, and the name of its symbol on the page."""

    word: str
    plural: str
    mark: str


VERDICTS = {
    HOLDS: VerdictWords(HOLDS, "hold", "yes"),
    IN_PART: VerdictWords(IN_PART, "hold in part", "part"),
    FAILS: VerdictWords(FAILS, "do not hold", "no"),
}
_MARKS = {CONFIRMED: "yes", REFUTED: "no", UNDECIDED: "open"}  # symbols of outcomes on the page


class Estimate(NamedTuple):
    """A measured quantity and its 95% interval; the ends are NaN where there is none."""

    value: float
    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, for drawing; both are the value where there is no interval."""
        low, high = (self.value if math.isnan(end) else end for end in self[1:])
        return low, high

    def columns(self, name: str) -> dict[str, float]:
        """Return the estimate as columns of a table: the value under this name, ``low`` and ``high``."""
        return {name: self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Check:
    """One measured quantity and the range that a claim gives for it.

    ``wanted`` is that range in words; ``text``, if given, is shown instead of the estimate.
    """

    what: str
    estimate: Estimate
    wanted: str
    outcome: str
    text: str = ""

    @property
    def measured(self) -> str:
        """The estimate, with its interval unless that is a point."""
        if self.text:
            return self.text
        value, low, high = map(number, self.estimate)
        known = not math.isnan(self.estimate.low) and self.estimate.low != self.estimate.high
        return f"{value} ({low} to {high})" if known else value

    @property
    def mark(self) -> str:
        """The name of the outcome's symbol on the page."""
        return _MARKS[self.outcome]

    def __str__(self) -> str:
        return f"{self.what}: {self.measured}, claimed to be {self.wanted}"

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON data."""
        value, low, high = (None if math.isnan(end) else float(end) for end in self.estimate)
        return {
            "what": self.what,
            "estimate": value,
            "low": low,
            "high": high,
            "wanted": self.wanted,
            "outcome": self.outcome,
        }


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, in our words, and the checks that decide it.

    Attributes
    ----------
    name : str
        A short name, unique in the report.
    text : str
        The claim.
    paper : str
        Where the paper makes it.
    checks : tuple of Check
        What the measurements must show if it holds.
    """

    name: str
    text: str
    paper: str
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """``'holds'``, ``'holds in part'`` or ``'does not hold'``, by the rule at the top of this file."""
        outcomes = [check.outcome for check in self.checks]
        if all(outcome == CONFIRMED for outcome in outcomes):
            return HOLDS
        if CONFIRMED not in outcomes and REFUTED in outcomes:
            return FAILS
        return IN_PART

    @property
    def mark(self) -> str:
        """The name of the verdict's symbol on the page."""
        return VERDICTS[self.verdict].mark

    @property
    def undecided(self) -> bool:
        """Whether no check is decided, which means that more runs are needed."""
        return all(check.outcome == UNDECIDED for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as JSON data."""
        return {
            "name": self.name,
            "claim": self.text,
            "paper": self.paper,
            "verdict": self.verdict,
            "undecided": self.undecided,
            "checks": [check.to_dict() for check in self.checks],
        }


def mean_of(values: ArrayLike) -> Estimate:
    """Return the mean over runs with its interval (Student's t)."""
    mean, low, high = interval(np.asarray(values, np.float64))
    return Estimate(float(mean), float(low), float(high))


def deviation_ratio(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return the ratio of the standard deviations of two paired samples with its interval.

    The interval contains the factors by which the second sample can be scaled without the test of Pitman and
    Morgan (1939) rejecting equal variances; the two values of a pair may be dependent.
    """
    from scipy.special import stdtrit

    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(one) < 2 or two.std() == 0.0:
        return Estimate(math.nan, math.nan, math.nan)
    ratio = float(one.std() / two.std())
    if len(one) < 3 or ratio == 0.0:
        return Estimate(ratio, math.nan, math.nan)
    correlation = float(np.corrcoef(one, two)[0, 1])
    quantile = float(stdtrit(len(one) - 2, 0.5 + 0.5 * LEVEL))
    k = 1.0 + 2.0 * max(1.0 - correlation**2, 0.0) * quantile**2 / (len(one) - 2)
    factor = math.sqrt(k + math.sqrt(k * k - 1.0))
    return Estimate(ratio, ratio / factor, ratio * factor)


def share_of(truths: ArrayLike) -> Estimate:
    """Return the share of runs in which something is true, with its interval (Clopper and Pearson)."""
    seen = np.asarray(truths, bool)
    return share_of_counts(int(seen.sum()), len(seen))


def share_of_counts(yes: int, count: int) -> Estimate:
    """Return ``yes / count`` with its interval (Clopper and Pearson)."""
    from scipy.stats import binomtest

    low, high = binomtest(yes, count).proportion_ci(LEVEL, method="exact")
    return Estimate(yes / count, float(low), float(high))


def ratio_of(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return the ratio of two means, paired by run, with its interval (delta method)."""
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    ratio = float(one.mean() / two.mean())
    _, low, high = mean_of((one - ratio * two) / two.mean())
    return Estimate(ratio, ratio + low, ratio + high)


def exactly(value: float) -> Estimate:
    """Return a computed quantity; its interval is a point."""
    return Estimate(float(value), float(value), float(value))


def below(what: str, estimate: Estimate, limit: float) -> Check:
    """Check that a quantity is below a limit."""
    outcome = _outcome(estimate.high < limit, estimate.low >= limit)
    return Check(what, estimate, f"below {number(limit)}", outcome)


def above(what: str, estimate: Estimate, limit: float) -> Check:
    """Check that a quantity is above a limit."""
    outcome = _outcome(estimate.low > limit, estimate.high <= limit)
    return Check(what, estimate, f"above {number(limit)}", outcome)


def at_most(what: str, estimate: Estimate, limit: float) -> Check:
    """Check that a quantity is at most a limit."""
    outcome = _outcome(estimate.high <= limit, estimate.low > limit)
    return Check(what, estimate, f"at most {number(limit)}", outcome)


def at_least(what: str, estimate: Estimate, limit: float) -> Check:
    """Check that a quantity is at least a limit."""
    outcome = _outcome(estimate.low >= limit, estimate.high < limit)
    return Check(what, estimate, f"at least {number(limit)}", outcome)


def between(what: str, estimate: Estimate, low: float, high: float) -> Check:
    """Check that a quantity lies between two limits."""
    inside = low <= estimate.low and estimate.high <= high
    outcome = _outcome(inside, estimate.high < low or estimate.low > high)
    return Check(what, estimate, f"between {number(low)} and {number(high)}", outcome)


def always(what: str, truths: ArrayLike) -> Check:
    """Check that something is always true; one counterexample refutes it."""
    seen = np.asarray(truths, bool)
    text = f"{int(seen.sum()):,} of {len(seen):,}"
    share = exactly(seen.mean())
    return Check(what, share, "all", _outcome(bool(seen.all()), not seen.all()), text)


def number(value: float) -> str:
    """Return a number as text with three significant digits and commas between thousands."""
    if math.isnan(value):
        return "none"
    if value != 0.0 and abs(value) < 1e-3:
        return f"{value:.2g}"
    if abs(value) >= 1000.0:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:.{min(digits, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _outcome(inside: bool, outside: bool) -> str:
    return CONFIRMED if inside else REFUTED if outside else UNDECIDED
