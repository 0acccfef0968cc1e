from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a test may compile; deadlines would only measure that. Runs are repeatable.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("repeatable")


def pytest_addoption(parser):
    parser.addoption(
        "--jester", type=Path, help="path to the published Jester ratings (jester-data-1 as zip, xls or csv)"
    )


@pytest.fixture(scope="session")
def jester(request):
    """The file that the user has; it is never part of the project."""
    path = request.config.getoption("--jester")
    if path is None:
        pytest.skip("needs the published Jester ratings: give their path with --jester PATH")
    return path
