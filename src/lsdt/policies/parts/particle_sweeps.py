"""Sweeps over mean vectors that are drawn side by side: every arm of all chains is moved in turn.

Two bodies with the same bits: NumPy moves an arm in all chains at once, and compiled code, ten times as fast,
goes through chains in its innermost loop.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel import Array, compiled

if TYPE_CHECKING:
    from lsdt.policies.parts.mean_draws_kernel import DrawnRelations


def _sweep_rows(
    x: Array,
    relations: DrawnRelations,
    width: float,
    points: Array,
    jumps: bool,
    repairs: bool,
    top: Array,
    broken: Array,
) -> None:
    """Do the same as `sweep_chains`, by NumPy."""
    broken[:] = 0
    chains, is_led = np.arange(x.shape[1]), top >= 0
    for arm in range(len(x)):
        leads = top == arm
        ceiling = np.where(is_led & ~leads, x[top, chains], np.inf)
        others = np.delete(x[:, leads], arm, axis=0)
        near = slice(relations.starts[arm], relations.starts[arm + 1])
        distant = slice(relations.far_starts[arm], relations.far_starts[arm + 1])
        low_by, high_by = relations.low[near, None], relations.high[near, None]
        apart, now = relations.apart[distant, None], x[arm]
        beside, away = x[relations.others[near]], x[relations.far[distant]]
        low = (beside + low_by).max(axis=0, initial=0.0)
        low[leads] = np.maximum(low[leads], others.max(axis=0, initial=0.0))
        high = np.minimum((beside + high_by).min(axis=0, initial=width), ceiling)
        if not jumps:
            is_below = away <= now
            low = np.maximum(low, np.where(is_below, away + apart, -np.inf).max(axis=0, initial=0.0))
            high = np.minimum(high, np.where(is_below, np.inf, away - apart).min(axis=0, initial=width))
            fits = low < high
            x[arm] = np.where(fits, np.minimum(low + points[arm] * (high - low), high), now)
            broken += ~fits
            continue
        y = np.minimum(low, high) + points[arm] * np.abs(high - low)
        after = (np.abs(y - away) < apart).sum(axis=0)
        if not repairs:
            x[arm] = np.where((low < high) & (after == 0), y, now)
            continue
        beyond = y - beside
        after += ((beyond < low_by) | (beyond > high_by)).sum(axis=0) + (y > ceiling)
        after[leads] += (others > y[leads]).sum(axis=0)
        beyond = now - beside
        before = ((beyond < low_by) | (beyond > high_by)).sum(axis=0) + (now > ceiling)
        before[leads] += (others > now[leads]).sum(axis=0)
        before += (np.abs(now - away) < apart).sum(axis=0)
        x[arm] = np.where(after <= before, y, now)
        broken += np.minimum(before, after)


def _size(x: Array, relations: DrawnRelations, *_: object) -> int:
    """Return the visits to relations, over 20: NumPy makes twenty in the time of one in the interpreter."""
    return (len(relations.others) + len(relations.far)) * int(x.shape[1]) // 20


@partial(compiled, work=_size, plain=_sweep_rows)
def sweep_chains(
    x: Array,
    relations: DrawnRelations,
    width: float,
    points: Array,
    jumps: bool,
    repairs: bool,
    top: Array,
    broken: Array,
) -> None:
    """Move every arm of all chains in turn, by the uniform numbers in `points`.

    ``x[i, c]`` is the mean of arm i in chain c. An arm is drawn from the stretch between its dissimilar arms
    that it lies in. Where it `jumps`, it goes to a uniform point of what similar arms leave for it, if it is
    clear of dissimilar arms there. Both leave the uniform law as it is, where no relation is broken. A sweep
    that `repairs` also jumps where relations are broken, if no more are broken after it. How many are broken
    in each chain is put into `broken`; a sweep that neither jumps nor repairs counts arms without any room.
    Where ``top[c]`` is an arm and not -1, no arm of chain c may lie above it: relations like the others.
    """
    n_chains = x.shape[1]
    low, high, y = np.empty(n_chains), np.empty(n_chains), np.empty(n_chains)
    before, after = np.empty(n_chains, np.int64), np.empty(n_chains, np.int64)
    for chain in range(n_chains):
        broken[chain] = 0
    for arm in range(len(x)):
        near, near_end = relations.starts[arm], relations.starts[arm + 1]
        distant, distant_end = relations.far_starts[arm], relations.far_starts[arm + 1]
        for chain in range(n_chains):
            low[chain], high[chain], before[chain], after[chain] = 0.0, width, 0, 0
        for at in range(near, near_end):
            other, low_by, high_by = relations.others[at], relations.low[at], relations.high[at]
            for chain in range(n_chains):
                low[chain] = max(low[chain], x[other, chain] + low_by)
                high[chain] = min(high[chain], x[other, chain] + high_by)
        for chain in range(n_chains):
            if top[chain] == arm:
                for other in range(len(x)):
                    if other != arm:
                        low[chain] = max(low[chain], x[other, chain])
            elif top[chain] >= 0:
                high[chain] = min(high[chain], x[top[chain], chain])
        if not jumps:
            for at in range(distant, distant_end):
                other, apart = relations.far[at], relations.apart[at]
                for chain in range(n_chains):
                    away = x[other, chain]
                    is_below = away <= x[arm, chain]
                    low[chain] = max(low[chain], away + apart if is_below else -math.inf)
                    high[chain] = min(high[chain], math.inf if is_below else away - apart)
            for chain in range(n_chains):
                if low[chain] < high[chain]:
                    drawn = low[chain] + points[arm, chain] * (high[chain] - low[chain])
                    x[arm, chain] = min(drawn, high[chain])
                else:
                    broken[chain] += 1
            continue
        for chain in range(n_chains):
            bottom, room = min(low[chain], high[chain]), abs(high[chain] - low[chain])
            y[chain] = bottom + points[arm, chain] * room
        for at in range(distant, distant_end):
            other, apart = relations.far[at], relations.apart[at]
            for chain in range(n_chains):
                after[chain] += 1 if abs(y[chain] - x[other, chain]) < apart else 0
        if not repairs:
            for chain in range(n_chains):
                if low[chain] < high[chain] and after[chain] == 0:
                    x[arm, chain] = y[chain]
            continue
        for at in range(near, near_end):
            other, low_by, high_by = relations.others[at], relations.low[at], relations.high[at]
            for chain in range(n_chains):
                then, now = y[chain] - x[other, chain], x[arm, chain] - x[other, chain]
                after[chain] += 1 if then < low_by or then > high_by else 0
                before[chain] += 1 if now < low_by or now > high_by else 0
        for at in range(distant, distant_end):
            other, apart = relations.far[at], relations.apart[at]
            for chain in range(n_chains):
                before[chain] += 1 if abs(x[arm, chain] - x[other, chain]) < apart else 0
        for chain in range(n_chains):
            if top[chain] == arm:
                for other in range(len(x)):
                    after[chain] += 1 if other != arm and x[other, chain] > y[chain] else 0
                    before[chain] += 1 if x[other, chain] > x[arm, chain] else 0
            elif top[chain] >= 0:
                after[chain] += 1 if y[chain] > x[top[chain], chain] else 0
                before[chain] += 1 if x[arm, chain] > x[top[chain], chain] else 0
            broken[chain] += min(before[chain], after[chain])
            if after[chain] <= before[chain]:
                x[arm, chain] = y[chain]
