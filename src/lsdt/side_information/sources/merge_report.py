"""What every source contributed to merged side information, and where they contradict one another."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

_SHOWN = 5
_TAKEN = {
    "error": "",
    "unknown": " (left unknown)",
    "first": " (the earlier source believed)",
}


class Source(NamedTuple):
    """What one source said.

    Attributes
    ----------
    name : str
        What it is called.
    n_similar, n_dissimilar : int
        How many pairs it relates.
    n_new : int
        Those that no source before it related.
    n_agreeing, n_contradicting : int
        Those that another source relates in the same way, or in the opposite one; with three sources or more
        a pair may be both.
    evidence : object or None
        What this source itself rests on.
    """

    name: str
    n_similar: int
    n_dissimilar: int
    n_new: int
    n_agreeing: int
    n_contradicting: int
    evidence: Any = None

    @property
    def n_pairs(self) -> int:
        """How many pairs it relates."""
        return self.n_similar + self.n_dissimilar

    def __str__(self) -> str:
        return (
            f"{self.name}: {counted(self.n_pairs, 'pair')} ({self.n_similar:,} similar, "
            f"{self.n_dissimilar:,} dissimilar), {self.n_new:,} new, {self.n_agreeing:,} agreeing, "
            f"{self.n_contradicting:,} contradicting"
        )


class Contradiction(NamedTuple):
    """A pair that some sources call similar and others dissimilar, with the names of either.

    Examples
    --------
    >>> import lsdt
    >>> log, expert = lsdt.SideInformation(2, [(0, 1)]), lsdt.SideInformation(2, [], [(0, 1)])
    >>> side = lsdt.merge([log, expert], ["log", "expert"], on_conflict="unknown")
    >>> side.evidence.contradictions()
    [Contradiction(first=0, second=1, similar_in=('log',), dissimilar_in=('expert',))]
    """

    first: ArmId
    second: ArmId
    similar_in: tuple[str, ...]
    dissimilar_in: tuple[str, ...]

    def __str__(self) -> str:
        yes, no = (" and ".join(map(repr, names)) for names in (self.similar_in, self.dissimilar_in))
        return f"({self.first!r}, {self.second!r}): similar in {yes}, dissimilar in {no}"


class Disputed(NamedTuple):
    """Pairs that sources disagree about, as arrays: what is said of each, by whom, one pair after another."""

    pairs: NDArray[np.int64]
    statements: NDArray[np.int64]  # how many there are of every pair
    relations: NDArray[np.int8]
    speakers: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MergeReport:
    """What every source contributed to merged side information: ``lsdt.merge(...).evidence``.

    Attributes
    ----------
    sources : tuple of Source
        In the order in which they were given.
    n_pairs : int
        How many pairs any source relates.
    on_conflict : str
        What was done about contradictions.

    Examples
    --------
    >>> import lsdt
    >>> log, expert = lsdt.SideInformation(3, [(0, 1)]), lsdt.SideInformation(3, [], [(0, 1), (1, 2)])
    >>> report = lsdt.merge([log, expert], ["log", "expert"], on_conflict="first").evidence
    >>> print(report)
    2 sources, 2 pairs, 1 contradiction (the earlier source believed)
      log: 1 pair (1 similar, 0 dissimilar), 1 new, 0 agreeing, 1 contradicting
      expert: 2 pairs (0 similar, 2 dissimilar), 1 new, 0 agreeing, 1 contradicting
      (0, 1): similar in 'log', dissimilar in 'expert'
    >>> report.to_frame()[["name", "n_pairs", "n_new"]].values.tolist()
    [['log', 1, 1], ['expert', 2, 1]]
    """

    sources: tuple[Source, ...]
    n_pairs: int
    on_conflict: str
    _disputed: Disputed = field(repr=False)
    _arm_ids: tuple[ArmId, ...] | None = field(repr=False)

    @property
    def n_contradictions(self) -> int:
        """How many pairs one source calls similar and another dissimilar."""
        return len(self._disputed.pairs)

    def contradictions(self, most: int | None = None) -> list[Contradiction]:
        """Return the pairs that sources contradict one another about, ascending: the first few, or all."""
        return list(islice(self._contradictions(), most))

    def _contradictions(self) -> Iterator[Contradiction]:
        pairs, statements, relations, speakers = self._disputed
        ends = np.cumsum(statements)
        for pair, end, count in zip(pairs.tolist(), ends.tolist(), statements.tolist(), strict=True):
            said, by = relations[end - count : end], speakers[end - count : end]
            names = [tuple(self.sources[one].name for one in by[said == word]) for word in (1, -1)]
            yield Contradiction(self._label(pair[0]), self._label(pair[1]), *names)

    def _label(self, arm: int) -> ArmId:
        return arm if self._arm_ids is None else self._arm_ids[arm]

    @property
    def arms(self) -> tuple[ArmId, ...]:
        """The arms of all contradictions."""
        return tuple(map(self._label, np.unique(self._disputed.pairs).tolist()))

    @property
    def relations(self) -> tuple[tuple[ArmId, ArmId, str], ...]:
        """Relations that cannot all be true: both of every contradiction."""
        return tuple(
            (found.first, found.second, word)
            for found in self._contradictions()
            for word in ("similar", "dissimilar")
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row per source: its name, and how many pairs it relates, adds, shares and disputes."""
        import pandas as pd

        names = ["name", "n_pairs", *Source._fields[1:-1]]
        return pd.DataFrame(
            [[getattr(source, name) for name in names] for source in self.sources], columns=names
        )

    def contradictions_text(self) -> str:
        """Return how many pairs sources contradict one another about, and the first few of them."""
        shown = [f"  {found}" for found in self.contradictions(_SHOWN)]
        if self.n_contradictions > _SHOWN:
            shown.append(f"  ... and {self.n_contradictions - _SHOWN:,} more")
        head = f"the sources contradict one another about {counted(self.n_contradictions, 'pair')}:"
        return "\n".join([head, *shown])

    def __str__(self) -> str:
        many = f"{counted(len(self.sources), 'source')}, {counted(self.n_pairs, 'pair')}, "
        if not self.n_contradictions:
            return "\n  ".join([many + "no contradiction", *map(str, self.sources)])
        head = many + counted(self.n_contradictions, "contradiction") + _TAKEN[self.on_conflict]
        lines = self.contradictions_text().splitlines()[1:]
        return "\n".join([head, *(f"  {source}" for source in self.sources), *lines])
