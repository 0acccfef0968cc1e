"""A small set of relations that cannot all be true, from an elimination that left no arm.

This module holds the conflicts that the triangle rule finds. If every arm of a set is excluded by two arms of
the same set, none of them can be the best of the set, so the relations among them contradict one another. The
closure of one arm under witnesses is such a set. It is then made smaller as long as a contradiction remains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates.minimise import Budget, minimise
from lsdt.candidates.proofs import Relation, derivation_text, legend, relation_of
from lsdt.errors import counted
from lsdt.kernel import evenly_spread
from lsdt.side_information import PairStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.proofs import Step
    from lsdt.side_information import SideInformation

_SHOWN = 8  # relations or arms that a message lists, about a screen; the attributes have all
_MOST_IN_TABLE = 1_500  # arms; an attempt at shrinking multiplies tables of this size, a fraction of a second
_MOST_WORK = 2e10  # multiplications for all attempts: a few seconds


@dataclass(frozen=True)
class Conflict:
    """A set of arms of which none can be the best, with the relations that show it.

    Attributes
    ----------
    arms : tuple
        The arms, by id (or index when there are no ids).
    relations : tuple of Relation
        Relations that cannot all be true.
    witnesses : tuple of triples
        For every arm two others that exclude it; empty when triangles alone do not show the conflict.
    steps : tuple of Step
        The contradiction step by step, where ``'propagation'`` derived it from the order of one pair; else
        empty.
    suggestion : Relation or None
        The relation to check first: dropping it would free more arms near the conflict than dropping any
        other. This is a guess: dropping any one of `relations` resolves this conflict, and there may be
        others.

    Examples
    --------
    >>> import lsdt
    >>> circle = lsdt.SideInformation(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 2), (1, 3)])
    >>> try:
    ...     lsdt.candidate_set(circle, "triangles")
    ... except lsdt.errors.InconsistentSideInformation as error:
    ...     error.conflict.arms
    (0, 1, 2, 3)
    """

    arms: tuple[str | int, ...]
    relations: tuple[Relation, ...]
    witnesses: tuple[tuple[str | int, str | int, str | int], ...] = ()
    steps: tuple[Step, ...] = ()
    suggestion: Relation | None = None

    @property
    def brief(self) -> str:
        """The relations in a line or two, and the one to doubt."""
        if not self.relations:
            return f"no small set was found, but one is among these {counted(len(self.arms), 'arm')}"
        named = [in_words(relation) for relation in self.relations[:_SHOWN]]
        more = f", and {len(self.relations) - _SHOWN:,} more" if len(self.relations) > _SHOWN else ""
        doubt = ""
        if self.suggestion is not None:
            doubt = f"; check first whether {in_words(self.suggestion)}"
        return f"these cannot all be true: {', '.join(named)}{more}{doubt}"

    def to_dict(self) -> dict[str, Any]:
        """Return the conflict as JSON data."""
        return {
            "arms": list(self.arms),
            "relations": [list(relation) for relation in self.relations],
            "suggestion": None if self.suggestion is None else list(self.suggestion),
            "steps": [step.to_dict() for step in self.steps],
        }

    def _repr_html_(self) -> str:
        from lsdt.candidates.card import conflict_card

        return conflict_card(self)

    def __str__(self) -> str:
        if not self.witnesses:
            return self._as_relations()
        lines = [
            f"  {arm!r} is similar to {first!r} and {second!r}, which are dissimilar: {arm!r} is not the best"
            for arm, first, second in self.witnesses[:_SHOWN]
        ]
        if len(self.witnesses) > _SHOWN:
            lines.append(f"  ... and so on for {len(self.witnesses) - _SHOWN} more arms")
        return self._none_can_be_best(lines)

    def _none_can_be_best(self, lines: list[str]) -> str:
        named = ", ".join(repr(arm) for arm in self.arms[: 2 * _SHOWN])
        more = ", ..." if len(self.arms) > 2 * _SHOWN else ""
        first = f"One of these arms would have to be the best of them, and none can: {named}{more}"
        return "\n".join([first, *lines])

    def _relation_lines(self, where: str = "") -> list[str]:
        lines = [f"  {in_words(relation)}" for relation in self.relations[: 2 * _SHOWN]]
        if len(self.relations) > 2 * _SHOWN:
            lines.append(f"  ... and {len(self.relations) - 2 * _SHOWN} more relations{where}")
        return lines

    def _as_relations(self) -> str:
        lines = self._relation_lines(" among these arms")
        if not lines:
            return f"No means whatsoever satisfy what is known about {counted(len(self.arms), 'arm')}."
        text = "No means whatsoever satisfy these relations:\n" + "\n".join(lines)
        if self.steps:
            has_size = any(len(relation) > len(Relation._fields) for relation in self.relations)
            in_epsilons = "" if has_size else ", in epsilons"
            text += f"\nLet d(j) be how far arm j lies below some point{in_epsilons}; {legend(self.steps)}:\n"
            text += derivation_text(self.steps, None)
        return text


@dataclass(frozen=True)
class ThresholdConflict(Conflict):
    """A conflict whose relations have thresholds."""

    def __str__(self) -> str:
        return self._none_can_be_best(self._relation_lines())


def in_words(relation: Relation) -> str:
    """Return a relation in words, with its threshold or the ends of its range if it has any."""
    parts: tuple[Any, ...] = relation
    a, b, word, *threshold = parts
    if word == "better":
        return f"{a!r} is better than {b!r}"
    if word == "range":
        low, high = threshold
        if low is not None and high is not None:
            return f"{a!r} minus {b!r} is from {low:g} to {high:g}"
        return f"{a!r} minus {b!r} is {f'at most {high:g}' if low is None else f'at least {low:g}'}"
    if not threshold:
        return f"{a!r} and {b!r} are {word}"
    return f"{a!r} and {b!r} are {'less than' if word == 'similar' else 'at least'} {threshold[0]:g} apart"


def conflict_of(
    side: SideInformation,
    witnesses: NDArray[np.int32],
    part: NDArray[np.int64] | None = None,
    most_in_table: int = _MOST_IN_TABLE,
    most_work: float = _MOST_WORK,
) -> Conflict:
    """Return a small conflict, given two dissimilar arms similar to each arm (of `part`).

    Shrinking works on a dense table of up to `most_in_table` arms and stops after `most_work` steps. A
    conflict need not be the smallest to be useful.
    """
    part = np.arange(len(witnesses)) if part is None else part
    arms = min((witness_closure(witnesses, int(part[start])) for start in _starts(len(part))), key=len)
    if len(arms) <= most_in_table:
        arms = _smallest(side, arms, most_work)
        chosen = _table_witnesses(relation_table(side, arms))
        triples = [
            (arm, int(arms[a]), int(arms[b])) for arm, (a, b) in zip(arms.tolist(), chosen, strict=True)
        ]
    else:
        triples = [(arm, *witnesses[arm].tolist()) for arm in arms.tolist()]
    relations = {
        tuple(sorted(pair)): relation_of(side, *sorted(pair))
        for arm, first, second in triples
        for pair in ((arm, first), (arm, second), (first, second))
    }
    return Conflict(
        tuple(side.label(arm) for arm in arms.tolist()),
        tuple(relations[pair] for pair in sorted(relations)),
        tuple((side.label(arm), side.label(a), side.label(b)) for arm, a, b in triples),
    )


def _starts(n_arms: int) -> list[int]:
    return list(map(int, evenly_spread(np.arange(n_arms), 16)))


def witness_closure(witnesses: NDArray[np.int32], start: int) -> NDArray[np.int64]:
    """Return the arms reached from `start` by going from each arm to the two that exclude it."""
    reached = {start}
    waiting = [start]
    while waiting:
        for other in witnesses[waiting.pop()].tolist():
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return np.array(sorted(reached))


def _smallest(side: SideInformation, arms: NDArray[np.int64], most_work: float) -> NDArray[np.int64]:
    """Drop arms as long as the others still contradict one another."""
    table, budget = relation_table(side, arms), Budget(most_work)
    return arms[minimise(np.arange(len(arms)), lambda kept: _contradictory_core(table, kept, budget), budget)]


def _contradictory_core(
    table: NDArray[np.int8], subset: NDArray[np.int64], budget: Budget
) -> NDArray[np.int64] | None:
    """Return the largest part of `subset` in which every arm is excluded by two others, or None."""
    while len(subset) and budget.spend(float(len(subset)) ** 3):
        part = table[np.ix_(subset, subset)]
        similar = (part > 0).astype(np.float32)
        excluded = ((similar @ (part < 0).astype(np.float32)) * similar).any(axis=1)
        if excluded.all():
            return subset
        subset = subset[excluded]
    return None


def _table_witnesses(table: NDArray[np.int8]) -> list[tuple[int, int]]:
    """Return a dissimilar pair of similar arms for every arm of a contradictory table."""
    chosen = []
    for row in table:
        near = np.flatnonzero(row > 0)
        first, second = np.argwhere(table[np.ix_(near, near)] < 0)[0]
        chosen.append((int(near[first]), int(near[second])))
    return chosen


def relation_table(side: SideInformation, arms: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return 1, -1 or 0 for every pair of `arms`."""
    store = side.store
    table = np.zeros((len(arms), len(arms)), np.int8)
    if isinstance(store, PairStore):
        place = np.full(side.n_arms, -1)
        place[arms] = np.arange(len(arms))
        for code, rows in ((-1, store.dissimilar), (1, store.similar)):
            for row, arm in enumerate(arms.tolist()):
                if rows is None:  # complete: what is not similar is dissimilar
                    table[row] = code
                else:
                    columns = place[rows.neighbours(arm)]
                    table[row, columns[columns >= 0]] = code
        np.fill_diagonal(table, 0)
        return table
    for row, first in enumerate(arms.tolist()):
        for column in range(row):
            table[row, column] = table[column, row] = store.relation(first, int(arms[column]))
    return table
