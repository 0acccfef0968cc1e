"""Which pairs to ask about when answers are similar or dissimilar.

The arms lie on a line, and the answers do not say which end is the upper one. There are four kinds of
questions:

1. *place*: compare an arm with hubs, arms that are dissimilar to one another, until it is similar to one.
2. *link*: find out which hubs are neighbours, by asking about pairs of arms, one similar to each hub.
3. *order*: ask what is missing to prove that a hub has others on both sides. Then all arms similar to it are
   out.
4. *end*: near the ends of the line, compare arms that are left with arms further inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.identification.questions.known_pairs import KnownPairs, Question

# Guesses that rank questions: they affect how many are asked (measured in docs/paper/beyond.md), never which
# arms are excluded.
_HIT = 0.25  # the probability that an arm is similar to the next hub
_ENOUGH = 0.02  # two hubs are not asked about if they are neighbours with a smaller probability
_WORTH_LINKING = 0.015  # links that gain less are ranked together with questions about the ends
_OVERLAPS = np.array([0.02, 0.1, 0.2, 0.3, 0.4, 0.5])  # values of a, equally likely at first; see `_links`
_WANTED = np.array([1.7, 1.0, 0.35])  # expected further neighbours of a hub with none, one, two or more links
_LEAST = 0.02  # the gain of a question that none of the four rules proposes
_FAR = 1e6  # the price of an impossible step, far above that of any possible path
_STEPS = 4  # similar pairs in a row along which an order is proved: longer paths lack too many pairs
_MOST_PROOF = 4  # questions for one proof; one unexpected answer spoils it


def skeleton_questions(now: KnownPairs) -> list[Question]:
    """Return questions, best first: of the first kind that has any, in the order place, order, link, end.

    Links that promise little are ranked together with questions about the ends.
    """
    hubs = find_hubs(now)
    found = list(_placements(now, hubs)) or _proofs(now, hubs)
    if not found:
        found = sorted(_links(now, hubs), key=lambda one: -one.gain)
        if not found or found[0].gain < _WORTH_LINKING:
            found = sorted([*found, *_ends(now, hubs)], key=lambda one: -one.gain)
        found = found or list(_neighbours(now))
    # Two rules, or one in both directions, may propose the same pair.
    first: dict[frozenset[int], Question] = {}
    for one in found:
        first.setdefault(frozenset((one.first, one.second)), one)
    return list(first.values())


def find_hubs(now: KnownPairs) -> list[int]:
    """Return the rows of hubs: arms not known to be similar to one another, most relations first."""
    degree = (now.similar | now.apart).sum(axis=1)
    hubs: list[int] = []
    covered = np.zeros(len(degree), bool)
    for arm in np.argsort(-degree, kind="stable").tolist():
        if not covered[arm] and (now.similar[arm].any() or now.apart[arm, hubs].all()):
            hubs.append(arm)
            covered |= now.similar[arm]
            covered[arm] = True
    return hubs


def _placements(now: KnownPairs, hubs: list[int]) -> Iterator[Question]:
    """Yield a question about every arm that may be the best and is not known to be similar to any other."""
    known = now.known
    lost = np.flatnonzero(now.left & ~now.similar.any(axis=1))
    asked = set()
    for hub in hubs:
        for arm in lost[~known[lost, hub]].tolist():
            if arm not in asked:  # the answer may make another question about this arm unnecessary
                asked.add(arm)
                yield now.question(arm, hub, _HIT, "place")


def _links(now: KnownPairs, hubs: list[int]) -> Iterator[Question]:
    """Yield a question for every two hubs that may be neighbours.

    Let neighbouring hubs be 2 - 2 a epsilons apart. Then a share a of the arms similar to one of them is
    similar to the other, and a share (1/2 + a)^2 / 2 of the pairs of arms, one from each side, is similar.
    Every dissimilar answer so far makes it less likely that two hubs are neighbours.
    """
    n_hubs = len(hubs)
    if n_hubs < 2:
        return
    similar, apart, known = now.similar, now.apart, now.known
    stars = [np.flatnonzero(similar[hub]) for hub in hubs]
    member = similar[hubs].astype(np.float32)
    own = member.copy()
    own[np.arange(n_hubs), hubs] = 1.0
    joined = (own @ similar.astype(np.float32) @ own.T) > 0
    _count, part = connected_components(joined, directed=False)
    n_links = (joined & ~np.eye(n_hubs, dtype=bool)).sum(axis=1)
    misses = member @ apart[:, hubs].astype(np.float32)
    misses = np.minimum(misses, misses.T)  # arms of the later hub were compared with the earlier one anyway
    pair_misses = member @ apart.astype(np.float32) @ member.T
    shares = (0.5 + _OVERLAPS) ** 2 / 2.0
    likely = (1.0 - _OVERLAPS) ** misses[:, :, None] * (1.0 - shares) ** pair_misses[:, :, None]
    likely /= len(_OVERLAPS)
    weight = likely.sum(axis=2)
    weight[part[:, None] == part[None, :]] = 0.0
    settled = now.deep[hubs] & (n_links > 1)
    weight[settled] = 0.0
    weight[:, settled] = 0.0
    wanted = _WANTED[np.minimum(n_links, 2)][:, None]
    share = weight * wanted / np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)
    adjacent = np.minimum(np.minimum(share, share.T), 3.0 * weight)
    hit = (likely * _OVERLAPS).sum(axis=2) / np.maximum(weight, 1e-9)
    pair_hit = (likely * shares).sum(axis=2) / np.maximum(weight, 1e-9)
    sizes = np.array([now.left[star].sum() for star in stars])
    for flat in np.argsort(-adjacent, axis=None, kind="stable").tolist():
        a, b = divmod(flat, n_hubs)
        if adjacent[a, b] < _ENOUGH:
            return
        if a > b:
            continue
        one, two = stars[a], stars[b]
        tries = [(arm, hubs[b]) for arm in one[~known[one, hubs[b]]].tolist()]
        tries += [(arm, hubs[a]) for arm in two[~known[two, hubs[a]]].tolist()]
        chance = hit[a, b]
        if not tries or chance <= 0.8 * pair_hit[a, b]:
            places = np.argwhere(~known[np.ix_(one, two)])
            tries, chance = [(int(one[i]), int(two[j])) for i, j in places], pair_hit[a, b]
        if tries:
            used = np.zeros(len(known), np.int64)  # how often an arm was compared with the other star
            used[one] = known[np.ix_(one, np.append(two, hubs[b]))].sum(axis=1)
            used[two] = known[np.ix_(two, np.append(one, hubs[a]))].sum(axis=1)
            used[[hubs[a], hubs[b]]] = 0
            arm, other = min(tries, key=lambda pair: (used[pair[0]] + used[pair[1]], sum(pair)))
            gain = adjacent[a, b] * chance * (1.0 + 0.25 * min(sizes[a], sizes[b]))
            yield now.question(arm, other, gain, "link")


def _proofs(now: KnownPairs, hubs: list[int]) -> list[Question]:
    """Return the questions that are missing to prove that a hub p lies between two others, q and r.

    If a path of similar pairs leads from p to q, with all its arms dissimilar to r, and another from p to r,
    with all its arms dissimilar to q, then neither q nor r lies between the other and p.
    """
    known = now.known
    is_hub = np.zeros(len(known), bool)
    is_hub[hubs] = True
    edge = np.where(now.similar, 0.01, _FAR)
    away = np.where(now.apart, 0.0, np.where(now.similar, _FAR, 1.0))
    np.fill_diagonal(away, _FAR)
    value = (now.similar & now.left[None, :]).sum(axis=1)
    best: tuple[float, list[tuple[int, int]]] = (0.0, [])
    for p in hubs:
        if now.deep[p] or not value[p]:
            continue
        reach, _ways = _ways_from(edge, np.zeros(len(known)), p)
        ends = np.flatnonzero(now.apart[p] & is_hub & (reach < 1.0)).tolist()
        ways = {}
        for r in ends:
            n_apart, n_near = ((now.similar[p] & row).sum() for row in (now.apart[r], now.similar[r]))
            doubt = (n_apart + n_near + 1.0) / (n_apart + 1.0)
            ways[r] = _ways_from(edge, away[:, r] * doubt, p)
        for place, q in enumerate(ends):
            for r in ends[place + 1 :]:
                cost = ways[r][0][q] + ways[q][0][r]
                if not now.apart[q, r] or cost >= _FAR:
                    continue
                pairs = {
                    (min(arm, other), max(arm, other))
                    for target, other in ((q, r), (r, q))
                    for arm in _way(ways[other][1], target)
                    if not known[arm, other]
                }
                rate = value[p] / max(cost, 1.0)
                if 0 < len(pairs) <= _MOST_PROOF and rate > max(best[0], 1.0):
                    best = (float(rate), sorted(pairs))
    return [now.question(a, b, best[0], "order") for a, b in best[1]]


def _ways_from(
    edge: NDArray[np.float64], price: NDArray[np.float64], start: int
) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """Return the price of the cheapest path of up to `_STEPS` steps to every arm, and its predecessors.

    ``predecessors[step][arm]`` is the arm before it, or -1 if that step did not make the path cheaper.
    """
    total = np.full(len(edge), 2.0 * _FAR)
    total[start] = 0.0
    steps = []
    for _step in range(_STEPS):
        through = total[:, None] + edge
        source = through.argmin(axis=0)
        new = through[source, np.arange(len(edge))] + price
        is_cheaper = new < total
        steps.append(np.where(is_cheaper, source, -1))
        total = np.where(is_cheaper, new, total)
    return total, steps


def _way(steps: list[NDArray[np.int64]], target: int) -> Iterator[int]:
    """Yield the arms on the path to `target`, from its end back to the arm after the first."""
    arm = target
    for source in reversed(steps):
        if source[arm] >= 0:
            yield arm
            arm = int(source[arm])


def _neighbours(now: KnownPairs) -> Iterator[Question]:
    """Yield the open pairs of an arm that is left and another that is similar to the same arm.

    If there are none, do the same for arms similar to those left: their order may be what a proof lacks.
    """
    near = np.greater(now.similar.astype(np.float32) @ now.similar.astype(np.float32), 0.0)
    beside = np.logical_or.reduce(now.similar[now.left])
    for rows in (now.left, beside):
        places = np.argwhere(near & ~now.known & rows[:, None])
        for arm, other in places.tolist():
            if arm < other or not rows[other]:
                yield now.question(arm, other, _LEAST, "end")
        if len(places):
            return


def _ends(now: KnownPairs, hubs: list[int]) -> Iterator[Question]:
    """Yield questions about arms near an end of the line, each with an arm p further inside.

    If p is similar to some of them and dissimilar to others, the former are out. If it is similar to all, it
    lies too near the end; if to none, too far away.
    """
    similar, apart, known = now.similar, now.apart, now.known
    n_arms = len(known)
    taken = np.zeros(n_arms, bool)
    for hub in hubs:
        near = similar[hub] | (np.arange(n_arms) == hub)
        group = np.flatnonzero(now.left & near & ~taken)
        taken[group] = True
        if len(group) < 2:
            continue
        two = similar[similar[hub]].any(axis=0)
        three = similar[two].any(axis=0)
        prior = np.where(similar[hub], 0.75, np.where(two, 0.5, np.where(three, 0.25, 0.0)))
        hits, misses = similar[:, group].sum(axis=1), apart[:, group].sum(axis=1)
        chance = (hits + prior) / (hits + misses + 1.0)
        inner = np.flatnonzero((prior > 0.0) & (np.arange(n_arms) != hub))
        far_out = apart[np.ix_(group, inner)].sum(axis=1) - similar[np.ix_(group, inner)].sum(axis=1)
        rank = np.argsort(np.argsort(far_out, kind="stable")) / (len(group) - 1)
        for p in inner.tolist():
            rest = np.flatnonzero(~known[group, p])
            if not len(rest):
                continue
            if now.deep[p] or misses[p]:
                place = rest[np.argmin(rank[rest])]
                gain = chance[p] * (1.2 - 0.4 * rank[place]) * (1.0 if now.deep[p] else 0.9)
            else:  # is any of them dissimilar to p? If so, the outermost one is
                place = rest[np.argmax(rank[rest])]
                gain = 0.5 * (1.0 - chance[p]) * min(hits[p] + 1.0, 3.0)
            yield now.question(int(group[place]), p, min(gain, 1.0), "end")
