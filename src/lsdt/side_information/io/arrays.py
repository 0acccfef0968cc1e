"""Side information as named arrays and plain data, for snapshots, and its fingerprint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_count, checked_epsilon
from lsdt.errors import InvalidInput
from lsdt.kernel import checksum
from lsdt.side_information import SideInformation
from lsdt.side_information.arms import ArmNames, with_stored_titles
from lsdt.side_information.beaten import beaten_of_list
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs, frozen
from lsdt.side_information.layouts.ranges import frozen_ranges, join_ranges
from lsdt.side_information.layouts.reveal import layer_from_dict
from lsdt.side_information.layouts.stores import PairStore, Store, WindowStore, pair_store
from lsdt.side_information.layouts.thresholds import beside_rows, by_pair, check_ranges, thresholds_of_entries
from lsdt.side_information.layouts.windows import rebuild_windows
from lsdt.side_information.layouts.windows_kernel import right_ends
from lsdt.side_information.origin import Origin, risks_of_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.layouts.adjacency import Adjacency
    from lsdt.side_information.layouts.ranges import PairRanges
    from lsdt.side_information.layouts.windows import Windows

    Arrays = dict[str, NDArray[Any]]


def side_as_arrays(side: SideInformation) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays that hold side information, and everything else as JSON data."""
    store = side.store
    about: dict[str, Any] = {
        "n_arms": side.n_arms,
        "epsilon": side.epsilon,
        "arm_ids": None if side.arm_ids is None else list(side.arm_ids),
        "kind": "windows" if isinstance(store, WindowStore) else "pairs",
    }
    if side._names.titles is not None:
        about["titles"] = list(side._names.titles)
    if side.beaten is not None:
        about["beaten"] = side.beaten.to_list()
    if side._origin.risks:
        about["risks"] = [list(each) for each in side._origin.risks]
    if isinstance(store, WindowStore):
        windows = store.windows
        about |= {
            "window_epsilon": windows.epsilon,
            "threshold": windows.threshold,
            "layers": [layer.to_dict() for layer in store.layers],
        }
        arrays: Arrays = {"order": windows.order, "right_end": windows.right_end, "means": windows.means}
        return arrays, about
    arrays = {"similar_indptr": store.similar.indptr, "similar_indices": store.similar.indices}
    if store.dissimilar is not None:
        arrays |= {
            "dissimilar_indptr": store.dissimilar.indptr,
            "dissimilar_indices": store.dissimilar.indices,
        }
    if store.thresholds is not None:
        arrays |= {
            "similar_thresholds": store.thresholds.similar,
            "dissimilar_thresholds": store.thresholds.dissimilar,
        }
    if store.ranges is not None:
        pairs, low, high, *strict = store.ranges
        flags = np.column_stack(strict).astype(np.int32)
        arrays |= {"ranges_pairs": pairs, "ranges_low": low, "ranges_high": high, "ranges_strict": flags}
    return arrays, about


def side_of_arrays(arrays: Arrays, about: dict[str, Any]) -> SideInformation:
    """Rebuild the side information; refuse arrays that compiled code could not trust."""
    n_arms = checked_count(about["n_arms"])
    names = with_stored_titles(ArmNames(n_arms, about["arm_ids"]), about)
    store: Store
    if about["kind"] == "windows":
        layers = tuple(layer_from_dict(layer) for layer in about["layers"])
        store = WindowStore(_windows(arrays, about, n_arms), layers)
    else:
        store = _pairs(arrays, n_arms, names).with_ranges(_ranges(arrays, n_arms, names))
    side = SideInformation._of(store, names, about["epsilon"])
    side._check_ranges()
    beaten = beaten_of_list(about.get("beaten"), n_arms)
    return side._with_origin(Origin(beaten=beaten, risks=risks_of_list(about.get("risks", []))))


def _ranges(arrays: Arrays, n_arms: int, names: ArmNames) -> PairRanges | None:
    """Return the ranges; refuse rows that `join_ranges` would change."""
    if "ranges_pairs" not in arrays:
        return None
    pairs = exact_array(arrays, "ranges_pairs", np.int32, (None, 2))
    low, high = (exact_array(arrays, f"ranges_{end}", np.float64, (len(pairs),)) for end in ("low", "high"))
    strict = exact_array(arrays, "ranges_strict", np.int32, (len(pairs), 2))
    _require(bool(np.isin(strict, (0, 1)).all()), "ranges_strict")
    _require(bool(((pairs >= 0) & (pairs < n_arms)).all()), "ranges_pairs")
    _require(bool((pairs[:, 0] < pairs[:, 1]).all()) and len(pairs) > 0, "ranges_pairs")
    _require(not np.isnan(low).any() and not np.isnan(high).any(), "ranges_low")
    stated = frozen_ranges(pairs, low, high, *strict.T.astype(bool))
    joined = join_ranges(stated.better_pairs(), *stated.rows(), names)
    _require(stated.same_as(joined), "ranges_pairs")
    return stated


