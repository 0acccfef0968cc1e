"""The order of all dissimilar pairs at once: the stage of ``propagation`` that considers all arms together.

Means are known up to reflection only. Relations determine which arm of a dissimilar pair is the higher one
only relative to another pair: one bit per pair. Pairs whose bits determine one another are a *class*.

**Growth.** A class is seeded with two dissimilar arms that are similar to a common arm; which of them lies
above is a free choice. It grows from a *reference* arm: bounds on ``x_a - x_reference`` pass along similar
pairs and known orders. If they exclude that a lies above b, and a and b are dissimilar, then b lies above a:
the pair joins the class, and helps to grow from other references. An order is forced only if one of the two
arms is known to lie on one side of the reference. So arms near the reference pass on bounds, arms on one side
of it are compared with those they are dissimilar to, and all others wait.

**Soundness.** Similar and dissimilar pairs stay the same in a reflection. If the seed's order implies that of
another pair, then the seed reversed implies that pair reversed. So either all orders of a class hold as they
stand, or all are reversed, and if two classes share a pair, they are one. In each of the two reflections, the
largest mean bounds all others along similar pairs and orders (see `reflections`). An arm with another one
above it in both reflections cannot be the best. Better pairs and ranges are not symmetric: orders that follow
from them are in class 1, which is never reversed.

**Exactness.** If all dissimilar pairs have an order, the levels are means that satisfy every relation, and
all arms at level 0 are the best of them. In any case these means are checked against every relation, and
repaired where few pairs without an order fail: an arm that is the best under means that fit can be the best,
and no other stage needs to examine it. If this proves all arms that are left, the answer is exact.

**Contradictions.** If bounds leave no room, relative to a reference or among levels, relations are wrong.
They are also wrong if relations in a cycle, one of them strict, add up to 0; levels alone do not show that,
but Kahn's algorithm on the tight relations does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.propagation.orientation import growth_kernel as kernel
from lsdt.candidates.propagation.orientation.reflections import Reflection, find_all, find_models
from lsdt.candidates.propagation.orientation.sweeps import sweep_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.candidates.propagation.range_steps import LinkRows


class GrowthEffort(NamedTuple):
    """How much work to put into growing classes.

    Up to `seeds` classes are seeded in a part, until one holds a share `enough` of its pairs. Growing from a
    reference ends after `patience` visits, and ten more for every order learnt. If no class comes to hold
    nearly all pairs, arms with wider bounds pass them on too (`far_patience`), as long as the class grows by
    a tenth each time. At most `visits` per arm are made before a class is large. More of each orders more
    pairs and takes longer; where little is ordered, the stages arm by arm have to decide.
    """

    seeds: int = 64
    enough: float = 0.3
    patience: int = 1_000
    far_patience: int = 2_000
    visits: float = 40.0


_USUAL_EFFORT = GrowthEffort()
# The limits below trade time against pairs that get no order, never against correctness. docs/performance.md
# measures the result.
_FEW_VISITS = 20_000  # visits allowed whatever the number of arms: milliseconds
_FEW_ARMS = 10_000  # up to this many, the shuffled order is cached: simulations ask for it repeatedly
_HARDLY = 200  # visits per order learnt: beyond that, growing is not worthwhile
_LARGE = 0.02  # share of the pairs of its part from which a class goes on growing by itself
_WORTH_SWEEPING = 50_000  # arms; with fewer, growing from some of them is as good
_MOST_FRAMES = 6  # references for which all arms are swept, for one class
_WORTH_A_FRAME = 0.1  # share of the missing pairs that one must find for another to follow
_SWEPT_SHARE = 0.2  # share of all pairs that a part must have for all arms to be swept
_WHOLE = 0.98  # share of the pairs with which a class need not grow further
_MOST_FAR, _WORTH_FAR = 8, 100  # parts in which to grow further, and the dissimilar pairs that each must have
_WORTH_MENDING = 0.9  # share of the pairs that must have an order for means to be repaired
_MOST_OPEN = 200  # arms in failing pairs without an order, at most, for means to be repaired
_MENDING_STEPS = 400_000_000  # relations checked for all of these arms together, at most: seconds
_ROUNDS = 4  # classes of one part that exclude arms one after the other
_WORTH_LEVELS = 0.01  # share of the pairs of its part that a class must hold to exclude arms


@dataclass(frozen=True, eq=False)
class Orientation:
    """What the order of dissimilar pairs says about arms, by their index in the constraint system.

    Attributes
    ----------
    is_out : ndarray of bool
        Which arms have another one above them in every reflection of the means.
    n_ordered, n_pairs : int
        How many dissimilar pairs are in the largest classes of all parts, and how many there are.
    is_proven : ndarray of bool
        Which arms are the best of one of the models.
    models : tuple of ndarray
        Means in epsilons (or quanta) that satisfy every relation. Empty where they were not found.
    reflections : tuple of Reflection
        The reflections of the largest class, with the levels of all arms; each arm that can be the best is at
        level 0 in one of them. Empty where several classes can be reversed independently.
    remark : str
        What was left out for lack of time.
    size : float
        The length of a quantum in rewards.
    contradiction : ndarray or None
        Indices of arms whose relations contradict one another, whichever of them is the best.
    effort, seed
        What the classes were grown with; the same values give the same classes.
    """

    is_out: NDArray[np.bool_]
    is_proven: NDArray[np.bool_]
    n_ordered: int
    n_pairs: int
    reflections: tuple[Reflection, ...] = ()
    models: tuple[NDArray[np.float64], ...] = ()
    contradiction: NDArray[np.int64] | None = None
    remark: str = ""
    size: float = 1.0
    effort: GrowthEffort = _USUAL_EFFORT
    seed: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether every arm that is left can be the best."""
        return bool(self.models) and bool((self.is_proven | self.is_out).all())

    @property
    def is_whole(self) -> bool:
        """Whether nearly all dissimilar pairs have an order, in reflections that count for all arms."""
        return bool(self.reflections) and self.n_ordered >= _WHOLE * self.n_pairs


