"""The conditions of a service and its experiments that webhooks announce.

A condition is announced when it begins, again when its `mark` changes, and some also when they end.
Conditions are looked up, not recorded when they arise, so those that arose before a crash are found after it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt.errors import LsdtError
from lsdt.service import attention

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.service.stopping_forecast import Findings

TEST = "test"
# Types of events, with what they mean; docs/guides/service.md has the same table.
EVENTS = {
    "stopping.reached": "It is known which arm is the best, at a risk of 5%.",
    "attention.raised": "Something needs attention; `kind` says what.",
    "attention.cleared": "It has not been so for five minutes.",
    "relations.contradictory": "Relations contradict one another.",
    "relations.suspect": "Rewards contradict a relation.",
    "experiment.paused": "An experiment makes no decisions.",
    "experiment.stopped": "An experiment is over: every ask is answered with one arm.",
    "experiment.resumed": "It makes decisions again.",
    "experiment.failed": "An experiment cannot be opened.",
    "experiment.recovered": "It can be opened again.",
    TEST: "Somebody tries the webhook.",
}
_GRACE = 300.0  # seconds that something must be gone before it is cleared, so that what flickers is told once
_MOST_SUSPECTED = 2_000  # arms up to which suspects are looked for, as on the pages: 17 ms
_MOST_TOLD = 5  # relations, the strongest first
AT_ONCE = ("halt",)  # what `at_once` finds


class Condition(NamedTuple):
    """One condition of a service or an experiment.

    Attributes
    ----------
    type : str
        The type of the event that announces it.
    data : dict
        The event's data.
    mark : str
        If the one announced last had another mark, it is announced again.
    ends : str
        The type of the event that announces its end; empty for none.
    after : dict
        The data of that event, as far as they are known now.
    grace : float
        Seconds that it must be over before it counts as ended; None if it never does.
    """

    type: str
    data: dict[str, Any]
    mark: str = ""
    ends: str = ""
    after: Mapping[str, Any] = MappingProxyType({})
    grace: float | None = 0.0


Conditions = dict[str, Condition]


def of_whole_service(service: Service) -> Conditions:
    """Return the conditions of the whole service, by key."""
    found = {
        f"attention {each.kind}": _attention(each.kind, each.text) for each in attention.of_service(service)
    }
    for name, text in list(service.broken.items()):
        data = {"experiment": name, "text": f"The experiment {name!r} cannot be opened: {text}"}
        after = {"experiment": name, "text": f"The experiment {name!r} can be opened again."}
        found[f"failed {name}"] = Condition("experiment.failed", data, "", "experiment.recovered", after)
    return found


def at_once(hosted: HostedExperiment) -> Conditions:
    """Return the conditions of an experiment that can be read off at once."""
    halt, side = hosted.agent.halt, hosted.agent.side
    if halt is None:
        return {}
    arm = side.label(halt.arm) if halt.arm >= 0 else None
    text = f"{hosted.name} is {halt.text(side)}."
    data = {"experiment": hosted.name, "text": text, "arm": arm, "by": halt.by, "reason": halt.reason}
    mark = f"{halt.name} {halt.arm}"
    after = {"experiment": hosted.name}  # who resumes it, `at_its_end` says
    return {"halt": Condition(f"experiment.{halt.name}", data, mark, "experiment.resumed", after)}


def at_its_end(hosted: HostedExperiment) -> dict[str, dict[str, Any]]:
    """Return what else to say when conditions of an experiment end, by key."""
    signed = hosted.activity.resumed
    by = f"; resumed by {signed.by}" if signed.by else ""
    reason = f": {signed.reason}" if signed.reason else ""
    text = f"{hosted.name} makes decisions again{by}{reason}."
    return {"halt": {"text": text, "arm": None, "by": signed.by, "reason": signed.reason}}


def of_experiment(service: Service, hosted: HostedExperiment, findings: Findings) -> Conditions:
    """Return its other conditions; this takes milliseconds of the agent's time."""
    found: Conditions = {}
    name, side, forecast = hosted.name, hosted.agent.side, findings.forecast
    if forecast.known and forecast.arm is not None:
        best = side.show(side.index(forecast.arm))
        data = {
            "experiment": name,
            "text": f"{name}: {best} is within the tolerance of the best arm; {forecast.text}.",
            "arm": forecast.arm,
            "delta": 0.05,
            "evidence": forecast.evidence,
            "needed": forecast.needed,
        }
        found["stopping"] = Condition("stopping.reached", data, f"{side.n_arms} {forecast.arm}", grace=None)
    elsewhere = {each.kind for each in attention.of_service(service)} | {"paused", "stopped", "contradiction"}
    for each in attention.of_experiment(service, hosted, findings):
        if each.kind not in elsewhere:
            found.setdefault(f"attention {each.kind}", _attention(each.kind, each.text, name))
    if findings.conflict:
        data = {"experiment": name, "text": f"{name}: relations contradict one another: {findings.conflict}."}
        found["contradiction"] = Condition("relations.contradictory", data, findings.conflict, grace=_GRACE)
    return found | _suspects(hosted)


def _attention(kind: str, text: str, experiment: str | None = None) -> Condition:
    data = {"experiment": experiment, "kind": kind, "text": text}
    after = {"experiment": experiment, "kind": kind, "text": f"This is over: {text}"}
    return Condition("attention.raised", data, "", "attention.cleared", after, _GRACE)


def _suspects(hosted: HostedExperiment) -> Conditions:
    agent = hosted.agent
    if agent.side.n_arms > _MOST_SUSPECTED:
        return {}
    try:
        rows = agent.suspects().head(_MOST_TOLD).to_dict("records")
    except LsdtError:  # these rewards have no such test
        return {}
    found = {}
    for row in rows:
        a, b, relation = row["arm_a"], row["arm_b"], row["relation"]
        data = {
            "experiment": hosted.name,
            "text": f"{hosted.name}: rewards contradict the relation of {a} and {b} ({relation}).",
            "arms": [a, b],
            "relation": relation,
            "evidence": float(row["evidence"]),
        }
        found[f"suspect {relation} {a!r} {b!r}"] = Condition("relations.suspect", data, grace=_GRACE)
    return found
