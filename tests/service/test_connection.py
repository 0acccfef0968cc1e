"""Decisions that connections answer themselves: as all others are, whatever clients do."""

from __future__ import annotations

import asyncio
import json
import socket
from threading import Event, current_thread
from unittest.mock import AsyncMock, Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

import lsdt
from lsdt.agent import extension
from lsdt.service.connection import DecisionConnection, protocol_of
from lsdt.service.decisions import Answer, DecisionPath
from lsdt.service.hosting import HostedExperiment
from lsdt.service.server import in_background
from lsdt.storage.memory import MemoryStore

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
    def has_more(self):
        return self._file.peek(1) != b""

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
    """What was decided without a task of its own, as it comes."""
    seen, plain = [], DecisionPath.answer

    async def answer(self, scope, head, body, name, what):
        if isinstance(body, bytes):  # else it came through ASGI
            seen.append(what)
        return await plain(self, scope, head, body, name, what)

    monkeypatch.setattr(DecisionPath, "answer", answer)
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
    assert taken == ["ask", "tell"] * 3 + ["observe"]


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
            if status == 200:  # two decisions, perhaps of arms with longer and shorter names
                assert int(headers.pop("content-length")) == len(answer)
                answer = [sorted(decision) for decision in json.loads(answer).get("decisions", [])]
            found.append((status, headers, answer))
    assert found[0] == found[1]
    assert len(taken) == (body != b" " * 10_001)


def test_a_path_that_has_to_be_decoded_takes_the_other_way(url, taken):
    with Line(url) as line:
        line.send(request("/v1/experiments/food/ask", {}))
        assert line.answer()[0] == 404
        line.send(request(f"{PATH}/ask?x=1", {}), request(f"{PATH}/%61sk", {}))
        assert [line.answer()[0], line.answer()[0]] == [200, 200]
    assert taken == ["ask"]  # of an experiment that may be somewhere else


def test_repeats(url, taken):
    """Both ways: a body in chunks goes through ASGI."""
    key = b"idempotency-key: "
    with Line(url) as line:
        found = []
        for chunked in (False, True, False):
            line.send(request(f"{PATH}/ask", {}, key + b"one", chunked=chunked))
            found.append(line.answer())
        assert [body for _, _, body in found] == [found[0][2]] * 3
        assert ["idempotent-replayed" in headers for _, headers, _ in found] == [False, True, True]
        line.send(request(f"{PATH}/observe", {"arm": "tea", "reward": 1}, key + b"one"))
        assert line.answer()[2] == b'{"learned":1}'  # another call
        for chunked in (False, True):
            line.send(request(f"{PATH}/ask", {"n": 2}, key + b"one", chunked=chunked))
            status, _, body = line.answer()
            assert (status, b"'one' was used for another" in body) == (422, True)
            for other, expected in ((b"", 400), (b"k" * 201, 400), (b"k" * 200, 200)):
                line.send(request(f"{PATH}/ask", {}, key + other, chunked=chunked))
                assert line.answer()[0] == expected
    assert taken == ["ask"] * 2 + ["observe"] + ["ask"] * 4


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
    for more in (
        request(f"{PATH}/ask", {}, b"connection: close"),
        request(f"{PATH}/ask", {}, version="1.0"),
        request(f"{PATH}/ask", {}, b"connection: keep-alive", version="1.0"),
    ):
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


def test_whoever_ends_his_side_is_answered(url):
    for sent in (request(f"{PATH}/ask", {}), request(f"{PATH}/ask", {}, chunked=True)):
        with Line(url) as line:
            line.send(sent)
            line.socket.shutdown(socket.SHUT_WR)
            assert line.answer()[0] == 200
            assert line.is_ended
    with Line(url) as line:
        line.send(request(f"{PATH}/ask", {})[:-1])
        line.socket.shutdown(socket.SHUT_WR)
        assert line.is_ended


