"""A connection to PostgreSQL that gives up on a silent server.

Neither ``statement_timeout``, which the server keeps itself, nor ``tcp_user_timeout`` and keepalives, which
the kernel of its machine answers, notice a server that is stopped (``SIGSTOP``, a machine that swaps, a disk
that hangs). So the client counts the seconds in which nothing comes, and then closes the connection.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from collections.abc import Generator


class PatientConnection(psycopg.Connection[Any]):
    """A connection on which no call waits for longer than its patience without hearing from the server.

    A large result that keeps coming, and a large value that keeps going, may take as long as they like.
    """

    patience = 15.0  # seconds

    def wait(self, gen: Any, *args: Any, **more: Any) -> Any:
        """Run an operation; psycopg passes everything that talks to the server through here."""
        return super().wait(self._watched(gen), *args, **more)

    def _watched(self, operation: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run an operation; between its steps psycopg sends what is ready, every .1 s that nothing is."""
        heard = monotonic()
        try:
            wanted = next(operation)
            while True:
                ready = yield wanted
                if ready:
                    heard = monotonic()
                elif monotonic() - heard > self.patience:
                    self.pgconn.finish()  # else a rollback would wait as long
                    raise psycopg.OperationalError(f"the server has been silent for {self.patience:g} s")
                wanted = operation.send(ready)
        except StopIteration as end:
            return end.value
