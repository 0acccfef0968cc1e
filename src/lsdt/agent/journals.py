"""The record of an agent: everything it was asked and told, as JSON lines or in a list."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_seed
from lsdt.agent.learner import Learner
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.policies.situation import checked_horizon
from lsdt.side_information.io.arrays import fingerprint
from lsdt.side_information.layouts.subset import with_known_epsilon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.agent.agent import Agent
    from lsdt.agent.decisions import Decision
    from lsdt.side_information import SideInformation

FORMAT = 1


class Journal:
    """Writes nothing down; the others derive from it."""

    def write(self, event: dict[str, Any]) -> None:
        """Write an event."""

    def tell(self, number: int, reward: float) -> None:
        """Write that a reward was told."""

    def ask(self, decision: Decision, flags: NDArray[np.bool_] | None, arms: NDArray[np.int64]) -> None:
        """Write that an arm was asked for."""

    written = 0  # events so far, those of earlier lives included


class _Writing(Journal):
    def tell(self, number: int, reward: float) -> None:
        self.write({"event": "tell", "number": number, "reward": reward})

    def ask(self, decision: Decision, flags: NDArray[np.bool_] | None, arms: NDArray[np.int64]) -> None:
        event: dict[str, Any] = {"event": "ask", "number": decision.number, "arm": decision.arm}
        if decision.propensity not in (None, 1.0):
            event["propensity"] = decision.propensity
        if flags is not None:  # the shorter of the two lists
            few = 2 * flags.sum() <= len(flags)
            event["allowed" if few else "excluded"] = arms[flags if few else ~flags].tolist()
        self.write(event)


class ListJournal(_Writing):
    """Appends to a list."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._events = events
        self.written = len(events)

    def write(self, event: dict[str, Any]) -> None:
        """Write an event."""
        self._events.append(event)
        self.written += 1


class FileJournal(_Writing):
    """Appends to a file of JSON lines; each reaches the operating system before the agent goes on."""

    def __init__(self, path: Path, written: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.written = written
        self._path, self._broken = path, False
        self._file = path.open("ab", buffering=0)

    def write(self, event: dict[str, Any]) -> None:
        """Write an event; after a failure nothing more is written, because a torn line may be there."""
        line = json.dumps(event).encode() + b"\n"
        try:
            if self._broken or self._file.write(line) != len(line):
                raise OSError("it was not written to its end")
        except OSError as error:
            self._broken = True
            raise InvalidFile(
                f"the record {str(self._path)!r} cannot be written: {error}; make room, and go on with "
                "Agent.rebuild"
            ) from None
        self.written += 1

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()


def open_journal(record: Any, *, fresh: bool, written: int = 0) -> Journal:
    """Return the journal that a user asks for; a fresh one must be empty, another holds `written` events."""
    if record is None:
        return Journal()
    if isinstance(record, list):
        if fresh and record:
            raise InvalidInput("the list for the record is not empty; Agent.rebuild goes on with a record")
        return ListJournal(record)
    if not isinstance(record, (str, Path)) and not hasattr(record, "__fspath__"):
        raise InvalidInput(f"record must be the path of a file, or a list; got {type(record).__name__}")
    path = Path(record)
    if path.exists() and not path.is_file():
        raise InvalidFile(f"a record is a file, and {str(path)!r} is none")
    if fresh and path.exists() and path.stat().st_size:
        raise InvalidInput(
            f"{str(path)!r} is not empty; Agent.rebuild({str(path)!r}, side) goes on with a record, or name "
            "another file"
        )
    if not fresh:
        _drop_torn_line(path)
    return FileJournal(path, written)


def header(learner: Learner, is_auto: bool) -> dict[str, Any]:
    """Return the first event of a record."""
    from lsdt.agent.snapshot import model_as_data, policy_as_data

    prior = learner.prior
    return {
        "event": "begin",
        "format": FORMAT,
        "policy": policy_as_data(learner.policy),
        "rewards": model_as_data(learner.rewards),
        "horizon": learner.horizon,
        "seed": learner.seed,
        "auto": is_auto,
        "epsilon": learner.side.epsilon,
        "side": fingerprint(learner.side),
        **({"prior": {"weight": prior.weight, "mark": prior.mark}} if prior else {}),
    }


def _drop_torn_line(path: Path) -> None:
    """Cut off a last line that was not written to its end, so that the next one begins a line."""
    with path.open("r+b") as file:
        end = file.seek(0, 2)
        while end > 0:
            start = max(end - 65_536, 0)
            file.seek(start)
            place = file.read(end - start).rfind(b"\n")
            if place >= 0:
                file.truncate(start + place + 1)
                return
            end = start
        file.truncate(0)


def read_events(record: Any) -> list[dict[str, Any]]:
    """Return the events of a record; a last line that was torn off does not count."""
    if isinstance(record, list):
        return list(record)
    path = Path(record)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"cannot read the record {str(path)!r}: {error}") from None
    events = []
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last line end was torn off
        try:
            events.append(json.loads(line))
        except ValueError:
            raise InvalidFile(
                f"line {number} of the record {str(path)!r} is not JSON: {line[:80]!r}"
            ) from None
    return events


