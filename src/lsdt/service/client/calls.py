"""The table of calls: where each goes, what it carries, how its answer is read, whether it may be repeated.

A test compares it with the OpenAPI description of the service.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, NoReturn, TypeVar, cast
from urllib.parse import quote

from lsdt import errors
from lsdt.agent import ArmEstimate, Blocked, Extension, Recommendation, TopRecommendation
from lsdt.errors import InvalidInput, LostDecision, LsdtError, StoreFailed
from lsdt.service.client.results import RemoteDecision, StoppingAnswer
from lsdt.service.decision_ids import parts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx
    import pandas as pd

T = TypeVar("T")
# Seconds, for calls in which the service finds candidates or reads a log: some 80 s with a million arms
# (docs/performance.md), on a slower machine a few times that.
_PATIENCE = 600.0


class Call(NamedTuple, Generic[T]):
    """A row of the table.

    Attributes
    ----------
    method, path : str
        The path has the names of values in braces.
    read : callable
        Turns an answer into what the user gets.
    query, body : tuple of str
        The names of values for the query, which leaves out None, and for a body of JSON.
    file, accept : str
        The media types of a body that is a file, and of an answer that is one.
    repeat : {'harmless', 'keyed', 'never'}
        Whether to send it again if the answer was lost. 'harmless': twice is as good as once. 'keyed': the
        service recognises a repeat by its idempotency key. 'never': only if it cannot have arrived.
    takes_long : bool
        Whether to wait longer than the timeout of the client.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    query: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    file: str = ""
    accept: str = ""
    repeat: Literal["harmless", "keyed", "never"] = "harmless"
    takes_long: bool = False

    def request(self, values: Mapping[str, Any], file: bytes | None = None) -> dict[str, Any]:
        """Return what httpx's `request` takes to make this call with these values."""
        kind, content = self.file, file
        if self.body and file is None:
            kind = "application/json"
            content = _json({word: values[word] for word in self.body if word in values})
        headers = {"content-type": kind, "accept": self.accept}
        if self.repeat == "keyed":
            headers["idempotency-key"] = secrets.token_hex(16)
        made = {
            "method": self.method,
            "url": re.sub(r"{(\w+)}", lambda word: quote(str(values[word[1]]), safe=""), self.path),
            "params": {word: _text(values[word]) for word in self.query if values.get(word) is not None},
            "headers": {word: text for word, text in headers.items() if text},
            "content": content,
        }
        return made | {"timeout": _PATIENCE} if self.takes_long else made

    def result(self, response: httpx.Response) -> T:
        """Return the content of an answer, or raise the exception that it describes."""
        return self.read(response) if response.is_success else _raise(response)


def _text(value: Any) -> str:
    return _json(value).decode() if isinstance(value, dict) else str(value)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, default=_scalar).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"this cannot be sent: {error}") from None


def _scalar(value: Any) -> Any:
    """Return a scalar of NumPy and the like as one of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


# -------------------------------------------------------------------- reading answers


def _raise(response: httpx.Response) -> NoReturn:
    """Raise the exception that the same call of an agent would have raised here."""
    title, detail, answer = "", f"the service answered {response.status_code}", {}
    try:
        answer = response.json()
        title, detail = str(answer["title"]), str(answer["detail"])
    except (ValueError, KeyError, TypeError):
        pass
    if title == "LostDecision":
        raise LostDecision(detail, answer.get("decisions", ()))
    kind = getattr(errors, title, None)
    if isinstance(kind, type) and issubclass(kind, LsdtError):
        raise kind(detail)
    if response.status_code == 429 or response.status_code >= 500:
        raise StoreFailed(detail)
    raise InvalidInput(detail)


def _nothing(_: httpx.Response) -> None:
    return None


def _content(response: httpx.Response) -> bytes:
    return response.content


def _fields(response: httpx.Response) -> dict[str, Any]:
    return cast("dict[str, Any]", response.json())


def _rows(field: str) -> Callable[[httpx.Response], list[dict[str, Any]]]:
    return lambda response: cast("list[dict[str, Any]]", response.json()[field])


def _number(field: str) -> Callable[[httpx.Response], int]:
    return lambda response: int(response.json()[field])


def _flag(field: str) -> Callable[[httpx.Response], bool]:
    return lambda response: bool(response.json()[field])


def _json_lines(response: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in response.text.splitlines() if line]


def _decisions(response: httpx.Response) -> list[RemoteDecision]:
    """Return decisions; their ids hold the numbers and the indices of the arms."""
    return [
        RemoteDecision(*parts(each["id"])[:2], each["arm"], each.get("propensity"), each["id"])
        for each in response.json()["decisions"]
    ]


def _told(response: httpx.Response) -> tuple[int, int]:
    answer = response.json()
    return answer["learned"], answer["repeated"]


def _extension(response: httpx.Response) -> Extension:
    return Extension(**response.json())


def _arms(response: httpx.Response) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(response.json()["arms"]).astype({"mean": float, "score": float, "title": object})
    titles = frame.pop("title")
    if titles.notna().any():
        frame.insert(1, "title", titles.where(titles.notna(), None))
    return frame


def _best(response: httpx.Response) -> Recommendation:
    answer = response.json()
    others = [ArmEstimate(**_estimate(each)) for each in answer.pop("runners_up")]
    return Recommendation(**_estimate(answer), runners_up=others)


def _best_top(response: httpx.Response) -> TopRecommendation:
    answer = response.json()
    others = [ArmEstimate(**_estimate(each)) for each in answer.pop("runners_up")]
    certainty, text = answer.pop("certainty"), answer.pop("text")
    return TopRecommendation([ArmEstimate(**_estimate(answer)), *others], certainty, text)


def _estimate(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an estimate; JSON has null for the infinite ends of an interval."""
    ends = {"anytime_low": -math.inf, "anytime_high": math.inf}
    open_ends = {key: end for key, end in ends.items() if answer[key] is None}
    return {"arm_id": answer.pop("arm")} | answer | open_ends


