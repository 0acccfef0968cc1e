"""GRUB: best-arm identification with similar pairs as a graph (Thaker, Malu, Rao and Dasarathy, 2022).

The estimate is that of `laplacian_ucb` without a ridge: ``m = P s``, ``P = (diag(n) + weight L)^-1``. One arm
of each connected component is played first, so that the inverse exists; then always the arm with the largest
P_ii among those left (the paper's marginal variance minimisation). An arm is out when its upper bound is at
most the largest lower bound, or exceeds it by no more than the tolerance.

Half an interval is ``sqrt(P_ii) (2 sigma sqrt(14 log(2 w_i / delta)) + weight |mu|)``, ``w_i = K / P_ii^2``,
``|mu|^2`` the sum of the squared differences of similar arms (their Lemma A.2, with constant 1 in w_i).
``radius="tight"`` has sqrt(2) in the place of 2 sqrt(14), ``w_i = K t^2``, and sqrt(weight) in the place of
weight: the width that estimates on a fixed design need. No proof covers it when plays depend on rewards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.errors import Unsupported
from lsdt.identification.rules.grub_kernel import run_grub
from lsdt.kernel import SymmetricGraph, compile_ahead, new_stream

if TYPE_CHECKING:
    from lsdt.problems import Instance

RADII = ("published", "tight")
_PURPOSE = 61  # of the random stream, so that rewards are unrelated to other uses of the seed


class Grub(NamedTuple):
    """GRUB with its constants; see the text above.

    ``weight`` and ``norm``, ``|mu|``, are by default (sigma / epsilon)^2 and the largest that the similar
    pairs allow, epsilon times the root of their number. ``scale`` multiplies the radius of the noise.
    """

    weight: float | None = None
    radius: str = "published"
    scale: float = 1.0
    norm: float | None = None

    def play(
        self, instance: Instance, tolerance: float, delta: float, most: int, key: tuple[int, ...]
    ) -> tuple[int, int, bool]:
        """Play one run; return its tries, the arm named, and whether it stopped by itself."""
        side, law = instance.side, instance.rewards
        if side.epsilon is None and (self.weight is None or self.norm is None):
            raise Unsupported(
                "GRUB needs epsilon, or both its weight and the norm of the means; give the side information "
                "an epsilon"
            )
        pairs = side.similar_pairs()
        epsilon = side.epsilon or 0.0
        weight = (law.model.sigma / epsilon) ** 2 if self.weight is None else self.weight
        norm = epsilon * math.sqrt(len(pairs)) if self.norm is None else self.norm
        laplacian = np.zeros((side.n_arms, side.n_arms))
        a, b = np.asarray(pairs, np.int64).reshape(-1, 2).T
        laplacian[a, b] = laplacian[b, a] = -1.0
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
        adjacency = side.store.listed_similar()
        labels = SymmetricGraph(adjacency.indptr, adjacency.indices).components()[1]
        first = np.unique(labels, return_index=True)[1].astype(np.int64)
        plays = np.zeros(side.n_arms)
        plays[first] = 1.0
        published = self.radius == "published"
        with compile_ahead(most * side.n_arms):  # one call plays the whole run
            tries, named, stopped = run_grub(
                np.linalg.inv(weight * laplacian + np.diag(plays)),
                np.zeros(side.n_arms),
                np.ones(side.n_arms, np.bool_),
                first,
                np.array(instance.means, np.float64),
                law.model.family == "bernoulli",
                law.model.sigma,
                tolerance,
                delta,
                self.scale * (2.0 * math.sqrt(14.0) if published else math.sqrt(2.0)),
                published,
                (weight if published else math.sqrt(weight)) * norm,
                most,
                new_stream(*key, _PURPOSE),
            )
        return int(tries), int(named), bool(stopped)
