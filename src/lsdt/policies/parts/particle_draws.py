"""Particles before the first reward: mean vectors that satisfy all relations, drawn from several starts.

The mean vectors that partial information allows fall into many pieces, and a Markov chain that moves one arm
at a time hardly gets from one into another. So there are many chains, each from a first guess with noise of
its own. A chain whose guess breaks relations is repaired by the same moves: an arm goes where it breaks no
more relations than before. All chains are moved at once by NumPy, without compiled code.

With complete information the order of the arms follows from their relations: there is one piece, and a first
point of it is exact (`mean_draws`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel import BERNOULLI, SymmetricGraph, new_stream
from lsdt.policies.parts.mean_draws import (
    MOST_CANDIDATES,
    draw_from,
    first_means,
    lay_on_lines,
    likely_width,
    members_of,
    relations_of,
    size_of,
)
from lsdt.policies.parts.mean_draws_kernel import DrawnRelations
from lsdt.policies.parts.mean_draws_rows import move_component, parts_of
from lsdt.policies.parts.particle_sweeps import sweep_chains
from lsdt.policies.parts.particles import CARRIED, FLAT, LEARNED, Particles, put_all
from lsdt.side_information import subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.side_information import SideInformation

    Floats = NDArray[np.float64]
    Wholes = NDArray[np.int64]

_SEED = 22  # any: the same policy draws the same means
_MOST, _FEWEST = 256, 64  # particles: twice as many won nothing
_ENTRIES = 100_000  # particles times arms: a megabyte
_STARTS = 32  # fewer left more problems at p = .2 without a particle in which the best arm is best
_REPAIRS = 150  # sweeps; most starts need ten to thirty
_ENOUGH = 0.75  # of the starts, and the others are left
_CHAINS = 64  # after repairs: each makes some particles
_BURN_IN, _BETWEEN = 40, 10  # sweeps before the first particle of a chain, and between two
_SWEEPS_IN_ORDER = 2  # of chains with complete information, which start in the middle
_WIDER = 1.1  # the box reaches a little beyond the means found; by eye
_MOST_AIMED, _TRIES = 64, 8  # arms that are the best in no draw, and starts for each; 4 find a tenth fewer
# Dissimilar pairs say little about the level of a component that fills little of the box, and particles could
# not cover the levels of several such components: levels are then learned, as without these pairs.
_SEVERAL, _MOST_FILLED = 5, 0.5
_LEVEL_OF_COINS = 1.0 / 12.0  # the variance of a level that may be anywhere in [0, 1]


def new_particles(found: CandidateSet | None, family: int, variance: float, most: int = _MOST) -> Particles:
    """Return particles of equal weight; none where no mean vector is found, or there are too many arms."""
    drawn = None if found is None else _drawn(found, family == BERNOULLI, most)
    if drawn is None:
        return _no_particles(family, variance, 0 if found is None else len(found.arms))
    x, width, relations, n_candidates = drawn
    if len(relations.turns) >= _SEVERAL and _filled(x, relations) < _MOST_FILLED * width:
        relations = _within(relations)
    n_blocks, block = _blocks(relations)
    kind = LEARNED if n_blocks > 1 else CARRIED if family == BERNOULLI else FLAT
    middle, spread = 0.0, variance
    if kind == LEARNED:
        for which in range(n_blocks):  # shapes have their middle in the middle of the box
            x[:, block == which] += 0.5 * width - x[:, block == which].mean(axis=1)[:, None]
        width *= 2.0  # turned over, a shape may reach further to either side
        x += 0.25 * width
        if family == BERNOULLI:
            middle, spread = 0.5 - 0.5 * width, _LEVEL_OF_COINS
    size = len(x)
    nothing = np.zeros(size * n_blocks)
    particles = Particles(
        size=size,
        n_candidates=n_candidates,
        family=family,
        variance=variance,
        kind=kind,
        width=width,
        x=x.ravel(),
        weight=np.ones(size),
        best=np.zeros(size, np.int64),
        top=np.zeros(size * n_blocks, np.int64),
        told=nothing.copy(),
        noise=np.random.default_rng(_SEED).normal(size=size * n_blocks),
        level=nothing.copy(),
        rewards=np.zeros(n_blocks, np.int64),
        found=np.zeros(n_blocks),
        spread=np.array([middle, spread]),
        peak=nothing.copy(),
        cursor=np.zeros(5, np.int64),
        block=block,
        relations=relations,
    )
    put_all(particles)
    return particles


def _no_particles(family: int, variance: float, n_candidates: int) -> Particles:
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    relations = DrawnRelations(none, none, nothing, nothing, none, none, nothing, none, none)
    return Particles(
        *(0, n_candidates, family, variance, CARRIED, 1.0),
        *(nothing, nothing, none, none, nothing, nothing, nothing, none, nothing),
        *(np.zeros(2), nothing, np.zeros(5, np.int64), none, relations),
    )


def _drawn(found: CandidateSet, bounded: bool, most: int) -> tuple[Floats, float, DrawnRelations, int] | None:
    """Return means, a row each, the box they lie in, and relations; candidates are the first columns."""
    n_candidates = len(found.arms)
    if n_candidates > MOST_CANDIDATES or found.conflict is not None:
        return None
    members = members_of(found.side.n_arms, found.arms)
    side = subset(found.side, members)
    size = size_of(side)
    if size is None:
        return None
    relations, n_arms = relations_of(side), len(members)
    n_draws = min(max(_ENTRIES // n_arms, _FEWEST), most)
    if side.is_complete and side.ranges is None and side.store.thresholds is None:
        start = first_means(side, relations, size, bounded, new_stream(_SEED))
        if start is None:
            return None
        x, width = start
        draws = np.empty((n_draws, n_arms))
        draw_from(
            x,
            width,
            side,
            relations,
            size,
            _SWEEPS_IN_ORDER,
            np.arange(n_arms),
            draws,
            new_stream(_SEED, 1),
        )
    else:
        several = _from_starts(side, relations, size, bounded, n_draws)
        if several is None:
            return None
        draws, width = several
    kept = np.searchsorted(members, found.arms)
    draws = np.concatenate([draws, _with_others_best(draws, width, relations, kept)])
    order = np.concatenate([kept, np.setdiff1d(np.arange(n_arms), kept, assume_unique=True)])
    return np.ascontiguousarray(draws[:, order]), width, _reordered(relations, order), n_candidates


def _from_starts(
    side: SideInformation, relations: DrawnRelations, size: float, bounded: bool, n_draws: int
) -> tuple[Floats, float] | None:
    """Draw means by several chains from several starts; None where no start could be repaired."""
    rng, n_arms = np.random.default_rng(_SEED), len(relations.component)
    line = lay_on_lines(relations, size)
    spread = 0.25 * size * (np.arange(_STARTS) % 4)
    x = line[:, None] + spread * rng.normal(size=(n_arms, _STARTS))
    turned = np.arange(_STARTS) % 8 >= 4
    x = np.where(turned, -x, x)
    x -= x.min(axis=0)
    if bounded:
        x /= np.maximum(x.max(axis=0), 1.0)
        x += (1.0 - x.max(axis=0)) * rng.random(_STARTS)
        width = 1.0
    else:
        width = 2.0 * (float(x.max()) + size)
        x += 0.5 * (width - x.max(axis=0))
    n_broken, nowhere = np.zeros(_STARTS, np.int64), np.full(_STARTS, -1)
    for number in range(_REPAIRS):
        points = rng.random(x.shape)
        sweep_chains(x, relations, width, points, number % 2 == 1, True, nowhere, n_broken)
        if (n_broken == 0).mean() >= _ENOUGH:
            break
    x = x[:, n_broken == 0]
    if not bounded and x.shape[1]:
        x -= x.min(axis=0)
        spans = x.max(axis=0)
        width = _WIDER * min(max(likely_width(side, size), spans.min()), 3.0 * spans.min() + size)
        x = (x + 0.5 * (width - spans))[:, spans <= width]
    if not x.shape[1]:
        return None
    x = np.ascontiguousarray(x[:, np.arange(_CHAINS) % x.shape[1]])
    n_broken, nowhere = np.zeros(_CHAINS, np.int64), np.full(_CHAINS, -1)
    n_sweeps, draws = _BURN_IN, np.empty((-(-n_draws // _CHAINS) * _CHAINS, n_arms))
    for first in range(0, len(draws), _CHAINS):
        for number in range(n_sweeps):
            points = rng.random(x.shape)
            sweep_chains(x, relations, width, points, number % 2 == 1, False, nowhere, n_broken)
            _move_components(x, relations, width, rng)
        draws[first : first + _CHAINS] = x.T
        n_sweeps = _BETWEEN
    return draws[:n_draws], width


def _filled(x: Floats, relations: DrawnRelations) -> float:
    """Return how long all components are together, on average."""
    parts = [x[:, relations.component == which] for which in range(len(relations.turns))]
    return float(np.mean(sum(np.ptp(part, axis=1) for part in parts)))


def _within(relations: DrawnRelations) -> DrawnRelations:
    """Return the relations without dissimilar pairs of different components."""
    component, n_arms = relations.component, len(relations.component)
    owners = np.repeat(np.arange(n_arms), np.diff(relations.far_starts))
    inside = component[owners] == component[relations.far]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners[inside], minlength=n_arms))])
    return relations._replace(
        far_starts=starts.astype(np.int64), far=relations.far[inside], apart=relations.apart[inside]
    )


def _with_others_best(draws: Floats, width: float, relations: DrawnRelations, kept: Wholes) -> Floats:
    """Return means, a row each, in which candidates that are the best in no draw are, as far as found."""
    seen = np.bincount(draws[:, kept].argmax(axis=1), minlength=len(kept)) > 0
    unseen = kept[~seen][:_MOST_AIMED]
    if not len(unseen):
        return draws[:0]
    rng = np.random.default_rng([_SEED, 1])
    behind = draws[:, unseen] - draws.max(axis=1)[:, None]
    nearest = np.argsort(-behind, axis=0, kind="stable")[:_TRIES].T
    top = np.repeat(unseen, nearest.shape[1])
    x = np.ascontiguousarray(draws[nearest.ravel()].T)
    _put_on_top(x, top, width, relations, rng)
    n_broken = np.zeros(len(top), np.int64)
    for number in range(_REPAIRS):
        sweep_chains(x, relations, width, rng.random(x.shape), number % 2 == 1, True, top, n_broken)
        if (n_broken == 0).reshape(nearest.shape).any(axis=1).all():
            break
    fits = np.flatnonzero(n_broken == 0)
    return x[:, fits[np.unique(top[fits], return_index=True)[1]]].T


def _put_on_top(
    x: Floats, top: Wholes, width: float, relations: DrawnRelations, rng: np.random.Generator
) -> None:
    """Put an arm of each chain on top, whatever breaks: one time in four alone, else with its component.

    Every other time the component is first turned over if that brings the arm up, and others by chance.
    """
    chains, component = np.arange(len(top)), relations.component
    goes, turns = chains % 4 != 0, chains % 4 >= 2
    for which, can_turn in enumerate(relations.turns):
        part, own = np.flatnonzero(component == which), component[top] == which
        low, high = x[part].min(axis=0), x[part].max(axis=0)
        is_low = 2.0 * x[top, chains] < low + high
        over = turns & np.where(own, is_low, rng.random(len(top)) < 0.5) & (can_turn == 1)
        x[part] = np.where(over, low + high - x[part], x[part])
        shift = np.where(own, width - x[top, chains], -low)
        x[part] = np.where(goes, np.minimum(x[part] + shift, width), x[part])
    x[top, chains] = x.max(axis=0)


def _blocks(relations: DrawnRelations) -> tuple[int, Wholes]:
    """Return the number of blocks and the block of every arm; no relation ties two blocks together."""
    n_arms = len(relations.component)
    owners = np.concatenate(
        [
            np.repeat(np.arange(n_arms), np.diff(relations.starts)),
            np.repeat(np.arange(n_arms), np.diff(relations.far_starts)),
        ]
    )
    others = np.concatenate([relations.others, relations.far])
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_arms))])
    n_blocks, block = SymmetricGraph(starts, others[np.argsort(owners, kind="stable")]).components()
    return n_blocks, block.astype(np.int64)


def _reordered(relations: DrawnRelations, order: Wholes) -> DrawnRelations:
    """Return the relations of the arms in another order."""
    place = np.argsort(order)

    def entries(starts: Wholes) -> tuple[Wholes, Wholes]:
        lengths = np.diff(starts)[order]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        return begins, np.repeat(starts[:-1][order] - begins[:-1], lengths) + np.arange(begins[-1])

    starts, near = entries(relations.starts)
    far_starts, far = entries(relations.far_starts)
    return DrawnRelations(
        starts,
        place[relations.others[near]],
        relations.low[near],
        relations.high[near],
        far_starts,
        place[relations.far[far]],
        relations.apart[far],
        relations.component[order],
        relations.turns,
    )


def _move_components(x: Floats, relations: DrawnRelations, width: float, rng: np.random.Generator) -> None:
    """Turn components over and put them elsewhere, where they stay apart from the others."""
    parts = parts_of(relations)
    for part in parts:
        sign = np.ones((len(relations.turns), x.shape[1]))
        move_component(x, sign, relations.component, width, part, rng)
        x *= sign[relations.component]
    low, high = x.min(axis=0), x.max(axis=0)
    if (relations.turns == 1).all():
        x[:] = np.where(rng.random(x.shape[1]) < 0.5, low + high - x, x)
    x += rng.random(x.shape[1]) * (width - (high - low)) - low
