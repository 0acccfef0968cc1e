"""The least regret of rates that distinguish the true means from convex sets of alternatives.

Given gaps g_i > 0 and convex sets P_k of shifts d, find

    minimise   sum of g_i w_i
    such that  sum of w_i d_i^2 >= 1   for every d in every P_k,   w_i >= 1 / g_i^2 for some arms,   w >= 0.

Its dual puts weights on alternatives; as squares are convex, one alternative of each set is enough (Jensen):

    maximise   sum of y_k   such that   sum over k of y_k d_ki^2 <= g_i for every arm i,   d_k in P_k.

With v_k = y_k d_k every set becomes a cone, and v^2 / y, convex, is the upper envelope of its tangents
2 r v - r^2 y. The dual with some of the tangents is a linear programme. Its multipliers are rates that meet
the original constraints, which gives an upper bound; its solution, shrunk until it meets the missing
tangents, gives a lower bound. The tangents at the solution are added until the two bounds meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from lsdt.errors import LsdtError
from lsdt.theory.lower_bounds.linear_programme import LinearProgramme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.theory.lower_bounds.alternatives import Polytope

# Limit for tolerances that floats cannot meet; the default tolerance took 1 to 11 rounds for 5 to 60 arms.
_MOST_ROUNDS = 500


class Game(NamedTuple):
    """The problem above: gaps g, the arms with w_i >= 1 / g_i^2 (`floored`), and the sets P_k.

    Every alternative shifts arm i by at least ``least_shift[i]``.
    """

    gaps: NDArray[np.float64]
    floored: NDArray[np.bool_]
    sets: Sequence[Polytope]
    least_shift: NDArray[np.float64]


class Price(NamedTuple):
    """A lower and an upper bound on the least regret, and rates whose regret is the upper one."""

    lower: float
    upper: float
    rates: NDArray[np.float64]


class _Tangents:
    """The dual as a growing programme; columns: y of every set, v of every set in turn, p of floored arms.

    Shifts are measured in units of sqrt(g_i), or g_i for floored arms, so that all rows are of the same size.
    The floor of an arm contributes 1 / g_i to the value; p_i is the part of it that is given up so that the
    constraint of the arm holds.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.n_sets, self.n_arms = len(game.sets), len(game.gaps)
        self.free = game.gaps > 0.0
        safe = np.where(self.free, game.gaps, 1.0)
        self.unit = np.where(game.floored, safe, np.sqrt(safe))
        self.floored = np.flatnonzero(game.floored)
        self.owner: list[NDArray[np.int64]] = []
        still = np.where(np.tile(self.free, self.n_sets), np.inf, 0.0)
        top = np.full(self.n_sets, np.inf)
        cost = np.concatenate([np.ones(self.n_sets), np.zeros(len(still)), -np.ones(len(self.floored))])
        lower = np.concatenate([np.zeros(self.n_sets), -still, np.zeros(len(self.floored))])
        upper = np.concatenate([top, still, 1.0 / game.gaps[self.floored]])
        self.programme = LinearProgramme(cost, lower, upper)
        self.n_columns = len(cost)
        for number, alternatives in enumerate(game.sets):
            self._add_cone(number, alternatives)
        self._add_least_shifts()

    def _add_cone(self, number: int, alternatives: Polytope) -> None:
        n_rows = len(alternatives.offsets)
        weight = np.zeros((n_rows, self.n_sets))
        weight[:, number] = -alternatives.offsets
        parts = [csr_array((n_rows, self.n_arms))] * self.n_sets
        parts[number] = csr_array(alternatives.rows.multiply(self.unit[None, :]))
        rest = csr_array((n_rows, len(self.floored)))
        self.programme.add(csr_array(hstack([csr_array(weight), *parts, rest])), np.zeros(n_rows))
        self.owner.append(np.full(n_rows, -1))

    def _add_least_shifts(self) -> None:
        """Add y s^2 <= g, which bounds the programme; every alternative moves the arm by at least s."""
        arms = np.flatnonzero(self.game.least_shift)
        square = (self.game.least_shift[arms] / self.unit[arms]) ** 2
        rows = np.zeros((len(arms), self.n_columns))
        rows[:, : self.n_sets] = square[:, None]
        self.programme.add(csr_array(rows), np.ones(len(arms)))
        self.owner.append(arms)

    def add_tangents(self, slopes: NDArray[np.float64], arms: NDArray[np.int64]) -> None:
        """Add the tangents with these slopes, one row of slopes per set, for the given arms."""
        if not len(arms):
            return
        chosen = slopes[:, arms]
        parts = [csr_array(-(chosen.T**2))]
        numbers = np.arange(len(arms))
        for slope in chosen:
            parts.append(csr_array((2.0 * slope, (numbers, arms)), shape=(len(arms), self.n_arms)))
        taken = self.game.floored[arms]
        places = np.searchsorted(self.floored, arms[taken])
        parts.append(
            csr_array((-np.ones(len(places)), (numbers[taken], places)), shape=(len(arms), len(self.floored)))
        )
        self.programme.add(csr_array(hstack(parts)), np.where(taken, 0.0, 1.0))
        self.owner.append(arms)

    def solve(self) -> tuple[Price, NDArray[np.float64], NDArray[np.int64]]:
        """Return bounds and rates, the slopes at the solution, and the arms that lack a tangent there."""
        _, point, duals = self.programme.solve()
        owner = np.concatenate(self.owner)
        rows = owner >= 0
        price = np.bincount(owner[rows], np.maximum(duals[rows], 0.0), minlength=self.n_arms)
        rates = np.where(self.free, price / self.unit**2, 0.0)
        rates[self.floored] = np.maximum(rates[self.floored], 1.0 / self.game.gaps[self.floored] ** 2)
        y = point[: self.n_sets]
        shifts = point[self.n_sets : self.n_sets * (1 + self.n_arms)].reshape(self.n_sets, self.n_arms)
        present = y > 1e-12 * max(float(y.max()), 1e-300)
        slopes = np.where(present[:, None], shifts / np.where(present, y, 1.0)[:, None], 0.0)
        y = np.where(present, y, 0.0)
        used = (y[:, None] * slopes**2).sum(axis=0)
        taken = used[self.floored]
        room = np.where(self.game.floored, used * self.game.gaps, used)
        total = (y.sum() - taken.sum()) / max(1.0, float(room.max()))
        lower = max(total, 0.0) + float((1.0 / self.game.gaps[self.floored]).sum())
        held = np.ones(self.n_arms)
        held[self.floored] = point[self.n_columns - len(self.floored) :]
        missing = np.flatnonzero(self.free & (used > held * (1.0 + 1e-10) + 1e-14))
        return Price(lower, float(self.game.gaps @ rates), rates), slopes, missing


def solve_game(game: Game, tolerance: float) -> Price:
    """Return bounds that differ by at most `tolerance`, relative to the regret beyond that of the floors."""
    tangents = _Tangents(game)
    least, base = 0.0, float((1.0 / game.gaps[game.floored]).sum())
    for _ in range(_MOST_ROUNDS):
        priced, slopes, missing = tangents.solve()
        least = max(least, priced.lower)
        enough = tolerance * (priced.upper - base) + 1e-12 * priced.upper  # the precision of floats
        if priced.upper - least <= enough or not len(missing):
            return priced._replace(lower=min(least, priced.upper))
        tangents.add_tangents(slopes, missing)
    raise LsdtError(
        f"the bounds {least:.9g} and {priced.upper:.9g} did not meet within {tolerance:g} after "
        f"{_MOST_ROUNDS} rounds; ask for a larger tolerance"
    )
