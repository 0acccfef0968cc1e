"""Side information: the value that everything else starts from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import numpy as np

from lsdt._validation import (
    check_kind,
    checked_count,
    checked_epsilon,
    checked_list,
    checked_seed,
    checked_share,
)
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.side_information.arms import ArmId, ArmNames, index_pairs
from lsdt.side_information.layouts.adjacency import two_adjacencies
from lsdt.side_information.layouts.ranges import (
    WITHOUT,
    KnownRange,
    check_against_distances,
    checked_rows,
    join_ranges,
    pairs_at,
)
from lsdt.side_information.layouts.reveal import Corrupt, Layer, Probability, reveal_layer
from lsdt.side_information.layouts.stores import (
    PairStore,
    Store,
    WindowStore,
    pair_store,
    same_relations,
    threshold_store,
)
from lsdt.side_information.layouts.thresholds import DISTINCT, is_distinct, limits_of, thresholds_of_epsilon
from lsdt.side_information.origin import Origin, total_risk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information.arms import ArmsAndPairs
    from lsdt.side_information.beaten import Beaten
    from lsdt.side_information.layouts.ranges import PairRanges
    from lsdt.side_information.layouts.thresholds import PairThresholds, Thresholds
    from lsdt.side_information.origin import StatedRisk

P = ParamSpec("P")
_WORDS = {1: "similar", -1: "dissimilar", 0: None}


def _keep_origin(
    make: Callable[Concatenate[SideInformation, P], SideInformation],
) -> Callable[Concatenate[SideInformation, P], SideInformation]:
    """Decorate a method so that what it returns keeps the origin of `self`."""

    @wraps(make)
    def keeping(self: SideInformation, /, *args: P.args, **kwargs: P.kwargs) -> SideInformation:
        return make(self, *args, **kwargs)._with_origin(self._origin)

    return keeping


class SideInformation:
    """What is known about pairs of arms: similar (means closer than epsilon), dissimilar, better, a range.

    An immutable value. Similar and dissimilar pairs are unordered, and repeated pairs count once.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 1.
    similar, dissimilar : array_like of shape (m, 2)
        Pairs of arms. Without `arm_ids`, and with string ids, integers are indices from 0; with integer
        ids, integers are ids.
    arm_ids : sequence of str or of int, optional
        Names that come back in every output.
    epsilon : float, tuple or array_like, optional
        The threshold between similar and dissimilar, where it is known. The candidate set does not need it.
        Or distinct thresholds: a tuple ``(similar, dissimilar)``, each a number or one number for every
        listed pair, or a symmetric array with the threshold of every pair of arms. Similar arms are less
        than their threshold apart, dissimilar ones at least theirs; if a pair is listed twice, both
        thresholds hold. A pair may then be in both lists: its distance lies in a range. If all thresholds
        are equal, they are one epsilon.
    better : array_like of shape (m, 2)
        Pairs whose first arm has the strictly larger mean.
    ranges : sequence of (a, b, low, high)
        Pairs with ``low <= mean of a - mean of b <= high``, in the units of rewards. Either end may be open:
        None or infinite. All statements about a pair hold together, whichever arm they name first.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(
    ...     3, similar=[("tea", "coffee"), ("coffee", "cocoa")], dissimilar=[("tea", "cocoa")],
    ...     arm_ids=["tea", "coffee", "cocoa"],
    ... )
    >>> side.relation("cocoa", "tea")
    'dissimilar'
    >>> lsdt.candidate_set(side).arm_ids
    ['tea', 'cocoa']
    >>> lsdt.SideInformation(3, better=[(0, 1)], ranges=[(1, 2, .05, None)])
    SideInformation(3 arms, 0 similar pairs, 0 dissimilar pairs, 1 better pair, 1 range, partial)
    """

    __slots__ = ("_epsilon", "_evidence", "_names", "_origin", "_store")

    _epsilon: float | None
    _evidence: Any
    _names: ArmNames
    _origin: Origin
    _store: Store

    def __init__(
        self,
        n_arms: int,
        similar: Any = (),
        dissimilar: Any = (),
        arm_ids: Iterable[ArmId] | None = None,
        epsilon: float | tuple[ArrayLike, ArrayLike] | ArrayLike | None = None,
        better: Any = (),
        ranges: Any = (),
    ) -> None:
        n_arms = checked_count(n_arms)
        names = ArmNames(n_arms, arm_ids)
        known = join_ranges(index_pairs(better, names, "better"), *checked_rows(ranges, names), names)
        near, apart = index_pairs(similar, names, "similar"), index_pairs(dissimilar, names, "dissimilar")
        if is_distinct(epsilon):
            values = thresholds_of_epsilon(epsilon, near, apart, names)
            store, epsilon = threshold_store(n_arms, near, apart, values, names), None
        else:
            store = pair_store(*two_adjacencies(near, apart, n_arms), names)
        self._fill(store.with_ranges(known), names, epsilon)  # type: ignore[arg-type]
        self._check_ranges()

    def _check_ranges(self) -> None:
        """Refuse a range that contradicts the known distance of its pair."""
        if isinstance(self._store, PairStore) and self._store.ranges is not None:
            check_against_distances(self._store.ranges, self._store, self._epsilon, self._names)

    def _fill(self, store: Store, names: ArmNames, epsilon: float | None, evidence: Any = None) -> None:
        if store.thresholds is not None:
            store, epsilon = store.with_one_epsilon()
        checked = None if epsilon is None else checked_epsilon(epsilon)
        origin = Origin(
            scale=getattr(evidence, "scale", None),
            fingerprint=getattr(evidence, "fingerprint", ()),
            risks=getattr(evidence, "risks", ()),
        )
        for name, value in zip(self.__slots__, (checked, evidence, names, origin, store), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def _of(
        cls, store: Store, names: ArmNames, epsilon: float | None, evidence: Any = None
    ) -> SideInformation:
        side = cls.__new__(cls)
        side._fill(store, names, epsilon, evidence)
        return side

    @classmethod
    def _from_indices(
        cls, found: ArmsAndPairs, complete: bool, epsilon: float | None, evidence: Any = None
    ) -> SideInformation:
        """Build from pairs of indices, which are never read as ids."""
        names = ArmNames(checked_count(found.n_arms), found.arm_ids)
        known = None if found.ranges is None else join_ranges(*found.ranges, names)
        if found.thresholds is not None:
            if complete or epsilon is not None:
                what = "complete information has one epsilon" if complete else f"got epsilon={epsilon!r} too"
                raise InvalidInput(
                    f"every pair has a threshold of its own, and {what}; leave one of them out"
                )
            values = thresholds_of_epsilon(tuple(found.thresholds), found.similar, found.dissimilar, names)
            store = threshold_store(found.n_arms, found.similar, found.dissimilar, values, names)
            epsilon = None
        else:
            graphs = two_adjacencies(found.similar, found.dissimilar, found.n_arms)
            store = pair_store(*graphs, names)
            store = PairStore(found.n_arms, graphs[0], None) if complete else store
        side = cls._of(store.with_ranges(known), names, epsilon, evidence)
        side._check_ranges()
        return side

    def _with_recipe(self, threshold: float, layers: list[Layer]) -> SideInformation:
        """Return implicit information with exactly this threshold and these layers."""
        assert isinstance(self._store, WindowStore)
        windows = self._store.windows.with_threshold(threshold)
        return self._of(WindowStore(windows, tuple(layers)), self._names, self._epsilon)

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return self._names.n_arms

    @property
    def arm_ids(self) -> tuple[ArmId, ...] | None:
        """Ids of the arms, or None when they have only indices."""
        return self._names.ids

    @property
    def epsilon(self) -> float | None:
        """The one threshold between similar and dissimilar; None if it is not known, or not the same for all.

        See `thresholds`.
        """
        return self._epsilon

    @property
    def thresholds(self) -> PairThresholds | None:
        """Distinct thresholds, ordered as `similar_pairs` and `dissimilar_pairs`, or None.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, [(0, 1)], [(0, 1), (1, 2)], epsilon=(.3, [.1, .2]))
        >>> side.thresholds.similar.tolist(), side.thresholds.dissimilar.tolist()
        ([0.3], [0.1, 0.2])
        >>> side.bounds(0, 1)
        (0.1, 0.3)
        """
        return self._store.pair_thresholds() if isinstance(self._store, PairStore) else None

    @property
    def has_epsilon(self) -> bool:
        """Whether it is known how near similar arms are: by one epsilon, or by thresholds."""
        return self._epsilon is not None or self._store.thresholds is not None

    @property
    def limits(self) -> Thresholds:
        """What similar arms are nearer than, and how far apart dissimilar arms are at least.

        One number for all pairs of a relation, or one for each entry of its rows in `store`; 1, that is in
        epsilons, if epsilon is unknown.

        Examples
        --------
        >>> import lsdt
        >>> lsdt.from_means([.1, .2, .4], epsilon=.15).limits
        Thresholds(similar=array([0.15]), dissimilar=array([0.15]))
        """
        return limits_of(self._store.thresholds, self._epsilon)

    @property
    def ranges(self) -> PairRanges | None:
        """Ranges of signed differences of means, pair by pair; None if there are none."""
        return self._store.ranges

    @property
    def evidence(self) -> Any:
        """What the relations rest on, if their source says so (as `lsdt.from_ratings` does).

        It is not saved; what it says of the probability of an error is, see `risks`.

        A subset restricts evidence from features or groups to its arms; any other still covers all arms.
        """
        return self._evidence

    @property
    def scale(self) -> tuple[float, float] | None:
        """The ends of the scale of the ratings it comes from; None if it does not come from ratings.

        Epsilon is then a share of that scale: with ratings from 1 to 5, 0.1 is 0.4 of a rating.

        Examples
        --------
        >>> import lsdt
        >>> log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5)
        >>> side = lsdt.from_ratings(log, epsilon=.2)
        >>> side.scale, side.subset([0, 1, 2]).scale
        ((1.0, 5.0), (1.0, 5.0))
        """
        return self._origin.scale

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Hashes of the ratings it comes from, used to notice a prior made from the same ratings.

        Empty if it does not come from ratings. They reveal neither who rated nor what.

        Examples
        --------
        >>> import lsdt
        >>> log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5)
        >>> side = lsdt.from_ratings(log)
        >>> 0 < len(side.fingerprint) <= 32, lsdt.SideInformation(3).fingerprint
        (True, ())
        """
        return self._origin.fingerprint

    @property
    def beaten(self) -> Beaten | None:
        """Arms that were beaten in a log, so that they are not candidates; None if there are none.

        They are not relations: see `lsdt.side_information.Beaten`.

        Examples
        --------
        >>> import lsdt
        >>> log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5)
        >>> side = lsdt.from_ratings(log)
        >>> side.beaten, lsdt.candidate_set(side).arm_ids
        (Beaten(5 arms, risk 0.05), [2])
        """
        return self._origin.beaten

    @property
    def risks(self) -> tuple[StatedRisk, ...]:
        """What may be wrong, and how probable that is, as far as the sources say so; empty if none does.

        The probabilities add up (`risk`). Relations of sources that state no risk are assumed to be right.

        Examples
        --------
        >>> import lsdt
        >>> rows = {"arm": ["a", "b"], "successes": [30, 80], "trials": [200, 200]}
        >>> past, size = lsdt.from_experiments(rows, confidence=.99), lsdt.from_order(["a", "b"])
        >>> lsdt.merge([past, size]).risks
        (StatedRisk(what='a range from past experiments is wrong', risk=0.01),)
        """
        return self._origin.risks_for(1)

    def risks_for(self, top: int | None) -> tuple[StatedRisk, ...]:
        """Return `risks` where the best `top` arms are asked for; None counts no beaten arms."""
        return self._origin.risks_for(top)

    @property
    def risk(self) -> float | None:
        """The probability, at most, that anything is wrong: the sum of `risks`; None if no source states one.

        Examples
        --------
        >>> import lsdt
        >>> rows = [("tea", "mate", "tea")] * 18 + [("tea", "mate", "mate")] * 2
        >>> lsdt.from_comparisons(rows).risk, lsdt.from_order(["mate", "tea"]).risk
        (0.05, None)
        """
        return total_risk(self.risks) if self.risks else None

    def _with_origin(self, origin: Origin) -> SideInformation:
        """Return the same relations with another origin."""
        if origin is self._origin:
            return self
        side = self._of(self._store, self._names, self._epsilon, self._evidence)
        object.__setattr__(side, "_origin", origin)
        return side

    @property
    def is_complete(self) -> bool:
        """Whether the relation of every pair is known, at one epsilon.

        Always False with distinct thresholds: complete information is a unit interval graph, these are not.
        """
        return self._store.is_complete

    @property
    def is_implicit(self) -> bool:
        """Whether pairs are computed from means when needed instead of being stored."""
        return isinstance(self._store, WindowStore)

    @property
    def n_similar(self) -> int:
        """Number of similar pairs."""
        return self._store.n_similar

    @property
    def n_dissimilar(self) -> int:
        """Number of dissimilar pairs, listed or implied."""
        return self._store.n_dissimilar

    @property
    def store(self) -> Store:
        """The arrays behind this value, for compiled code inside the package."""
        return self._store

    def similar_pairs(self) -> NDArray[np.int32]:
        """Return the similar pairs as indices, ``(m, 2)``, smaller arm first, ascending."""
        return self._store.explicit().similar.pairs()

    def dissimilar_pairs(self) -> NDArray[np.int32]:
        """Return the dissimilar pairs as indices; raise `TooLarge` when they would not fit in memory."""
        return self._store.listed_dissimilar().pairs()

    def relation(self, first: ArmId, second: ArmId) -> str | None:
        """Return the relation of two arms in a word, or None when it is unknown.

        ``'similar'`` or ``'dissimilar'``; for a pair that is neither, ``'better'`` if the mean of the first
        is known to be the larger, ``'worse'`` if the smaller, else ``'range'``. A pair can be several at
        once: `bounds` and `difference` say more.
        """
        arms = self._two_arms(first, second)
        word, known = _WORDS[self._store.relation(*arms)], self.range_at(*arms)
        if word is not None or not known.is_known:
            return word
        if known.low > 0.0 or known.strict_low:
            return "better"
        return "worse" if known.high < 0.0 or known.strict_high else "range"

    def _two_arms(self, first: ArmId, second: ArmId) -> tuple[int, int]:
        arms = self.index(first), self.index(second)
        if arms[0] == arms[1]:
            raise InvalidInput(f"a relation needs two different arms; got {first!r} twice")
        return arms

    def difference(self, first: ArmId, second: ArmId) -> tuple[float, float]:
        """Return the smallest and largest possible difference: the mean of `first` minus that of `second`.

        Only what is stated about this pair counts: its range and, for a similar pair with a known
        threshold, how far apart the two can be. Infinite where nothing is known.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, similar=[(0, 1)], epsilon=.1, ranges=[(0, 1, .05, None)])
        >>> side.difference(0, 1), side.difference(1, 0), side.difference(0, 2)
        ((0.05, 0.1), (-0.1, -0.05), (-inf, inf))
        """
        arms = self._two_arms(first, second)
        known, apart = self.range_at(*arms), self.distance_at(*arms)[1] if self.has_epsilon else math.inf
        return max(known.low, -apart), min(known.high, apart)

    def bounds(self, first: ArmId, second: ArmId) -> tuple[float, float]:
        """Return ``(low, high)`` with ``low <= distance of the two means < high``, by their relation.

        Ranges are ignored; see `difference`.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)], epsilon=.1)
        >>> side.bounds(0, 1), side.bounds(1, 2), side.bounds(0, 2)
        ((0.0, 0.1), (0.1, inf), (0.0, inf))
        """
        found = self.distance_at(*self._two_arms(first, second))
        if not self.has_epsilon and found != (0.0, math.inf):
            raise InvalidInput("bounds are in the units of rewards; give the side information an epsilon")
        return found

    def distance_at(self, first: int, second: int) -> tuple[float, float]:
        """Return the `bounds` of two arms given by index; in epsilons if epsilon is unknown."""
        if self._store.thresholds is not None:
            return self._store.range_of(first, second)
        epsilon = 1.0 if self._epsilon is None else self._epsilon
        known = {1: (0.0, epsilon), -1: (epsilon, math.inf), 0: (0.0, math.inf)}
        return known[self._store.relation(first, second)]

    def range_at(self, first: int, second: int) -> KnownRange:
        """Return what `ranges` says about the mean of one arm minus that of another, given by index."""
        return KnownRange() if self._store.ranges is None else self._store.ranges.at(first, second)

    @property
    def titles(self) -> dict[ArmId, str] | None:
        """Titles of arms for display, by id (by index when there are no ids); None if there are none."""
        if self._names.titles is None:
            return None
        return {self.label(arm): title for arm, title in enumerate(self._names.titles) if title}

    def with_titles(self, titles: Mapping[Any, str]) -> SideInformation:
        """Return the same information with titles, which explanations, tables and plots show beside ids.

        Parameters
        ----------
        titles : mapping
            Titles by id, or by the text of an id, as `lsdt.ratings.read_titles` returns them; titles of
            other arms are ignored.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, [(7, 8), (8, 9)], [(7, 9)], arm_ids=[7, 8, 9])
        >>> named = side.with_titles({"7": "Alien", "8": "Brazil"})
        >>> print(lsdt.candidate_set(named).explain(8).text.split(",")[0])
        arm 'Brazil [8]' cannot be the best: it is similar to 'Alien [7]' and '9'
        >>> named.titles, named == side
        ({7: 'Alien', 8: 'Brazil'}, True)
        """
        check_kind(titles, Mapping, "titles are a mapping from ids to titles")
        labels = [self.label(arm) for arm in range(self.n_arms)]
        found = tuple(titles.get(label, titles.get(str(label))) for label in labels)
        for label, title in zip(labels, found, strict=True):
            if not (title is None or isinstance(title, str)):
                raise InvalidInput(f"the title of {label!r} must be text; got {title!r}")
        if titles and not any(found):
            few, others = (", ".join(repr(name) for name in list(names)[:3]) for names in (labels, titles))
            raise InvalidInput(f"no arm has a title: arms are {few}, ..., titles are of {others}, ...")
        return self._with_names(ArmNames(self.n_arms, self.arm_ids, found if any(found) else None))

    def _with_names(self, names: ArmNames) -> SideInformation:
        side = self._of(self._store, names, self._epsilon, self._evidence)
        return side._with_origin(self._origin)

    def shown(self) -> SideInformation:
        """Return the same information with arms named by title and id, for display."""
        if self._names.titles is None:
            return self
        return self._with_names(ArmNames(self.n_arms, [self.show(arm) for arm in range(self.n_arms)]))

    def show(self, arm: int) -> str:
        """Return the title and the id of the arm with this index, or the id alone where it has no title."""
        return self._names.show(arm)

    def label(self, arm: int) -> ArmId:
        """Return the id of the arm with this index, or the index itself when there are no ids."""
        return self._names.label(arm)

    def index(self, arm: ArmId) -> int:
        """Return the index of an arm given by id or index; with integer ids an int is an id."""
        return self._names.index(arm)

    @_keep_origin
    def reveal(
        self,
        p_similar: Probability = 0.5,
        p_dissimilar: Probability = 0.5,
        seed: int = 0,
        p_range: float = 1.0,
    ) -> SideInformation:
        """Keep each relation independently with its probability; the others become unknown.

        Parameters
        ----------
        p_similar, p_dissimilar : float or callable
            Probabilities, or functions of the distance ``|mu_i - mu_j| / epsilon`` that return them (for
            information that knows its means). A function is read on a fine grid and interpolated.
        seed : int
            The coins of a seed do not depend on the probabilities: larger probabilities keep all that smaller
            ones keep. Revealing again with the same seed tosses the same coins.
        p_range : float
            The probability of keeping what `better` and `ranges` say about a pair; by default all is kept.
            The coin is the one of the pair's similar or dissimilar relation, if it has one.

        Examples
        --------
        >>> import lsdt
        >>> full = lsdt.from_means([.1, .2, .3, .4], epsilon=.15)
        >>> full.reveal(p_similar=1., p_dissimilar=0.)
        SideInformation(4 arms, implicit, partial, epsilon=0.15)
        >>> near = full.reveal(p_similar=lambda distance: 1 - distance, p_dissimilar=.5)
        """
        layer = reveal_layer(p_similar, p_dissimilar, seed)
        if layer.by_distance and not self.is_implicit:
            raise Unsupported(
                "a revealing probability that depends on the distance of the means needs information that "
                "knows its means; build it with lsdt.from_means"
            )
        p_range = checked_share(p_range, "p_range")
        store = self._store
        if isinstance(store, PairStore) and p_range < 1.0:
            store = store.reveal_ranges(p_range, layer.seed)
        if not layer.p_similar == layer.p_dissimilar == 1.0:
            store = store.with_layer(layer)
        return self if store is self._store else self._of(store, self._names, self._epsilon)

    def without_ranges(self, epsilon: float | None = None) -> SideInformation:
        """Return the information without ranges; those that imply a similar or dissimilar pair become one.

        A range inside (-epsilon, epsilon) makes a similar pair, one outside a dissimilar pair. Other ranges
        are dropped, and so is the knowledge of which arm of a pair is better.

        Parameters
        ----------
        epsilon : float, optional
            The threshold between similar and dissimilar, where the information has none.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation(3, ranges=[(0, 1, -.1, .1), (0, 2, .2, None), (1, 2, 0, .3)])
        >>> side.without_ranges(epsilon=.2)
        SideInformation(3 arms, 1 similar pair, 1 dissimilar pair, partial, epsilon=0.2)
        """
        if self._store.thresholds is not None:
            raise Unsupported(f"reading ranges as pairs {DISTINCT}; {WITHOUT}")
        if epsilon is not None and self._epsilon is not None and checked_epsilon(epsilon) != self._epsilon:
            raise InvalidInput(
                f"the side information has epsilon {self._epsilon:g}, at which its ranges are read; got "
                f"{epsilon:g}, leave it out"
            )
        epsilon = self._epsilon if epsilon is None else checked_epsilon(epsilon)
        if self._store.ranges is None:
            same = self._of(self._store, self._names, epsilon)
            return same._with_origin(self._origin)
        if epsilon is None:
            raise InvalidInput(
                "whether a range makes a similar or a dissimilar pair depends on epsilon; give one. "
                f"{WITHOUT}, whatever they say"
            )
        read = self._with_ranges_read(epsilon)
        return read._with_ranges(None)

    def _with_ranges(self, ranges: PairRanges | None) -> SideInformation:
        """Return the same similar and dissimilar pairs with these ranges."""
        assert isinstance(self._store, PairStore)
        side = self._of(self._store.with_ranges(ranges), self._names, self._epsilon)
        return side._with_origin(self._origin)

    def _with_ranges_read(self, epsilon: float) -> SideInformation:
        """Return the information with its ranges, and also the pairs that they imply at this epsilon."""
        store = self._store
        assert isinstance(store, PairStore)
        assert store.ranges is not None
        if store.dissimilar is not None:
            near, far = pairs_at(store.ranges, epsilon)
            similar, dissimilar = two_adjacencies(
                np.concatenate([store.similar.pairs(), near]),
                np.concatenate([store.dissimilar.pairs(), far]),
                store.n_arms,
            )
            store = pair_store(similar, dissimilar, self._names).with_ranges(store.ranges)
        return self._of(store, self._names, epsilon, self._evidence)._with_origin(self._origin)

    @_keep_origin
    def corrupt(self, q: float, seed: int = 0) -> SideInformation:
        """Flip each known relation independently with probability `q`: similar becomes dissimilar and back.

        A better pair or a range changes its sign: the other arm becomes better by as much. All relations of
        a pair share one coin. A range that contradicts the flipped relation of its pair is dropped.

        As with `reveal`, the same seed tosses the same coins: corrupting twice with the same `q` and seed
        flips back.

        Examples
        --------
        >>> import lsdt
        >>> wrong = lsdt.from_means([.1, .2, .3], epsilon=.15).corrupt(1.)
        >>> wrong.similar_pairs().tolist()
        [[0, 2]]
        >>> lsdt.SideInformation(2, ranges=[(0, 1, .1, .3)]).corrupt(1.).difference(0, 1)
        (-0.3, -0.1)
        """
        layer = Corrupt(checked_share(q, "q"), checked_seed(seed))
        if layer.share == 0.0:
            return self
        store = self._store.with_layer(layer)
        if isinstance(store, PairStore) and isinstance(self._store, PairStore):
            store = store.corrupt_ranges(layer, self._store, self._epsilon)
        return self._of(store, self._names, self._epsilon)

    @_keep_origin
    def explicit(self) -> SideInformation:
        """Return the same information with its pairs stored; `TooLarge` when they would not fit in memory."""
        return self._of(self._store.explicit(), self._names, self._epsilon, self._evidence)

    def subset(self, arms: Iterable[ArmId]) -> SideInformation:
        """Return the relations among some of the arms.

        Parameters
        ----------
        arms : iterable of str or of int
            The arms to keep, by id or by index; with integer ids an int is an id. They keep their order;
            without ids they are renumbered from 0.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.from_means([.1, .2, .3, .4], epsilon=.15, arm_ids=["a", "b", "c", "d"])
        >>> side.subset(["d", "b", "c"]).arm_ids
        ('b', 'c', 'd')
        """
        from lsdt.side_information.layouts.subset import subset

        kept = sorted({self.index(arm) for arm in checked_list(arms, "arms", "arms")})
        if not kept:
            raise InvalidInput("arms must be a list of at least one arm; got none")
        return subset(self, np.array(kept, np.int64))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a ``.csv`` or ``.parquet`` file: pairs, or the recipe when the information is implicit.

        Examples
        --------
        >>> import lsdt, tempfile
        >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     side.save(f"{folder}/pairs.csv")
        ...     lsdt.load(f"{folder}/pairs.csv") == side
        True
        """
        from lsdt.side_information.io import files

        files.save(self, path)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per known pair: ``a``, ``b``, ``relation``, and ``threshold`` if distinct.

        Where there are ranges, ``low`` and ``high`` are their ends, empty where open; a pair with several
        relations has several rows.

        `lsdt.from_frame` reads it back. For complete information only the similar pairs are listed, and an
        arm that is in no listed pair has its own row with an empty ``b``.

        Examples
        --------
        >>> import lsdt
        >>> lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)]).to_frame()
           a  b    relation
        0  0  1     similar
        1  1  2  dissimilar
        """
        from lsdt.side_information.io import convert

        return convert.to_frame(self)

    def to_networkx(self) -> Any:
        """Return a networkx graph: a node per arm, ``relation`` on every edge (similar only if complete).

        Edges carry ``threshold`` if distinct; if a pair has both relations, the graph is a MultiGraph.
        Information with ranges is refused: edges have no direction.

        Examples
        --------
        >>> import lsdt
        >>> graph = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)]).to_networkx()
        >>> sorted(graph.edges(data="relation"))
        [(0, 1, 'similar'), (1, 2, 'dissimilar')]
        """
        from lsdt.side_information.io import convert

        return convert.to_networkx(self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"SideInformation is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"SideInformation is immutable; cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (self._store, self._names, self._epsilon, self._origin))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SideInformation):
            return NotImplemented
        return self._outline() == other._outline() and same_relations(self._store, other._store)

    def __hash__(self) -> int:
        return hash(self._outline())

    def _outline(self) -> tuple[Any, ...]:
        return self.n_arms, self.arm_ids, self._epsilon, self.beaten

    def __repr__(self) -> str:
        known = "implicit"
        if not self.is_implicit:
            known = (
                f"{counted(self.n_similar, 'similar pair')}, {counted(self.n_dissimilar, 'dissimilar pair')}"
            )
        if self.ranges is not None:
            known += self.ranges.in_words
        if self.beaten is not None:
            known += f", {int(self.beaten.is_out(self.n_arms).sum()):,} beaten"
        kind = "complete" if self.is_complete else "partial"
        epsilon = "" if self._epsilon is None else f", epsilon={self._epsilon:g}"
        own = self._store.thresholds
        if own is not None:
            epsilon = f", thresholds {own.smallest:g} to {own.largest:g}"
        return f"SideInformation({counted(self.n_arms, 'arm')}, {known}, {kind}{epsilon})"

    def _repr_html_(self) -> str:
        from lsdt.side_information.card import side_information_card

        return side_information_card(self)


def _unpickled(store: Store, names: ArmNames, epsilon: float | None, origin: Origin) -> SideInformation:
    return SideInformation._of(store, names, epsilon)._with_origin(origin)
