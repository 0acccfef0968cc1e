"""What a page shows of a log: against the slow, obvious way, live and read back."""

from __future__ import annotations

import asyncio
import math
import random

import pytest

import lsdt
from agent.examples import Clock
from lsdt.service.hosting import Activity, Service
from lsdt.service.messages import AskRequest, Expiry
from lsdt.service.pages.view import overview
from lsdt.service.settings import Settings
from lsdt.storage import Event, Kind, open_store

CLICKS = 0.169
SIDE = lsdt.SideInformation(3, arm_ids=["tea", "coffee", "juice"], epsilon=0.1)


def naive_rate(events, is_late, n=200):
    """Return the mean of the last rewards: by the time of their ask up to the oldest open one, or as told."""
    asked, rewards, gone = {}, [], set()
    for at, event in enumerate(events):
        if event.kind == Kind.ASK:
            asked[event.number] = event.time
        elif event.kind in (Kind.TELL, Kind.EXPIRE, Kind.CANCEL):
            gone.add(event.number)
        if event.kind in (Kind.TELL, Kind.EXPIRE, Kind.OBSERVE) and event.reward is not None:
            is_decision = is_late and event.kind != Kind.OBSERVE
            rewards.append((asked[event.number] if is_decision else event.time, at, event.reward))
    still = [time for number, time in asked.items() if number not in gone]
    oldest = min(still) if still and is_late else math.inf
    last = [reward for time, _, reward in sorted(rewards) if time < oldest][-n:]
    return sum(last) / len(last) if last else None


def story(seed, n=1_500):
    """Return events as they may happen: clicks soon, zeros late and in bursts, some cancelled or observed."""
    draw, time, number, pending, events = random.Random(seed), 0, 0, {}, []
    while len(events) < n:
        time += draw.randint(1, 20)
        turn = draw.random()
        if turn < 0.75:
            events.append(Event(Kind.ASK, time, number, draw.randrange(3)))
            pending[number] = time
            if draw.random() < CLICKS:
                time += 1
                events.append(Event(Kind.TELL, time, number, 0, 1.0))
                del pending[number]
            number += 1
        elif turn < 0.8:
            events.append(Event(Kind.OBSERVE, time, -1, 1, float(draw.random() < 0.5)))
        elif turn < 0.82 and pending:
            gone = draw.choice(list(pending))
            events.append(Event(Kind.CANCEL, time, gone, 0))
            del pending[gone]
        elif turn < 0.84:
            for old in [each for each, asked in pending.items() if asked < time - 1_000]:
                events.append(Event(Kind.EXPIRE, time, old, 0, 0.0))
                del pending[old]
    return events


@pytest.mark.parametrize("expiry", [Expiry(1e-3, 0.0), Expiry(1e-3), None])
def test_the_rate_is_that_of_the_obvious_count(expiry):
    is_late = expiry is not None and expiry.reward is not None
    for seed in range(5):
        seen, events = Activity(expiry), story(seed)
        for at in range(0, len(events), 50):
            seen.see(events[at : at + 50])
            found, expected = seen.rate(), naive_rate(events[: at + 50], is_late)
            assert (None if found is None else found.mean) == pytest.approx(expected), (seed, at)


def test_with_very_many_open_decisions_a_sample_is_followed():
    """Each of 40,000 decisions waits for a late zero: memory is bounded, and the rate is the click rate."""
    draw, seen = random.Random(5), Activity(Expiry(1.0, 0.0))
    clicks = [draw.random() < CLICKS for _ in range(40_000)]
    seen.see([Event(Kind.ASK, number, number, 0) for number in range(40_000)])
    seen.see([Event(Kind.TELL, 50_000, number, 0, 1.0) for number in range(40_000) if clicks[number]])
    assert seen.rate() is None  # of the oldest it is not known yet
    seen.see([Event(Kind.EXPIRE, 60_000, number, 0, 0.0) for number in range(30_000) if not clicks[number]])
    found = seen.rate()
    assert found.n == 200
    assert abs(found.mean - CLICKS) < 4 * math.sqrt(CLICKS * (1 - CLICKS) / 200)
    assert found.before == pytest.approx(0.03, rel=0.01)
    assert seen.n_tracked <= 10_000


def test_an_ask_that_is_written_after_its_end_blocks_nothing():
    """Replicas write to one log, and the one that is told may be faster than the one that was asked."""
    seen = Activity(Expiry(1.0, 0.0))
    seen.see([Event(Kind.TELL, 2, 7, 0, 1.0), Event(Kind.ASK, 1, 7, 0)])
    seen.see([Event(Kind.ASK, 3, 8, 0), Event(Kind.TELL, 4, 8, 0, 0.0)])
    assert seen.rate()[:2] == (2, 0.5)


def test_the_interval_of_a_rate_lies_between_0_and_1():
    seen = Activity()
    seen.see([Event(Kind.OBSERVE, 1, -1, 0, 0.0)] * 20)
    assert seen.rate()[1:4] == (0.0, 0.0, pytest.approx(0.1611, abs=1e-4))  # Wilson's, by hand
    wide = Activity(is_bounded=False)
    wide.see([Event(Kind.OBSERVE, 1, -1, 0, reward) for reward in (-3.0, 5.0)])
    assert wide.rate()[1:4] == pytest.approx(
        (1.0, 1 - 1.96 * math.sqrt(32) / 2, 1 + 1.96 * math.sqrt(32) / 2)
    )


