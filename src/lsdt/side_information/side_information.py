"""The value object that everything else starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.side_information import checks, exchange, files
from lsdt.side_information.adjacency import adjacency_of_pairs
from lsdt.side_information.arms import ArmId, ArmNames
from lsdt.side_information.pairs import index_pairs
from lsdt.side_information.revealing import Corrupt, Layer, Probability, reveal_layer
from lsdt.side_information.stores import PairStore, Store, WindowStore, pair_store, same_relations
from lsdt.side_information.windows import windows_of_means

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information.tables import ArmsAndPairs

_WORDS = {1: "similar", -1: "dissimilar", 0: None}


class SideInformation:
    """What is known about pairs of arms: similar (means closer than epsilon), dissimilar, or unknown.

    An immutable value. Pairs are unordered and repeated pairs count once.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 1.
    similar, dissimilar : array_like of shape (m, 2)
        Pairs of arms. Without `arm_ids`, and with string ids, integers are indices from 0; with integer
        ids, integers are ids.
    arm_ids : sequence of str or of int, optional
        Names that come back in every output.
    epsilon : float, optional
        The threshold between similar and dissimilar, where it is known. The candidate set does not need it.

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
    """

    __slots__ = ("_epsilon", "_evidence", "_names", "_store")

    _epsilon: float | None
    _evidence: Any
    _names: ArmNames
    _store: Store

    def __init__(
        self,
        n_arms: int,
        similar: Any = (),
        dissimilar: Any = (),
        arm_ids: Iterable[ArmId] | None = None,
        epsilon: float | None = None,
    ) -> None:
        n_arms = checks.checked_count(n_arms)
        names = ArmNames(n_arms, arm_ids)
        similar_graph = adjacency_of_pairs(index_pairs(similar, names, "similar"), n_arms)
        dissimilar_graph = adjacency_of_pairs(index_pairs(dissimilar, names, "dissimilar"), n_arms)
        self._fill(pair_store(similar_graph, dissimilar_graph, names), names, epsilon)

    def _fill(self, store: Store, names: ArmNames, epsilon: float | None, evidence: Any = None) -> None:
        checked = None if epsilon is None else checks.checked_epsilon(epsilon)
        for name, value in zip(self.__slots__, (checked, evidence, names, store), strict=True):
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
        """Build from pairs that are indices whatever the ids are."""
        names = ArmNames(checks.checked_count(found.n_arms), found.arm_ids)
        similar = adjacency_of_pairs(found.similar, found.n_arms)
        store = pair_store(similar, adjacency_of_pairs(found.dissimilar, found.n_arms), names)
        store = PairStore(found.n_arms, similar, None) if complete else store
        return cls._of(store, names, epsilon, evidence)

    def _with_recipe(self, threshold: float, layers: list[Layer]) -> SideInformation:
        """Return implicit information with exactly this threshold and these layers."""
        assert isinstance(self._store, WindowStore)
        windows = self._store.windows.with_threshold(threshold)
        return self._of(WindowStore(windows, tuple(layers)), self._names, self._epsilon)

    @classmethod
    def complete(
        cls,
        n_arms: int,
        similar: Any,
        arm_ids: Iterable[ArmId] | None = None,
        epsilon: float | None = None,
    ) -> SideInformation:
        """Complete information: every pair that is not listed as similar is dissimilar, and never stored.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation.complete(4, similar=[(0, 1), (1, 2), (2, 3)])
        >>> side.n_similar, side.n_dissimilar
        (3, 3)
        """
        n_arms = checks.checked_count(n_arms)
        names = ArmNames(n_arms, arm_ids)
        graph = adjacency_of_pairs(index_pairs(similar, names, "similar"), n_arms)
        return cls._of(PairStore(n_arms, graph, None), names, epsilon)

    @classmethod
    def from_means(
        cls,
        means: ArrayLike,
        epsilon: float,
        arm_ids: Iterable[ArmId] | None = None,
        tolerance: float = 1e-9,
    ) -> SideInformation:
        """Complete information from known means: similar when ``|mu_i - mu_j| < epsilon``.

        Held implicitly, as sorted means and windows: 16 bytes an arm, no pairs.

        Parameters
        ----------
        means : array_like
            One finite number per arm.
        epsilon : float
            The threshold, positive.
        arm_ids : sequence of str or of int, optional
            Names that come back in every output.
        tolerance : float
            Binary fractions cannot hold .1: in floats ``.3 - .2 < .1`` but not ``.2 - .1 < .1``. Distances
            that fall short of epsilon by at most ``tolerance * epsilon`` therefore count as epsilon, that
            is dissimilar. Integer means with an integer epsilon are compared exactly.

        Examples
        --------
        >>> import lsdt
        >>> side = lsdt.SideInformation.from_means([.1, .2, .3, .35], epsilon=.1)
        >>> side.similar_pairs().tolist()
        [[2, 3]]
        """
        epsilon = checks.checked_epsilon(epsilon)
        tolerance = checks.checked_tolerance(tolerance)
        windows = windows_of_means(means, epsilon, tolerance)
        return cls._of(WindowStore(windows), ArmNames(len(windows.order), arm_ids), epsilon)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        complete: bool | None = None,
        columns: Sequence[str] = files.COLUMNS,
    ) -> SideInformation:
        """Read a file that `save` wrote, or any CSV or Parquet file with columns ``a``, ``b``, ``relation``.

        ``relation`` is ``similar`` or ``dissimilar``; a row with an empty ``b`` names an arm that occurs in
        no pair. Arms are numbered in order of appearance in ``a``, then in ``b``; ids that are the integers
        0 to K - 1 are indices. With ``complete=True`` every pair that is not listed is dissimilar, and the
        column ``relation`` may be missing; by default the file itself says so, or the information is partial.
        `columns` are the names of the three columns in files that call them otherwise.
        """
        return files.load(cls, path, complete, columns)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        a: str = "a",
        b: str = "b",
        relation: str = "relation",
        complete: bool = False,
        epsilon: float | None = None,
    ) -> SideInformation:
        """Read pairs from any dataframe that narwhals knows: pandas, polars, pyarrow, DuckDB, ...

        The columns are those of `load`, under the names given.

        Examples
        --------
        >>> import lsdt, pandas as pd
        >>> frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "relation": ["similar", "dissimilar"]})
        >>> lsdt.SideInformation.from_frame(frame)
        SideInformation(3 arms, 1 similar pair, 1 dissimilar pair, partial)
        """
        return exchange.from_frame(cls, frame, a, b, relation, complete, epsilon)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        relation: str = "relation",
        complete: bool | None = None,
        epsilon: float | None = None,
    ) -> SideInformation:
        """Read a networkx graph whose edges carry ``relation="similar"`` or ``"dissimilar"``.

        With ``complete=True`` edges without that attribute are similar, and every pair without an edge is
        dissimilar. Nodes must be all strings or all ints. What is not said here is read off the graph's
        attributes ``complete`` and ``epsilon``, as `to_networkx` writes them.
        """
        return exchange.from_networkx(cls, graph, relation, complete, epsilon)

    @classmethod
    def from_scipy(
        cls,
        similar: Any,
        dissimilar: Any = None,
        complete: bool = False,
        arm_ids: Iterable[ArmId] | None = None,
        epsilon: float | None = None,
    ) -> SideInformation:
        """Read two square scipy sparse matrices whose non-zero entries are the pairs.

        An entry counts from either triangle. The diagonal of `similar` is ignored: an arm is similar to
        itself. With ``complete=True`` leave `dissimilar` out.
        """
        return exchange.from_scipy(cls, similar, dissimilar, complete, arm_ids, epsilon)

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
        """The threshold between similar and dissimilar, or None when it is not known."""
        return self._epsilon

    @property
    def evidence(self) -> Any:
        """What the relations rest on where a source tells (`lsdt.from_ratings`), else None; not saved."""
        return self._evidence

    @property
    def is_complete(self) -> bool:
        """Whether the relation of every pair is known."""
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
        """Return ``'similar'``, ``'dissimilar'``, or None when the relation of two arms is unknown."""
        arms = self.index(first), self.index(second)
        if arms[0] == arms[1]:
            raise InvalidInput(f"a relation needs two different arms; got {first!r} twice")
        return _WORDS[self._store.relation(*arms)]

    def label(self, arm: int) -> ArmId:
        """Return the id of the arm with this index, or the index itself when there are no ids."""
        return self._names.label(arm)

    def index(self, arm: ArmId) -> int:
        """Return the index of an arm given by id or index; with integer ids an int is an id."""
        return self._names.index(arm)

    def reveal(
        self, p_similar: Probability = 0.5, p_dissimilar: Probability = 0.5, seed: int = 0
    ) -> SideInformation:
        """Keep each relation independently with its probability; the others become unknown.

        Parameters
        ----------
        p_similar, p_dissimilar : float or callable
            Probabilities, or functions of the distance ``|mu_i - mu_j| / epsilon`` that return them (for
            information that knows its means). A function is read on a fine grid and interpolated.
        seed : int
            The coins of a seed do not depend on the probabilities: larger ones keep all that smaller ones
            kept. Revealing again with the same seed tosses the same coins.

        Examples
        --------
        >>> import lsdt
        >>> full = lsdt.SideInformation.from_means([.1, .2, .3, .4], epsilon=.15)
        >>> full.reveal(p_similar=1., p_dissimilar=0.)
        SideInformation(4 arms, implicit, partial, epsilon=0.15)
        >>> near = full.reveal(p_similar=lambda distance: 1 - distance, p_dissimilar=.5)
        """
        layer = reveal_layer(p_similar, p_dissimilar, seed)
        if layer.by_distance and not self.is_implicit:
            raise Unsupported(
                "a revealing probability that depends on the distance of the means needs information that "
                "knows its means; build it with SideInformation.from_means"
            )
        if layer.p_similar == layer.p_dissimilar == 1.0:
            return self
        return self._of(self._store.with_layer(layer), self._names, self._epsilon)

    def corrupt(self, q: float, seed: int = 0) -> SideInformation:
        """Flip each known relation independently with probability `q`: similar becomes dissimilar and back.

        As with `reveal`, the same seed tosses the same coins: corrupting twice with one seed flips back.

        Examples
        --------
        >>> import lsdt
        >>> wrong = lsdt.SideInformation.from_means([.1, .2, .3], epsilon=.15).corrupt(1.)
        >>> wrong.similar_pairs().tolist()
        [[0, 2]]
        """
        layer = Corrupt(checks.checked_share(q, "q"), checks.checked_seed(seed))
        if layer.share == 0.0:
            return self
        return self._of(self._store.with_layer(layer), self._names, self._epsilon)

    def explicit(self) -> SideInformation:
        """Return the same information with its pairs stored; `TooLarge` when they would not fit in memory."""
        return self._of(self._store.explicit(), self._names, self._epsilon)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a ``.csv`` or ``.parquet`` file: pairs, or the recipe when the information is implicit."""
        files.save(self, path)

    def to_networkx(self) -> Any:
        """Return a networkx graph: a node per arm, ``relation`` on every edge (similar only if complete)."""
        return exchange.to_networkx(self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"SideInformation is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"SideInformation is immutable; cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (SideInformation._of, (self._store, self._names, self._epsilon))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SideInformation):
            return NotImplemented
        return self._outline() == other._outline() and same_relations(self._store, other._store)

    def __hash__(self) -> int:
        return hash(self._outline())

    def _outline(self) -> tuple[Any, ...]:
        return self.n_arms, self.arm_ids, self._epsilon

    def __repr__(self) -> str:
        known = "implicit"
        if not self.is_implicit:
            known = (
                f"{counted(self.n_similar, 'similar pair')}, {counted(self.n_dissimilar, 'dissimilar pair')}"
            )
        kind = "complete" if self.is_complete else "partial"
        epsilon = "" if self._epsilon is None else f", epsilon={self._epsilon:g}"
        return f"SideInformation({counted(self.n_arms, 'arm')}, {known}, {kind}{epsilon})"
