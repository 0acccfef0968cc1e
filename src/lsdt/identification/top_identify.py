"""`lsdt.identify` for the best m arms, or for all arms within the tolerance: what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt._html import Html, card, facts, fold
from lsdt.errors import counted
from lsdt.policies import ALL
from lsdt.side_information import with_risk

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent import Agent, TopStopping
    from lsdt.problems import Instance
    from lsdt.side_information import ArmId


class TopIdentification(NamedTuple):
    """Which arms were found to be the best; see `identify`.

    Attributes
    ----------
    arm_ids : list of str or int
        The arms found, the likely best first.
    arms : array of int
        Their indices.
    stop : bool
        Whether they are known at the level asked for.
    delta : float
        The level reached by the rewards: a guaranteed bound on the probability that they are wrong. `risk`
        adds to it.
    risk : float
        The probability, at most, that the side information is wrong, as far as its sources state one
        (`SideInformation.risks`); 0 if none does.
    top : int or 'all'
        How many, or all within the tolerance.
    tolerance : float
        How far below the `top`-th best arm each may lie.
    tries : int
        How many rewards were used.
    gap : float or None
        How far the worst of them lies below the `top`-th best arm (for ``'all'``: below the best) in truth,
        if a problem was simulated.
    missed : int or None
        For ``'all'``: how many arms within the tolerance of the best were not found, in truth.
    agent : Agent
        The agent with everything it learned.
    text : str
        The result in a sentence.

    Examples
    --------
    >>> import lsdt
    >>> found = lsdt.identify(lsdt.problems.uniform(n_arms=20, epsilon=.1), top=3, seed=1)
    >>> found.stop, len(found.arm_ids), found.gap < .1
    (True, 3, True)
    """

    arm_ids: list[ArmId]
    arms: NDArray[np.int64]
    stop: bool
    delta: float
    risk: float
    top: int | str
    tolerance: float
    tries: int
    gap: float | None
    missed: int | None
    agent: Agent
    text: str

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: plays, mean, the policy's score; see `Agent.to_frame`."""
        return self.agent.to_frame()

    def __repr__(self) -> str:
        return (
            f"TopIdentification(arm_ids={self.arm_ids!r}, stop={self.stop}, delta={self.delta:.3g}, "
            + (f"risk={self.risk:.3g}, " if self.risk else "")
            + f"tries={self.tries:,})"
        )

    def _repr_html_(self) -> str:
        known = {
            "arms": ", ".join(map(str, self.arm_ids)),
            "known": self.stop,
            "level reached": self.delta,
            "risk of the side information": self.risk or None,
            "tolerance": self.tolerance,
            "tries": self.tries,
            "true distance of the worst": self.gap,
        }
        learned = fold("what was learned", Html(self.agent._repr_html_()))
        return card("TopIdentification", self.text, facts(known), learned)


def top_answer(
    agent: Agent, found: TopStopping, delta: float | None, tries: int, instance: Instance | None
) -> TopIdentification:
    """Return what was found after this many tries."""
    gap, missed = None, None
    if instance is not None:
        means = instance.means
        at_least = means.max() if found.top == ALL else np.sort(means)[-int(found.top)]
        gap = max(float(at_least - means[found.arms].min()), 0.0) if len(found.arms) else 0.0
        if found.top == ALL:
            near = np.flatnonzero(means >= means.max() - found.tolerance)
            missed = len(np.setdiff1d(near, found.arms))
    known = delta is not None and found.stop
    text = found.text
    if not known:
        text = (
            f"{', '.join(map(repr, found.arm_ids))} are the best guess after {counted(tries, 'reward')}, "
            f"wrong with a probability of certainly at most {with_risk(found.delta, found.risk)}"
            + (f"; {found.about_risk}" if found.risk else "")
        )
    return TopIdentification(
        found.arm_ids,
        found.arms,
        known,
        found.delta,
        found.risk,
        found.top,
        found.tolerance,
        tries,
        gap,
        missed,
        agent,
        text,
    )
