"""What a policy may know before its first round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_whole
from lsdt.candidates import CandidateSet, MutualBounds, candidate_set, mutual_bounds
from lsdt.errors import TooLarge, Unsupported
from lsdt.kernel import SymmetricGraph
from lsdt.side_information import DISTINCT, IGNORED, WITHOUT, WindowStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.kernel import RewardModel
    from lsdt.side_information import Adjacency, SideInformation

MOST_ROUNDS = 10**15  # counts up to here are exact in floats
_MOST_PAIRS = 2 * 10**8  # similar pairs that a policy walks along

_REASONS = {
    "one epsilon": f"{DISTINCT}; use lsdt_closure, or a policy that needs no epsilon on the candidates",
    "no ranges": f"{IGNORED}; use any other policy on the candidates. {WITHOUT}",
    "complete": (
        "needs complete side information, and this is partial; use lsdt_psi, ckl_ucb, or any other policy on "
        "the candidates"
    ),
    "epsilon": (
        "needs epsilon, the threshold between similar and dissimilar; give the side information an epsilon"
    ),
    "readable ranges": (
        "follows similar and dissimilar pairs, and no range of this side information makes one at any "
        "threshold, since none says how far apart two means are; use a policy on the candidates, as in "
        "lsdt.Policy('ts', on='order')"
    ),
    "distances": (
        "needs to know how far apart means are; give the side information an epsilon, a threshold for every "
        "pair, or ranges"
    ),
    "horizon": "needs to know the horizon; give one",
    "connected": (
        "needs a connected similarity graph: on a disconnected one the means need not rise along a path to "
        "the best arm"
    ),
}


@dataclass(frozen=True)
class Situation:
    """The arms a policy plays on, numbered from 0, and what is known about them.

    Attributes
    ----------
    side : SideInformation
        Relations among these arms.
    rewards : RewardModel
        Family and sub-Gaussian parameter of the rewards.
    horizon : int or None
        Number of rounds, where it is known.
    offline : CandidateSet or None
        The answer of the offline step, for policies that run it themselves; its arms are numbered as in the
        problem.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.kernel.rewards import RewardModel
    >>> lsdt.policies.Situation(lsdt.SideInformation(3), RewardModel("bernoulli", .5)).n_arms
    3
    """

    side: SideInformation
    rewards: RewardModel
    horizon: int | None = None
    offline: CandidateSet | None = None

    @property
    def n_arms(self) -> int:
        """Number of arms the policy plays on."""
        return self.side.n_arms

    @property
    def epsilon(self) -> float | None:
        """The threshold between similar and dissimilar, where it is known."""
        return self.side.epsilon

    @cached_property
    def similar(self) -> Adjacency:
        """The arms similar to each arm."""
        store = self.side.store
        pairs = store.expected_counts()[0] if isinstance(store, WindowStore) else store.n_similar
        if pairs > _MOST_PAIRS:
            raise TooLarge(
                f"a policy that follows similar pairs takes up to {_MOST_PAIRS:,} of them, and there are "
                f"about {pairs:,.0f}; use it on the candidates, or one that does not look at pairs"
            )
        return store.listed_similar()

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """The number of the connected component of every arm."""
        return SymmetricGraph(self.similar.indptr, self.similar.indices).components()[1]

    @cached_property
    def classes(self) -> list[NDArray[np.int64]]:
        """Classes of interchangeable candidates, for complete information, in this numbering."""
        if self.offline is None:
            found, place = candidate_set(self.side, method="anchors"), np.arange(self.n_arms)
        else:
            found = self.offline
            place = np.full(found.side.n_arms, -1)
            place[found.arms] = np.arange(len(found.arms))
        assert found.classes is not None
        return [place[members] for members in found.classes]

    @cached_property
    def mutual_bounds(self) -> MutualBounds:
        """Bounds on the gaps among these arms, each in turn supposed the best."""
        if self.offline is None:
            return mutual_bounds(self.side, np.arange(self.n_arms))
        return self.offline.mutual_bounds

    def require(self, needs: frozenset[str], policy: str) -> None:
        """Raise `Unsupported` when something the policy needs is missing, with the reason."""
        whole = self.side if self.offline is None else self.offline.side
        met = {
            "complete": lambda: whole.is_complete and self.side.ranges is None,
            "epsilon": lambda: self.epsilon is not None,
            "distances": lambda: _has_distances(whole),
            "horizon": lambda: self.horizon is not None,
            "connected": lambda: int(self.components.max()) == 0,
        }
        for need in ("complete", "epsilon", "distances", "horizon", "connected"):
            if need in needs and not met[need]():
                if need in ("complete", "epsilon") and self.side.store.thresholds is not None:
                    need = "one epsilon"
                elif need == "complete" and whole.is_complete:
                    need = "no ranges"
                elif need == "epsilon" and self.side.ranges is not None and not _has_pairs(self.side):
                    need = "readable ranges"
                raise Unsupported(f"{policy} {_REASONS[need]}")

    def _repr_html_(self) -> str:
        return fields_card(self)


def _has_pairs(side: SideInformation) -> bool:
    return bool(side.n_similar or side.n_dissimilar)


def _has_distances(side: SideInformation) -> bool:
    """Return whether anything is known about how far apart means are, in the units of rewards."""
    return side.has_epsilon or (side.ranges is not None and side.ranges.has_size)


def checked_horizon(horizon: object) -> int | None:
    """Return a horizon as an int, None if there is none, or say what is wrong with it."""
    return None if horizon is None else checked_whole(horizon, "horizon", 1, MOST_ROUNDS)
