"""Method ``order``: exclude every arm that another one is known to lie above.

Similar pairs, better pairs and ranges all bound differences of means: ``x_end - x_start <= bound``, some of
them strictly. So do dissimilar pairs whose range excludes one of their two orders. Let M be the largest mean.
Every arm lies at most 0 above M, and bounds add up along links, so one run of Bellman-Ford with all arms at 0
gives the least bound on ``x_j - M`` for every arm j. An arm is out when that is below 0, or 0 and strict:
then some arm lies strictly above it. A range that is closed at 0 excludes no arm.

Without other dissimilar pairs this is exact. The bounds themselves are means that satisfy every link: ``x_j``
is at most ``x_start + bound`` for every link to j, since no link improves the bounds any more (a strict one
moves j a little further down). All arms that are not out have the bound 0, the largest of all. So the same
means make each of them the best. Dissimilar pairs of unknown order are not read; they could exclude more.

Links that lead back to their start and add up to less than 0, or to 0 with a strict one among them, cannot
all hold. The run would never end; it searches for such a cycle from time to time.

If bounds are rounded (see `difference_links`), every exclusion still holds, but an arm that is out by less
than the rounding may stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates.outcome import Outcome
from lsdt.candidates.proofs import (
    Explanation,
    Link,
    Relation,
    Step,
    ThresholdRelation,
    names_of,
    range_relation,
    relation_of,
)
from lsdt.candidates.propagation.difference_links import (
    Levels,
    Links,
    Quanta,
    least_levels,
    links_of,
    quanta_of,
    sums_to,
)
from lsdt.candidates.reasons import CANDIDATE, ORDER
from lsdt.candidates.triangles.conflict import Conflict, in_words
from lsdt.errors import InconsistentSideInformation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.options import Options
    from lsdt.candidates.top.above import UpwardBounds
    from lsdt.side_information import SideInformation

_ROOM = 0.5  # of a quantum: how far all strict links on a path together move a mean; any share below 1 works


class OrderGaps(NamedTuple):
    """Bounds on ``mu_i - mu_j`` if i is the best: ``lower[j]``, the same for all i, and ``upper[i, j]``.

    `is_out` marks arms that cannot be the best.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    is_out: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ArmOrder:
    """What the method found: the links, their bounds in quanta, and the level of every arm.

    Without ranges there are no links and no levels, and every arm stays.
    """

    n_arms: int
    notes: tuple[str, ...]
    links: Links | None = None
    quanta: Quanta | None = None
    levels: Levels | None = None
    conflict: Conflict | None = None
    n_open: int = 0
    """Number of dissimilar pairs whose order does not follow from their range: these were not used."""

    @cached_property
    def is_out(self) -> NDArray[np.bool_]:
        """Which arms are excluded: another one lies above them."""
        if self.levels is None or self.levels.circle is not None:
            return np.zeros(self.n_arms, bool)
        return (self.levels.level < 0) | (self.levels.strict > 0)

    @property
    def arms(self) -> NDArray[np.int64]:
        """The candidates, ascending."""
        return np.flatnonzero(~self.is_out)

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm."""
        return np.where(self.is_out, ORDER, CANDIDATE)

    @property
    def is_exact(self) -> bool:
        """Whether every candidate can be the best."""
        return not self.notes and self.conflict is None and self.n_open == 0

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Explain an exclusion by a chain of relations from an arm above, a candidate by means."""
        if self.is_out[arm]:
            return self._explain_exclusion(side, arm)
        name = repr(side.label(arm))
        if not self.is_exact or self.levels is None or self.quanta is None:
            text = f"arm {name} may be the best as far as the order of the arms can tell: none lies above it."
            return Explanation(side, arm, True, text)
        means = self.means()
        text = (
            f"arm {name} can be the best: there are means that satisfy every relation and give it the "
            f"largest, {means[arm]:.6g} with the smallest at 0."
        )
        return Explanation(side, arm, True, text, means=means)

    def means(self) -> NDArray[np.float64]:
        """Return means that satisfy every link, up to the rounding of floats, the smallest at 0."""
        assert self.levels is not None
        assert self.quanta is not None
        room = _ROOM / (self.levels.strict.max() + 1)
        means = (self.levels.level - room * self.levels.strict) * self.quanta.size
        return np.asarray(means - means.min())

    @cached_property
    def _into(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The links by the arm at their end: where those of each arm begin, and their numbers."""
        assert self.links is not None
        by_end = np.argsort(self.links.end, kind="stable")
        return np.searchsorted(self.links.end[by_end], np.arange(self.n_arms + 1)), by_end

    def _chain(self, arm: int) -> list[int]:
        """Return links from an arm that lies above down to this one: one link, if one is enough."""
        assert self.links is not None
        assert self.quanta is not None
        assert self.levels is not None
        first, by_end = self._into
        direct = by_end[first[arm] : first[arm + 1]]
        direct = direct[np.lexsort((~self.links.strict[direct], self.quanta.bounds[direct]))]
        chain: list[int] = []
        total, strict, at = 0, False, arm
        if len(direct) and _is_below(int(self.quanta.bounds[direct[0]]), bool(self.links.strict[direct[0]])):
            return [int(direct[0])]
        while not _is_below(total, strict):
            link = int(self.levels.last[at])
            chain.append(link)
            total += int(self.quanta.bounds[link])
            strict = strict or bool(self.links.strict[link])
            at = int(self.links.start[link])
        return chain[::-1]

    def _explain_exclusion(self, side: SideInformation, arm: int) -> Explanation:
        assert self.links is not None
        assert self.quanta is not None
        chain = self._chain(arm)
        above = int(self.links.start[chain[0]])
        relations = [relation for link in chain for relation in _relations_of(side, self.links, link)]
        gap = -int(self.quanta.bounds[chain].sum()) * self.quanta.size
        strict = bool(self.links.strict[chain].any())
        by = f" by {'more than' if strict else 'at least'} {gap:g}" if gap > 0.0 else ""
        text = f"arm {side.label(arm)!r} cannot be the best: {side.label(above)!r} is better than it{by}"
        if len(relations) > 1:
            *some, final = map(in_words, relations)
            text += f", since {', '.join(some)} and {final}"
        steps: list[Step] = []
        links = [self._link(side, link, steps) for link in reversed(chain)]
        links.append(Link(side.label(above), side.label(arm), 0.0, False, "best"))
        steps.append(Step("contradiction", side.label(arm), side.label(arm), 0.0, tuple(links)))
        rests_on = tuple((int(self.links.start[link]), int(self.links.end[link])) for link in chain)
        return Explanation(
            side, arm, False, f"{text}.", rests_on=rests_on, steps=tuple(steps), listed=tuple(relations)
        )

    def explain_top(self, side: SideInformation, arm: int, bounds: UpwardBounds, top: int) -> Explanation:
        """Explain by chains from `top` arms above one why it is not among the best."""
        assert self.links is not None
        chains = [[int(bounds.sources[at]) for at in path] for path in bounds.paths_above(arm, top)]
        above = [int(self.links.start[chain[-1]]) for chain in chains]
        relations = dict.fromkeys(
            relation
            for chain in chains
            for link in chain
            for relation in _relations_of(side, self.links, link)
        )
        who = names_of(side, above)
        text = f"arm {side.label(arm)!r} cannot be among the best {top}: {who} are better than it"
        if any(len(chain) > 1 for chain in chains):
            *some, final = map(in_words, relations)
            text += f", since {', '.join(some)} and {final}"
        steps: list[Step] = []
        links = [tuple(self._link(side, link, steps) for link in chain) for chain in chains]
        name = side.label(arm)
        steps += [
            Step("between", side.label(each), name, 0.0, way) for each, way in zip(above, links, strict=True)
        ]
        rests_on = tuple(
            (int(self.links.start[link]), int(self.links.end[link])) for chain in chains for link in chain
        )
        return Explanation(
            side, arm, False, f"{text}.", rests_on=rests_on, steps=tuple(steps), listed=tuple(relations)
        )

    def _link(self, side: SideInformation, link: int, steps: list[Step]) -> Link:
        """Return a link as a bound on depths, which are upside down: its ends change places.

        The order of a dissimilar pair is a step of its own.
        """
        assert self.links is not None
        better, worse = int(self.links.start[link]), int(self.links.end[link])
        start, end = side.label(worse), side.label(better)
        bound, why = float(self.links.bound[link]), _relations_of(side, self.links, link)[0].relation
        if self.links.is_dissimilar[link]:
            known = side.range_at(better, worse)
            word = "better" if known.strict_low else "range"
            at_most = Link(start, end, 0.0 - known.low, known.strict_low, word)
            steps.append(Step("order", end, start, -bound, (at_most,)))
            why = f"step {len(steps)}"
        return Link(start, end, bound, bool(self.links.strict[link]), why)


def _is_below(total: int, strict: bool) -> bool:
    return total < 0 or (total == 0 and strict)


def _relations_of(side: SideInformation, links: Links, link: int) -> list[Relation]:
    """Return the relation of a link; for an ordered dissimilar pair, also the relation that orders it."""
    start, end = int(links.start[link]), int(links.end[link])
    if links.is_similar[link]:
        if side.store.thresholds is None:
            return [relation_of(side, start, end)]
        threshold = side.distance_at(start, end)[1]
        return [ThresholdRelation(side.label(start), side.label(end), "similar", threshold)]  # type: ignore[list-item]
    if links.is_dissimilar[link]:
        a, b = side.label(start), side.label(end)
        far: Any = Relation(a, b, "dissimilar")
        if side.store.thresholds is not None:
            far = ThresholdRelation(a, b, "dissimilar", -float(links.bound[link]))
        return [far, range_relation(side, start, end, side.range_at(start, end).strict_low)]
    return [range_relation(side, start, end, bool(links.strict[link]))]


def run_order(side: SideInformation) -> ArmOrder | None:
    """Run Bellman-Ford over the links; None if there are neither better pairs nor ranges."""
    if side.ranges is None:
        return None
    links, is_similar_read = links_of(side)
    distances = np.abs(links.bound[links.is_similar | links.is_dissimilar])
    quanta = quanta_of(links.bound, side.n_arms, distances)
    levels = least_levels(side.n_arms, links, quanta.bounds)
    notes = []
    if not is_similar_read:
        notes.append("similar pairs were not combined with ranges, since their epsilon is not known")
    if not quanta.exact:
        notes.append(
            f"the ends of ranges have no common unit, and each was widened by less than {quanta.size:.1g}: "
            "an arm that could be excluded by so little may stay"
        )
    n_open = side.n_dissimilar - int(links.is_dissimilar.sum())
    found = ArmOrder(side.n_arms, tuple(notes), links, quanta, levels, n_open=n_open)
    return found if levels.circle is None else replace(found, conflict=_conflict(side, links, levels.circle))


def _conflict(side: SideInformation, links: Links, circle: list[int]) -> Conflict:
    relations = dict.fromkeys(relation for link in circle for relation in _relations_of(side, links, link))
    return Conflict(tuple(side.label(int(links.start[link])) for link in circle), tuple(relations))


def order_error(conflict: Conflict) -> InconsistentSideInformation:
    """Return the error for a contradictory cycle of links."""
    return InconsistentSideInformation(
        f"the relations contradict one another.\n{conflict}\nCorrect or drop one of them.", conflict
    )


def find_order(side: SideInformation, options: Options) -> Outcome:
    """Exclude arms by better pairs, ranges and similar pairs; raise if these contradict one another.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, better=[(0, 1)], ranges=[(1, 2, -.1, .2), (0, 2, .1, None)])
    >>> found = lsdt.candidate_set(side, "order")
    >>> found.arms.tolist()
    [0]
    >>> print(found.explain(2))
    arm 2 cannot be the best: 0 is better than it by at least 0.1.
    """
    options.refuse_wrong_relations(
        "'order' assumes that all relations are right", "leave max_wrong out, or ask for 'triangles'"
    )
    found = run_order(side)
    if found is None:
        nothing = "there are no better pairs and no ranges: nothing orders the arms"
        found = ArmOrder(side.n_arms, () if side.beaten is not None else (nothing,))
    if found.conflict is not None:
        raise order_error(found.conflict)
    if found.n_open:
        which = "" if found.n_open == side.n_dissimilar else f"{found.n_open:,} of the "
        unread = (
            f"{which}dissimilar pairs were not used, since nothing says which arm is better; "
            "'propagation' uses them too, and may exclude more"
        )
        found = replace(found, notes=(*found.notes, unread))
    return Outcome(side, found.arms, found, found.is_exact, notes=found.notes)


def excluded_by_order(side: SideInformation, without: tuple[int, int] | None = None) -> NDArray[np.int64]:
    """Return the arms that another one lies above, ignoring the range of the pair `without`, if given.

    Empty if the relations contradict one another.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, better=[(0, 1), (1, 2)])
    >>> excluded_by_order(side).tolist(), excluded_by_order(side, without=(0, 1)).tolist()
    ([1, 2], [2])
    """
    if without is not None and side.ranges is not None:
        kept = (side.ranges.pairs != np.sort(without)).any(axis=1)
        side = side._with_ranges(side.ranges.select(kept))
    found = run_order(side)
    return np.zeros(0, np.int64) if found is None else np.flatnonzero(found.is_out)


def order_gaps(side: SideInformation, arms: NDArray[np.int64]) -> OrderGaps | None:
    """Return bounds on the gaps below some arms, assuming each in turn to be the best, in units of rewards.

    They follow from links alone. The lower ones are the levels, the same for all arms that can be the best:
    how far each arm lies below the largest mean. The upper ones add up along links that lead to the arm in
    question. None if there are no ranges, or there is a contradiction.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> side = lsdt.SideInformation(3, ranges=[(0, 1, .2, .5), (2, 1, None, .3)])
    >>> gaps = order_gaps(side, np.array([0, 2]))
    >>> gaps.lower.tolist(), gaps.upper.tolist()
    ([0.0, 0.2, 0.0], [[0.0, 0.5, inf], [0.1, 0.30000000000000004, 0.0]])
    """
    found = run_order(side)
    if found is None or found.conflict is not None:
        return None
    assert found.links is not None
    assert found.quanta is not None
    assert found.levels is not None
    upper = np.maximum(sums_to(side.n_arms, found.links, found.quanta, arms), 0.0)
    lower = (0 - found.levels.level).astype(np.float64) * found.quanta.size
    return OrderGaps(lower, upper, found.is_out)
