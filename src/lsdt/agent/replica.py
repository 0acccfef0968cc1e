"""An agent that shares its log: several replicas decide, and each folds what all of them wrote."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.agent import experiment, extension, snapshot
from lsdt.agent.agent import EVERY, INTERRUPTED, Agent, Kept, Taken
from lsdt.agent.decisions import Decision, checked_reward
from lsdt.agent.merge import checked_agents, joint_lesson
from lsdt.agent.snapshot import Contents
from lsdt.errors import InvalidFile, InvalidInput, StoreLocked, counted
from lsdt.storage import Event, Kind, now
from lsdt.storage.events import CLOSING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lsdt.agent.extension import Extension
    from lsdt.agent.learner import Learner
    from lsdt.side_information import SideInformation
    from lsdt.side_information.arms import ArmId
    from lsdt.storage import Entry, LogCursor, Store


class Proposal(NamedTuple):
    """An extension that is written down: when, a mark of the side information to be, and what was before."""

    time: int
    mark: int
    before: Learner


class Replica(Agent):
    """An agent of an experiment that other processes decide for at the same time.

    Its state is the fold of the log up to `place`, in the order that all replicas share. A decision is made
    on that state and on its own decisions that are not folded yet. Nothing else is known before it is read
    from the log: what is told here is an event to be written down (`take`), and is learned when it comes back
    (`fold`). So replicas that have read the same log are equal, whoever wrote what.

    The numbers of decisions are granted in blocks (`grant`): no two replicas have the same.

    A policy whose state depends on having been asked has one decider. Other replicas follow: they fold, and
    `lead` makes them the decider when there is none.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.agent.replica import Replica
    >>> from lsdt.storage import open_store
    >>> store = open_store("memory://")
    >>> lsdt.Agent.open(store, "drinks", lsdt.SideInformation(2), policy="ucb1").close()
    >>> first, second = (Replica.join(store, "drinks") for _ in range(2))
    >>> decision = first.ask()
    >>> first.append()
    [True]
    >>> second.catch_up()
    >>> second.tell(decision, 1.0)
    >>> second.append()
    [True]
    >>> for replica in (first, second):
    ...     replica.catch_up()
    >>> first.n_told, second.n_told, first.n_pending
    (1, 1, 0)
    """

    place: LogCursor
    _store: Store

    def _take(self, contents: Contents) -> None:
        super()._take(contents)
        self.autocommit = False
        self.n_block = 1_000
        self.own_extension = 0  # when this replica wrote the last extension that is folded
        self._numbers: deque[int] = deque()
        self._closing: set[int] = set()  # decisions that this replica closed, which is not folded yet
        self._kept: Kept | None = None

    @classmethod
    def join(cls, store: Store, name: str, *, snapshot_every: int = EVERY, follow: bool = False) -> Replica:
        """Return a replica of an experiment, where its log is now.

        Parameters
        ----------
        store : Store
            One that several may write to; the replica shares it until it is closed.
        name : str
            Of an experiment that exists.
        snapshot_every : int
            Take a snapshot after so many events; 0 for never.
        follow : bool
            Whether it only follows the log, whatever its policy: then the store is never written to, and may
            be one that is open for reading only.
        """
        number, kept = store.number(name), store.latest(name)
        if kept is None:
            raise InvalidFile(f"the experiment {name!r} has no snapshot that is whole; restore a backup")
        contents = snapshot.from_bytes(kept.blob)
        replica = cls.__new__(cls)
        replica._take(contents)
        replica._store, replica.place = store, store.cursor(name, kept.position)
        replica._snapshot_every = snapshot_every
        if not replica.policy.counts_asks and not follow:
            replica._write_with(store.lease(name, exclusive=False))
        store.share()
        try:
            replica.catch_up()
            replica._check_number(number, store.number(name))  # numbers ascend: all of it was of one
            if replica._lease is not None:
                replica.grant(store.reserve_numbers(replica._lease, replica.n_block), replica.n_block)
        except BaseException:
            replica._snapshot_every = 0
            replica.close()
            raise
        return replica

    @property
    def is_follower(self) -> bool:
        """Whether somebody else decides."""
        return self._lease is None

    def lead(self) -> Agent:
        """Return the agent that decides alone from now on; while there is another, `StoreLocked` says who."""
        if not self.is_follower:
            raise StoreLocked(f"the experiment {self.place.name!r} is decided for by several replicas")
        with self._lock:
            lease = self._store.lease(self.place.name)
            try:
                self._check_number(self.place.number, lease.number)
                # Whoever wrote before has ended, so that all there is is settled.
                for entries in self._store.read(self.place.name, self.place.position):
                    self._fold(entries)
                    self._n_since += len(entries)
            except BaseException:
                lease.release()
                raise
            agent = Agent._with(Contents(self._learner, self._is_auto, self.policy_reason))
            agent._write_with(lease)
            agent._snapshot_every = self._snapshot_every
            agent._n_since, agent.autocommit = self._n_since, False
            self._torn = "this replica leads now; use the agent"
            return agent

    def _check_number(self, expected: int, found: int) -> None:
        """Refuse to take one experiment for another that was given its name."""
        if found != expected:
            raise StoreLocked(
                f"the experiment {self.place.name!r} was deleted, and made again, just now; open it anew"
            )

    # ---------------------------------------------------------------- numbers

    @property
    def n_numbers(self) -> int:
        """How many decisions can be made before more numbers are granted."""
        return len(self._numbers)

    def grant(self, first: int, n: int) -> None:
        """Let `n` decisions be made, numbered from `first`, which the store reserved."""
        self._numbers.extend(range(first, first + n))

    # ---------------------------------------------------------------- what is to be written down

    def _decide(self, flags: NDArray[np.bool_] | None, n_draws: int) -> Decision:
        if not self._numbers:
            raise InvalidInput("no numbers are left for decisions; reserve some, and grant them")
        learner, number = self._learner, self._numbers.popleft()
        arm, probability = learner.select(number, flags, n_draws)
        learner.foresee(number, arm, now())
        return Decision(number, arm, learner.label(arm), probability, self._epoch)

    def tell(self, decision: Decision | int, reward: float, *, repeat: str = "ignore") -> None:
        """Write a reward down; a repeat is found out when it is written, and changes nothing."""
        self.tell_many([(decision, reward)])

    def tell_many(self, rewards: Iterable[tuple[Decision | int, float]]) -> tuple[int, int]:
        """Write rewards down; who asked for the decisions does not matter, but their arms must be known.

        Returns how many there are, and 0: which of them are repeats shows when they are inserted.
        """
        events, decisions, time = [], [], now()
        for decision, reward in rewards:
            value = checked_reward(reward, self.rewards)
            if not isinstance(decision, Decision):
                raise InvalidInput(f"a replica is told decisions with their arms; got {decision!r}")
            decisions.append(decision)
            events.append(Event(Kind.TELL, time, decision.number, decision.arm, value))
        with self._changing():
            self._check_epochs(decisions)
            self._keep(events)
        return len(events), 0

    def observe(self, arm: ArmId, reward: float) -> None:
        """Write down a reward that nobody asked for."""
        value = checked_reward(reward, self.rewards)
        with self._changing():
            self._keep([Event(Kind.OBSERVE, now(), -1, self.side.index(arm), value)])

    def _first(self, numbers: Iterator[int], most: int | None) -> list[int]:
        """Leave out what was closed here, and still seems open until that is read from the log."""
        return super()._first((number for number in numbers if number not in self._closing), most)

    def _close(self, numbers: list[int], kind: Kind, reward: float | None) -> None:
        pending, time = self._learner.pending, now()
        new = [number for number in numbers if number not in self._closing]
        self._closing.update(new)
        self._keep([Event(kind, time, number, pending.arm(number) or 0, reward) for number in new])

    def retire(self, arm: ArmId) -> None:
        """Write down that an arm is never chosen again."""
        with self._changing():
            index = self.side.index(arm)
            if self._learner.is_last(index):
                raise InvalidInput(f"{arm!r} is the last arm in play; an agent needs one")
            self._keep([Event(Kind.RETIRE, now(), -1, index, 1.0)])

    def reinstate(self, arm: ArmId) -> None:
        """Write down that a retired arm comes back."""
        with self._changing():
            index = self._retired_index(arm)
            self._keep([Event(Kind.RETIRE, now(), -1, index, 0.0)])

    def merge(self, others: Agent | bytes | Iterable[Agent | bytes]) -> int:
        """Write down what other agents were told; where two replicas merge the same, the first one does."""
        listed = checked_agents(others, Agent)
        with self._changing():
            lesson = joint_lesson(self._learner, listed)
            self._keep([Event(Kind.MERGE, now(), data=lesson.to_bytes())])
            return lesson.n_told

    def propose(self, side: SideInformation) -> Proposal:
        """Write down other side information, which must go on from what is known now.

        Of two replicas that extend at the same time the first one does; the event of the other is passed over
        by all. `outcome` says what became of it.
        """
        with self._changing():
            learner, _, gone = self._prepared(side)  # what is refused is refused here
            time = now()
            data, mark = snapshot.side_to_bytes(learner.side, gone), experiment.mark_of(self.side)
            self._keep([Event(Kind.EXTEND, time, mark, -1, None, data)])
            return Proposal(time, experiment.mark_of(learner.side), self._learner)

    def outcome(self, proposal: Proposal) -> Extension | None:
        """Return what an extension changed; None while it is not folded."""
        with self._lock:
            if self.own_extension < proposal.time:
                return None
            if experiment.mark_of(self.side) != proposal.mark:
                raise StoreLocked(f"another replica extended {self.place.name!r} at the same time; try again")
            return extension.changes(proposal.before, self._learner)

    def snapshot(self) -> bytes:
        """Return the folded state as bytes; the store keeps it with what is taken next."""
        with self._changing():
            return self._keep_snapshot()

    def _keep_snapshot(self) -> bytes:
        blob = snapshot.to_bytes(Contents(self._learner, self._is_auto, self.policy_reason))
        if self._lease is not None:
            self._kept = Kept(Event(Kind.SNAPSHOT, now()), blob, self.place.position)
        self._n_since = 0
        return blob

    def take(self) -> Taken:
        """Return what is to be written down, which from now on is the caller's to write."""
        with self._changing():
            events, self._gathered = self._gathered, []
            kept, self._kept = self._kept, None
            return Taken(events, kept)

    def withdraw(self, events: Sequence[Event]) -> None:
        """Forget decisions whose events will not be written after all."""
        with self._changing():
            self._learner.withdraw(event.number for event in events if event.kind == Kind.ASK)

    def append(self) -> Sequence[bool]:
        """Write down what is to be written, and wait until it is kept; say which events were new."""
        if self._lease is None:
            raise StoreLocked(f"somebody else decides for {self.place.name!r}")
        events, kept = self.take()
        with self._store.transaction():
            new = self._lease.insert(events)
            if kept is not None:
                self._store.snapshot(self._lease, *kept)
        return new

    # ---------------------------------------------------------------- what was written down

    def fold(self, entries: Sequence[Entry]) -> None:
        """Be what every replica is after these events of the log."""
        with self._changing():
            self._torn = INTERRUPTED
            self._fold(entries)
            own = -1 if self._lease is None else self._lease.writer
            for entry in entries:
                if self._closing and entry.kind in CLOSING:
                    self._closing.discard(entry.number)
                elif entry.kind == Kind.EXTEND and entry.writer == own:
                    self.own_extension = entry.time
            self._n_since += len(entries)
            if self._snapshot_every and self._n_since >= self._snapshot_every and self._lease is not None:
                self._keep_snapshot()

    def catch_up(self) -> None:
        """Fold all there is."""
        while True:
            (entries,) = self._store.read_new([self.place])
            if not entries:
                return
            self.fold(entries)

    def close(self) -> None:
        """Write down what is to be written, with a last snapshot, and let the store go."""
        with self._lock:
            lease, torn = self._lease, self._torn
            if torn.startswith("the agent is closed"):
                return
            try:
                if not torn and lease is not None:
                    if self._snapshot_every and self._n_since:
                        self._keep_snapshot()
                    self.append()
            finally:
                self._torn = torn or "the agent is closed; open it again"
                self._lease = None
                if not torn.startswith("this replica leads"):
                    if lease is not None:
                        lease.release()
                    self._store.close()

    def __del__(self) -> None:
        """Nothing: whoever joined closes."""

    def __repr__(self) -> str:
        waiting = f", {self.n_pending} pending" if self.n_pending else ""
        return f"Replica({self.policy.label}, {counted(self.n_told, 'reward')}{waiting})"

    @classmethod
    def open(cls, *_: Any, **__: Any) -> Agent:
        """Refuse: an experiment is made by an agent, and joined by replicas."""
        raise InvalidInput("join an experiment that exists: Replica.join(store, name)")
