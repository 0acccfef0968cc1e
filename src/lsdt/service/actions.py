"""What operators do to an experiment, over HTTP and on the pages; signed with the name of their key."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from lsdt.agent import Agent
from lsdt.errors import InvalidInput
from lsdt.service.sources import policy_of, rewards_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.service import messages
    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.service.requests import Caller
    from lsdt.side_information import ArmId, SideInformation

log = logging.getLogger("lsdt.service")
# The actions on one experiment, under their names in Python and over HTTP: whether an arm is named.
ACTIONS = {"pause": False, "resume": False, "stop": True, "retire": True, "reinstate": True}

_PATIENCE = 5.0  # seconds: a transaction takes milliseconds, one of a replica that died until that is noticed


async def act(
    service: Service, hosted: HostedExperiment, caller: Caller, action: str, *given: Any, reason: str = ""
) -> None:
    """Take an action, of `ACTIONS` or ``"set_tolerance"``, and wait until it is durable."""
    await service.commits.catch_up(_PATIENCE)  # with what was done at other replicas a moment ago
    hosted.check_idle()
    agent, commits = hosted.agent, service.commits
    take = partial(getattr(agent, action), *given, reason=reason, by=caller.signature)
    if action == "retire" and agent.side.beaten is not None:  # finds candidates again, which may take long
        hosted.busy = "is being extended"
        try:
            await commits.quiesce(agent)
            await run_in_threadpool(take)
        finally:
            hosted.busy = ""
    else:
        take()
    await commits.durable(agent)


async def delete(service: Service, hosted: HostedExperiment, caller: Caller) -> None:
    """Remove an experiment with its log; who did it is in the log of the service."""
    await service.let_go(hosted)
    await run_in_threadpool(service.delete, hosted)
    log.warning("experiment deleted", extra={"experiment": hosted.name, "by": caller.signature})


async def make(
    service: Service, caller: Caller, new: messages.NewExperiment, side: Callable[[], SideInformation]
) -> HostedExperiment:
    """Begin an experiment; its side information is made in a thread, which may take long."""
    hosted = await run_in_threadpool(_made, service, new, side)
    hosted.agent.sign_creation(caller.signature)
    await service.commits.durable(hosted.agent)
    return hosted


def _made(
    service: Service, new: messages.NewExperiment, side: Callable[[], SideInformation]
) -> HostedExperiment:
    made = side()
    return service.make(new.name, made, options_of(new, made), new.expiry)


def tried(side: SideInformation, options: dict[str, Any]) -> Agent:
    """Return an agent in memory, to see what an experiment will be."""
    return Agent(side, **options)


def options_of(new: messages.NewExperiment, made: SideInformation) -> dict[str, Any]:
    """Return the options of the agent of a new experiment."""
    options: dict[str, Any] = {
        "policy": policy_of(new.policy),
        "rewards": rewards_of(new.rewards),
        "horizon": new.horizon,
        "seed": new.seed,
        "prior_weight": new.prior_weight,
        "forget": new.forget,
        "replace_within": new.replace_within,
        "sticky": new.sticky,
        "tolerance": new.tolerance,
        "floor": _by_arm(made, new.floor),
        "holdout": _by_arm(made, new.holdout),
    }
    if new.prior is not None:
        options["prior"] = new.prior.arms, new.prior.rewards
    if new.epsilon is not None and made.epsilon is None:
        options["epsilon"] = new.epsilon
    return options


def _by_arm(side: SideInformation, shares: dict[str, float] | None) -> dict[ArmId, float] | None:
    """Return shares by arm; JSON has texts as keys, also of arms that are numbers."""
    if shares is None:
        return None
    return {side.label(find_arm(side, arm)): share for arm, share in shares.items()}


def find_arm(side: SideInformation, text: str) -> int:
    """Return the index of an arm that a URL or a form names: by id, or by number where ids are numbers."""
    try:
        return side.index(text)
    except InvalidInput:
        if not text.isascii() or not text.isdigit() or len(text) > 18:
            raise
        return side.index(int(text))
