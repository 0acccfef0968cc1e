"""The two ways to hold side information: explicit pairs, and windows seen through coins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel import over_blocks, require_memory
from lsdt.side_information.layouts import reveal_kernel as kernel
from lsdt.side_information.layouts.adjacency import (
    Adjacency,
    adjacency_of_rows,
    common_pair,
    frozen,
    two_adjacencies,
)
from lsdt.side_information.layouts.materialise import (
    BYTES_PER_PAIR,
    check_affordable,
    check_countable,
    relation_counts,
    write_out,
)
from lsdt.side_information.layouts.ranges import own_distances
from lsdt.side_information.layouts.reveal import Corrupt, Layer, Reveal, coin_layers
from lsdt.side_information.layouts.thresholds import (
    PairThresholds,
    Thresholds,
    at_pair,
    at_pairs,
    beside_rows,
    by_pair,
    check_ranges,
    thresholds_of_entries,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmNames
    from lsdt.side_information.layouts.ranges import PairRanges
    from lsdt.side_information.layouts.windows import Windows

# Empty arrays have the types of the other store's arrays, to avoid a second compilation.
_NOTHING, _NONE, _NO_STARTS = (
    np.zeros(0, np.int32),
    frozen(np.zeros(0, np.int32)),
    frozen(np.zeros(0, np.int64)),
)
_FEWER = "use fewer arms, a smaller epsilon, or reveal fewer relations"


def all_pairs(n_arms: int) -> int:
    """Return the number of unordered pairs of `n_arms` arms."""
    return n_arms * (n_arms - 1) // 2


@dataclass(frozen=True, eq=False)
class PairStore:
    """Relations as explicit pairs; ``dissimilar`` is None if every pair that is not similar is dissimilar.

    ``thresholds`` is None for ordinary information, which has one epsilon. With a threshold per pair both
    relations are listed, and a pair may be in both. ``ranges`` is None where no difference has a known range.
    """

    n_arms: int
    similar: Adjacency
    dissimilar: Adjacency | None
    thresholds: Thresholds | None = None
    ranges: PairRanges | None = None

    def with_ranges(self, ranges: PairRanges | None) -> PairStore:
        """Return the same pairs with these ranges."""
        return self if ranges is self.ranges else replace(self, ranges=ranges)

    @property
    def is_complete(self) -> bool:
        """Whether the relation of every pair is known."""
        return self.dissimilar is None

    @property
    def n_similar(self) -> int:
        """Number of similar pairs."""
        return self.similar.n_pairs

    @property
    def n_dissimilar(self) -> int:
        """Number of dissimilar pairs, listed or implied."""
        if self.dissimilar is None:
            return all_pairs(self.n_arms) - self.n_similar
        return self.dissimilar.n_pairs

    def relation(self, first: int, second: int) -> int:
        """Return 1, -1 or 0 for similar, dissimilar or unknown."""
        if self.similar.has(first, second):
            return 1
        return -1 if self.dissimilar is None or self.dissimilar.has(first, second) else 0

    def explicit(self) -> PairStore:
        """Return this store, whose pairs are explicit."""
        return self

    def listed_similar(self) -> Adjacency:
        """Return the similar pairs."""
        return self.similar

    def listed_dissimilar(self) -> Adjacency:
        """Return the dissimilar pairs; write them out if they are implied."""
        if self.dissimilar is not None:
            return self.dissimilar
        check_affordable(self.n_arms, 0, self.n_dissimilar, "complete information need not list them")
        return write_out(self.base(), coin_layers(()), self.n_arms, want_similar=False)[1]

    def with_layer(self, layer: Layer) -> PairStore:
        """Toss the coins of a layer for every relation, and return the store of what remains.

        Ranges are unchanged; see `reveal_ranges` and `corrupt_ranges`.
        """
        return self._with_layer(layer).with_ranges(self.ranges)

    def reveal_ranges(self, probability: float, seed: int) -> PairStore:
        """Keep each range with a probability, by the same coin as the pair's other relations."""
        if self.ranges is None:
            return self
        layers = coin_layers([Reveal(probability, probability, seed)])
        return self.with_ranges(
            self.ranges.select(kernel.relations_of_pairs(layers, self.ranges.pairs, 1) == 1)
        )

    def corrupt_ranges(self, layer: Corrupt, of: PairStore, epsilon: float | None) -> PairStore:
        """Return this store with the ranges of the store `of`, their sign reversed where the coin says so.

        A range that contradicts the relation of its pair in this store is dropped.
        """
        if of.ranges is None:
            return self
        coins = kernel.relations_of_pairs(coin_layers([layer]), of.ranges.pairs, 1)
        turned = of.ranges.turned(np.asarray(coins == -1))
        own = own_distances(turned, self, epsilon)
        return self.with_ranges(turned if own is None else turned.select(~(own.too_far | own.too_near)))

    def _with_layer(self, layer: Layer) -> PairStore:
        if self.dissimilar is None:
            expected = layer.expected_counts(self.n_similar, self.n_dissimilar)
            complete = isinstance(layer, Corrupt)
            n_listed = 0 if complete else expected[1]
            check_affordable(self.n_arms, expected[0], n_listed, "start from means to keep it implicit")
            coins = coin_layers((layer,))
            similar, dissimilar = write_out(self.base(), coins, self.n_arms, want_dissimilar=not complete)
            return known_store(self.n_arms, similar, None if complete else dissimilar)
        layers = coin_layers([layer])
        listed = [(self.similar.pairs(), 1), (self.dissimilar.pairs(), -1)]
        left = [(pairs, kernel.relations_of_pairs(layers, pairs, relation)) for pairs, relation in listed]

        def still(relation: int) -> NDArray[np.int32]:
            return np.concatenate([pairs[after == relation] for pairs, after in left])

        values = self.pair_thresholds()
        if values is None:
            return known_store(self.n_arms, *two_adjacencies(still(1), still(-1), self.n_arms))
        if isinstance(layer, Corrupt) and common_pair(self.similar, self.dissimilar) is not None:
            raise Unsupported(
                "a pair that is both similar and dissimilar, at a distance in a known range, has no opposite "
                "relation; corrupt information without such pairs"
            )
        kept = [
            np.concatenate([value[after == word] for value, (_, after) in zip(values, left, strict=True)])
            for word in (1, -1)
        ]
        return threshold_store(self.n_arms, still(1), still(-1), PairThresholds(*kept))

    def pair_thresholds(self) -> PairThresholds | None:
        """Return the thresholds pair by pair, or None for ordinary information."""
        if self.thresholds is None or self.dissimilar is None:
            return None
        return PairThresholds(
            by_pair(self.similar, self.thresholds.similar),
            by_pair(self.dissimilar, self.thresholds.dissimilar),
        )

    def range_of(self, first: int, second: int) -> tuple[float, float]:
        """Return ``(low, high)`` with ``low <= distance of the two means < high``, by their thresholds."""
        assert self.thresholds is not None
        assert self.dissimilar is not None
        below = at_pair(self.similar, self.thresholds.similar, first, second)
        least = at_pair(self.dissimilar, self.thresholds.dissimilar, first, second)
        return (0.0 if least is None else least, np.inf if below is None else below)

    def least_distances(self, pairs: NDArray[np.int32], limits: Thresholds) -> NDArray[np.float64]:
        """Return how far apart each pair is at least; NaN for a pair that is not dissimilar."""
        if self.dissimilar is not None:
            return at_pairs(self.dissimilar, limits.dissimilar, pairs, np.nan)
        near = at_pairs(self.similar, limits.similar, pairs, np.nan)
        return np.where(np.isnan(near), limits.dissimilar, np.nan)

    def with_one_epsilon(self) -> tuple[PairStore, float | None]:
        """Return an ordinary store and its epsilon if all thresholds are equal, else this store and None."""
        if self.thresholds is None or not self.thresholds.is_one:
            return self, None
        plain = known_store(self.n_arms, self.similar, self.dissimilar)
        return plain.with_ranges(self.ranges), self.thresholds.largest

    def base(self) -> kernel.CompleteBase:
        """Return the similar pairs as compiled code reads them; all other pairs count as dissimilar."""
        none = np.zeros(0)
        return kernel.CompleteBase(
            False,
            _NONE,
            _NOTHING,
            _NOTHING,
            _NONE,
            none,
            1.0,
            self.similar.indptr,
            self.similar.indices,
        )


