"""A log of how classes of orders grew, and the part of it that shows one arm between two others.

Classes are grown once more, exactly as before, now with a log: the event at which every order was learnt, and
the path of arms that forced it. The trace starts from the orders at the end of an argument and goes back in
time: the path of an order consists of relations and older orders, which are traced in turn, down to the free
choices at the beginning.

**Joins.** Two classes that share a pair are one. The log then holds the pair twice, once in each of them:
orders of one class all hold or are all reversed, so if a pair has the same order in both, they go together.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.propagation.orientation import growth_kernel as kernel
from lsdt.candidates.propagation.orientation.growth import Grower, GrowthEffort, codes_of, never
from lsdt.candidates.propagation.orientation.reflections import Reflection
from lsdt.candidates.top.above import bounds_of_reflection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem

SIMILAR, SIGNED = -1, -2  # in place of an event
SURE = 1  # the class whose orders are certain: they follow from better pairs and ranges
_NO_END = np.iinfo(np.int64).max
_ENDS = 200  # arms above, or below, that are tried for the shortest chain
_ROOM = 10  # arms on the paths of all orders, per entry, at first; if there are more, the log starts again


class Way(NamedTuple):
    """One relation of a chain: ``x_start - x_end`` is at most a bound with this `code`.

    `event` is when this order was learnt, or `SIMILAR` or `SIGNED` if it is no order; `place` is the place of
    the relation in its rows. `is_turned` says that the order counts reversed.
    """

    start: int
    end: int
    code: int
    event: int
    place: int
    is_turned: bool = False


class Learnt(NamedTuple):
    """An order of the log: `above` lies above `below` since `ways` lead from `below` to `above`.

    Without ways it is a free choice. `place` is the place of the pair in the row of `above`.
    """

    event: int
    above: int
    below: int
    place: int
    ways: tuple[Way, ...]


class Log:
    """All events in the growth of the classes of a constraint system, grown exactly as in `orient`."""

    def __init__(self, system: ConstraintSystem, effort: GrowthEffort, seed: int) -> None:
        self.codes = codes_of(system)
        room = _ROOM * len(self.codes.dissimilar) + 1
        while True:
            self.grower = Grower(self.codes, effort, never, room)
            self.grower.grow_all(np.random.default_rng(seed).permutation(self.grower.n_arms))
            k = self.grower.classes
            if k.totals[5] <= room:
                break
            room = int(k.totals[5])  # the log has counted how much it needs
        self._joins: dict[int, list[int]] = {
            int(join[0]): join.tolist() for join in k.joins[: int(k.totals[4])]
        }
        self._join_events = list(self._joins)
        self._roots: dict[int, NDArray[np.int16]] = {}

    def ends(self, arm: int) -> list[tuple[Way, ...]]:
        """Return the last chains of the argument that excludes an arm; empty if there are none.

        Without ranges there are two: up from the arm to one above it, and up to the arm from one below. With
        ranges there is one for each reflection of a class: up to an arm above it, or around a contradictory
        cycle. One is enough if it needs only class 1, whose orders are certain.
        """
        for chosen in self.grower.rounds():
            reflections = [Reflection(self.codes, self.grower.classes, chosen, sign) for sign in (1, -1)]
            if not len(self.codes.signed):
                chains = [self._chain(arm, reflections[0], is_up) for is_up in (True, False)]
            else:
                chains = [
                    self._chain(arm, reflection, True) or self._circle(reflection)
                    for reflection in reflections[: 2 if chosen else 1]
                ]
                chains = next(([one] for one in chains if one and self._is_sure(one)), chains)
            if all(chains):
                return chains
        return []

    def top_ends(self, arm: int, top: int) -> list[tuple[Way, ...]]:
        """Return the last chains of the argument that `top` arms lie above one; empty if there are none.

        Without ranges: up from the arm to `top` arms above it, then up to it from `top` arms below. With
        ranges: up to `top` arms in each reflection of a class, or around a contradictory cycle. One is enough
        if its chains need only class 1.
        """
        for chosen in self.grower.rounds() or [[]]:
            reflections = [
                Reflection(self.codes, self.grower.classes, chosen, sign)
                for sign in ((1, -1) if chosen else (1,))
            ]
            if not len(self.codes.signed):
                ups = [self._ways_up(arm, one, top) for one in reflections]
                if all(ups):
                    signs = reflections[0].signs
                    down = [[way.end for way in ways[::-1]] + [arm] for ways in ups[-1]]
                    return ups[0] + [self._links(arms, signs, _NO_END, True) for arms in down]
                continue
            circles = [self._circle(one) for one in reflections]
            chains = [
                [circle] if circle else self._ways_up(arm, one, top)
                for circle, one in zip(circles, reflections, strict=True)
            ]
            sure = next((one for one in chains if len(one) == top and all(map(self._is_sure, one))), None)
            if sure is not None:
                return sure
            if all(chains):
                return [ways for one in chains for ways in one]
        return []

    def _ways_up(self, arm: int, reflection: Reflection, top: int) -> list[tuple[Way, ...]]:
        """Return chains from an arm to `top` arms strictly above it in a reflection; empty for fewer."""
        bounds = bounds_of_reflection(reflection)
        paths = [[arm, *bounds.others[path].tolist()] for path in bounds.paths_above(arm, top)]
        return [self._links(path, reflection.signs, _NO_END, True) for path in paths] * (len(paths) == top)

    def _is_sure(self, ways: tuple[Way, ...]) -> bool:
        k = self.grower.classes
        return all(one.event < 0 or k.root[abs(k.bits[one.place])] == SURE for one in ways)

    def _chain(self, arm: int, reflection: Reflection, is_up: bool) -> tuple[Way, ...]:
        """Return the chain from an arm up to one strictly above it, or to it from one strictly below."""
        c, k = self.codes, self.grower.classes
        row = slice(c.dissimilar_starts[arm], c.dissimilar_starts[arm + 1])
        ordered = np.flatnonzero((reflection.signs[np.abs(k.bits[row])] * k.bits[row] < 0) == is_up)
        ordered = ordered[reflection.signs[np.abs(k.bits[row][ordered])] != 0]
        if len(ordered):  # the oldest order needs fewest others
            arms = [arm, int(c.dissimilar[row][ordered[k.times[row][ordered].argmin()]])]
        else:
            arms = self._way_out(arm, reflection.signs, is_up)
        return self._links(arms if is_up else arms[::-1], reflection.signs, _NO_END, True)

    def _way_out(self, arm: int, signs: NDArray[np.int8], is_up: bool) -> list[int]:
        """Return the arms on a path to an arm strictly above `arm`, or below it; empty if there is none."""
        codes = self.codes._replace(signed_up=self.codes.signed_down) if is_up else self.codes
        n_arms = self.grower.n_arms
        levels, queue, came_from = (
            np.full(n_arms, kernel.FAR),
            np.empty(n_arms, np.int32),
            np.empty(n_arms, np.int32),
        )
        levels[arm], queue[0] = 0, arm
        wrong = kernel.lower_levels(
            codes, self.grower.classes.bits, -signs if is_up else signs, queue, 1, came_from, levels
        )
        if wrong >= 0 or came_from[arm] >= 0:
            return []  # a cycle: the reflection is contradictory
        out = np.flatnonzero(levels < 0)
        ways = []
        for end in out[np.argsort(-levels[out], kind="stable")][:_ENDS].tolist():
            way = [end]
            while way[-1] != arm and len(way) <= n_arms:
                way.append(int(came_from[way[-1]]))
            if way[-1] == arm:  # else it leads into a cycle
                ways.append(way[::-1])
        return min(ways, key=len, default=[])

    def _circle(self, reflection: Reflection) -> tuple[Way, ...]:
        """Return the chain of a contradictory cycle of the reflection; empty if it has none."""
        reflection.find()
        if reflection.wrong < 0:
            return ()
        k, queue = self.grower.classes, np.arange(self.grower.n_arms, dtype=np.int32)
        levels, came_from = np.zeros(self.grower.n_arms, np.int64), np.empty(self.grower.n_arms, np.int32)
        wrong = kernel.lower_levels(
            self.codes, k.bits, reflection.signs, queue, len(queue), came_from, levels
        )
        if wrong >= 0:
            circle = [int(wrong), int(came_from[wrong])]
            while circle[-1] != wrong:
                circle.append(int(came_from[circle[-1]]))
        else:
            circle = reflection.strict_circle()
        return self._links(circle, reflection.signs, _NO_END, True)

    def trace(self, needed: Iterable[tuple[Way, ...]]) -> list[Learnt]:
        """Return all orders that chains need, directly or through others, each after those that it needs."""
        trace = _Trace(self)
        trace.need(tuple(way for ways in needed for way in ways))
        return trace.run()

    def roots_before(self, event: int) -> NDArray[np.int16]:
        """Return the root of every class just before an event."""
        n_joins = bisect_left(self._join_events, event)
        if n_joins not in self._roots:
            roots = np.arange(len(self.grower.classes.root), dtype=np.int16)
            for at in self._join_events[:n_joins]:
                kept, other = self._joins[at][3:5]
                roots[roots == other] = kept
            self._roots[n_joins] = roots
        return self._roots[n_joins]

    def join_of(self, first: int, second: int) -> int:
        """Return the event at which two classes became one."""
        return next(
            event for event in self._joins if (roots := self.roots_before(event + 1))[first] == roots[second]
        )

    def is_join(self, event: int) -> bool:
        """Return whether an event is a join."""
        return event in self._joins

    def join(self, event: int) -> list[int]:
        """Return the record of a join; see `OrientationClasses`."""
        return self._joins[event]

    def place(self, arm: int, other: int) -> int:
        """Return the place of a dissimilar pair in the row of its first arm."""
        c = self.codes
        row = c.dissimilar[c.dissimilar_starts[arm] : c.dissimilar_starts[arm + 1]]
        return int(c.dissimilar_starts[arm] + np.searchsorted(row, other))

    def apart(self, place: int) -> int:
        """Return the code of the least distance of a dissimilar pair, given its place."""
        codes = self.codes.dissimilar_codes
        return int(codes[place if len(codes) > 1 else 0])

    def _links(
        self, arms: Iterable[int], signs: NDArray[np.int8], before: int, is_sure: bool
    ) -> tuple[Way, ...]:
        """Return the tightest relation between each two consecutive arms."""
        return tuple(
            min(self._between(start, end, signs, before, is_sure), key=lambda one: one.code)
            for start, end in pairwise(arms)
        )

    def _between(
        self, start: int, end: int, signs: NDArray[np.int8], before: int, is_sure: bool
    ) -> list[Way]:
        c, k, found = self.codes, self.grower.classes, []
        rows = [(c.similar_starts, c.similar, SIMILAR), (c.dissimilar_starts, c.dissimilar, 0)]
        for starts, others, kind in rows + [(c.signed_starts, c.signed, SIGNED)] * is_sure:
            first, last = starts[end], starts[end + 1]
            at = int(first + np.searchsorted(others[first:last], start))
            while at < last and others[at] == start:
                if kind == SIMILAR:
                    code = int(c.similar_codes[at if len(c.similar_codes) > 1 else 0])
                    found.append(Way(start, end, code, SIMILAR, at))
                elif kind == SIGNED:
                    found.append(Way(start, end, int(c.signed_up[at]), SIGNED, at))
                else:
                    number = int(k.bits[at])
                    sign = int(signs[abs(number)])
                    if sign * number > 0 and k.times[at] < before:
                        is_turned = sign != int(k.sign[abs(number)])
                        found.append(Way(start, end, -self.apart(at), int(k.times[at]), at, is_turned))
                at += 1
        return found

    def find(self, event: int, grown: int, below: int) -> tuple[Way, ...]:
        """Return the chain that forced an order in a class, `below` first; empty for a free choice."""
        k = self.grower.classes
        arms = k.ways[k.ends[event - 1] : k.ends[event]].tolist()
        if arms and arms[0] != below:  # the class has been reversed since
            arms.reverse()
        signs = np.where(self.roots_before(event) == grown, k.sign, 0)
        return self._links(arms, signs, event, grown == SURE)


class _Trace:
    """Collect the events that an argument needs, from the newest to the oldest."""

    def __init__(self, log: Log) -> None:
        self._log, self._k = log, log.grower.classes
        self._heap: list[int] = []
        self._pairs: dict[int, tuple[int, int, int]] = {}  # the order of every event
        self._apart: dict[int, set[int]] = {}  # classes that a join has to bring together

    def need(self, ways: tuple[Way, ...]) -> set[int]:
        """Require the orders of a chain and the joins of their classes; return the numbers of the classes."""
        numbers = set()
        for one in ways:
            if one.event == SIGNED:
                numbers.add(SURE)
            if one.event > 0:
                pair = (one.start, one.end) if one.is_turned else (one.end, one.start)
                self._push(one.event, pair)
                numbers.add(abs(int(self._k.bits[one.place])))
        for root in {int(self._k.root[number]) for number in numbers}:
            self.connect({number for number in numbers if self._k.root[number] == root})
        return numbers

    def connect(self, numbers: set[int]) -> None:
        """Require the joins that merge some classes."""
        first, *others = sorted(numbers) or [0]
        for other in others:
            event = self._log.join_of(first, other)
            arm, second = self._log.join(event)[1:3]
            place = self._log.place(arm, second)
            number = int(self._k.bits[place])
            above = (arm, second) if number * int(self._k.sign[abs(number)]) > 0 else (second, arm)
            self._push(event, above)
            self._apart.setdefault(event, set()).update((first, other))

    def _push(self, event: int, pair: tuple[int, int]) -> None:
        if event not in self._pairs:
            self._pairs[event] = (*pair, self._log.place(*pair))
            heapq.heappush(self._heap, -event)

    def run(self) -> list[Learnt]:
        """Return all orders that are needed, the oldest first."""
        chain = []
        while self._heap:
            event = -heapq.heappop(self._heap)
            above, below, place = self._pairs[event]
            number = abs(int(self._k.bits[place]))
            grown = self._log.join(event)[5] if self._log.is_join(event) else number
            ways = self._log.find(event, grown, below)
            if ways:
                numbers = self.need(ways)
                if self._log.is_join(event):
                    self._push(int(self._k.times[place]), (above, below))
                    roots = self._log.roots_before(event)
                    wanted = self._apart[event]
                    here = {one for one in wanted if roots[one] == grown}
                    self.connect(here | numbers)
                    self.connect((wanted - here) | {number})
                else:
                    self.connect(numbers | {number})
            chain.append(Learnt(event, above, below, place, ways))
        return chain[::-1]
