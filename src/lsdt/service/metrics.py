"""What the service counts, in the text format of Prometheus."""

from __future__ import annotations

import math
import shutil
from bisect import bisect_left
from collections import Counter, deque
from contextlib import suppress
from typing import TYPE_CHECKING

from lsdt.service.arm_metrics import arm_values
from lsdt.service.attention import SERVICE_KINDS, of_service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lsdt.service.arm_metrics import Labels, Values
    from lsdt.service.hosting import HostedExperiment, Service
    from lsdt.service.messages import ListedWebhook, StoppingForecast
    from lsdt.service.requests import Caller

# By hand, because prometheus_client 0.26 is slower. Measured by turns in one script, best turn, Python 3.11:
# counting a request takes .16 us here, and .31 there with labels looked up beforehand (1.1 without); a commit
# .14 and .83 us; the text for 1, 100 and 1,000 experiments .014, .18 and 2 ms, and .12, 1.4 and 14 ms. It
# would save about twenty lines, and add .65 MB to the installation but no further dependency. With ten arms
# of each experiment, the text for 1,000 takes some .3 s, in a thread.
_BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
_KEPT = 1_000  # commit times, for percentiles: enough for the 99th, and soon forgotten under load
# Experiments up to which each scrape computes indices (.7 ms each, with 100 arms of ucb1; 5 ms while code is
# interpreted), and keeps forecasts fresh, as open pages do.
_FEW = 20
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of one process.

    Examples
    --------
    >>> from lsdt.service.metrics import Metrics
    >>> metrics = Metrics()
    >>> metrics.commit(0.003, 12)
    >>> [line for line in metrics.text().splitlines() if line.startswith("lsdt_commits_total")]
    ['lsdt_commits_total 1']
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by what was asked and status
        self.n_commits, self.n_answered, self.seconds = 0, 0, 0.0
        self.recent: deque[float] = deque(maxlen=_KEPT)
        self._histogram = [0] * (len(_BOUNDS) + 1)

    def request(self, what: str, status: int) -> None:
        """Count an answer."""
        self.requests[what, status] += 1

    def commit(self, seconds: float, n_answered: int) -> None:
        """Count a commit, and how many answers waited for it."""
        self.n_commits += 1
        self.n_answered += n_answered
        self.seconds += seconds
        self.recent.append(seconds)
        self._histogram[bisect_left(_BOUNDS, seconds)] += 1

    def commit_percentile(self, share: float) -> float | None:
        """Return this quantile of the times that the last thousand commits took."""
        if not self.recent:
            return None
        ordered = sorted(self.recent)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def text(self) -> str:
        """Return the counters as text."""
        lines = _head("lsdt_requests_total", "counter", "Answers, by what was asked and status.")
        for (what, status), number in sorted(self.requests.items()):
            lines.append(f'lsdt_requests_total{{what="{what}",status="{status}"}} {number}')
        lines += _head("lsdt_commits_total", "counter", "Commits of the store.")
        lines.append(f"lsdt_commits_total {self.n_commits}")
        lines += _head("lsdt_committed_answers_total", "counter", "Answers that waited for those commits.")
        lines.append(f"lsdt_committed_answers_total {self.n_answered}")
        lines += _head("lsdt_commit_seconds", "histogram", "How long commits took.")
        below = 0
        for bound, number in zip((*_BOUNDS, "+Inf"), self._histogram, strict=True):
            below += number
            lines.append(f'lsdt_commit_seconds_bucket{{le="{bound}"}} {below}')
        lines += [f"lsdt_commit_seconds_sum {self.seconds:.6f}", f"lsdt_commit_seconds_count {below}"]
        return "\n".join(lines) + "\n"


def metrics_text(service: Service, caller: Caller) -> str:
    """Return the metrics that a caller may see."""
    hosted = [one for one in list(service.hosted.values()) if caller.sees(one)]
    values = _of_experiments(service, hosted)
    if caller.experiment is None:
        values |= _of_service(service) | _of_webhooks(service)
    lines = []
    for name, (about, labelled) in values.items():
        if labelled:
            lines += _head(name, "counter" if name.endswith("_total") else "gauge", about)
            lines += [f"{name}{_written(labels)} {value:.12g}" for labels, value in labelled]
    counted = service.metrics.text() if caller.experiment is None else ""
    return counted + "\n".join(lines) + "\n"


