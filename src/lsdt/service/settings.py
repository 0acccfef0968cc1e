"""How a service behaves: what ``lsdt serve`` takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsdt._validation import checked_positive, checked_whole
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Settings:
    """How a service behaves.

    Attributes
    ----------
    store : str
        The URL of the store.
    durability : {'full', 'process'}
        Whether an answer waits for the disk.
    most_waiting : int
        How many requests may wait for a commit; more are answered with 429.
    body_limit, decision_limit : int
        Most bytes of a body: of side information, and of everything else.
    rate : float or None
        Most requests a second for a key without a limit of its own.
    origins : sequence of str
        Other sites whose pages may call.
    answers_kept : float
        For how many seconds an answer is repeated for the same idempotency key.
    patience : float
        For how many seconds a client may keep us waiting for the head of a request, or for more of its body.
    store_patience : float or None
        For how many seconds others may keep the store waiting before it fails; by default, 60 for another
        program that holds the write lock of an SQLite file, 15 for a PostgreSQL server that is silent.
    session_hours : float
        How long a browser stays signed in.
    read_only : bool
        Only show what is in the store, which another process may be writing to.
    metrics_arms : int
        How many arms of each experiment have metrics of their own; the others are summed. 0 is for none.
    webhooks : sequence of str
        URLs that are told of events of the service and all experiments.
    webhook_secret : str
        What messages to them are signed with: ``whsec_`` and random bytes in base64; several with spaces
        between them while one replaces another.
    webhook_origins : sequence of str
        Origins, such as ``https://hooks.example.com``, at which webhooks may be added over HTTP.
    webhook_wait : float
        Seconds before the first repeat of a message that did not arrive.
    """

    store: str = "sqlite:///lsdt.db"
    durability: str = "full"
    most_waiting: int = 10_000  # a second of requests at the rate measured in docs/guides/service.md
    body_limit: int = 64 * 2**20  # room for 16 million pairs in Parquet, 4 bytes each
    decision_limit: int = 2**20  # room for the rewards of ten thousand decisions, the most of one request
    rate: float | None = None
    origins: Sequence[str] = ()
    answers_kept: float = 86_400.0  # a day: longer than clients go on repeating a request
    patience: float = 30.0  # slow networks manage; a client that never finishes is soon gone
    store_patience: float | None = None
    session_hours: float = 12.0  # a working day, so that nobody signs in twice
    read_only: bool = False
    metrics_arms: int = 10  # with 100 experiments, some 3,000 series
    webhooks: Sequence[str] = ()
    webhook_secret: str = field(default="", repr=False)
    webhook_origins: Sequence[str] = ()
    webhook_wait: float = 5.0  # restarts of a receiver take seconds

    def __post_init__(self) -> None:
        if self.read_only and self.store.startswith("memory:"):
            raise InvalidInput(
                "read-only shows a store that another process writes, sqlite:///file.db or postgresql://...; "
                f"nobody else can write to {self.store!r}"
            )
        checked_whole(self.most_waiting, "most_waiting", 1)
        checked_whole(self.body_limit, "body_limit", 1)
        if self.read_only and (self.webhooks or self.webhook_origins):
            raise InvalidInput("a read-only service sends no webhooks: give them to the service that decides")
        checked_whole(self.metrics_arms, "metrics_arms", 0, 1_000)
        checked_positive(self.webhook_wait, "webhook_wait", ", in seconds")
        checked_positive(self.answers_kept, "answers_kept", ", in seconds")
        checked_positive(self.patience, "patience", ", in seconds")
        checked_positive(self.session_hours, "session_hours", ", in hours")
        if self.store_patience is not None:
            checked_positive(self.store_patience, "store_patience", ", in seconds")
        if self.rate is not None:
            checked_positive(self.rate, "rate", ", requests a second")
