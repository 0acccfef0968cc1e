"""Side information from past experiments: means with standard errors, or successes among trials.

Every experiment e has a level of its own (another season, another audience), so that the mean of arm a in it
estimates mu_a + level_e, and only differences within an experiment count. Weighted least squares gives

    estimate of mu_i - mu_j = sum over cells (a, e) of c_ae mean_ae,      sum over a of c_ae = 0 for every e,

with weights 1 / se^2, or the trials, which do not depend on what was observed. From limits l_ae <= mean_ae <=
u_ae of every cell the interval of the difference is

    low = estimate - sqrt(sum over c > 0 of c^2 (mean - l)^2 + sum over c < 0 of c^2 (u - mean)^2)

and high alike (Zou and Donner 2008). For means these are the usual normal intervals; for successes, with the
limits of Clopper and Pearson, they stay honest for rare events, where normal ones do not.

All intervals hold at once. With one experiment the critical value is Tukey's, by Kramer's extension to
unequal errors, which is conservative (Hayter 1984); otherwise, or where it is smaller, Bonferroni's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_share_inside
from lsdt.errors import InvalidInput, counted
from lsdt.kernel import require_memory
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.ranges import join_ranges
from lsdt.side_information.layouts.stores import known_store
from lsdt.side_information.origin import StatedRisk
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.tables import (
    numbered,
    table_columns,
    take_groups,
    take_ids,
    take_numbers,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

    Floats = NDArray[np.float64]

_WHAT = "the table of experiments"
_FORMS = "columns mean and se (its standard error), or successes and trials"
_BYTES_PER_TERM = 32  # coefficient and its square, for all cells and the pairs of one arm
_BYTES_PER_PAIR = 120  # as ranges that are being joined
_FEWER = "leave out arms that are not in question"


class Cells(NamedTuple):
    """The means that were measured, each of one arm in one experiment; `trials` are 0 for plain means."""

    arm: NDArray[np.int64]
    experiment: NDArray[np.int64]
    mean: Floats
    se: Floats
    trials: Floats

    @property
    def weight(self) -> Floats:
        """The weight of every cell, which does not depend on its mean."""
        with np.errstate(divide="ignore"):
            return np.where(self.trials > 0, self.trials, 1.0 / self.se**2)

    def limits(self, critical: float) -> tuple[Floats, Floats]:
        """Return the limits of every cell: normal, or Clopper and Pearson's with the same level."""
        from scipy.special import betaincinv, ndtr

        tail, wins = float(ndtr(-critical)), np.rint(self.mean * self.trials)
        low, high = self.mean - critical * self.se, self.mean + critical * self.se
        counts = self.trials > 0
        failures = self.trials - wins
        a, b = np.where(counts, wins, 1.0), np.where(counts, failures, 1.0)
        exact_low = np.where(a > 0, betaincinv(np.maximum(a, 1.0), b + 1.0, tail), 0.0)
        exact_high = np.where(b > 0, betaincinv(a + 1.0, np.maximum(b, 1.0), 1.0 - tail), 1.0)
        return np.where(counts, exact_low, low), np.where(counts, exact_high, high)


class ExperimentEvidence(NamedTuple):
    """What side information from experiments rests on; `SideInformation.evidence`.

    Attributes
    ----------
    n_experiments : int
        How many experiments there are.
    n_ranges, n_ordered : int
        Pairs of arms that are compared, and those of them whose better arm is known.
    risk : float
        With at most this probability any of the ranges is wrong.
    critical : float
        The half width of an interval, in standard errors.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_experiments({"arm": ["a", "b"], "successes": [30, 80], "trials": [200, 200]})
    >>> side.evidence.n_ordered, side.evidence.risk
    (1, 0.05)
    """

    n_experiments: int
    n_ranges: int
    n_ordered: int
    risk: float
    critical: float

    @property
    def risks(self) -> tuple[StatedRisk, ...]:
        """What may be wrong, for `SideInformation.risks`."""
        return (StatedRisk("a range from past experiments is wrong", self.risk),)

    def __str__(self) -> str:
        return (
            f"{counted(self.n_experiments, 'experiment')}: {counted(self.n_ranges, 'range')}, "
            f"{self.n_ordered:,} of them with a known order; probability that all hold: {1.0 - self.risk:.4g}"
        )

    def _repr_html_(self) -> str:
        return fields_card(self)


