"""The state of a race: which arms are left, what was learned, and whether the best one is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.errors import counted
from lsdt.identification.racing.paired_bets import BYTES_PER_PAIR, PairedBets
from lsdt.identification.racing.race_result import RaceResult
from lsdt.kernel import require_memory
from lsdt.side_information import but_for, risks_in_words

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.side_information import ArmId, SideInformation

# Up to this many pairs of arms are looked at after every example, which takes some milliseconds. With more,
# one looks whenever the examples have grown by a twentieth: some evaluations more, far fewer looks.
_ALWAYS, _GROWTH = 40_000, 0.05


class RaceState:
    """The arms that are left, and the evidence so far; scores that it learns are on the scale from 0 to 1.

    `tolerance` and `scale` are in the units of scores.
    """

    def __init__(
        self, side: SideInformation, delta: float, tolerance: float, scale: tuple[float, float]
    ) -> None:
        n_arms = side.n_arms
        self.side, self.delta, self.tolerance, self.scale = side, delta, tolerance, scale
        margin = tolerance / (scale[1] - scale[0])
        # Ranges from ratings are shares of their scale, all others are in the units of scores.
        self._near_enough = tolerance if side.scale is None else margin
        self.left: NDArray[np.int64] = np.array(candidate_set(side, progress=False).arms)
        self.is_excluded = np.ones(n_arms, bool)
        self.is_excluded[self.left] = False
        self._entered = self.left.copy()
        # With a tolerance two kinds of tests can go wrong, and each takes half of the error.
        share = delta if tolerance == 0.0 else delta / 2.0
        self._needed = math.log(max(len(self.left) - 1, 1) / share)
        n_left = len(self.left)
        require_memory(
            n_left**2 * (BYTES_PER_PAIR + 16) * (1 if tolerance == 0.0 else 2),
            f"a race of {n_left:,} arms",
            "leave out arms that cannot be the best (side=), or race them in groups and then the winners",
        )
        self._bets = PairedBets(n_left)
        self._near = PairedBets(n_left, margin) if tolerance > 0.0 else None
        self._sums, self._counts = np.zeros((2, n_arms))
        self._leads, self._common = np.zeros((2, len(self.left), len(self.left)))
        self.beaten_by: dict[int, tuple[int, int]] = {}
        self.examples = self._looked_at = 0
        self.winner: int | None = int(self.left[0]) if len(self.left) == 1 else None

    @property
    def is_over(self) -> bool:
        """Whether the best arm is known."""
        return self.winner is not None

    def labels_left(self) -> list[ArmId]:
        """Return the arms that are left."""
        return [self.side.label(arm) for arm in self.left.tolist()]

    def learn(self, told: dict[ArmId, float]) -> None:
        """Learn scores on one example; NaN where there is none. Those of arms that are out do not count."""
        self.examples += 1
        scores = np.array([told.get(label, math.nan) for label in self.labels_left()])
        tried = np.isfinite(scores)
        arms, scores = self.left[tried], scores[tried]
        self._sums[arms] += scores
        self._counts[arms] += 1.0
        places = np.searchsorted(self._entered, arms)
        pairs = np.ix_(places, places)
        self._leads[pairs] += scores[:, None] - scores
        self._common[pairs] += 1.0
        for bets in (self._bets, self._near):
            if bets is not None:
                bets.learn(places, scores)
        waited = self.examples - self._looked_at > _GROWTH * self._looked_at
        if len(self.left) ** 2 <= _ALWAYS or waited:
            self._look()

    def _look(self) -> None:
        """Drop the arms that are beaten, and see whether one is known to be good enough."""
        self._looked_at = self.examples
        places = np.searchsorted(self._entered, self.left)
        out = self._bets.against_best()[places] >= self._needed
        if out.all():  # only if a claim that is true was refuted: keep the arm with the least against it
            out[np.argmin(self._bets.against_best()[places])] = False
        for place in places[out].tolist():
            rival = int(np.argmax(self._bets.log_e[place]))
            self.beaten_by[int(self._entered[place])] = int(self._entered[rival]), self.examples
        self.left = self.left[~out]
        if len(self.left) == 1:
            self.winner = int(self.left[0])
        elif self._near is not None:
            leader = self._leader()
            if all(self._is_near(rival, leader) for rival in self.left.tolist() if rival != leader):
                self.winner = leader

    def _leader(self) -> int:
        """Return the arm with the best mean, compared with each other one on the examples of both."""
        return int(self.left[np.argmax(self._leads_of_left())])

    def _leads_of_left(self) -> NDArray[np.float64]:
        at = np.ix_(*[np.searchsorted(self._entered, self.left)] * 2)
        return np.asarray((self._leads[at] / np.maximum(self._common[at], 1.0)).mean(axis=1))

    def _is_near(self, rival: int, leader: int) -> bool:
        """Return whether a rival is known to be better than the leader by the tolerance at most."""
        assert self._near is not None
        first, second = np.searchsorted(self._entered, (rival, leader))
        if self._near.log_e[first, second] >= self._needed:
            return True
        return self.side.difference(self.side.label(rival), self.side.label(leader))[1] <= self._near_enough

    def result(self, tries: int) -> RaceResult:
        """Return which arm won, or leads, after this many evaluations."""
        stop, arm = self.is_over, self._leader() if self.winner is None else self.winner
        order = np.argsort(-self._leads_of_left(), kind="stable")
        left = [self.side.label(each) for each in self.left[order].tolist()]
        name = self.side.label(arm)
        spent = f"{counted(self.examples, 'example')} and {counted(tries, 'evaluation')}"
        sure = but_for(self.delta, self.side.risk or 0.0)
        about = f"; {risks_in_words(self.side.risks)}" if self.side.risks else ""
        if stop:
            where = "the best" if len(self.left) == 1 else f"within {self.tolerance:g} of the best"
            text = f"arm {name!r} is {where}, {sure}, after {spent}{about}"
        else:
            text = (
                f"arm {name!r} is the best guess after {spent}: {counted(len(left), 'arm')} of "
                f"{self.side.n_arms:,} may be the best, {sure}{about}"
            )
        return RaceResult(
            name, arm, stop, left, self.delta, self.tolerance, tries, self.examples, text, self._frame()
        )

    def _frame(self) -> pd.DataFrame:
        import pandas as pd

        low, high = self.scale
        arms = range(self.side.n_arms)
        status = np.where(self.is_excluded, "excluded", "beaten").astype(object)
        status[self.left] = "left"
        means = np.divide(
            self._sums, self._counts, np.full(len(self._sums), np.nan), where=self._counts > 0.0
        )
        beaters = {arm: self.side.label(by) for arm, (by, _) in self.beaten_by.items()}
        after = {arm: number for arm, (_, number) in self.beaten_by.items()}
        return pd.DataFrame(
            {
                "arm": [self.side.label(arm) for arm in arms],
                "tries": self._counts.astype(np.int64),
                "mean": low + (high - low) * means,
                "status": status,
                "beaten_by": pd.Series([beaters.get(arm) for arm in arms], dtype=object),
                "after": pd.array([after.get(arm) for arm in arms], dtype="Int64"),
            }
        )
