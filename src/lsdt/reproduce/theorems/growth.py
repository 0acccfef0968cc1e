"""The power of the number of arms with which regret grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.reproduce.framework.claims import Estimate, mean_of, number

if TYPE_CHECKING:
    import pandas as pd

# "Does not depend on K" is read as: grows with a power of K below this one. Like the next, this is our
# reading; a growth with the square root of K, 0.5, must satisfy neither.
FLAT = 0.25
# "Linear in K" is read as: grows with a power between these.
LINEAR = (0.8, 1.2)


def power_of_arms(rows: pd.DataFrame, at_least: float = 0.0) -> Estimate:
    """Return the slope of log regret on log K, fitted run by run, with its interval.

    Examples
    --------
    >>> import pandas as pd
    >>> from lsdt.reproduce.theorems.growth import power_of_arms
    >>> rows = pd.DataFrame({"arms": [10, 20, 40], "run": 0, "regret": [3., 6., 12.]})
    >>> round(power_of_arms(rows).value, 6)
    1.0
    """
    kept = rows[rows["arms"] >= at_least]
    wide = kept.pivot_table(index="run", columns="arms", values="regret").dropna()
    x = np.log(wide.columns.to_numpy(np.float64))
    slopes = np.polyfit(x, np.log(wide.to_numpy(np.float64)).T, 1)[0]
    return mean_of(np.round(slopes, 9))


def by_arms(values: pd.Series[float]) -> str:
    """Return one number for every number of arms as text."""
    told = [f"{number(value)} at {arms:,} arms" for arms, value in values.items()]
    return ", ".join(told[:-1]) + f" and {told[-1]}" if len(told) > 1 else told[0]
