"""The description of the API (OpenAPI 3.1), made of the messages."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from lsdt import __version__
from lsdt.service import messages

_REF = "#/components/schemas/{name}"
_ONE = "/v1/experiments/{name}"


class _Call(NamedTuple):
    method: str
    path: str
    name: str
    text: str
    takes: type | None
    gives: type | str
    status: int = 200
    query: tuple[tuple[str, Any], ...] = ()  # names, with a type or a schema


_CSV, PARQUET, SNAPSHOT = "text/csv", "application/vnd.apache.parquet", "application/octet-stream"
# Bodies that are files, beside those of JSON; and answers that are files, for those who accept them.
_FILES = {"createExperiment": (_CSV, PARQUET), "extend": (_CSV, PARQUET), "merge": (SNAPSHOT,)}
_ANSWERED_FILES = {"snapshot": SNAPSHOT, "listEvents": PARQUET}
_EMPTY = ("ask", "pause", "resume")  # may come without a body
# Options of an experiment whose body is a file: the names of a JSON body; objects are written as JSON.
_EXPIRY = {"type": "string", "examples": ['{"after": 3600, "reward": 0}']}
_SHARES = {"type": "string", "examples": ['{"control": 0.1}']}
OF_A_FILE: dict[str, Any] = {
    "name": "string", "log": "boolean", "policy": "string", "epsilon": "number", "rewards": "string",
    "horizon": "integer", "seed": "integer", "prior": "string", "prior_weight": "number",
    "forget": ["number", "string"], "floor": _SHARES, "holdout": _SHARES,
    "replace_within": ["number", "string"], "sticky": ["number", "string"], "tolerance": "number",
    "expiry": _EXPIRY,
}  # fmt: skip
_WHOLE = {"type": "integer", "minimum": 0}
_FROM_ONE: dict[str, Any] = {"type": "integer", "minimum": 1}
_TOP = {"anyOf": [_FROM_ONE, {"const": "all"}]}
_ORDER = {"type": "string", "enum": [way + word for way in ("", "-") for word in messages.ORDERS]}
_FORMAT = {"type": "string", "enum": list(messages.FORMATS)}
_WRONG = {
    "description": "What went wrong.",
    "content": {"application/problem+json": {"schema": {"$ref": _REF.format(name="ProblemDetails")}}},
}
_CALLS = (
    _Call("get", "/v1/experiments", "listExperiments", "All experiments.", None, messages.ExperimentList),
    _Call("post", "/v1/experiments", "createExperiment", "Begin an experiment.", messages.NewExperiment,
          messages.CreateResponse, 201, tuple(OF_A_FILE.items())),
    _Call("get", _ONE, "getExperiment", "One experiment.", None, messages.About),
    _Call("delete", _ONE, "deleteExperiment", "Remove it with its log.", None, messages.DoneResponse),
    _Call("post", f"{_ONE}/ask", "ask", "Ask which arm to play.", messages.AskRequest, messages.DecisionList),
    _Call("post", f"{_ONE}/tell", "tell", "Tell what decisions paid.", messages.TellRequest,
          messages.TellResponse),
    _Call("post", f"{_ONE}/observe", "observe", "Tell rewards without an ask.",
          messages.ObserveRequest,
          messages.ObserveResponse),
    _Call("post", f"{_ONE}/cancel", "cancel", "Give decisions up.", messages.CancelRequest,
          messages.CancelResponse),
    _Call("post", f"{_ONE}/extend", "extend", "Add arms and relations.", messages.ExtendRequest,
          messages.ExtendResponse),
    _Call("post", f"{_ONE}/retire", "retire", "Never choose an arm again.", messages.RetireRequest,
          messages.DoneResponse),
    _Call("post", f"{_ONE}/reinstate", "reinstate", "Bring a retired arm back.", messages.RetireRequest,
          messages.DoneResponse),
    _Call("post", f"{_ONE}/erase-unit", "eraseUnit", "Forget who a unit is.", messages.EraseRequest,
          messages.EraseResponse),
    _Call("post", f"{_ONE}/merge", "merge",
          "Learn what others were told: experiments by name, or a snapshot.", messages.MergeRequest,
          messages.MergeResponse),
    _Call("post", f"{_ONE}/pause", "pause", "Make no decisions until it goes on.", messages.PauseRequest,
          messages.DoneResponse),
    _Call("post", f"{_ONE}/stop", "stop", "Answer every ask with one arm.", messages.StopRequest,
          messages.DoneResponse),
    _Call("post", f"{_ONE}/resume", "resume", "Go on after a pause or a stop.", messages.PauseRequest,
          messages.DoneResponse),
    _Call("post", f"{_ONE}/tolerance", "setTolerance", "Set the tolerance of stopping.",
          messages.ToleranceRequest, messages.DoneResponse),
    _Call("post", f"{_ONE}/snapshot", "snapshot", "Keep a snapshot now.", None, messages.SnapshotResponse),
    _Call("get", f"{_ONE}/arms", "listArms", "The arms, all or a page of them.", None, messages.ArmPage, 200,
          (("search", "string"), ("order", _ORDER), ("offset", _WHOLE), ("limit", _WHOLE))),
    _Call("get", f"{_ONE}/best", "best", "The arm or arms to recommend.", None, messages.BestResponse, 200,
          (("n_runners_up", _WHOLE), ("top", _FROM_ONE))),
    _Call("get", _ONE + "/why/{arm}", "why", "Why an arm is in play or out.", None, messages.WhyResponse),
    _Call("get", f"{_ONE}/stopping", "stopping", "Whether the best arm, or the best several, are known.",
          None, messages.StoppingResponse, 200,
          (("delta", "number"), ("tolerance", "number"), ("top", _TOP))),
    _Call("get", f"{_ONE}/lift", "lift", "How much better arms are than a control.", None, messages.Lift, 200,
          (("control", "string"), ("risk", "number"))),
    _Call("get", f"{_ONE}/suspects", "suspects", "Relations that the rewards contradict.", None,
          messages.SuspectList, 200, (("risk", "number"),)),
    _Call("get", f"{_ONE}/drift", "drift", "Arms whose mean has changed.", None, messages.Drift, 200,
          (("risk", "number"),)),
    _Call("get", f"{_ONE}/events", "listEvents", "The log: JSON lines, or Parquet.", None,
          "application/x-ndjson", 200, (("after", _WHOLE), ("limit", _WHOLE), ("format", _FORMAT))),
    _Call("get", f"{_ONE}/stream", "stream", "What changes, as server-sent events.", None,
          "text/event-stream"),
    _Call("get", "/v1/keys", "listKeys", "The keys, without their secrets.", None, messages.KeyList),
    _Call("post", "/v1/keys", "addKey", "Make a key.", messages.NewKey, messages.AddedKey, 201),
    _Call("delete", "/v1/keys/{number}", "removeKey", "Take a key away.", None, messages.DoneResponse),
    _Call("get", "/v1/webhooks", "listWebhooks", "Who is told of events, and how that goes.", None,
          messages.WebhookList),
    _Call("post", "/v1/webhooks", "addWebhook", "Tell one more.", messages.NewWebhook, messages.AddedWebhook,
          201),
    _Call("delete", "/v1/webhooks/{number}", "removeWebhook", "Tell one no more.", None,
          messages.DoneResponse),
    _Call("post", "/v1/webhooks/{number}/test", "testWebhook", "Send a test message, once.", None,
          messages.WebhookTest),
    _Call("get", "/healthz", "healthz", "Whether the process answers.", None, messages.Health),
    _Call("get", "/readyz", "readyz", "Whether decisions can be kept.", None, messages.Health),
    _Call("get", "/metrics", "metrics", "Counters for Prometheus.", None, "text/plain"),
)  # fmt: skip


def description() -> dict[str, Any]:
    """Return the description of the API.

    Examples
    --------
    >>> from lsdt.service.openapi import description
    >>> sorted(description()["paths"]["/v1/experiments"])
    ['get', 'post']
    """
    types = {each for call in _CALLS for each in (call.takes, call.gives) if isinstance(each, type)}
    ordered = sorted({*types, messages.ProblemDetails}, key=lambda each: each.__name__)
    _, schemas = msgspec.json.schema_components(ordered, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for call in _CALLS:
        paths.setdefault(call.path, {})[call.method] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "lsdt",
            "version": __version__,
            "summary": "Decisions by bandits with side information, durable.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {}],
        "paths": paths,
        "components": {
            "schemas": _plain(schemas),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _plain(schema: Any) -> Any:
    """Return a schema that generators of clients understand, in which every array has `items`.

    Of tuples ``items: false`` is dropped, since their length already says that nothing follows.
    """
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _plain(each) for name, each in schema.items()}
    if made.get("type") == "array" and "items" not in made:
        made["items"] = {}
    if made.get("items") is False:
        del made["items"]
        first, *others = made["prefixItems"]
        if all(each == first for each in others):
            made["items"] = made.pop("prefixItems")[0]
    return made


def _operation(call: _Call) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": word.strip("{}"), "in": "path", "required": True, "schema": {"type": "string"}}
        for word in call.path.split("/")
        if word.startswith("{")
    ]
    where = {"description": "Where the body is a file."} if call.name == "createExperiment" else {}
    parameters += [
        {"name": name, "in": "query", "required": False, "schema": _schema(kind)} | where
        for name, kind in call.query
    ]
    if call.name in ("ask", "observe"):
        about = "The same request with the same key is answered the same, and happens once."
        key = {"name": "Idempotency-Key", "in": "header", "required": False, "description": about}
        parameters.append({**key, "schema": {"type": "string", "minLength": 1, "maxLength": 200}})
    answer: dict[str, Any] = {"description": call.text, "content": _content(call.gives)}
    if call.name in _ANSWERED_FILES:
        answer["content"] |= _file(_ANSWERED_FILES[call.name])
    if call.name in ("ask", "observe"):
        about = "There, and true, where this was the answer to an earlier request with the same key."
        answer["headers"] = {"Idempotent-Replayed": {"description": about, "schema": {"type": "string"}}}
    made: dict[str, Any] = {
        "operationId": call.name,
        "summary": call.text,
        "responses": {str(call.status): answer, "default": _WRONG},
    }
    if call.name == "readyz":
        made["responses"]["503"] = {"description": "They cannot.", "content": _content(messages.Health)}
    if parameters:
        made["parameters"] = parameters
    if call.takes is not None:
        content = _content(call.takes)
        for kind in _FILES.get(call.name, ()):
            content |= _file(kind)
        made["requestBody"] = {"required": call.name not in _EMPTY, "content": content}
    return made


def _file(kind: str) -> dict[str, Any]:
    """Return a file as content; OpenAPI 3.1 describes raw bytes by an empty schema.

    With a separate schema for the snapshot, openapi-python-client makes a client that does not compile.
    """
    return {kind: {"schema": {"type": "string"}} if kind.startswith("text/") else {}}


def _schema(kind: Any) -> dict[str, Any]:
    return kind if isinstance(kind, dict) else {"type": kind}


def _content(kind: type | str) -> dict[str, Any]:
    if isinstance(kind, str):
        return {kind: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": {"$ref": _REF.format(name=kind.__name__)}}}
