"""Side information as named arrays and plain data: what a snapshot keeps and a record recognises."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel.checksums import checksum
from lsdt.side_information import SideInformation
from lsdt.side_information.adjacency import adjacency_of_rows
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.revealing import layer_from_dict
from lsdt.side_information.stores import PairStore, Store, WindowStore
from lsdt.side_information.thresholds import thresholds_of_entries
from lsdt.side_information.windows import rebuilt_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]


def side_as_arrays(side: SideInformation) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays behind side information, and the rest as plain data."""
    store = side.store
    about: dict[str, Any] = {
        "n_arms": side.n_arms,
        "epsilon": side.epsilon,
        "arm_ids": None if side.arm_ids is None else list(side.arm_ids),
        "kind": "windows" if isinstance(store, WindowStore) else "pairs",
    }
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
    return arrays, about


def side_of_arrays(arrays: Arrays, about: dict[str, Any]) -> SideInformation:
    """Return the side information again."""
    store: Store
    if about["kind"] == "windows":
        windows = rebuilt_windows(
            arrays["order"],
            arrays["right_end"],
            arrays["means"],
            float(about["window_epsilon"]),
            float(about["threshold"]),
        )
        store = WindowStore(windows, tuple(layer_from_dict(layer) for layer in about["layers"]))
    else:
        similar = adjacency_of_rows(arrays["similar_indptr"], arrays["similar_indices"])
        dissimilar = None
        if "dissimilar_indptr" in arrays:
            dissimilar = adjacency_of_rows(arrays["dissimilar_indptr"], arrays["dissimilar_indices"])
        thresholds = None
        if "similar_thresholds" in arrays:
            thresholds = thresholds_of_entries(arrays["similar_thresholds"], arrays["dissimilar_thresholds"])
        store = PairStore(int(about["n_arms"]), similar, dissimilar, thresholds)
    return SideInformation._of(store, ArmNames(int(about["n_arms"]), about["arm_ids"]), about["epsilon"])


def as_words(raw: bytes | NDArray[Any]) -> NDArray[np.uint64]:
    """Return bytes or an array as words of eight bytes, filled up with zeros."""
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
    parts = [as_words(json.dumps(about, sort_keys=True).encode())]
    parts += [as_words(array) for _, array in sorted(arrays.items())]
    return f"{checksum(parts):016x}"
