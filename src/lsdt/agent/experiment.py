"""An agent in a store: found by its name, made where there is none, brought to where it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lsdt.agent import snapshot
from lsdt.agent.half_life import checked_half_life
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.policies.policy import parse_policy
from lsdt.problems.rewards import checked_rewards
from lsdt.side_information import SideInformation
from lsdt.side_information.io.arrays import fingerprint
from lsdt.side_information.layouts.subset import with_epsilon
from lsdt.storage import Store, open_store
from lsdt.storage.store import checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt.agent.agent import Agent
    from lsdt.agent.snapshot import Contents
    from lsdt.storage import Entry, Lease

_OPTIONS = ("policy", "epsilon", "rewards", "horizon", "seed", "prior", "prior_weight", "forget", "progress")


def opened_store(store: str | Store, durability: str) -> Store:
    """Return the store that an agent closes when it is closed."""
    if not isinstance(store, Store):
        return open_store(store, durability=durability)
    store.share()
    return store


def lease_of(store: Store, name: str, new: Callable[[], tuple[str, bytes]]) -> Lease:
    """Return the lease of an experiment; where there is none, make it of what `new` returns."""
    checked_name(name)
    if store.find(name) is None:
        try:
            about_it, blob = new()
        except InvalidInput as error:
            if "to begin one" not in str(error):
                raise
            names = ", ".join(repr(each.name) for each in store.list()[:10]) or "none yet"
            raise InvalidInput(
                f"there is no experiment {name!r} in {store.url} (there: {names}); {error}"
            ) from None
        store.create(name, about_it, blob)
    return store.lease(name)


def restored(
    store: Store,
    lease: Lease,
    make: Callable[[Contents], Agent],
    fold: Callable[[Agent, Sequence[Entry]], None],
) -> Agent:
    """Return the agent of a store: its newest snapshot that is whole, and all events behind it."""
    name = lease.name
    kept = store.latest(name)
    if kept is None:
        raise InvalidFile(f"the experiment {name!r} has no snapshot that is whole; restore a backup")
    agent = make(snapshot.from_bytes(kept.blob))
    for entries in store.read(name, kept.position):
        fold(agent, entries)
    return agent


def about(side: SideInformation, agent: Agent, options: dict[str, Any]) -> str:
    """Return what a store writes down of a new agent: what a later opening is compared with."""
    return json.dumps(
        {
            "side": fingerprint(with_epsilon(side, options.get("epsilon"))),
            "policy": snapshot.policy_as_data(agent.policy),
            "auto": agent.is_auto,
            "rewards": snapshot.model_as_data(agent.rewards),
            "horizon": agent.horizon,
            "seed": agent.seed,
            "forget": agent.forget,
        }
    )


def _parsed(text: str) -> dict[str, Any]:
    try:
        made: dict[str, Any] = json.loads(text)
        known = {key: made[key] for key in ("side", "policy", "auto", "rewards", "horizon", "seed")}
        return known | {"forget": made.get("forget")}
    except (ValueError, KeyError, TypeError):
        raise InvalidFile(f"this is not what an agent writes down of itself: {text[:100]!r}") from None


def check_same(
    store: Store, name: str, agent: Agent, side: SideInformation | None, options: dict[str, Any]
) -> None:
    """Refuse what is given for an agent that was made with something else."""
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
    for key, value in given.items():
        if json.loads(json.dumps(value)) != made[key]:
            word = "policy" if key == "auto" else key
            raise _made_otherwise(name, word, _in_words(word, made))


def _made_otherwise(name: str, word: str, made: str) -> InvalidInput:
    return InvalidInput(
        f"the experiment {name!r} was made with another {word}: {made}; leave it out, or choose another name"
    )


def _in_words(word: str, made: dict[str, Any]) -> str:
    """Return an option of an agent as people read it."""
    value = made[word]
    if word == "policy":
        return f"'auto', which chose {value['label']}" if made["auto"] else str(value["label"])
    if word == "rewards":
        return f"{value['family']} with sigma {value['sigma']:g}"
    return repr(value)


def side_of(entry: Entry) -> tuple[SideInformation, list[int]]:
    """Return the side information of an extension, and which arms retire with it."""
    if entry.data is None:
        raise InvalidFile(f"the extension at position {entry.position} of the log has no side information")
    return snapshot.side_from_bytes(entry.data)


def mark_of(side: SideInformation) -> int:
    """Return a number, hardly ever the same for different side information, that fits the log."""
    return int(fingerprint(side), 16) >> 1


def goes_on_from(entry: Entry, side: SideInformation) -> bool:
    """Return whether an extension was made for this side information.

    A replica marks what it extends. Where another one was faster, the mark does not fit any more, and every
    replica passes the extension over. An agent that is alone leaves no mark.
    """
    return entry.number < 0 or entry.number == mark_of(side)
