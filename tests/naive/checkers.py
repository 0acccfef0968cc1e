"""Independent checks of the witnesses that the package hands out."""

from __future__ import annotations

import numpy as np

from naive.graphs import forbidden_kind


def means_fit(side, means, epsilon):
    """Whether the means satisfy every known relation."""
    near, apart = (
        np.abs(np.subtract(*np.asarray(means)[pairs].T))
        for pairs in (side.similar_pairs(), side.dissimilar_pairs())
    )
    return bool((near < epsilon).all() and (apart >= epsilon).all())


def excludes(side, explanation, wanted=1):
    """Whether the relations of an explanation are all true of `side` and exclude the arm."""
    for a, b, word in explanation.relations:
        if side.relation(a, b) != word:
            return False
    similar = {frozenset((a, b)) for a, b, word in explanation.relations if word == "similar"}
    dissimilar = {frozenset((a, b)) for a, b, word in explanation.relations if word == "dissimilar"}
    arm = explanation.arm_id
    near = {other for pair in similar if arm in pair for other in pair - {arm}}
    triangles = [pair for pair in dissimilar if arm not in pair and pair <= near]
    if len(triangles) >= wanted and len(set().union(*triangles)) == 2 * len(triangles):
        return True
    # Theorem 1, second case: two dissimilar arms, both dissimilar to the arm and similar to one near it.
    for pair in dissimilar:
        if arm not in pair and all(
            frozenset((arm, far)) in dissimilar and any(frozenset((far, step)) in similar for step in near)
            for far in pair
        ):
            return wanted == 1
    return False


def is_forbidden(side, certificate):
    """Whether the certificate is what it says, and its relations are those of `side`."""
    for a, b, word in certificate.relations:
        if side.relation(a, b) != word:
            return False
    arms = certificate.arms
    if len(certificate.relations) != len(arms) * (len(arms) - 1) // 2:
        return False
    similar = {frozenset((a, b)) for a, b, word in certificate.relations if word == "similar"}
    return forbidden_kind(arms, similar) == certificate.kind


def is_conflict(conflict):
    """Whether every arm of a conflict is excluded by two others of it through the listed relations."""
    similar = {frozenset((a, b)) for a, b, word in conflict.relations if word == "similar"}
    dissimilar = {frozenset((a, b)) for a, b, word in conflict.relations if word == "dissimilar"}
    arms = set(conflict.arms)
    if not set().union(*similar, *dissimilar) <= arms:
        return False
    return all(
        any(
            frozenset((arm, a)) in similar and frozenset((arm, b)) in similar
            for a, b in (tuple(pair) for pair in dissimilar)
        )
        for arm in arms
    )


def closed_sums(side, values):
    """The sum of `values` over every arm with the arms similar to it."""
    pairs = side.similar_pairs()
    sums = np.array(values, dtype=float)
    np.add.at(sums, pairs[:, 0], np.asarray(values)[pairs[:, 1]])
    np.add.at(sums, pairs[:, 1], np.asarray(values)[pairs[:, 0]])
    return sums


def proves_its_gap(side, solution):
    """Whether a solution of P2 and its packing are feasible, and their totals are those it states."""
    return (
        (solution.z >= 0).all()
        and (solution.packing >= 0).all()
        and closed_sums(side, solution.z).min() >= 1 - 1e-9
        and closed_sums(side, solution.packing).max() <= 1 + 1e-9
        and abs(solution.size - solution.z.sum()) <= 1e-9 * solution.size
        and abs(solution.lower - solution.packing.sum()) <= 1e-9 * solution.size
        and solution.size <= (1 + solution.gap + 1e-9) * solution.lower
    )


def in_epsilons(side):
    """How far apart two arms of ordinary side information are at least, and what it is less than."""
    known = {"similar": (0, 1), "dissimilar": (1, np.inf), None: (0, np.inf)}
    return lambda a, b: known[side.relation(a, b)]


def derives_contradiction(bounds, steps, best=None):
    """Return the relations that a derivation uses, as pairs and words; None if a step of it does not hold.

    Every link must be a relation that `bounds` knows, the supposition that `best` is the best, or an order
    that an earlier step proved; an order must exclude its reverse; the last step must lead from an arm back
    to itself by less than nothing. Without `best` the first step may choose the order of one dissimilar pair.
    Numbers are compared as they are: they must be exact.
    """
    proven, used = {}, set()
    for number, (kind, above, below, apart, links) in enumerate(steps, 1):
        total, strict, at = 0, False, above if kind == "contradiction" else below
        for start, end, bound, is_strict, why in links:
            if start != at:
                return None
            if why == "similar":
                holds = bounds(start, end)[1] == bound and is_strict
                used.add((frozenset((start, end)), "similar"))
            elif why == "best":
                holds = best is not None and end == best and bound == 0 and not is_strict
            else:
                holds = proven.get(why) == (start, end, -bound) and not is_strict
            if not holds:
                return None
            total, strict, at = total + bound, strict or is_strict, end
        if at != above and not (kind == "supposition" and not links):
            return None
        if kind == "contradiction":
            shown = bool(links) and (total < 0 or (total == 0 and strict))
            return used if shown and number == len(steps) else None
        if apart <= 0 or bounds(above, below)[0] != apart:
            return None
        if kind == "supposition":
            if best is not None or number > 1:
                return None
        elif kind != "order" or not (total < apart or (total == apart and strict)):
            return None
        used.add((frozenset((above, below)), "dissimilar"))
        proven[f"step {number}"] = (below, above, apart)
    return None