def test_an_error_is_not_taken_for_the_answer_to_what_came_before_it(url):
    with Line(url) as line:
        line.send(request(f"{PATH}/ask", {}) + b"nonsense\r\n\r\n")
        status, headers, body = line.answer()
        assert (status, headers["connection"], b"decisions" in body) == (200, "close", True)
        assert line.is_ended
    for before in (b"", request(f"{PATH}/ask", {}), request("/healthz", b"", method="GET")):
        with Line(url) as line:
            if before:
                line.send(before)
                line.answer()
            line.send(b"nonsense\r\n\r\n")
            assert line.answer()[0] == 400
            assert line.is_ended


@pytest.mark.parametrize("chunked", [False, True])
def test_a_wish_for_another_protocol_is_passed_over(url, chunked):
    """Java's client has it in every request; the body must not go with it."""
    wish = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAEAAEAA")
    asked = request(f"{PATH}/ask", {"n": 2}, *wish, chunked=chunked)
    with Line(url) as line:
        line.send(asked + asked, *(asked[at : at + 1] for at in range(len(asked))))
        for _ in range(3):
            status, _, body = line.answer()
            assert (status, len(json.loads(body)["decisions"])) == (200, 2)
        line.send(request("/healthz", b"", *wish, method="GET"))
        assert line.answer()[0] == 200
        line.send(b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert line.answer()[0] == 400
        assert line.is_ended


def test_another_method(url):
    with Line(url) as line:
        for method in ("GET", "PUT"):
            line.send(request(f"{PATH}/ask", b"", method=method))
            status, headers, body = line.answer()
            assert (status, headers["allow"]) == (405, "POST")
            assert f"does not take {method}" in json.loads(body)["detail"]


SHORT, SHORT_CHUNKED = (request(f"{PATH}/ask", b"{}", chunked=chunked) for chunked in (False, True))


def with_head(size, *headers, body=b"{}", chunked=False):
    """A request whose head has exactly so many bytes."""
    filled = request(f"{PATH}/ask", body, b"x: ", *headers, chunked=chunked)
    missing = size - filled.index(b"\r\n\r\n") - 4
    return filled.replace(b"x: ", b"x: " + b"a" * missing, 1)


def ways_to_come(data):
    """Parts in which bytes may come: all at once, cut anywhere in the end of the last head, in reads."""
    end = data.index(b"\r\n\r\n", len(data) // 2)
    yield [data]
    for cut in (1, len(data) // 2, end, end + 1, end + 2, end + 3, end + 4, len(data) - 1):
        yield [data[:cut], data[cut:]]
    yield [data[at : at + 1_000] for at in range(0, len(data), 1_000)]


def served(parts):
    """Let parts come in one after the other; return how many requests were served, and the transport."""
    transport = Mock(get_extra_info=Mock(return_value=None))
    transport.is_closing.return_value = False
    transport.close.side_effect = lambda: transport.is_closing.configure_mock(return_value=True)
    asked = []

    async def app(scope, receive, send):
        asked.append(scope["path"])
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    async def answer(*words):
        asked.append(words)
        return Answer(200, b"{}", "application/json", {})

    async def run():
        config = uvicorn.Config(app, log_config=None)
        made = protocol_of(Mock(answer=answer), 10_000, 30.0)
        connection = made(config, ServerState(), {}, asyncio.get_running_loop())
        connection.connection_made(transport)
        for part in parts:
            connection.data_received(part)
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        connection.connection_lost(None)

    asyncio.run(run())
    return len(asked), transport


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("before", [b"", SHORT, SHORT_CHUNKED], ids=["first", "second", "behind chunks"])
def test_heads_have_at_most_64_kib_however_they_come(chunked, before):
    """Exactly 65,536 bytes pass, one more is refused, and nothing of that request reaches the service."""
    for size, expected in ((2**16, 1), (2**16 + 1, 0), (66_000, 0), (200_000, 0)):
        data = before + with_head(size, chunked=chunked)
        for parts in ways_to_come(data):
            n_served, transport = served(parts)
            assert n_served == expected + bool(before), (size, len(parts), [len(part) for part in parts[:2]])
            written = b"".join(each.args[0] for each in transport.write.call_args_list)
            if before:  # its answer comes first, and the connection may be closed behind it
                assert b" 431 " not in written or written.startswith(b"HTTP/1.1 200")
            else:
                assert written.startswith(b"HTTP/1.1 200" if expected else b"HTTP/1.1 431")


def test_the_limit_is_of_each_head_and_not_of_what_comes_at_once():
    many = with_head(60_000) * 5 + request(f"{PATH}/ask", b"[" * 9_000) + with_head(2**16)
    assert served([many])[0] == 7
    assert served([many + with_head(2**16 + 1)])[0] == 7
    assert served([b"\r\n\r\n" + with_head(2**16 - 4)])[0] == 1
    wish = b"Connection: Upgrade", b"Upgrade: h2c"
    assert [served([with_head(size, *wish)])[0] for size in (2**16, 2**16 + 1)] == [1, 0]
    single = with_head(2**16 + 1)
    assert served([single[at : at + 1] for at in range(len(single) - 3)])[0] == 0


def test_bodies_in_chunks_have_no_head_and_what_follows_them_is_no_header(url):
    with Line(url) as line:
        chunk = b"%x\r\n%s\r\n" % (80_000, b'["\r\r\n\r"]' * 10_000)
        begin = request("/v1/experiments", b"", chunked=True)[: -len(b"0\r\n\r\n")]
        line.send(begin, chunk, chunk, b"0\r\norigin: http://evil.example\r\n\r\n")
        status, _, body = line.answer()
        assert (status, b"the body is not" in body) == (422, True)  # the origin was not looked at
    behind = begin + b"2\r\n{}\r\n0\r\n" + b"a: b\r\n" * 25_000
    for parts in ([behind], [behind[at : at + 1_000] for at in range(0, len(behind), 1_000)]):
        _, transport = served(parts)
        assert b" 431 " in transport.write.call_args_list[0].args[0]


def test_what_is_written_to_a_client_that_is_gone_is_dropped():
    """uvloop raises an error for it, and uvicorn is told of the end only later."""
    transport, gone = Mock(get_extra_info=Mock(return_value=None)), []
    transport.is_closing.side_effect = lambda: bool(gone)

    async def app(scope, receive, send):
        gone.append(True)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"news", "more_body": True})

    async def run():
        config = uvicorn.Config(app, log_config=None)
        connection = protocol_of(None, 10_000, 30.0)(config, ServerState(), {}, asyncio.get_running_loop())
        connection.connection_made(transport)
        connection.data_received(request("/stream", b"", method="GET"))
        for _ in range(10):
            await asyncio.sleep(0)
        connection.connection_lost(None)

    asyncio.run(run())
    assert gone
    assert not transport.write.called


@pytest.mark.parametrize("part", [b"a" * 1_000, b"a: b\r\n" * 100], ids=["one", "many"])
def test_a_head_without_end(url, part):
    with Line(url) as line:
        line.send(request(f"{PATH}/ask", {}))
        assert line.answer()[0] == 200
        begin = b"GET /healthz HTTP/1.1\r\nx: y\r\n"
        line.send(begin, *[part] * ((2**16 - len(begin)) // len(part) + 1))  # with the last it is too long
        assert line.answer()[0] == 431
        assert line.is_ended


def test_requests_behind_others_have_an_end(url):
    """What is not answered was not decided either."""

    def n_decisions():
        with Line(url) as line:
            line.send(request(PATH, b"", method="GET"))
            return json.loads(line.answer()[2])["decisions"]

    before = n_decisions()
    with Line(url) as line:
        line.send(request(f"{PATH}/ask", {}) * 300)
        n = 0
        while line.has_more:
            assert line.answer()[0] == 200
            n += 1
    assert n_decisions() - before == n < 300


class Clock:
    """A loop's clock, which stands still; and its one timer."""

    def __init__(self):
        self.now, self.timer = 0.0, None

    def time(self):
        return self.now

    def create_task(self, work):
        with pytest.raises(StopIteration):
            work.send(None)  # it waits for nothing
        return Mock()

    def call_later(self, seconds, what):
        self.timer = self.now + seconds, what
        return Mock()

    def pass_until(self, time):
        while self.timer is not None and self.timer[0] <= time:
            (self.now, what), self.timer = self.timer, None
            what()
        self.now = time


@pytest.fixture
def slow(monkeypatch):
    """A connection with a patience of 30 seconds and 5 between requests, its transport, and its clock."""
    clock, transport = Clock(), Mock(get_extra_info=Mock(return_value=None))
    transport.is_closing.return_value = False
    transport.close.side_effect = lambda: transport.is_closing.configure_mock(return_value=True)
    decisions = Mock(answer=AsyncMock(return_value=Answer(200, b"{}", "application/json", {})))
    config = uvicorn.Config(Mock(), timeout_keep_alive=5)
    connection = protocol_of(decisions, 100, 30.0)(config, ServerState(), {}, clock)
    connection.connection_made(transport)
    return connection, transport, clock


def test_patience_with_a_head(slow):
    connection, transport, clock = slow
    for time in range(29):  # a byte a second
        clock.pass_until(time)
        connection.data_received(b"POST /v1/experiments/drinks/ask HTTP/1.1"[time : time + 1])
    clock.pass_until(29.9)
    assert not transport.close.called
    clock.pass_until(30.0)
    assert transport.close.called
    assert transport.write.call_args[0][0].startswith(b"HTTP/1.1 408")


def test_patience_with_a_body_and_between_requests(slow):
    connection, transport, clock = slow
    connection.data_received(request(f"{PATH}/ask", {"n": 2})[:-8])
    for time in (25, 50, 75):
        clock.pass_until(time)
        connection.data_received(b" ")
    clock.pass_until(104)
    assert not transport.write.called
    connection.data_received(b'{"n":')
    assert transport.write.call_args[0][0].startswith(b"HTTP/1.1 200")
    clock.pass_until(108.9)
    assert not transport.close.called
    clock.pass_until(109.0)  # five seconds after the answer
    assert transport.close.called
    assert transport.write.call_count == 1


def test_patience_with_who_says_nothing(slow):
    _, transport, clock = slow
    clock.pass_until(29.9)
    assert not transport.close.called
    clock.pass_until(30.1)
    assert (transport.close.called, transport.write.called) == (True, False)


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


def test_a_long_change_does_not_hold_up_the_rest(monkeypatch):
    """Decisions that wait for a commit are written down before a thread takes the agent for itself."""
    began, gate, change = Event(), Event(), Event()
    commit, with_missing = MemoryStore.commit, extension.with_missing

    def slow_commit(self):
        if current_thread().name.startswith("lsdt-commit") and not began.is_set():
            began.set()
            gate.wait(60)
        commit(self)

    def slow_change(*words):
        change.wait(60)
        return with_missing(*words)

    with in_background() as url:
        with Line(url) as line:
            line.send(
                request("/v1/experiments", {"name": "drinks", "arms": ["tea", "juice"], "policy": "ts"})
            )
            assert line.answer()[0] == 201
        monkeypatch.setattr(MemoryStore, "commit", slow_commit)
        monkeypatch.setattr(extension, "with_missing", slow_change)
        with Line(url) as first, Line(url) as second, Line(url) as third, Line(url) as fourth:
            first.send(request(f"{PATH}/ask", {}))
            assert began.wait(60)
            second.send(request(f"{PATH}/ask", {}))
            third.send(request(f"{PATH}/extend", {"arms": ["milk"]}))
            status = 422
            while status == 422:  # until the change has begun
                fourth.send(request(f"{PATH}/ask", {"n": "nonsense"}))
                status = fourth.answer()[0]
            assert status == 503
            change.wait(0.1)  # let a thread take the agent, if it will
            gate.set()
            assert (first.answer()[0], second.answer()[0]) == (200, 200)
            fourth.send(request("/healthz", b"", method="GET"))
            assert fourth.answer()[0] == 200
            change.set()
            assert third.answer()[0] == 200


def test_an_error_of_ours_is_one_answer(url, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    with Line(url) as line:
        monkeypatch.setattr(HostedExperiment, "ask", fail)
        line.send(request(f"{PATH}/ask", {}))
        status, _, body = line.answer()
        assert (status, json.loads(body)["title"]) == (500, "InternalError")
        monkeypatch.undo()
        line.send(request(f"{PATH}/ask", {}))
        assert line.answer()[0] == 200
