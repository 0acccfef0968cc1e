"""Whether an agent may stop: which arm is within the tolerance of the best, and how sure that is."""

from __future__ import annotations

import math
import os
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from lsdt._validation import checked_share_inside
from lsdt.agent.anytime_intervals import before_open_decisions
from lsdt.agent.top_stopping import TopStopping
from lsdt.errors import Unsupported, counted
from lsdt.policies import Ahead, StoppingRule, TopStoppingRule, tolerance_of
from lsdt.side_information import but_for, risks_in_words

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.agent.learner import Learner
    from lsdt.policies import Verdict
    from lsdt.side_information import ArmId, SideInformation


# Of the decisions told, by eye. With more pending, clicks that are told before their absence would make the
# tries to go far too few.
_MOST_OPEN = 0.05


class _Rules:
    """Cached stopping rules of a learner: bounds among candidates are slow to compute."""

    def __init__(self) -> None:
        self._made: dict[float | None, StoppingRule] = {}
        self._made_for_top: dict[tuple[float, int | str], TopStoppingRule] = {}
        self._among: bytes | None = None  # the arms in play that these are for; None for all
        self._lock = Lock()  # who comes while one is made waits for it

    def find(
        self, learner: Learner, tolerance: float | None, among: NDArray[np.int64] | None
    ) -> StoppingRule:
        """Return the rule for a tolerance among the arms that have not retired (None: all)."""
        with self._lock:
            self._keep_to(among)
            if tolerance not in self._made:
                rule = StoppingRule(learner.side, learner.rewards, tolerance, among=among)
                self._made[tolerance] = rule
            return self._made[tolerance]

    def find_for_top(
        self, learner: Learner, tolerance: float, top: int | str, among: NDArray[np.int64] | None
    ) -> TopStoppingRule:
        """Return the rule for the best `top` arms, or all within the tolerance."""
        with self._lock:
            self._keep_to(among)
            if (tolerance, top) not in self._made_for_top:
                rule = TopStoppingRule(learner.side, learner.rewards, tolerance, top, among)
                self._made_for_top[tolerance, top] = rule
            return self._made_for_top[tolerance, top]

    def _keep_to(self, among: NDArray[np.int64] | None) -> None:
        """Forget the rules for other arms in play."""
        mark = None if among is None else among.tobytes()
        if mark != self._among:
            self._made, self._made_for_top, self._among = {}, {}, mark


_RULES: WeakKeyDictionary[Learner, _Rules] = WeakKeyDictionary()
_RULES_LOCK = Lock()


def _forget_rules() -> None:
    """Drop cached rules in a forked child: a thread of the parent may hold their locks."""
    global _RULES_LOCK
    _RULES_LOCK = Lock()
    _RULES.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_rules)