@dataclass(frozen=True, eq=False)
class WindowStore:
    """Relations as windows over sorted means, seen through layers of coins; no pair is stored."""

    windows: Windows
    layers: tuple[Layer, ...] = ()
    thresholds: ClassVar[None] = None  # one epsilon, always
    ranges: ClassVar[None] = None

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.windows.order)

    @property
    def is_complete(self) -> bool:
        """Whether the relation of every pair is known (perhaps wrongly)."""
        return not any(isinstance(layer, Reveal) for layer in self.layers)

    @property
    def is_true(self) -> bool:
        """Whether every revealed relation agrees with the means."""
        return not any(isinstance(layer, Corrupt) for layer in self.layers)

    @cached_property
    def coins(self) -> kernel.CoinLayers:
        """The layers as compiled code reads them."""
        return coin_layers(self.layers)

    @cached_property
    def _counts(self) -> tuple[int, int]:
        if not self.layers:
            return self.windows.n_similar, all_pairs(self.n_arms) - self.windows.n_similar
        check_countable(self.n_arms, self._instead())
        similar, dissimilar = relation_counts(self.base(), self.coins, self.n_arms)
        return int(similar.sum()) // 2, int(dissimilar.sum()) // 2

    @property
    def n_similar(self) -> int:
        """Number of similar pairs, counted coin by coin when there are layers."""
        return self._counts[0]

    @property
    def n_dissimilar(self) -> int:
        """Number of dissimilar pairs, counted coin by coin when there are layers."""
        return self._counts[1]

    def expected_counts(self) -> tuple[float, float]:
        """Return the expected numbers of similar and dissimilar pairs (upper bounds if distance matters)."""
        similar: float = self.windows.n_similar
        dissimilar: float = all_pairs(self.n_arms) - self.windows.n_similar
        for layer in self.layers:
            similar, dissimilar = layer.expected_counts(similar, dissimilar)
        return similar, dissimilar

    def relation(self, first: int, second: int) -> int:
        """Return 1, -1 or 0 for similar, dissimilar or unknown."""
        windows = self.windows
        low, high = (windows.means[windows.position[arm]] for arm in (first, second))
        true = 1 if windows.are_similar(first, second) else -1
        distance = abs(high - low) / windows.epsilon
        return int(kernel.relation_of_pair(self.coins, true, distance, first, second))

    def explicit(self) -> PairStore:
        """Write the pairs out; refuse when they would not fit in memory."""
        if not self.layers:
            require_memory(
                self.windows.n_similar * BYTES_PER_PAIR,
                f"{self.windows.n_similar:,} similar pairs",
                "keep the information implicit",
            )
            return PairStore(self.n_arms, self.windows.adjacency(), None)
        similar, dissimilar = self.expected_counts()
        check_affordable(self.n_arms, similar, 0 if self.is_complete else dissimilar, self._instead())
        rows = write_out(self.base(), self.coins, self.n_arms, want_dissimilar=not self.is_complete)
        return known_store(self.n_arms, rows[0], None if self.is_complete else rows[1])

    def listed_similar(self) -> Adjacency:
        """Write the similar pairs out, and no others; refuse when they would not fit in memory."""
        expected = self.expected_counts()[0]
        require_memory(expected * BYTES_PER_PAIR, f"listing about {expected:.3g} similar pairs", _FEWER)
        if not self.layers:
            return self.windows.adjacency()
        if not self.is_true:  # a wrong relation may lie outside of all windows
            check_countable(self.n_arms, self._instead())
            return write_out(self.base(), self.coins, self.n_arms, want_dissimilar=False)[0]
        base, counts = self.base(), np.zeros(self.n_arms, np.int64)
        over_blocks(
            lambda first, last: kernel.count_in_windows(base, self.coins, first, last, counts), self.n_arms
        )
        starts = np.concatenate([[0], np.cumsum(counts)])
        similar = np.empty(starts[-1], np.int32)
        over_blocks(
            lambda first, last: kernel.write_in_windows(base, self.coins, first, last, starts, similar),
            self.n_arms,
        )
        return adjacency_of_rows(starts, similar)

    def listed_dissimilar(self) -> Adjacency:
        """Write the dissimilar pairs out; refuse when they would not fit in memory."""
        check_affordable(self.n_arms, 0, self.expected_counts()[1], self._instead())
        return write_out(self.base(), self.coins, self.n_arms, want_similar=False)[1]

    def _instead(self) -> str:
        if self.is_true:
            return "candidate_set works on implicit information without listing its pairs"
        return "information with wrong relations has no shortcut: use fewer arms, or reveal fewer relations"

    def with_layer(self, layer: Layer) -> WindowStore:
        """Add a layer to the recipe."""
        return WindowStore(self.windows, (*self.layers, layer))

    def same_recipe(self, other: WindowStore) -> bool:
        """Return whether the other store has the same means and the same layers."""
        mine, theirs = self.windows, other.windows
        return (
            self.layers == other.layers
            and mine.threshold == theirs.threshold
            and np.array_equal(mine.means, theirs.means)
            and np.array_equal(mine.order, theirs.order)
        )

    def base(self) -> kernel.CompleteBase:
        """Return the windows as compiled code reads them."""
        w = self.windows
        return kernel.CompleteBase(
            True,
            w.order,
            w.position,
            w.left_end,
            w.right_end,
            w.means_by_arm(),
            w.epsilon,
            _NO_STARTS,
            _NONE,
        )


