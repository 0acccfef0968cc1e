"""Very many arms: a tournament or groups kept from round to round against a scan in every round."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import lsdt
from lsdt.kernel import tournament
from lsdt.kernel.drivers import RunTotals, Setting
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from timing import Row, in_turns, timed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.policies.policy import ReadyPolicy

LAWS = {"gaussian": (0, 1.0), "bernoulli": (1, 0.5)}
NEVER = 10**12
LONG_RUN = 100_000
HORIZON = 1_000_000


class Game(NamedTuple):
    """A policy among arms with these means, after every arm was played once."""

    ready: ReadyPolicy
    setting: Setting
    totals: RunTotals

    def seconds(self, rounds: int) -> float:
        """Play some rounds and return the seconds of one."""
        started = perf_counter()
        self.ready.player.play(self.setting, self.totals, rounds)
        return (perf_counter() - started) / rounds


def _game(policy: str, n_arms: int, rewards: str, from_arms: int, rounds: int) -> Game:
    """Begin; where that comes first, play every arm once and one round more, in which the tree is built."""
    law, sigma = LAWS[rewards]
    means = np.random.default_rng(0).random(n_arms)
    usual, tournament.MANY_ARMS = tournament.MANY_ARMS, from_arms
    ready = lsdt.Policy(policy).begin(
        _side(policy, means), RewardModel(rewards, sigma), HORIZON, new_stream(1)
    )
    tournament.MANY_ARMS = usual
    setting = Setting(ready.arms, means, means.max() - means, law, 1.0, 0.0)
    ends, plays = np.array([n_arms + 1 + rounds]), np.zeros(n_arms, np.int64)
    totals = RunTotals(new_stream(2), np.zeros(2, np.int64), np.zeros(2), ends, *np.zeros((2, 1)), plays)
    game = Game(ready, setting, totals)
    if not begun_at_once(policy):
        game.seconds(n_arms + 1)
    return game


def begun_at_once(policy: str) -> bool:
    """Say whether a policy plays its rule from the first round on, rather than every arm once."""
    return policy in ("ts", "ts_gaussian", "lsdt_ts_csi", "lsdt_ts_psi")


def _side(policy: str, means: NDArray[np.float64]) -> lsdt.SideInformation:
    """All arms similar; for partial information each to the ten nearest."""
    if policy != "lsdt_ts_psi":
        return lsdt.from_means(means, 2.0)
    order = np.argsort(means)
    near = [np.column_stack([order[:-step], order[step:]]) for step in range(1, 6) if step < len(means)]
    return lsdt.SideInformation(len(means), similar=np.concatenate(near), epsilon=0.1)


def _against_scan(policy: str, rewards: str, n_arms: int, scans: int, rounds: int, to_reach: int) -> Row:
    """Time turns of `scans` rounds with a scan and `rounds` with a tree; the first `scans` are the same."""
    _game(policy, 2, rewards, 1, 1).seconds(1)  # compiles
    check = [_game(policy, n_arms, rewards, from_arms, scans) for from_arms in (1, NEVER)]
    for game in check:
        game.seconds(scans)
    if not np.array_equal(check[0].totals.plays, check[1].totals.plays):
        raise AssertionError(f"{policy} plays differently with a tree")
    turns = 3
    tree = _game(policy, n_arms, rewards, 1, turns * rounds)
    scan = _game(policy, n_arms, rewards, NEVER, turns * scans)
    pairs = [(tree.seconds(rounds), scan.seconds(scans)) for _ in range(turns)]
    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
    return Row(
        f"{policy}, {rewards} rewards, a round among 10^{len(str(n_arms)) - 1} arms; the same choices",
        ours,
        "a scan of all arms",
        theirs,
        f"{theirs / ours:.0f} x",
        f">= {to_reach} x",
        theirs >= to_reach * ours,
    )


def ten_thousand_gaussian() -> Row:
    return _against_scan("ucb1", "gaussian", 10**4, 10_000, 30_000, 12)


def ten_thousand_bernoulli() -> Row:
    return _against_scan("ucb1", "bernoulli", 10**4, 10_000, 30_000, 12)


def million_gaussian() -> Row:
    return _against_scan("ucb1", "gaussian", 10**6, 200, 50_000, 400)


def million_bernoulli() -> Row:
    return _against_scan("ucb1", "bernoulli", 10**6, 200, 50_000, 400)


def million_in_one_class() -> Row:
    return _against_scan("lsdt_csi", "gaussian", 10**6, 200, 50_000, 400)


def _samplers(policy: str, rewards: str = "bernoulli") -> Row:
    """Time all of K rounds among K arms with groups, and a few rounds that draw for every arm."""
    n_arms, scans = 10**5, 20
    for from_arms in (1, NEVER):
        _game(policy, 20, rewards, from_arms, 1).seconds(1)  # compiles
    scan = _game(policy, n_arms, rewards, NEVER, 4 * scans)
    before = scan.seconds(scans)
    ours = _game(policy, n_arms, rewards, 1, n_arms).seconds(n_arms)
    theirs = min(before, *(scan.seconds(scans) for _ in range(3)))
    return Row(
        f"{policy}, {rewards} rewards, a round of T = K = 10^5",
        ours,
        "a draw for every arm",
        theirs,
        f"{theirs / ours:.0f} x",
        ">= 100 x",
        theirs >= 100 * ours,
    )


def ts() -> Row:
    return _samplers("ts")


def ts_gaussian() -> Row:
    return _samplers("ts_gaussian")


def lsdt_ts_csi() -> Row:
    return _samplers("lsdt_ts_csi")


def lsdt_ts_psi() -> Row:
    return _samplers("lsdt_ts_psi")


def moss() -> Row:
    return _against_scan("moss", "gaussian", 10**5, 1_000, 100_000, 20)


def kl_ucb() -> Row:
    return _against_scan("kl_ucb", "bernoulli", 10**5, 300, 100_000, 50)


def imed() -> Row:
    return _against_scan("imed", "bernoulli", 10**5, 300, 100_000, 50)


def _whole_run(means: NDArray[np.float64]) -> None:
    """From the means to the regret: side information, offline step, all rounds."""
    side = lsdt.from_means(means, 0.1)
    ready = lsdt.Policy("lsdt_csi").begin(side, RewardModel("gaussian", 1.0), LONG_RUN, new_stream(1))
    setting = Setting(ready.arms, means, means.max() - means, 0, 1.0, 0.0)
    totals = RunTotals(
        new_stream(2),
        np.zeros(2, np.int64),
        np.zeros(2),
        np.array([LONG_RUN]),
        *np.zeros((2, 1)),
        np.zeros(len(means), np.int64),
    )
    ready.player.play(setting, totals, LONG_RUN)


def end_to_end() -> Row:
    rng = np.random.default_rng(0)
    few, many = rng.random(10**3), rng.random(10**6)
    ours, theirs = in_turns(lambda: _whole_run(many), lambda: _whole_run(few))
    theirs += min(timed(lambda: np.sort(many)) for _ in range(5))
    return Row(
        "lsdt_csi from means to regret: complete information, epsilon .1, K = 10^6, T = 10^5",
        ours,
        "the same with K = 10^3, and numpy.sort of the 10^6 means",
        theirs,
        f"{ours / theirs:.2f} x",
        "<= 3 x",
        ours <= 3 * theirs,
    )


WORKS = [
    ten_thousand_gaussian,
    ten_thousand_bernoulli,
    million_gaussian,
    million_bernoulli,
    million_in_one_class,
    ts,
    ts_gaussian,
    lsdt_ts_csi,
    lsdt_ts_psi,
    moss,
    kl_ucb,
    imed,
    end_to_end,
]