class Stopping:
    """Whether it is known which arm is the best; see `Agent.stopping`.

    Attributes
    ----------
    stop : bool
        Whether it is known at the level that was asked for.
    arm_id : str or int
        The leader: the arm to name.
    delta : float
        The level reached by the rewards: the leader is known but for this probability, however often one
        looks. `risk` adds to it.
    risk : float
        The probability, at most, that the side information is wrong, as far as its sources state one
        (`SideInformation.risks`); 0 if none does.
    pending : int
        How many decisions have no reward yet, or one that may still be replaced, of the arms that may be the
        best. Rewards in [0, 1] count at their worst until they are final; others do not count. Decisions that
        agents had open when they were merged are among them, for good.
    tolerance : float
        How far below the best arm the leader may lie.
    evidence, needed : float
        The evidence against the strongest rival, as a logarithm (infinite where relations settle it), and
        how much of it makes `stop` true.
    error : float
        An estimate of the probability that the leader lies further below; no guarantee, mostly far smaller
        than `delta`.
    note : str
        What else to know; mostly empty.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.1, .2, .5, .8, .9], epsilon=.2, arm_ids=list("abcde"))
    >>> agent = lsdt.Agent(side, policy="identify", seed=0)
    >>> while not agent.stopping(delta=.05).stop:
    ...     decision = agent.ask()
    ...     agent.tell(decision, float(decision.arm_id in "de"))
    >>> agent.stopping().arm_id in "de"
    True
    """

    def __init__(
        self,
        side: SideInformation,
        rule: StoppingRule,
        level: float,
        counts: NDArray[np.int64],
        sums: NDArray[np.float64],
        pending: NDArray[np.int64],
        likely: tuple[NDArray[np.int64], NDArray[np.float64]],
        left_open: NDArray[np.int64] | None = None,
        *,
        is_revisable: bool = False,
        note: str = "",
    ) -> None:
        self._side, self._rule, self._level = side, rule, level
        self._counts, self._sums, self._pending, self._likely = counts, sums, pending, likely
        self.tolerance, self.note = rule.tolerance, "; ".join(filter(None, (rule.note, note)))
        self.pending = int(pending[rule.arms].sum())
        self._missing = "final reward" if is_revisable else "reward"
        self._n_left_open = 0 if left_open is None else int(left_open[rule.arms].sum())

    @cached_property
    def _verdict(self) -> Verdict:
        return self._rule.judge(self._counts, self._sums, self._pending)

    @property
    def arm(self) -> int:
        """The index of the leader."""
        return int(self._verdict.arms[self._verdict.leader])

    @property
    def arm_id(self) -> ArmId:
        """The leader."""
        return self._side.label(self.arm)

    @cached_property
    def stop(self) -> bool:
        """Whether it is known at the level that was asked for."""
        if self._rule.is_out_of_reach(self._counts, self._sums, self.needed, self._pending):
            return False
        return self.evidence >= self.needed

    @property
    def evidence(self) -> float:
        """The evidence against the strongest rival, as a logarithm; infinite where relations settle it."""
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
    def error(self) -> float:
        """An estimate of the probability that the leader is not within the tolerance of the best arm."""
        return self._verdict.error

    @cached_property
    def rivals(self) -> pd.DataFrame:
        """A row per rival, the strongest first.

        ``arm``, ``open`` (whether it may still be better by more than the tolerance), ``evidence`` against
        that as a logarithm, ``missing`` (how much more is needed), ``settled_by`` (``'relations'``,
        ``'rewards'`` or nothing), ``plays`` (rewards told), ``pending`` and ``mean``.
        """
        import pandas as pd

        verdict, needed = self._verdict, self.needed
        places = np.flatnonzero(np.arange(len(verdict.arms)) != verdict.leader)
        places = places[np.argsort(verdict.evidence[places], kind="stable")]
        arms, evidence = verdict.arms[places], verdict.evidence[places]
        counts = self._counts[arms]
        by = np.where(np.isinf(evidence), "relations", np.where(evidence >= needed, "rewards", ""))
        return pd.DataFrame(
            {
                "arm": [self._side.label(int(arm)) for arm in arms],
                "open": evidence < needed,
                "evidence": evidence,
                "missing": np.maximum(needed - evidence, 0.0),
                "settled_by": by.astype(object),
                "plays": counts,
                "pending": self._pending[arms],
                "mean": np.divide(self._sums[arms], counts, np.full(len(arms), np.nan), where=counts > 0),
            }
        )

    @cached_property
    def _ahead(self) -> Ahead:
        if self.stop or self.held_up:
            return Ahead(0)
        if self._rule.is_bounded and self.pending > _MOST_OPEN * self._counts.sum():
            number = counted(self.pending, "decision")
            return Ahead(None, f"{number} without a {self._missing} yet may change it by much")
        return self._rule.tries_to_go(*self._likely, self._level)

    @property
    def tries_to_go(self) -> int | None:
        """About how many more tries the policy ``'identify'`` needs; None where `no_estimate` says why.

        The median of 15 runs that are played ahead on means that fit rewards and relations; 0 where pending
        decisions alone hold it up. There is none while rewards in [0, 1] of more than a twentieth of the
        decisions are pending: clicks told before their absence would make it far too small. It takes up to a
        second with 100 candidates, and is not computed before it is asked for.
        """
        return self._ahead.tries

    @property
    def no_estimate(self) -> str:
        """Why `tries_to_go` is None; empty where it is not."""
        return self._ahead.reason

    @cached_property
    def held_up(self) -> bool:
        """Whether pending decisions alone are in the way: if they pay what their arms did, it is known.

        What an arm paid is read from the rewards before its first open decision.
        """
        if self.stop or not self.pending or not self._rule.is_bounded:
            return False
        return self._rule.judge(*self._likely).least >= self.needed

    @property
    def text(self) -> str:
        """The same in a sentence."""
        plays = counted(int(self._counts.sum()), "reward")
        note = "".join(f"; {each}" for each in (self.about_pending, self.about_risk, self.note) if each)
        if self.stop:
            return (
                f"arm {self.arm_id!r} is within {self.tolerance:g} of the best, "
                f"{but_for(self.delta, self.risk)}, after {plays}{note}"
            )
        n_open = int((self._verdict.evidence < self.needed).sum())
        return (
            f"not known yet after {plays}: arm {self.arm_id!r} leads, and {counted(n_open, 'rival')} may be "
            f"better by more than {self.tolerance:g}{note}"
        )

    @property
    def risk(self) -> float:
        """The probability, at most, that the side information is wrong; 0 if no source of it states one."""
        return self._side.risk or 0.0

    @property
    def about_risk(self) -> str:
        """What `risk` consists of, in words; empty if there is none."""
        return risks_in_words(self._side.risks)

    @property
    def about_pending(self) -> str:
        """What pending decisions do to the answer, and what to do about them; empty without any."""
        if not self.pending or math.isinf(self.evidence):
            return ""
        number = counted(self.pending, "decision")
        if not self._rule.is_bounded:
            have = "has" if self.pending == 1 else "have"
            missing = f"{number} {have} no {self._missing} yet"
            return f"{missing}, and this holds if no reward is late because of what it is"
        if self.stop:
            return f"{number} without a {self._missing} yet cannot change that"
        what = f"{number} without a {self._missing} yet, counted at the worst"
        what += ", alone hold it up" if self.held_up else ", may hold it up"
        if self._n_left_open:
            what += f" ({self._n_left_open:,} were open when their agents were merged, and stay so)"
        return f"{what}; tell their rewards, or let old ones expire with one (agent.expire, or an expiry)"

    def __repr__(self) -> str:
        sure = f"delta={self.delta:.3g}" + (f", risk={self.risk:.3g}" if self.risk else "")
        return f"Stopping(stop={self.stop}, arm_id={self.arm_id!r}, {sure})"

    def _repr_html_(self) -> str:
        from lsdt.agent.card import stopping_card

        return stopping_card(self, self._verdict.evidence, self._verdict.arms, self._side, self._level)


