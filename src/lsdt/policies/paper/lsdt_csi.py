"""LSDT-CSI, step 2: choose a class of interchangeable candidates, then an arm in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel import (
    FAMILIES,
    Ragged,
    compiled,
    inlined,
    mark_changed,
    new_trees,
    normal,
    safe_log,
    safe_sqrt,
    tournament,
    upper_mean,
    winner,
)
from lsdt.policies.parts.light_tails import NOT_HEAVY, SIGMA, TAILS, B, light_width
from lsdt.policies.parts.tallies import Tallies, add_reward, any_allowed, is_allowed, next_unplayed
from lsdt.policies.parts.truncation import (
    HEAVY_TAILS,
    RUNGS,
    TRUNCATION_PLACES,
    Truncation,
    add_truncated,
    add_up,
    learn_truncated,
    new_truncation,
    rung_at,
    steepness,
    truncated_mean,
)
from lsdt.policies.specification import DIVERGENCE, Choice, Number, Specification

if TYPE_CHECKING:
    from types import SimpleNamespace

    from lsdt.candidates import CandidateClasses
    from lsdt.kernel import Allowed, Array, FixedWholes, Real, Reals, Whole, Wholes
    from lsdt.policies.situation import Situation

# TREES is the index 'ucb' with tournaments, for many classes or arms; LIGHT and HEAVY are the index 'ucb' for
# such tails. They are numbers in the state because a look at the length of an array in every round would cost
# a tenth of the speed at a hundred arms.
HEAVY, TREES, UCB, MOSS, KL_UCB, GAUSSIAN_TS, LIGHT = range(-2, 5)
INDICES = ("ucb", "moss", "kl_ucb", "gaussian_ts")


class Layout(NamedTuple):
    """The arms of class c are ``members[starts[c]:starts[c + 1]]``."""

    class_of: FixedWholes
    starts: FixedWholes
    members: FixedWholes


class LsdtCsiState(NamedTuple):
    """Tallies of arms and of classes; ``isq`` is one over the root of the count, or what heavy tails have.

    ``class_tree`` is the tournament of the classes, ``trees`` are those inside each class, ``place_of`` says
    where in ``members`` an arm is; the three are empty where a scan is as fast.
    """

    rule: Whole
    alpha: Real
    sigma: Real
    b: Real
    family: Whole
    total: Wholes
    cursor: Wholes
    arms: Tallies
    isq: Reals
    layout: Layout
    classes: Tallies
    class_isq: Reals
    class_tree: Reals
    trees: Reals
    place_of: FixedWholes
    truncation: Truncation
    class_kept: Reals


def layout_of(situation: Situation) -> Layout:
    """Lay the classes of the candidate set out."""
    classes = situation.classes
    sizes = np.fromiter(map(len, classes), np.int64, len(classes))
    members = np.concatenate(classes)
    class_of = np.empty(situation.n_arms, np.int64)
    class_of[members] = np.repeat(np.arange(len(classes)), sizes)
    return Layout(class_of, np.concatenate([[0], np.cumsum(sizes)]), members)


def rule_of(parameters: SimpleNamespace, largest: int) -> int:
    """Return the number of the rule; `largest` is the number of classes, or of arms in one class."""
    index, b, is_heavy = parameters.index, parameters.b or 0.0, parameters.tails == "heavy"
    if is_heavy or b > 0.0:
        if index != "ucb":
            tails, value = ("tails='heavy'", "") if is_heavy else ("b above 0 (light tails)", f"b={b:g} and ")
            raise InvalidInput(f"lsdt_csi: {tails} goes with index='ucb'; got {value}index={index!r}")
        return HEAVY if is_heavy else LIGHT
    many = index == "ucb" and largest >= tournament.MANY_ARMS
    return TREES if many else INDICES.index(index)


def prepare(situation: Situation, parameters: SimpleNamespace) -> LsdtCsiState:
    """Start with nothing played."""
    n_arms, layout = situation.n_arms, layout_of(situation)
    sizes = np.diff(layout.starts)
    rule = rule_of(parameters, max(len(sizes), sizes.max()))
    many = rule == TREES
    place_of = np.empty(n_arms, np.int64)
    place_of[layout.members] = np.arange(n_arms)
    return _nothing_played(
        parameters,
        rule,
        np.zeros(n_arms),
        np.zeros(len(sizes)),
        layout,
        new_trees(len(sizes) if many else 0),
        new_trees(n_arms if many else 0),
        place_of if many else place_of[:0],
        *(np.zeros(n * RUNGS if rule == HEAVY else 0) for n in (n_arms, len(sizes))),
    )


def _nothing_played(
    parameters: SimpleNamespace,
    rule: Any,
    none: Any,
    no_class: Any,
    layout: Layout,
    class_tree: Any,
    trees: Any,
    place_of: Any,
    kept: Any,
    class_kept: Any,
) -> LsdtCsiState:
    """Return the state of one replication, or of many, with zeros for arms and for classes."""
    zero: Any = 0
    return LsdtCsiState(
        rule=rule,
        alpha=parameters.alpha or 0.0,
        sigma=parameters.sigma or 0.0,
        b=parameters.b or 0.0,
        family=FAMILIES[parameters.divergence],
        total=zero,
        cursor=zero,
        arms=Tallies(none, none, none),
        isq=none,
        layout=layout,
        classes=Tallies(no_class, no_class, no_class),
        class_isq=no_class,
        class_tree=class_tree,
        trees=trees,
        place_of=place_of,
        truncation=new_truncation(parameters, kept),
        class_kept=class_kept,
    )


def layouts_of(found: CandidateClasses) -> Layout:
    """Lay the classes of many candidate sets out, as `layout_of` does those of one."""
    n_sets, n_classes = len(found.n_arms), found.n_classes
    firsts = np.cumsum(found.n_arms) - found.n_arms  # where the members of each set begin
    set_of = np.repeat(np.arange(n_sets), n_classes)
    starts = np.zeros(len(set_of) + n_sets, np.int64)
    starts[np.arange(len(set_of)) + set_of + 1] = np.cumsum(found.n_members) - firsts[set_of]
    number = np.arange(len(set_of)) - np.repeat(np.cumsum(n_classes) - n_classes, n_classes)
    class_of = np.empty(len(found.members), np.int64)
    class_of[found.members + np.repeat(firsts, found.n_arms)] = np.repeat(number, found.n_members)
    fields: Any = (
        Ragged(found.n_arms, class_of),
        Ragged(n_classes + 1, starts),
        Ragged(found.n_arms, found.members),
    )
    return Layout(*fields)


def prepare_many(found: CandidateClasses, parameters: SimpleNamespace) -> LsdtCsiState:
    """Start many replications with nothing played."""
    largest = np.maximum.reduceat(found.n_members, np.cumsum(found.n_classes) - found.n_classes)
    rule = rule_of(parameters, 0)
    many = (np.maximum(found.n_classes, largest) >= tournament.MANY_ARMS) & (rule == UCB)
    firsts = np.repeat(np.cumsum(found.n_arms) - found.n_arms, found.n_arms)
    place_of = np.empty(len(found.members), np.int64)
    place_of[found.members + firsts] = np.arange(len(found.members)) - firsts
    return _nothing_played(
        parameters,
        np.where(many, TREES, rule),
        Ragged(found.n_arms),
        Ragged(found.n_classes),
        layouts_of(found),
        _trees_of_many(many * found.n_classes),
        _trees_of_many(many * found.n_arms),
        Ragged(many * found.n_arms, place_of[np.repeat(many, found.n_arms)]),
        *(Ragged(n * (RUNGS if rule == HEAVY else 0)) for n in (found.n_arms, found.n_classes)),
    )


def _trees_of_many(n_arms: Array) -> Ragged:
    return Ragged(2 * n_arms, new_trees(int(n_arms.sum())))


@inlined
def other_index(
    state: LsdtCsiState,
    mean: float,
    count: int,
    isq: float,
    rivals: int,
    time: float,
    stream: Array,
) -> float:
    """Return another index than the paper's, of an arm or class among `rivals` of them."""
    if state.rule == MOSS:
        surplus = max(safe_log(time / (rivals * count)), 0.0)
        return mean + 2.0 * state.sigma * isq * safe_sqrt(surplus)
    if state.rule == KL_UCB:
        return upper_mean(state.family, mean, safe_log(time) / count, state.sigma * state.sigma)
    if state.rule == LIGHT:
        return mean + light_width(state.alpha, state.b, safe_log(time), isq)
    return mean + state.sigma * isq * normal(stream)


