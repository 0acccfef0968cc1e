"""Ten clusters of ten similar arms, and a better arm or cluster, as in the experiments of GRUB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.kernel import seed_words
from lsdt.problems import Instance, Rewards, checked_rewards
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_CLUSTERS, _SIZE = 10, 10
_BEST = 1.3
_WITHIN = 0.9  # the share of a block's pairs that is listed
_EDGES = 2  # of every arm that is attached to earlier ones
_DRAWS = 103  # the random stream of means and graphs


def _clique(rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.ones((_SIZE, _SIZE), np.bool_)


def _block(rng: np.random.Generator) -> NDArray[np.bool_]:
    return rng.random((_SIZE, _SIZE)) < _WITHIN


def _attached(rng: np.random.Generator) -> NDArray[np.bool_]:
    """Attach every arm to two earlier ones, drawn in proportion to the pairs that they are in."""
    listed = np.zeros((_SIZE, _SIZE), np.bool_)
    listed[1 : _EDGES + 1, 0] = True  # as networkx begins, with a star
    for arm in range(_EDGES + 1, _SIZE):
        degrees = listed[:arm, :arm].sum(axis=0) + listed[:arm, :arm].sum(axis=1)
        listed[arm, rng.choice(arm, _EDGES, replace=False, p=degrees / degrees.sum())] = True
    return listed


GRAPHS: dict[str, Callable[[np.random.Generator], NDArray[np.bool_]]] = {
    "cliques": _clique,
    "blocks": _block,
    "attachment": _attached,
}


@dataclass(frozen=True)
class ClusterProblem:
    """Clusters with means 1.0, 0.9, ... 0.1, and one arm with mean 1.3; arms in a random order.

    Attributes
    ----------
    graph : str
        Which pairs of a cluster are listed as similar: all (``'cliques'``), 0.9 of them (``'blocks'``), or
        a graph that grows by preferential attachment (``'attachment'``).
    epsilon : float
        The threshold of similarity.
    jitter : float
        Means are uniform up to this far around those of the clusters.
    dissimilar : bool
        Whether all dissimilar pairs are listed too.
    lone : bool
        Whether the best arm is alone; otherwise it is a cluster of ten as well.
    """

    graph: str = "cliques"
    epsilon: float = 0.001
    jitter: float = 0.0
    dissimilar: bool = False
    lone: bool = True

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return _CLUSTERS * _SIZE + (1 if self.lone else _SIZE)

    @property
    def rewards(self) -> Rewards:
        """The reward law."""
        return checked_rewards("gaussian")

    def draw(self, seed: int, replication: int) -> Instance:
        """Return the problem of one replication."""
        rng = np.random.default_rng(seed_words(seed, replication, _DRAWS))
        place = rng.permutation(self.n_arms)
        means = np.repeat(np.append(np.arange(_CLUSTERS, 0, -1) / _CLUSTERS, _BEST), _SIZE)[: self.n_arms]
        means += rng.uniform(-self.jitter, self.jitter, self.n_arms)
        similar = [
            place[first : first + _SIZE][np.argwhere(np.tril(GRAPHS[self.graph](rng), -1))]
            for first in range(0, self.n_arms // _SIZE * _SIZE, _SIZE)
        ]
        a, b = np.triu_indices(self.n_arms, 1)
        apart = (np.abs(means[a] - means[b]) >= self.epsilon) & self.dissimilar
        side = SideInformation(
            self.n_arms,
            similar=np.concatenate(similar),
            dissimilar=np.column_stack([place[a], place[b]])[apart],
            epsilon=self.epsilon,
        )
        return Instance(means[np.argsort(place)], side, self.rewards)

    def describe(self) -> dict[str, Any]:
        """Return the problem as plain data."""
        return {"kind": "clusters", **vars(self)}