Store: TypeAlias = PairStore | WindowStore


def threshold_store(
    n_arms: int,
    similar: NDArray[np.integer],
    dissimilar: NDArray[np.integer],
    values: PairThresholds,
    names: ArmNames | None = None,
) -> PairStore:
    """Join two lists of pairs with thresholds; with `names`, refuse a pair whose range is empty."""
    graphs = two_adjacencies(similar, dissimilar, n_arms)
    if not len(similar) and not len(dissimilar):
        return known_store(n_arms, *graphs)
    found = thresholds_of_entries(
        beside_rows(graphs[0], similar, values.similar, "similar"),
        beside_rows(graphs[1], dissimilar, values.dissimilar, "dissimilar"),
    )
    if names is not None:
        check_ranges(*graphs, found, names)
    return PairStore(n_arms, *graphs, found)


def pair_store(similar: Adjacency, dissimilar: Adjacency, names: ArmNames) -> PairStore:
    """Join two listed relations; refuse a pair in both. If all pairs are listed, the store is complete."""
    both = common_pair(similar, dissimilar)
    if both is not None:
        first, second = (names.label(arm) for arm in both)
        raise InvalidInput(
            f"the pair ({first!r}, {second!r}) is listed both as similar and as dissimilar; "
            "keep one of the two"
        )
    return known_store(names.n_arms, similar, dissimilar)