def codes_of(system: ConstraintSystem) -> kernel.Codes:
    """Return the relations of a constraint system as codes; see `growth_kernel`."""
    c, near, n_arms = system.constraints, system.near, len(system.arms)
    similar = _codes(near.steps, system.unit)
    none = np.zeros(0, np.int64)
    signed = np.zeros(n_arms + 1, np.int64), none.astype(np.int32), none, none
    if system.ranges is not None:
        signed = _signed_rows(system.ranges.links, n_arms, system.unit)
    return kernel.Codes(
        near.starts,
        near.others,
        similar,
        c.dissimilar_starts,
        c.dissimilar,
        _codes(c.dissimilar_steps, system.unit),
        *signed,
        _narrow(similar),
    )


def _narrow(similar: NDArray[np.int64]) -> int:
    """Return the width of bounds, a code, up to which arms come first: the usual distance of similar arms."""
    if len(similar) == 1:
        return max(int(similar[0]) + 1, 2)
    return max(int(np.median(similar)) + 1, 2) if len(similar) else 2


def _codes(steps: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """Return bounds in steps as codes: a bound that is not a whole number of quanta is strict."""
    return np.asarray(-2 * (-steps // unit) - (steps % unit != 0))


def _signed_rows(
    links: LinkRows, n_arms: int, unit: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends of ranges as rows: where those of each arm begin, the others, the codes up and down.

    Links bound depths, so the start of a link lies at most its steps above its end.
    """
    first, codes = np.repeat(np.arange(n_arms), np.diff(links.starts)), _codes(links.steps, unit)
    far = np.full(len(codes), kernel.FAR)
    row, other = np.concatenate([links.ends, first]), np.concatenate([first, links.ends])
    up, down = np.concatenate([codes, far]), np.concatenate([far, codes])
    order = np.lexsort((other, row))
    starts = np.searchsorted(row[order], np.arange(n_arms + 1))
    return starts, other[order].astype(np.int32), up[order], down[order]


class Grower:
    """Classes while they grow, and their working memory.

    The growth takes the same steps with a log as without one: which orders it finds depends on these steps,
    and the log must hold every order that excluded an arm.
    """

    def __init__(
        self, codes: kernel.Codes, effort: GrowthEffort, is_over: Callable[[], bool], most_logged: int = 0
    ) -> None:
        self.codes, self.effort, self.is_over = codes, effort, is_over
        n_arms = len(codes.similar_starts) - 1
        self.n_arms = n_arms
        self.classes = kernel.new_classes(len(codes.dissimilar), most_logged)
        self.classes.totals[0] = 1  # class 1 holds what is known for sure
        self.frame, self.agenda = kernel.new_frame(n_arms, most_logged > 0), kernel.new_agenda(n_arms)
        self.part, self.n_parts = kernel.connected_parts(codes.similar_starts, codes.similar)
        self.pairs = np.array([len(codes.dissimilar) // 2])
        if self.n_parts > 1:
            rows = np.repeat(self.part, np.diff(codes.dissimilar_starts))
            inside = rows == self.part[codes.dissimilar]
            self.pairs = np.bincount(rows[inside], minlength=self.n_parts) // 2
        self.largest = np.zeros(self.n_parts, np.int64)  # the largest class of every part
        self.members: dict[int, list[int]] = {}

    @property
    def contradiction(self) -> int:
        """An arm whose bounds leave no room, or -1."""
        return int(self.classes.totals[2])

    def part_of(self, arm: int) -> NDArray[np.int64]:
        """Return the arms that a contradiction at an arm may involve: its part, or all arms with ranges."""
        if len(self.codes.signed):
            return np.arange(self.n_arms)
        return np.flatnonzero(self.part == self.part[arm])

    def size(self, number: int) -> int:
        """Return how many pairs a class holds."""
        return int(self.classes.size[self.classes.root[number]])

    def most_pairs(self, part: int) -> int:
        """Return how many pairs a class of a part can come to hold; ranges may join any parts."""
        return len(self.codes.dissimilar) // 2 if len(self.codes.signed) else int(self.pairs[part])

    def grow(self, number: int, part: int, visits: float, share: float = 1.0) -> int:
        """Grow a class until little or nothing new is learnt; return how many orders were learnt.

        Stop also after about `visits` visits, or once the class holds a `share` of the pairs.
        """
        learnt, n_pairs = 0, int(np.ceil(share * self.most_pairs(part)))
        chunk = self.n_arms // 8 + 5 * self.effort.patience
        while visits > 0 and self.contradiction < 0 and self.size(number) < n_pairs:
            before = int(self.classes.totals[1])
            some = kernel.grow(
                self.codes,
                self.classes,
                self.frame,
                self.agenda,
                number,
                self.effort.patience,
                2 * self.codes.narrow,
                int(min(chunk, visits)),
                n_pairs,
                -1,
            )
            learnt += some
            spent = int(self.classes.totals[1]) - before
            visits -= spent
            if spent == 0 or _HARDLY * some < spent or self.is_over():
                break
        return learnt

    def grow_all(self, middles: NDArray[np.int64]) -> None:
        """Seed classes at the arms `middles`, one after the other, and grow them."""
        tried, marks = np.zeros(self.n_parts, np.int64), np.zeros(self.n_arms, bool)
        allowed = _FEW_VISITS + self.effort.visits * self.n_arms
        if len(self.codes.signed):
            kernel.list_signed(self.codes, self.agenda)
            self.grow(1, 0, allowed)
            kernel.empty_agenda(self.agenda)
        is_open = self.pairs > 0
        for middle in middles.tolist():
            part = int(self.part[middle])
            if not is_open[part]:
                continue
            number = kernel.seed_class(self.codes, self.classes, self.agenda, middle, marks)
            if not number:
                continue
            tried[part] += 1
            self._grow_class(number, part, max(allowed / 8, _FEW_VISITS))
            if self.contradiction >= 0:
                return
            kernel.empty_agenda(self.agenda)
            self._enter(part, number)
            is_open[part] = tried[part] < self.effort.seeds and not self._is_done(part)
            if self.classes.totals[1] > allowed or self.is_over() or not is_open.any():
                break
        for part in np.argsort(-self.pairs)[:_MOST_FAR].tolist():
            if self.largest[part] and self.pairs[part] > _WORTH_FAR and self.contradiction < 0:
                self._grow_far(part, allowed)

    def _grow_class(self, number: int, part: int, visits: float) -> None:
        """Grow a newly seeded class, to its end if it becomes large."""
        is_swept = self.n_arms >= _WORTH_SWEEPING and self.pairs[part] >= _SWEPT_SHARE * self.pairs.sum()
        self.grow(number, part, visits, _LARGE if is_swept else 1.0)
        if self.size(number) < _LARGE * self.pairs[part]:
            return
        if is_swept:
            self._sweep(number, part)
        self.grow(number, part, np.inf)

    def _sweep(self, number: int, part: int) -> None:
        """Complete a class by sweeps over all arms, and by growing from arms with missing pairs.

        A class that stays small grows to up to four times its size before the next sweeps.
        """
        n_pairs = self.most_pairs(part)
        for _ in range(_MOST_FRAMES):
            before = self.size(number)
            if before >= n_pairs or self.contradiction >= 0 or self.is_over():
                break
            reference = self._pick_reference(number, before < n_pairs / 2)
            sweep_all(self.codes, self.classes, self.frame, number, reference, n_pairs, self.is_over)
            kernel.list_open(self.codes, self.classes, number, self.agenda)
            share = 4 * self.size(number) / n_pairs
            self.grow(number, part, np.inf, min(share, 1.0))
            is_stuck = self.size(number) < min(share, 1.0) * n_pairs
            if is_stuck and self.size(number) - before < _WORTH_A_FRAME * (n_pairs - before):
                break

    def _pick_reference(self, number: int, is_small: bool) -> int:
        """Return the arm with most orders in a small class, or with most missing pairs in a large one."""
        counts = np.zeros(self.n_arms, np.int64)
        kernel.count_orders(self.codes, self.classes, number, counts)
        if is_small:
            return int(counts.argmax())
        return int(np.where(counts > 0, np.diff(self.codes.dissimilar_starts) - counts, -1).argmax())

    def _enter(self, part: int, number: int) -> None:
        root = self.classes.root
        known = {int(root[one]) for one in self.members.get(part, [])} | {int(root[number])}
        self.members[part] = sorted(known, key=lambda one: -self.size(one))
        self.largest[part] = self.members[part][0]

    def _is_done(self, part: int) -> bool:
        number = int(self.largest[part])
        return bool(number) and self.size(number) >= self.effort.enough * self.pairs[part]

    def rounds(self) -> list[list[int]]:
        """Return which classes to reverse together, round by round: one of every part.

        Ranges may join parts, and an arm excluded when several classes are all kept or all reversed need not
        be excluded when only some are; so with ranges there is one class per round.
        """
        root = self.classes.root
        by_size = [
            [one for one in members if root[one] != 1 and self.size(one) >= _WORTH_LEVELS * self.pairs[part]]
            for part, members in self.members.items()
        ]
        if len(self.codes.signed):
            every = sorted(
                {int(root[one]) for some in by_size for one in some}, key=lambda one: -self.size(one)
            )
            return [[one] for one in every[:_ROUNDS]] or [[]]
        rounds = [[some[turn] for some in by_size if len(some) > turn] for turn in range(_ROUNDS)]
        return [chosen for chosen in rounds if chosen]

    def _grow_far(self, part: int, allowed: float) -> None:
        """Let arms with wider bounds pass them on too, as long as that makes the class grow."""
        number = int(self.classes.root[self.largest[part]])
        count, orders_before = np.zeros(self.n_arms, np.int64), np.zeros(self.n_arms, np.int64)
        end = int(self.classes.totals[1]) + allowed
        before = 0.0
        while self.size(number) >= 1.1 * before and not self._is_whole(number, part):
            before = self.size(number)
            kernel.count_orders(self.codes, self.classes, number, count)
            arms = np.flatnonzero(count > 2 * orders_before)
            for arm in arms[np.argsort(-count[arms], kind="stable")].tolist():
                orders_before[arm] = count[arm]
                some = kernel.grow(  # not `grow_from`, which would have to be compiled once more
                    self.codes,
                    self.classes,
                    self.frame,
                    self.agenda,
                    number,
                    self.effort.far_patience,
                    3 * self.codes.narrow,
                    1,
                    self.most_pairs(part),
                    arm,
                )
                if some and self.contradiction < 0:
                    self.grow(number, part, allowed / 8)
                if self.contradiction >= 0 or self.classes.totals[1] > end or self.is_over():
                    before = np.inf
                    break
                if self.size(number) >= 2 * before + 100:
                    break
        if self.contradiction < 0 and self.size(number) >= _LARGE * self.pairs[part]:
            self.grow(number, part, np.inf)
        kernel.empty_agenda(self.agenda)
        self._enter(part, number)

    def _is_whole(self, number: int, part: int) -> bool:
        return bool(self.size(number) >= _WHOLE * self.pairs[part])


def shuffled(n_arms: int, seed: int) -> NDArray[np.int64]:
    """Return all arms in a shuffled order, cached if they are few."""
    if n_arms <= _FEW_ARMS:
        return _shuffled_few(n_arms, seed)
    return np.random.default_rng(seed).permutation(n_arms)


@lru_cache(maxsize=16)
def _shuffled_few(n_arms: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(n_arms)


def never() -> bool:
    """Return False: time never runs out."""
    return False


def orient(
    system: ConstraintSystem,
    is_over: Callable[[], bool] = never,
    effort: GrowthEffort = _USUAL_EFFORT,
    seed: int = 0,
    asked: NDArray[np.bool_] | None = None,
) -> Orientation:
    """Order dissimilar pairs as far as they determine one another, and exclude arms by these orders.

    `is_over` says whether time has run out; then nothing more is learnt, and perhaps no arm is excluded. The
    search for means tries to prove the arms marked in `asked`, by default all.
    """
    codes = codes_of(system)
    grower = Grower(codes, effort, is_over)
    n_arms = grower.n_arms
    none_marked = np.zeros(n_arms, bool)
    grower.grow_all(shuffled(n_arms, seed))
    n_pairs = len(grower.codes.dissimilar) // 2
    if grower.contradiction >= 0:
        wrong = grower.part_of(grower.contradiction)
        return Orientation(none_marked, none_marked, 0, n_pairs, contradiction=wrong)
    if is_over():
        said = "time ran out before the dissimilar pairs had an order; no arm was excluded by it"
        return Orientation(none_marked, none_marked, 0, n_pairs, remark=said)
    n_ordered = sum(
        grower.size(one) for one in {int(one) for one in grower.classes.root[grower.largest]} | {1}
    )
    is_out, first, is_one = none_marked, [], False
    for turn, chosen in enumerate(grower.rounds()):
        reflections = [
            Reflection(codes, grower.classes, chosen, sign) for sign in ((1, -1) if chosen else (1,))
        ]
        find_all(reflections)
        refuted = [one.wrong for one in reflections if one.wrong >= 0]
        # Without ranges, if one reflection is contradictory, so is the other.
        if len(refuted) == len(reflections) or (refuted and system.ranges is None):
            places = grower.part_of(refuted[0])
            return Orientation(none_marked, none_marked, n_ordered, n_pairs, contradiction=places)
        reflections = [one for one in reflections if one.wrong < 0]
        is_out = is_out | np.all([one.levels < 0 for one in reflections], axis=0)
        if turn == 0:
            first, is_one = reflections, len(chosen) <= 1
    models: list[NDArray[np.float64]] = []
    is_proven = none_marked
    if system.ranges is None or system.ranges.is_compared:
        largest = None if system.ranges is not None else system.largest
        most_open = min(_MOST_OPEN, _MENDING_STEPS // max(system.entries, 1))
        models, is_proven = find_models(
            first,
            ~is_out if asked is None else asked & ~is_out,
            largest,
            lambda means: system.fits(np.arange(n_arms), -means),
            most_open if n_ordered >= _WORTH_MENDING * n_pairs else 0,
            is_over,
        )
    kept = tuple(first) if is_one else ()
    return Orientation(
        is_out,
        is_proven,
        n_ordered,
        n_pairs,
        kept,
        tuple(models),
        size=system.size,
        effort=effort,
        seed=seed,
    )
