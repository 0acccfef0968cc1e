"""Side information from and to the objects of other libraries: dataframes, networkx, scipy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lsdt.errors import InvalidInput, MissingDependency, suggest
from lsdt.side_information.tables import RELATIONS, ArmsAndPairs, arms_and_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId
    from lsdt.side_information.side_information import SideInformation


def from_frame(
    cls: type[SideInformation],
    frame: Any,
    a: str,
    b: str,
    relation: str,
    complete: bool,
    epsilon: float | None,
) -> SideInformation:
    """See `SideInformation.from_frame`."""
    import narwhals as nw

    if not all(isinstance(name, str) for name in (a, b, relation)) or len({a, b, relation}) < 3:
        raise InvalidInput(
            f"a, b and relation must be three different columns; got {a!r}, {b!r}, {relation!r}"
        )
    try:
        native = nw.from_native(frame)
    except TypeError:
        raise InvalidInput(
            f"from_frame takes a dataframe (pandas, polars, pyarrow, DuckDB, ...); got {type(frame).__name__}"
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise InvalidInput(f"the frame cannot be read as pairs of arms: {error}") from None
    try:
        found = _frame_pairs(native, a, b, relation, complete)
    except (nw.exceptions.NarwhalsError, pa.ArrowException, ValueError, TypeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"the frame cannot be read as pairs of arms: {error}") from None
    return cls._from_indices(found, complete, epsilon)


def _frame_pairs(native: Any, a: str, b: str, relation: str, complete: bool) -> ArmsAndPairs:
    names = native.collect_schema().names()
    has_relation = relation in names
    wanted = [a, b] + ([relation] if has_relation or not complete else [])
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InvalidInput(f"the frame lacks the columns {missing}; found {names}")
    selected = native.select(wanted)
    table = (selected.collect() if hasattr(selected, "collect") else selected).to_arrow()
    return arms_and_pairs(
        table.column(a),
        table.column(b),
        table.column(relation) if has_relation else None,
        place=lambda row: f"the row at position {row} of the frame",
        names=(a, b),
    )


def from_networkx(
    cls: type[SideInformation], graph: Any, relation: str, complete: bool | None, epsilon: float | None
) -> SideInformation:
    """See `SideInformation.from_networkx`."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise InvalidInput(f"from_networkx takes a networkx graph; got {type(graph).__name__}")
    if complete is None:
        complete = graph.graph.get("complete", False)
    if not isinstance(complete, bool):
        raise InvalidInput(f"complete must be True or False; got {complete!r}")
    if epsilon is None:
        epsilon = graph.graph.get("epsilon")
    nodes = list(graph.nodes)
    index = {node: arm for arm, node in enumerate(nodes)}
    pairs: dict[str, list[tuple[int, int]]] = {word: [] for word in RELATIONS}
    for first, second, word in graph.edges(data=relation):
        if word is None and complete:
            word = "similar"
        if not isinstance(word, str) or word not in pairs:
            has = "no relation" if word is None else f"the relation {word!r}"
            raise InvalidInput(
                f"the edge ({first!r}, {second!r}) has {has}; its attribute {relation!r} must be "
                f"'similar' or 'dissimilar'{suggest(str(word), RELATIONS)}"
            )
        if first == second:
            raise InvalidInput(f"node {first!r} has an edge to itself; a relation needs two different arms")
        pairs[word].append((index[first], index[second]))
    plain = nodes == list(range(len(nodes)))
    found = ArmsAndPairs(
        len(nodes),
        None if plain else nodes,
        _two_columns(pairs["similar"]),
        _two_columns(pairs["dissimilar"]),
    )
    return cls._from_indices(found, complete, epsilon)


def to_networkx(side: SideInformation) -> Any:
    """See `SideInformation.to_networkx`."""
    try:
        import networkx as nx
    except ImportError:
        raise MissingDependency(
            "to_networkx needs the package networkx; install it with: pip install 'lsdt[networkx]'"
        ) from None
    graph = nx.Graph(complete=side.is_complete)
    if side.epsilon is not None:
        graph.graph["epsilon"] = side.epsilon
    graph.add_nodes_from(side.label(arm) for arm in range(side.n_arms))
    store = side.store.explicit()
    for word, relation in zip(RELATIONS, (store.similar, store.dissimilar), strict=True):
        if relation is not None:
            named = ((side.label(a), side.label(b)) for a, b in relation.pairs().tolist())
            graph.add_edges_from(named, relation=word)
    return graph


def from_scipy(
    cls: type[SideInformation],
    similar: Any,
    dissimilar: Any,
    complete: bool,
    arm_ids: Iterable[ArmId] | None,
    epsilon: float | None,
) -> SideInformation:
    """See `SideInformation.from_scipy`."""
    if complete and dissimilar is not None:
        raise InvalidInput(
            "with complete=True every pair outside `similar` is dissimilar; leave `dissimilar` out"
        )
    if not complete and dissimilar is None:
        raise InvalidInput("give the dissimilar pairs as a second matrix, or say complete=True")
    n_arms = (getattr(similar, "shape", None) or (0,))[0]
    similar_pairs = _matrix_pairs(similar, n_arms, "similar")
    similar_pairs = similar_pairs[similar_pairs[:, 0] != similar_pairs[:, 1]]
    dissimilar_pairs = _two_columns([])
    if dissimilar is not None:
        dissimilar_pairs = _matrix_pairs(dissimilar, n_arms, "dissimilar")
        itself = dissimilar_pairs[:, 0] == dissimilar_pairs[:, 1]
        if itself.any():
            arm = dissimilar_pairs[np.argmax(itself), 0]
            raise InvalidInput(f"the matrix `dissimilar` says that arm {arm} is dissimilar to itself")
    ids = None if arm_ids is None else list(arm_ids)
    return cls._from_indices(ArmsAndPairs(n_arms, ids, similar_pairs, dissimilar_pairs), complete, epsilon)


def _matrix_pairs(matrix: Any, n_arms: int, name: str) -> NDArray[np.int64]:
    if not hasattr(matrix, "nonzero") or not hasattr(matrix, "shape"):
        raise InvalidInput(f"`{name}` must be a scipy sparse matrix; got {type(matrix).__name__}")
    if matrix.shape != (n_arms, n_arms):
        raise InvalidInput(
            f"the matrix `{name}` must be {n_arms} x {n_arms}, a row and a column per arm; got {matrix.shape}"
        )
    rows, columns = matrix.nonzero()
    return np.column_stack([rows, columns])


def _two_columns(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)
