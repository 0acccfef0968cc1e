"""The agents of a store, kept open and served by one process."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
from collections import Counter, OrderedDict, deque
from contextlib import contextmanager, suppress
from hashlib import blake2b
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lsdt._validation import checked_positive
from lsdt.agent import Agent, Decision, experiment
from lsdt.agent.decisions import checked_reward
from lsdt.agent.replica import Replica
from lsdt.errors import InvalidInput, LsdtError, StoreFailed, Unsupported, suggest
from lsdt.kernel.jit import compile_seconds
from lsdt.service import messages
from lsdt.service.answers import Refused
from lsdt.service.decision_ids import KEY_BYTES, DecisionIds
from lsdt.service.following import READ_ONLY, Following, followed
from lsdt.service.group_commit import GroupCommit, Note, Outcome
from lsdt.service.keys import KeyRing
from lsdt.service.metrics import Metrics
from lsdt.service.outlook import Outlooks
from lsdt.service.replication import PAUSED, Replication, joined
from lsdt.service.requests import Guard
from lsdt.storage import Kind, Store, now, open_store
from lsdt.storage.store import checked_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lsdt.candidates import CandidateSet
    from lsdt.service.requests import Caller
    from lsdt.service.settings import Settings
    from lsdt.side_information import SideInformation
    from lsdt.storage import Entry, Experiment

Made = TypeVar("Made")
log = logging.getLogger("lsdt.service")
_SCOPE = "service"
_DECISION_KEY = "decision key"
_ANSWERS = "answers "  # and the name of the experiment
_LONGEST_KEY = 200
MOST_AT_ONCE = 10_000  # decisions of one request: more would keep all others waiting
_RECENT = 200  # rewards that the rate on the page is taken of
_HISTORY = 720  # points of the curves on the page
_SHOWN_EVENTS = 12
_MOST_CURVES = 5
_EVERY_KEYS, _EVERY_ANSWERS = 5.0, 3_600.0  # seconds


class Point(NamedTuple):
    """A moment: numbers so far, mean and half-width of the last rewards, shares of arms, what is pending."""

    time: float
    n_asked: int
    n_told: int
    mean: float | None
    half: float | None
    shares: dict[str, float]
    n_pending: int


class Hosted:
    """One experiment: its agent, and what the service keeps beside it."""

    def __init__(self, agent: Agent, about: Experiment, key: bytes, paused: bool) -> None:
        self.agent, self.name, self.created, self.paused = agent, about.name, about.created, paused
        self.ids = DecisionIds(key, about.name, about.created)
        self.expiry = _expiry_of(about.about)
        self.busy = ""  # why the agent cannot be asked just now
        self.leader = ""  # who else decides, where only one may
        self.folding: asyncio.Task[None] | None = None  # an extension that another made
        self.answers: OrderedDict[str, tuple[bytes, bytes]] = OrderedDict()
        self.recent: deque[tuple[int, float]] = deque(maxlen=_RECENT)  # arms and rewards, the newest last
        self.last_events: deque[tuple[float, str, int, int, float | None]] = deque(maxlen=_SHOWN_EVENTS)
        self.history: deque[Point] = deque(maxlen=_HISTORY)
        self.n_expired = 0
        self.n_watching = 0
        self.next_expiry = 0.0
        self._found: tuple[SideInformation, CandidateSet | None] | None = None
        self._finding = Lock()
        agent.autocommit = False

    # ---------------------------------------------------------------- decisions

    def check_ready(self) -> None:
        """Refuse what would have to wait for a long change."""
        if self.busy:
            raise Refused(503, f"{self.name!r} {self.busy}; try again", {"retry-after": "1"})
        if self.leader:
            raise Refused(
                503,
                f"{self.agent.policy.name} has one decider, and {self.leader}; ask that one, or try again",
                {"retry-after": "1"},
            )

    def ask(self, request: messages.Ask) -> messages.Decisions:
        """Decide."""
        self.check_ready()
        if self.paused:
            raise Refused(409, f'the experiment {self.name!r} is paused; POST .../pause {{"paused": false}}')
        n, agent = request.n, self.agent
        if isinstance(n, int) and n > MOST_AT_ONCE:
            raise InvalidInput(f"one request asks for at most {MOST_AT_ONCE:,} decisions; got n={n}")
        made = agent.ask(1 if n is None else n, allowed=request.allowed, propensity=request.propensity)
        if not self.is_replica:
            when = now() / 1e6
            self.last_events += [(when, "ask", each.number, each.arm, None) for each in made[-_SHOWN_EVENTS:]]
        shown = request.propensity is not False
        make = self.ids.make
        return messages.Decisions(
            [
                messages.Decision(make(number, arm), arm_id, propensity if shown else None)
                for number, arm, arm_id, propensity in made
            ]
        )

    def tell(self, rewards: Sequence[tuple[str, Any]]) -> messages.Told:
        """Learn rewards, all checked before any is learned."""
        self.check_ready()
        read = self.ids.read
        known = [(read(decision), reward) for decision, reward in rewards]
        if self.is_replica:
            told = [(Decision(number, arm, arm, None), reward) for (number, arm), reward in known]
            return messages.Told(*self.agent.tell_many(told))
        learned, repeated = self.agent.tell_many([(each.number, reward) for each, reward in known])
        if not repeated:
            when = now() / 1e6
            self.recent += [(each.arm, float(reward)) for each, reward in known[-_RECENT:]]
            self.last_events += [
                (when, "tell", each.number, each.arm, float(reward))
                for each, reward in known[-_SHOWN_EVENTS:]
            ]
        return messages.Told(learned, repeated)

    def observe(self, rewards: Sequence[tuple[Any, Any]]) -> messages.Observed:
        """Learn rewards that nobody asked for, all checked before any is learned."""
        self.check_ready()
        agent = self.agent
        for arm, reward in rewards:
            agent.side.index(arm)
            checked_reward(reward, agent.rewards)
        for arm, reward in rewards:
            agent.observe(arm, reward)
        return messages.Observed(len(rewards))

    def cancel(self, request: messages.Cancel) -> messages.Cancelled:
        """Give decisions up."""
        self.check_ready()
        given = [word for word in ("decision", "decisions", "before") if getattr(request, word) is not None]
        if len(given) != 1:
            raise InvalidInput(
                f"give one of decision, decisions, before; got {' and '.join(given) or 'none'}"
            )
        if request.before is not None:
            return messages.Cancelled(self.agent.cancel_before(self.ids.number(request.before)))
        texts = request.decisions if request.decisions is not None else [request.decision or ""]
        numbers = list(dict.fromkeys(map(self.ids.number, texts)))
        return messages.Cancelled(self.agent.cancel_many(numbers))

    def finish(self, made: Made, outcome: Outcome) -> Made:
        """Return an answer as it is after the commit: of replicas, the log says what was new."""
        if self.is_replica:
            if isinstance(made, messages.Told):
                made.learned = sum(outcome.new)
                made.repeated = len(outcome.new) - made.learned
            elif isinstance(made, messages.Cancelled):
                made.cancelled = sum(outcome.new)
        return made

    @property
    def is_replica(self) -> bool:
        """Whether others decide for the experiment at the same time."""
        return isinstance(self.agent, Replica)

    def see(self, entries: Sequence[Entry]) -> None:
        """Show what came in through the log."""
        for entry in entries[-_RECENT:]:
            if entry.kind == Kind.TELL and entry.reward is not None:
                self.recent.append((entry.arm, entry.reward))
        for entry in entries[-_SHOWN_EVENTS:]:
            if entry.kind in (Kind.ASK, Kind.TELL):
                is_ask = entry.kind == Kind.ASK
                word, reward = ("ask", None) if is_ask else ("tell", entry.reward)
                self.last_events.append((entry.time / 1e6, word, entry.number, entry.arm, reward))

    def expire(self) -> int:
        """Close the decisions that nobody told in time; return how many."""
        if self.expiry is None or self.busy or self.leader or monotonic() < self.next_expiry:
            return 0
        self.next_expiry = monotonic() + min(60.0, max(0.2, self.expiry.after / 10.0))
        n_gone = self.agent.expire(self.expiry.after, self.expiry.reward)
        self.n_expired += n_gone
        return n_gone

    # ---------------------------------------------------------------- what it looks like

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
            self.paused,
            self.created / 1e6,
            self.expiry,
        )

    def candidates(self) -> CandidateSet | None:
        """Return what the offline step of the policy left, with its proofs; None where it takes none."""
        from lsdt.policies.offline import offline_step

        side = self.agent.side
        with self._finding:
            if self._found is None or self._found[0] is not side:
                self._found = side, offline_step(side, self.agent.policy.on)
            return self._found[1]


def _expiry_of(about: str) -> messages.Expiry | None:
    kept = json.loads(about).get("expiry")
    return None if kept is None else messages.Expiry(**kept)


class Service:
    """A store, the agents in it, and all that a service needs beside them.

    Opening it opens every experiment. One that cannot be opened is left out and named in `broken`; the others
    are served.

    Parameters
    ----------
    settings : Settings
        How it behaves.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store: Store = open_store(
            settings.store, durability=settings.durability, read_only=settings.read_only
        )
        try:
            self._key = self._decision_key()
            self.keys = KeyRing(self.store)
            self.hosted: dict[str, Hosted] = {}
            self.broken: dict[str, str] = {}
            self._warm: set[str] = set()
            paused = self.store.recall(PAUSED)
            for each in self.store.list():
                self.open_at_start(each, each.name in paused)
        except BaseException:
            self.store.close()
            raise
        self.guard = Guard(self.keys, settings.rate, settings.origins)
        self.metrics = Metrics()
        self.outlooks = Outlooks()
        self.following = Following(self) if settings.read_only else None
        is_replica = self.store.is_shared and self.following is None
        self.replication = Replication(self) if is_replica else None
        self.commits = self._group_commit()
        self.closing = asyncio.Event()
        self._being_made: set[str] = set()
        self._ticker: asyncio.Task[None] | None = None

    def _decision_key(self) -> bytes:
        """Return the secret behind the ids of decisions; the first service on a store makes it."""
        kept = self.store.recall(_SCOPE, _DECISION_KEY)
        if self.settings.read_only:  # makes no ids
            return kept.get(_DECISION_KEY, bytes(KEY_BYTES))
        if not kept:
            self.store.remember(_SCOPE, _DECISION_KEY, secrets.token_bytes(KEY_BYTES))
            self.store.commit()
            kept = self.store.recall(_SCOPE, _DECISION_KEY)
        return kept[_DECISION_KEY]

    def _group_commit(self) -> GroupCommit:
        if self.replication is not None:
            return self.replication.commits()
        return GroupCommit(self.store, self.metrics, self.settings.most_waiting)

    def open_at_start(self, each: Experiment, paused: bool) -> None:
        """Serve an experiment; one that cannot be opened is left out."""
        try:
            with _compilation_in_log(each.name):
                self._open(each, paused)
        except StoreFailed:
            raise
        except LsdtError as error:
            self.broken[each.name] = str(error)
            log.error("experiment cannot be opened", extra={"experiment": each.name, "error": str(error)})

    def show(self, each: Experiment, replica: Replica, last: Sequence[Entry], paused: bool = False) -> Hosted:
        """Show an experiment that somebody else decides for, with its last events."""
        hosted = self.hosted.get(each.name)
        if hosted is None or hosted.created != each.created:
            hosted = self.hosted[each.name] = Hosted(replica, each, self._key, paused)
            hosted.see(last)
        hosted.agent, hosted.leader = replica, READ_ONLY
        return hosted

    def _open(self, each: Experiment, paused: bool = False) -> Hosted:
        leader = ""
        if self.settings.read_only:
            return self.show(each, *followed(self.store, each.name), paused)
        if self.store.is_shared:
            agent, leader = joined(self.store, each.name)
        else:
            agent = Agent.open(self.store, each.name)
        if agent.policy.name not in self._warm:
            kept = self.store.latest(each.name)
            assert kept is not None
            _warm_up(Agent.restore(kept.blob))
        self._warm.add(agent.policy.name)
        hosted = Hosted(agent, each, self._key, paused)
        hosted.leader = leader
        self.hosted[each.name] = hosted
        return hosted

    def take_over(self, opened: dict[str, tuple[Experiment, Agent, str]], broken: dict[str, str]) -> None:
        """Go on with agents that were opened anew from another connection to the store."""
        self.keys.move(self.store)
        for name in set(self.hosted) - set(opened):
            del self.hosted[name]
        for name, (about, agent, leader) in opened.items():
            hosted = self.hosted.get(name)
            if hosted is None or hosted.created != about.created:
                hosted = self.hosted[name] = Hosted(agent, about, self._key, False)
            agent.autocommit = False
            hosted.agent, hosted.leader, hosted.busy = agent, leader, ""
            hosted.answers.clear()  # some of them may not have been kept
        self.broken = broken
        self.commits = self._group_commit()

    # ---------------------------------------------------------------- experiments

    def knows(self, name: str) -> bool:
        """Return whether an experiment is served, is being made, or cannot be opened."""
        return name in self.hosted or name in self.broken or name in self._being_made

    async def look_for(self, name: str) -> None:
        """Look at what other services did, where that may matter for a request about an experiment."""
        if self.replication is None:
            return
        self.commits.check()  # else what others made would be said not to be there
        if not self.knows(name):
            await self.replication.look(monotonic())
            return
        await self.commits.look()
        hosted = self.hosted.get(name)
        if hosted is not None and hosted.folding is not None:
            await asyncio.wait([hosted.folding])

    def find(self, name: str, caller: Caller | None = None) -> Hosted:
        """Return an experiment, or say which there are."""
        hosted = self.hosted.get(name)
        if hosted is not None:
            return hosted
        if name in self.broken:
            raise StoreFailed(f"the experiment {name!r} cannot be opened: {self.broken[name]}")
        if name in self._being_made and (caller is None or caller.sees(name)):
            raise Refused(
                503,
                f"the experiment {name!r} is being made; the first of its kind on a machine compiles its "
                "policy for up to a minute",
                {"retry-after": "5"},
            )
        names = [each for each in sorted(self.hosted) if caller is None or caller.sees(each)]
        there = ", ".join(map(repr, names[:10])) or "none yet"
        raise Refused(404, f"there is no experiment {name!r} (there: {there}){suggest(name, names)}")

    def make(
        self, name: str, side: SideInformation, options: dict[str, Any], expiry: messages.Expiry | None
    ) -> Hosted:
        """Begin an experiment; this may take long, and runs in a thread of its own."""
        checked_name(name)
        if self.knows(name) or (self.store.is_shared and self.store.find(name) is not None):
            raise Refused(409, f"there is an experiment {name!r} already; choose another name")
        self._being_made.add(name)
        try:
            with _compilation_in_log(name):
                return self._made(name, side, options, expiry)
        finally:
            self._being_made.discard(name)

    def _made(
        self, name: str, side: SideInformation, options: dict[str, Any], expiry: messages.Expiry | None
    ) -> Hosted:
        agent = Agent(side, **options)
        about = json.loads(experiment.about(side, agent, options))
        if expiry is not None:
            checked_positive(expiry.after, "expiry.after", ", in seconds")
            if expiry.reward is not None:
                checked_reward(expiry.reward, agent.rewards)
            about["expiry"] = {"after": expiry.after, "reward": expiry.reward}
        try:
            self.store.create(name, json.dumps(about), agent.snapshot())
        except InvalidInput as error:  # another service was faster
            raise Refused(409, str(error)) from None
        _warm_up(agent)
        self._warm.add(agent.policy.name)
        kept = self.store.find(name)
        assert kept is not None
        return self._open(kept)

    def delete(self, hosted: Hosted) -> None:
        """Remove an experiment with its log."""
        hosted.busy = "is being deleted"
        self.hosted.pop(hosted.name, None)
        if self.replication is not None:
            if not self.replication.delete(hosted):
                raise Refused(
                    503,
                    f"{hosted.name!r} is being deleted; it goes when all other services have let go of it",
                    {"retry-after": "5"},
                )
            return
        hosted.agent.close()
        self.store.delete(hosted.name)
        self.forget(hosted.name)

    def forget(self, name: str) -> None:
        """Forget what is kept beside the log of an experiment that is gone."""
        self.store.forget(_ANSWERS + name)
        self.store.forget(PAUSED, name)

    def pause(self, hosted: Hosted, paused: bool) -> None:
        """Hand out no more decisions of an experiment, or go on."""
        if paused:
            with self.store.transaction():
                self.store.remember(PAUSED, hosted.name, b"")
        else:
            self.store.forget(PAUSED, hosted.name)
        hosted.paused = paused

    # ---------------------------------------------------------------- repeats

    def answer_before(self, hosted: Hosted, key: str, body: bytes) -> bytes | None:
        """Return what the same request was answered before; refuse another request with its key."""
        if not 1 <= len(key) <= _LONGEST_KEY:
            raise Refused(400, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters; got {len(key)}")
        known = hosted.answers.get(key)
        if known is None:
            if self.store.is_shared:  # `look_up` has looked, or the commit will
                return None
            kept = self.store.recall(_ANSWERS + hosted.name, key)
            if key not in kept:
                return None
            known = self._known(hosted, key, kept[key])
        if known[0] != _digest(body):
            raise Refused(422, f"the Idempotency-Key {key!r} was used for another request")
        return known[1]

    async def look_up(self, hosted: Hosted, key: str) -> None:
        """Find an answer that another service gave, where deciding again could not be taken back."""
        if self.store.is_shared and not hosted.is_replica and key not in hosted.answers:
            kept = await asyncio.to_thread(self.store.recall, _ANSWERS + hosted.name, key)
            if key in kept and key not in hosted.answers:
                self._known(hosted, key, kept[key])

    def _known(self, hosted: Hosted, key: str, kept: bytes) -> tuple[bytes, bytes]:
        """Return digest and answer of a note, and have them at hand."""
        known = kept[:16], kept[16:]
        hosted.answers[key] = known
        self._drop_old(hosted)
        return known

    def take_answer(self, hosted: Hosted, key: str, body: bytes, kept: bytes) -> bytes:
        """Return what another service answered to the same request."""
        self._known(hosted, key, kept)
        answer = self.answer_before(hosted, key, body)
        assert answer is not None
        return answer

    def remember_answer(self, hosted: Hosted, key: str, body: bytes, answer: bytes) -> Note:
        """Return the note to keep, so that the request can be repeated."""
        digest = _digest(body)
        hosted.answers[key] = digest, answer
        self._drop_old(hosted)
        return Note(_ANSWERS + hosted.name, key, digest + answer)

    def _drop_old(self, hosted: Hosted) -> None:
        if len(hosted.answers) > 2 * self.settings.most_waiting:
            hosted.answers.popitem(last=False)

    # ---------------------------------------------------------------- time

    async def start(self) -> None:
        """Begin what happens by itself: expiry, curves, keys that others added."""
        self._ticker = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        keys_at = answers_at = monotonic()
        while not self.closing.is_set() and (self.replication is not None or not self.commits.failure):
            await asyncio.sleep(0.2 if self.replication is None else 0.1)
            try:
                if self.replication is not None:
                    await self.replication.tick()
                    if self.commits.failure:
                        continue
                if self.following is not None:
                    await self.following.tick()
                for hosted in list(self.hosted.values()):
                    if hosted.expire():
                        self.commits.durable(hosted.agent).add_done_callback(_ignore_failure)
                    self._sample(hosted)
                if monotonic() - keys_at > _EVERY_KEYS:
                    keys_at = monotonic()
                    await asyncio.to_thread(self.keys.reload)
                if monotonic() - answers_at > _EVERY_ANSWERS and self.following is None:
                    answers_at = monotonic()
                    await asyncio.to_thread(self._forget_answers)
            except LsdtError as error:
                log.error("work in the background failed", extra={"error": str(error)})
            except Exception:  # the next turn may do better, and without turns nothing expires
                log.exception("work in the background failed")

    def _sample(self, hosted: Hosted) -> None:
        """Put a point on the curves of an experiment, at most one a second."""
        time, before = now() / 1e6, hosted.history[-1] if hosted.history else None
        if before is not None and time - before.time < 1.0:
            return
        agent, n, mean, half = hosted.agent, len(hosted.recent), None, None
        if n:
            rewards = [reward for _, reward in hosted.recent]
            mean = sum(rewards) / n
            half = 1.96 * math.sqrt(sum((each - mean) ** 2 for each in rewards)) / n
        counts = Counter(arm for arm, _ in hosted.recent).most_common(_MOST_CURVES)
        shares = {agent.side.show(arm): number / n for arm, number in counts}
        hosted.history.append(Point(time, agent.n_asked, agent.n_told, mean, half, shares, agent.n_pending))

    def _forget_answers(self) -> None:
        before = now() - round(1e6 * self.settings.answers_kept)
        for name in list(self.hosted):
            self.store.forget(_ANSWERS + name, before=before)

    async def close(self) -> None:
        """Keep everything, take snapshots, let the store go."""
        self.closing.set()
        if self._ticker is not None:
            self._ticker.cancel()
        await self.commits.close()
        await asyncio.to_thread(self._close_store)

    def _close_store(self) -> None:
        for hosted in self.hosted.values():
            try:
                hosted.agent.close()
            except LsdtError as error:
                log.error("experiment not closed", extra={"experiment": hosted.name, "error": str(error)})
        try:
            self.store.close()
        except LsdtError as error:
            log.error("store not closed", extra={"error": str(error)})


@contextmanager
def _compilation_in_log(name: str) -> Iterator[None]:
    """Say in the log when work for an experiment begins to compile, which takes a while, and when it is done.

    That is once on a machine: compiled code is kept.
    """
    begun: list[bool] = []

    def say() -> None:
        begun.append(True)
        log.info("compiling, once for a policy on this machine: up to a minute", extra={"experiment": name})

    with compile_seconds(say) as compilation:
        yield
    if begun:
        log.info("compiled", extra={"experiment": name, "seconds": round(compilation.seconds, 1)})


def _warm_up(agent: Agent) -> None:
    """Load, or compile, what decisions need, so that no request waits for it; the agent is nobody else's."""
    decisions = agent.ask(2)
    agent.tell(decisions[0], 0.0)
    with suppress(Unsupported, InvalidInput):
        agent.ask(allowed=agent.arms_in_play[:1])
    agent.observe(agent.side.label(decisions[0].arm), 0.0)
    agent.to_frame()  # what pages show: an agent is held while it is looked at
    agent.best()


def _ignore_failure(future: asyncio.Future[Outcome]) -> None:
    if not future.cancelled():
        future.exception()  # the failure is remembered, and everybody hears of it


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()
