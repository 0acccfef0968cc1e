"""Answers that say by how much: ranges of a difference of means, some of which may be wrong.

Let there be n answers about a pair, and let k(x) of them contain the difference x. If x were the truth, n -
k(x) of them would be wrong. So x is ruled out when k(x) is smaller than the largest k by m or more: m - 1
wrong answers would not explain that, and if each is wrong with probability q, the odds of x are at most (q /
(1 - q))^m. The range of the pair goes from the smallest to the largest x that is not ruled out. For m = 1 it
is where most answers overlap.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import is_number
from lsdt.errors import InvalidInput
from lsdt.identification.questions.votes import Leader

if TYPE_CHECKING:
    from collections.abc import Iterator

# A pair gets at most this many times the answers that would settle it if all agreed: answers that differ that
# often are unlikely to agree soon.
_MOST_REPEATS = 4
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]+)?"
_BETWEEN = re.compile(rf"({_NUMBER})?\s*(?:\.\.|\bto\b|,|\s)\s*({_NUMBER})?")
_AROUND = re.compile(rf"({_NUMBER})\s*(?:\+-|\+/-|±)\s*({_NUMBER})")
_ONE_END = re.compile(rf"(>=?|<=?)\s*({_NUMBER})")
_WORDS = {"better": (0.0, math.inf), "worse": (-math.inf, 0.0)}
_ACCEPTED = (
    "an answer is a range of the first mean minus the second, (low, high) with None for an open end, or a "
    "text such as '0.1..0.3', '0.2 +- 0.1', '>= 0.1', 'better' or 'worse'"
)


class Range(NamedTuple):
    """How much larger the first mean is than the second, at least and at most.

    Examples
    --------
    >>> from lsdt.identification.questions.range_votes import checked_range
    >>> checked_range("0.2 +- 0.1").turned(), str(checked_range((.1, None)))
    (Range(low=-0.30000000000000004, high=-0.1), '0.1..')
    """

    low: float
    high: float

    def turned(self) -> Range:
        """Return the range of the second mean minus the first."""
        return Range(0.0 - self.high, 0.0 - self.low)

    def __str__(self) -> str:
        low, high = ("" if math.isinf(end) else repr(end) for end in self)
        return f"{low}..{high}"


EVERYTHING = Range(-math.inf, math.inf)


def checked_range(value: Any) -> Range:
    """Return an answer as a range; raise `InvalidInput` if it is none, or if both ends are open."""
    found = _read(value.strip().lower()) if isinstance(value, str) else _pair(value)
    if found is None:
        raise InvalidInput(f"{_ACCEPTED}; got {value!r}")
    if found.low > found.high:
        raise InvalidInput(f"the low end of a range must not be above its high end; got {value!r}")
    if found.low == math.inf or found.high == -math.inf:
        raise InvalidInput(f"{_ACCEPTED}; got {value!r}")
    if found == EVERYTHING:
        raise InvalidInput(f"a range needs an end that is not open; got {value!r}")
    return found


def _pair(value: Any) -> Range | None:
    try:
        low, high = value
    except (TypeError, ValueError):
        return None
    ends = [-math.inf if low is None else low, math.inf if high is None else high]
    if not all(is_number(end) and not isinstance(end, bool) and not math.isnan(end) for end in ends):
        return None
    return Range(*map(float, ends))


def _read(text: str) -> Range | None:
    if text in _WORDS:
        return Range(*_WORDS[text])
    if found := _AROUND.fullmatch(text):
        middle, half = float(found[1]), abs(float(found[2]))
        return Range(middle - half, middle + half)
    if found := _ONE_END.fullmatch(text):
        end = float(found[2])
        return Range(end, math.inf) if found[1].startswith(">") else Range(-math.inf, end)
    if (found := _BETWEEN.fullmatch(text)) and (found[1] or found[2]):
        return Range(float(found[1] or -math.inf), float(found[2] or math.inf))
    return None


class RangeVotes:
    """All answers so far, like `Votes`, but ranges instead of words."""

    def __init__(self, needed: int) -> None:
        self.needed = needed
        self.n_answers = 0
        self._ranges: dict[tuple[int, int], list[Range]] = {}

    def add(self, first: int, second: int, answer: Range) -> None:
        """Count an answer about the first arm, compared with the second."""
        if first > second:
            first, second, answer = second, first, answer.turned()
        self._ranges.setdefault((first, second), []).append(answer)
        self.n_answers += 1

    def leaders(self, least: int = 1) -> Iterator[Leader]:
        """Yield the range of every pair that at least `least` answers bound; its lead is their number."""
        for pair, given in self._ranges.items():
            found = common_range(given, least)
            if found != EVERYTHING:
                yield Leader(*pair, found, len(given))

    def again(self, first: int, second: int) -> int | None:
        """Return the number of answers about a pair; None if there are none, or if no more are needed.

        No more are needed once the settled range is where most answers overlap, or after too many answers.
        """
        given = self._ranges.get((min(first, second), max(first, second)))
        if given is None or len(given) >= _MOST_REPEATS * max(self.needed, 2):
            return None
        if len(given) >= max(self.needed, 2) and common_range(given, self.needed) == common_range(given, 1):
            return None
        return len(given)

    def half_width(self) -> float | None:
        """Return half the median width of the answers; None if none has two ends."""
        widths = sorted(
            each.high - each.low
            for given in self._ranges.values()
            for each in given
            if math.isfinite(each.high - each.low)
        )
        return widths[len(widths) // 2] / 2.0 if widths else None

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs that were asked about."""
        return list(self._ranges)

    def disputed(self) -> list[dict[str, Any]]:
        """Return a row per pair whose answers have nothing in common: how many, and where most overlap."""
        rows = []
        for (first, second), given in self._ranges.items():
            if max(each.low for each in given) > min(each.high for each in given):
                low, high = common_range(given, 1)
                rows.append({"a": first, "b": second, "answers": len(given), "low": low, "high": high})
        return rows


DISPUTED = ("answers", "low", "high")


def common_range(given: list[Range], least: int) -> Range:
    """Return the range of differences that is not ruled out when m is `least`; see the top of this module."""
    if len(given) < least:
        return EVERYTHING
    if len(given) == 1:
        return given[0]
    points = sorted({end for each in given for end in each})
    # The number of answers that contain a difference is largest at an end of one, since ranges are closed.
    counts = [sum(each.low <= point <= each.high for each in given) for point in points]
    enough = max(counts) - least
    if enough < 0:
        return EVERYTHING
    kept = [point for point, count in zip(points, counts, strict=True) if count > enough]
    return Range(min(kept), max(kept))
