"""Side information from and to the objects of other libraries: dataframes, networkx, scipy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lsdt._validation import check_columns, check_kind, checked_count, checked_flag, is_number
from lsdt.errors import InvalidInput, MissingDependency, Unsupported, listed, suggest
from lsdt.side_information.arms import ArmNames, ArmsAndPairs
from lsdt.side_information.io import files
from lsdt.side_information.io.columns import RELATIONS, arms_and_pairs
from lsdt.side_information.layouts.adjacency import common_pair
from lsdt.side_information.layouts.ranges import WITHOUT
from lsdt.side_information.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId


def from_frame(
    frame: Any,
    a: str = "a",
    b: str = "b",
    relation: str = "relation",
    complete: bool = False,
    epsilon: float | None = None,
    threshold: str | None = "threshold",
    low: str = "low",
    high: str = "high",
) -> SideInformation:
    """Read pairs from any dataframe that narwhals knows: pandas, polars, pyarrow, DuckDB, ...

    Parameters
    ----------
    frame : dataframe
        A row per pair, as `SideInformation.to_frame` writes it and `lsdt.load` describes it.
    a, b, relation : str
        Names of the columns with the two arms and with ``similar``, ``dissimilar``, ``better`` or ``range``.
    complete : bool
        Whether every pair that is not listed is dissimilar; the column of relations may then be missing.
    epsilon : float, optional
        The threshold between similar and dissimilar, where it is known.
    threshold : str, optional
        Name of the column with distinct thresholds. The default column is read if it exists; None ignores
        it.
    low, high : str
        Names of the columns with the ends of ranges, read where there are any; an empty end is open.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import lsdt, pandas as pd
    >>> frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "relation": ["similar", "dissimilar"]})
    >>> lsdt.from_frame(frame)
    SideInformation(3 arms, 1 similar pair, 1 dissimilar pair, partial)
    """
    import narwhals as nw

    check_columns("a, b and relation", (a, b, relation))
    if threshold is not None:
        check_columns("a, b, relation and threshold (which may be None)", (a, b, relation, threshold))
    try:
        native = nw.from_native(frame)
    except TypeError:
        raise InvalidInput(
            f"from_frame takes a dataframe (pandas, polars, pyarrow, DuckDB, ...); got {type(frame).__name__}"
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise InvalidInput(f"the frame cannot be read as pairs of arms: {error}") from None
    check_columns("a, b, relation, low and high", (a, b, relation, low, high))
    complete = checked_flag(complete, "complete")
    try:
        found = _frame_pairs(native, a, b, relation, complete, threshold, {"low": low, "high": high})
    except (nw.exceptions.NarwhalsError, pa.ArrowException, ValueError, TypeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"the frame cannot be read as pairs of arms: {error}") from None
    return SideInformation._from_indices(found, complete, epsilon)


def _frame_pairs(
    native: Any,
    a: str,
    b: str,
    relation: str,
    complete: bool,
    threshold: str | None,
    ends: dict[str, str],
) -> ArmsAndPairs:
    names = native.collect_schema().names()
    has_relation = relation in names
    has_threshold = threshold is not None and (threshold in names or threshold != files.THRESHOLD)
    wanted = [a, b] + ([relation] if has_relation or not complete else [])
    wanted += [threshold] if has_threshold and threshold is not None else []
    ends = {end: name for end, name in ends.items() if name in names or name != end}
    wanted += ends.values()
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InvalidInput(
            f"the frame lacks the columns {listed(missing)}; found {listed(names, missing[0])}"
        )
    selected = native.select(wanted)
    table = (selected.collect() if hasattr(selected, "collect") else selected).to_arrow()
    return arms_and_pairs(
        table.column(a),
        table.column(b),
        table.column(relation) if has_relation else None,
        place=lambda row: f"the row at position {row} of the frame",
        names=(a, b),
        threshold=table.column(threshold) if has_threshold else None,
        **{end: table.column(name) for end, name in ends.items()},
    )


def from_networkx(
    graph: Any,
    relation: str = "relation",
    complete: bool | None = None,
    epsilon: float | None = None,
    threshold: str = "threshold",
) -> SideInformation:
    """Read a networkx graph whose edges carry ``relation="similar"`` or ``"dissimilar"``.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        Nodes must be all strings or all ints. A pair with both relations is two edges of a MultiGraph.
    relation : str
        The attribute of edges that holds the relation.
    complete : bool, optional
        With True edges without that attribute are similar, and every pair without an edge is dissimilar. By
        default the graph's own attribute ``complete`` says so, as `SideInformation.to_networkx` writes it.
    epsilon : float, optional
        The threshold between similar and dissimilar; by default the graph's attribute ``epsilon``.
    threshold : str
        The attribute of edges that holds distinct thresholds, where there are any.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import lsdt, networkx as nx
    >>> graph = nx.Graph()
    >>> graph.add_edge("x", "y", relation="similar")
    >>> graph.add_edge("y", "z", relation="dissimilar")
    >>> lsdt.from_networkx(graph)
    SideInformation(3 arms, 1 similar pair, 1 dissimilar pair, partial)
    """
    for name, value in (("relation", relation), ("threshold", threshold)):
        check_kind(value, str, f"{name} must be the name of an attribute of edges")
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise InvalidInput(f"from_networkx takes a networkx graph; got {type(graph).__name__}")
    complete = checked_flag(graph.graph.get("complete", False) if complete is None else complete, "complete")
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
        _edge_thresholds(graph, relation, threshold),
    )
    return SideInformation._from_indices(found, complete, epsilon)


def _edge_thresholds(
    graph: Any, relation: str, threshold: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the thresholds of the edges, relation by relation, or None where no edge has one."""
    values: dict[str, list[float]] = {word: [] for word in RELATIONS}
    missing = None
    for first, second, about in graph.edges(data=True):
        value = about.get(threshold)
        if value is None:
            missing = first, second
        elif not is_number(value):
            raise InvalidInput(
                f"the edge ({first!r}, {second!r}) has the {threshold} {value!r}; give a number"
            )
        else:
            values[about.get(relation, "similar")].append(float(value))
    if not any(values.values()):
        return None
    if missing is not None:
        raise InvalidInput(
            f"some edges have a {threshold} and the edge {missing!r} has none; give one to all, or to none"
        )
    return np.array(values["similar"]), np.array(values["dissimilar"])