def likely_tallies(learner: Learner) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return a guess of counts and sums after all pending decisions are told.

    An arm is taken to pay what it paid before its first open decision. All rewards told are too good a guide:
    clicks are told at once, and their absence later. Where no reward comes before it, pending decisions count
    as 0; arms without any reward stay so. Of unbounded rewards nothing is guessed.
    """
    (counts, sums), pending = learner.settled_tallies(), learner.unsettled_counts()
    if learner.rewards.family != "bernoulli" or not pending.any():
        return counts, sums
    before, paid = before_open_decisions(learner)
    after = np.where(counts > 0, counts + pending, 0)
    means = paid / np.maximum(before, 1)
    return after, np.where(after > counts, np.clip(after * means, sums, sums + pending), sums)


def stopping(
    learner: Learner,
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
    pending: NDArray[np.int64],
    likely: tuple[NDArray[np.int64], NDArray[np.float64]],
    delta: float,
    tolerance: float | None,
    retired: NDArray[np.bool_] | None = None,
) -> Stopping:
    """Return whether the best arm is known; see `Agent.stopping`.

    All arrays are copies: rewards told, their sums and pending decisions of every arm, `likely_tallies`, and
    which arms have retired. Nothing else that ever changes is read of the learner, so that it may go on
    learning meanwhile: the rule takes long to make, and may have to be compiled.
    """
    level, width, rules = _checked(learner, counts, sums, delta, tolerance)
    among = None if retired is None else np.flatnonzero(~retired)
    rule = rules.find(learner, width, among)
    return Stopping(
        learner.side,
        rule,
        level,
        counts,
        sums,
        pending,
        likely,
        learner.left_open,
        is_revisable=learner.revisions is not None,
        note=_about_retired(learner, rule.arms, retired),
    )


def _about_retired(learner: Learner, arms: NDArray[np.int64], retired: NDArray[np.bool_] | None) -> str:
    """Return what retired arms mean for an answer about `arms`, in words; empty if none has retired."""
    if retired is None:
        return ""
    note = f"only the arms that have not retired count, {(~retired).sum():,} of {len(retired):,}"
    n_unplayed = len(np.setdiff1d(arms, learner.arms))
    if not n_unplayed:
        return note
    are = "is" if n_unplayed == 1 else "are"
    return (
        f"{note}; {n_unplayed:,} of them may be named but {are} not in play until all of them are given to "
        "agent.extend: agent.side.subset(ARMS)"
    )


def top_stopping(
    learner: Learner,
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
    pending: NDArray[np.int64],
    delta: float,
    tolerance: float | None,
    top: int | str,
    retired: NDArray[np.bool_] | None = None,
) -> TopStopping:
    """Return whether the best arms are known; arrays are copies, as for `stopping`."""
    level, width, rules = _checked(learner, counts, sums, delta, tolerance)
    among = None if retired is None else np.flatnonzero(~retired)
    rule = rules.find_for_top(learner, width, top, among)
    note = _about_retired(learner, rule.arms, retired)
    return TopStopping(learner.side, rule, level, counts, sums, pending, note)


def _checked(
    learner: Learner,
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
    delta: float,
    tolerance: float | None,
) -> tuple[float, float, _Rules]:
    """Return level, tolerance and rules of a learner; raise if the best arm can never be known."""
    if learner.fading is not None:
        raise Unsupported(
            "which arm is the best is known for good only where means stay as they are, and this agent "
            "forgets because they may not; agent.best() says which is the best by now"
        )
    level = checked_share_inside(delta, "delta")
    width = tolerance_of(learner.side, tolerance, counts, sums)
    with _RULES_LOCK:
        return level, width, _RULES.setdefault(learner, _Rules())
