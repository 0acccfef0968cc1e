"""A connection to PostgreSQL that gives up on a silent server.

A server that is stopped (``SIGSTOP``, a swapping machine, a hanging disk) is noticed neither by
``statement_timeout``, which the server enforces itself, nor by ``tcp_user_timeout`` and keepalives, which the
kernel of its machine answers. So the client measures how long nothing has arrived, and then closes the
connection.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import IntLoader

if TYPE_CHECKING:
    from collections.abc import Generator


class PatientConnection(psycopg.Connection[Any]):
    """A connection on which no call waits longer than `patience` seconds without hearing from the server.

    A large result that keeps arriving, and a large value that is being sent, may take as long as they need.
    Statements mark parameters with ``?``, as in SQLite, and values of type ``numeric`` are read as integers,
    since the tables use that type only for positions, which may need more than 64 bits.
    """

    patience = 15.0  # seconds; the store sets its own

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.adapters.register_loader("numeric", IntLoader)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.pgconn.transaction_status != TransactionStatus.IDLE

    def execute(self, query: Any, params: Any = None, **more: Any) -> Any:
        """Run a statement; return a cursor."""
        return super().execute(query.replace("?", "%s"), params, **more)

    def wait(self, gen: Any, *args: Any, **more: Any) -> Any:
        """Run an operation; psycopg routes all communication with the server through this method."""
        return super().wait(self._watched(gen), *args, **more)

    def _watched(self, operation: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run an operation; psycopg resumes it when data is ready, and otherwise every 0.1 s."""
        heard = monotonic()
        try:
            wanted = next(operation)
            while True:
                ready = yield wanted
                if ready:
                    heard = monotonic()
                elif monotonic() - heard > self.patience:
                    self.pgconn.finish()  # otherwise a rollback would wait as long again
                    raise psycopg.OperationalError(f"the server has been silent for {self.patience:g} s")
                wanted = operation.send(ready)
        except StopIteration as end:
            return end.value