def test_curves_reach_back_and_stay_bounded():
    seen = Activity()
    for second in range(3_000):
        seen.sample(float(second), SIDE, second, 0, 0)
    times = [point.time for point in seen.history()]
    assert times[0] == 0.0
    assert times[-400:] == sorted(times[-400:])
    assert times[-300:] == [float(second) for second in range(2_700, 3_000)]
    assert len(times) <= 720


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/lsdt.db"


def test_a_page_counts_every_end_of_a_decision_and_shows_it_again_after_a_restart(url):
    """Clicks are told as 1 at once, all others expire with 0: the rate is the click rate, not 1."""
    service, draw, truth = Service(Settings(url)), random.Random(11), []
    hosted = service.make("ads", SIDE, {"policy": "ucb1"}, Expiry(1e-6, 0.0))
    for _ in range(20):
        made = hosted.ask(AskRequest(n=50)).decisions
        clicked = [draw.random() < CLICKS for _ in made]
        truth += clicked
        hosted.tell([(one.id, 1) for one, click in zip(made, clicked, strict=True) if click])
        hosted.next_expiry = 0.0
        assert hosted.expire() == 50 - sum(clicked)
    hosted.agent.observe("tea", 0.25)
    hosted.agent.retire("juice")
    waiting = hosted.ask(AskRequest(n=1)).decisions
    hosted.sample()
    shown = overview(hosted)
    told = [*truth[-199:], 0.25]  # decisions and observations count alike, in the order of their beginning
    assert shown["rate"]["n"] == 200
    assert shown["rate"]["mean"] == pytest.approx(sum(told) / 200)
    assert abs(shown["rate"]["mean"] - CLICKS) < 3 * math.sqrt(CLICKS * (1 - CLICKS) / 200)
    assert shown["expired"] == (200 - sum(truth[-200:]), 200)
    assert [row["event"] for row in shown["log"][:4]] == ["ask", "retire", "observe", "expire"]
    (point,) = hosted.activity.history()
    assert sum(point.shares.values()) == pytest.approx(1.0)  # of the asks, clicked or not
    asyncio.run(service.close())

    for read_only in (False, True):
        again = Service(Settings(url, read_only=read_only))
        seen = again.hosted["ads"]
        after = overview(seen)
        for part in ("n", "mean", "low", "high", "before"):
            assert after["rate"][part] == shown["rate"][part], part
        rows = [{**row, "ago": None} for row in shown["log"]]
        assert [{**row, "ago": None} for row in after["log"]] == rows
        assert after["expired"] == shown["expired"]
        last = seen.activity.history()[-1]
        assert last._replace(time=0) == point._replace(time=0)
        asyncio.run(again.close())
    assert waiting


def test_the_past_is_read_back_from_the_end_of_a_log(monkeypatch):
    """However long the log: of the last events only, with a curve through them."""
    clock = Clock(monkeypatch)  # a curve has a point a second: on a slow machine the last would be too old
    store = open_store("memory://")
    agent = lsdt.Agent.open(store, "drinks", SIDE, policy="ucb1")
    for number in range(300):
        agent.tell(agent.ask(), float(number % 4 == 0))
        clock.sleep(0.001)
    pending = agent.ask(5)
    whole = Activity.read(store, "drinks", agent, None)
    part = Activity.read(store, "drinks", agent, None, n_events=100)
    assert whole.rate()[:2] == (200, 0.25)
    assert part.rate().n == 48  # of 100 events: a tell without its ask, 47 asks and tells, 5 asks
    late = Activity.read(store, "drinks", agent, Expiry(60.0, 0.0), n_events=100)
    assert late.rate().before == pytest.approx(agent.pending_times()[0][1] / 1e6)
    assert late.rate()[:2] == (200, 0.25)  # it read on, until there was enough before the oldest open one
    for seen in (whole, part, late):
        last = seen.history()[-1]
        assert (last.n_asked, last.n_told, last.n_pending) == (305, 300, 5)
    assert len(pending) == 5
    agent.close()


def test_decisions_that_are_known_in_part_do_not_count(url):
    """Of decisions asked before the events that were read, the clicks may lie further back than the zeros."""
    store = open_store(url)
    agent = lsdt.Agent.open(store, "ads", SIDE, policy="ucb1")
    with agent.group():
        made = agent.ask(1_000)
        agent.tell_many((one, 1) for one in made[::5])
        agent.expire(1e-6, 0.0)
        later = agent.ask(100)
        agent.tell_many((one, 1) for one in later[::4])
    seen = Activity.read(store, "ads", agent, Expiry(60.0, 0.0), n_events=300)
    seen.see([Event(Kind.EXPIRE, 2**60, one.number, 0, 0.0) for one in later if one.number % 4])
    assert seen.rate()[:2] == (200, 0.25 / 2 + 0.2 / 2)  # of the log as a whole
    part = Activity.read(store, "ads", agent, Expiry(60.0, 0.0), n_events=300, n_most=300)
    assert part.rate()[:2] == (1, 1.0)  # the one before the oldest open one
    part.see([Event(Kind.EXPIRE, 2**60, one.number, 0, 0.0) for one in later if one.number % 4])
    assert part.rate()[:2] == (100, 0.25)
    agent.close()
