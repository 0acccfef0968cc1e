"""Slow findings for open pages: how far an experiment is from stopping, contradictions, changed means.

They are computed in a thread, never on the event loop.
"""

from __future__ import annotations

import logging
import math
import warnings
from threading import Lock, Thread
from time import monotonic, thread_time
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from lsdt.errors import ContradictionWarning, LsdtError
from lsdt.service import messages
from lsdt.service.answers import INTERNAL

if TYPE_CHECKING:
    from lsdt.agent import Agent, Blocked
    from lsdt.service.hosting import HostedExperiment
    from lsdt.side_information import SideInformation

log = logging.getLogger("lsdt.service")
_DELTA = 0.05  # the default of `Agent.stopping`
# Chosen by eye: seconds between two computations, and the share of a processor that they may take.
_SHORTEST, _MOST_SHARE = 3.0, 0.05
_STALE = 30.0  # seconds without a viewer after which the findings are too old to be shown: some computations
_MOST_ARMS = 10_000  # with this many, the first computation took 24 s, and each later one a second
_MOST_DRIFTING = 500  # arms up to which changes are looked for: the agent is held for 3 to 6 ms meanwhile
_SHOWN = 3  # changed arms, by eye: a sentence each


class Findings(NamedTuple):
    """What was found about an experiment.

    Attributes
    ----------
    forecast : StoppingForecast
        How far it is from stopping.
    conflict : str
        Relations that contradict one another, in words; mostly empty.
    drift : tuple of str
        Sentences on arms whose mean has changed.
    blocked : tuple of Blocked
        Arms of which a change could not be noticed, because of a decision that is still open.
    """

    forecast: messages.StoppingForecast
    conflict: str = ""
    drift: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()


_FIRST = Findings(messages.StoppingForecast(None, "it is being computed"))


class _Forecast:
    """What was found about one experiment, and in which state of it."""

    __slots__ = ("asked", "due", "findings", "is_running", "seen", "side", "took")

    def __init__(self) -> None:
        self.findings, self.due, self.is_running = _FIRST, 0.0, False
        self.side: SideInformation | None = None
        self.seen: tuple[int, int, float | None] = (-1, -1, None)
        self.asked, self.took = 0.0, 0.0


class StoppingForecasts:
    """What was found about each experiment, at most a few seconds old.

    The rule that says when to stop is made of the side information, which may take seconds, and compiled on
    first use. So it works in a thread of its own, one experiment at a time, on a copy of counts and sums; the
    agent decides on. An experiment whose page is not open costs nothing.
    """

    def __init__(self) -> None:
        self._looks: WeakKeyDictionary[HostedExperiment, _Forecast] = WeakKeyDictionary()
        self._turn = Lock()

    def of(self, hosted: HostedExperiment, stale: float | None = None) -> Findings:
        """Return what is known, at most `stale` seconds after the last call, and update it; never waits."""
        agent, look = hosted.agent, self._looks.setdefault(hosted, _Forecast())
        seen = agent.n_changes, agent.n_pending, agent.tolerance
        is_new = look.side is not agent.side or look.seen != seen
        known = look.findings  # read before a thread begins, which may be done with it at once
        if is_new and monotonic() - look.asked > (_STALE if stale is None else stale):
            known = look.findings = _FIRST
            look.due = 0.0
        look.asked = monotonic()
        if is_new and not look.is_running and monotonic() >= look.due:
            look.side, look.seen, look.is_running = agent.side, seen, True
            # A daemon: the end of the service does not wait for it.
            Thread(target=self._find, args=(look, hosted), name="lsdt-forecast", daemon=True).start()
        return known

    def _find(self, look: _Forecast, hosted: HostedExperiment) -> None:
        with self._turn:
            began = thread_time()  # on a busy machine much less than what a clock shows
            try:
                look.findings = findings_of(hosted)
            except Exception:
                log.exception("cannot say how far an experiment is from stopping")
                look.findings = Findings(messages.StoppingForecast(None, f"not available: {INTERNAL}"))
            took = thread_time() - began
            # One look that compiles takes as long as hundreds of others, and must not put off the next.
            look.due = monotonic() + max(_SHORTEST, min(took, look.took) / _MOST_SHARE)
            look.took = took
            look.is_running = False

    def compute(self, hosted: HostedExperiment) -> Findings:
        """Compute what can be said about an experiment now; this may take seconds, and one runs at a time."""
        with self._turn:
            return findings_of(hosted)


def findings_of(hosted: HostedExperiment) -> Findings:
    """Compute what can be said about an experiment now."""
    return Findings(stopping_forecast(hosted.agent), _conflict(hosted), *_drift(hosted.agent))


def stopping_forecast(agent: Agent) -> messages.StoppingForecast:
    """Return how far an agent is from stopping, or why that cannot be said.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.service.stopping_forecast import stopping_forecast
    >>> stopping_forecast(lsdt.Agent(lsdt.SideInformation(2), policy="ucb1", epsilon=.1)).known
    False
    """
    if agent.side.n_arms > _MOST_ARMS:
        return messages.StoppingForecast(
            None, f"not available: of more than {_MOST_ARMS:,} arms on request only, GET .../stopping"
        )
    try:
        found = agent.stopping(_DELTA)
    except LsdtError as error:
        return messages.StoppingForecast(None, f"not available: {error}")
    note = "".join(f"; {each}" for each in (found.about_pending, found.about_risk, found.note) if each)
    if math.isinf(found.evidence):
        return messages.StoppingForecast(
            True, f"relations alone settle it{note}", found.arm_id, None, found.needed, 0
        )
    evidence, needed = max(0.0, found.evidence), found.needed
    tries = found.tries_to_go
    to_go = (
        f"about {tries:,} tries to go"
        if tries is not None
        else f"no estimate of the tries to go: {found.no_estimate}"
    )
    text = f"evidence {evidence:.1f} of {needed:.1f} needed"
    text = text if found.stop or found.held_up else f"{text}; {to_go}"
    return messages.StoppingForecast(found.stop, text + note, found.arm_id, evidence, needed, tries)


def _conflict(hosted: HostedExperiment) -> str:
    """Return the relations that the offline step of the policy found to contradict one another."""
    if hosted.agent.side.n_arms > _MOST_ARMS:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # it is said on the page
        found = hosted.agent.candidates()
    return "" if found is None or found.conflict is None else found.conflict.brief


def _drift(agent: Agent) -> tuple[tuple[str, ...], tuple[Blocked, ...]]:
    """Return sentences on arms whose mean has changed, the clearest first, and the arms that are blocked."""
    if agent.side.n_arms > _MOST_DRIFTING:
        return (), ()
    try:
        found = agent.drift()
    except LsdtError:  # these rewards have no such test
        return (), ()
    rows = found.to_dict("records")
    what = "" if agent.forget else " If means keep moving, begin an experiment that forgets (forget=)."
    told = [
        f"What {row['arm']} pays has changed: its mean was {row['mean_before']:.3g} in its first "
        f"{row['plays_before']:,} plays, and {row['mean_after']:.3g} in {row['plays_after']:,} since.{what}"
        for row in rows[:_SHOWN]
    ]
    if len(rows) > _SHOWN:
        told.append(f"{len(rows) - _SHOWN:,} more arms pay otherwise than before.")
    return tuple(told), tuple(found.attrs["blocked"])
