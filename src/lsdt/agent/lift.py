"""How much better arms are than a control, with intervals that hold at all times together.

The mean of every arm has an interval that holds at all times, whatever the delays of its rewards (see
`anytime_intervals`). The control's holds but for a probability of risk / 2, those of the other m arms but for
risk / (2 m) each. If all hold, so does every difference: it lies between the lower end of the arm less the
upper end of the control, and the other way around. The arm that is shown first may thus be chosen by its
rewards.

One interval for the difference itself would be about as wide: its mixture martingale is the product of two,
and pays for both. With 1,000 rewards of the control and 9,000 of the arm it would be 4% narrower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_share_inside
from lsdt.agent.anytime_intervals import intervals_of
from lsdt.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    import pandas as pd

    from lsdt.agent.learner import Learner


def lift_frame(learner: Learner, control: Any, risk: float) -> pd.DataFrame:
    """Return a row for each arm in play that has a reward; see `Agent.lift`."""
    import pandas as pd

    accepted = checked_share_inside(risk, "risk")
    if learner.fading is not None:
        raise Unsupported("a lift holds for good only where means stay as they are, and this agent forgets")
    index = control_of(learner, control)
    playable, (counts, sums) = learner.in_play(), learner.told_tallies()
    m = max(1, int((learner.arms != index).sum()))  # retired ones too: who retires may depend on rewards
    arms = playable[(playable != index) & (counts[playable] > 0)]
    low, high = intervals_of(learner, arms, 0.5 * accepted / m)
    (lowest,), (highest,) = intervals_of(learner, np.array([index]), 0.5 * accepted)
    base = sums[index] / counts[index] if counts[index] else np.nan
    means = sums[arms] / counts[arms]
    frame = pd.DataFrame(
        {
            "arm": pd.Series([learner.side.label(arm) for arm in arms.tolist()], dtype=object),
            "plays": counts[arms],
            "mean": means,
            "lift": means - base,
            "low": low - highest,
            "high": high - lowest,
        }
    )
    frame = frame.sort_values("mean", ascending=False, kind="stable", ignore_index=True)
    frame.attrs["control"] = {
        "arm": learner.side.label(index),
        "plays": int(counts[index]),
        "mean": float(base),
    }
    return frame


def control_of(learner: Learner, control: Any) -> int:
    """Return the arm to compare with: the one given, or the only one with a floor or a holdout."""
    if control is not None:
        return learner.side.index(control)
    known = [] if learner.floors is None else learner.floors.controls()
    if len(known) == 1:
        return known[0]
    if known:
        names = ", ".join(repr(learner.side.label(arm)) for arm in known)
        raise InvalidInput(f"several arms have a floor or a holdout: {names}; say which is the control")
    raise InvalidInput(
        "say which arm is the control, as in agent.lift('control'): none has a floor or a holdout"
    )
