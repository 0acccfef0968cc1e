from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from lsdt.policies.registry import BUILT_IN
from postgresql_server import server_url

ROOMS = ("candidates", "ratings", "side_information", "theory")
# Two files with the same tables, and other tests that compile policies by the dozen.
ALL_POLICIES = (
    "tests/contract/test_policies.py::test_compiled_equals_plain_python",
    "tests/policies/test_many_arms.py::test_every_arm_is_played_as_often_as_its_posterior_says",
    "tests/reproduce/test_every_part.py",
    "tests/reproduce/test_whole_report.py",
    "tests/theory/upper_bounds/",
)

# The first example of a test may compile; deadlines would only measure that. `make test` repeats itself;
# `make test-thorough` looks for new examples every time, and prints how to see a failure again.
FAST = 25
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=FAST)
settings.register_profile("thorough", deadline=None, max_examples=1_500, print_blob=True)
settings.load_profile("fast")


def pytest_addoption(parser):
    parser.addoption(
        "--jester", type=Path, help="path to the published Jester ratings (jester-data-1 as zip, xls or csv)"
    )


def pytest_configure():
    """Listen to Ctrl-C, which some tests send, also in a background job of a shell, where it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    """Mark the tests that go on for longer where there is time, and leave out those that need it."""
    for item in items:
        if "thorough" in getattr(item, "fixturenames", ()):
            item.add_marker("thorough")
    if settings.default.max_examples <= FAST:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    if hasattr(config, "workerinput"):  # the order in which work is handed out
        n_tests = Counter(shared_work(item.nodeid) for item in items)
        items.sort(key=lambda item: _turn(shared_work(item.nodeid), n_tests))


def _turn(work, n_tests):
    """First what compiles all policies, whose own tests then find the code on disk; then the largest."""
    return work != ALL_POLICIES[0], -n_tests[work]


def pytest_collection_finish():
    """Leave what is loaded by now out of all later collections of garbage."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let libraries tidy up as the process ends; some complain of what is left."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Let linear algebra use one thread: the workers use all cores, and threads that wait spin."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give tests that share work to one worker, which does it once, and begin with those."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # they are in order

    class ByWork(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return shared_work(nodeid)

    return ByWork(config, log)


def shared_work(nodeid):
    """Return what a test shares with others, or its own name.

    The tests of one policy, or of a room with kernels of its own, need the same compiled code; those of one
    file of the reproduction need the same tables. A process that has compiled a policy for one use, such as a
    study, compiles it for another in a tenth of the time.
    """
    path, _, test = nodeid.partition("::")
    if "postgresql" in nodeid.lower():  # one server
        return "postgresql"
    if nodeid.startswith(ALL_POLICIES):
        return ALL_POLICIES[0]
    if path.startswith("tests/reproduce/"):  # before policies: a part may be called after one
        return path
    for word in test.partition("[")[2].rstrip("]").split("-"):
        policy = word.partition(":")[0]
        if policy in BUILT_IN:
            return policy
    return next((room for room in ROOMS if path.startswith(f"tests/{room}/")), nodeid)


@pytest.fixture(scope="session", autouse=True)
def compiles_in_place():
    """Compile what has become hot at once: a compiler beside the tests would make them depend on its pace."""

    def prepare(function, arguments):
        from lsdt.kernel import compiler, jit

        with jit.compiling_is(True):
            compiler.compile_for(function, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lsdt.kernel.beside.prepare", prepare)
        yield


@pytest.fixture
def always_compiled(monkeypatch):
    """Compile at the first call, as ``LSDT_JIT=always`` does."""
    monkeypatch.setattr("lsdt.kernel.jit.jit_mode", lambda: "always")


@pytest.fixture
def postgresql_url():
    """A database without any tables of lsdt."""
    url = server_url()
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS lsdt CASCADE")
    return url


@pytest.fixture(scope="session")
def thorough():
    """Whether there is time for long loops. Tests that ask are run by `make test-thorough`."""
    return settings.default.max_examples > FAST


@pytest.fixture(scope="session")
def jester(request):
    """The file that the user has; it is never part of the project."""
    path = request.config.getoption("--jester")
    if path is None:
        pytest.skip("needs the published Jester ratings: give their path with --jester PATH")
    return path