def from_experiments(rows: Any, confidence: float = 0.95) -> SideInformation:
    """Make side information from the results of past experiments: A/B tests, click rates, trials.

    The difference of every two arms gets its confidence interval as a range, and all of them hold at once.
    With several experiments only differences within an experiment count, so that levels may differ; arms that
    never met are compared through arms that both met, and not at all if there are none.

    Parameters
    ----------
    rows : dataframe, dict of columns, list of dicts, or path
        A row per arm, or per arm and experiment: ``arm``, then ``mean`` and ``se`` (the standard error of
        the mean), or ``successes`` and ``trials``. A column ``experiment`` tells several experiments apart.
    confidence : float
        The probability that all ranges hold. It assumes that the difference of two arms is the same in every
        experiment and for the decisions to come; that means are normal, with these standard errors; and that
        trials are independent.

    Returns
    -------
    SideInformation
        Its ``evidence`` is an `ExperimentEvidence`.

    Notes
    -----
    Do not give the same data to an agent as its prior, too: it would count twice.

    Examples
    --------
    >>> import lsdt
    >>> rows = {"arm": ["red", "green", "blue"], "successes": [120, 180, 260], "trials": [2000, 2000, 2000]}
    >>> side = lsdt.from_experiments(rows)
    >>> side
    SideInformation(3 arms, 0 similar pairs, 0 dissimilar pairs, 3 ranges, partial)
    >>> lsdt.candidate_set(side).arm_ids
    ['blue']
    >>> print(side.evidence)
    1 experiment: 3 ranges, 3 of them with a known order; probability that all hold: 0.95
    """
    risk = 1.0 - checked_share_inside(confidence, "confidence")
    ids, cells = read_cells(rows)
    names = ArmNames(len(ids), None if ids == list(range(len(ids))) else ids)
    first, second, part = _compared(cells, len(ids))
    if not len(first):
        raise InvalidInput(
            "no experiment has two arms, so that nothing can be compared; if all rows were measured alike, "
            "leave the column 'experiment' out"
        )
    critical = _critical(risk, len(first), len(ids), single=int(cells.experiment.max()) == 0)
    low, high = _differences(cells, len(ids), first, second, part, critical)
    known = join_ranges(np.zeros((0, 2), np.int64), np.column_stack([first, second]), low, high, names)
    none = adjacency_of_pairs(np.zeros((0, 2), np.int64), len(ids))
    store = known_store(len(ids), none, none).with_ranges(known)
    n_ordered = int(((low > 0.0) | (high < 0.0)).sum())
    evidence = ExperimentEvidence(
        int(cells.experiment.max()) + 1, len(first), n_ordered, round(risk, 12), critical
    )
    return SideInformation._of(store, names, None, evidence)


def read_cells(rows: Any, what: str = _WHAT) -> tuple[list[ArmId], Cells]:
    """Return the arms of a table in order of appearance, and what was measured of them."""
    columns = table_columns(rows, what)
    ids, arm = numbered(take_ids(columns, "arm", what))
    _, experiment = numbered(take_groups(columns, "experiment", what) or [0] * len(arm))
    if "successes" in columns or "trials" in columns:
        wins, trials = (take_numbers(columns, name, what) for name in ("successes", "trials"))
        _check_counts(wins, trials, what)
        arm, experiment, wins, trials = _added_up(arm, experiment, wins, trials)
        return ids, Cells(arm, experiment, wins / trials, np.zeros(len(arm)), trials)
    if "mean" not in columns or "se" not in columns:
        raise InvalidInput(f"{what} needs {_FORMS}; found {', '.join(map(repr, columns))}")
    mean, se = take_numbers(columns, "mean", what), take_numbers(columns, "se", what)
    if not (se > 0).all():
        row = int(np.argmin(se > 0))
        raise InvalidInput(f"se must be positive; row {row} of {what} has {se[row]:g}")
    keys = arm * (int(experiment.max()) + 1) + experiment
    if len(np.unique(keys)) < len(keys):
        row = next(row for row in range(len(keys)) if keys[row] in keys[:row])
        raise InvalidInput(
            f"arm {ids[arm[row]]!r} occurs twice in one experiment (row {row} of {what}); combine the rows, "
            "or tell experiments apart by a column 'experiment'"
        )
    return ids, Cells(arm, experiment, mean, se, np.zeros(len(arm)))


def _check_counts(wins: Floats, trials: Floats, what: str) -> None:
    wrong = (
        (trials < 1) | (wins < 0) | (wins > trials) | (wins != np.rint(wins)) | (trials != np.rint(trials))
    )
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            "trials must be a whole number, 1 or more, and successes a whole number from 0 to trials; row "
            f"{row} of {what} has {wins[row]:g} successes of {trials[row]:g} trials. Leave out arms without "
            "trials"
        )


