"""Which pairs exclude each arm by the triangle rule, with one epsilon for all pairs.

Three kernels do the same work. Dense information uses bit rows; sparse information, or more than one witness,
uses sorted rows; implicit information uses a window scan.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.triangles import witnesses_kernel as kernel
from lsdt.candidates.triangles.windows_kernel import SeenWindows, eliminate_by_windows
from lsdt.kernel import fits_in_memory, over_blocks
from lsdt.side_information import PairStore, Reveal, Store, WindowStore, write_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = 64  # bits
_MOST_ROWS = 100_000  # arms whose pairs can be written out in some seconds


def scan_witnesses(store: Store, witnesses: NDArray[np.int32]) -> None:
    """Write the pairs that exclude each arm into ``witnesses[arm]``; candidates keep their -1."""
    n_arms, wanted = store.n_arms, witnesses.shape[1]
    if isinstance(store, WindowStore):
        if store.is_true and not rows_are_cheaper(store):
            if may_show_triangles(store):
                scan_windows(store, witnesses)
            return
        if wanted == 1 and _bits_fit(n_arms):
            _scan_bits(*_bits_of_windows(store), witnesses)
            return
    pairs = store.explicit()
    if wanted == 1 and _is_dense(pairs) and pairs.dissimilar is not None:
        _scan_bits(_bits_of_rows(*pairs.similar), _bits_of_rows(*pairs.dissimilar), witnesses)
    else:
        scan_rows(pairs, np.full(n_arms, wanted), witnesses)


def _most_near(store: WindowStore) -> tuple[float, float]:
    """Return the largest probabilities with which the relations of a triangle are revealed."""
    similar = dissimilar = 1.0
    for layer in store.layers:
        if isinstance(layer, Reveal):
            p_similar, p_dissimilar = layer.most_near()
            similar, dissimilar = similar * p_similar, dissimilar * p_dissimilar
    return similar, dissimilar


def may_show_triangles(store: WindowStore) -> bool:
    """Return whether both relations of a triangle may be revealed."""
    return min(_most_near(store)) > 0.0


def rows_are_cheaper(store: WindowStore) -> bool:
    """Return whether writing all pairs out fits in memory and tosses fewer coins than the window scan.

    The scan tries about 1/p_dissimilar pairs before one is revealed. It finds the arms for these pairs on
    either side with probability p_similar each. The size of a window limits both.
    """
    p_similar, p_dissimilar = _most_near(store)
    n_arms = store.n_arms
    if min(p_similar, p_dissimilar) == 0.0 or n_arms > _MOST_ROWS:
        return False
    side = store.windows.n_similar / n_arms
    tries = min(1.0 / p_dissimilar, (side * p_similar) ** 2)
    tosses = tries + min(2.0 * math.sqrt(tries) / p_similar, 2.0 * side)
    return bool(tosses > 4.0 * n_arms and fits_in_memory(sum(store.expected_counts()) * 16, 0.5))


def _is_dense(pairs: PairStore) -> bool:
    """Return whether rows of bits are shorter to read: a row then has more neighbours than words."""
    return 2 * pairs.n_dissimilar > pairs.n_arms * (pairs.n_arms / _WORD) and _bits_fit(pairs.n_arms)


def _bits_fit(n_arms: int) -> bool:
    return fits_in_memory(2 * n_arms * _n_words(n_arms) * 8, 0.8)


def _n_words(n_arms: int) -> int:
    return -(-n_arms // _WORD)


def scan_windows(store: WindowStore, witnesses: NDArray[np.int32]) -> None:
    """Write the witnesses of every arm, tossing coins as they are needed."""
    w = store.windows
    seen = SeenWindows(store.coins, w.order, w.means, w.epsilon, w.left_end, w.right_end)
    over_blocks(lambda first, last: eliminate_by_windows(seen, first, last, witnesses), store.n_arms)


def scan_rows(pairs: PairStore, needed: NDArray[np.int64], witnesses: NDArray[np.int32]) -> None:
    """Write the witnesses of every arm with at least as many as ``needed``."""
    implied = pairs.dissimilar is None
    rows = pairs.similar if pairs.dissimilar is None else pairs.dissimilar
    over_blocks(
        lambda first, last: kernel.eliminate_by_rows(
            *pairs.similar, *rows, implied, first, last, needed, witnesses
        ),
        pairs.n_arms,
    )


def _scan_bits(
    similar: NDArray[np.uint64], dissimilar: NDArray[np.uint64], witnesses: NDArray[np.int32]
) -> None:
    over_blocks(
        lambda first, last: kernel.eliminate_by_bits(similar, dissimilar, first, last, witnesses),
        len(witnesses),
    )


def _bits_of_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.uint64]:
    n_arms = len(indptr) - 1
    bits = np.zeros((n_arms, _n_words(n_arms)), np.uint64)
    over_blocks(lambda first, last: kernel.bits_from_rows(indptr, indices, first, last, bits), n_arms)
    return bits


def _bits_of_windows(store: WindowStore) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    n_arms = store.n_arms
    similar = np.empty((n_arms, _n_words(n_arms)), np.uint64)
    dissimilar = np.empty_like(similar)
    base = store.base()
    over_blocks(
        lambda first, last: write_bits(base, store.coins, n_arms, first, last, similar, dissimilar), n_arms
    )
    return similar, dissimilar
