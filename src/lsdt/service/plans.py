"""The plan that the page of an experiment shows before the first reward.

It is made in a thread, never on the event loop, and once for the same relations and tolerance.
"""

from __future__ import annotations

import logging
from threading import Lock, Thread
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from lsdt.errors import LsdtError
from lsdt.problems import checked_rewards, gaussian
from lsdt.service.answers import INTERNAL

if TYPE_CHECKING:
    from lsdt.agent import Agent
    from lsdt.service.hosting import HostedExperiment
    from lsdt.side_information import SideInformation

log = logging.getLogger("lsdt.service")
_ROUNDS = 1_000  # for which the regret is estimated
_MOST_ARMS = 300  # with more, a plan takes seconds, which slow decisions down
_COMPUTED = "A plan is being computed."


class Plans:
    """Plans of experiments without rewards, in sentences; nothing is computed where no page is open."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[HostedExperiment, _PlanText] = WeakKeyDictionary()
        self._turn = Lock()

    def of(self, hosted: HostedExperiment) -> str:
        """Return the plan, or why there is none yet, without waiting; empty once there are rewards."""
        agent = hosted.agent
        if agent.n_told or agent.forget is not None:  # what forgets never knows the best arm for good
            return ""
        made = self._made.get(hosted)
        if made is None or made.side is not agent.side or made.tolerance != agent.tolerance:
            made = self._made[hosted] = _PlanText(agent.side, agent.tolerance)
            # A daemon: the end of the service does not wait for it.
            Thread(target=self._make, args=(made, agent), name="lsdt-plan", daemon=True).start()
        return made.text

    def _make(self, made: _PlanText, agent: Agent) -> None:
        with self._turn:
            try:
                made.text = plan_text(agent, made.side, made.tolerance)
            except Exception:
                log.exception("cannot make a plan for an experiment")
                made.text = f"No plan: {INTERNAL}"


class _PlanText:
    """The text of a plan, and the relations and the tolerance that it is for."""

    __slots__ = ("side", "text", "tolerance")

    def __init__(self, side: SideInformation, tolerance: float | None) -> None:
        self.side, self.tolerance, self.text = side, tolerance, _COMPUTED


def plan_text(agent: Agent, side: SideInformation, tolerance: float | None) -> str:
    """Return what to expect of an experiment, or why that cannot be said.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.service.plans import plan_text
    >>> agent = lsdt.Agent(lsdt.from_means([.2, .5, .8], epsilon=.4))
    >>> plan_text(agent, agent.side, agent.tolerance)[:33]
    'Of 3 arms, 2 can be the best. Unt'
    """
    from lsdt.identification import (
        brief_plan,
    )  # which loads SciPy's graphs: a service that starts does without

    if side.n_arms > _MOST_ARMS:
        return f"No plan is made here for more than {_MOST_ARMS} arms; lsdt plan makes one."
    model = agent.rewards
    if model.tail is not None:
        return "No plan: rewards have heavy tails, and no rule says when the best arm is known."
    law = gaussian(model.sigma) if model.family == "gaussian" else checked_rewards("bernoulli")
    try:
        return brief_plan(side, law, tolerance, agent.policy, _ROUNDS).text
    except LsdtError as error:
        return f"No plan: {error}."
