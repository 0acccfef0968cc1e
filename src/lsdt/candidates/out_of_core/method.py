"""Candidates of pairs that stay in an engine: the rules run there, and only the arms they leave are read."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.out_of_core.result import EngineCandidateSet, EngineEvidence
from lsdt.candidates.out_of_core.rules import USUAL_LIMITS, Limits, exclude_by_order, exclude_by_triangles
from lsdt.candidates.outcome import Outcome
from lsdt.candidates.propagation.method import Clock, notes_on
from lsdt.errors import InconsistentSideInformation, InvalidInput, Unsupported, counted

if TYPE_CHECKING:
    from lsdt.candidates.options import Options
    from lsdt.candidates.propagation.method import Stage
    from lsdt.side_information import LazyPairs, PairTables

_GOES_ON = "propagation"  # the method in memory that 'auto' goes on with


class _MethodPlan(NamedTuple):
    method: str
    rules: tuple[str, ...]
    goes_on: bool


def find_in_engine(
    pairs: LazyPairs, method: str, options: Options, limits: Limits = USUAL_LIMITS
) -> EngineCandidateSet:
    """Run the rules in the engine, read the arms they leave, and continue in memory if the method says so."""
    from lsdt.side_information import open_tables

    plan = _plan(pairs, method, options)
    started, clock = perf_counter(), Clock(options.timeout)
    with open_tables(pairs) as tables:
        tables.check()
        n_arms = tables.n_arms
        stages = tuple(_exclude(rule, tables, clock, limits) for rule in plan.rules)
        if tables.count_left() == 0:
            raise _nothing_left(pairs, n_arms, plan.rules)
        side, n_unread = tables.read_left()
    notes = [*notes_on(stages), *_unread(pairs, plan, n_unread)]
    here = None
    if plan.goes_on and not n_unread and (side.n_similar or side.n_dissimilar or side.ranges is not None):
        from lsdt.candidates.candidate_set import candidate_set

        here = candidate_set(side, _GOES_ON, timeout=clock.remaining() if clock.is_limited else None)
        stages, notes = (*stages, *here.stages), [*notes, *here.notes]
    outcome = Outcome(
        side,
        np.arange(side.n_arms) if here is None else here.arms,
        EngineEvidence(side.n_arms, plan.rules, here),
        is_exact=False,
        stages=stages,
        notes=tuple(notes),
        conflict=None if here is None else here.conflict,
        max_wrong=0 if here is None else here.max_wrong,
    )
    return EngineCandidateSet(pairs, n_arms, plan.rules, plan.method, outcome, perf_counter() - started)


def _plan(pairs: LazyPairs, method: str, options: Options) -> _MethodPlan:
    if options.wrong_rate is not None or options.max_wrong != 0:
        raise Unsupported(
            "in an engine all relations are assumed to be right; read the pairs with lsdt.from_frame to "
            "tolerate wrong ones"
        )
    if method in ("paper", "triangles"):
        return _MethodPlan("triangles", ("triangles",), False)
    if method == "order":
        if not pairs.has_ranges:
            raise InvalidInput("there are no better pairs and no ranges: nothing orders the arms")
        return _MethodPlan("order", ("order",), False)
    if method in ("auto", _GOES_ON):
        return _MethodPlan(_GOES_ON, (*(("order",) if pairs.has_ranges else ()), "triangles"), True)
    raise Unsupported(
        f"the method {method!r} needs all pairs in memory; engines run 'paper', 'triangles' and 'order', and "
        "'auto' goes on with what these leave. lsdt.from_frame reads pairs into memory"
    )


def _exclude(rule: str, tables: PairTables, clock: Clock, limits: Limits) -> Stage:
    if rule == "order":
        return exclude_by_order(tables.order(), tables.n_arms, clock, limits)
    return exclude_by_triangles(tables.triangles(), tables.n_arms, tables.n_pairs, clock, limits)


def _unread(pairs: LazyPairs, plan: _MethodPlan, n_unread: int) -> list[str]:
    """Return notes on what was not read."""
    notes = []
    if "triangles" in plan.rules and pairs.has_ranges and pairs.epsilon is None:
        what = "as similar and dissimilar pairs, since epsilon is not known" if "order" in plan.rules else ""
        what = what or "by the triangle rule, since epsilon is not known; 'order' reads them"
        notes.append(f"better pairs and ranges were not read {what}")
    if plan.rules == ("order",) and pairs.counts["dissimilar"]:
        notes.append("dissimilar pairs were not read; 'auto' reads them too, and may exclude more")
    if n_unread:
        notes.append(
            f"{counted(n_unread, 'relation')} among the candidates do not fit in memory and were not read"
        )
    return notes


def _nothing_left(pairs: LazyPairs, n_arms: int, rules: tuple[str, ...]) -> InconsistentSideInformation:
    return InconsistentSideInformation(
        f"the relations contradict one another: each of {counted(n_arms, 'arm')} is excluded by "
        f"{' or '.join(rules)}, and one of them would have to be the best. Read a part with "
        f"lsdt.from_lazy_frame(...).around([arm], radius) and let lsdt.candidate_set name a conflict there."
    )