class Worlds:
    """Sets of orders of which all hold or all are reversed; those that share an order are one."""

    def __init__(self):
        self.parents, self.orders = {}, {}

    def of(self, world):
        while self.parents.setdefault(world, world) != world:
            world = self.parents[world]
        return world

    def add(self, above, below, world):
        """Say that an order is in a world, and join it with the one that has it already."""
        other = self.orders.setdefault((above, below), world)
        self.parents[self.of(max(world, other))] = self.of(min(world, other))


def lies_between(bounds, steps, arm):
    """Return the relations that show an arm between two others; None if a step does not hold.

    All but the last two steps order dissimilar pairs, in worlds: one begins with each choice, and a step may
    use orders of one world. The last two lead by less than nothing from the arm to one above it, and to the
    arm from one below it. `bounds` is as for `derives_contradiction`, and so are links; none may say that an
    arm is the best.
    """
    if len(steps) < 3 or [step.kind for step in steps[-2:]] != ["between", "between"]:
        return None
    if steps[-2].below != arm or steps[-1].above != arm or arm in (steps[-2].above, steps[-1].below):
        return None
    proven, used, worlds, ends = {}, set(), Worlds(), []
    for number, (kind, above, below, apart, links) in enumerate(steps, 1):
        total, strict, at, rests_on = 0, False, below, []
        for start, end, bound, is_strict, why in links:
            if why == "similar":
                holds = bounds(start, end)[1] == bound and is_strict
                used.add((frozenset((start, end)), "similar"))
            else:
                holds = why in proven and proven[why][:3] == (start, end, -bound) and not is_strict
                rests_on += [proven[why][3]] if holds else []
            if start != at or not holds:
                return None
            total, strict, at = total + bound, strict or is_strict, end
        if len({worlds.of(one) for one in rests_on}) > 1:
            return None
        if kind == "between":
            if at != above or not rests_on or not (total < 0 or (total == 0 and strict)):
                return None
            ends.append(rests_on[0])
            continue
        if apart <= 0 or bounds(above, below)[0] != apart or number > len(steps) - 2:
            return None
        if kind == "supposition":
            if links:
                return None
        elif (
            kind != "order"
            or at != above
            or not rests_on
            or not (total < apart or (total == apart and strict))
        ):
            return None
        world = number if kind == "supposition" else rests_on[0]
        worlds.add(above, below, world)
        used.add((frozenset((above, below)), "dissimilar"))
        proven[f"step {number}"] = (below, above, apart, world)
    return used if worlds.of(ends[0]) == worlds.of(ends[1]) else None


def lies_below_either_way(bounds, apart, steps, arm, units=(1,)):
    """Whether steps show that some arm lies above `arm`; arguments as for `follows`.

    Orders that follow from stated bounds are sure. Others are in worlds, as for `lies_between`, and rest on
    similar pairs and orders of their world alone, which have a mirror image. The last step is sure and leads
    from the arm to one above it; or there are two, which may use the orders of one world, one as they stand
    and one turned. Instead of leading to an arm above, a step of these may be a contradiction.
    """
    return any(_is_below(bounds, apart, steps, arm, unit) for unit in units)


def _is_below(bounds, apart, steps, arm, unit):
    proven, worlds, ends = {}, Worlds(), []
    for number, step in enumerate(steps, 1):
        total, strict, at, rests_on = 0, False, step.below, set()
        for start, end, bound, is_strict, why in step.links:
            if why in ("similar", "better", "range"):
                values = [value for a, b, value, own in bounds if (a, b, own) == (start, end, is_strict)]
                rests_on |= set() if why == "similar" else {(0, False)}
            else:
                before, is_turned = why.removesuffix(", turned"), why.endswith(", turned")
                pair = (end, start) if is_turned else (start, end)
                if before not in proven or proven[before][:2] != pair or is_strict:
                    return False
                world = worlds.of(proven[before][3])
                if is_turned and (world == 0 or step.kind not in ("between", "contradiction")):
                    return False
                values = [-proven[before][2]]
                rests_on.add((world, is_turned))
            values = [value for value in values if abs(float(value / unit) - bound) < 1e-9]
            if start != at or not values:
                return False
            total, strict, at = total + min(values), strict or is_strict, end
        if step.kind in ("between", "contradiction"):
            is_arm = step.below == arm != step.above if step.kind == "between" else step.below == step.above
            if at != step.above or not is_arm or not (total < 0 or (total == 0 and strict)):
                return False
            ends.append((step.kind, rests_on - {(0, False)}))
            continue
        far = apart.get(frozenset((step.above, step.below)))
        if ends or far is None or abs(float(far / unit) - step.apart) > 1e-9:
            return False
        if step.kind == "supposition":
            if step.links:
                return False
            world = number
        else:
            if step.kind != "order" or at != step.above or len(rests_on) != 1:
                return False
            if not (total < far or (total == far and strict)):
                return False
            ((world, _turned),) = rests_on
        worlds.add(step.above, step.below, world)
        proven[f"step {number}"] = (step.below, step.above, far, world)
    if len(ends) == 1:
        return ends[0] == ("between", set())
    if len(ends) != 2 or [kind for kind, _ in ends] == ["contradiction"] * 2:
        return False
    used = ends[0][1] | {(world, not is_turned) for world, is_turned in ends[1][1]}
    return len(used) <= 1 and len(ends[0][1]) <= 1 and len(ends[1][1]) <= 1


