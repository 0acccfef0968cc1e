"""Arms that were beaten in a log: facts about which arm may be the best, not relations.

A source such as a rating log tests, for every arm, the claim that it is the best. The error of such a test is
bounded only for the arm that really is the best. So a beaten arm is out of the candidate set, and nothing
else follows: two facts are never chained, and none bounds the difference of two means.

An arm counts as beaten while enough of its beaters are still there. So a subset keeps the facts among
its arms, and an arm whose beaters are gone may be the best again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import is_number
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId
    from lsdt.side_information.side_information import SideInformation

KINDS = ("betting", "bootstrap")
_COLUMNS = ("arms", "beaters", "raters", "evidence")
_MOST_SHOWN = 3  # beaters that a text names


class BeatenSource(NamedTuple):
    """The facts of one source, a row per arm and beater; the strongest beaters of an arm come first.

    Attributes
    ----------
    kind : {'betting', 'bootstrap'}
        What `evidence` is: the logarithm of an e-value, or a difference as a multiple of the one that chance
        explains.
    delta : float
        The best arm is beaten by mistake with at most this probability.
    needed : float
        An arm is beaten when the sum of its e-values, or its largest multiple, reaches this.
    arms, beaters : array of int32
        Indices of the beaten arms, ascending, and of the arms that beat them.
    raters : array of int64
        The number of users who rated both.
    evidence : array of float64
        See `kind`.
    """

    kind: str
    delta: float
    needed: float
    arms: NDArray[np.int32]
    beaters: NDArray[np.int32]
    raters: NDArray[np.int64]
    evidence: NDArray[np.float64]

    def is_out(self, n_arms: int, top: int = 1) -> NDArray[np.bool_]:
        """Return which arms are beaten: not the best, or not among the best `top`.

        Of an arm among the best m, at most m - 1 claims that it is at least as good as a rival are false. So
        its m - 1 largest e-values are left out, and m times as much is needed, because m arms may be lost.
        The level of a bootstrap is that of the best arm alone.
        """
        if self.kind == "betting":
            place = np.arange(len(self.arms)) - np.searchsorted(self.arms, self.arms)
            sums, counted_in = np.full(n_arms, -np.inf), place >= top - 1
            np.logaddexp.at(sums, self.arms[counted_in], self.evidence[counted_in])
            return np.asarray(sums >= math.log(top * self.needed))
        if top > 1:
            return np.zeros(n_arms, bool)
        most = np.full(n_arms, -np.inf)
        np.maximum.at(most, self.arms, self.evidence)
        return np.asarray(most >= self.needed)

    def select(self, rows: NDArray[Any], numbers: NDArray[np.int64] | None = None) -> BeatenSource:
        """Return some of the rows; ``numbers[i]`` is the new index of arm i."""
        arms, beaters = self.arms[rows], self.beaters[rows]
        if numbers is not None:
            arms, beaters = numbers[arms].astype(np.int32), numbers[beaters].astype(np.int32)
        order = np.argsort(arms, kind="stable")
        columns = arms, beaters, self.raters[rows], self.evidence[rows]
        return self._replace(**{name: part[order] for name, part in zip(_COLUMNS, columns, strict=True)})

    def in_words(self, side: SideInformation, arm: int, top: int = 1) -> str:
        """Return how an arm was beaten, such as "beaten by 'A' among 212 common raters, e-value 3e+05"."""
        rows = np.flatnonzero(self.arms == arm)
        parts = []
        for number, row in enumerate(rows[:_MOST_SHOWN].tolist()):
            raters = counted(int(self.raters[row]), "common rater")
            parts.append(f"{side.label(int(self.beaters[row]))!r} among {raters}, {self._strength(row)}")
            known = self._replace(**{name: getattr(self, name)[rows[: number + 1]] for name in _COLUMNS})
            if known.is_out(side.n_arms, top)[arm]:
                return f"beaten by {'; by '.join(parts)}"
        return f"beaten by {'; by '.join(parts)}; and by {len(rows) - len(parts):,} others"

    def _strength(self, row: int) -> str:
        evidence = float(self.evidence[row])
        if self.kind == "bootstrap":
            return f"by {evidence:.2g} times what chance explains"
        # Beyond the largest float, its power of ten is all that can be shown.
        power = evidence / math.log(10.0)
        return f"e-value {math.exp(evidence):.0e}" if power < 300.0 else f"e-value 1e+{power:.0f}"


@dataclass(frozen=True, eq=False)
class Beaten:
    """Arms that were beaten, by source; `SideInformation.beaten`.

    Attributes
    ----------
    sources : tuple of BeatenSource
        The facts of each source. Their risks add up: see `risk`.

    Examples
    --------
    >>> import lsdt
    >>> log, means = lsdt.ratings.make_log(n_users=8000, n_items=12, ratings_per_user=8)
    >>> side = lsdt.from_ratings(log)
    >>> side.beaten
    Beaten(11 arms, risk 0.05)
    >>> side.beaten.to_frame(side).head(2).round(2)
       arm  beaten_by  raters  evidence  source
    0    0          5    3598    698.71       0
    1    0          9    3563    520.37       0
    """

    sources: tuple[BeatenSource, ...]

    @property
    def risk(self) -> float:
        """An upper bound on the probability that the best arm is among the beaten ones."""
        return min(1.0, sum(source.delta for source in self.sources))

    def risk_for(self, top: int) -> float:
        """Return an upper bound on the probability that one of the best `top` arms is left out."""
        used = (one for one in self.sources if one.is_out(1 + int(one.arms.max(initial=0)), top).any())
        return round(min(1.0, sum(source.delta for source in used)), 12)  # 1 - .95 is not quite .05

    def is_out(self, n_arms: int, top: int = 1) -> NDArray[np.bool_]:
        """Return which arms are beaten: not the best, or not among the best `top`."""
        out = np.zeros(n_arms, bool)
        for source in self.sources:
            out |= source.is_out(n_arms, top)
        return out

    def in_words(self, side: SideInformation, arm: int, top: int = 1) -> str:
        """Return how a beaten arm was beaten, by the first source that says so."""
        found = next(source for source in self.sources if source.is_out(side.n_arms, top)[arm])
        return found.in_words(side, arm, top)

    def among(self, arms: NDArray[np.int64], n_arms: int) -> Beaten | None:
        """Return the facts among some of the arms, which are numbered as they are listed."""
        numbers = np.full(n_arms, -1, np.int64)
        numbers[arms] = np.arange(len(arms))
        return self._kept(
            source.select((numbers[source.arms] >= 0) & (numbers[source.beaters] >= 0), numbers)
            for source in self.sources
        )

    def without_beaters(self, arms: NDArray[np.bool_]) -> Beaten | None:
        """Return the facts without those of some beaters, which are no longer in play."""
        return self._kept(
            source.select(~arms[source.beaters], np.arange(len(arms))) for source in self.sources
        )

    def renumbered(self, numbers: NDArray[np.int64]) -> Beaten:
        """Return the facts about arms with other indices: arm i becomes arm ``numbers[i]``."""
        return Beaten(
            tuple(source.select(np.ones(len(source.arms), bool), numbers) for source in self.sources)
        )

    @staticmethod
    def _kept(sources: Any) -> Beaten | None:
        kept = tuple(source for source in sources if len(source.arms))
        return Beaten(kept) if kept else None

    def to_frame(self, side: SideInformation) -> pd.DataFrame:
        """Return a row per arm and beater: arm, beaten_by, raters, evidence, source.

        Only the strongest beaters of an arm are kept. For `evidence` see `BeatenSource`.
        """
        import pandas as pd

        labels: list[ArmId] = [side.label(arm) for arm in range(side.n_arms)]
        parts = [
            pd.DataFrame(
                {
                    "arm": [labels[arm] for arm in source.arms],
                    "beaten_by": [labels[arm] for arm in source.beaters],
                    "raters": source.raters,
                    "evidence": source.evidence,
                    "source": number,
                }
            )
            for number, source in enumerate(self.sources)
        ]
        return pd.concat(parts, ignore_index=True)

    def to_list(self) -> list[dict[str, Any]]:
        """Return the facts as JSON data; `beaten_of_list` reads it back."""
        return [
            {**source._asdict(), **{name: getattr(source, name).tolist() for name in _COLUMNS}}
            for source in self.sources
        ]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Beaten) and self.to_list() == other.to_list()

    def __hash__(self) -> int:
        return hash(tuple((source.kind, source.delta, len(source.arms)) for source in self.sources))

    def __repr__(self) -> str:
        n_arms = len({arm for source in self.sources for arm in source.arms.tolist()})
        return f"Beaten({counted(n_arms, 'arm')}, risk {self.risk:g})"


def joined(parts: Sequence[Beaten | None]) -> Beaten | None:
    """Return the facts of several sources together."""
    known = tuple(source for part in parts if part is not None for source in part.sources)
    return Beaten(known) if known else None


def beaten_of_list(listed: Any, n_arms: int) -> Beaten | None:
    """Read what `Beaten.to_list` returns; refuse anything else.

    Examples
    --------
    >>> fact = {"kind": "betting", "delta": .05, "needed": 20., "arms": [1], "beaters": [0], "raters": [9],
    ...         "evidence": [4.]}
    >>> beaten_of_list([fact], 2)
    Beaten(1 arm, risk 0.05)
    """
    if listed is None:
        return None
    if not isinstance(listed, list) or not listed:
        raise InvalidInput(f"beaten arms are a list of sources; got {_short(listed)}")
    return Beaten(tuple(_source(each, n_arms) for each in listed))


def _source(entry: Any, n_arms: int) -> BeatenSource:
    if not isinstance(entry, dict) or set(entry) != set(BeatenSource._fields):
        fields = ", ".join(BeatenSource._fields)
        raise InvalidInput(f"a source of beaten arms has {fields}; got {_short(entry)}")
    if entry["kind"] not in KINDS:
        raise InvalidInput(f"beaten arms are of kind {' or '.join(KINDS)}; got {_short(entry['kind'])}")
    for name, low, high in (("delta", 0.0, 1.0), ("needed", 0.0, math.inf)):
        if not is_number(entry[name]) or not low < entry[name] < high:
            raise InvalidInput(f"beaten arms have an invalid {name}: {_short(entry[name])}")
    columns = [entry[name] for name in _COLUMNS]
    if not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        raise InvalidInput(f"{', '.join(_COLUMNS)} of beaten arms must be lists of one length")
    arms, beaters, raters, evidence = columns
    whole = all(type(number) is int for column in (arms, beaters, raters) for number in column)
    if not whole or not all(0 <= arm < n_arms for column in (arms, beaters) for arm in column):
        raise InvalidInput(f"beaten arms and their beaters are indices from 0 to {n_arms - 1}")
    if any(a == b for a, b in zip(arms, beaters, strict=True)) or arms != sorted(arms):
        raise InvalidInput("beaten arms must ascend, each beside another arm that beat it")
    if (
        not all(is_number(number) and math.isfinite(number) for number in evidence)
        or min(raters, default=1) < 1
    ):
        raise InvalidInput("the evidence against beaten arms must be finite numbers, with common raters")
    if any(a == b and x < y for a, b, x, y in zip(arms, arms[1:], evidence, evidence[1:], strict=False)):
        raise InvalidInput("the strongest beaters of an arm must come first")
    return BeatenSource(
        entry["kind"],
        float(entry["delta"]),
        float(entry["needed"]),
        np.array(arms, np.int32),
        np.array(beaters, np.int32),
        np.array(raters, np.int64),
        np.array(evidence, np.float64),
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
