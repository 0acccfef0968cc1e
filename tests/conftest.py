from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from lsdt.policies.registry import BUILT_IN

TESTS = Path(__file__).parent
ROOMS = ("candidates", "ratings", "side_information", "theory")

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
    """Keep tests together that share work: with ``--dist loadgroup`` only one worker does it.

    The tests of one policy, or of a room with kernels of its own, compile the same code; those of one file of
    the reproduction compute the same tables.
    """
    for item in items:
        group = _policy_of(item) or _place_of(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def _policy_of(item):
    """Return the built-in policy that a test is about, if it is a parameter."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    names = (value.partition(":")[0] for value in values if isinstance(value, str))
    return next((name for name in names if name in BUILT_IN), None)


def _place_of(item):
    """Return the room or file of a test if others there share work with it."""
    if TESTS / "reproduce" in item.path.parents:
        return item.path.stem
    return next((room for room in ROOMS if TESTS / room in item.path.parents), None)


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
