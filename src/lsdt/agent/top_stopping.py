"""Whether an agent may stop: which arms are the best m, or all within the tolerance, and how sure that is."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_whole
from lsdt.errors import counted
from lsdt.policies import ALL
from lsdt.side_information import but_for, risks_in_words, total_risk

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.policies import TopStoppingRule, TopVerdict
    from lsdt.side_information import ArmId, SideInformation, StatedRisk


def checked_top(top: Any, n_arms: int) -> int | str:
    """Return how many arms are to be named: a number up to that of the arms, or ``'all'``."""
    if isinstance(top, str) and top == ALL:
        return ALL
    return checked_whole(top, "top", 1, n_arms, ", or 'all' for all arms within the tolerance")


class TopStopping:
    """Whether the best arms are known; see `Agent.stopping`.

    Attributes
    ----------
    stop : bool
        Whether they are known at the level that was asked for.
    arm_ids : list of str or int
        The arms to name, the likely best first. Of all within the tolerance there may be none to name yet.
    delta : float
        The level reached by the rewards: they are known but for this probability, however often one looks.
        `risk` adds to it.
    risk : float
        The probability, at most, that the side information is wrong, as far as its sources state one
        (`SideInformation.risks`); 0 if none does.
    top : int or 'all'
        How many arms, or all within the tolerance.
    tolerance : float
        How far below the m-th best arm each of them may lie. For ``'all'``: every arm within the tolerance of
        the best is named, and none that lies more than twice as far below.
    pending : int
        How many decisions have no reward yet, of the arms that may be among them.
    evidence, needed : float
        The evidence against the strongest objection, as a logarithm (infinite where relations settle it), and
        how much of it makes `stop` true.
    to_try : list of str or int
        Arms whose rewards would tell most, first the most telling one; for ``agent.ask(allowed=...)``.
    note : str
        What else to know; mostly empty.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.1, .2, .5, .8, .9], epsilon=.2, arm_ids=list("abcde"))
    >>> agent = lsdt.Agent(side, policy="ts@all", seed=0)
    >>> while not (found := agent.stopping(top=2)).stop:
    ...     decision = agent.ask(allowed=found.to_try[:1])
    ...     agent.tell(decision, float(decision.arm_id in "de"))
    >>> sorted(found.arm_ids)
    ['d', 'e']
    """

    def __init__(
        self,
        side: SideInformation,
        rule: TopStoppingRule,
        level: float,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        pending: NDArray[np.int64],
        note: str = "",
    ) -> None:
        self._side, self._rule, self._level = side, rule, level
        self._counts, self._sums, self._pending = counts, sums, pending
        self._verdict: TopVerdict = rule.judge(counts, sums, pending)
        self.top, self.tolerance = rule.top, rule.tolerance
        self.note = "; ".join(filter(None, (rule.note, note)))
        self.pending = int(pending[rule.arms].sum())

    @property
    def arms(self) -> NDArray[np.int64]:
        """The indices of the arms to name."""
        return self._verdict.named

    @property
    def arm_ids(self) -> list[ArmId]:
        """The arms to name."""
        return [self._side.label(arm) for arm in self._verdict.named.tolist()]

    @property
    def stop(self) -> bool:
        """Whether they are known at the level that was asked for."""
        return self.evidence >= self.needed

    @property
    def evidence(self) -> float:
        """The evidence against the strongest objection, a logarithm; infinite where relations settle it."""
        return self._verdict.least

    @property
    def needed(self) -> float:
        """How much evidence makes `stop` true."""
        return -math.log(self._level)

    @property
    def delta(self) -> float:
        """The level reached."""
        return self._verdict.delta

    @property
    def to_try(self) -> list[ArmId]:
        """Arms whose rewards would tell most."""
        return [self._side.label(arm) for arm in self._verdict.to_try.tolist()]

    @cached_property
    def objections(self) -> pd.DataFrame:
        """A row per way in which the answer may be wrong, the strongest first.

        ``arm`` is named, and ``rival`` may be better by too much; where both are the same, the arm is not
        named and may be within the tolerance. ``open`` says whether it still may, ``evidence`` is against it,
        as a logarithm, and ``missing`` is how much more is needed. Each arm is listed with its strongest
        rival; those that relations settle are not listed.
        """
        import pandas as pd

        verdict, needed = self._verdict, self.needed
        return pd.DataFrame(
            {
                "arm": [self._side.label(arm) for arm in verdict.against.tolist()],
                "rival": [self._side.label(arm) for arm in verdict.rivals.tolist()],
                "open": verdict.evidence < needed,
                "evidence": verdict.evidence,
                "missing": np.maximum(needed - verdict.evidence, 0.0),
            }
        )

    @property
    def text(self) -> str:
        """The same in a sentence."""
        plays = counted(int(self._counts.sum()), "reward")
        notes = (self._about_pending(), self.about_risk, self.note)
        note = "".join(f"; {each}" for each in notes if each)
        names = ", ".join(map(repr, self.arm_ids))
        lead = f"{names} {'leads' if len(self.arm_ids) == 1 else 'lead'}"
        if self.stop:
            sure = f"{but_for(self.delta, self.risk)}, after {plays}{note}"
            if self.top == ALL:
                twice = f"none lies more than {2 * self.tolerance:g} below it"
                return f"{names}: all arms within {self.tolerance:g} of the best, and {twice}, {sure}"
            return f"{names}: each within {self.tolerance:g} of the best {self.top}, {sure}"
        n_open = int((self._verdict.evidence < self.needed).sum())
        unsure = f"{counted(n_open, 'arm')} may be placed wrongly{note}"
        if self.top == ALL:
            so_far = f"so far {names}" if names else "none can be named"
            within = f"within {self.tolerance:g} of the best"
            return f"not known yet after {plays} which arms are {within}: {so_far}, and {unsure}"
        return f"not known yet after {plays} which arms are the best {self.top}: {lead}, and {unsure}"

    @property
    def risk(self) -> float:
        """The probability, at most, that the side information is wrong; 0 if no source of it states one."""
        return total_risk(self._risks)

    @property
    def about_risk(self) -> str:
        """What `risk` consists of, in words; empty if there is none."""
        return risks_in_words(self._risks)

    @property
    def _risks(self) -> tuple[StatedRisk, ...]:
        # All arms within a tolerance are looked for among all arms, also those beaten.
        return self._side.risks_for(None if isinstance(self.top, str) else self.top)

    def _about_pending(self) -> str:
        if not self.pending or math.isinf(self.evidence):
            return ""
        number = counted(self.pending, "decision")
        if self._rule.is_bounded:
            return f"{number} without a reward yet, counted at the worst"
        have = "has" if self.pending == 1 else "have"
        return f"{number} {have} no reward yet, and this holds if no reward is late because of what it is"

    def __repr__(self) -> str:
        sure = f"delta={self.delta:.3g}" + (f", risk={self.risk:.3g}" if self.risk else "")
        return f"TopStopping(stop={self.stop}, arm_ids={self.arm_ids!r}, {sure})"

    def _repr_html_(self) -> str:
        from lsdt._html import card, facts

        return card(
            "TopStopping",
            self.text,
            facts(
                {"known": self.stop, "arms": ", ".join(map(str, self.arm_ids)), "level reached": self.delta}
            ),
        )
