"""Replications that are played by lsdt's compiled rounds and by what they are compared with."""

from __future__ import annotations

import statistics
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import lsdt
from lsdt.kernel.drivers import RunTotals, Setting
from lsdt.kernel.random import Purpose, new_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.policies.policy import ReadyPolicy
    from lsdt.problems.problems import Instance

ARMS, HORIZON, REPLICATIONS = 100, 1000, 60
CHECKPOINTS = np.arange(10, HORIZON + 1, 10)
SIZE = f"a run of K = {ARMS}, T = {HORIZON:,}"


class Replication(NamedTuple):
    """One replication before its first round."""

    instance: Instance
    ready: ReadyPolicy
    number: int

    def stream(self, use: int) -> Any:
        """Return the random stream for one use."""
        return new_stream(0, self.number, use)

    def setting(self) -> Setting:
        """Return the arms and how they pay."""
        means, law = self.instance.means, self.instance.rewards
        return Setting(self.ready.arms, means, means.max() - means, law.law, law.scale, law.shape)

    def totals(self) -> RunTotals:
        """Return a totals with nothing in it."""
        clock, sums, plays = np.zeros(2, np.int64), np.zeros(2), np.zeros(ARMS, np.int64)
        regret, reward = np.zeros((2, len(CHECKPOINTS)))
        return RunTotals(self.stream(Purpose.REWARD), clock, sums, CHECKPOINTS, regret, reward, plays)


# Plays replications one after the other and returns the seconds, of processor time because others may use the
# machine too, and the ledgers.
TimedRun = tuple[float, list[RunTotals]]


def replications(policy: str, rewards: str, count: int = REPLICATIONS) -> list[Replication]:
    problem, made = lsdt.problems.uniform(ARMS, rewards=rewards), []
    for number in range(count):
        instance, stream = problem.draw(0, number), new_stream(0, number, Purpose.POLICY)
        ready = lsdt.Policy(policy).begin(instance.side, instance.rewards.model, HORIZON, stream)
        made.append(Replication(instance, ready, number))
    return made


def play_with_lsdt(works: list[Replication]) -> TimedRun:
    calls = [(work.ready.player, work.setting(), work.totals()) for work in works]
    started = process_time()
    for player, setting, totals in calls:
        player.copy().play(setting, totals, HORIZON)
    return process_time() - started, [totals for _, _, totals in calls]


def require_same(what: str, ours: list[RunTotals], theirs: list[RunTotals]) -> None:
    """Fail unless both sides played every arm equally often, and so came to the same regret."""
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        same = np.array_equal(one.plays, other.plays)
        if not (same and np.allclose(one.regret, other.regret, rtol=1e-12)):
            raise AssertionError(f"{what}: the two sides play differently in replication {number}")


def in_turns_against(
    what: str, works: list[Replication], other: Callable[[list[Replication]], TimedRun], repeats: int
) -> tuple[float, float, float]:
    """Check that both sides play the same; return the median ratio and the best seconds of a run of each."""
    require_same(what, play_with_lsdt(works)[1], other(works)[1])
    pairs = [(play_with_lsdt(works)[0], other(works)[0]) for _ in range(repeats)]
    ours, theirs = (min(times) / len(works) for times in zip(*pairs, strict=True))
    return statistics.median(mine / yours for mine, yours in pairs), ours, theirs
