"""The record of an agent: everything it was asked and told, as JSON lines or in a list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.agent.sides import fingerprint
from lsdt.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
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

    def ask(
        self, decision: Decision, flags: NDArray[np.bool_] | None, arms: NDArray[np.int64], propensity: bool
    ) -> None:
        """Write that an arm was asked for."""


class _Writing(Journal):
    def tell(self, number: int, reward: float) -> None:
        self.write({"event": "tell", "number": number, "reward": reward})

    def ask(
        self, decision: Decision, flags: NDArray[np.bool_] | None, arms: NDArray[np.int64], propensity: bool
    ) -> None:
        event: dict[str, Any] = {"event": "ask", "number": decision.number, "arm": decision.arm}
        if propensity:
            event["propensity"] = decision.propensity
        if flags is not None:
            event["allowed"] = arms[flags].tolist()
        self.write(event)


class ListJournal(_Writing):
    """Appends to a list."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._events = events

    def write(self, event: dict[str, Any]) -> None:
        """Write an event."""
        self._events.append(event)


class FileJournal(_Writing):
    """Appends to a file of JSON lines; each reaches the operating system before the agent goes on."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._file = path.open("a", buffering=1, encoding="utf-8")

    def write(self, event: dict[str, Any]) -> None:
        """Write an event."""
        self._file.write(json.dumps(event) + "\n")

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()


def opened(record: Any) -> Journal:
    """Return the journal that a user asks for."""
    if record is None:
        return Journal()
    if isinstance(record, list):
        return ListJournal(record)
    if isinstance(record, (str, Path)) or hasattr(record, "__fspath__"):
        return FileJournal(Path(record))
    raise InvalidInput(f"record must be the path of a file, or a list; got {type(record).__name__}")


def header(agent: Agent) -> dict[str, Any]:
    """Return the first event of a record."""
    from lsdt.agent.snapshots import model_as_data, policy_as_data

    return {
        "event": "begin",
        "format": FORMAT,
        "policy": policy_as_data(agent.policy),
        "rewards": model_as_data(agent.rewards),
        "horizon": agent.horizon,
        "seed": agent.seed,
        "side": fingerprint(agent.side),
    }


def _drop_torn_line(path: Path) -> None:
    """Cut off a last line that was not written to its end, so that the next one begins a line."""
    if not path.exists():
        return
    raw = path.read_bytes()
    if raw and not raw.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(raw.rfind(b"\n") + 1)


def _events(record: Any) -> list[dict[str, Any]]:
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


def rebuild(cls: type[Agent], record: Any, side: SideInformation, *later: SideInformation) -> Agent:
    """Return the agent that a record leads to; see `Agent.rebuild`."""
    from lsdt.agent.snapshots import model_of_data, policy_of_data

    events = _events(record)
    try:
        first = events[0]
        if first["event"] != "begin" or first["format"] != FORMAT:
            raise InvalidFile(f"a record begins with an event 'begin' of format {FORMAT}; got {first}")
        _check_side(side, first["side"])
        agent = cls.__new__(cls)
        policy, model = policy_of_data(first["policy"]), model_of_data(first["rewards"])
        agent._begin(side, policy, model, first["horizon"], first["seed"])
        sides = list(later)
        for line, event in enumerate(events[1:], start=2):
            _replay(agent, event, sides, line)
    except (KeyError, IndexError, TypeError) as error:
        raise InvalidFile(f"this is not a record of an agent: {error!r}") from None
    agent._journal = opened(record)
    return agent


def _check_side(side: SideInformation, expected: str) -> None:
    if fingerprint(side) != expected:
        raise InvalidInput(
            "this is not the side information that the record was made with; give the same one, built in the "
            "same way"
        )


def _replay(agent: Agent, event: dict[str, Any], sides: list[SideInformation], line: int) -> None:
    kind = event["event"]
    if kind == "ask":
        allowed = event.get("allowed")
        labels = None if allowed is None else _labels(agent, allowed)
        decision = agent.ask(allowed=labels, propensity="propensity" in event)
        if (decision.number, decision.arm) != (event["number"], event["arm"]):
            raise InvalidFile(
                f"event {line} of the record chose arm {event['arm']} and this version chooses {decision.arm}"
            )
    elif kind == "tell":
        agent.tell(event["number"], event["reward"])
    elif kind == "observe":
        agent.observe(agent.side.label(event["arm"]), event["reward"])
    elif kind == "cancel":
        agent.cancel(event["number"])
    elif kind == "extend":
        if not sides:
            raise InvalidInput("the record extends the agent with side information that was not given")
        _check_side(sides[0], event["side"])
        agent.extend(sides.pop(0))
    else:
        raise InvalidFile(f"event {line} of the record is of an unknown kind: {kind!r}")


def _labels(agent: Agent, arms: Sequence[int]) -> list[Any]:
    return [agent.side.label(arm) for arm in arms]
