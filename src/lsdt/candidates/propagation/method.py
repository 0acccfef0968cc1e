"""Method ``propagation``: assume that an arm is the best, and exclude it if that leads to a contradiction.

Suppose arm i is the best. Every other mean lies a depth d_j = (mu_i - mu_j) / epsilon >= 0 below it. A
similar pair means |d_j - d_k| < 1, a dissimilar pair d_j - d_k >= 1 or d_k - d_j >= 1. Bounds on depths pass
along similar pairs. Once they exclude one order of a dissimilar pair, the other order holds and narrows them
further. If the bounds of any depth cross, arm i cannot be the best. The triangle rule is the first step of
this argument. Distinct thresholds take the place of 1 (`lsdt.side_information.layouts.integer_steps`), and a
range of mu_j - mu_k is one of d_k - d_j (`range_steps`).

Five stages each work on the arms that the one before left:

1. if there are better pairs or ranges, the order of the arms (see `order`), which decides everything unless
   the order of some dissimilar pair is open;
2. the triangle rule;
3. the order of all dissimilar pairs up to reflection (see `orientation`), which is often the whole answer;
4. an interval for every depth;
5. the closure of all differences among the arms nearest to the one in question.

With very many arms orientation comes before the triangle rule. Examining fewer arms, or stopping early, only
leaves more arms: the answer always contains every arm that can be the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._progress import counter
from lsdt.candidates.outcome import Outcome
from lsdt.candidates.propagation.closure_kernel import eliminate_by_closure
from lsdt.candidates.propagation.constraints import ConstraintSystem, is_sparse, system_around
from lsdt.candidates.propagation.contradiction import (
    FailedElimination,
    conflict_among,
    contradiction_message,
    part_without_arms,
)
from lsdt.candidates.propagation.exclusion import explain_candidate, explain_exclusion
from lsdt.candidates.propagation.method_kernel import eliminate_by_intervals
from lsdt.candidates.propagation.order import run_order
from lsdt.candidates.propagation.orientation import (
    Log,
    Orientation,
    explain_both_reflections,
    explain_model,
    orient,
)
from lsdt.candidates.reasons import BETWEEN, CANDIDATE, DERIVED, ORDER, TRIANGLE
from lsdt.candidates.triangles.range_pairs import note_on_reading
from lsdt.candidates.triangles.rule import one_witness, smallest_consistent, variant_of
from lsdt.errors import counted
from lsdt.kernel import evenly_spread, over_blocks
from lsdt.side_information import PairStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.candidates.options import Options
    from lsdt.candidates.proofs import Explanation
    from lsdt.candidates.propagation.order import ArmOrder
    from lsdt.candidates.triangles.conflict import Conflict
    from lsdt.side_information import SideInformation

    _Work = Callable[[NDArray[np.int64], int, int, NDArray[np.bool_]], None]

MOST_CLOSED = 256  # arms among which constraints are closed, for each arm: a few milliseconds
_WIDER = 4  # another pass over intervals is worthwhile with this many times as many near arms
_WORTH_WHILE = 0.02  # share of a sample that a stage must exclude to be run on the other arms
_SMALLEST_BLOCK = 8  # arms between two looks at the clock, and the least that a thread takes
# With stored relations of this many arms orientation comes before triangles: these take time quadratic in an
# arm's relations, and are not needed if means prove all arms that are left.
_MANY_ARMS = 20_000
_WORTH_ORIENTING = 9  # arms that triangles leave: fewer are quickly decided one by one


class PropagationEffort(NamedTuple):
    """How much work to do for very many arms.

    The interval stage makes about `most_steps` comparisons, a minute on two cores. It examines at least
    `fewest_near` arms around each, where most contradictions are found, and at most `most_near`, beyond which
    there are hardly any. With more than `many` arms, a stage is first tried on `tried` of them, to see
    whether it is worth its time. So is a closure of more than `costly_steps` comparisons, a second on two
    cores, on `sampled` of them: if it excludes none of 64, it would exclude less than 5% of the others with
    a probability of 95%. With more than `most_to_close` arms there is no closure.
    """

    most_steps: float = 1e10
    fewest_near: int = 300
    most_near: int = 3_000
    many: int = 1_000
    tried: int = 128
    sampled: int = 64
    costly_steps: float = 2e9
    most_to_close: int = 20_000


_USUAL_EFFORT = PropagationEffort()


class Stage(NamedTuple):
    """One step of the elimination: how many arms it examined and excluded, how long it took.

    Attributes
    ----------
    name : str
        ``'triangles'``, ``'intervals'``, ...
    examined, excluded : int
        How many arms it looked at, and how many of them are out by it.
    seconds : float
        How long it took.
    remark : str
        Anything unusual, such as that it was stopped early; else empty.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, similar=[(0, 1), (0, 2)], dissimilar=[(1, 2)])
    >>> first = lsdt.candidate_set(side, "propagation").stages[0]
    >>> first.name, first.examined, first.excluded
    ('triangles', 3, 1)
    """

    name: str
    examined: int
    excluded: int
    seconds: float
    remark: str = ""

    def _repr_html_(self) -> str:
        return fields_card(self)


class ClosedDepths(NamedTuple):
    """Bounds on the depths of `arms` from the closure of all differences, in steps; row i assumes arm i best.

    `near` is how many arms around each one were included in its closure.
    """

    arms: NDArray[np.int64]
    near: int
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Propagation:
    """What propagation found: the arms `left`, and why the others are out.

    `witnesses` are -1 for arms that no triangle excludes. Derivations use `system`, the constraints, and
    `near`, how many arms around each were included. `order` is the result of the first stage, if there are
    ranges; `oriented` the order of dissimilar pairs, if that stage ran. `is_exact` says that one of these two
    decided everything. `depths` are those that the last stage found, if it closed all arms for each.
    """

    left: NDArray[np.int64]
    witnesses: NDArray[np.int32]
    stages: tuple[Stage, ...]
    system: ConstraintSystem | None = None
    near: int = 0
    order: ArmOrder | None = None
    is_exact: bool = False
    oriented: Orientation | None = None
    depths: ClosedDepths | None = None

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm: the one with the shortest proof, if several stages exclude it."""
        kinds = np.full(len(self.witnesses), DERIVED)
        if self.system is not None and self.oriented is not None:
            kinds[self.system.arms[self.oriented.is_out]] = BETWEEN
        kinds[self.witnesses[:, 0] >= 0] = TRIANGLE
        if self.order is not None:
            kinds[self.order.is_out] = ORDER
        kinds[self.left] = CANDIDATE
        return kinds

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Explain why the arm is excluded, or that nothing contradicts it."""
        kind, by_order = self.kinds[arm], self.is_exact and self.oriented is None
        if self.order is not None and (by_order or kind == ORDER):
            return self.order.explain(side, arm)
        if kind == TRIANGLE:
            first, second = self.witnesses[arm].tolist()
            return variant_of(side).explain_exclusion(side, arm, [(first, second)], 1)
        if kind == CANDIDATE:
            if self.oriented is not None and self._proves(side) and self.oriented.is_proven[arm]:
                return explain_model(side, arm, self.oriented)
            return explain_candidate(side, arm)
        assert self.system is not None
        if kind == BETWEEN:
            return explain_both_reflections(side, self.system, arm, self.near, MOST_CLOSED, lambda: self.log)
        return explain_exclusion(side, self.system, arm, self.near, MOST_CLOSED)

    @cached_property
    def log(self) -> Log:
        """A log of how the orders of dissimilar pairs were found; computing it repeats the growth."""
        assert self.system is not None
        assert self.oriented is not None
        return Log(self.system, self.oriented.effort, self.oriented.seed)

    def _proves(self, side: SideInformation) -> bool:
        """Return whether the models of `oriented` give means for all arms."""
        return self.system is not None and len(self.system.arms) == side.n_arms


class Clock:
    """The time remaining; unlimited by default."""

    def __init__(self, seconds: float | None) -> None:
        self._end = np.inf if seconds is None else perf_counter() + seconds

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return bool(self._end < np.inf)

    def remaining(self) -> float:
        """Return the remaining seconds, or infinity."""
        return max(self._end - perf_counter(), 0.0)

    def is_over(self) -> bool:
        """Return whether the time is over."""
        return perf_counter() > self._end


def find_propagation(
    side: SideInformation, options: Options, effort: PropagationEffort = _USUAL_EFFORT
) -> Outcome:
    """Run propagation; fall back to more witnesses if the relations contradict one another."""
    return conclude(side, *run_propagation(side, options, effort))


def run_propagation(
    side: SideInformation, options: Options, effort: PropagationEffort = _USUAL_EFFORT
) -> tuple[Propagation, Conflict | None]:
    """Run propagation; return what it found, and a conflict if the relations contradict one another."""
    options.refuse_wrong_relations(
        "'propagation' assumes that all relations are right", "leave max_wrong out, or ask for 'triangles'"
    )
    found = derive(side, Clock(options.timeout), effort)
    return found, find_conflict(side, found)


def derive(side: SideInformation, clock: Clock, effort: PropagationEffort = _USUAL_EFFORT) -> Propagation:
    """Run propagation; it may leave no arm if the relations contradict one another."""
    started = perf_counter()
    order, stages, is_left = run_order(side), [], np.ones(side.n_arms, bool)
    if order is not None:
        is_left = ~order.is_out
        remark = "; ".join(order.notes)
        stages.append(Stage("order", side.n_arms, int(order.is_out.sum()), perf_counter() - started, remark))
        if order.conflict is not None or not order.n_open:
            unseen = np.full((side.n_arms, 2), -1, np.int32)
            return Propagation(order.arms, unseen, tuple(stages), order=order, is_exact=order.is_exact)
    arms, proven = np.flatnonzero(is_left), np.zeros(0, np.int64)
    system, near, oriented, depths, is_exact = None, 0, None, None, False
    witnesses = np.full((side.n_arms, 2), -1, np.int32)
    is_many = side.n_arms >= _MANY_ARMS and isinstance(side.store, PairStore) and is_sparse(side.store)
    if is_many and not clock.is_over():
        system = system_around(side, arms)
        arms, oriented, proven, done = _by_orientation(side, system, arms, clock)
        stages.append(done)
        is_exact = len(proven) == len(arms) > 0
    if not is_exact:
        started = perf_counter()
        witnesses = one_witness(side)
        n_before = len(arms)
        arms = arms[witnesses[arms, 0] < 0]
        stages.append(Stage("triangles", n_before, n_before - len(arms), perf_counter() - started))
    if len(arms):
        system = system_around(side, arms) if system is None else system
        if order is not None:
            stages[0] = stages[0]._replace(remark="; ".join((*order.notes, *_notes_on_system(system, order))))
        if oriented is None and len(arms) >= _WORTH_ORIENTING and not clock.is_over():
            arms, oriented, proven, done = _by_orientation(side, system, arms, clock)
            stages.append(done)
            is_exact = len(proven) == len(arms) > 0
        if is_exact or (oriented is not None and oriented.contradiction is not None):
            near = most_near(system, max(len(arms), 1), effort)
            return Propagation(arms, witnesses, tuple(stages), system, near, order, is_exact, oriented)
        arms = np.setdiff1d(arms, proven, assume_unique=True)
        while len(arms) and most_near(system, len(arms), effort) >= _WIDER * near:
            near = most_near(system, len(arms), effort)
            arms, done = _by_intervals(system, arms, near, clock, effort)
            stages.append(done)
        if len(arms):
            arms, done, depths = _by_closure(system, arms, near, clock, effort)
            stages.append(done)
    if system is not None and near == 0:
        # No stage examined arms one by one, but proofs and the search for a conflict do, each among few arms.
        near = min(most_near(system, 1, effort), MOST_CLOSED)
    left = np.union1d(arms, proven)
    return Propagation(
        left,
        witnesses,
        tuple(stages),
        system=system,
        near=near,
        order=order,
        oriented=oriented,
        depths=depths,
    )


def _notes_on_system(system: ConstraintSystem, order: ArmOrder) -> list[str]:
    """Return notes on what later stages do not use of the ranges, if `order` has no such notes."""
    assert system.ranges is not None
    notes = []
    if not system.ranges.is_compared:
        notes.append("the later stages read only the direction of ranges")
    if not system.ranges.steps.exact and order.quanta is not None and order.quanta.exact:
        notes.append(f"the later stages round ends outward, each by less than {system.size:.1g}")
    return notes


def find_conflict(side: SideInformation, found: Propagation) -> Conflict | None:
    """Return relations that contradict one another, or None if propagation found no contradiction."""
    if found.order is not None and found.order.conflict is not None:
        return found.order.conflict
    part = part_without_arms(side, found.system, found.left)
    if found.oriented is not None and found.oriented.contradiction is not None and found.system is not None:
        part = found.system.arms[found.oriented.contradiction]
    if part is None:
        return None
    return conflict_among(
        side, part, FailedElimination(found.witnesses, found.system, found.near, MOST_CLOSED)
    )


def conclude(side: SideInformation, found: Propagation, conflict: Conflict | None) -> Outcome:
    """Return the outcome of propagation or, after a conflict, of the triangle rule with more witnesses."""
    if conflict is not None:
        return fall_back(side, found.stages, conflict)
    notes = notes_on(found.stages)
    return Outcome(side, found.left, found, found.is_exact, found.stages, notes, derivation=found)


def fall_back(side: SideInformation, stages: tuple[Stage, ...], conflict: Conflict) -> Outcome:
    """Return the outcome of the triangle rule with more witnesses, after a conflict."""
    started = perf_counter()
    robust = smallest_consistent(side, proven_wrong=True)
    excluded, remark = side.n_arms - len(robust.arms), "arms that earlier stages excluded were restored"
    done = Stage(
        f"triangles with max_wrong={robust.max_wrong}",
        side.n_arms,
        excluded,
        perf_counter() - started,
        remark,
    )
    notes = [contradiction_message(conflict, robust.max_wrong)]
    if side.ranges is not None:
        notes.append(note_on_reading(side, side))
    return Outcome(
        side,
        robust.arms,
        robust,
        is_exact=False,
        stages=(*stages, done),
        notes=tuple(notes),
        conflict=conflict,
        max_wrong=robust.max_wrong,
    )


def notes_on(stages: tuple[Stage, ...]) -> tuple[str, ...]:
    """Return the remarks on the stages, such as what was not examined."""
    return tuple(f"{stage.name}: {stage.remark}" for stage in stages if stage.remark)


def most_near(system: ConstraintSystem, n_arms: int, effort: PropagationEffort = _USUAL_EFFORT) -> int:
    """Return how many arms around each to examine, so that `n_arms` hypotheses take reasonable time."""
    degree = max(system.entries / len(system.arms), 1.0)
    near = min(max(effort.most_steps / (max(n_arms, 1) * degree), effort.fewest_near), effort.most_near)
    return int(min(near, len(system.arms)))


def _by_orientation(
    side: SideInformation, system: ConstraintSystem, arms: NDArray[np.int64], clock: Clock
) -> tuple[NDArray[np.int64], Orientation, NDArray[np.int64], Stage]:
    """Return the arms that are left, the orders found, which arms are proven by means, and the stage."""
    started, places = perf_counter(), system.places(arms)
    asked = np.zeros(len(system.arms), bool)
    asked[places] = True
    found = orient(system, clock.is_over, asked=asked)
    is_left = ~found.is_out[places]
    if found.contradiction is not None:
        is_left &= ~np.isin(places, found.contradiction)
    left = arms[is_left]
    excluded = len(arms) - len(left)
    done = Stage("orientation", len(arms), excluded, perf_counter() - started, found.remark)
    if len(system.arms) < side.n_arms:  # the means are not those of all arms
        return left, found, left[:0], done
    return left, found, left[found.is_proven[left]], done


def _by_intervals(
    system: ConstraintSystem, arms: NDArray[np.int64], near: int, clock: Clock, effort: PropagationEffort
) -> tuple[NDArray[np.int64], Stage]:

    def work(places: NDArray[np.int64], first: int, last: int, possible: NDArray[np.bool_]) -> None:
        eliminate_by_intervals(system.constraints, places, first, last, near, possible)

    remark = "" if near == len(system.arms) else f"only {near:,} arms around each were examined"
    tried = effort.tried if len(arms) > effort.many else 0
    return _if_it_pays("intervals", system, arms, clock, work, remark, tried)


def _by_closure(
    system: ConstraintSystem, arms: NDArray[np.int64], near: int, clock: Clock, effort: PropagationEffort
) -> tuple[NDArray[np.int64], Stage, ClosedDepths | None]:
    """Return the arms that are left, the stage, and the bounds on their depths if all arms were closed."""
    is_small = len(system.arms) <= MOST_CLOSED
    size = len(system.arms) if is_small else 0
    lower, upper = np.empty((2, size, size), np.int64)

    def work(places: NDArray[np.int64], first: int, last: int, possible: NDArray[np.bool_]) -> None:
        eliminate_by_closure(
            system.constraints, places, first, last, near, MOST_CLOSED, possible, lower, upper
        )

    if len(arms) > effort.most_to_close:
        return arms, Stage("closure", 0, 0, 0.0, f"skipped: {len(arms):,} arms are too many for it"), None
    tried = effort.tried if len(arms) > effort.many else 0
    if not tried and len(arms) * float(min(len(system.arms), MOST_CLOSED)) ** 3 > effort.costly_steps:
        tried = effort.sampled
    left, stage = _if_it_pays("closure", system, arms, clock, work, "", tried)
    if not is_small or stage.examined < len(arms):
        return left, stage, None
    among = np.ix_(system.places(left), system.places(left))
    return left, stage, ClosedDepths(left, near, lower[among], upper[among])


def _if_it_pays(
    name: str,
    system: ConstraintSystem,
    arms: NDArray[np.int64],
    clock: Clock,
    work: _Work,
    remark: str,
    tried: int,
) -> tuple[NDArray[np.int64], Stage]:
    """Run a stage on a sample of `tried` arms, and on the others only if it excludes a fair share of these.

    If `tried` is 0, or not below the number of arms, the stage runs on all of them.
    """
    if not 0 < tried < len(arms):
        return run_stage(name, system, arms, clock, work, remark)
    sampled = np.zeros(len(arms), bool)
    sampled[evenly_spread(np.arange(len(arms)), tried)] = True
    others = arms[~sampled]
    left, stage = run_stage(name, system, arms[sampled], clock, work, remark)
    if stage.excluded < _WORTH_WHILE * stage.examined:
        found = f"it excluded {stage.excluded} of {counted(stage.examined, 'arm')}"
        stage = stage._replace(remark=f"{found}, and was not tried on the others")
        return np.union1d(left, others), stage
    left_of_others, rest = run_stage(name, system, others, clock, work, remark)
    examined, excluded = stage.examined + rest.examined, stage.excluded + rest.excluded
    if examined < len(arms):
        remark = _out_of_time(len(arms) - examined, len(arms))
    done = Stage(name, examined, excluded, stage.seconds + rest.seconds, remark)
    return np.union1d(left, left_of_others), done


def run_stage(
    name: str,
    system: ConstraintSystem,
    arms: NDArray[np.int64],
    clock: Clock,
    work: _Work,
    remark: str,
    smallest: int = _SMALLEST_BLOCK,
) -> tuple[NDArray[np.int64], Stage]:
    """Let `work` decide blocks of arms until all are decided or time runs out.

    Return the arms that are left, and the record of the stage.
    """
    started = perf_counter()
    places, possible = system.places(arms), np.ones(len(arms), bool)
    examined = np.zeros(len(arms), bool)

    def block(first: int, last: int) -> None:
        step = smallest if clock.is_limited else max(last - first, 1)
        for at in range(first, last, step):
            if not clock.is_over():
                work(places, at, min(at + step, last), possible)
                examined[at : min(at + step, last)] = True
                count(min(step, last - at))

    with counter(len(arms), f"arms ({name})") as count:
        over_blocks(block, len(arms), worth_sharing=smallest + 1, smallest=smallest)
    left = int((~examined).sum())
    if left:
        remark = _out_of_time(left, len(arms))
    done = Stage(name, int(examined.sum()), int((~possible).sum()), perf_counter() - started, remark)
    return arms[possible], done


def _out_of_time(left: int, n_arms: int) -> str:
    return f"time ran out before {left:,} of {n_arms:,} arms were examined; they stay"
