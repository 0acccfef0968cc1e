"""What a person should look at: sentences that say what is wrong, and what to do about it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

from lsdt.storage import now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsdt.agent import Blocked
    from lsdt.service.hosting import HostedExperiment, Point, Service
    from lsdt.service.stopping_forecast import Findings
    from lsdt.storage import Store

SERVICE_KINDS = ("store", "disk", "commits", "waiting")  # of what is wrong with a service
# All chosen by eye, to warn rarely and of what lasts.
_LEAST_FREE = 2**30  # bytes of disk: millions of decisions, so that there is time to react
_SLOW, _FEW = 0.25, 20  # seconds of a slow commit, which users notice; commits needed for a percentile
_WINDOW, _SHORT = 300.0, 60.0  # seconds over which pending decisions are looked at, at most and at least
_MANY_PENDING, _GROWTH = 100, 1.5  # fewer pending decisions, or slower growth, are ordinary delay
_WHAT_TO_DO = (
    "Are rewards told? Cancel those that never will be (POST .../cancel); an experiment that has an expiry "
    "closes them by itself."
)


class Concern(NamedTuple):
    """Something to look at: a word for programs, and sentences for people."""

    kind: str
    text: str


def of_service(service: Service) -> list[Concern]:
    """Return what is wrong with a service, whatever experiment one looks at."""
    return [*_store(service), *_disk(service.store), *_commits(service)]


def of_experiment(service: Service, hosted: HostedExperiment, findings: Findings) -> list[Concern]:
    """Return what is wrong, for the page of an experiment."""
    told = of_service(service)
    halt = hosted.agent.halt
    if halt is not None:
        what = "no decisions are made" if halt.arm < 0 else "every ask is answered with this arm"
        text = f"The experiment is {halt.text(hosted.agent.side)}. Until it is resumed, {what}."
        told.append(Concern(halt.name, text))
    if hosted.expiry is None:  # else they close by themselves, and grow until the first ones do
        growth = pending_growth(hosted.activity.history(), hosted.agent.n_pending, now() / 1e6)
        if growth:
            told.append(Concern("pending", growth + _WHAT_TO_DO))
    if findings.conflict:
        text = (
            f"Relations contradict one another, so that fewer are used than there are: {findings.conflict}. "
            "Correct them, and send all again (POST .../extend)."
        )
        told.append(Concern("contradiction", text))
    told += [Concern("drift", each) for each in findings.drift]
    return [*told, *_blocked(hosted, findings.blocked)]


def _blocked(hosted: HostedExperiment, blocked: Sequence[Blocked]) -> list[Concern]:
    """Return a sentence on arms whose oldest open decision may never be closed; an expiry closes it."""
    if not blocked or hosted.expiry is not None:
        return []
    first = blocked[0]
    others = f" {len(blocked) - 1:,} other arms are held up in the same way." if len(blocked) > 1 else ""
    text = (
        f"Decision {first.decision}, for {first.arm}, has had no reward for {in_words(first.seconds)}, and "
        f"the rewards of {first.plays:,} later plays of {first.arm} wait for it before they are searched for "
        f"a change of its mean.{others} Tell the rewards of such decisions, or cancel those that will have "
        "none (POST .../cancel); an experiment that has an expiry closes them by itself."
    )
    return [Concern("blocked", text)]


def _store(service: Service) -> list[Concern]:
    failure, following = service.commits.failure, service.following
    if following is not None and following.failure:
        text = f"The store cannot be read; what is shown is old, and it is tried again: {following.failure}."
    elif not failure:
        return []
    elif service.replication is not None:
        text = f"The store failed, and it is tried again by itself: {failure}."
    else:
        text = f"The store failed, and nothing is answered until the service is restarted: {failure}."
    return [Concern("store", text)]


def _disk(store: Store) -> list[Concern]:
    if store.path is None:
        return []
    try:
        free, size = shutil.disk_usage(store.path.parent).free, store.path.stat().st_size
    except OSError as error:
        return [Concern("disk", f"The folder of the store cannot be looked at: {error.strerror}.")]
    if free >= max(_LEAST_FREE, size):
        return []
    text = (
        f"The disk of the store has {in_bytes(free)} left, and the store takes {in_bytes(size)}. Make room: "
        "when it is full the service stops."
    )
    return [Concern("disk", text)]


def free_space(store: Store) -> str:
    """Return how much of the disk is left, for people; empty where the store is not in a file."""
    try:
        return "" if store.path is None else in_bytes(shutil.disk_usage(store.path.parent).free)
    except OSError:
        return ""


def in_words(seconds: float) -> str:
    """Return a stretch of time for people.

    Examples
    --------
    >>> from lsdt.service.attention import in_words
    >>> in_words(0.42), in_words(48.2), in_words(600), in_words(90_000)
    ('0.4 s', '48 s', '10 min', '25 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    for unit, size in (("s", 1.0), ("min", 60.0), ("h", 3_600.0)):
        if seconds < 100 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def in_bytes(n: int) -> str:
    """Return a size for people.

    Examples
    --------
    >>> from lsdt.service.attention import in_bytes
    >>> in_bytes(350_000_000)
    '350 MB'
    """
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n} bytes"


def _commits(service: Service) -> list[Concern]:
    told, metrics, waiting = [], service.metrics, service.commits.n_waiting
    slow = metrics.commit_percentile(0.95)
    if slow is not None and len(metrics.recent) >= _FEW and slow > _SLOW:
        text = (
            f"Commits are slow: of the last {len(metrics.recent):,}, one in twenty took {slow:.2g} seconds "
            "or more. See what else writes to the disk of the store, or use a faster one."
        )
        told.append(Concern("commits", text))
    most = service.settings.most_waiting
    if waiting > most / 2:
        text = (
            f"{waiting:,} requests wait for the store, and beyond {most:,} they are refused with 429. Send "
            "fewer at once, or use a faster disk."
        )
        told.append(Concern("waiting", text))
    return told


def pending_growth(history: Sequence[Point], n_pending: int, time: float) -> str:
    """Return a sentence where ever more decisions wait for their reward; else nothing."""
    recent = [point for point in history if time - point.time <= _WINDOW]
    if not recent or time - recent[0].time < _SHORT or n_pending < _MANY_PENDING:
        return ""
    before, middle = recent[0].n_pending, recent[len(recent) // 2].n_pending
    if not before < middle < n_pending or n_pending < _GROWTH * before:
        return ""
    minutes = max(1, round((time - recent[0].time) / 60.0))
    ago = "a minute ago" if minutes == 1 else f"{minutes} minutes ago"
    return f"Ever more decisions wait for their reward: {n_pending:,}, and {ago} {before:,}. "
