"""The two reflections of classes of orders: levels of all arms, means that satisfy them, bounds on gaps.

A *reflection* (`Reflection`) takes the orders of some classes, either as they are or reversed. Together with
similar pairs and ranges they bound differences of two means, and shortest paths over these bounds give
everything that follows: the *level* of an arm is the least bound on how far it lies above the largest mean.

**Repair.** The levels are means that satisfy every relation except, perhaps, dissimilar pairs without an
order in the reflection, the *open* ones. If few of these fail, each is given an order, first the one that
the present means suggest, then the other. An order is accepted if at least one of the arms that are to be
proven stays at the top. Arms that are not proven in this way are left to the other stages.

**Gaps.** If an arm at level 0 is the best, another arm lies at least its own level below it, and at most the
shortest path between them. So lower bounds are the same for all arms at the top of a reflection, and upper
bounds take one search for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates.propagation.orientation import growth_kernel as kernel
from lsdt.candidates.propagation.orientation.near_gaps_kernel import lengths_of, near_gaps
from lsdt.candidates.propagation.orientation.sweeps import settle_levels
from lsdt.candidates.propagation.orientation.sweeps_kernel import LOWEST
from lsdt.kernel import evenly_spread, over_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# Limits of effort: arms that are not proven by means, or gaps that are not bounded, are left to other stages
# or stay wide.
_ATTEMPTS = 12  # at repairing means: a pair for which no order is left goes first in the next attempt
_PASSES = 12  # over all pairs, for one repair
_MOST_MODELS = 16  # means kept to prove candidates; each proves all arms that are the best of it
_MANY_ARMS = 2_000  # with fewer, starting another thread takes longer than the work
_HUBS = 4  # arms at the top through which long paths are routed
_ALL = 2**62  # no limit
_NEAR_TOP = 2  # usual distances of similar arms below the top: paths hardly ever lead further down
_FEW_QUANTA = 4  # in a usual distance, at most, for many searches to run together
_LENGTHS = 4  # usual distances by which a path may exceed the least that the levels allow
_ROWS = 512  # of gaps computed at a time: as many searches run together
_BLOCK_WORDS = 1_000_000  # path lengths computed at a time: 8 MB
_MODEL_WORDS = 4_000_000  # numbers of all models together, besides the first of each reflection: 32 MB


class Reflection:
    """One of the two reflections of some classes, with the level of every arm relative to the largest mean.

    Attributes
    ----------
    levels : ndarray of int
        Codes of upper bounds on how far arms lie above the largest mean; 0 for those that may be the best.
    signs : ndarray of int
        How the orders of every class count, as for `lower_levels`.
    wrong : int
        An arm of a contradiction, or -1.
    """

    def __init__(
        self, codes: kernel.Codes, classes: kernel.OrientationClasses, chosen: list[int], sign: int
    ) -> None:
        self._codes, self._classes = codes, classes
        kept = np.zeros(len(classes.root), np.int8)
        kept[chosen] = sign
        kept[1] = 1
        self.signs = kept[classes.root] * classes.sign
        n_arms = len(codes.similar_starts) - 1
        self.levels = np.zeros(n_arms, np.int64)
        self._counts = np.zeros(n_arms, np.int64)
        self.wrong = -1

    def find(self) -> None:
        """Find levels and the counts of strict relations that led there; set `wrong` on a contradiction."""
        self.find_levels()
        if self.wrong < 0:
            self.count_strict()

    def find_levels(self) -> None:
        """Find levels that satisfy all relations; set `wrong` on a contradiction."""
        known = self._codes, self._classes.bits, self.signs
        small = np.zeros(len(self.levels), np.int32)
        if settle_levels(*known, small):
            self.levels[:] = small
            return
        queue = np.arange(len(small), dtype=np.int32)
        self.wrong = int(kernel.lower_levels(*known, queue, len(queue), np.empty_like(queue), self.levels))

    def count_strict(self) -> None:
        """Count the strict relations that led to each level; set `wrong` on a contradiction."""
        levels = self.levels
        if levels.min(initial=0) > LOWEST:
            levels = levels.astype(np.int32)  # half the memory is read faster
        known = self._codes, self._classes.bits, self.signs
        self.wrong = int(kernel.strict_counts(*known, levels, self._counts))
        up = self._codes.signed_up
        if self.wrong >= 0 and ((up < kernel.FAR) & (up % 2 == 0)).any():
            # Closed ranges may form a cycle of tight relations without a strict one: no contradiction.
            every = np.arange(len(self.levels))
            self.wrong = int(kernel.raise_counts(*known, self.levels, every, self._counts))

    def strict_circle(self) -> list[int]:
        """Return a tight cycle with a strict relation, its first arm also last; an empty list if none."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order, connected_components

        c, bits = self._codes, self._classes.bits
        starts = c.similar_starts, c.dissimilar_starts, c.signed_starts
        first = np.concatenate([np.repeat(np.arange(len(self.levels)), np.diff(one)) for one in starts])
        second = np.concatenate([c.similar, c.dissimilar, c.signed])
        holds = self.signs[np.abs(bits)] * bits > 0
        near, far = (
            np.broadcast_to(codes, len(row))
            for codes, row in ((c.similar_codes, c.similar), (c.dissimilar_codes, c.dissimilar))
        )
        codes = np.concatenate([near, np.where(holds, -far, kernel.FAR), c.signed_up])
        level = (self.levels + 1) >> 1
        tight = (codes < kernel.FAR) & (level[second] == level[first] + ((codes + 1) >> 1))
        first, second, strict = first[tight], second[tight], codes[tight] % 2 == 1
        graph = csr_array((np.ones(len(first), np.int8), (first, second)), shape=(len(level), len(level)))
        _count, number = connected_components(graph, directed=True, connection="strong")
        inside = np.flatnonzero(strict & (number[first] == number[second]))
        if not len(inside):
            return []
        source, target = int(second[inside[0]]), int(first[inside[0]])
        _order, came_from = breadth_first_order(graph, source)
        circle = [source, target]
        while circle[-1] != source:
            circle.append(int(came_from[circle[-1]]))
        return circle

    @property
    def unit(self) -> int:
        """Steps per quantum: a power of two above the largest count of strict relations."""
        return 1 << int(self._counts.max(initial=0)).bit_length()

    def steps(self, unit: int) -> NDArray[np.int64]:
        """Return the means in steps, `unit` per quantum."""
        return np.asarray(((self.levels + 1) >> 1) * unit - self._counts)

    def means(self, largest: float | None) -> NDArray[np.float64]:
        """Return the means in quanta, the largest 0; `largest` is the largest distance in any relation.

        Steps are slightly longer than they must be, so that dissimilar arms are far enough apart in floats.
        With ranges, which may have to be met exactly, `largest` is None and nothing is rounded.
        """
        unit = self.unit
        return np.asarray(self.steps(unit) / (unit if largest is None else unit - 0.5 / largest))

    def _misfits(self) -> NDArray[np.int64]:
        """Return the arms with a relation that the means violate, open pairs included."""
        unit, wrong = self.unit, np.zeros(len(self.levels), bool)
        steps = self.steps(unit)
        over_blocks(
            lambda first, last: kernel.misfits(self._codes, steps, unit, first, last, wrong), len(steps)
        )
        return np.flatnonzero(wrong)

    def fitting(self, wanted: NDArray[np.bool_], most_open: int) -> Reflection | None:
        """Return a reflection whose means satisfy every relation and make some of the wanted arms the best.

        Return None if none is found, or if more than `most_open` arms are in open pairs that fail.
        """
        n_wrong = len(self._misfits())
        if n_wrong == 0:
            return self
        urgent: list[tuple[int, int]] = []
        for _ in range(_ATTEMPTS if n_wrong <= most_open else 0):
            found = self._copy()
            failed = found._mend(wanted, most_open, urgent)
            if failed is None:
                return found
            if not failed or failed[0] in urgent[:1]:
                return None
            urgent = failed + [pair for pair in urgent if pair != failed[0]]
        return None

    def _mend(
        self, wanted: NDArray[np.bool_], most_open: int, urgent: list[tuple[int, int]]
    ) -> list[tuple[int, int]] | None:
        """Order open pairs until all hold, the urgent ones first.

        Return None if all hold, a list with the pair for which neither order works, or an empty list if too
        many arms fail or the passes run out.
        """
        for _ in range(_PASSES):
            arms = self._misfits()
            if len(arms) == 0:
                return None
            if len(arms) > most_open:
                return []
            for arm, place in urgent + self._open_pairs(arms):
                if not self._holds(arm, place) and not self._order(arm, place, wanted):
                    return [(arm, place)]
        return []

    def _copy(self) -> Reflection:
        other = Reflection.__new__(Reflection)
        other.__dict__.update(self.__dict__)
        other.levels, other._counts = self.levels.copy(), self._counts.copy()
        other.signs = self.signs.copy()
        return other

    def _holds(self, arm: int, place: int) -> bool:
        """Return whether the means of a dissimilar pair are far enough apart."""
        c, unit = self._codes, self.unit
        code = int(c.dissimilar_codes[place if len(c.dissimilar_codes) > 1 else 0])
        first, second = (
            int(((self.levels[one] + 1) >> 1) * unit - self._counts[one])
            for one in (arm, c.dissimilar[place])
        )
        return bool(abs(first - second) >= (code >> 1) * unit)

    def _open_pairs(self, arms: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return the open pairs of these arms that fail, as an arm and the place of the other in its row."""
        c, unit, pairs = self._codes, self.unit, []
        steps = self.steps(unit)
        for arm in arms.tolist():
            row = slice(c.dissimilar_starts[arm], c.dissimilar_starts[arm + 1])
            apart = c.dissimilar_codes[row] if len(c.dissimilar_codes) > 1 else c.dissimilar_codes
            failing = np.abs(steps[c.dissimilar[row]] - steps[arm]) < (apart >> 1) * unit
            failing &= c.dissimilar[row] > arm
            pairs += [(arm, int(row.start + at)) for at in np.flatnonzero(failing)]
        return pairs

    def _order(self, arm: int, place: int, wanted: NDArray[np.bool_]) -> bool:
        """Order an open pair, and with it its class; return False if that leaves no wanted arm at the top."""
        k = self._classes
        if k.bits[place] == 0 and not self._begin_class(arm, place):
            return False
        number, other = abs(int(k.bits[place])), int(self._codes.dissimilar[place])
        if self.signs[number] != 0:  # already, by the order of another pair
            return True
        members = k.root == k.root[number]
        start = np.array([arm, other])
        if k.size[k.root[number]] > 1:
            n_orders = np.zeros(len(self.levels), np.int64)
            kernel.count_orders(self._codes, k, number, n_orders)
            start = np.flatnonzero(n_orders)
        is_above = (self.levels[arm], wanted[arm]) >= (self.levels[other], wanted[other])
        levels, counts, n_before = self.levels, self._counts, int((self.levels[wanted] == 0).sum())
        best: tuple[int, NDArray[np.int64], NDArray[np.int64], int] | None = None
        for above in (is_above, not is_above):
            self.levels, self._counts = levels.copy(), counts.copy()
            sign = (1 if above else -1) * int(np.sign(k.bits[place])) * int(k.sign[number])
            self.signs[members] = sign * k.sign[members]
            self._settle_again(start)
            n_left = 0 if self.wrong >= 0 else int((self.levels[wanted] == 0).sum())
            if n_left and (best is None or n_left > best[0]):
                best = n_left, self.levels, self._counts, sign
            if n_left == n_before:
                break
        if best is None:
            return False
        _, self.levels, self._counts, sign = best
        self.signs[members] = sign * k.sign[members]
        return True

    def _settle_again(self, arms: NDArray[np.int64]) -> None:
        """Update levels and counts of strict relations after `arms` got new orders."""
        known = self._codes, self._classes.bits, self.signs
        before, queue = self.levels.copy(), np.empty(len(self.levels), np.int32)
        queue[: len(arms)] = arms
        came_from = np.empty(len(queue), np.int32)
        wrong = kernel.lower_levels(*known, queue, len(arms), came_from, self.levels)
        if wrong < 0:
            touched = np.union1d(arms, np.flatnonzero(self.levels != before))
            wrong = kernel.raise_counts(*known, self.levels, touched, self._counts)
        self.wrong = int(wrong)

    def _begin_class(self, arm: int, place: int) -> bool:
        """Seed a class with a pair; return False if there is no room for another class."""
        c, k = self._codes, self._classes
        number = int(k.totals[0]) + 1
        if number >= len(k.root):
            return False
        other = int(c.dissimilar[place])
        row = c.dissimilar[c.dissimilar_starts[other] : c.dissimilar_starts[other + 1]]
        k.bits[place] = number
        k.bits[c.dissimilar_starts[other] + np.searchsorted(row, arm)] = -number
        k.totals[0], k.size[number] = number, 1
        return True

    def bounds_above(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return all bounds that count as arms i, arms j and codes: i lies at most that far above j."""
        c, bits = self._codes, self._classes.bits
        starts = c.similar_starts, c.dissimilar_starts, c.signed_starts
        arms = np.concatenate([np.repeat(np.arange(len(self.levels)), np.diff(one)) for one in starts])
        others = np.concatenate([c.similar, c.dissimilar, c.signed])
        is_below = self.signs[np.abs(bits)] * bits < 0
        near, far = (
            np.broadcast_to(codes, len(row))
            for codes, row in ((c.similar_codes, c.similar), (c.dissimilar_codes, c.dissimilar))
        )
        codes = np.concatenate([near, np.where(is_below, -far, kernel.FAR), c.signed_down])
        known = codes < kernel.FAR
        return arms[known], others[known], codes[known]

    def depths(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return lower bounds, in quanta, on how far arms lie below the best."""
        return np.asarray(-((self.levels[places] + 1) >> 1))

    def gaps_above(
        self, tops: NDArray[np.int64], others: NDArray[np.int64], most_visits: int
    ) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Yield upper bounds, in quanta or `FAR`, on how far `tops` lie above `others`, some tops at a time.

        With more arms than `most_visits`, only arms near the top are visited, with that many visits for each
        of `tops`. There is no such limit if distances are so few quanta that hundreds of searches can run
        together. Longer paths are routed through a few of `tops`. `others` ascend, and include `tops`.
        """
        levels: NDArray[np.int64] = (self.levels + 1) >> 1
        hubs: list[NDArray[np.int64]] = []
        members, usual = np.arange(len(levels)), int(self._codes.narrow // 2)
        together = most_visits < len(levels) and usual <= _FEW_QUANTA
        if most_visits < len(levels):
            members = np.flatnonzero(levels >= -(1 if together else _NEAR_TOP) * usual)
            through = np.unique(evenly_spread(tops, _HUBS))
            hubs = [through] if together else list(through[:, None])
        else:
            most_visits = _ALL  # some arms need several visits
        onward = [self._ways_to(arms)[others] for arms in hubs]
        number = np.full(len(levels), -1)
        number[members] = np.arange(len(members))
        rows: Any = kernel.upward_ways(self._codes, self._classes.bits, self.signs, members, number)
        if together:
            starts, ends, bounds = rows
            rows = starts, ends, lengths_of(starts, ends, bounds, levels[members], _LENGTHS * usual)
        for start in range(0, len(tops), _ROWS):
            some = slice(start, min(start + _ROWS, len(tops)))
            which = levels[members], number[tops[some]], number[others]
            gaps = (
                _gaps_together(rows, *which, _LENGTHS * usual)
                if together
                else _gaps_near(rows, *which, most_visits)
            )
            for arms, ways in zip(hubs, onward, strict=True):
                up_to = gaps[:, np.searchsorted(others, arms)].max(axis=1)  # whichever of them is on the path
                np.minimum(gaps, up_to[:, None] + ways, out=gaps)
            yield some, gaps

    def _ways_to(self, arms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return upper bounds, in quanta, on how far the nearest of `arms` lies above each arm."""
        levels = np.full(len(self.levels), kernel.FAR)
        levels[arms] = 0
        queue, came_from = np.empty(len(levels), np.int32), np.empty(len(levels), np.int32)
        queue[: len(arms)] = arms
        codes = self._codes._replace(signed_up=self._codes.signed_down)
        kernel.lower_levels(codes, self._classes.bits, -self.signs, queue, len(arms), came_from, levels)
        return np.where(levels < kernel.FAR, (levels + 1) >> 1, kernel.FAR)


def _gaps_near(
    rows: Any,
    levels: NDArray[np.int64],
    tops: NDArray[np.int64],
    others: NDArray[np.int64],
    most_visits: int,
) -> NDArray[np.int64]:
    """Return upper bounds on how far `tops` lie above `others`, `FAR` for entries -1 of `others`.

    `rows` are those of `upward_ways`.
    """
    gaps, is_near = np.full((len(tops), len(others)), kernel.FAR), others >= 0
    starts, ends, bounds = rows
    size = max(_BLOCK_WORDS // len(levels), 1)

    def work(first: int, last: int) -> None:
        for at in range(first, last, size):
            some = slice(at, min(at + size, last))
            ways = np.empty((some.stop - at, len(levels)), np.int64)
            kernel.gaps_above(starts, ends, bounds, levels, tops[some], most_visits, ways)
            gaps[some, is_near] = ways[:, others[is_near]]

    over_blocks(work, len(tops), 9 if len(levels) >= _MANY_ARMS else _ALL, smallest=8)
    return gaps


def _gaps_together(
    rows: Any,
    levels: NDArray[np.int64],
    tops: NDArray[np.int64],
    others: NDArray[np.int64],
    longest: int,
) -> NDArray[np.int64]:
    """Return the same as `_gaps_near`, by paths that exceed what the levels allow by less than `longest`."""
    gaps = np.full((len(tops), len(others)), kernel.FAR)
    starts, ends, lengths = rows
    columns = np.full(len(levels), -1)
    columns[others[others >= 0]] = np.flatnonzero(others >= 0)

    def work(first: int, last: int) -> None:
        near_gaps(starts, ends, lengths, levels, tops[first:last], columns, longest, gaps[first:last])

    over_blocks(work, len(tops), _ROWS // 2 + 1, smallest=_ROWS // 2)
    return gaps


def find_all(reflections: list[Reflection]) -> None:
    """Find the levels and counts of all reflections, on all cores."""
    for one in reflections:
        one.find_levels()

    def work(first: int, last: int) -> None:
        for one in reflections[first:last]:
            if one.wrong < 0:
                one.count_strict()

    is_long = any(len(one.levels) >= _MANY_ARMS for one in reflections)
    over_blocks(work, len(reflections), 2 if is_long else _ALL)


def find_models(
    reflections: list[Reflection],
    left: NDArray[np.bool_],
    largest: float | None,
    fits: Callable[[NDArray[np.float64]], bool],
    most_open: int,
    is_over: Callable[[], bool],
) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
    """Return means that satisfy every relation, and which of the arms `left` are the best of one of them.

    `largest` is as for `Reflection.means`, `most_open` as for `Reflection.fitting`; `fits` says whether means
    satisfy the relations as stated, before they were rounded to steps.
    """
    models: list[NDArray[np.float64]] = []
    is_proven = np.zeros(len(left), bool)
    most = min(_MOST_MODELS, len(reflections) + _MODEL_WORDS // max(len(left), 1))
    for reflection in reflections:
        wanted = left & (reflection.levels == 0)
        while wanted.any() and len(models) < most and not is_over():
            found = reflection.fitting(wanted, most_open)
            if found is None:
                break
            means = found.means(largest)
            if not fits(means):
                break
            models.append(means)
            is_proven |= means == means.max()
            wanted &= ~is_proven
    return models, is_proven & left
