"""Beta posteriors of arms that win or lose, as Thompson sampling draws from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import UNIT_DEPTH, UNIT_WIDTH, Array, gamma_from, gamma_width, inlined, uniform
from lsdt.policies.parts.equal_posteriors import Groups, move_arm, new_groups

if TYPE_CHECKING:
    from lsdt.kernel import Reals


class BetaPosteriors(NamedTuple):
    """Per arm what the gamma numbers of its posterior are drawn with: wins and losses plus one.

    Many arms are grouped by these (`policies.parts.equal_posteriors`); the groups of few are empty.
    """

    win_depth: Reals
    win_width: Reals
    loss_depth: Reals
    loss_width: Reals
    groups: Groups


def uniform_priors(sizes: Array, members: Array) -> tuple[BetaPosteriors, Array]:
    """Return the uniform prior Beta(1, 1) of every arm, and where each family of arms has room for groups.

    The arms of the families, of these sizes, lie one after the other in `members`.
    """
    depth, width = (np.full(len(members), value) for value in (UNIT_DEPTH, UNIT_WIDTH))
    groups, tables = new_groups(UNIT_DEPTH, UNIT_DEPTH, sizes, members)
    return BetaPosteriors(depth, width, depth, width, groups), tables


def uniform_prior(n_arms: int) -> BetaPosteriors:
    """Return the uniform prior of this many arms, all of one family."""
    return uniform_priors(np.array([n_arms]), np.arange(n_arms))[0]


def posterior_places(name: str) -> dict[str, str]:
    """Return where the fields of groups point, for a policy that has posteriors of this name in its state."""
    return {
        f"{name}.groups.order": f"{name}.win_depth",
        f"{name}.groups.place": f"{name}.win_depth",
        f"{name}.groups.starts": f"{name}.groups.order",
        f"{name}.groups.n_groups": f"{name}.groups.starts",
    }


@inlined
def toss(reward: float, stream: Array) -> bool:
    """Return a coin that falls on True with probability `reward`, clipped to [0, 1]."""
    if reward >= 1.0:
        return True
    return reward > 0.0 and uniform(stream) < reward


@inlined
def learn_coin(posteriors: BetaPosteriors, arm: int, won: bool, which: int, first: int, end: int) -> None:
    """Add a win or a loss to the posterior of an arm.

    Family `which` has the entries of groups from `first` to `end`; it is -1 for an arm that is in no group.
    """
    wins, losses = posteriors.win_depth, posteriors.loss_depth
    old_wins, old_losses = wins[arm], losses[arm]
    if won:
        wins[arm] += 1.0
        posteriors.win_width[arm] = gamma_width(wins[arm] + 1.0 / 3.0)
    else:
        losses[arm] += 1.0
        posteriors.loss_width[arm] = gamma_width(losses[arm] + 1.0 / 3.0)
    if which >= 0 and posteriors.groups.n_groups[which] > 0:
        move_arm(posteriors.groups, first, end, which, arm, old_wins, old_losses, wins[arm], losses[arm])


@inlined
def beta_draw(posteriors: BetaPosteriors, arm: int, stream: Array) -> float:
    """Draw from the posterior of an arm."""
    x = gamma_from(stream, posteriors.win_depth[arm], posteriors.win_width[arm])
    y = gamma_from(stream, posteriors.loss_depth[arm], posteriors.loss_width[arm])
    return x / (x + y)


@inlined
def posterior_mean(posteriors: BetaPosteriors, arm: int) -> float:
    """Return the mean of an arm's posterior."""
    wins, losses = posteriors.win_depth[arm] + 1.0 / 3.0, posteriors.loss_depth[arm] + 1.0 / 3.0
    return wins / (wins + losses)
