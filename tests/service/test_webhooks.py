"""Webhooks, with a receiver on this machine that answers well, badly, late or not at all."""

from __future__ import annotations

import hmac
import json
import re
import socket
import threading
import time
from base64 import b64decode, b64encode
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

import lsdt
from lsdt.agent import insert_batch
from lsdt.cli.main import main
from lsdt.errors import InvalidInput
from lsdt.service.hosting import Service
from lsdt.service.keys import add_key
from lsdt.service.messages import NewWebhook
from lsdt.service.server import in_background
from lsdt.service.settings import Settings
from lsdt.service.webhooks import Webhooks
from lsdt.service.webhooks.addresses import check_allowed, checked_origin, checked_url, forbidden
from lsdt.service.webhooks.conditions import EVENTS, Condition
from lsdt.service.webhooks.courier import Schedule
from lsdt.service.webhooks.outbox import QUEUE, Told
from lsdt.storage import open_store

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
QUICK = Schedule(patience=20.0, first_wait=0.02, attempts=4)


class Receiver:
    """A server that keeps what it is sent, and answers with `answers` in turn, the last one for ever."""

    def __init__(self, *answers):
        self.answers, self.got, self.changed = list(answers) or [200], [], threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with receiver.changed:
                    answer = receiver.answers[min(len(receiver.got), len(receiver.answers) - 1)]
                    receiver.got.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                    receiver.changed.notify_all()
                if callable(answer):
                    answer(self)
                else:
                    self.send_response(answer)
                    if 300 <= answer < 400:
                        self.send_header("location", f"{receiver.url}/elsewhere")
                    self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def wait(self, n, seconds=20.0):
        """Return the types of the first `n` messages, when they are here."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.got) >= n, seconds), self.got
        return self.types()

    def types(self):
        return [json.loads(body)["type"] for _, _, body in self.got]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def receiving(*answers):
    receiver = Receiver(*answers)
    try:
        yield receiver
    finally:
        receiver.close()


@contextmanager
def serving(store, *urls, schedule=QUICK, **more):
    """Give a service that no server runs, and its webhooks, which look when they are told to."""
    service = Service(Settings(store, webhooks=urls, webhook_secret=SECRET, **more))
    webhooks = service.webhooks = Webhooks(service, schedule)
    try:
        yield service, webhooks
    finally:
        webhooks.stop()
        service._close_store()


def decided(service, name="drinks"):
    """Make an experiment of which the best arm is known from its relations."""
    side = lsdt.SideInformation(2, better=[("tea", "coffee")], arm_ids=["tea", "coffee"])
    return service.make(name, side, {"policy": "ucb1", "epsilon": 0.1}, None)


def open_experiment(service, name="open"):
    return service.make(name, lsdt.SideInformation(3), {"policy": "ucb1"}, None)


def until(true, seconds=20.0):
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.005)


def verified(got):
    """Check a message as a receiver does, with the standard library alone; return its content."""
    _, headers, body = got
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 60
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = b64decode(SECRET.removeprefix("whsec_"))
    expected = "v1," + b64encode(hmac.digest(key, signed, "sha256")).decode()
    assert expected in headers["webhook-signature"].split(" ")
    content = json.loads(body)
    assert content["id"] == headers["webhook-id"]
    return content


def test_what_is_announced_is_signed_and_announced_once(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with receiving() as receiver:
        url = f"{receiver.url}/hook?team=shop"
        with serving(store, url) as (service, webhooks):
            hosted = decided(service)
            webhooks.look()
            receiver.wait(1)
            path, headers, _ = receiver.got[0]
            assert path == "/hook?team=shop"
            assert headers["content-type"] == "application/json"
            content = verified(receiver.got[0])
            assert content["type"] == "stopping.reached"
            assert content["data"]["experiment"] == "drinks"
            assert content["data"]["arm"] == "tea"
            assert "tea is within the tolerance of the best arm" in content["data"]["text"]
            hosted.agent.pause(reason="wrong prices", by="alice")
            webhooks.look()
            receiver.wait(2)
            paused = verified(receiver.got[1])["data"]
            assert (paused["by"], paused["reason"], paused["arm"]) == ("alice", "wrong prices", None)
            hosted.agent.stop("tea")
            webhooks.look()
            receiver.wait(3)
            hosted.agent.resume(reason="prices are right", by="bob")
            for _ in range(3):
                webhooks.look()
            told = ["stopping.reached", "experiment.paused", "experiment.stopped", "experiment.resumed"]
            assert receiver.wait(4) == told
            assert verified(receiver.got[3])["data"] == {
                "experiment": "drinks",
                "text": "drinks makes decisions again; resumed by bob: prices are right.",
                "arm": None,
                "by": "bob",
                "reason": "prices are right",
            }
            until(lambda: not service.store.recall(QUEUE))
        with serving(store, url) as (service, webhooks):
            webhooks.look()
            assert not service.store.recall(QUEUE)
        assert len(receiver.got) == 4
        assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 4


def test_a_message_survives_a_restart_and_keeps_its_id(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with receiving(500, 200) as receiver:
        with serving(store, receiver.url, schedule=Schedule(first_wait=600.0)) as (service, webhooks):
            decided(service)
            webhooks.look()
            receiver.wait(1)
        with serving(store, receiver.url) as (service, webhooks):
            webhooks.look()
            receiver.wait(2)
            until(lambda: not service.store.recall(QUEUE))
        first, second = receiver.got
        assert first[2] == second[2]
        assert verified(second)["id"] == json.loads(first[2])["id"]


def test_what_was_reached_before_a_crash_is_announced_after_it(tmp_path):
    """The service is gone before it has looked at what it answered."""
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with receiving() as receiver:
        with serving(store, receiver.url) as (service, _):
            hosted = decided(service)
            assert hosted.agent.stopping().stop
        with serving(store, receiver.url) as (_, webhooks):
            webhooks.look()
            assert receiver.wait(1) == ["stopping.reached"]


def test_a_changed_tolerance_is_noticed_at_once():
    """Nothing was asked or told meanwhile; without that an experiment is looked at once a minute."""
    with receiving() as receiver, serving("memory://", receiver.url) as (service, webhooks):
        side = lsdt.SideInformation(2, similar=[(0, 1)], epsilon=0.1)
        hosted = service.make("alike", side, {"policy": "ucb1", "tolerance": 0.0}, None)
        webhooks.look()
        assert not receiver.got
        webhooks._due = 0.0
        hosted.agent.set_tolerance(0.2)
        webhooks.look()
        assert receiver.wait(1) == ["stopping.reached"]


def garbage(handler):
    handler.wfile.write(b"220 smtp ready\r\n" * 3)
    handler.close_connection = True


def indented(handler):
    handler.wfile.write(b" HTTP/1.1 299 x\r\n\r\n")
    handler.close_connection = True


def endless(handler):
    with suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(2_000):
            handler.wfile.write(b"x-%d: y\r\n" % number)


def dripping(handler):
    with suppress(OSError):
        for letter in b"HTTP/1.1 200 OK\r\n" * 100:
            handler.wfile.write(bytes([letter]))
            handler.wfile.flush()
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (500, "status 500"),
        (404, "status 404"),
        (302, "status 302: redirects are not followed; give the final address"),
        (garbage, "the answer is not HTTP"),
        (indented, "the answer is not HTTP"),
        (endless, "the answer is not HTTP"),
        (dripping, "no answer within 0.3 seconds"),
        (lambda handler: handler.connection.close(), "closed without an answer"),
    ],
)
def test_what_fails_is_tried_again_with_the_same_id_until_it_is_given_up(answer, error):
    schedule = QUICK._replace(patience=0.3) if answer is dripping else QUICK
    with (
        receiving(answer) as receiver,
        serving("memory://", receiver.url, schedule=schedule) as (service, webhooks),
    ):
        decided(service)
        webhooks.look()
        receiver.wait(QUICK.attempts)
        until(lambda: webhooks.listed()[0].given_up == 1)
        (listed,) = webhooks.listed()
        assert (listed.failed, listed.delivered, listed.queued) == (QUICK.attempts, 0, 0)
        assert error in listed.last_error
        assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1
        assert {path for path, _, _ in receiver.got} == {"/"}  # not the address of the redirect
        assert not service.store.recall(QUEUE)


def test_a_receiver_that_is_dead_or_hangs_holds_nothing_up():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # takes connections, and never answers
        hangs = f"http://127.0.0.1:{silent.getsockname()[1]}"
        patient = Schedule(patience=3_600.0)
        with receiving() as receiver, serving("memory://", hangs, receiver.url, schedule=patient) as found:
            service, webhooks = found
            hosted = decided(service)
            webhooks.look()
            assert receiver.wait(1) == ["stopping.reached"]
            assert hosted.agent.ask().number >= 0
            until(lambda: [each.queued for each in webhooks.listed()] == [1, 0])
            webhooks.stop()  # does not wait for the receiver


def test_a_receiver_that_is_gone_is_sent_nothing_more(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with receiving(410) as receiver:
        more = {"webhook_origins": [receiver.url]}
        with serving(store, **more) as (service, webhooks):
            made = webhooks.add(NewWebhook(f"{receiver.url}/hook"))
            decided(service)
            webhooks.look()
            receiver.wait(1)
            until(lambda: webhooks.listed()[0].given_up == 1)
        with serving(store, **more) as (service, webhooks):
            hosted = service.hosted["drinks"]
            hosted.agent.pause()
            webhooks.look()
            (listed,) = webhooks.listed()
            assert listed.id == made.id
            assert "410" in listed.inactive
            assert not service.store.recall(QUEUE)
            with pytest.raises(InvalidInput, match="it answered 410"):
                webhooks.test(made.id)
        assert len(receiver.got) == 1


def test_a_full_queue_postpones_and_loses_nothing():
    gate = threading.Event()

    def slow(handler):
        gate.wait(20.0)
        handler.send_response(200)
        handler.end_headers()

    schedule = Schedule(patience=20.0, most_queued=2)
    with (
        receiving(slow) as receiver,
        serving("memory://", receiver.url, schedule=schedule) as (service, webhooks),
    ):
        for number in range(4):
            decided(service, f"drinks {number}")
        until(lambda: webhooks.look() or webhooks.n_postponed)
        assert len(service.store.recall(QUEUE)) == 2
        gate.set()
        until(lambda: webhooks.look() or len(receiver.got) == 4)
        told = [verified(got)["data"]["experiment"] for got in receiver.got]
        assert sorted(told) == [f"drinks {number}" for number in range(4)]


def test_a_store_that_failed_is_announced_all_the_same(tmp_path):
    with receiving() as receiver, serving(f"sqlite:///{tmp_path}/lsdt.db", receiver.url) as found:
        service, webhooks = found
        open_experiment(service)
        webhooks.look()
        service.commits.failure = "the disk is gone"
        for _ in range(3):
            webhooks.look()
        assert receiver.wait(1) == ["attention.raised"]
        data = verified(receiver.got[0])["data"]
        assert (data["kind"], data["experiment"]) == ("store", None)
        assert "the disk is gone" in data["text"]
        time.sleep(0.1)
        assert len(receiver.got) == 1
        service.commits.failure = ""


def test_experiments_that_cannot_be_opened_and_contradictions_are_announced():
    with receiving() as receiver, serving("memory://", receiver.url) as (service, webhooks):
        service.broken["films"] = "its log is damaged"
        side = lsdt.SideInformation(3, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)], epsilon=0.1)
        hosted = service.make("odd", side, {"policy": "ts"}, None)
        for _ in range(60):  # rewards that contradict that arms 0 and 1 are similar
            for arm, reward in ((0, 1.0), (1, 0.0), (2, 0.0)):
                hosted.agent.observe(arm, reward)
        webhooks.look()
        assert set(receiver.wait(3)) == {"experiment.failed", "relations.suspect", "stopping.reached"}
        told = {each["type"]: each["data"] for each in map(verified, receiver.got)}
        assert "its log is damaged" in told["experiment.failed"]["text"]
        assert told["relations.suspect"]["arms"] == [0, 1]
        del service.broken["films"]
        webhooks.look()
        assert receiver.wait(4)[3] == "experiment.recovered"
        text = "The experiment 'films' can be opened again."
        assert verified(receiver.got[3])["data"] == {"experiment": "films", "text": text}


def test_what_flickers_is_announced_once():
    with serving("memory://", "http://127.0.0.1:9") as (service, webhooks):
        (endpoint,) = webhooks.endpoints
        told = Told(endpoint, "service", service.store)
        data = {"experiment": None, "kind": "disk", "text": "low"}
        low = {"attention disk": Condition("attention.raised", data, "", "attention.cleared", data, 300.0)}

        def types(found, at):
            made, known = told.changes(found, at)
            assert told.write(service.store, made, known)
            return [json.loads(each.body)["type"] for each in made]

        assert types(low, 0.0) == ["attention.raised"]
        assert types({}, 10.0) == []
        assert types(low, 20.0) == []
        assert types({}, 30.0) == []
        assert types({}, 329.0) == []
        assert types({}, 331.0) == ["attention.cleared"]
        assert types(low, 340.0) == ["attention.raised"]


def test_the_guide_lists_every_type_of_event():
    guide = (Path(__file__).parent.parent.parent / "docs" / "guides" / "service.md").read_text()
    section = guide.partition("\n## Webhooks\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert [word for row in rows for word in re.findall("`(.*?)`", row)] == list(EVENTS)


def test_several_services_on_one_store_announce_once(postgresql_url):
    with (
        receiving() as receiver,
        serving(postgresql_url, receiver.url) as (first, one),
        serving(postgresql_url, receiver.url) as two,
    ):
        hosted = decided(first)
        second = two[1]
        one.look()
        second.look()
        assert receiver.wait(1) == ["stopping.reached"]
        until(lambda: not first.store.recall(QUEUE))
        one.stop()  # the other one takes over, and knows what was announced
        hosted.agent.pause()
        with first.store.transaction():
            insert_batch(hosted.agent.lease, hosted.agent.drain())
        two[0].open_at_start(two[0].store.find("drinks"))
        second.look()
        assert receiver.wait(2) == ["stopping.reached", "experiment.paused"]


# -------------------------------------------------------------------- where they may go


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example.com", "ftp://hooks.example.com/", "https://", "https://:443/", "file:///etc/passwd",
        "https://user:word@hooks.example.com/", "https://hooks.example.com@127.0.0.1/", "https://h/#x", "https://h/#",
        "https://h:0/", "https://h:99999/", "https://h:/", "https://h/a b", "https://h/a\r\nHost: x", "https://h\\@x/",
        "https://\u2460.example.com/", "https://[::1/", "https://h/\x00", "https://h/" + "x" * 3_000, 7, None,
    ],
)  # fmt: skip
def test_urls_that_are_refused(url):
    with pytest.raises(InvalidInput, match="this cannot be the URL of a webhook"):
        checked_url(url)


def test_over_http_only_the_operators_origins_can_be_added():
    origins = {checked_origin("https://hooks.example.com"), checked_origin("http://127.0.0.1:9000/")}
    for url in (
        "https://hooks.example.com/x",
        "https://HOOKS.example.com:443/y?z",
        "http://127.0.0.1:9000/a",
    ):
        check_allowed(checked_url(url), origins)
    for url in (
        "http://hooks.example.com/", "https://hooks.example.com:8443/", "https://hooks.example.com.evil.example/",
        "http://127.0.0.1:9001/", "http://localhost:9000/", "http://2130706433:9000/", "http://[::1]:9000/",
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="that the operator of the service allows"):
            check_allowed(checked_url(url), origins)
    with pytest.raises(InvalidInput, match="an origin is scheme, host and port"):
        checked_origin("https://hooks.example.com/path")


@pytest.mark.parametrize(
    ("address", "is_forbidden"),
    [
        ("169.254.169.254", True), ("::ffff:169.254.169.254", True), ("64:ff9b::a9fe:a9fe", True),
        ("2002:a9fe:a9fe::1", True), ("fe80::1%eth0", True), ("fd00:ec2::254", True),
        ("100.100.100.200", True),
        ("224.0.0.1", True), ("ff02::1", True), ("0.0.0.0", True), ("::", True), ("255.255.255.255", True),
        ("127.0.0.1", False), ("::1", False), ("10.0.0.7", False), ("192.0.2.7", False),
        ("2001:db8::7", False),
    ],
)  # fmt: skip
def test_addresses_that_no_receiver_has(address, is_forbidden):
    assert bool(forbidden(address)) == is_forbidden


def test_the_metadata_of_a_cloud_is_never_called(tmp_path):
    with serving("memory://", webhook_origins=["http://169.254.169.254"]) as (_, webhooks):
        made = webhooks.add(NewWebhook("http://169.254.169.254/latest/meta-data"))
        found = webhooks.test(made.id)
    assert not found.delivered
    assert found.status is None
    assert "a link-local address, where no webhook goes" in found.detail


def test_an_origin_that_is_no_longer_allowed_is_sent_nothing(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with receiving() as receiver:
        with serving(store, webhook_origins=[receiver.url]) as (_, webhooks):
            webhooks.add(NewWebhook(receiver.url))
        with serving(store) as (service, webhooks):
            decided(service)
            webhooks.look()
            (listed,) = webhooks.listed()
            assert "that the operator of the service allows" in listed.inactive
            assert not service.store.recall(QUEUE)
        assert not receiver.got


# -------------------------------------------------------------------- over HTTP


def test_webhooks_over_http(tmp_path):
    with receiving() as receiver:
        store = f"sqlite:///{tmp_path}/lsdt.db"
        with in_background(store, webhook_origins=[receiver.url]) as url, httpx.Client(base_url=url) as http:
            side = {
                "arms": ["tea", "coffee"],
                "better": [["tea", "coffee"]],
                "policy": "ucb1",
                "epsilon": 0.1,
            }
            for name in ("drinks", "films"):
                assert http.post("/v1/experiments", json=side | {"name": name}).status_code == 201
            new = {"url": f"{receiver.url}/T0/secret", "experiment": "drinks", "events": ["stopping.reached"]}
            made = http.post("/v1/webhooks", json=new).json()
            assert made["secret"].startswith("whsec_")
            assert receiver.wait(1) == ["stopping.reached"]
            found = http.post(f"/v1/webhooks/{made['id']}/test").json()
            assert found == {"delivered": True, "status": 200, "detail": ""}
            assert receiver.wait(2)[1] == "test"
            until(lambda: http.get("/v1/webhooks").json()["webhooks"][0]["delivered"] == 1)
            (listed,) = http.get("/v1/webhooks").json()["webhooks"]
            assert "secret" not in json.dumps(listed)
            assert (listed["url"], listed["experiment"]) == (f"{receiver.url}/…", "drinks")
            metrics = http.get("/metrics").text
            assert f'lsdt_webhook_messages_total{{webhook="{made["id"]}",outcome="delivered"}} 1' in metrics
            for body, detail in (
                (
                    {"url": "https://evil.example/"},
                    "start the service with --webhook-origin https://evil.example",
                ),
                ({"url": receiver.url, "experiment": "drink"}, "there is no experiment 'drink'"),
                ({"url": receiver.url, "events": ["stoping"]}, "events must be"),
            ):
                refused = http.post("/v1/webhooks", json=body)
                assert refused.status_code == 422
                assert detail in refused.json()["detail"]
            assert http.delete("/v1/experiments/drinks").status_code == 200
            assert http.get("/v1/webhooks").json() == {"webhooks": []}
        assert "films" not in json.dumps([body.decode() for _, _, body in receiver.got])


def test_only_an_admin_of_all_experiments_sees_and_sets_webhooks(tmp_path):
    store = f"sqlite:///{tmp_path}/lsdt.db"
    with serving(store) as (service, _):
        decided(service)
    with open_store(store) as opened:
        texts = [add_key(opened, "decide")[0], add_key(opened, "admin", "drinks")[0]]
        admin = add_key(opened, "admin")[0]
    with in_background(store) as url, httpx.Client(base_url=url) as http:
        for text, status in ((texts[0], 403), (texts[1], 403), (admin, 200)):
            headers = {"authorization": f"Bearer {text}"}
            assert http.get("/v1/webhooks", headers=headers).status_code == status
        assert http.get("/v1/webhooks").status_code == 401
        headers = {"authorization": f"Bearer {texts[1]}"}
        assert http.post("/v1/webhooks", json={"url": "https://x"}, headers=headers).status_code == 403
        assert "lsdt_webhook" not in http.get("/metrics", headers=headers).text


def test_what_is_wrong_on_the_command_line_is_said(monkeypatch, tmp_path, capsys):
    store = ["serve", "--store", f"sqlite:///{tmp_path}/lsdt.db", "--port", "0"]
    monkeypatch.delenv("LSDT_WEBHOOK_SECRET", raising=False)
    assert main([*store, "--webhook", "https://hooks.example.com"]) == 2
    assert "LSDT_WEBHOOK_SECRET" in capsys.readouterr().err
    monkeypatch.setenv("LSDT_WEBHOOK_SECRET", "whsec_short")
    assert main([*store, "--webhook", "https://hooks.example.com"]) == 2
    assert "24 to 64 random bytes in base64" in capsys.readouterr().err
    assert main([*store, "--webhook-origin", "https://hooks.example.com/x"]) == 2
    assert "an origin is scheme, host and port" in capsys.readouterr().err
    assert main([*store, "--read-only", "--webhook-origin", "https://hooks.example.com"]) == 2
    assert "a read-only service sends no webhooks" in capsys.readouterr().err
