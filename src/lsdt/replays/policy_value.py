"""`lsdt.replays.policy_value`: the value of a randomised policy, from events of another policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_share
from lsdt.errors import InvalidInput, counted
from lsdt.ratings import EventLog, read_by_default, read_events
from lsdt.replays.off_policy import ESTIMATORS, estimates

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import ArmId

_Z = 1.959963984540054  # the normal quantile of a 95% interval
_SUM = 1e-6  # by how much the sum of probabilities may differ from 1: room for rounded tables


def policy_value(
    log: Any,
    probabilities: Mapping[ArmId, float] | ArrayLike,
    *,
    model: Mapping[ArmId, float] | ArrayLike | None = None,
    clip: float = 0.0,
) -> pd.DataFrame:
    """Estimate what a policy would have earned on events that were shown by another one.

    Parameters
    ----------
    log : EventLog, path or dataframe
        Events with the probability of the item shown, as `lsdt.ratings.read_events` returns or reads them;
        by default that column is called ``propensity``. The intervals allow for events of the same user
        being alike.
    probabilities : mapping, or array of events by items
        How likely the policy is to choose each item: by item if that is the same for all events (items
        left out have probability 0), else a row per event with the items in ascending order.
    model : mapping, or array of events by items, optional
        What each item is expected to pay, in the same form. Without it there is no doubly robust estimate.
    clip : float
        The smallest logged probability that is used; smaller ones are raised to it.

    Returns
    -------
    DataFrame
        A row per estimator, ``ips``, ``snips`` and, with a model, ``dr``: ``reward`` with its standard
        error and 95% interval, and ``effective``, the number of equally weighted events that would be as
        informative.

    Examples
    --------
    >>> import lsdt, pandas as pd
    >>> rows = pd.DataFrame({"item": ["tea", "tea", "juice", "juice"], "click": [1, 0, 1, 1],
    ...     "p": [.5, .5, .5, .5]})
    >>> events = lsdt.ratings.read_events(rows, user=None, rating="click", propensity="p")
    >>> found = lsdt.replays.policy_value(events, {"tea": .2, "juice": .8})
    >>> found[["estimator", "reward"]].round(3)
      estimator  reward
    0       ips     0.9
    1     snips     0.9
    """
    import pandas as pd

    events = log if isinstance(log, EventLog) else read_by_default(log, read_events, propensity="propensity")
    if events.propensities is None:
        raise InvalidInput(
            "the value of another policy needs the probability with which each item was shown; name the "
            "column when you read the log, as in lsdt.ratings.read_events(log, propensity='p')"
        )
    chances = _table(events, probabilities, "probabilities", 0.0)
    _check_probabilities(chances)
    at = np.arange(len(events.items))
    played = chances[at if len(chances) > 1 else 0, events.items]
    if model is None:
        modelled = values = np.full(len(at), np.nan)
    else:
        expected = _table(events, model, "model", None)
        modelled = expected[at if len(expected) > 1 else 0, events.items]
        values = np.broadcast_to((chances * expected).sum(axis=1), len(at))
    weights = played / np.maximum(events.propensities, checked_share(clip, "clip"))
    found = estimates(events.rewards, weights, events.users, events.n_users, modelled, np.array(values))
    rows = [
        (name, value, error, value - _Z * error, value + _Z * error, found.effective)
        for name, value, error in zip(ESTIMATORS, found.values, found.errors, strict=True)
        if name != "dr" or model is not None
    ]
    frame = pd.DataFrame(rows, columns=["estimator", "reward", "error", "low", "high", "effective"])
    # Self-normalised values cannot leave the scale, and neither does their interval.
    inside = frame["estimator"] == "snips"
    frame.loc[inside, ["low", "high"]] = frame.loc[inside, ["low", "high"]].clip(events.low, events.high)
    return frame


def _table(events: EventLog, given: Any, name: str, missing: float | None) -> NDArray[np.float64]:
    """Return numbers by item as a table with one row for all events, or one row per event."""
    if isinstance(given, Mapping):
        unknown = set(given) - set(events.item_ids)
        if unknown:
            raise InvalidInput(
                f"{name} has {sorted(map(str, unknown))[0]!r}, which is no item of the log; use the ids "
                f"of its {counted(events.n_items, 'item')}"
            )
        left = [each for each in events.item_ids if each not in given]
        if left and missing is None:
            raise InvalidInput(f"{name} must have every item of the log; {left[0]!r} is missing")
        return np.array([[float(given.get(each, missing)) for each in events.item_ids]])
    table = np.asarray(given, np.float64)
    if table.shape != (len(events.items), events.n_items) or not np.isfinite(table).all():
        raise InvalidInput(
            f"{name} must be a mapping from item to number, or a table of {len(events.items):,} events by "
            f"{counted(events.n_items, 'item')} of finite numbers; got the shape {table.shape}"
        )
    return table


def _check_probabilities(chances: NDArray[np.float64]) -> None:
    if (chances < 0.0).any():
        raise InvalidInput(f"probabilities must not be negative; got {chances.min():g}")
    sums = chances.sum(axis=1)
    at = int(np.abs(sums - 1.0).argmax())
    if abs(sums[at] - 1.0) > _SUM:
        where = f" for event {at}" if len(chances) > 1 else ""
        raise InvalidInput(f"the probabilities of all items must sum to 1; got {sums[at]:.6g}{where}")
