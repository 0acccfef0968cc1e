"""Answers, and errors as problem+json with the texts that Python has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lsdt.errors import LostDecision, LsdtError, StoreFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON = "application/json"
PROBLEM = "application/problem+json"
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers send forms with an Origin of null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}
INTERNAL = "an error of lsdt itself; the log of the service has it"
_ENCODER = msgspec.json.Encoder()


class Refused(Exception):
    """A request that is answered with an error of HTTP's own.

    Parameters
    ----------
    status : int
        Of HTTP.
    detail : str
        What is wrong, and what to do.
    headers : mapping, optional
        More headers of the answer.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})


def encode(value: Any) -> bytes:
    """Return a value as JSON; what is not a number is null."""
    return _ENCODER.encode(value)


def problem(error: BaseException) -> tuple[int, bytes, dict[str, str]]:
    """Return status, body and headers of the answer to a request that failed.

    Examples
    --------
    >>> from lsdt.errors import InvalidInput
    >>> from lsdt.service.answers import problem
    >>> problem(InvalidInput("no such arm"))[:2]
    (422, b'{"type":"about:blank","title":"InvalidInput","status":422,"detail":"no such arm"}')
    """
    status, headers = 500, {}
    title, detail = "InternalError", INTERNAL
    more: dict[str, Any] = {}
    if isinstance(error, Refused):
        status, detail, headers = error.status, error.detail, error.headers
        title = _TITLES.get(status, "Refused")
    elif isinstance(error, LsdtError):
        status, detail, title = error.http_status, str(error), type(error).__name__
        conflict = getattr(error, "conflict", None)
        if conflict is not None:
            more["conflict"] = {"arms": list(conflict.arms), "kind": getattr(conflict, "kind", None)}
    if isinstance(error, LostDecision):
        more["decisions"] = error.decisions
    if isinstance(error, StoreFailed):
        headers = {"retry-after": "5"}
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return status, encode(body), headers


def wrong_method(method: str, path: str, headers: Mapping[str, str] | None = None) -> Refused:
    """Return the error for a method that a path does not take."""
    return Refused(405, f"{path} does not take {method}; /openapi.json lists what there is", headers)


_TITLES = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    413: "BodyTooLarge",
    415: "UnsupportedMediaType",
    422: "InvalidInput",
    429: "TooManyRequests",
    503: "Unavailable",
}