def _windows(arrays: Arrays, about: dict[str, Any], n_arms: int) -> Windows:
    """Return the windows; refuse an order that is no permutation, means that do not ascend, wrong ends."""
    order = exact_array(arrays, "order", np.int32, (n_arms,))
    right_end = exact_array(arrays, "right_end", np.int32, (n_arms,))
    means = exact_array(arrays, "means", np.float64, (n_arms,))
    epsilon, threshold = checked_epsilon(about["window_epsilon"]), checked_epsilon(about["threshold"])
    _require(bool(((order >= 0) & (order < n_arms)).all()), "order")
    seen = np.zeros(n_arms, bool)
    seen[order] = True
    _require(bool(seen.all()), "order")
    _require(bool(np.isfinite(means).all() and (np.diff(means) >= 0.0).all()), "means")
    _require(threshold <= epsilon, "threshold")
    _require(np.array_equal(right_end, right_ends(frozen(means), threshold)), "right_end")
    return rebuild_windows(order, right_end, means, epsilon, threshold)


def _pairs(arrays: Arrays, n_arms: int, names: ArmNames) -> PairStore:
    similar = _rows(arrays, "similar", n_arms)
    if "dissimilar_indptr" not in arrays:
        return PairStore(n_arms, similar, None)
    dissimilar = _rows(arrays, "dissimilar", n_arms)
    if "similar_thresholds" not in arrays:
        return pair_store(similar, dissimilar, names)
    thresholds = thresholds_of_entries(
        _entries(arrays, "similar", similar), _entries(arrays, "dissimilar", dissimilar)
    )
    check_ranges(similar, dissimilar, thresholds, names)
    return PairStore(n_arms, similar, dissimilar, thresholds)


def _rows(arrays: Arrays, word: str, n_arms: int) -> Adjacency:
    """Return a relation as rows; refuse rows that are not symmetric, ascending and free of repeats."""
    indptr = exact_array(arrays, f"{word}_indptr", np.int64, (n_arms + 1,))
    indices = exact_array(arrays, f"{word}_indices", np.int32, (None,))
    steps = np.diff(indptr)
    ends = (int(indptr[0]), int(indptr[-1])) == (0, len(indices))
    _require(ends and bool((steps >= 0).all()), f"{word}_indptr")
    _require(bool(((indices >= 0) & (indices < n_arms)).all()), f"{word}_indices")
    owner = np.repeat(np.arange(n_arms, dtype=np.int32), steps)
    once = owner < indices
    graph = adjacency_of_pairs(np.column_stack([owner[once], indices[once]]), n_arms)
    same = np.array_equal(graph.indptr, indptr) and np.array_equal(graph.indices, indices)
    _require(same, f"{word}_indices")
    return graph


def _entries(arrays: Arrays, word: str, graph: Adjacency) -> NDArray[np.float64]:
    """Return the thresholds of a relation's entries; refuse a pair whose two entries differ."""
    name = f"{word}_thresholds"
    values = exact_array(arrays, name, np.float64, (None,))
    _require(len(values) in (1, len(graph.indices)) and bool((values > 0.0).all()), name)
    _require(bool(np.isfinite(values).all()), name)
    if len(values) > 1:
        _require(
            np.array_equal(beside_rows(graph, graph.pairs(), by_pair(graph, values), word), values), name
        )
    return values


def exact_array(arrays: Arrays, name: str, kind: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array of exactly this type and shape (None: any length), or say what is wrong with it."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(kind) or not fits:
        raise InvalidInput(
            f"the array {name!r} is {array.dtype} of shape {array.shape}; expected is {np.dtype(kind)} of "
            f"shape {shape}"
        )
    return array


def _require(fits: bool, name: str) -> None:
    if not fits:
        raise InvalidInput(f"the array {name!r} of the side information has invalid content")


def as_words(raw: bytes | NDArray[Any]) -> NDArray[np.uint64]:
    """Return bytes or an array as eight-byte words, padded with zeros."""
    flat = (
        np.frombuffer(raw, np.uint8) if isinstance(raw, bytes) else np.ascontiguousarray(raw).view(np.uint8)
    )
    flat = flat.reshape(-1)
    if len(flat) % 8:
        flat = np.concatenate([flat, np.zeros(-len(flat) % 8, np.uint8)])
    return flat.view(np.uint64)


def fingerprint(side: SideInformation) -> str:
    """Return a short text that is the same for the same side information, stored in the same way."""
    arrays, about = side_as_arrays(side)
    about.pop("titles", None)  # only for display
    parts = [as_words(json.dumps(about, sort_keys=True).encode())]
    parts += [as_words(array) for _, array in sorted(arrays.items())]
    return f"{checksum(parts):016x}"
