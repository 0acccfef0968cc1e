"""What is known of the means of some arms: a table, a log of ratings, or the rewards of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.side_information.sources.experiments import read_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmNames

    Floats = NDArray[np.float64]

_WHAT = "the pilot"


# Where all n rewards of an arm are equal, their estimated variance is 0, which would claim an exact mean.
# Half a success in n + 1 trials is assumed instead.
_HALF = 0.5


class Pilot(NamedTuple):
    """Arms by index, ascending, with their measured means and the variances of these."""

    arm: NDArray[np.int64]
    mean: Floats
    variance: Floats


def read_pilot(given: Any, names: ArmNames) -> Pilot:
    """Return the means of some arms; arms that are none of `names`, or measured only once, are left out."""
    if hasattr(given, "arm_statistics"):
        counts, means, variances = given.arm_statistics()
        ids = [given.side.label(arm) for arm in range(given.side.n_arms)]
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = _not_zero(variances / counts, counts)
        several = counts > 1
    elif hasattr(given, "unit_ratings"):
        ids, means, variances, several = _of_log(given)
    else:
        ids, means, variances, several = _of_rows(given)
    known = {names.label(arm): arm for arm in range(names.n_arms)}
    arms = np.array([known.get(name, -1) for name in ids], np.int64)
    kept = np.flatnonzero((arms >= 0) & several)
    kept = kept[np.argsort(arms[kept])]
    if not (arms >= 0).any():
        raise InvalidInput(
            f"no arm of the pilot is an arm of the features; the pilot has {ids[0]!r}, the features have "
            f"{names.label(0)!r}"
        )
    return Pilot(arms[kept], np.asarray(means)[kept], np.asarray(variances)[kept])


def _of_log(log: Any) -> tuple[Any, Floats, Floats, NDArray[np.bool_]]:
    """Return the mean rating of every item on the scale from 0 to 1, and its variance."""
    ratings, n_items = log.unit_ratings(), len(log.item_ids)
    counts = np.bincount(log.items, minlength=n_items)
    many = np.maximum(counts, 1)
    means = np.bincount(log.items, weights=ratings, minlength=n_items) / many
    squares = np.bincount(log.items, weights=(ratings - means[log.items]) ** 2, minlength=n_items)
    variances = _not_zero(squares / np.maximum(counts - 1, 1) / many, many)
    return log.item_ids, means, variances, counts > 1


def _of_rows(rows: Any) -> tuple[Any, Floats, Floats, NDArray[np.bool_]]:
    ids, cells = read_cells(rows, _WHAT)
    if int(cells.experiment.max()) > 0:
        raise InvalidInput("a pilot is one experiment, whose levels do not differ; got several")
    place = np.argsort(cells.arm)
    mean, trials = cells.mean[place], cells.trials[place]
    unbiased = mean * (1.0 - mean) / np.maximum(trials - 1.0, 1.0)
    variance = np.where(trials > 0, _not_zero(unbiased, trials), cells.se[place] ** 2)
    return ids, mean, variance, trials != 1


def _not_zero(variance: Floats, counts: Floats) -> Floats:
    """Return the variances of means in [0, 1], with those of equal rewards replaced."""
    many = np.maximum(counts, 1.0)
    share = _HALF / (many + 1.0)
    return np.where(variance > 0.0, variance, share * (1.0 - share) / many)
