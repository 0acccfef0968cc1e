"""Propagation over parts of the arms that no relation connects, on joblib's workers.

What is known about the arms of one part says nothing about those of another. So an arm can be the best of all
exactly if it can be the best of its part, and parts are decided independently: in threads, or in the
processes of the backend that `joblib.parallel_config` sets, on one machine or on many. Small parts are
combined, so that there are a few pieces of work for every worker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import time
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.outcome import Outcome
from lsdt.candidates.proofs import best_means
from lsdt.candidates.propagation.exclusion import explain_candidate
from lsdt.candidates.propagation.method import (
    Propagation,
    Stage,
    fall_back,
    find_propagation,
    notes_on,
    run_propagation,
)
from lsdt.side_information import ArmNames, PairStore, subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.options import Options
    from lsdt.candidates.proofs import Explanation
    from lsdt.candidates.triangles.conflict import Conflict
    from lsdt.side_information import SideInformation

_PIECES = 4  # for every worker, so that one that finishes early takes another
_SOON = 1e-3  # seconds for a piece that starts after the time limit: the limit must be above 0


class SeparatePart:
    """Some arms without a relation to any other, and what propagation found for them.

    Attributes
    ----------
    members : ndarray of int
        The arms, ascending.
    found : Propagation
        What was found; its indices number the arms of the part from 0.
    """

    def __init__(self, members: NDArray[np.int64], found: Propagation) -> None:
        self.members, self.found = members, found

    def model(self) -> NDArray[np.float64] | None:
        """Return means that satisfy all relations of the part, the largest 0, or None if none are known."""
        oriented = self.found.oriented
        if oriented is None or not oriented.models or len(oriented.is_out) < len(self.members):
            return None
        means = oriented.models[0]
        return np.asarray((means - means.max()) * oriented.size)


@dataclass(frozen=True, eq=False)
class Parts:
    """What propagation found in all parts; the evidence of an `Outcome`."""

    parts: tuple[SeparatePart, ...]

    @property
    def arms(self) -> NDArray[np.int64]:
        """The candidates, ascending."""
        return np.sort(np.concatenate([part.members[part.found.left] for part in self.parts]))

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm."""
        kinds = np.empty(sum(len(part.members) for part in self.parts), np.int64)
        for part in self.parts:
            kinds[part.members] = part.found.kinds
        return kinds

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Explain why the arm is excluded, or that nothing contradicts it, by the relations of its part."""
        part = next(one for one in self.parts if arm in one.members)
        place = int(np.searchsorted(part.members, arm))
        why = part.found.explain(_named_subset(side, part.members), place)
        if why.means is not None:
            return self._proven(side, arm, part, why.means)
        if why.is_candidate:
            return explain_candidate(side, arm)
        pairs, rests_on = (
            tuple((int(part.members[a]), int(part.members[b])) for a, b in some)
            for some in (why.pairs, why.rests_on)
        )
        return replace(why, side=side, arm=arm, pairs=pairs, rests_on=rests_on)

    def _proven(
        self, side: SideInformation, arm: int, part: SeparatePart, means: NDArray[np.float64]
    ) -> Explanation:
        """Explain a candidate by means for all arms, each part with its largest mean at the same height."""
        every = np.empty(side.n_arms)
        for one in self.parts:
            model = means - means.max() if one is part else one.model()
            if model is None:
                return explain_candidate(side, arm)
            every[one.members] = model
        assert part.found.oriented is not None
        size = part.found.oriented.size
        return best_means(side, arm, every / size, size)


def _joint_stages(found: list[tuple[Stage, ...]]) -> tuple[Stage, ...]:
    """Return one stage per name: numbers and seconds added up, remarks joined."""
    names = dict.fromkeys(stage.name for stages in found for stage in stages)
    joint = []
    for name in names:
        same = [stage for stages in found for stage in stages if stage.name == name]
        remarks = dict.fromkeys(stage.remark for stage in same if stage.remark)
        joint.append(
            Stage(
                name,
                sum(stage.examined for stage in same),
                sum(stage.excluded for stage in same),
                sum(stage.seconds for stage in same),
                "; ".join(remarks),
            )
        )
    return tuple(joint)


def _named_subset(side: SideInformation, members: NDArray[np.int64]) -> SideInformation:
    """Return the subset of some arms, which keep their ids, or their indices as ids."""
    part = subset(side, members)
    if side.arm_ids is not None or part is side:
        return part
    return part._with_names(ArmNames(len(members), members.tolist(), part._names.titles))


def find_by_parts(side: SideInformation, options: Options, n_jobs: int) -> Outcome:
    """Run propagation on all parts, on `n_jobs` workers; fall back if one is contradictory."""
    import joblib

    pieces = _pieces(side, _PIECES * joblib.effective_n_jobs(n_jobs))
    if len(pieces) == 1:
        return find_propagation(side, options)
    end = None if options.timeout is None else time() + options.timeout
    calls = [joblib.delayed(_run_part)(_named_subset(side, some), options, end) for some in pieces]
    done = joblib.Parallel(n_jobs, prefer="threads", batch_size=1)(calls)
    stages = _joint_stages([found.stages for found, _conflict in done])
    conflicts = [conflict for _found, conflict in done if conflict is not None]
    if conflicts:
        return fall_back(side, stages, min(conflicts, key=lambda one: len(one.relations) or side.n_arms**2))
    parts = Parts(
        tuple(SeparatePart(some, found) for some, (found, _conflict) in zip(pieces, done, strict=True))
    )
    is_exact = all(part.found.is_exact for part in parts.parts)
    return Outcome(side, parts.arms, parts, is_exact, stages, notes_on(stages))


def _run_part(
    part: SideInformation, options: Options, end: float | None
) -> tuple[Propagation, Conflict | None]:
    if end is not None:
        options = options._replace(timeout=max(end - time(), _SOON))
    return run_propagation(part, options)


def _pieces(side: SideInformation, most: int) -> list[NDArray[np.int64]]:
    """Split the arms into at most `most` pieces of about the same size, with no relation between pieces."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    store = side.store
    if not isinstance(store, PairStore) or side.is_complete:
        return [np.arange(side.n_arms)]
    ends = [np.stack(_ends(graph)) for graph in (store.similar, store.listed_dissimilar())]
    if store.ranges is not None:
        ends.append(store.ranges.pairs.T.astype(np.int64))
    first, second = np.concatenate(ends, axis=1)
    joined = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(side.n_arms, side.n_arms))
    count, number = connected_components(joined, directed=False)
    weight = np.bincount(number, minlength=count) + np.bincount(number[first], minlength=count)
    piece, load = np.zeros(count, np.int64), np.zeros(min(most, count), np.int64)
    for part in np.argsort(-weight, kind="stable").tolist():  # the largest first, to the smallest piece
        piece[part] = load.argmin()
        load[piece[part]] += weight[part]
    return [np.flatnonzero(piece[number] == at) for at in range(len(load))]


def _ends(graph: tuple[NDArray[np.int64], NDArray[np.int32]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts, others = graph
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts)), others.astype(np.int64)
