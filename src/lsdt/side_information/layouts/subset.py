"""Side information derived from other side information: about some of the arms, or with an epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt._validation import checked_epsilon
from lsdt.errors import InvalidInput
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.layouts.adjacency import adjacency_of_rows
from lsdt.side_information.layouts.materialise import check_countable
from lsdt.side_information.layouts.stores import PairStore, Store, WindowStore, known_store
from lsdt.side_information.layouts.subset_kernel import relations_among, rows_among
from lsdt.side_information.layouts.thresholds import among, thresholds_of_entries
from lsdt.side_information.side_information import SideInformation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lsdt.side_information.layouts.adjacency import Adjacency


def subset(side: SideInformation, arms: NDArray[np.int64]) -> SideInformation:
    """Return the relations among `arms`, given as ascending indices; arm ``arms[i]`` becomes arm ``i``."""
    if len(arms) == side.n_arms:
        return side
    arms = arms if arms.flags.writeable else arms.copy()  # read-only arrays would compile the kernels again
    ids = None if side.arm_ids is None else [side.arm_ids[arm] for arm in arms]
    titles = side._names.titles
    kept = None if titles is None else tuple(titles[arm] for arm in arms.tolist())
    store, names = _subset_store(side.store, arms), ArmNames(len(arms), ids, kept)
    evidence = side.evidence.among(arms) if hasattr(side.evidence, "among") else side.evidence
    some = SideInformation._of(store, names, side.epsilon, evidence)
    beaten = None if side.beaten is None else side.beaten.among(arms, side.n_arms)
    return some._with_origin(side._origin._replace(beaten=beaten))


def _subset_store(store: Store, arms: NDArray[np.int64]) -> Store:
    if isinstance(store, PairStore):
        ranges = None if store.ranges is None else store.ranges.among(arms, store.n_arms)
        return _subset_pairs(store, arms).with_ranges(ranges)
    if not store.layers:
        return WindowStore(store.windows.among(arms))
    # The coins of a pair depend on the arms' old numbers, so the remaining pairs are written out.
    check_countable(len(arms), "reveal more relations, so that fewer arms are left")
    rows = relations_among(store.base(), store.coins, arms)
    similar, dissimilar = adjacency_of_rows(rows[0], rows[1]), adjacency_of_rows(rows[2], rows[3])
    return known_store(len(arms), similar, None if store.is_complete else dissimilar)


def _subset_pairs(store: PairStore, arms: NDArray[np.int64]) -> PairStore:
    similar = subgraph(store.similar, arms)
    if store.dissimilar is None:
        return PairStore(len(arms), similar, None)
    dissimilar = subgraph(store.dissimilar, arms)
    if store.thresholds is None or not len(similar.indices) + len(dissimilar.indices):
        return known_store(len(arms), similar, dissimilar)
    thresholds = thresholds_of_entries(
        among(store.similar, store.thresholds.similar, arms),
        among(store.dissimilar, store.thresholds.dissimilar, arms),
    )
    return PairStore(len(arms), similar, dissimilar, thresholds)


def subgraph(graph: Adjacency, arms: NDArray[np.int64]) -> Adjacency:
    """Return the graph on some arms, numbered as they are listed; its rows ascend if `arms` do."""
    return adjacency_of_rows(*rows_among(graph.indptr, graph.indices, arms))


def with_epsilon(side: SideInformation, epsilon: float | None) -> SideInformation:
    """Return the same information with this epsilon; refuse one that its epsilon or thresholds contradict."""
    if epsilon is None:
        return side
    epsilon = checked_epsilon(epsilon)
    if side.store.thresholds is not None:
        raise InvalidInput(
            f"the side information has distinct thresholds, pair by pair; got epsilon={epsilon:g}; leave it "
            "out"
        )
    if side.epsilon is not None and side.epsilon != epsilon:
        raise InvalidInput(
            f"the side information has epsilon {side.epsilon:g}; got epsilon={epsilon:g}; leave it out"
        )
    same = SideInformation._of(side.store, side._names, epsilon, side.evidence)
    return same._with_origin(side._origin)


def with_known_epsilon(side: SideInformation, epsilon: float | None) -> SideInformation:
    """Return the information with this epsilon if it has neither epsilon nor thresholds, else unchanged."""
    return side if side.has_epsilon else with_epsilon(side, epsilon)
