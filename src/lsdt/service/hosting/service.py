"""The agents of a store, kept open and served by one process."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from contextlib import contextmanager, suppress
from hashlib import blake2b
from time import monotonic
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from lsdt.agent import Agent, checked_age, checked_reward, opening
from lsdt.errors import InvalidInput, LsdtError, StoreFailed, Unsupported, suggest
from lsdt.kernel import compile_seconds
from lsdt.service.answers import Refused
from lsdt.service.decision_ids import KEY_BYTES
from lsdt.service.hosting.activity import Activity
from lsdt.service.hosting.experiment import MOST_CLOSED, HostedExperiment, expiry_of
from lsdt.service.hosting.following import Following, followed
from lsdt.service.hosting.group_commit import GroupCommit, Note
from lsdt.service.hosting.replication import Reopened, ReplicaCoordinator, opened
from lsdt.service.keys import KeyRing, remove_keys_of
from lsdt.service.metrics import Metrics
from lsdt.service.plans import Plans
from lsdt.service.requests import Guard
from lsdt.service.sessions import Sessions
from lsdt.service.stopping_forecast import StoppingForecasts
from lsdt.service.webhooks import Webhooks
from lsdt.storage import UNITS, Store, checked_name, now, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsdt.service import messages
    from lsdt.service.requests import Caller
    from lsdt.service.settings import Settings
    from lsdt.side_information import SideInformation
    from lsdt.storage import ExperimentRecord

log = logging.getLogger("lsdt.service")
_SCOPE = "service"
_DECISION_KEY = "decision key"
_ANSWERS = "answers "  # and the tag of the experiment
# Seconds between two looks for keys that others added or removed, which are valid that much longer; and
# between two deletions of answers that were kept for a day.
_EVERY_KEYS, _EVERY_ANSWERS = 5.0, 3_600.0


class Service:
    """A store, the agents in it, and all else that a service needs.

    Opening it opens every experiment. One that cannot be opened is left out and named in `broken`; the others
    are served.

    Parameters
    ----------
    settings : Settings
        How it behaves.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store: Store = self.opened_store()
        try:
            self.store.check_notes(but=(_ANSWERS, UNITS))
            self._key = self._decision_key()
            self.keys = KeyRing(self.store)
            self.sessions = self._sessions()
            self.hosted: dict[str, HostedExperiment] = {}
            self.broken: dict[str, str] = {}
            self._warm: set[str] = set()
            for each in self.store.list():
                self.open_at_start(each)
        except BaseException:
            self.store.close()
            raise
        self.guard = Guard(self.keys, settings.rate, settings.origins, self.sessions)
        self.metrics = Metrics()
        self.forecasts, self.plans = StoppingForecasts(), Plans()
        self.following = Following(self) if settings.read_only else None
        is_replica = self.store.is_shared and self.following is None
        self.replication = ReplicaCoordinator(self) if is_replica else None
        self.commits = self._group_commit()
        try:
            self.webhooks = Webhooks(self)
        except BaseException:
            self._close_store()
            raise
        self.closing = asyncio.Event()
        self._being_made: set[str] = set()
        self.going: set[str] = set()  # tags of experiments that are let go of, and must not be opened again
        self._ticker: asyncio.Task[None] | None = None

    def opened_store(self) -> Store:
        """Return the store of the settings, opened once more."""
        settings = self.settings
        return open_store(
            settings.store,
            durability=settings.durability,
            read_only=settings.read_only,
            patience=settings.store_patience,
        )

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

    def _sessions(self) -> Sessions:
        """Return the sessions; a service that only looks keeps its own, in memory."""
        settings = self.settings
        own = secrets.token_bytes(KEY_BYTES) if settings.read_only else self._key
        secret = blake2b(own, digest_size=KEY_BYTES, person=b"lsdt forms").digest()
        return Sessions(self.store, secret, 3_600.0 * settings.session_hours, settings.read_only)

    def _group_commit(self) -> GroupCommit:
        if self.replication is not None:
            return self.replication.commits()
        return GroupCommit(self.store, self.metrics, self.settings.most_waiting)

    def open_at_start(self, each: ExperimentRecord) -> None:
        """Serve an experiment; one that cannot be opened is left out."""
        try:
            each.check()
            with _compilation_in_log(each.name):
                self._open(each)
            self.broken.pop(each.name, None)  # where it was not the first try
        except StoreFailed:
            raise
        except LsdtError as error:
            self.broken[each.name] = str(error)
            log.error("experiment cannot be opened", extra={"experiment": each.name, "error": str(error)})

    def show(self, each: ExperimentRecord, agent: Agent, activity: Activity) -> HostedExperiment:
        """Show an experiment that another service decides for."""
        hosted = self.hosted.get(each.name)
        if hosted is None or hosted.created != each.created:
            hosted = self.hosted[each.name] = HostedExperiment(agent, each, self._key, activity)
        else:
            hosted.take(agent, activity)
        return hosted

    def _open(self, each: ExperimentRecord) -> HostedExperiment:
        if self.settings.read_only:
            return self.show(each, *followed(self.store, each))
        agent = opened(self.store, each)
        if agent.policy.name not in self._warm:
            kept = self.store.latest(each.name)
            assert kept is not None
            _warm_up(Agent.restore(kept.blob))
        self._warm.add(agent.policy.name)
        activity = Activity.read(self.store, each.name, agent, expiry_of(each.about))
        hosted = HostedExperiment(agent, each, self._key, activity)
        self.hosted[each.name] = hosted
        return hosted

    def take_over(self, reopened: dict[str, Reopened], broken: dict[str, str]) -> None:
        """Replace the agents by those that were reopened over a new connection to the store."""
        self.keys.move(self.store)
        self.sessions.move(self.store)
        for name in set(self.hosted) - set(reopened):
            del self.hosted[name]
        for name, (about, agent, activity) in reopened.items():
            hosted = self.hosted.get(name)
            if hosted is None or hosted.created != about.created:
                hosted = self.hosted[name] = HostedExperiment(agent, about, self._key)
            hosted.take(agent, activity)
            hosted.busy = ""
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
        if hosted is not None and hosted.applying is not None:
            await asyncio.wait([hosted.applying])

    def find(self, name: str, caller: Caller | None = None) -> HostedExperiment:
        """Return an experiment, or say which there are."""
        hosted = self.hosted.get(name)
        if hosted is not None:
            if caller is not None:
                caller.check(hosted)
            return hosted
        sees_all = caller is None or caller.experiment is None
        if name in self.broken:
            why = f": {self.broken[name]}" if sees_all else ""
            raise StoreFailed(f"the experiment {name!r} cannot be opened{why}")
        if name in self._being_made and sees_all:
            raise Refused(
                503,
                f"the experiment {name!r} is being made; with very many arms, the first of its kind on a "
                "machine compiles its policy for up to a minute",
                {"retry-after": "5"},
            )
        seen = [each for each in self.hosted.values() if caller is None or caller.sees(each)]
        names = sorted(each.name for each in seen)
        there = ", ".join(map(repr, names[:10])) or "none yet"
        raise Refused(404, f"there is no experiment {name!r} (there: {there}){suggest(name, names)}")

    def check_new(self, name: str) -> None:
        """Refuse an invalid name, or one that is taken."""
        checked_name(name)
        if self.knows(name) or (self.store.is_shared and self.store.find(name) is not None):
            raise Refused(409, f"there is an experiment {name!r} already; choose another name")

    def make(
        self, name: str, side: SideInformation, options: dict[str, Any], expiry: messages.Expiry | None
    ) -> HostedExperiment:
        """Begin an experiment. This may take long; call it in a thread."""
        self.check_new(name)
        self._being_made.add(name)
        try:
            with _compilation_in_log(name):
                return self._made(name, side, options, expiry)
        finally:
            self._being_made.discard(name)

    def _made(
        self, name: str, side: SideInformation, options: dict[str, Any], expiry: messages.Expiry | None
    ) -> HostedExperiment:
        agent = Agent(side, **options)
        about = json.loads(opening.about(side, agent, options))
        if expiry is not None:
            checked_age(expiry.after, "expiry.after")
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
        if kept is None:
            raise Refused(409, f"the experiment {name!r} was deleted by another service just now")
        return self._open(kept)

    async def let_go(self, hosted: HostedExperiment) -> None:
        """Stop serving an experiment; its decisions are durable when this returns."""
        hosted.check_idle()
        hosted.busy = "is being deleted"  # from now on nothing is decided
        if self.hosted.get(hosted.name) is hosted:
            del self.hosted[hosted.name]
        self.going.add(hosted.tag)
        try:
            await self.commits.durable()
        except BaseException:
            self.going.discard(hosted.tag)
            raise

    def delete(self, hosted: HostedExperiment) -> None:
        """Remove an experiment, which was let go of, with its log."""
        try:
            if self.replication is None:
                hosted.agent.close()
                self.store.delete(hosted.name)
                self.forget(hosted.tag)
            elif not self.replication.delete(hosted):
                raise Refused(
                    503,
                    f"{hosted.name!r} is being deleted; it goes when all other services have let go of it",
                    {"retry-after": "5"},
                )
        finally:
            self.going.discard(hosted.tag)

    def forget(self, tag: str) -> None:
        """Delete what is stored outside the log of an experiment that was deleted."""
        self.store.forget(_ANSWERS + tag)
        remove_keys_of(self.store, tag)
        self.keys.reload()
        self.webhooks.forget(tag)

    # ---------------------------------------------------------------- repeats

    def answer_before(self, hosted: HostedExperiment, key: str, body: bytes) -> bytes | None:
        """Return what the same request was answered before; refuse another request with its key."""
        known = hosted.answers.get(key)
        if known is None:
            if self.store.is_shared:  # the commit finds out whether another service has answered it
                return None
            kept = self.store.recall(_ANSWERS + hosted.tag, key)
            if key not in kept:
                return None
            known = _split(kept[key])
        if known[0] != self._digest(body):
            name = key.split(" ", 3)[3]
            raise Refused(422, f"the Idempotency-Key {name!r} was used for another request")
        self._have(hosted, key, known)
        return known[1]

    def _have(self, hosted: HostedExperiment, key: str, known: tuple[bytes, bytes]) -> None:
        """Cache digest and answer of a request; evict the oldest."""
        hosted.answers[key] = known
        if len(hosted.answers) > 2 * self.settings.most_waiting:
            hosted.answers.popitem(last=False)

    def take_answer(self, hosted: HostedExperiment, key: str, body: bytes, kept: bytes) -> bytes:
        """Return what another service answered to the same request."""
        self._have(hosted, key, _split(kept))
        answer = self.answer_before(hosted, key, body)
        assert answer is not None
        return answer

    def remember_answer(self, hosted: HostedExperiment, key: str, body: bytes, answer: bytes) -> Note:
        """Return the note to keep, so that the request can be repeated."""
        digest = self._digest(body)
        self._have(hosted, key, (digest, answer))
        return Note(_ANSWERS + hosted.tag, key, digest + answer)

    def _digest(self, body: bytes) -> bytes:
        """Return a keyed digest of a request: the body of an ask may name a unit."""
        return blake2b(body, digest_size=16, key=self._key).digest()

    async def erase_unit(self, hosted: HostedExperiment, unit: str, by: str) -> bool:
        """Forget who a unit is, and what its asks were answered; return whether it was known."""
        hosted.check_idle()
        prefix = answers_of_unit(hosted.agent, unit)
        await self.commits.durable(hosted.agent)  # what waits to be written may be about it
        is_known = await run_in_threadpool(hosted.agent.erase_unit, unit, by=by)
        await self.commits.durable(hosted.agent)  # and what was asked meanwhile
        for key in [key for key in hosted.answers if key.startswith(prefix)]:
            del hosted.answers[key]
        await run_in_threadpool(self.store.forget, _ANSWERS + hosted.tag, prefix=prefix)
        return is_known

    # ---------------------------------------------------------------- time

    async def start(self) -> None:
        """Start the background tasks: expiry, curves, keys that others added."""
        self._ticker = asyncio.create_task(self._tick())
        self.webhooks.start()

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
                elif self.store.path is not None and not await self._is_store_there():
                    continue
                for hosted in list(self.hosted.values()):
                    while n_expired := hosted.expire():
                        await self.commits.durable(hosted.agent)
                        if n_expired < MOST_CLOSED:
                            break
                    hosted.sample()
                if monotonic() - keys_at > _EVERY_KEYS:
                    keys_at = monotonic()
                    await asyncio.to_thread(self.keys.reload)
                    await asyncio.to_thread(self.sessions.reload)
                    await asyncio.to_thread(self.webhooks.reload)
                if monotonic() - answers_at > _EVERY_ANSWERS and self.following is None:
                    answers_at = monotonic()
                    await asyncio.to_thread(self._forget_answers)
            except LsdtError as error:
                log.error("work in the background failed", extra={"error": str(error)})
            except Exception:  # the next turn may do better, and without turns nothing expires
                log.exception("work in the background failed")

    async def _is_store_there(self) -> bool:
        """Look for the files of the store, so that an idle service notices that they are gone."""
        try:
            await asyncio.to_thread(self.store.verify)
        except StoreFailed as error:
            self.commits.fail(error)
            return False
        return True

    def _forget_answers(self) -> None:
        before = now() - round(1e6 * self.settings.answers_kept)
        for hosted in list(self.hosted.values()):
            self.store.forget(_ANSWERS + hosted.tag, before=before)

    async def close(self) -> None:
        """Keep everything, take snapshots, let the store go."""
        self.closing.set()
        if self._ticker is not None:
            self._ticker.cancel()
        await asyncio.to_thread(self.webhooks.stop)
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
    ready: list[bool] = []

    def say() -> None:
        ready.append(True)
        log.info("compiling, once for a policy on this machine: up to a minute", extra={"experiment": name})

    with compile_seconds(say) as compilation:
        yield
    if ready:
        log.info("compiled", extra={"experiment": name, "seconds": round(compilation.seconds, 1)})


def _warm_up(agent: Agent) -> None:
    """Do what decisions do, and what pages do while they hold an agent; no other thread has the agent yet.

    So that code for very many arms is compiled here, and not when a request waits for it.
    """
    agent.resume()
    decisions = agent.ask(2)
    agent.tell(decisions[0], 0.0)
    with suppress(Unsupported, InvalidInput):
        agent.ask(allowed=agent.arms_in_play[:1])
    agent.observe(agent.side.label(decisions[0].arm), 0.0)
    with agent.held() as learner:
        learner.scores()


def answers_of_unit(agent: Agent, unit: str) -> str:
    """Return the prefix of the keys under which the answers to a unit's asks are kept."""
    return f"ask {agent.unit_hash(unit).hex()} "


def _split(kept: bytes) -> tuple[bytes, bytes]:
    """Return digest of the request and answer, of a note."""
    return kept[:16], kept[16:]
