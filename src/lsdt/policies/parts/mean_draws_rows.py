"""Draws of mean vectors for up to 200 arms: many Markov chains side by side, with NumPy alone.

The law and the moves are those of `mean_draws_kernel`, but a move is made in all chains at once, and in all
arms at once that no relation ties to one another. So an agent of some hundred arms needs no compiler.

Most arms have little room: similar arms leave them an interval no longer than the stretch that a single
dissimilar arm forbids. A forbidden stretch that meets the interval then covers one of its ends, so what is
left is one interval, and the arm never gets past a dissimilar one. Two such *narrow* arms of the same
component keep their order for ever, up to a reflection of the component. Their relations are therefore
linear, ``z_i - z_j <= w_ij``, in coordinates z that are reflected with the component, and all those that
follow from others by sums along a path are left out: of some thousand relations a few hundred remain.

Narrow arms that keep their order divide the allowed means into pieces. Chains stay in that of the first
means (and in its mirror image), here as in `mean_draws_kernel`. With complete information, where order
follows from relations, there is no other; with partial information there may be: if 1 is next to 0 and 2 next
to 1, but not to 0, and 3 and 4 lie likewise, both branches may lie on the same side of 0, or on two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.policies.parts.mean_draws_kernel import DrawnRelations

    Floats = NDArray[np.float64]
    Wholes = NDArray[np.int64]

MOST_ROWS = 200  # arms: leaving out what follows takes their cube, a tenth of a second for 400
_CHAINS = 50  # side by side: more need more sweeps in all before the first draw, fewer waste calls of NumPy
_BURN_IN = 20  # times as many sweeps before the first draw as between two, as in the kernel
_NEAR = 0.1  # how far a small move takes a component, as a share of the box
_SLACK = 1.0 - 1e-12  # rounding may have moved dissimilar arms together by a hair
_CLEARLY = 1e-12  # a relation is left out if others imply more, by more than rounding


class _Group(NamedTuple):
    """Arms that move at once, and tables of what bounds each: one padded row per arm.

    ``z[above] + above_by`` bounds them from above, ``z[below] - below_by`` from below. ``loose`` are
    dissimilar arms on either side. Where the arms are ``wide``, these may leave several intervals.
    """

    arms: Wholes
    above: Wholes
    above_by: Floats
    below: Wholes
    below_by: Floats
    loose: Wholes
    apart: Floats
    wide: bool


class MovableComponent(NamedTuple):
    """Linked arms, which move together; their dissimilar pairs have `places` in `arms`, and `others`."""

    arms: Wholes
    turns: bool
    places: Wholes
    others: Wholes
    apart: Floats


class _Chains(NamedTuple):
    """What all chains share. ``ends`` are pairs of arms of different components, ``ends_apart`` wide."""

    width: float
    component: Wholes
    groups: list[_Group]
    components: list[MovableComponent]
    ends: tuple[Wholes, Wholes]
    ends_apart: Floats


def draw_side_by_side(
    x: Floats,
    width: float,
    relations: DrawnRelations,
    sweeps: int,
    kept: Wholes,
    draws: Floats,
    rng: np.random.Generator,
) -> None:
    """Fill the rows of `draws` with means of the arms `kept`, from means x that satisfy all relations.

    All chains start at the same means, in the middle of those in the order of x. `sweeps` lie between two
    draws of a chain, more before its first.
    """
    chains = _chains_of(x, width, relations)
    n_chains = min(_CHAINS, len(draws))
    z = np.repeat(_centre(x, width, relations)[:, None], n_chains, axis=1)
    sign = np.ones((len(relations.turns), n_chains))
    can_turn, is_odd = bool((relations.turns == 1).all()), np.arange(n_chains) % 2 == 1
    for first in range(0, len(draws), n_chains):
        for _ in range(sweeps if first else _BURN_IN * sweeps):
            _sweep(z, sign, chains, rng)
        drawn = z[kept] * sign[chains.component[kept]]
        if can_turn:  # every other draw, which is more even than a coin
            drawn = np.where(is_odd, width - drawn, drawn)
            is_odd = ~is_odd
        rows = draws[first : first + n_chains]
        rows[:] = drawn.T[: len(rows)]


# ---------------------------------------------------------------- tables, made once


def _chains_of(x: Floats, width: float, relations: DrawnRelations) -> _Chains:
    arms = np.arange(len(x))
    owners = np.repeat(arms, np.diff(relations.starts))
    far_owners = np.repeat(arms, np.diff(relations.far_starts))
    far, apart, component = relations.far, relations.apart, relations.component
    least_link, least_far = np.full(len(x), np.inf), np.full(len(x), np.inf)
    np.minimum.at(least_link, owners, relations.high - relations.low)
    np.minimum.at(least_far, far_owners, 2.0 * apart)
    narrow = (least_link <= least_far) | np.isinf(least_far)
    bounds = np.full((len(x), len(x)), np.inf)
    np.minimum.at(bounds, (owners, relations.others), relations.high)
    ordered = (component[far_owners] == component[far]) & narrow[far_owners] & narrow[far]
    lower = ordered & (x[far_owners] < x[far])
    np.minimum.at(bounds, (far_owners[lower], far[lower]), -apart[lower])
    bounds = _without_implied(bounds)
    loose = np.full((len(x), len(x)), -np.inf)
    np.maximum.at(loose, (far_owners[~ordered], far[~ordered]), apart[~ordered])
    groups = []
    for wide in (False, True):
        these = np.flatnonzero(narrow != wide)
        tied = np.isfinite(bounds) | np.isfinite(bounds.T) | np.isfinite(loose)
        groups += [_group(members, bounds, loose, wide) for members in _independent(these, tied)]
    across = component[far_owners] != component[far]
    pairs = far_owners[across], far[across], apart[across] * _SLACK
    once = pairs[0] < pairs[1]
    ends, ends_apart = (pairs[0][once], pairs[1][once]), pairs[2][once][:, None]
    return _Chains(width, component, groups, parts_of(relations), ends, ends_apart)


def parts_of(relations: DrawnRelations) -> list[MovableComponent]:
    """Return the components that can move; an arm by itself is put anywhere by its own moves."""
    component, n_components = relations.component, len(relations.turns)
    if n_components == 1:
        return []
    owners = np.repeat(np.arange(len(component)), np.diff(relations.far_starts))
    across = component[owners] != component[relations.far]
    owners, others = owners[across], relations.far[across]
    apart = relations.apart[across] * _SLACK
    parts = []
    for which in range(n_components):
        members = np.flatnonzero(component == which)
        if len(members) > 1:
            own = component[owners] == which
            places = np.searchsorted(members, owners[own])
            turns = bool(relations.turns[which] == 1)
            parts.append(MovableComponent(members, turns, places, others[own], apart[own][:, None]))
    return parts


def _centre(x: Floats, width: float, relations: DrawnRelations) -> Floats:
    """Return means in the middle of all those in [0, width] whose dissimilar arms are in the order of x.

    Similar arms that are put as near together as they can be, as x may be, take hundreds of sweeps to part.
    For every arm the others may all lie as far above it, or as far below it, as relations let each of them;
    this is the average of these means.
    """
    n_arms = len(x)
    arms = np.arange(n_arms)
    bounds = np.full((n_arms + 1, n_arms + 1), np.inf)
    np.fill_diagonal(bounds, 0.0)
    bounds[:n_arms, n_arms], bounds[n_arms, :n_arms] = width, 0.0  # the last row is the floor of the box
    owners = np.repeat(arms, np.diff(relations.starts))
    np.minimum.at(bounds, (owners, relations.others), relations.high)
    far_owners = np.repeat(arms, np.diff(relations.far_starts))
    lower = x[far_owners] < x[relations.far]
    np.minimum.at(bounds, (far_owners[lower], relations.far[lower]), -relations.apart[lower])
    least = _least_sums(bounds)
    if (np.diagonal(least) < 0.0).any():  # by rounding, where ranges are points
        return x
    middle = 0.5 * (least.mean(axis=1) - least.mean(axis=0))
    return middle[:n_arms] - middle[n_arms]


def _least_sums(bounds: Floats) -> Floats:
    """Return the least sums of bounds along paths (Floyd, Warshall)."""
    least = bounds.copy()
    for via in range(len(least)):
        np.minimum(least, least[:, via, None] + least[via], out=least)
    return least


def _without_implied(bounds: Floats) -> Floats:
    """Return ``x_i - x_j <= bounds[i, j]`` without what follows from sums along paths."""
    least = _least_sums(bounds)
    if (np.diagonal(least) < 0.0).any():  # by rounding, where ranges are points
        return bounds
    finite = np.abs(bounds[np.isfinite(bounds)])
    slack = _CLEARLY * float(finite.max()) if len(finite) else 0.0
    return np.where(least < bounds - slack, np.inf, bounds)


def _independent(arms: Wholes, tied: NDArray[np.bool_]) -> list[Wholes]:
    """Split arms into few sets of which no two are tied: each joins the first set that it can."""
    sets: list[list[int]] = []
    blocked: list[NDArray[np.bool_]] = []
    for arm in arms[np.argsort(-tied[arms].sum(axis=1), kind="stable")].tolist():
        for members, taken in zip(sets, blocked, strict=True):
            if not taken[arm]:
                members.append(arm)
                taken |= tied[arm]
                break
        else:
            sets.append([arm])
            blocked.append(tied[arm].copy())
    return [np.array(members) for members in sets]


def _group(arms: Wholes, bounds: Floats, loose: Floats, wide: bool) -> _Group:
    above, above_by = _padded(bounds[arms], np.inf)
    below, below_by = _padded(bounds.T[arms], np.inf)
    others, apart = _padded(loose[arms], -np.inf)
    return _Group(arms, above, above_by, below, below_by, others, apart, wide)


def _padded(table: Floats, nothing: float) -> tuple[Wholes, Floats]:
    """Return columns and values of the finite entries, row by row; `nothing` fills short rows."""
    most = int(np.isfinite(table).sum(axis=1).max())
    columns = np.argsort(~np.isfinite(table), axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(table, columns, axis=1)
    return columns, np.where(np.isfinite(values), values, nothing)[:, :, None]


# ---------------------------------------------------------------- moves, in all chains at once


def _sweep(z: Floats, sign: Floats, chains: _Chains, rng: np.random.Generator) -> None:
    """Move every arm once, and components; ``sign`` says where a component is reflected."""
    points = rng.random(z.shape)
    begin = 0
    for group in chains.groups:
        _move_arms(z, sign, chains, group, points[begin : begin + len(group.arms)])
        begin += len(group.arms)
    for part in chains.components:
        move_component(z, sign, chains.component, chains.width, part, rng)
    if len(sign) > 1:
        _trade_neighbours(z, sign, chains, rng)
    x = z * sign[chains.component] if len(sign) > 1 else z
    low, high = x.min(axis=0), x.max(axis=0)
    shift = rng.random(z.shape[1]) * (chains.width - (high - low)) - low
    z += shift * sign[chains.component] if len(sign) > 1 else shift


def _move_arms(z: Floats, sign: Floats, chains: _Chains, group: _Group, points: Floats) -> None:
    """Draw the means of arms that do not depend on one another, given all others."""
    now = z[group.arms]
    low: Floats | float = 0.0
    high: Floats | float = chains.width
    if len(sign) > 1:
        own = sign[chains.component[group.arms]]
        low = chains.width * np.minimum(own, 0.0)
        high = low + chains.width
    if group.above.shape[1]:
        high = np.minimum(high, (z[group.above] + group.above_by).min(axis=1))
    if group.below.shape[1]:
        low = np.maximum(low, (z[group.below] - group.below_by).max(axis=1))
    if group.loose.shape[1]:
        others = z[group.loose]
        if len(sign) > 1:
            others = others * (sign[chains.component[group.loose]] * own[:, None])
        left, right = others - group.apart, others + group.apart
        if group.wide:
            z[group.arms] = _point_between(now, low, high, left, right, points)
            return
        is_below = others <= now[:, None]
        low = np.maximum(low, np.where(is_below, right, -np.inf).max(axis=1))
        high = np.minimum(high, np.where(is_below, np.inf, left).min(axis=1))
    drawn = np.minimum(low + points * (high - low), high)
    z[group.arms] = np.where(low < high, drawn, now)


def _point_between(
    now: Floats, low: Floats | float, high: Floats | float, left: Floats, right: Floats, points: Floats
) -> Floats:
    """Return uniform points of intervals without the stretches from left to right; `now` if none is left."""
    low, high = np.broadcast_to(low, now.shape), np.broadcast_to(high, now.shape)
    order = np.argsort(left, axis=1, kind="stable")
    left, right = np.take_along_axis(left, order, axis=1), np.take_along_axis(right, order, axis=1)
    # Padding begins at infinity and must end there, or the last free interval would count once more for each.
    left, right = np.minimum(left, high[:, None]), np.maximum(left, right)
    # A free interval begins where the stretches so far end, and ends where the next one begins.
    begins = np.maximum.accumulate(np.concatenate([low[:, None], right], axis=1), axis=1)
    ends = np.concatenate([left, high[:, None]], axis=1)
    lengths = np.cumsum(np.maximum(ends - begins, 0.0), axis=1)
    free = lengths[:, -1]
    target = points * free
    which = np.minimum((lengths <= target[:, None]).sum(axis=1), lengths.shape[1] - 1)[:, None]
    last = np.take_along_axis(ends, which, axis=1)[:, 0]
    # Counted from its end, so that rounding in the sum does not matter where the interval is short.
    rest = np.take_along_axis(lengths, which, axis=1)[:, 0] - target
    drawn = np.maximum(last - rest, np.take_along_axis(begins, which, axis=1)[:, 0])
    return np.where((low < high) & (free > 0.0), drawn, now)


def move_component(
    z: Floats, sign: Floats, component: Wholes, width: float, part: MovableComponent, rng: np.random.Generator
) -> None:
    """Turn a component over, put it anywhere or move it a little, where it stays apart from the others."""
    which = component[part.arms[0]]
    now, own = z[part.arms], sign[which]
    x = now * own
    low, high = x.min(axis=0), x.max(axis=0)
    kind, turn, place, near = rng.random((4, z.shape[1]))
    turns = ((kind < 1.0 / 3.0) | ((kind < 2.0 / 3.0) & (turn < 0.5))) & part.turns
    anywhere, a_little = place * (width - (high - low)) - low, (near - 0.5) * _NEAR * width
    shift = np.where(kind < 1.0 / 3.0, 0.0, np.where(kind < 2.0 / 3.0, anywhere, a_little))
    y = np.where(turns, low + high - x, x) + shift
    fits = (y.min(axis=0) >= 0.0) & (y.max(axis=0) <= width)
    if len(part.places):
        others = z[part.others] * sign[component[part.others]]
        fits &= (np.abs(y[part.places] - others) >= part.apart).all(axis=0)
    after = np.where(turns & fits, -own, own)
    z[part.arms], sign[which] = np.where(fits, y * after, now), after


def _trade_neighbours(z: Floats, sign: Floats, chains: _Chains, rng: np.random.Generator) -> None:
    """Let a component and the next above it trade places, where both stay apart from the others."""
    n_components, n_chains = sign.shape
    x = z * sign[chains.component]
    lows, highs = np.full(sign.shape, np.inf), np.full(sign.shape, -np.inf)
    np.minimum.at(lows, chains.component, x)
    np.maximum.at(highs, chains.component, x)
    every = np.arange(n_chains)
    which = (rng.random(n_chains) * n_components).astype(np.int64)
    low, high = lows[which, every], highs[which, every]
    later = np.where(lows > low, lows, np.inf)
    following = later.argmin(axis=0)
    next_low, next_high = later[following, every], highs[following, every]
    later[following, every] = np.inf
    # Traded back, they must be neighbours again, as in `move_components`.
    exists = np.isfinite(next_low) & (next_high > high) & (low + next_high - high < later.min(axis=0))
    shifts = np.zeros(sign.shape)
    shifts[which, every] = np.where(exists, next_high - high, 0.0)
    shifts[following[exists], every[exists]] = (low - next_low)[exists]
    y = x + shifts[chains.component]
    one, other = chains.ends
    fits = exists & (y.min(axis=0) >= 0.0) & (y.max(axis=0) <= chains.width)
    fits &= (np.abs(y[one] - y[other]) >= chains.ends_apart).all(axis=0)
    np.copyto(z, y * sign[chains.component], where=fits)
