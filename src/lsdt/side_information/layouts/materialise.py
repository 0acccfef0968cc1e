"""Count relations that depend on coins, and write them out as rows; refuse what would take too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.errors import TooLarge
from lsdt.kernel import over_blocks, require_memory
from lsdt.side_information.layouts import reveal_kernel as kernel
from lsdt.side_information.layouts.adjacency import Adjacency, adjacency_of_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Beyond this many coins (about half a minute on two cores) an exact count or list is refused.
_MOST_COINS = 2e10
_FEW_ARMS = 1_000  # a table of all their pairs takes a megabyte
BYTES_PER_PAIR = 16  # an int32 at either end, and as much again for the returned list


def check_countable(n_arms: int, instead: str) -> None:
    """Refuse work that would toss too many coins; the error ends with `instead`, what to do about it."""
    if n_arms * (n_arms - 1.0) > _MOST_COINS:
        raise TooLarge(
            f"the exact relations of {n_arms:,} arms would take {n_arms * (n_arms - 1.0):.1e} coin tosses; "
            f"{instead}"
        )


def check_affordable(n_arms: int, n_similar: float, n_dissimilar: float, instead: str) -> None:
    """Refuse to list pairs that would not fit in memory or would take too long."""
    n_pairs = n_similar + n_dissimilar
    require_memory(n_pairs * BYTES_PER_PAIR, f"listing about {n_pairs:.3g} pairs", instead)
    check_countable(n_arms, instead)


def relation_counts(
    base: kernel.CompleteBase, coins: kernel.CoinLayers, n_arms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many similar and how many dissimilar arms every arm has."""
    similar = np.zeros(n_arms, np.int64)
    dissimilar = np.zeros(n_arms, np.int64)
    over_blocks(
        lambda first, last: kernel.count_relations(base, coins, n_arms, first, last, similar, dissimilar),
        n_arms,
    )
    return similar, dissimilar


def write_out(
    base: kernel.CompleteBase,
    coins: kernel.CoinLayers,
    n_arms: int,
    *,
    want_similar: bool = True,
    want_dissimilar: bool = True,
    few_arms: int = _FEW_ARMS,
) -> tuple[Adjacency, Adjacency]:
    """Return the two relations; an unwanted one has empty rows. Up to `few_arms` each coin is tossed once."""
    if n_arms <= few_arms and want_similar and want_dissimilar:
        rows = kernel.list_relations(base, coins, n_arms)
        return adjacency_of_rows(rows[0], rows[1]), adjacency_of_rows(rows[2], rows[3])
    counts = relation_counts(base, coins, n_arms)
    starts = [np.concatenate([[0], np.cumsum(count)]) for count in counts]
    similar = np.empty(starts[0][-1] if want_similar else 0, np.int32)
    dissimilar = np.empty(starts[1][-1] if want_dissimilar else 0, np.int32)
    over_blocks(
        lambda first, last: kernel.write_relations(
            base, coins, n_arms, first, last, starts[0], similar, starts[1], dissimilar
        ),
        n_arms,
    )
    return adjacency_of_rows(starts[0], similar), adjacency_of_rows(starts[1], dissimilar)