def known_store(n_arms: int, similar: Adjacency, dissimilar: Adjacency | None) -> PairStore:
    """Return the store of two relations; complete if `dissimilar` is None or lists all other pairs."""
    if dissimilar is not None and similar.n_pairs + dissimilar.n_pairs == all_pairs(n_arms):
        dissimilar = None
    return PairStore(n_arms, similar, dissimilar)


def same_relations(first: Store, second: Store) -> bool:
    """Return whether two stores hold the same relations: by their recipes if equal, else pair by pair."""
    if isinstance(first, WindowStore) and isinstance(second, WindowStore) and first.same_recipe(second):
        return True
    mine, theirs = first.explicit(), second.explicit()
    if not (_same_rows(mine.similar, theirs.similar) and _same_rows(mine.dissimilar, theirs.dissimilar)):
        return False
    if mine.ranges is not theirs.ranges and (mine.ranges is None or not mine.ranges.same_as(theirs.ranges)):
        return False
    if mine.thresholds is None or theirs.thresholds is None:
        return mine.thresholds is theirs.thresholds
    return all(map(np.array_equal, mine.thresholds, theirs.thresholds))


def _same_rows(first: Adjacency | None, second: Adjacency | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first.indptr, second.indptr) and np.array_equal(first.indices, second.indices)
