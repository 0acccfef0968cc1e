"""What Theorems 2, 3 and 6 say of the measurements of `check_bounds`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.reproduce.framework.claims import Check, Claim, at_least, below, mean_of, number

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Tables

_CSI = "Theorem 2, Section 3.3"
_LOWER = "Theorem 3, Section 3.3"
_PSI = "Theorem 6, Section 4.3"
# "Grows as log T": over the last three doublings no more than this times the three before. A regret that
# grows as the square root of T would give 2.8, a linear one 8. Decided before any run.
_STEADY = 1.25
_DOUBLINGS = 3


def bound_claims(tables: Tables) -> list[Claim]:
    """Return the claims: upper bounds above, lower bounds below, and growth as log T."""
    policies = [str(name) for name in tables["regret"]["policy"].unique() if name != "lsdt_psi"]
    floors = tuple(_floor(tables, name) for name in policies)
    last, before = (_growth(tables, "lsdt_csi", back) for back in (0, _DOUBLINGS))
    steady = mean_of(last - _STEADY * before)
    return [
        Claim(
            "theorem-2",
            "LSDT-CSI's regret is below the bound, with its O(|B*|) written out, at every length at which "
            "the bound is not vacuous.",
            _CSI,
            (_largest_part(tables, "complete", "lsdt_csi", "upper"),),
        ),
        Claim(
            "theorem-3",
            "In the long run no good policy's regret grows by less than C1 for every unit of log T (read: "
            "over the last three doublings of T that were played).",
            _LOWER,
            floors,
        ),
        Claim(
            "lsdt-csi-order-optimal",
            "LSDT-CSI's regret is of the order of log T (read: over three doublings of T it grows by no more "
            f"than {_STEADY} times what it grew by over the three before).",
            "Remark 3, Section 3.3",
            (below(f"last growth minus {_STEADY} times the one before", steady, 0.0),),
        ),
        Claim(
            "theorem-6",
            "LSDT-PSI's regret is below the bound, with its O(|V'|) written out, at every horizon at which "
            "the bound is not vacuous.",
            _PSI,
            (_largest_part(tables, "partial", "lsdt_psi", "upper"),),
        ),
    ]


def regrets(tables: Tables, policy: str) -> pd.DataFrame:
    """Return the regret of a policy as one row per run and one column per length."""
    rows = tables["regret"]
    return rows[rows["policy"] == policy].pivot_table(index="run", columns="t", values="regret")


def vacuous_words(paper: pd.DataFrame) -> str:
    """Return how often the bounds say nothing on the paper's own problems."""
    told = []
    for theorem, rows in paper.groupby("theorem", sort=False):
        rounds = float(rows["from_round"].median())
        each = float((rows["from_round"] / rows["candidates"]).median())
        told.append(
            f"{theorem}'s bound is vacuous (no better than the worst candidate all the time) in "
            f"{int(rows['vacuous'].sum()):,} of {len(rows):,} draws; in the median it says something from "
            f"round {number(rounds)} on, {number(each)} rounds per candidate"
        )
    return f"On the paper's own problems (100 arms, epsilon 0.1, 1,000 rounds) {'. '.join(told)}."


def _largest_part(tables: Tables, information: str, policy: str, column: str) -> Check:
    """Compare regret with a bound at every length where it is not vacuous; the closest one is shown."""
    known = tables["bounds"]
    known = known[(known["information"] == information) & (known[column] < known["worst"])]
    measured = regrets(tables, policy)
    parts = {
        length: mean_of(measured[length].to_numpy() / limit)
        for length, limit in zip(known["t"], known[column], strict=True)
    }
    length = max(parts, key=lambda at: parts[at].value if np.isnan(parts[at].high) else parts[at].high)
    what = f"regret as a part of the bound, the largest of {len(parts)} lengths, at T = {length:,}"
    return below(what, parts[length], 1.0)


def _floor(tables: Tables, policy: str) -> Check:
    """Compare the growth of regret per unit of log T with C1."""
    per_log = mean_of(_growth(tables, policy, 0) / (_DOUBLINGS * np.log(2.0)))
    known = tables["bounds"]
    last = known[known["information"] == "complete"].iloc[-1]
    start, end = _lengths(tables, policy, 0)
    what = f"growth of {policy}'s regret per unit of log T, {start:,} to {end:,} rounds, against C1"
    return at_least(what, per_log, float(last["c1"] / np.log(last["t"])))


def _lengths(tables: Tables, policy: str, back: int) -> tuple[int, int]:
    """Return where three doublings begin and end: the last ones that were played, or earlier."""
    lengths = sorted(regrets(tables, policy).columns)
    return lengths[-1 - back - _DOUBLINGS], lengths[-1 - back]


def _growth(tables: Tables, policy: str, back: int) -> NDArray[np.float64]:
    """Return by how much the regret of every run grew over three doublings, the last ones or earlier."""
    measured = regrets(tables, policy)
    start, end = _lengths(tables, policy, back)
    grown: NDArray[np.float64] = (measured[end] - measured[start]).to_numpy(np.float64)
    return grown
