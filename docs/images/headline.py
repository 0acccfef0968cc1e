"""Draws `headline.svg`, the picture of the README, out of the two tables beside it.

`massive-candidates.csv` lists the arms that `lsdt.candidate_set` leaves of the million of
`lsdt.problems.sparse(1_000_000, relations_per_arm=200, locality=1.0)`, seed 0. `massive-regret.csv` is the
mean of the runs of `lsdt reproduce --beyond --only beyond-massive-million`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lsdt import plotting
from lsdt.plotting.style import COLOURS, INK, MUTED, RULE

HERE = Path(__file__).parent
ROWS, COLUMNS = 800, 1250  # a place for every arm
BLUE, RED, GREEN, _, AMBER, _, DARK = COLOURS
LINES = {
    "UCB1": (RED, 46_500),
    "Thompson sampling": (GREEN, 42_700),
    "UCB1 on 316 random options": (DARK, 12_571),
    "Thompson sampling on what is left": (AMBER, 4_900),
    "LSDT-closure": (BLUE, 900),
}


def main() -> None:
    """Write the picture."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    draw_arms(left, pd.read_csv(HERE / "massive-candidates.csv").arm.to_numpy())
    draw_regret(right, pd.read_csv(HERE / "massive-regret.csv", index_col="round"))
    plotting.save(figure, HERE / "headline.svg")


def draw_arms(axes, candidates) -> None:
    """Draw a place for every arm, row by row; a dot in those of arms that can be best."""
    row, column = np.divmod(candidates, COLUMNS)
    axes.fill_between([-1, COLUMNS], -1, ROWS, color=RULE, linewidth=0)
    axes.scatter(column, row, s=1.1, color=BLUE, linewidths=0, rasterized=True)
    axes.set(xlim=(-1, COLUMNS), ylim=(-1, ROWS), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    _title(
        axes,
        "Before the first try",
        f"{len(candidates):,} of 1,000,000 can be best, grey is proven out",
    )


def draw_regret(axes, table: pd.DataFrame) -> None:
    """Draw what each policy lost, with its name beside its line."""
    for name, (colour, height) in LINES.items():
        ours = name == "LSDT-closure"
        axes.plot([0, *table.index], [0, *table[name]], color=colour, lw=3.6 if ours else 2)
        said, weight = f"{name}: {table[name].iloc[-1]:,}", "bold" if ours else "normal"
        axes.text(102_000, height, said, fontsize=11.5, va="center", color=INK, fontweight=weight)
    _title(axes, "In 100,000 tries", "reward lost against always taking the best option")
    axes.set(xlim=(0, 100_000), ylim=(0, 49_000), xticks=[0, 50_000, 100_000], yticks=[0, 20_000, 40_000])
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color=RULE, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=10)


def _title(axes, title: str, below: str) -> None:
    axes.set_title(title, loc="left", fontsize=15, fontweight="bold", color=INK, pad=28)
    axes.text(0, 1.035, below, transform=axes.transAxes, fontsize=11.5, color=MUTED)


if __name__ == "__main__":
    main()
