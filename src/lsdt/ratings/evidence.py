"""What side information from ratings rests on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput, counted
from lsdt.ratings.rules.relations import DISSIMILAR, SIMILAR
from lsdt.side_information.arms import ArmNames

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.ratings.rules.epsilon_grid import GridPoint
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.ratings.statistics.missingness import Missingness
    from lsdt.ratings.statistics.pairs import PairStatistics
    from lsdt.side_information.arms import ArmId

_WORDS = {SIMILAR: "similar", DISSIMILAR: "dissimilar"}


class RatingWarning(UserWarning):
    """Something about the ratings that may make the relations drawn from them wrong."""


class PairEvidence(NamedTuple):
    """What the relation of one pair rests on, on the scale from 0 to 1.

    Attributes
    ----------
    relation : str
        ``'similar'`` or ``'dissimilar'``.
    raters : int
        How many users rated both.
    difference : float
        Mean of their ratings of the first item minus those of the second.
    low, high : float
        The ends of its interval; NaN for the paper's rule, which has none.
    """

    relation: str
    raters: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class RatingEvidence:
    """What side information from ratings rests on; `SideInformation.evidence`.

    Differences and epsilon are shares of the scale: with ratings from 1 to 5, 0.1 is 0.4 of a rating.

    Attributes
    ----------
    rule, level, interval, search : str
        What was asked for; ``search`` is ``'given'`` where epsilon was.
    confidence : float
        As asked for.
    epsilon : float
        The one that the relations are about.
    scale : tuple of float
        The ends of the scale of ratings.
    n_users, n_ratings : int
        Size of the log.
    notes : tuple of str
        What a user should know.
    missingness : Missingness
        What was found of ratings missing not at random.

    Examples
    --------
    >>> import lsdt
    >>> log, _ = lsdt.ratings.make_log(n_users=8000, n_items=12, ratings_per_user=8)
    >>> evidence = lsdt.from_ratings(log).evidence
    >>> evidence.rule, evidence.scale
    ('interval', (1.0, 5.0))
    """

    rule: str
    level: str
    interval: str
    search: str
    confidence: float
    epsilon: float
    scale: tuple[float, float]
    n_users: int
    n_ratings: int
    notes: tuple[str, ...]
    missingness: Missingness
    decided: PairStatistics
    relations: NDArray[np.int8]
    half_widths: NDArray[np.float64]
    item_statistics: ItemStatistics
    tried: tuple[GridPoint, ...]

    @property
    def item_ids(self) -> tuple[ArmId, ...]:
        """Names of the items."""
        return self.decided.item_ids

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row per pair that is decided: a, b, relation, raters, difference, low, high."""
        import pandas as pd

        ids = pd.Index(self.item_ids)
        decided = self.decided
        return pd.DataFrame(
            {
                "a": ids[decided.first],
                "b": ids[decided.second],
                "relation": np.where(self.relations == SIMILAR, "similar", "dissimilar"),
                "raters": decided.raters,
                "difference": decided.difference,
                "low": decided.difference - self.half_widths,
                "high": decided.difference + self.half_widths,
            }
        )

    @cached_property
    def items(self) -> pd.DataFrame:
        """A row per item: item, ratings, mean (on the original scale)."""
        import pandas as pd

        about = self.item_statistics
        return pd.DataFrame({"item": list(self.item_ids), "ratings": about.ratings, "mean": about.means})

    @cached_property
    def scan(self) -> pd.DataFrame:
        """A row per epsilon that was tried: epsilon, candidates, similar, dissimilar, unknown, risk.

        Candidates and risk are missing where the relations contradict one another.
        """
        import pandas as pd

        from lsdt.ratings.rules.epsilon_grid import GridPoint

        frame = pd.DataFrame(list(self.tried), columns=list(GridPoint._fields))
        return frame.astype({"candidates": "Int64", "risk": "float64"})

    def relation(self, a: ArmId, b: ArmId) -> PairEvidence | None:
        """Return what the relation of two items rests on, `a` minus `b`; None where it is unknown."""
        first, second = (self._names.index(item) for item in (a, b))
        if first == second:
            raise InvalidInput(f"a relation needs two different items; got {a!r} twice")
        place = self.decided.at(first, second)
        if place is None:
            return None
        difference = float(self.decided.difference[place]) * (1.0 if first < second else -1.0)
        width = float(self.half_widths[place])
        word = _WORDS[int(self.relations[place])]
        raters = int(self.decided.raters[place])
        return PairEvidence(word, raters, difference, difference - width, difference + width)

    @cached_property
    def _names(self) -> ArmNames:
        return ArmNames(len(self.item_ids), self.item_ids)

    def __str__(self) -> str:
        similar = int((self.relations == SIMILAR).sum())
        dissimilar = len(self.relations) - similar
        unknown = self.decided.n_pairs - similar - dissimilar
        low, high = self.scale
        lines = [
            f"{counted(self.n_ratings, 'rating')} from {low:g} to {high:g} of "
            f"{counted(len(self.item_ids), 'item')} by {counted(self.n_users, 'user')}",
            f"epsilon {self.epsilon:g}, which is {self.epsilon * (high - low):g} on the scale of ratings",
            f"{counted(similar, 'similar pair')}, {counted(dissimilar, 'dissimilar pair')}, "
            f"{unknown:,} unknown",
        ]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return (
            f"RatingEvidence({counted(len(self.relations), 'decided pair')}, rule={self.rule!r}, "
            f"level={self.level!r}, confidence={self.confidence:g}, epsilon={self.epsilon:g})"
        )