def lies_below(bounds, explanation):
    """Whether the one step of an explanation shows that its arm is not the best, by stated bounds only.

    `bounds` are tuples a, b, bound, strict, for ``x_a - x_b <= bound``, as users state them. Depths are
    upside down: a link from a to b says that b is at most so much deeper than a.
    """
    (step,) = explanation.steps
    if step.kind != "contradiction" or {step.above, step.below} != {explanation.arm_id}:
        return False
    total, strict, at = 0, False, explanation.arm_id
    for start, end, bound, is_strict, why in step.links:
        if start != at:
            return False
        if why == "best":
            if end != explanation.arm_id or bound != 0 or is_strict:
                return False
        else:
            stated = [value for a, b, value, own in bounds if (a, b, own) == (start, end, is_strict)]
            if not any(float(value) == bound for value in stated):
                return False
            total += min(value for value in stated if float(value) == bound)
            strict = strict or is_strict
        at = end
    named = {arm for link in step.links for arm in link[:2]}
    listed = {arm for relation in explanation.relations for arm in relation[:2]}
    return at == explanation.arm_id and named == listed and (total < 0 or (total == 0 and strict))


def satisfy(bounds, means, tolerance=1e-9):
    """Whether means satisfy bounds: closed ones up to rounding, strict ones strictly."""
    return all(
        means[a] - means[b] < bound if strict else means[a] - means[b] <= bound + tolerance
        for a, b, bound, strict in bounds
    )


def is_circle(n_arms, relations, epsilon, is_possible):
    """Whether the relations of a conflict cannot all be true, and any of them could be left out."""

    def bounds_of(some):
        bounds = []
        for a, b, word, *ends in some:
            if word == "similar":
                bounds += [(a, b, epsilon, True), (b, a, epsilon, True)]
            elif word == "better":
                bounds.append((b, a, 0, True))
            else:
                low, high = ends
                bounds += [] if low is None else [(b, a, -low, False)]
                bounds += [] if high is None else [(a, b, high, False)]
        return bounds

    parts = [relations[:at] + relations[at + 1 :] for at in range(len(relations))]
    return not is_possible(n_arms, bounds_of(relations)) and all(
        is_possible(n_arms, bounds_of(part)) for part in parts
    )


def follows(bounds, apart, steps, best=None, units=(1,)):
    """Whether steps lead from stated bounds to a contradiction; `units` are those their numbers may be in.

    `bounds` are tuples a, b, bound, strict, for ``x_a - x_b <= bound``, and `apart` says how far apart
    dissimilar pairs are, by frozensets; both exact numbers, as users state them. Every link must be a stated
    bound, the supposition that `best` is the best, or an order that an earlier step proved. Sums are exact.
    """
    return any(_follows(bounds, apart, steps, best, unit) for unit in units)


def _follows(bounds, apart, steps, best, unit):
    proven = {}
    for number, step in enumerate(steps, 1):
        total, strict, at = 0, False, step.above if step.kind == "contradiction" else step.below
        for start, end, bound, is_strict, why in step.links:
            if start != at:
                return False
            if why == "best":
                values = [0] if best is not None and end == best and not is_strict else []
            elif why in ("similar", "better", "range"):
                values = [value for a, b, value, own in bounds if (a, b, own) == (start, end, is_strict)]
            else:
                values = [] if is_strict or why not in proven else [-proven[why][2]]
                if why in proven and proven[why][:2] != (start, end):
                    return False
            values = [value for value in values if abs(float(value / unit) - bound) < 1e-9]
            if not values:
                return False
            total, strict, at = total + min(values), strict or is_strict, end
        if at != step.above:
            return False
        if step.kind == "contradiction":
            return number == len(steps) and bool(step.links) and (total < 0 or (total == 0 and strict))
        far = apart.get(frozenset((step.above, step.below)))
        if step.kind != "order" or far is None or abs(float(far / unit) - step.apart) > 1e-9:
            return False
        if not (total < far or (total == far and strict)):
            return False
        proven[f"step {number}"] = (step.below, step.above, far)
    return False
