"""Which of very many arms has the largest ``mean + x * isq``, without looking at all of them.

In a round one arm changes and x grows a little; the other indices are lines in x. A tournament between the
arms is therefore kept from round to round, with every game a note until which x its outcome is certain. A
round plays again only the games of the changed arm and those whose note ran out: O(log n) and now and then a
few more, where a scan takes O(n).

The winner is that of the scan, rounding and ties included. Games compare the very numbers of the scan, and of
two that are equal the lower arm wins. A note is made for computed numbers, not for exact lines: it runs out
where rounding could begin to matter (`certain_until`), and from there on the game is played for every new x.
Arms with the same line tie for every x, so that the many ties of rewards 0 and 1 cost nothing.

A tree of n arms takes 2 n words in the state of a policy, 16 bytes an arm. Games are numbered as in a heap:
game 1 is the final, the winners of games 2 i and 2 i + 1 meet in game i, and the numbers n .. 2 n - 1 are the
arms themselves. Word 2 i is the winner of game i, word 2 i + 1 the x until which its outcome and those of all
games below it are certain, -inf when it has to be played in any case. Word 1 is the last x. Several trees lie
one after the other in one array: the tree of the arms ``members[first:first + n]`` begins at word 2 first.
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel.jit import Array, inlined

# From how many arms on policies have a tree: as fast as a scan at about 250, twice as fast at 500.
MANY_ARMS = 500

# An index is two rounded operations, and so is each term of a note: 6 units of 2^-53 of the numbers involved
# bound all of it. More than the double of that is the margin; the second number stands for what underflows.
_MARGIN, _LEAST = 16.0 * 2.0**-53, 1e-300


def new_trees(n_arms: int) -> Array:
    """Return room for trees of together `n_arms` arms, with no game played."""
    trees = np.zeros(2 * n_arms)
    trees[1::2] = -np.inf
    return trees


@inlined
def mark_changed(trees: Array, first: int, n_arms: int, leaf: int) -> None:
    """Note that an arm has changed: its games are played again when a winner is next asked for.

    A game that is marked has all games above it marked. Between two questions a change costs O(1).
    """
    game = (leaf + n_arms) >> 1
    while game > 0 and trees[2 * (first + game) + 1] > -math.inf:
        trees[2 * (first + game) + 1] = -math.inf
        game >>= 1


@inlined
def winner(
    trees: Array, first: int, n_arms: int, means: Array, isq: Array, x: float, members: Array | None
) -> int:
    """Return the arm of a tree with the largest ``mean + x * isq``, the lowest one if there are several.

    `members` has the arms of every tree in ascending order; None when there is one tree, of all arms. `x` is
    at least 0 and should not fall from call to call: if it does, all games are played again.
    """
    if x < trees[2 * first + 1]:
        for game in range(1, n_arms):
            trees[2 * (first + game) + 1] = -math.inf
    trees[2 * first + 1] = x
    game = 1
    while n_arms > 1 and trees[2 * first + 3] < x:
        left = 2 * game
        if left < n_arms and trees[2 * (first + left) + 1] < x:
            game = left
        elif left + 1 < n_arms and trees[2 * (first + left) + 3] < x:
            game = left + 1
        else:
            play_game(trees, first, n_arms, means, isq, x, members, game)
            game >>= 1
    return contestant(trees, first, n_arms, members, 1)


@inlined
def contestant(trees: Array, first: int, n_arms: int, members: Array | None, game: int) -> int:
    """Return the arm that comes out of a game, or the one at a leaf."""
    if game < n_arms:
        return int(trees[2 * (first + game)])
    if members is None:
        return game - n_arms
    return members[first + game - n_arms]


@inlined
def play_game(
    trees: Array,
    first: int,
    n_arms: int,
    means: Array,
    isq: Array,
    x: float,
    members: Array | None,
    game: int,
) -> None:
    """Play one game; the games below it are certain at `x`."""
    left, until = 2 * game, math.inf
    best = contestant(trees, first, n_arms, members, left)
    other = contestant(trees, first, n_arms, members, left + 1)
    highest, value = means[best] + x * isq[best], means[other] + x * isq[other]
    if value > highest or (value == highest and other < best):
        best, other = other, best
    if left < n_arms:
        until = trees[2 * (first + left) + 1]
    if left + 1 < n_arms:
        until = min(until, trees[2 * (first + left) + 3])
    own = certain_until(means[best], isq[best], means[other], isq[other], best < other, x)
    trees[2 * (first + game)] = best
    trees[2 * (first + game) + 1] = min(own, until)


@inlined
def certain_until(
    mean: float, isq: float, other_mean: float, other_isq: float, wins_ties: bool, x: float
) -> float:
    """Return up to which x an arm that wins at `x` is certain to keep winning; `x` if that is not known."""
    rise, gain = mean - other_mean, isq - other_isq
    if wins_ties and rise >= 0.0 and gain >= 0.0:
        return math.inf  # rounding never turns an order around: at worst it makes a tie
    lead = rise - _MARGIN * (abs(mean) + abs(other_mean)) - _LEAST
    slope = gain - _MARGIN * (isq + other_isq)
    if not lead + slope * x > 0.0:
        return x
    return math.inf if slope >= 0.0 else max(lead / -slope, x)