def _added_up(
    arm: NDArray[np.int64], experiment: NDArray[np.int64], wins: Floats, trials: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Add up rows of the same arm and experiment."""
    n_experiments = int(experiment.max()) + 1
    keys, place = np.unique(arm * n_experiments + experiment, return_inverse=True)
    wins, trials = (np.bincount(place, weights=column).astype(np.float64) for column in (wins, trials))
    return keys // n_experiments, keys % n_experiments, wins, trials


def _compared(cells: Cells, n_arms: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of arms that experiments connect, and the component of every arm."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n_all = n_arms + int(cells.experiment.max()) + 1
    ones = np.ones(len(cells.arm))
    graph = coo_matrix((ones, (cells.arm, n_arms + cells.experiment)), shape=(n_all, n_all))
    _, part = connected_components(graph, directed=False)
    part = part[:n_arms].astype(np.int64)
    require_memory(n_arms * (n_arms - 1) // 2 * _BYTES_PER_PAIR, f"the pairs of {n_arms:,} arms", _FEWER)
    first, second = np.triu_indices(n_arms, 1)
    together = part[first] == part[second]
    return first[together].astype(np.int64), second[together].astype(np.int64), part


def _critical(risk: float, n_pairs: int, n_arms: int, *, single: bool) -> float:
    """Return how many standard errors all pairs need on both sides."""
    from scipy.special import ndtri

    bonferroni = float(-ndtri(risk / (2.0 * n_pairs)))
    if not single:
        return bonferroni
    from scipy.stats import studentized_range

    tukey = float(studentized_range.ppf(1.0 - risk, n_arms, np.inf)) / 2.0**0.5
    return min(tukey, bonferroni) if np.isfinite(tukey) else bonferroni


def _differences(
    cells: Cells,
    n_arms: int,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    part: NDArray[np.int64],
    critical: float,
) -> tuple[Floats, Floats]:
    """Return the limits of the differences of some pairs of arms, ascending by the first."""
    low, high = cells.limits(critical)
    below, above = (cells.mean - low) ** 2, (high - cells.mean) ** 2
    if int(cells.experiment.max()) == 0:  # every arm has one cell, with the coefficient 1 or -1
        place = np.argsort(cells.arm)
        mean, below, above = cells.mean[place], below[place], above[place]
        centre = mean[first] - mean[second]
        return centre - np.sqrt(below[first] + above[second]), centre + np.sqrt(above[first] + below[second])
    solve = _coefficients(cells, n_arms, part)
    require_memory(n_arms * len(cells.arm) * _BYTES_PER_TERM, f"the differences of {n_arms:,} arms", _FEWER)
    ends = np.searchsorted(first, np.arange(n_arms + 1))
    lows, highs = np.empty(len(first)), np.empty(len(first))
    for arm in range(n_arms):
        here = slice(ends[arm], ends[arm + 1])
        share = solve[arm] - solve[second[here]]
        up, down = np.maximum(share, 0.0) ** 2, np.minimum(share, 0.0) ** 2
        centre = share @ cells.mean
        lows[here] = centre - np.sqrt(up @ below + down @ above)
        highs[here] = centre + np.sqrt(up @ above + down @ below)
    return lows, highs


def _coefficients(cells: Cells, n_arms: int, part: NDArray[np.int64]) -> Floats:
    """Return for every arm and cell the coefficient of the cell's mean in the estimate of the arm.

    Estimates of the arms of one component are determined up to their level, here a sum of zero.
    """
    weight = cells.weight / cells.weight.max()
    by_experiment = np.zeros((int(cells.experiment.max()) + 1, n_arms))
    by_experiment[cells.experiment, cells.arm] = weight
    total = by_experiment.sum(axis=1)
    laplacian = np.diag(by_experiment.sum(axis=0)) - by_experiment.T @ (by_experiment / total[:, None])
    # A constant for each component makes it regular, and leaves the differences as they are.
    for number in np.unique(part):
        inside = (part == number).astype(np.float64)
        laplacian += np.outer(inside, inside) * (np.trace(laplacian) / n_arms / inside.sum())
    effects = np.zeros((n_arms, len(cells.arm)))
    effects[cells.arm, np.arange(len(cells.arm))] = weight
    effects -= by_experiment.T[:, cells.experiment] * (weight / total[cells.experiment])
    return np.asarray(np.linalg.solve(laplacian, effects))
