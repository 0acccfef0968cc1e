"""What not every operating system has: skips for the tests that need it."""

from __future__ import annotations

import os

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows cannot fork a process")
needs_signals = pytest.mark.skipif(
    os.name == "nt", reason="on Windows no process can be stopped by SIGSTOP, or sent Ctrl-C by itself"
)
needs_modes = pytest.mark.skipif(os.name == "nt", reason="Windows has no file modes for owner and group")
needs_links = pytest.mark.skipif(os.name == "nt", reason="on Windows making links takes a privilege")
needs_proc = pytest.mark.skipif(
    not os.path.isdir("/proc"), reason="only Linux has /proc, a folder in which nothing can be made"
)


def skip_without_fork() -> None:
    """Skip the test that is running where no process can be forked."""
    if not hasattr(os, "fork"):
        pytest.skip("Windows cannot fork a process")