def first_learner(events: list[dict[str, Any]], side: SideInformation, prior: Any) -> tuple[Learner, bool]:
    """Return the learner that a record begins with, and whether its policy was chosen for the user."""
    from lsdt.agent.snapshot import model_of_data, policy_of_data

    if not events:
        raise InvalidFile("the record is empty: there is nothing to rebuild; make a new Agent")
    with _own_errors():
        first = events[0]
        if first["event"] != "begin" or first["format"] != FORMAT:
            raise InvalidFile(f"a record begins with an event 'begin' of format {FORMAT}; got {first}")
        side = with_known_epsilon(side, first["epsilon"])
        _check_side(side, first["side"])
        policy, model = policy_of_data(first["policy"]), model_of_data(first["rewards"])
        horizon, seed = checked_horizon(first["horizon"]), checked_seed(first["seed"])
        learner = Learner(side, policy, model, horizon, seed)
        _learn_prior_again(learner, prior, first.get("prior"))
        return learner, bool(first["auto"])


def _learn_prior_again(learner: Learner, prior: Any, recorded: dict[str, Any] | None) -> None:
    """Learn what the agent knew before its first decision, and refuse anything else."""
    if recorded is None:
        if prior is not None:
            raise InvalidInput("the agent of this record began with no prior; leave prior out")
        return
    if prior is None:
        raise InvalidInput(
            "the agent of this record began with known rewards, which the record does not hold; give them "
            "again as prior"
        )
    learner.learn_prior(prior, float(recorded["weight"]))
    if learner.prior.mark != recorded["mark"]:
        raise InvalidInput(
            "this is not the prior that the record was made with; give the same rewards in the same order"
        )


def replay(agent: Agent, events: list[dict[str, Any]], start: int, sides: list[SideInformation]) -> None:
    """Ask and tell an agent again what it was asked and told from one event on."""
    if not 0 < start <= len(events):
        raise InvalidInput(
            f"this record holds {len(events)} events, and the snapshot was made after {start} of its own "
            "record; give that record, or none"
        )
    with _own_errors():
        for number, event in enumerate(events[start:], start=start + 1):
            _replay(agent, event, sides, number)
    if sides:
        raise InvalidInput(
            f"the record does not extend the agent with the last {len(sides)} side information"
        )


@contextmanager
def _own_errors() -> Iterator[None]:
    """Turn what Python says of events that are none into an error about the record."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(f"this is not a record of an agent: {error!r}") from None


def _check_side(side: SideInformation, expected: str) -> None:
    if fingerprint(side) != expected:
        raise InvalidInput(
            "this is not the side information that the record was made with; give the same one, built in the "
            "same way"
        )


def _replay(agent: Agent, event: dict[str, Any], sides: list[SideInformation], line: int) -> None:
    kind = event["event"]
    if kind == "ask":
        decision = agent.ask(allowed=_allowed(agent, event))
        if (decision.number, decision.arm) != (event["number"], event["arm"]):
            raise InvalidFile(
                f"event {line} of the record is decision {event['number']} for arm {event['arm']}, and here "
                f"it is decision {decision.number} for arm {decision.arm}; was it changed, or written by two?"
            )
    elif kind == "tell":
        agent.tell(event["number"], event["reward"])
    elif kind == "observe":
        agent.observe(agent.side.label(event["arm"]), event["reward"])
    elif kind == "cancel":
        agent.cancel(event["number"])
    elif kind == "cancel_before":
        agent.cancel_before(event["number"])
    elif kind == "extend":
        if not sides:
            raise InvalidInput("the record extends the agent with side information that was not given")
        side = sides.pop(0)
        _check_side(with_known_epsilon(side, agent.side.epsilon), event["side"])
        agent.extend(side)
    else:
        raise InvalidFile(f"event {line} of the record is of an unknown kind: {kind!r}")


def _allowed(agent: Agent, event: dict[str, Any]) -> NDArray[np.bool_] | None:
    """Return the mask of an ask again."""
    if "allowed" not in event and "excluded" not in event:
        return None
    flags = np.full(agent.side.n_arms, "excluded" in event)
    flags[event.get("allowed", event.get("excluded"))] = "allowed" in event
    return flags
