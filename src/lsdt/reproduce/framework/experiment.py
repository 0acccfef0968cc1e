"""One part of the reproduction: a figure, a table or a check of the paper.

Every part is an `Experiment`. Its setting is plain data that determines its numbers, which are tables. The
figure, the claims, the text and the table on the page are all made from these tables, so a finished part can
be shown again without running it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.claims import Claim

    Setting = dict[str, Any]
    Tables = dict[str, pd.DataFrame]

REPLICATIONS = 100  # as in the paper
BEYOND_REPLICATIONS = 200  # contests, where differences between policies are small
MOST_REPLICATIONS = 10**6  # more would take weeks, and is most likely a typing error
BEYOND_THE_PAPER = "beyond the paper"  # in place of a section, for parts that the paper does not have


@dataclass(frozen=True)
class Request:
    """The user's request; a part turns it into its setting.

    Attributes
    ----------
    replications : int
        Replications of every random experiment.
    quick : bool
        Coarser grids, for a first look.
    fixed_draw : bool
        Draw the means once for all runs, instead of once per run.
    jester : Path or None
        The published file of ratings; None for synthetic ratings like them.
    """

    replications: int = REPLICATIONS
    quick: bool = False
    fixed_draw: bool = False
    jester: Path | None = None


def _ignore(share: float) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Work:
    """How to run a part. Only the seed changes its numbers.

    Attributes
    ----------
    seed : int
        The same seed gives the same numbers.
    n_jobs : int
        Workers; -1 is all cores.
    done : function
        Called with the finished share of the part, from 0 to 1.
    jester : Path or None
        Path of the published file of ratings. The setting holds only its name and hash, so that no local path
        gets into a report.
    """

    seed: int = 0
    n_jobs: int = -1
    done: Callable[[float], None] = _ignore
    jester: Path | None = None

    def stretch(self, first: float, last: float) -> Work:
        """Return the same work with its progress mapped to `first` to `last` of this one."""
        return replace(self, done=lambda share: self.done(first + (last - first) * share))


@dataclass(frozen=True, eq=False)
class Experiment:
    """One part of the reproduction.

    Attributes
    ----------
    id : str
        The name users type, and the name of its folder in the report.
    title : str
        One line.
    paper : str
        Where the paper has it.
    setting : function of a Request
        Everything that decides the numbers, as JSON data; shown in the report.
    compute : function of a setting and a Work
        The numbers: tables by name, one row per run where there are runs.
    table : function of the tables
        The few rows that the page shows.
    draw : function of the tables, or None
        The figure.
    claims : function of the tables
        The claims about it, judged by what was measured.
    discussion : function of the tables
        A text about what the numbers show.
    seconds : float
        Approximate time of 100 replications on two cores, for the first estimate of the progress bar.
    is_timed : bool
        Whether it measures running times, and so must run alone.
    check : function of a Request, or None
        Raises if an input that the part needs is missing or wrong; called before any part runs.
    """

    id: str
    title: str
    paper: str
    setting: Callable[[Request], Setting]
    compute: Callable[[Setting, Work], Tables]
    table: Callable[[Tables], pd.DataFrame]
    draw: Callable[[Tables], Figure] | None
    claims: Callable[[Tables], list[Claim]]
    discussion: Callable[[Tables], str]
    seconds: float = 1.0
    is_timed: bool = False
    check: Callable[[Request], None] | None = None

    def seconds_of(self, replications: int) -> float:
        """Return the approximate time of this many replications."""
        return self.seconds * replications / 100.0