@inlined
def select_by_other_index(state: LsdtCsiState, allowed: Allowed, stream: Array) -> int:
    """Return the best arm of the best class by another index than the paper's.

    These loops are not those of `select`, because in one loop for all indices the compiler computes the
    logarithms of every index in every round, and runs out of registers: a fifth more time for the paper's.
    """
    arms, classes, layout = state.arms, state.classes, state.layout
    time, n_classes = float(state.total[0]), len(state.class_isq)
    best_class, highest = 0, -math.inf
    for number in range(n_classes):
        if not any_allowed(allowed, layout.members, layout.starts[number], layout.starts[number + 1]):
            continue
        mean, count, isq = classes.means[number], classes.counts[number], state.class_isq[number]
        value = other_index(state, mean, count, isq, n_classes, time, stream)
        if value > highest:
            best_class, highest = number, value
    first, last = layout.starts[best_class], layout.starts[best_class + 1]
    best, highest = layout.members[first], -math.inf
    for place in range(first, last):
        arm = layout.members[place]
        if not is_allowed(allowed, arm):
            continue
        value = other_index(
            state, arms.means[arm], arms.counts[arm], state.isq[arm], last - first, time, stream
        )
        if value > highest:
            best, highest = arm, value
    return best


def select(state: LsdtCsiState, allowed: Allowed, stream: Array) -> int:
    """Play every candidate once, then the best arm of the best class; equations (7) and (8)."""
    arms, classes, layout = state.arms, state.classes, state.layout
    arm = next_unplayed(arms.counts, state.cursor, allowed)
    if arm < len(arms.counts):
        return arm
    if state.rule > UCB:
        return select_by_other_index(state, allowed, stream)
    if state.rule == HEAVY:
        width = steepness(state.truncation)
    else:
        width = safe_sqrt(state.alpha * safe_log(float(state.total[0])))
    best_class, highest, n_classes = 0, -math.inf, len(classes.counts)
    if allowed.everything and state.rule == TREES:
        number = winner(state.class_tree, 0, n_classes, classes.means, state.class_isq, width, None)
        begin, end = layout.starts[number], layout.starts[number + 1]
        return winner(state.trees, begin, end - begin, arms.means, state.isq, width, layout.members)
    for number in range(n_classes):
        value = classes.means[number] + width * state.class_isq[number]
        if value > highest and any_allowed(
            allowed, layout.members, layout.starts[number], layout.starts[number + 1]
        ):
            best_class, highest = number, value
    # Unsigned, so that compiled code need not check whether a place counts from the end.
    first, last = np.uint64(layout.starts[best_class]), np.uint64(layout.starts[best_class + 1])
    best, highest = np.uint64(layout.members[first]), -math.inf
    for place in range(first, last):
        member: Any = np.uint64(layout.members[place])
        value = arms.means[member] + width * state.isq[member]
        if value > highest and is_allowed(allowed, member):
            best, highest = member, value
    return np.int64(best)  # type: ignore[return-value]


