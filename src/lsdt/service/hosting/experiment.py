"""One experiment of a service: its agent, its ids, and what people see of it."""

from __future__ import annotations

import json
from collections import OrderedDict
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from lsdt.agent import Decision, checked_reward, lost_decisions
from lsdt.errors import InvalidInput, LostDecision, StoreLocked
from lsdt.service import messages
from lsdt.service.answers import Refused
from lsdt.service.decision_ids import DecisionIds
from lsdt.service.hosting.activity import Activity
from lsdt.storage import now

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Sequence

    from lsdt.agent import Agent
    from lsdt.service.hosting.group_commit import CommitResult
    from lsdt.storage import ExperimentRecord

Made = TypeVar("Made")
MOST_AT_ONCE = 10_000  # decisions of one request: 0.2 s (ucb1, 100 arms), while all others wait
_LIVE = ("open", "paused", "stopped")  # what agents that take rewards are
MOST_CLOSED = 1_000  # decisions that are closed in one turn of the loop: some 10 ms, while all others wait


def tag(about: ExperimentRecord) -> str:
    """Return the key of the notes about an experiment, which no other one of the same name ever had."""
    return f"{about.created} {about.name}"


class HostedExperiment:
    """One experiment: its agent, and what else the service keeps about it."""

    agent: Agent
    activity: Activity

    def __init__(
        self,
        agent: Agent,
        about: ExperimentRecord,
        key: bytes,
        activity: Activity | None = None,
    ) -> None:
        self.name, self.created = about.name, about.created
        self.tag = tag(about)
        self.ids = DecisionIds(key, about.name, about.created)
        self.expiry = expiry_of(about.about)
        self.busy = ""  # why the agent cannot be asked just now
        self.applying: asyncio.Task[None] | None = None  # an extension that another service made
        self.answers: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()
        self.n_expired = 0
        self.n_watching = 0
        self.next_expiry = 0.0
        self.take(agent, activity)

    def take(self, agent: Agent, activity: Activity | None) -> None:
        """Serve an agent from now on, and show its activity; `activity` is what happened so far."""
        self.agent = agent
        is_bounded = agent.rewards.family == "bernoulli"
        self.activity = Activity(self.expiry, is_bounded) if activity is None else activity
        agent.autocommit, agent.on_applied = False, self.activity.see

    # ---------------------------------------------------------------- decisions

    def check_idle(self) -> None:
        """Refuse what would have to wait for a long change."""
        if self.busy:
            raise Refused(503, f"{self.name!r} {self.busy}; try again", {"retry-after": "1"})

    def ask(self, request: messages.AskRequest) -> messages.DecisionList:
        """Make the decisions that a request asks for."""
        self.check_idle()
        n, agent = request.n, self.agent
        if isinstance(n, int) and n > MOST_AT_ONCE:
            raise InvalidInput(f"one request asks for at most {MOST_AT_ONCE:,} decisions; got n={n}")
        if request.unit is None:
            made = agent.ask(
                1 if n is None else n,
                allowed=request.allowed,
                propensity=request.propensity,
                distinct=request.distinct,
            )
        elif n in (None, 1):
            made = [agent.ask(allowed=request.allowed, propensity=request.propensity, unit=request.unit)]
        else:
            raise InvalidInput(f"a unit asks for one decision at a time; leave n out; got n={n!r}")
        shown = request.propensity is not False
        make, epoch = self.ids.make, agent.epoch
        return messages.DecisionList(
            [
                messages.DecisionResponse(make(number, arm, epoch), arm_id, propensity if shown else None)
                for number, arm, arm_id, propensity, _ in made
            ]
        )

    def tell(self, rewards: Sequence[tuple[str, Any]], repeat: str = "ignore") -> messages.TellResponse:
        """Learn rewards, all checked before any is learned."""
        self.check_idle()
        known = [(self._decision(text), reward) for text, reward in rewards]
        with self._lost_by_id():
            try:
                return messages.TellResponse(*self.agent.tell_many(known, repeat=repeat))
            except StoreLocked as error:  # a reward that is to be replaced was not read back yet
                raise Refused(503, str(error), {"retry-after": "1"}) from None

    def _decision(self, text: Any) -> Decision:
        """Return the decision of an id."""
        number, arm, epoch = self.ids.read(text)
        return Decision(number, arm, arm, None, epoch)

    @contextmanager
    def _lost_by_id(self) -> Iterator[None]:
        """Call decisions that are lost by their ids."""
        try:
            yield
        except LostDecision as error:
            texts = [self.ids.make(number, arm, epoch) for number, arm, _, _, epoch in error.decisions]
            raise lost_decisions(texts, [f"decision {text!r}" for text in texts]) from None

    def observe(self, rewards: Sequence[tuple[Any, Any]]) -> messages.ObserveResponse:
        """Learn rewards that came without a decision, all checked before any is learned."""
        self.check_idle()
        agent = self.agent
        for arm, reward in rewards:
            agent.side.index(arm)
            checked_reward(reward, agent.rewards)
        for arm, reward in rewards:
            agent.observe(arm, reward)
        return messages.ObserveResponse(len(rewards))

    def cancel(self, request: messages.CancelRequest) -> messages.CancelResponse:
        """Cancel decisions: those that are named, or the first `MOST_CLOSED` before a given number.

        To cancel all of these, call it until it returns fewer.
        """
        self.check_idle()
        given = [word for word in ("decision", "decisions", "before") if getattr(request, word) is not None]
        if len(given) != 1:
            raise InvalidInput(
                f"give one of decision, decisions, before; got {' and '.join(given) or 'none'}"
            )
        with self._lost_by_id():
            if request.before is not None:
                before = self._decision(request.before)
                return messages.CancelResponse(self.agent.cancel_before(before, most=MOST_CLOSED))
            texts = request.decisions if request.decisions is not None else [request.decision or ""]
            if len(texts) > MOST_AT_ONCE:
                raise InvalidInput(
                    f"one request cancels at most {MOST_AT_ONCE:,} decisions by their ids; got "
                    f"{len(texts):,}; send several requests, or before, the first decision to keep"
                )
            return messages.CancelResponse(self.agent.cancel_many(map(self._decision, texts)))

    def finish(self, made: Made, outcome: CommitResult) -> Made:
        """Correct an answer after its commit: other services may have closed some of the decisions first."""
        if outcome.n_repeats:
            if isinstance(made, messages.TellResponse):
                made.learned -= outcome.n_repeats
                made.repeated += outcome.n_repeats
            elif isinstance(made, messages.CancelResponse):
                made.cancelled -= outcome.n_repeats
        return made

    def expire(self) -> int:
        """Close decisions whose reward was not told in time, at most `MOST_CLOSED`; return how many."""
        if self.expiry is None or self.busy or self.agent.status.name not in _LIVE:
            return 0
        if monotonic() < self.next_expiry:
            return 0
        n_gone = self.agent.expire(self.expiry.after, self.expiry.reward, most=MOST_CLOSED)
        if n_gone < MOST_CLOSED:  # else more are due
            self.next_expiry = monotonic() + _expires_every(self.expiry)
        self.n_expired += n_gone
        return n_gone

    # ---------------------------------------------------------------- what it looks like

    @property
    def span(self) -> float:
        """Seconds that decisions and rewards per second are averaged over: some bursts of expiries."""
        return 10.0 if self.expiry is None else max(10.0, 3.0 * _expires_every(self.expiry))

    def sample(self) -> None:
        """Put a point on the curves, at most one a second."""
        agent = self.agent
        self.activity.sample(now() / 1e6, agent.side, agent.n_asked, agent.n_told, agent.n_pending)

    def about(self) -> messages.About:
        """Return the experiment as it is."""
        agent = self.agent
        return messages.About(
            self.name,
            agent.policy.label,
            agent.policy_reason,
            agent.rewards.family,
            agent.side.n_arms,
            len(agent.arms_in_play),
            agent.n_asked,
            agent.n_told,
            agent.n_pending,
            self.created / 1e6,
            self.expiry,
            agent.tolerance,
            "open" if agent.halt is None else agent.halt.name,
            self._halt(),
        )

    def _halt(self) -> messages.Halted | None:
        """Return the pause or the stop that is in force."""
        agent = self.agent
        halt = agent.halt
        if halt is None:
            return None
        arm = agent.side.label(halt.arm) if halt.arm >= 0 else None
        return messages.Halted(halt.time / 1e6, arm, halt.by, halt.reason, halt.text(agent.side))


def _expires_every(expiry: messages.Expiry) -> float:
    """Return how many seconds apart decisions that are due are closed."""
    return min(60.0, max(0.2, expiry.after / 10.0))


def expiry_of(about: str) -> messages.Expiry | None:
    """Return the expiry in what is written down of an experiment."""
    kept = json.loads(about).get("expiry")
    return None if kept is None else messages.Expiry(**kept)
