"""Layers of coins over the pairs of arms, which make complete side information partial or wrong.

A layer is a value: its probabilities and its seed. Coins are hashes of the pair (`lsdt.kernel.random`), so a
layer costs no memory and gives the same relations on implicit and on explicit side information.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from lsdt._validation import checked_seed, checked_share
from lsdt.errors import InvalidInput
from lsdt.kernel import CoinPurpose, coin_key, coin_threshold
from lsdt.side_information.layouts import reveal_kernel as kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

# A probability, or a function of the distance |mu_i - mu_j| / epsilon.
Probability: TypeAlias = "float | Callable[[NDArray[np.float64]], NDArray[np.float64]]"
Table: TypeAlias = tuple[float, ...]

# Intervals of the grid on which a probability that depends on the distance is tabulated. Part of the file
# format: a saved recipe holds the table.
_GRID = 1024
_SMALLEST_INVERSE = 1e-6  # the grid of dissimilar pairs ends at a million epsilons instead of infinity


def _largest(probability: float | Table) -> float:
    return max(probability) if isinstance(probability, tuple) else probability


@dataclass(frozen=True)
class Reveal:
    """Each relation is kept independently; a table holds probabilities on a grid of distances."""

    p_similar: float | Table
    p_dissimilar: float | Table
    seed: int

    @property
    def by_distance(self) -> bool:
        """Whether a probability depends on the distance of the means."""
        return isinstance(self.p_similar, tuple) or isinstance(self.p_dissimilar, tuple)

    def most_near(self) -> tuple[float, float]:
        """Return the largest probability for a similar pair, and for a dissimilar one within two epsilons."""
        near = self.p_dissimilar[_GRID // 2 :] if isinstance(self.p_dissimilar, tuple) else self.p_dissimilar
        return _largest(self.p_similar), _largest(near)

    def expected_counts(self, n_similar: float, n_dissimilar: float) -> tuple[float, float]:
        """Return (an upper bound on) the expected number of relations of each kind that stay."""
        return n_similar * _largest(self.p_similar), n_dissimilar * _largest(self.p_dissimilar)

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON data."""
        return {"reveal": {"p_similar": self.p_similar, "p_dissimilar": self.p_dissimilar, "seed": self.seed}}


@dataclass(frozen=True)
class Corrupt:
    """Each relation is flipped independently with probability `share`."""

    share: float
    seed: int

    def expected_counts(self, n_similar: float, n_dissimilar: float) -> tuple[float, float]:
        """Return the expected numbers of relations after the flips."""
        flipped = self.share * (n_dissimilar - n_similar)
        return n_similar + flipped, n_dissimilar - flipped

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON data."""
        return {"corrupt": {"share": self.share, "seed": self.seed}}


Layer: TypeAlias = Reveal | Corrupt


def layer_from_dict(recipe: dict[str, Any]) -> Layer:
    """Rebuild a layer from its recipe."""
    if not isinstance(recipe, dict) or len(recipe) != 1:
        raise InvalidInput(f"a layer must be one entry, 'reveal' or 'corrupt'; got {recipe!r}")
    ((kind, values),) = recipe.items()
    if kind == "corrupt":
        return Corrupt(checked_share(values["share"], "share"), checked_seed(values["seed"]))
    if kind != "reveal":
        raise InvalidInput(f"unknown layer {kind!r}; accepted are 'reveal' and 'corrupt'")

    def probability(name: str) -> float | Table:
        value = values[name]
        if isinstance(value, list):
            if len(value) != _GRID + 1:
                raise InvalidInput(f"{name} must hold {_GRID + 1} probabilities; it holds {len(value)}")
            return tuple(checked_share(entry, name) for entry in value)
        return checked_share(value, name)

    return Reveal(probability("p_similar"), probability("p_dissimilar"), checked_seed(values["seed"]))


def table_of(probability: Probability, name: str, *, similar: bool) -> float | Table:
    """Return a constant as it is, and a function of the distance as its values on a grid.

    The grid is even in the distance from 0 to 1 for similar pairs and even in its inverse for dissimilar
    ones, so it is finest where relations are decided; in between, probabilities are interpolated.
    """
    if not callable(probability):
        return checked_share(probability, name)
    fraction = np.linspace(0.0, 1.0, _GRID + 1)
    distances = fraction if similar else 1.0 / np.maximum(fraction, _SMALLEST_INVERSE)
    try:
        values = np.array([float(probability(np.asarray(distance))) for distance in distances])
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must return a probability for a distance: {error}") from None
    wrong = ~((values >= 0.0) & (values <= 1.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInput(
            f"{name} must return probabilities from 0 to 1; at distance {distances[at]:.4g} epsilon "
            f"it returned {values[at]}"
        )
    return tuple(values.tolist())


def reveal_layer(p_similar: Probability, p_dissimilar: Probability, seed: int) -> Reveal:
    """Check the probabilities and the seed of a user, and return the layer."""
    return Reveal(
        table_of(p_similar, "p_similar", similar=True),
        table_of(p_dissimilar, "p_dissimilar", similar=False),
        checked_seed(seed),
    )


def coin_layers(layers: Sequence[Layer]) -> kernel.CoinLayers:
    """Return the layers as the arrays that compiled code reads."""
    size = len(layers)
    kind = np.zeros(size, np.int8)
    key = np.zeros(size, np.uint64)
    thresholds = np.zeros((2, size), np.int64)
    tables = np.zeros((size, 2, _GRID + 1))
    for at, layer in enumerate(layers):
        key[at] = coin_key(
            layer.seed, CoinPurpose.CORRUPT if isinstance(layer, Corrupt) else CoinPurpose.REVEAL
        )
        if isinstance(layer, Corrupt):
            kind[at] = kernel.CORRUPT
            thresholds[:, at] = coin_threshold(layer.share)
        elif layer.by_distance:
            kind[at] = kernel.REVEAL_BY_DISTANCE
            tables[at, 0] = np.multiply(layer.p_similar, 2.0**53)
            tables[at, 1] = np.multiply(layer.p_dissimilar, 2.0**53)
        else:
            kind[at] = kernel.REVEAL
            thresholds[0, at] = coin_threshold(cast("float", layer.p_similar))
            thresholds[1, at] = coin_threshold(cast("float", layer.p_dissimilar))
    return kernel.CoinLayers(kind, key, thresholds[0].copy(), thresholds[1].copy(), tables)