def _of_experiments(service: Service, hosted: Sequence[HostedExperiment]) -> Values:
    def each(value: Callable[[HostedExperiment], float]) -> list[tuple[Labels, float]]:
        return [((("experiment", one.name),), float(value(one))) for one in hosted]

    values: Values = {
        "lsdt_decisions_total": ("Decisions made.", each(lambda one: one.agent.n_asked)),
        "lsdt_rewards_total": ("Rewards learned.", each(lambda one: one.agent.n_told)),
        "lsdt_expired_total": ("Decisions expired since the start.", each(lambda one: one.n_expired)),
        "lsdt_pending": ("Decisions that wait for their reward.", each(lambda one: one.agent.n_pending)),
        "lsdt_paused": ("Whether no decisions are made.", each(lambda one: _is(one, "paused"))),
        "lsdt_stopped": (
            "Whether every ask is answered with one arm.",
            each(lambda one: _is(one, "stopped")),
        ),
        "lsdt_streams": ("Open streams.", each(lambda one: one.n_watching)),
    }
    are_few = len(service.hosted) <= _FEW
    agents = [(one.name, one.agent) for one in hosted if not one.busy]
    if service.settings.metrics_arms:
        values |= arm_values(agents, service.settings.metrics_arms, has_index=are_few)
    if not are_few:
        return values
    forecasts = [(one.name, service.forecasts.of(one, math.inf).forecast) for one in hosted if not one.busy]
    known = [(name, each) for name, each in forecasts if each.known is not None]
    return values | {
        "lsdt_stopping_reached": (
            "Whether it is known which arm is the best, at a risk of 5%.",
            [((("experiment", name),), float(bool(each.known))) for name, each in known],
        ),
        "lsdt_stopping_evidence_share": (
            "The evidence for that, divided by how much is needed.",
            [((("experiment", name),), _share(each)) for name, each in known],
        ),
    }


def _is(hosted: HostedExperiment, halt: str) -> bool:
    return hosted.agent.halt is not None and hosted.agent.halt.name == halt


def _share(forecast: StoppingForecast) -> float:
    """Return how much of the evidence that is needed there is; where relations alone settle it, all."""
    if forecast.evidence is None or not forecast.needed:
        return 1.0
    return forecast.evidence / forecast.needed


def _of_service(service: Service) -> Values:
    concerns = sorted({each.kind for each in of_service(service)})
    values: Values = {
        "lsdt_waiting": ("Requests that wait for the next commit.", [((), float(service.commits.n_waiting))]),
        "lsdt_store_failed": ("Whether the store failed.", [((), float(bool(service.commits.failure)))]),
        "lsdt_broken_experiments": ("Experiments that cannot be opened.", [((), float(len(service.broken)))]),
        "lsdt_attention": (
            "What needs attention, as the page Health has it.",
            [((("kind", kind),), float(kind in concerns)) for kind in SERVICE_KINDS],
        ),
    }
    with suppress(OSError):
        if service.store.path is not None:
            free, size = shutil.disk_usage(service.store.path.parent).free, service.store.path.stat().st_size
            values["lsdt_store_free_bytes"] = ("What the disk of the store has left.", [((), float(free))])
            values["lsdt_store_bytes"] = ("The size of the store's file.", [((), float(size))])
    return values


def _of_webhooks(service: Service) -> Values:
    """Return how deliveries went, by the id of the webhook: its address may hold a secret."""
    listed = service.webhooks.listed()

    def each(value: Callable[[ListedWebhook], float]) -> list[tuple[Labels, float]]:
        return [((("webhook", one.id),), float(value(one))) for one in listed]

    done: list[tuple[Labels, float]]
    done = [((("webhook", one.id), ("outcome", "delivered")), float(one.delivered)) for one in listed]
    done += [((("webhook", one.id), ("outcome", "given_up")), float(one.given_up)) for one in listed]
    postponed = float(service.webhooks.n_postponed)
    return {
        "lsdt_webhook_messages_total": ("Messages that are done with, by their outcome.", done),
        "lsdt_webhook_failures_total": ("Attempts that failed.", each(lambda one: one.failed)),
        "lsdt_webhook_queued": ("Messages that have not arrived.", each(lambda one: one.queued)),
        "lsdt_webhook_inactive": (
            "Whether nothing is sent, as it answered 410 or its origin is not allowed any more.",
            each(lambda one: bool(one.inactive)),
        ),
        "lsdt_webhook_postponed_total": (
            "Announcements put off because a queue was full.",
            [((), postponed)] if listed else [],
        ),
    }


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _written(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
