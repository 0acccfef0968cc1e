from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from lsdt.policies.registry import BUILT_IN

# The first example of a test may compile; deadlines would only measure that. `make test` repeats itself;
# `make test-thorough` looks for new examples every time, and prints how to see a failure again.
FAST = 60
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=FAST)
settings.register_profile("thorough", deadline=None, max_examples=1_500, print_blob=True)
settings.load_profile("fast")


def pytest_addoption(parser):
    parser.addoption(
        "--jester", type=Path, help="path to the published Jester ratings (jester-data-1 as zip, xls or csv)"
    )


def pytest_collection_modifyitems(items):
    """Keep the tests of one policy together: with ``--dist loadgroup`` only one worker compiles its code."""
    for item in items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        for value in values:
            name = value.partition(":")[0] if isinstance(value, str) else ""
            if name in BUILT_IN:
                item.add_marker(pytest.mark.xdist_group(name))
                break


@pytest.fixture(scope="session")
def thorough():
    """Whether there is time for long loops: tests marked ``thorough`` ask."""
    return settings.default.max_examples > FAST


@pytest.fixture(scope="session")
def jester(request):
    """The file that the user has; it is never part of the project."""
    path = request.config.getoption("--jester")
    if path is None:
        pytest.skip("needs the published Jester ratings: give their path with --jester PATH")
    return path