@compiled
def learn_heavy(state: LsdtCsiState, arm: int, number: int, reward: float) -> None:
    """Count a reward for the truncated means of an arm and of its class."""
    order, bound = state.truncation.order, state.truncation.bound
    rung = rung_at(state.truncation.rung[0], state.total[0])
    add_truncated(state.classes, state.class_isq, state.class_kept, number, reward, rung, order, bound)
    if rung > state.truncation.rung[0]:
        add_up(state.classes, state.class_kept, rung)
    learn_truncated(state.truncation, state.arms, state.isq, state.total[0], arm, reward)


def update(state: LsdtCsiState, arm: int, reward: float, stream: Array) -> None:
    """Count the reward for the arm and for its class."""
    state.total[0] += 1
    number = state.layout.class_of[arm]
    if state.rule == HEAVY:
        learn_heavy(state, arm, number, reward)
        return
    add_reward(state.arms, arm, reward)
    state.isq[arm] = 1.0 / safe_sqrt(state.arms.counts[arm])
    add_reward(state.classes, number, reward)
    state.class_isq[number] = 1.0 / safe_sqrt(state.classes.counts[number])
    if state.rule == TREES:
        first, last = state.layout.starts[number], state.layout.starts[number + 1]
        mark_changed(state.class_tree, 0, len(state.class_isq), number)
        mark_changed(state.trees, first, last - first, state.place_of[arm] - first)


def score(state: LsdtCsiState, arm: int) -> float:
    """Return the paper's index of an arm, whatever index the policy uses; for heavy tails its mean."""
    if state.rule == HEAVY:
        return truncated_mean(state.arms, arm)
    if state.arms.counts[arm] == 0:
        return math.inf
    level = safe_log(float(state.total[0]))
    return state.arms.means[arm] + light_width(state.alpha, state.b, level, state.isq[arm])


SPECIFICATION = Specification(
    name="lsdt_csi",
    title="LSDT-CSI",
    rule="class: argmax of pooled mean + sqrt(alpha log t / pooled n); arm in it: argmax of "
    "mean + sqrt(alpha log t / n); with b > 0 both widths are max(sqrt(alpha log t / n), 8 b log t / n); for "
    "heavy tails the truncated means and widths of ucb1, of classes and arms",
    reference="the paper, Section 3.2, equations (7) and (8); other indices: Section 5.3; light and heavy "
    "tails: Section 5.2, with Wainwright (2019), Proposition 2.9, and Bubeck, Cesa-Bianchi and Lugosi (2013)",
    cost="O(classes + arms of the chosen class); their logarithms from 500 on, with index 'ucb' and b = 0",
    state=LsdtCsiState,
    prepare=prepare,
    select=select,
    update=update,
    parameters=(
        Choice(
            "index",
            "ucb",
            "index of classes and arms; 'ucb' is the paper's",
            INDICES,
            contest_words=INDICES[1:],
            random_words=("gaussian_ts",),
        ),
        TAILS,
        SIGMA,
        B,
        Number(
            "alpha",
            None,
            "width of the 'ucb' index; 8 sigma^2; the proof asks for more than 6 sigma^2",
            lambda _, values: 8.0 * values["sigma"] ** 2,
            above=0.0,
            goes_with=NOT_HEAVY,
        ),
        DIVERGENCE,
        *HEAVY_TAILS,
    ),
    needs=frozenset({"complete"}),
    offline="paper",
    score=score,
    score_name="index of the paper",
    places={"class_tree": "class_isq", "trees": "isq", **TRUNCATION_PLACES},
    prepare_many=prepare_many,
)
