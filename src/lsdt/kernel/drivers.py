"""How a policy is run: one round at a time for an agent, many rounds for a simulation, from one definition.

A policy is a state class with two functions, ``select(state, allowed, stream) -> arm`` and ``update(state,
arm, reward, stream)``, and a third where the policy counts how often it is asked: ``asked(state, arm,
allowed, stream)``. `select` only looks; `asked` and `update` change the state. Where updates take long, a
fourth learns what stands in for many pending rewards: ``expect(state, arms, rewards, stream)``. Compiled code
picks them by the class of the state, which Numba can keep on disk; functions handed over as arguments it
cannot. The entries of a class are closures over it, kept on disk under its name and a stamp of all sources
they depend on.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel.jit import Array, compiled_for, inlined
from lsdt.kernel.random import STREAM_WORDS, Purpose
from lsdt.kernel.rewards import RECORDED_LAW, draw_recorded, draw_reward
from lsdt.kernel.stamps import sources_stamp
from lsdt.kernel.state import Allowed, allowed_of, state_of, stream_of, view_of

if TYPE_CHECKING:
    from collections.abc import Callable

    _Stamp = Callable[[], str | None]
    _SameState = Callable[[Array, Array], Any]


_POLICY, _TOSS = int(Purpose.POLICY), int(Purpose.TOSS)


class PolicyFunctions(NamedTuple):
    """The functions of a policy; ``asked`` is None where being asked changes nothing, ``expect`` mostly."""

    select: Callable[..., int]
    update: Callable[..., None]
    score: Callable[..., float]
    asked: Callable[..., None] | None
    expect: Callable[..., None] | None = None


RULES: dict[type, PolicyFunctions] = {}


def define_rule(
    state_class: type,
    select: Callable[[Any, Allowed, Array], int],
    update: Callable[[Any, int, float, Array], None],
    score: Callable[[Any, int], float],
    asked: Callable[[Any, int, Allowed, Array], None] | None,
    expect: Callable[[Any, Array, Array, Array], None] | None = None,
) -> None:
    """Register how a policy with this class of state chooses, learns, scores arms and counts asks."""
    functions: tuple[Any, ...] = (select, update, score, asked, expect)
    rule = PolicyFunctions(
        *(getattr(function, "py_func", function) for function in functions)
    )  # `@njit` is not needed
    if RULES.setdefault(state_class, rule) != rule:
        raise InvalidInput(
            f"two policies share the class of state {state_class.__name__}; each needs its own class"
        )


def select_arm(state: Any, allowed: Allowed, stream: Array) -> int:
    """Return the arm that the policy of this state plays next, one of the allowed arms."""
    return RULES[type(state)].select(state, allowed, stream)


def learn(state: Any, arm: int, reward: float, stream: Array) -> None:
    """Tell the policy of this state a reward."""
    RULES[type(state)].update(state, arm, reward, stream)


def count_ask(state: Any, arm: int, allowed: Allowed, stream: Array) -> None:
    """Tell the policy of this state, which must count asks, that it was asked and chose an arm."""
    asked = RULES[type(state)].asked
    assert asked is not None
    asked(state, arm, allowed, stream)


def learn_expected(state: Any, arms: Array, rewards: Array, stream: Array) -> None:
    """Tell the policy of this state, which has a function for it, what stands in for pending rewards."""
    expect = RULES[type(state)].expect
    assert expect is not None
    expect(state, arms, rewards, stream)


def score_arm(state: Any, arm: int) -> float:
    """Return the score that the policy of this state gives an arm: its index, or its posterior mean."""
    return RULES[type(state)].score(state, arm)


_NO_STARTS, _NO_REWARDS = np.zeros(1, np.int64), np.zeros(0)


class Setting(NamedTuple):
    """The world of one replication: the arms a policy may play, and how each arm pays.

    Under the law of recorded rewards, arm i pays one of ``recorded[starts[i]:starts[i + 1]]``.
    """

    arms: Array
    means: Array
    gaps: Array
    law: int
    scale: float
    shape: float
    starts: Array = _NO_STARTS
    recorded: Array = _NO_REWARDS


class RunTotals(NamedTuple):
    """The state of a replication; all arrays, so that a run can be interrupted and resumed.

    ``clock`` is the number of rounds played and of checkpoints passed, ``sums`` the regret and the reward so
    far; ``regret`` and ``reward`` are read at ``checkpoints``. ``plays`` may be empty: then none are counted.
    ``clock[1]`` is -1 when the policy chose an invalid arm, which is then in ``clock[0]``.
    """

    stream: Array
    clock: Array
    sums: Array
    checkpoints: Array
    regret: Array
    reward: Array
    plays: Array


class ReplayLog(NamedTuple):
    """The data of a replay: the items a policy may play, the ratings, and the users in their order.

    User u gave ``ratings[starts[u]:starts[u + 1]]`` to ``items`` at the same places, which ascend.
    """

    arms: Array
    starts: Array
    items: Array
    ratings: Array
    order: Array


class ReplayTrace(NamedTuple):
    """The results of a replay, round by round; it can be interrupted and resumed.

    ``clock`` is the number of rounds answered and of users gone by. ``clock[1]`` is -1 when the policy chose
    an invalid arm, which is then in ``clock[0]``.
    """

    clock: Array
    items: Array
    users: Array
    rewards: Array


@inlined
def place_of(items: Array, first: int, last: int, item: int) -> int:
    """Return where an item is among ``items[first:last]``, which ascend, or -1."""
    while first < last:
        middle = (first + last) >> 1
        if items[middle] < item:
            first = middle + 1
        elif items[middle] > item:
            last = middle
        else:
            return middle
    return -1


class Entries(NamedTuple):
    """The compiled functions of one policy.

    ``select(buffer, offsets, round, everything, flags) -> arm`` chooses, of all arms or of those with a flag;
    ``asked(buffer, offsets, round, everything, flags, arm)`` counts that ask, and is None for policies that
    count none; ``teach(buffer, offsets, rounds, purpose, arms, rewards)`` learns rewards one after the other.
    ``expect(buffer, offsets, round, arms, rewards)`` learns at once what stands in for rewards that are not
    known yet, and is None for policies to which these are rewards like others.
    For studies: ``play(buffer, offsets, flags, setting, totals, rounds)``, and ``replay(buffer, offsets,
    flags, replay_log, trace, rounds)`` on a log, with a flag for every arm. For agents: ``count_choices``
    draws choices on a copy, ``scores`` returns the policy's score of every arm.
    """

    select: Callable[[Array, Array, int, bool, Array], int]
    play: Callable[[Array, Array, Array, Setting, RunTotals, int], None]
    count_choices: Callable[[Array, Array, bool, Array, Array, int], Array]
    scores: Callable[[Array, Array, int], Array]
    replay: Callable[[Array, Array, Array, ReplayLog, ReplayTrace, int], None]
    teach: Callable[[Array, Array, Array, int, Array, Array], None]
    asked: Callable[[Array, Array, int, bool, Array, int], None] | None
    expect: Callable[[Array, Array, int, Array, Array], None] | None


@cache
def entries_of(state_class: type) -> Entries:
    """Return the compiled functions of the policy with this class of state."""
    functions = [function for function in RULES[state_class] if function is not None]
    return _entries(state_class, cache(lambda: sources_stamp(state_class, *functions)))


# How much interpreted work a round is, in the unit of `TieredFunction`: numbers read.
_ROUND = 10


def _entries(state_class: type, stamp: _Stamp) -> Entries:
    same_state = _remembered(state_class)
    return Entries(
        _select_entry(state_class, stamp, same_state),
        _play_entry(state_class, stamp),
        *_score_entries(state_class, stamp),
        _replay_entry(state_class, stamp),
        _teach_entry(state_class, stamp, same_state),
        _asked_entry(state_class, stamp, same_state) if _counts_asks(state_class) else None,
        None if RULES[state_class].expect is None else _expect_entry(state_class, stamp, same_state),
    )


def _remembered(state_class: type) -> _SameState:
    """Return `state_of` for the interpreter, which remembers the state of the last buffer.

    To make its views takes a third of the time of an interpreted round, and an agent plays all of them on one
    buffer. Parameters, which are not views, do not change in a buffer.
    """
    last: tuple[Any, Any] = None, None

    def same_state(buffer: Array, offsets: Array) -> Any:
        nonlocal last
        known, state = last
        if known is not buffer:
            state = state_of(state_class, buffer, offsets)
            last = buffer, state
        return state

    return same_state


def _counts_asks(state_class: type) -> bool:
    return RULES[state_class].asked is not None


def _select_entry(state_class: type, stamp: _Stamp, same_state: _SameState) -> Any:
    def plain(buffer: Array, offsets: Array, round_: int, everything: bool, flags: Array) -> int:
        stream = stream_of(buffer, round_, _POLICY)
        return select_arm(same_state(buffer, offsets), Allowed(everything, flags), stream)

    @compiled_for(state_class, stamp, lambda *arguments: _ROUND * len(arguments[4]), plain)
    def select(buffer: Array, offsets: Array, round_: int, everything: bool, flags: Array) -> int:
        stream = stream_of(buffer, round_, _POLICY)
        return select_arm(state_of(state_class, buffer, offsets), allowed_of(everything, flags), stream)

    return select


def _asked_entry(state_class: type, stamp: _Stamp, same_state: _SameState) -> Any:
    def plain(buffer: Array, offsets: Array, round_: int, everything: bool, flags: Array, arm: int) -> None:
        stream = stream_of(buffer, round_, _POLICY)
        count_ask(same_state(buffer, offsets), arm, Allowed(everything, flags), stream)

    @compiled_for(state_class, stamp, lambda *arguments: _ROUND * len(arguments[4]), plain)
    def asked(buffer: Array, offsets: Array, round_: int, everything: bool, flags: Array, arm: int) -> None:
        stream = stream_of(buffer, round_, _POLICY)
        count_ask(state_of(state_class, buffer, offsets), arm, allowed_of(everything, flags), stream)

    return asked


def _play_entry(state_class: type, stamp: _Stamp) -> Any:
    counts_asks = _counts_asks(state_class)  # a constant to the compiler, which drops the branch

    def work(*arguments: Any) -> int:
        *_, flags, _, totals, rounds = arguments
        return _ROUND * (min(rounds, int(totals.checkpoints[-1] - totals.clock[0])) + len(flags))

    @compiled_for(state_class, stamp, work)
    def play(
        buffer: Array, offsets: Array, flags: Array, setting: Setting, totals: RunTotals, rounds: int
    ) -> None:
        state = state_of(state_class, buffer, offsets)
        arms, means, gaps, plays = setting.arms, setting.means, setting.gaps, totals.plays
        allowed = allowed_of(True, flags)
        noise = view_of(totals.stream, 0, STREAM_WORDS, np.uint64)  # whose references are not counted
        clock, checkpoints = totals.clock, totals.checkpoints
        regret, earned = totals.sums[0], totals.sums[1]
        played, passed = clock[0], clock[1]
        last = min(played + rounds, checkpoints[-1])
        while played < last:
            stop = min(last, checkpoints[passed])
            for round_ in range(played, stop):
                chosen = select_arm(state, allowed, stream_of(buffer, round_, _POLICY))
                if not 0 <= chosen < len(arms):  # a policy of a user's own may be wrong
                    clock[0], clock[1] = chosen, -1
                    return
                if counts_asks:
                    count_ask(state, chosen, allowed, stream_of(buffer, round_, _POLICY))
                arm = np.uint64(arms[chosen])  # unsigned: not checked whether it counts from the end
                if setting.law == RECORDED_LAW:
                    reward = draw_recorded(setting.starts, setting.recorded, arms[chosen], noise)
                else:
                    reward = draw_reward(setting.law, means[arm], setting.scale, setting.shape, noise)
                learn(state, chosen, reward, stream_of(buffer, round_, _TOSS))
                regret += gaps[arm]
                earned += reward
                if len(plays) > 0:
                    plays[arm] += 1
            played = stop
            if played == checkpoints[passed]:
                totals.regret[passed] = regret
                totals.reward[passed] = earned
                passed += 1
        clock[0], clock[1] = played, passed
        totals.sums[0], totals.sums[1] = regret, earned

    return play


def _score_entries(state_class: type, stamp: _Stamp) -> tuple[Any, Any]:
    @compiled_for(state_class, stamp, lambda *arguments: _ROUND * (arguments[-1] + len(arguments[3])))
    def count_choices(
        buffer: Array, offsets: Array, everything: bool, flags: Array, stream: Array, draws: int
    ) -> Array:
        copy, allowed = buffer.copy(), allowed_of(everything, flags)  # `select` may write to its caches
        counts = np.zeros(len(flags), np.int64)
        for _ in range(draws):  # a view does not keep the copy alive, so that the state is made in here
            chosen = select_arm(state_of(state_class, copy, offsets), allowed, stream)
            if 0 <= chosen < len(counts):
                counts[chosen] += 1
        return counts

    @compiled_for(state_class, stamp, lambda *arguments: _ROUND * arguments[-1])
    def scores(buffer: Array, offsets: Array, n_arms: int) -> Array:
        copy = buffer.copy()  # a policy may keep what it works out
        values = np.empty(n_arms)
        for arm in range(n_arms):
            values[arm] = score_arm(state_of(state_class, copy, offsets), arm)
        return values

    return count_choices, scores


def _replay_entry(state_class: type, stamp: _Stamp) -> Any:
    counts_asks = _counts_asks(state_class)

    def work(*arguments: Any) -> int:
        *_, flags, _, trace, rounds = arguments
        return _ROUND * (min(rounds, len(trace.rewards) - int(trace.clock[0])) + len(flags))

    @compiled_for(state_class, stamp, work)
    def replay(
        buffer: Array, offsets: Array, flags: Array, replay_log: ReplayLog, trace: ReplayTrace, rounds: int
    ) -> None:
        state = state_of(state_class, buffer, offsets)
        arms, ratings, order, clock = replay_log.arms, replay_log.ratings, replay_log.order, trace.clock
        starts, items = replay_log.starts, replay_log.items
        allowed = allowed_of(True, flags)
        answered, gone = clock[0], clock[1]
        last = min(answered + rounds, len(trace.rewards))
        while answered < last and gone < len(order):
            chosen = select_arm(state, allowed, stream_of(buffer, answered, _POLICY))
            if not 0 <= chosen < len(arms):  # a policy of a user's own may be wrong
                clock[0], clock[1] = chosen, -1
                return
            if counts_asks:  # also where no user is left to answer
                count_ask(state, chosen, allowed, stream_of(buffer, answered, _POLICY))
            item = arms[chosen]
            place = -1
            while gone < len(order):
                user = order[gone]
                place = place_of(items, starts[user], starts[user + 1], item)
                if place >= 0:
                    break
                gone += 1
            if gone == len(order):
                break
            reward = ratings[place]
            learn(state, chosen, reward, stream_of(buffer, answered, _TOSS))
            trace.items[answered], trace.users[answered] = item, order[gone]
            trace.rewards[answered] = reward
            answered += 1
            gone += 1
        clock[0], clock[1] = answered, gone

    return replay


def _teach_entry(state_class: type, stamp: _Stamp, same_state: _SameState) -> Any:
    def plain(
        buffer: Array, offsets: Array, rounds: Array, purpose: int, arms: Array, rewards: Array
    ) -> None:
        state = same_state(buffer, offsets)
        for round_, arm, reward in zip(rounds.tolist(), arms.tolist(), rewards.tolist(), strict=True):
            learn(state, arm, reward, stream_of(buffer, round_, purpose))

    @compiled_for(
        state_class, stamp, lambda *arguments: _ROUND * len(arguments[4]) + len(arguments[0]) // 20, plain
    )
    def teach(
        buffer: Array, offsets: Array, rounds: Array, purpose: int, arms: Array, rewards: Array
    ) -> None:
        state = state_of(state_class, buffer, offsets)
        for number in range(len(arms)):
            learn(state, arms[number], rewards[number], stream_of(buffer, rounds[number], purpose))

    return teach


def _expect_entry(state_class: type, stamp: _Stamp, same_state: _SameState) -> Any:
    def plain(buffer: Array, offsets: Array, round_: int, arms: Array, rewards: Array) -> None:
        stream = stream_of(buffer, round_, _TOSS)
        learn_expected(same_state(buffer, offsets), arms, rewards, stream)

    def work(*arguments: Any) -> int:
        return _ROUND * len(arguments[3]) + len(arguments[0]) // 20

    @compiled_for(state_class, stamp, work, plain)
    def expect(buffer: Array, offsets: Array, round_: int, arms: Array, rewards: Array) -> None:
        state = state_of(state_class, buffer, offsets)
        learn_expected(state, arms, rewards, stream_of(buffer, round_, _TOSS))

    return expect
