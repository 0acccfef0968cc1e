"""Decisions that connections answer themselves: as all others are, whatever clients do."""

from __future__ import annotations

import json
import socket

import pytest

import lsdt
from lsdt.service.connection import DecisionConnection
from lsdt.service.decisions import DecisionPath
from lsdt.service.hosting import Hosted
from lsdt.service.server import in_background

PATH = "/v1/experiments/drinks"


class Line:
    """One connection, to write and read bytes as they are."""

    def __init__(self, url):
        host, _, port = url.removeprefix("http://").rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self._file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self.socket.close()

    def send(self, *parts):
        for part in parts:
            self.socket.sendall(part)

    def answer(self):
        """Return status, headers and body of the next answer."""
        status = int(self._file.readline().split()[1])
        headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(": ")
            assert name not in headers
            headers[name] = value
        return status, headers, self._file.read(int(headers["content-length"]))

    @property
    def is_ended(self):
        return self._file.read(1) == b""


def request(path, body, *headers, chunked=False, method="POST", version="1.1"):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    length = b"transfer-encoding: chunked" if chunked else b"content-length: %d" % len(text)
    if chunked:
        text = (b"%x\r\n%s\r\n" % (len(text), text) if text else b"") + b"0\r\n\r\n"
    lines = [f"{method} {path} HTTP/{version}".encode(), b"host: localhost", length, *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + text


@pytest.fixture(scope="module")
def url():
    with in_background(decision_limit=10_000) as made:
        with lsdt.Client.open(made, "drinks", lsdt.SideInformation(2, arm_ids=["tea", "juice"])) as agent:
            agent.ask()
        yield made


@pytest.fixture
def taken(monkeypatch):
    """What was decided without a task, as it comes."""
    seen, plain = [], DecisionPath.start

    def start(self, scope, body, name, what, done):
        is_taken = plain(self, scope, body, name, what, done)
        seen.append((what, is_taken))
        return is_taken

    monkeypatch.setattr(DecisionPath, "start", start)
    return seen


def test_ask_and_tell_on_one_connection(url, taken):
    with Line(url) as line:
        for _ in range(3):
            line.send(request(f"{PATH}/ask", {}))
            status, _, body = line.answer()
            (decision,) = json.loads(body)["decisions"]
            assert (status, decision["arm"] in ("tea", "juice")) == (200, True)
            line.send(request(f"{PATH}/tell", {"decision": decision["id"], "reward": 1}))
            assert line.answer()[2] == b'{"learned":1,"repeated":0}'
        line.send(request(f"{PATH}/observe", {"arm": "tea", "reward": 0}))
        assert line.answer()[2] == b'{"learned":1}'
        line.send(request("/healthz", b"", method="GET"))  # all else on the same connection
        assert line.answer()[0] == 200
    assert taken == [("ask", True), ("tell", True)] * 3 + [("observe", True)]


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("ask", {}),
        ("ask", b""),
        ("ask", {"n": 3}),
        ("ask", b"{"),
        ("ask", {"n": "x"}),
        ("ask", {"n": 20_000}),
        ("ask", {"allowed": ["milk"]}),
        ("tell", {"decision": "x", "reward": 1}),
        ("tell", {"rewards": []}),
        ("observe", {"arm": "tea", "reward": "much"}),
        ("ask", b" " * 10_001),
    ],
)
def test_both_ways_answer_the_same(url, taken, what, body):
    found = []
    for chunked in (False, True):
        with Line(url) as line:
            line.send(request(f"{PATH}/{what}", body, chunked=chunked))
            status, headers, answer = line.answer()
            headers.pop("date")
            found.append((status, headers, answer if status != 200 else len(answer)))
    assert found[0] == found[1]
    assert len(taken) == (body != b" " * 10_001)


def test_what_has_to_be_waited_for_takes_the_other_way(url, taken):
    with Line(url) as line:
        key = b"idempotency-key: one"
        for _ in range(2):
            line.send(request(f"{PATH}/ask", {}, key))
        first, second = line.answer(), line.answer()
        assert first[2] == second[2]
        assert second[1]["idempotent-replayed"] == "true"
        line.send(request("/v1/experiments/food/ask", {}))
        assert line.answer()[0] == 404
        line.send(request(f"{PATH}/ask?x=1", {}), request(f"{PATH}/%61sk", {}))
        assert [line.answer()[0], line.answer()[0]] == [200, 200]
    assert taken[0] == ("ask", False)
    assert not any(is_taken for _, is_taken in taken)


def test_requests_that_come_in_pieces_or_all_at_once(url):
    asked = request(f"{PATH}/ask", {"n": 2})
    with Line(url) as line:
        line.send(*(asked[at : at + 1] for at in range(len(asked))))
        assert line.answer()[0] == 200
        line.send(asked + request("/healthz", b"", method="GET") + asked + asked)
        found = [line.answer() for _ in range(4)]
    assert [status for status, _, _ in found] == [200] * 4
    assert [b"decisions" in body for _, _, body in found] == [True, False, True, True]


def test_connections_that_end(url):
    for more in (request(f"{PATH}/ask", {}, b"connection: close"), request(f"{PATH}/ask", {}, version="1.0")):
        with Line(url) as line:
            line.send(more)
            assert line.answer()[1].get("connection", "close") == "close"  # older versions do not say it
            assert line.is_ended
    with Line(url) as line:
        line.send(request(f"{PATH}/ask", {}))  # and gone
    with Line(url) as line:
        line.send(request(f"{PATH}/ask", {}, b"expect: 100-continue"))
        assert line._file.readline() == b"HTTP/1.1 100 Continue\r\n"
        line._file.readline()
        assert line.answer()[0] == 200


def test_who_does_not_read_is_left_to_uvicorn(url, taken, monkeypatch):
    """It waits until answers are read before it sends more, so that they do not pile up."""
    plain = DecisionConnection.on_headers_complete

    def complete(self):
        self.flow.pause_writing()
        plain(self)
        self.flow.resume_writing()

    monkeypatch.setattr(DecisionConnection, "on_headers_complete", complete)
    with Line(url) as line:
        line.send(request(f"{PATH}/ask", {}))
        assert line.answer()[0] == 200
    assert taken == []


def test_an_error_of_ours_is_one_answer(url, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    with Line(url) as line:
        monkeypatch.setattr(Hosted, "ask", fail)
        line.send(request(f"{PATH}/ask", {}))
        status, _, body = line.answer()
        assert (status, json.loads(body)["title"]) == (500, "InternalError")
        monkeypatch.undo()
        line.send(request(f"{PATH}/ask", {}))
        assert line.answer()[0] == 200
