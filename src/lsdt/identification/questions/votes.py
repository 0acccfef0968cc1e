"""Answers similar or dissimilar, some of which may be wrong: how often each was given, and which leads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("similar", "dissimilar")
_RISK = 0.05  # the usual 5%: that any relation is settled wrongly, if there are as many relations as arms


class Leader(NamedTuple):
    """The answer that was given most often for a pair, smaller arm first, and by how many it leads."""

    first: int
    second: int
    answer: Any
    lead: int


def needed_lead(n_arms: int, wrong_rate: float) -> int:
    """Return the lead at which an answer is settled, if each is wrong with probability `wrong_rate`.

    With a lead of m, the odds that the other answer is right are at most (q / (1 - q))^m, where q is
    `wrong_rate` and answers are independent.
    """
    if wrong_rate == 0.0:
        return 1
    odds = math.log((1.0 - wrong_rate) / wrong_rate)
    return max(2, math.ceil(math.log(n_arms / _RISK) / odds - 1e-9))


class Votes:
    """All answers so far; `needed` is the lead at which an answer is settled."""

    def __init__(self, needed: int) -> None:
        self.needed = needed
        self.n_answers = 0
        self._counts: dict[tuple[int, int], dict[str, int]] = {}

    def add(self, first: int, second: int, answer: str) -> None:
        """Count an answer about two arms."""
        counts = self._counts.setdefault((min(first, second), max(first, second)), {})
        counts[answer] = counts.get(answer, 0) + 1
        self.n_answers += 1

    def leader(self, first: int, second: int) -> Leader | None:
        """Return the leading answer of a pair; None if there is no answer, or a tie."""
        pair = (first, second) if first < second else (second, first)
        counts = self._counts.get(pair)
        if counts is None:
            return None
        ranked = sorted(counts.values(), reverse=True)
        lead = ranked[0] - (ranked[1] if len(ranked) > 1 else 0)
        if not lead:
            return None
        return Leader(*pair, max(counts, key=lambda word: counts[word]), lead)

    def leaders(self, least: int = 1) -> Iterator[Leader]:
        """Yield the leading answer of every pair where it leads by at least `least`."""
        for pair in self._counts:
            found = self.leader(*pair)
            if found is not None and found.lead >= least:
                yield found

    def again(self, first: int, second: int) -> int | None:
        """Return by how many the leading answer of a pair leads; None if there is none, or it is settled."""
        found = self.leader(first, second)
        return found.lead if found is not None and found.lead < max(self.needed, 2) else None

    def disputed(self) -> list[tuple[int, int, dict[str, int]]]:
        """Return the pairs with different answers, and how often each was given."""
        return [(*pair, dict(counts)) for pair, counts in self._counts.items() if len(counts) > 1]
