"""Notebook cards for agents, recommendations and stopping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt._html import (
    BLUE,
    GREEN,
    MOST_ROWS,
    ORANGE,
    Html,
    card,
    facts,
    fold,
    html_table,
    level_bar,
    share_bar,
    whiskers,
)
from lsdt.errors import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.agent.recommendation import ArmEstimate, Recommendation
    from lsdt.agent.stopping import Stopping
    from lsdt.side_information import SideInformation

_FEW = 8  # rows of a table, by eye: a card should fit on a screen


def agent_card(learner: Learner, lead: str) -> Html:
    """Return the card of an agent: its tallies and its most played arms."""
    side, counts = learner.side, learner.counts
    n_played = int((counts[learner.arms] > 0).sum())
    retired = 0 if learner.retired is None else int(learner.retired[learner.arms].sum())
    most = _largest(counts, _FEW)
    rows = [
        (side.show(arm), int(counts[arm]), level_bar(float(counts[arm]), float(counts[most[0]])), mean)
        for arm, mean in zip(most.tolist(), (learner.sums[most] / counts[most]).tolist(), strict=True)
    ]
    known = {
        "rewards told": learner.n_told,
        "decisions": learner.n_asked,
        "waiting for their reward": len(learner.pending) or None,
        "known before": int(learner.prior.counts.sum()) if learner.prior else None,
        "why this policy": learner.policy_reason,
    }
    return card(
        "Agent",
        lead.removeprefix("Agent(").removesuffix(")"),
        share_bar(
            [
                ("played", n_played, BLUE),
                (
                    "in play, never played",
                    len(learner.arms) - n_played - min(retired, len(learner.arms)),
                    GREEN,
                ),
                ("retired", retired, ORANGE),
                ("out of play", side.n_arms - len(learner.arms), None),
            ]
        ),
        facts(known),
        html_table(("arm", "plays", "", "mean"), rows),
    )


def _largest(counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the most played arms, without unplayed ones."""
    few = min(most, len(counts))
    best = np.argpartition(counts, len(counts) - few)[len(counts) - few :]
    best = best[counts[best] > 0]
    return np.asarray(best[np.lexsort((best, -counts[best]))])


def recommendation_card(best: Recommendation) -> Html:
    """Return the arm to recommend and the next best, with their intervals on one scale."""
    arms: list[Recommendation | ArmEstimate] = [best, *best.runners_up[: MOST_ROWS - 1]]
    ends = [end for arm in arms for end in (arm.low, arm.high) if math.isfinite(end)]
    least, most = (min(ends), max(ends)) if ends else (0.0, 1.0)
    rows = [
        (
            arm.arm_id,
            arm.mean,
            whiskers(arm.mean, arm.low, arm.high, least, most),
            arm.low,
            arm.high,
            arm.plays,
        )
        for arm in arms
    ]
    return card(
        "Recommendation",
        best.text,
        html_table(("arm", "mean", "95% interval", "low", "high", "plays"), rows, 1 + len(best.runners_up)),
        facts({"probability that it is the best": best.certainty}),
    )


def stopping_card(
    stopping: Stopping,
    evidence: NDArray[np.float64],
    arms: NDArray[np.int64],
    side: SideInformation,
    level: float,
) -> Html:
    """Return whether the leader is known, and how much evidence against its strongest rivals is missing."""
    needed = -math.log(level)
    rivals = np.flatnonzero(arms != stopping.arm)
    few = rivals[np.argsort(evidence[rivals], kind="stable")[:_FEW]] if len(rivals) <= 10**5 else rivals[:0]
    rows = [
        (side.show(int(arms[at])), level_bar(min(value, needed), needed), share)
        for at, value in zip(few.tolist(), evidence[few].tolist(), strict=True)
        for share in [f"{max(0.0, min(value / needed, 1.0)):.0%} of the evidence needed"]
    ]
    open_rivals = counted(int((evidence[rivals] < needed).sum()), "rival")
    return card(
        "Stopping",
        stopping.text,
        facts(
            {
                "stop": stopping.stop,
                "leader": side.show(stopping.arm),
                "level reached": stopping.delta,
                "asked for": level,
                "tolerance": stopping.tolerance,
                "without a reward yet": stopping.pending,
            }
        ),
        fold(f"{open_rivals} still open", html_table(("arm", "", ""), rows, len(rivals))),
    )
