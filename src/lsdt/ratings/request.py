"""What is asked of a log of ratings, checked, and the rule that answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lsdt._validation import MOST_RATERS, checked_epsilon, checked_seed, checked_share, checked_whole
from lsdt.errors import InvalidInput, suggest
from lsdt.ratings.rules.relations import FamilyRule, FdrRule, PaperRule, Screen
from lsdt.ratings.statistics.intervals import KINDS, Intervals
from lsdt.side_information.layouts.stores import all_pairs

if TYPE_CHECKING:
    from lsdt.ratings.engines.source import RatingSource
    from lsdt.ratings.rules.relations import Rule

_CHOICES = {
    "rule": ("interval", "paper"),
    "level": ("family", "fdr", "fdr_any"),
    "search": ("grid", "paper"),
    "interval": KINDS,
}
_MIN_RATERS = {"interval": 30, "paper": 1}


@dataclass(frozen=True)
class Asked:
    """The arguments of `lsdt.from_ratings`, which says what they are."""

    epsilon: float | str
    confidence: float
    rule: str
    level: str
    alpha: float
    search: str
    min_raters: int | None
    interval: str
    seed: int

    def checked(self) -> Asked:
        """Return the same with plain values and defaults filled in, or say what is wrong."""
        for name, accepted in _CHOICES.items():
            given = getattr(self, name)
            if given not in accepted:
                raise InvalidInput(
                    f"{name} must be one of {', '.join(map(repr, accepted))}; got {given!r}"
                    + suggest(str(given), accepted)
                )
        return replace(
            self,
            epsilon=_checked_epsilon(self.epsilon),
            confidence=_checked_inside(self.confidence, "confidence"),
            alpha=_checked_alpha(self.alpha),
            min_raters=self._checked_raters(),
            seed=checked_seed(self.seed),
        )

    def _checked_raters(self) -> int:
        least = 1 if self.rule == "paper" else 2
        raters: Any = _MIN_RATERS[self.rule] if self.min_raters is None else self.min_raters
        return checked_whole(raters, f"min_raters for rule={self.rule!r}", least, MOST_RATERS)

    @property
    def error(self) -> float:
        """How often relations may be wrong, in the sense of the level."""
        return 1.0 - self.confidence

    @property
    def must_split(self) -> bool:
        """Whether epsilon must be chosen on other users than those that decide the relations."""
        return self.epsilon == "auto" and self.rule == "interval" and self.level != "family"

    def rule_for(self, source: RatingSource, epsilon: float | None = None) -> Rule:
        """Compare the pairs of a source; `epsilon` is the only one that the rule will be asked about."""
        if epsilon is None and not isinstance(self.epsilon, str):
            epsilon = self.epsilon
        ends = (0.0, 1.0) if epsilon is None else (epsilon, epsilon)
        assert self.min_raters is not None
        if self.rule == "paper":
            return PaperRule(source.pairs(self.min_raters, None), self.alpha)
        tests = all_pairs(len(source.item_ids))
        strict = Intervals(self.interval, self.error / tests)
        if self.level == "family":
            return FamilyRule(source.pairs(self.min_raters, Screen(strict, *ends)), strict)
        # No pair is decided whose p-value is above the level as a whole: its two-sided interval is longer.
        loose = Intervals(self.interval, min(2.0 * self.error, 1.0))
        listed = source.pairs(self.min_raters, Screen(loose, *ends))
        return FdrRule(listed, strict, self.error, self.level == "fdr_any")


def _checked_epsilon(epsilon: Any) -> float | str:
    if isinstance(epsilon, str):
        if not isinstance(epsilon, str) or epsilon != "auto":
            raise InvalidInput(f"epsilon must be a number or 'auto'; got {epsilon!r}")
        return epsilon
    checked = checked_epsilon(epsilon)
    if checked >= 1.0:
        raise InvalidInput(
            f"epsilon is a share of the scale of ratings and must be below 1; got {epsilon!r}. Divide one on "
            "the original scale by the length of that scale"
        )
    return checked


def _checked_inside(value: Any, name: str) -> float:
    share = checked_share(value, name)
    if share in (0.0, 1.0):
        raise InvalidInput(f"{name} must lie between 0 and 1, neither of them; got {value!r}")
    return share


def _checked_alpha(alpha: Any) -> float:
    share = checked_share(alpha, "alpha")
    if share == 1.0:
        raise InvalidInput("alpha must be below 1: nothing would ever be similar; got 1")
    return share
