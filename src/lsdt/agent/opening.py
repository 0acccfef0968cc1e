"""Open agents in a store: create them, or restore them from snapshot and log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lsdt.agent import snapshot
from lsdt.agent.durations import checked_seconds
from lsdt.agent.floors import checked_floors
from lsdt.agent.half_life import checked_half_life
from lsdt.agent.halt import checked_tolerance
from lsdt.agent.journal import LocalJournal, SharedJournal
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.policies import parse_policy
from lsdt.problems import checked_rewards
from lsdt.side_information import SideInformation, fingerprint, with_epsilon
from lsdt.storage import Store, another, checked_name, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.agent.agent import Agent
    from lsdt.agent.learner import Learner
    from lsdt.side_information import ArmId

_OPTIONS = (
    "policy", "epsilon", "rewards", "horizon", "seed", "prior", "prior_weight", "forget", "floor", "holdout",
    "replace_within", "sticky", "tolerance", "progress",
)  # fmt: skip


_LATER: dict[str, Any] = {
    "forget": None,
    "floor": [],
    "holdout": [],
    "replace_within": None,
    "sticky": None,
    "tolerance": None,
}  # what few agents have


def opened_store(store: str | Store, *, durability: str = "full", read_only: bool = False) -> Store:
    """Return the store that an agent closes when it is closed."""
    if not isinstance(store, Store):
        return open_store(store, durability=durability, read_only=read_only)
    store.share()
    return store


def ensure_experiment(
    store: Store,
    name: str,
    side: SideInformation | None,
    make: Callable[[SideInformation], tuple[str, bytes]],
) -> None:
    """Create an experiment from `make()`, a description and a snapshot, unless it exists."""
    checked_name(name)
    if store.find(name) is not None:
        return
    if side is None:
        names = ", ".join(repr(each.name) for each in store.list()[:10]) or "none yet"
        raise InvalidInput(
            f"there is no experiment {name!r} in {store.url} (there: {names}); give side=, the side "
            "information, to begin one"
        )
    try:
        store.create(name, *make(side))
    except InvalidInput:
        if store.find(name) is None:  # else another process was faster
            raise


def open_local(store: Store, name: str, snapshot_every: int) -> tuple[Learner, LocalJournal]:
    """Return the learner of an experiment, and the journal of its only writer."""
    lease = store.lease(name)
    try:
        position, learner = _newest(store, name)
        for entries in store.read(name, position):
            learner = learner.apply_events(entries)
    except BaseException:
        lease.release()
        raise
    return learner, LocalJournal(lease, snapshot_every)


def open_shared(
    store: Store, name: str, snapshot_every: int, *, follow: bool = False
) -> tuple[Learner, SharedJournal]:
    """Return the learner of an experiment, and the journal of one of several writers, or of a follower."""
    number = store.number(name)
    position, learner = _newest(store, name)
    lease = None if follow else store.lease(name, exclusive=False)
    journal = SharedJournal(store, store.cursor(name, position), snapshot_every, lease)
    try:
        while entries := journal.read_new():
            learner = journal.read_back(learner, entries)
        # Numbers ascend: if it is still the same one, everything read belongs to it.
        if not number == store.number(name) == journal.cursor.number:
            raise another(name)
        if lease is not None:
            journal.reserve_numbers(1)
    except BaseException:
        if lease is not None:
            lease.release()
        raise
    return learner, journal


def _newest(store: Store, name: str) -> tuple[int, Learner]:
    """Return the newest intact snapshot of an experiment, and its position."""
    kept = store.latest(name)
    if kept is None:
        raise InvalidFile(f"the experiment {name!r} has no snapshot that is whole; restore a backup")
    return kept.position, snapshot.from_bytes(kept.blob)


def about(side: SideInformation, agent: Agent, options: dict[str, Any]) -> str:
    """Return the description of a new agent, which later openings are compared with."""
    return json.dumps(
        {
            "side": fingerprint(with_epsilon(side, options.get("epsilon"))),
            "policy": snapshot.policy_as_data(agent.policy),
            "auto": agent.is_auto,
            "rewards": snapshot.model_as_data(agent.rewards),
            "horizon": agent.horizon,
            "seed": agent.seed,
            "forget": agent.forget,
            "floor": _listed(agent.floor),
            "holdout": _listed(agent.holdout),
            "replace_within": agent.replace_within,
            "sticky": agent.sticky,
            "tolerance": agent.tolerance,
        }
    )


def _listed(shares: dict[ArmId, float]) -> list[list[ArmId | float]]:
    """Return shares by arm as lists: a number as a key would be a text in JSON."""
    return [[arm, share] for arm, share in shares.items()]


def _parsed(text: str) -> dict[str, Any]:
    try:
        made: dict[str, Any] = json.loads(text)
        known = {key: made[key] for key in ("side", "policy", "auto", "rewards", "horizon", "seed")}
        return known | {key: made.get(key, default) for key, default in _LATER.items()}
    except (ValueError, KeyError, TypeError):
        raise InvalidFile(f"this does not describe an agent: {text[:100]!r}") from None


def check_same(
    store: Store, name: str, agent: Agent, side: SideInformation | None, options: dict[str, Any]
) -> None:
    """Refuse options that differ from those the agent was made with."""
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise TypeError(f"Agent.open() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    found = store.find(name)
    assert found is not None
    made = _parsed(found.about)
    given: dict[str, Any] = {}
    if side is not None:
        if not isinstance(side, SideInformation):
            raise InvalidInput(f"an agent needs a SideInformation; got {type(side).__name__}")
        mark = fingerprint(with_epsilon(side, options.get("epsilon")))
        if mark not in (made["side"], fingerprint(agent.side)):
            raise InvalidInput(
                f"the experiment {name!r} has other side information; go on with agent.extend(side), or "
                "choose another name"
            )
    elif options.get("epsilon") is not None:
        with_epsilon(agent.side, options["epsilon"])  # refuses one that differs
        if agent.side.epsilon is None:
            raise _made_otherwise(name, "epsilon", "None")
    if "policy" in options:
        policy = options["policy"]
        given["auto"] = policy == "auto"
        if policy != "auto":
            given["policy"] = snapshot.policy_as_data(
                parse_policy(policy) if isinstance(policy, str) else policy
            )
    if "rewards" in options:
        given["rewards"] = snapshot.model_as_data(checked_rewards(options["rewards"]).model)
    given |= {key: options[key] for key in ("horizon", "seed") if key in options}
    if "forget" in options:
        half_life = checked_half_life(options["forget"])
        given["forget"] = None if half_life is None else str(half_life)
    for key in ("replace_within", "sticky"):
        if key in options:
            given[key] = checked_seconds(options[key], key)
    if "tolerance" in options:
        given["tolerance"] = checked_tolerance(options["tolerance"])
    if "floor" in options or "holdout" in options:
        floors = checked_floors(agent.side, options.get("floor"), options.get("holdout"))
        kept = {} if floors is None else floors.as_options(agent.side)
        given |= {key: _listed(kept.get(key, {})) for key in ("floor", "holdout") if key in options}
    for key, value in given.items():
        if json.loads(json.dumps(value)) != made[key]:
            word = "policy" if key == "auto" else key
            raise _made_otherwise(name, word, _in_words(word, made))


def _made_otherwise(name: str, word: str, made: str) -> InvalidInput:
    return InvalidInput(
        f"the experiment {name!r} was made with another {word}: {made}; leave it out, or choose another name"
    )


def _in_words(word: str, made: dict[str, Any]) -> str:
    """Return an option as text for messages."""
    value = made[word]
    if word == "policy":
        return f"'auto', which chose {value['label']}" if made["auto"] else str(value["label"])
    if word == "rewards":
        return f"{value['family']} with sigma {value['sigma']:g}"
    return repr(value)
