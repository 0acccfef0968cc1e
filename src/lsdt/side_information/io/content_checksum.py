"""A checksum of the content of side information, independent of file format and memory layout.

A saved file carries it, and loading compares it with what was read. It detects a single changed bit anywhere,
and a spreadsheet that only adds quotes does no harm. It guards against damage, not against forgery.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.side_information.layouts.stores import WindowStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.side_information import SideInformation


def source_of(side: SideInformation) -> dict[str, Any]:
    """Return the titles and the origin of side information, if any, as JSON data."""
    known = {
        "scale": side.scale,
        "titles": side._names.titles,
        "fingerprint": side.fingerprint or None,
        "beaten": None if side.beaten is None else side.beaten.to_list(),
        "risks": [list(each) for each in side._origin.risks] or None,
    }
    return {name: list(values) for name, values in known.items() if values is not None}


def content_checksum(side: SideInformation) -> str:
    """Return the checksum of side information as 16 hexadecimal digits."""
    store = side.store
    parts: dict[str, NDArray[Any]]
    about: dict[str, Any] = {
        "n_arms": side.n_arms,
        "arm_ids": None if side.arm_ids is None else list(side.arm_ids),
        "epsilon": side.epsilon,
        "complete": side.is_complete,
        **source_of(side),
    }
    if isinstance(store, WindowStore):
        about["threshold"] = store.windows.threshold
        about["layers"] = [layer.to_dict() for layer in store.layers]
        parts = {"means": store.windows.means_by_arm()}
    else:
        parts = {"similar": store.similar.pairs()}
        if store.dissimilar is not None:
            parts["dissimilar"] = store.dissimilar.pairs()
        values = store.pair_thresholds()
        if values is not None:
            parts |= {f"{name} thresholds": part for name, part in values._asdict().items()}
        if store.ranges is not None:
            parts |= {f"ranges {name}": part for name, part in store.ranges._asdict().items()}
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=8)
    for name, part in parts.items():
        kind = "<f8" if part.dtype.kind == "f" else "<i4"
        digest.update(f"{name} {part.shape}".encode())
        digest.update(np.ascontiguousarray(part, kind).data.cast("B") if part.size else b"")
    return digest.hexdigest()