def to_frame(side: SideInformation) -> pd.DataFrame:
    """See `SideInformation.to_frame`."""
    import pandas as pd

    table = files.pair_table(side)
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def to_networkx(side: SideInformation) -> Any:
    """See `SideInformation.to_networkx`."""
    if side.ranges is not None:
        raise Unsupported(
            "a networkx graph of unordered pairs cannot say which arm is better; use to_frame, or a file. "
            f"{WITHOUT}"
        )
    try:
        import networkx as nx
    except ImportError:
        raise MissingDependency(
            "to_networkx needs the package networkx; install it with: pip install 'lsdt[networkx]'"
        ) from None
    store, values = side.store.explicit(), side.thresholds
    ranges = values is not None and common_pair(store.similar, store.listed_dissimilar()) is not None
    graph = (nx.MultiGraph if ranges else nx.Graph)(complete=side.is_complete)
    if side.epsilon is not None:
        graph.graph["epsilon"] = side.epsilon
    graph.add_nodes_from(side.label(arm) for arm in range(side.n_arms))
    for at, (word, relation) in enumerate(zip(RELATIONS, (store.similar, store.dissimilar), strict=True)):
        if relation is not None:
            named = [(side.label(a), side.label(b)) for a, b in relation.pairs().tolist()]
            if values is None:
                graph.add_edges_from(named, relation=word)
            else:
                own = zip(named, values[at].tolist(), strict=True)
                graph.add_edges_from(((*pair, {"threshold": value}) for pair, value in own), relation=word)
    return graph


def from_scipy(
    similar: Any,
    dissimilar: Any = None,
    complete: bool = False,
    arm_ids: Iterable[ArmId] | None = None,
    epsilon: float | None = None,
) -> SideInformation:
    """Read two square scipy sparse matrices whose non-zero entries are the pairs.

    An entry counts from either triangle. The diagonal of `similar` is ignored: an arm is similar to itself.

    Parameters
    ----------
    similar, dissimilar : scipy sparse matrix or array
        A row and a column per arm. Leave `dissimilar` out where the information is complete.
    complete : bool
        Whether every pair that is not similar is dissimilar.
    arm_ids : sequence of str or of int, optional
        Names that come back in every output.
    epsilon : float, optional
        The one threshold between similar and dissimilar, where it is known.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import lsdt, scipy.sparse
    >>> similar = scipy.sparse.coo_array(([1, 1], ([0, 1], [1, 2])), shape=(3, 3))
    >>> lsdt.from_scipy(similar, complete=True)
    SideInformation(3 arms, 2 similar pairs, 1 dissimilar pair, complete)
    """
    complete = checked_flag(complete, "complete")
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
    ids = ArmNames(checked_count(n_arms), arm_ids).ids
    named = None if ids is None else list(ids)
    return SideInformation._from_indices(
        ArmsAndPairs(n_arms, named, similar_pairs, dissimilar_pairs), complete, epsilon
    )


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
