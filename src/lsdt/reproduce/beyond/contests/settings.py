"""The contests: one row each, with its setting and its claims."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lsdt.reproduce.beyond.contests.contest import contest_setting, larger_setting, play_contest
from lsdt.reproduce.beyond.contests.results import (
    contest_discussion,
    draw_contest,
    lowest_claim,
    ratio_claim,
    standings,
)
from lsdt.reproduce.beyond.contests.shapes import SHAPES
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.reproduce.framework.claims import Claim
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

_MOST_MICROSECONDS = 50.0  # per step, with many arms: half a second for a run of 10,000 rounds
_WITHOUT = {"lsdt_watchful": "lays all arms out on a line before the first round, which takes minutes here"}


class _Ratio(NamedTuple):
    """The claim that LSDT-posterior has at most a share of another policy's regret."""

    name: str
    policy: str
    share: float


class _Contest(NamedTuple):
    """One contest: its titles, setting and claims, and its approximate running time."""

    title: str
    figure: str
    setting: Callable[[Request], Setting]
    where: str  # how the claims begin
    lowest: str  # the name of the claim that LSDT-posterior has the least regret
    seconds: float
    ratio: _Ratio | None = None

    def claims(self, tables: Tables) -> list[Claim]:
        """Return the claims on the tables of this contest."""
        claims = [lowest_claim(tables, self.lowest, self.where)]
        if self.ratio is not None:
            claims.insert(0, ratio_claim(tables, self.ratio.name, self.where, *self.ratio[1:]))
        return claims


_CONTESTS = {
    # The paper's own setting.
    "beyond-complete": _Contest(
        "Contest with complete side information",
        "100 arms, complete side information, Gaussian rewards",
        partial(contest_setting, revealed=1.0, rewards="gaussian", connected=True),
        "With complete side information",
        "posterior-lowest-complete",
        10.0,
        _Ratio("posterior-fifth-of-csi", "lsdt_csi", 1 / 5),
    ),
    # The paper's own setting.
    "beyond-partial-5": _Contest(
        "Contest when half of the relations are known",
        "100 arms, half of the relations known, Bernoulli rewards",
        partial(contest_setting, revealed=0.5, rewards="bernoulli"),
        "When half of the relations are known",
        "posterior-lowest-half",
        10.0,
        _Ratio("posterior-twelfth-of-psi", "lsdt_psi", 1 / 12),
    ),
    "beyond-partial-2": _Contest(
        "Contest when a fifth of the relations is known",
        "100 arms, a fifth of the relations known, Bernoulli rewards",
        partial(contest_setting, revealed=0.2, rewards="bernoulli"),
        "When a fifth of the relations is known",
        "posterior-lowest-fifth",
        20.0,
        _Ratio("posterior-fifteenth-of-psi", "lsdt_psi", 1 / 15),
    ),
    # Epsilon is so small that the similarity graph is not connected.
    "beyond-disconnected": _Contest(
        "Contest on a similarity graph in pieces",
        "100 arms, complete side information, epsilon 0.03, Gaussian rewards",
        partial(contest_setting, revealed=1.0, rewards="gaussian", epsilon=0.03),
        "On a similarity graph in pieces",
        "posterior-lowest-disconnected",
        10.0,
    ),
    "beyond-larger-1k": _Contest(
        "Contest with 1,000 arms",
        "1,000 arms, half of the relations known, Bernoulli rewards",
        partial(larger_setting, arms=1_000, revealed=0.5, most_microseconds=_MOST_MICROSECONDS),
        "With 1,000 arms",
        "posterior-lowest-1k",
        30.0,
    ),
    "beyond-larger-10k": _Contest(
        "Contest with 10,000 arms",
        "10,000 arms, a tenth of the relations known, Bernoulli rewards",
        partial(
            larger_setting, arms=10_000, revealed=0.1, most_microseconds=_MOST_MICROSECONDS, without=_WITHOUT
        ),
        "With 10,000 arms",
        "posterior-lowest-10k",
        100.0,
    ),
}
# Means that are not uniform; half of the relations known, as above.
_CONTESTS |= {
    f"beyond-{shape}": _Contest(
        f"Contest with {words} means",
        f"100 arms, {words} means, half of the relations known, Bernoulli rewards",
        partial(contest_setting, revealed=0.5, rewards="bernoulli", shape=shape),
        f"With {words} means",
        f"posterior-lowest-{shape}",
        10.0,
    )
    for shape, words in zip(SHAPES, ("clustered", "bell-shaped", "evenly spaced", "two-level"), strict=True)
}

EXPERIMENTS = {
    name: Experiment(
        id=name,
        title=contest.title,
        paper=BEYOND_THE_PAPER,
        setting=contest.setting,
        compute=play_contest,
        table=standings,
        draw=partial(draw_contest, title=contest.figure),
        claims=contest.claims,
        discussion=contest_discussion,
        seconds=contest.seconds,
    )
    for name, contest in _CONTESTS.items()
}