def _stopping(response: httpx.Response) -> StoppingAnswer:
    answer = response.json()
    evidence = math.inf if answer["evidence"] is None else answer["evidence"]
    named = {"arm_id": answer.pop("arm"), "arm_ids": answer.pop("arms")}
    return StoppingAnswer(**(answer | named | {"evidence": evidence}))


def _lift(response: httpx.Response) -> pd.DataFrame:
    import pandas as pd

    answer = response.json()
    frame = pd.DataFrame(answer["arms"], columns=["arm", "plays", "mean", "lift", "low", "high"])
    frame = frame.astype(dict.fromkeys(("mean", "lift", "low", "high"), float))
    control = answer["control"]
    frame.attrs["control"] = control | {"mean": math.nan if control["mean"] is None else control["mean"]}
    return frame


def _suspects(response: httpx.Response) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(response.json()["suspects"])


def _drift(response: httpx.Response) -> pd.DataFrame:
    import pandas as pd

    answer = response.json()
    columns = ["arm", "evidence", "plays_before", "mean_before", "plays_after", "mean_after"]
    frame = pd.DataFrame(answer["arms"], columns=columns)
    frame.attrs["blocked"] = [Blocked(**each) for each in answer["blocked"]]
    return frame


# -------------------------------------------------------------------- the table

_ALL, _ONE, _KEYS = "/v1/experiments", "/v1/experiments/{name}", "/v1/keys"
_WEBHOOKS = "/v1/webhooks"
_PARQUET, _SNAPSHOT = "application/vnd.apache.parquet", "application/octet-stream"
OPTIONS = (
    "policy", "epsilon", "rewards", "horizon", "seed", "prior", "prior_weight", "forget", "floor",
    "holdout", "replace_within", "sticky", "tolerance", "expiry",
)  # fmt: skip

# fmt: off
EXPERIMENTS = Call("GET", _ALL, _rows("experiments"))
CREATE = Call("POST", _ALL, _nothing, ("name", *OPTIONS), file=_PARQUET, repeat="never", takes_long=True)
ABOUT = Call("GET", _ONE, _fields)
DELETE = Call("DELETE", _ONE, _nothing, repeat="never", takes_long=True)
ASK = Call("POST", f"{_ONE}/ask", _decisions, body=("n", "allowed", "propensity", "distinct", "unit"),
           repeat="keyed")
TELL = Call("POST", f"{_ONE}/tell", _told, body=("rewards", "repeat"))
OBSERVE = Call("POST", f"{_ONE}/observe", _nothing, body=("arm", "reward"), repeat="keyed")
CANCEL = Call("POST", f"{_ONE}/cancel", _number("cancelled"), body=("decision", "decisions", "before"),
              repeat="never")
EXTEND = Call("POST", f"{_ONE}/extend", _extension, file=_PARQUET, repeat="never", takes_long=True)
RETIRE = Call("POST", f"{_ONE}/retire", _nothing, body=("arm", "reason"))
REINSTATE = Call("POST", f"{_ONE}/reinstate", _nothing, body=("arm", "reason"))
ERASE_UNIT = Call("POST", f"{_ONE}/erase-unit", _flag("erased"), body=("unit",))
MERGE = Call("POST", f"{_ONE}/merge", _number("learned"), body=("experiments",), file=_SNAPSHOT,
             repeat="never", takes_long=True)
PAUSE = Call("POST", f"{_ONE}/pause", _nothing, body=("reason",))
STOP = Call("POST", f"{_ONE}/stop", _nothing, body=("arm", "reason"))
RESUME = Call("POST", f"{_ONE}/resume", _nothing, body=("reason",))
SET_TOLERANCE = Call("POST", f"{_ONE}/tolerance", _nothing, body=("tolerance", "reason"))
SNAPSHOT = Call("POST", f"{_ONE}/snapshot", _content, accept=_SNAPSHOT)
ARMS = Call("GET", f"{_ONE}/arms", _arms)
BEST = Call("GET", f"{_ONE}/best", _best, ("n_runners_up", "top"))
BEST_TOP = Call("GET", f"{_ONE}/best", _best_top, ("n_runners_up", "top"))
WHY = Call("GET", f"{_ONE}/why/{{arm}}", _fields)
STOPPING = Call("GET", f"{_ONE}/stopping", _stopping, ("delta", "tolerance", "top"))
LIFT = Call("GET", f"{_ONE}/lift", _lift, ("control", "risk"))
SUSPECTS = Call("GET", f"{_ONE}/suspects", _suspects, ("risk",))
DRIFT = Call("GET", f"{_ONE}/drift", _drift, ("risk",))
EVENTS = Call("GET", f"{_ONE}/events", _json_lines, ("after", "limit"))
KEYS = Call("GET", _KEYS, _rows("keys"))
ADD_KEY = Call("POST", _KEYS, _fields, body=("role", "experiment", "rate", "name"), repeat="never")
REMOVE_KEY = Call("DELETE", f"{_KEYS}/{{number}}", _nothing, repeat="never")
WEBHOOKS = Call("GET", _WEBHOOKS, _rows("webhooks"))
ADD_WEBHOOK = Call("POST", _WEBHOOKS, _fields, body=("url", "experiment", "events"), repeat="never")
REMOVE_WEBHOOK = Call("DELETE", f"{_WEBHOOKS}/{{number}}", _nothing, repeat="never")
TEST_WEBHOOK = Call("POST", f"{_WEBHOOKS}/{{number}}/test", _fields, repeat="never")
# fmt: on
