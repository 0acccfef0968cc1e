"""How a policy is run: one round at a time for an agent, many rounds for a simulation, from one definition.

A policy is a state class with two functions, ``select(state, allowed, stream) -> arm`` and ``update(state,
arm, reward, stream)``. Compiled code picks them by the class of the state, which Numba can keep on disk;
functions handed over as arguments it cannot. The entries of a class are closures over the class and a stamp
of the file it is in: both are part of the key under which Numba keeps the machine code.
"""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from numba.extending import overload

from lsdt.kernel.compiling import Array, compiled
from lsdt.kernel.rewards import draw_reward
from lsdt.kernel.states import Allowed, state_of, stream_of

if TYPE_CHECKING:
    from collections.abc import Callable

_RULES: dict[type, tuple[Callable[..., int], Callable[..., None]]] = {}


def define_rule(
    state_class: type,
    select: Callable[[Any, Allowed, Array], int],
    update: Callable[[Any, int, float, Array], None],
) -> None:
    """Say how a policy with this class of state chooses and learns."""
    _RULES[state_class] = (select, update)


def select_arm(state: Any, allowed: Allowed, stream: Array) -> int:
    """Return the arm that the policy of this state plays next, of those that are allowed."""
    return _RULES[type(state)][0](state, allowed, stream)


def learn(state: Any, arm: int, reward: float, stream: Array) -> None:
    """Tell the policy of this state a reward."""
    _RULES[type(state)][1](state, arm, reward, stream)


@overload(select_arm, jit_options={"forceinline": True}, strict=False)
def _compiled_select(state: Any, allowed: Any, stream: Any) -> Callable[..., int]:
    return _RULES[state.instance_class][0]


@overload(learn, jit_options={"forceinline": True}, strict=False)
def _compiled_learn(state: Any, arm: Any, reward: Any, stream: Any) -> Callable[..., None]:
    return _RULES[state.instance_class][1]


class Setting(NamedTuple):
    """The world of one replication: the arms a policy may play, and how each arm pays."""

    arms: Array
    means: Array
    gaps: Array
    law: int
    scale: float
    shape: float


class Ledger(NamedTuple):
    """What a replication has come to; all arrays, so that a run can be interrupted and taken up again.

    ``clock`` is the number of rounds played and of checkpoints passed, ``sums`` the regret and the reward so
    far; ``regret`` and ``reward`` are read at ``checkpoints``. ``plays`` may be empty: then none are counted.
    """

    stream: Array
    clock: Array
    sums: Array
    checkpoints: Array
    regret: Array
    reward: Array
    plays: Array


class Entries(NamedTuple):
    """The compiled functions of one policy.

    ``select(buffer, offsets) -> arm``, ``select_allowed(buffer, offsets, allowed) -> arm``,
    ``update(buffer, offsets, arm, reward)`` and ``play(buffer, offsets, setting, ledger, rounds)``.
    """

    select: Callable[[Array, Array], int]
    select_allowed: Callable[[Array, Array, Array], int]
    update: Callable[[Array, Array, int, float], None]
    play: Callable[[Array, Array, Setting, Ledger, int], None]


@cache
def entries_of(state_class: type) -> Entries:
    """Return the compiled functions of the policy with this class of state."""
    return _entries(state_class, _file_stamp(state_class))


def _file_stamp(state_class: type) -> str:
    try:
        return hashlib.sha256(inspect.getsource(inspect.getmodule(state_class)).encode()).hexdigest()  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def _entries(state_class: type, stamp: str) -> Entries:
    @compiled
    def select(buffer: Array, offsets: Array) -> int:
        assert stamp is not None
        return select_arm(state_of(state_class, buffer, offsets), None, stream_of(buffer))

    @compiled
    def select_allowed(buffer: Array, offsets: Array, allowed: Array) -> int:
        assert stamp is not None
        return select_arm(state_of(state_class, buffer, offsets), allowed, stream_of(buffer))

    @compiled
    def update(buffer: Array, offsets: Array, arm: int, reward: float) -> None:
        assert stamp is not None
        learn(state_of(state_class, buffer, offsets), arm, reward, stream_of(buffer))

    @compiled
    def play(buffer: Array, offsets: Array, setting: Setting, ledger: Ledger, rounds: int) -> None:
        assert stamp is not None
        state, stream = state_of(state_class, buffer, offsets), stream_of(buffer)
        arms, means, gaps, plays = setting.arms, setting.means, setting.gaps, ledger.plays
        clock, checkpoints = ledger.clock, ledger.checkpoints
        regret, earned = ledger.sums[0], ledger.sums[1]
        played, passed = clock[0], clock[1]
        last = min(played + rounds, checkpoints[-1])
        while played < last:
            stop = min(last, checkpoints[passed])
            for _ in range(played, stop):
                chosen = select_arm(state, None, stream)
                arm = arms[chosen]
                reward = draw_reward(setting.law, means[arm], setting.scale, setting.shape, ledger.stream)
                learn(state, chosen, reward, stream)
                regret += gaps[arm]
                earned += reward
                if len(plays) > 0:
                    plays[arm] += 1
            played = stop
            if played == checkpoints[passed]:
                ledger.regret[passed] = regret
                ledger.reward[passed] = earned
                passed += 1
        clock[0], clock[1] = played, passed
        ledger.sums[0], ledger.sums[1] = regret, earned

    return Entries(select, select_allowed, update, play)
