"""The data for the sliders of the examples: candidates for every epsilon and share of known pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.side_information import ARMS, EPSILON, MEANS, SideInformation, from_means

EPSILONS = tuple(round(0.03 + 0.02 * step, 2) for step in range(15))  # must contain EPSILON
SHARES = tuple(round(0.1 * step, 1) for step in range(11))
_SEED = 4  # of the pairs that are revealed; any other would do
_SIGNS = {0: ".", 1: "s", -1: "d"}


def playground() -> dict[str, Any]:
    """Return the eleven arms of the examples under every epsilon and every share p of known pairs.

    Larger shares reveal all that smaller ones reveal. Every state holds the candidates, the relations of all
    pairs as one letter each, and for every arm that a triangle excludes the pair that excludes it.
    """
    states = [_state(epsilon, share) for epsilon in EPSILONS for share in SHARES]
    return {
        "arms": list(ARMS),
        "means": list(MEANS),
        "epsilons": list(EPSILONS),
        "shares": list(SHARES),
        "start": [EPSILONS.index(EPSILON), len(SHARES) // 2],
        "states": states,
    }


def state_side(epsilon: float, share: float) -> SideInformation:
    """Return the side information of one state.

    Examples
    --------
    >>> from lsdt.explorer.playground import state_side
    >>> state_side(.15, 1.).is_complete, state_side(.15, 0.).n_similar
    (True, 0)
    """
    return from_means(MEANS, epsilon, arm_ids=ARMS).reveal(share, share, seed=_SEED)


def _state(epsilon: float, share: float) -> list[Any]:
    side = state_side(epsilon, share)
    found = candidate_set(side)
    relation = side.store.relation
    signs = "".join(_SIGNS[relation(a, b)] for b in range(len(ARMS)) for a in range(b))
    out = np.setdiff1d(np.arange(len(ARMS)), found.arms).tolist()
    pairs = {str(arm): pair for arm in out if (pair := _triangle(side, arm)) is not None}
    return [found.arms.tolist(), signs, pairs]


def _triangle(side: SideInformation, arm: int) -> list[int] | None:
    """Return two arms that are similar to this one and dissimilar to each other, or None."""
    near = [other for other in range(side.n_arms) if other != arm and side.store.relation(arm, other) > 0]
    pairs = ([a, b] for a in near for b in near if a < b and side.store.relation(a, b) < 0)
    return next(pairs, None)
