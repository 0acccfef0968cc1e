"""A real browser without a screen, for tests of pages."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def browser():
    """Return the path of a browser that can run without a screen, or skip."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("no Chromium or Chrome on this machine")
    return found


def seen_by_browser(path, profile):
    """Return the page as the browser sees it, and what its console says."""
    quiet = (
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-quic",
    )
    command = [
        *(browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", *quiet),
        *(f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0", "--dump-dom", path.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
