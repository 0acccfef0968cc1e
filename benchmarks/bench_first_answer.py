"""The first answer: processor time from nothing to an answer, on a machine where nothing is compiled yet.

Every process starts with Python's bytecode cached, as installers leave it, and with an empty folder for
compiled code, or one that ``lsdt compile`` has filled. Times are CPU seconds of the process and of those that
it starts; each is the median of a few, measured in turns with a process that only imports NumPy and SciPy.
"""

from __future__ import annotations

import doctest
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timing import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
REPEATS = 5
TURNS = (
    3  # of the service under load; what a compiler holds up recurs in each, what other programs do does not
)
MOST_SECONDS = 240.0  # until `select` has become hot and is compiled; some 20,000 requests on a quiet core
SECONDS_AFTER = 5.0  # in which the code is loaded, and used
LONGEST_WAIT = 0.05
IMPORTS = "import numpy, scipy.sparse"
BASE = "a process that imports numpy and scipy.sparse"
AGENT = """
agent = lsdt.Agent(side, policy="auto", epsilon=.1, rewards="bernoulli", seed=0)
for number in range(20):
    agent.tell(agent.ask(), number % 2)
print(agent.stopping())
"""


@cache
def _readme() -> str:
    """Return the first block of code of the README, as a script."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    return "".join(example.source for example in doctest.DocTestParser().get_examples(found[1]))


@contextmanager
def _environment(*compiled: str) -> Iterator[dict[str, str]]:
    """Give the variables of a machine on which these policies, and no other code, were compiled before."""
    with tempfile.TemporaryDirectory(prefix="lsdt-", ignore_cleanup_errors=True) as folder:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        made = {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "NUMBA_CACHE_DIR": f"{folder}/code"}
        made["LSDT_JIT"] = "auto"
        if compiled:
            subprocess.run(_lsdt("compile", *compiled), env=made, check=True, stdout=subprocess.DEVNULL)
        yield made


def _lsdt(*words: str) -> list[str]:
    return [sys.executable, "-m", "lsdt.cli.main", *words]


def _cpu_of(words: list[str], environment: dict[str, str]) -> float:
    """Return the CPU seconds of a process, and of those it started and waited for."""
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, words
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def _in_turns(first: Callable[[], Any], environment: dict[str, str]) -> tuple[Any, float]:
    """Return medians of something and of the imports, by turns after one of each that writes bytecode."""
    base = [sys.executable, "-c", IMPORTS]
    found, against = [], []
    for repeat in range(REPEATS + 1):
        one, other = first(), _cpu_of(base, environment)
        if repeat:
            found.append(one)
            against.append(other)
    return found, statistics.median(against)


def _row(work: str, seconds: float, against: float, limit: float) -> Row:
    reached = f"{seconds:.2f} s, {seconds / against:.1f} x"
    return Row(work, seconds, BASE, against, reached, f"<= {limit:g} s", seconds <= limit)


def _process(work: str, words: list[str], limit: float, *compiled: str) -> Row:
    with _environment(*compiled) as environment:
        found, against = _in_turns(lambda: _cpu_of(words, environment), environment)
    return _row(work, statistics.median(found), against, limit)


def readme_cold() -> Row:
    return _process("README's first code, nothing compiled", [sys.executable, "-c", _readme()], 1.0)


def agent_cold() -> Row:
    work = "the same, an agent, 20 asks and tells, stopping; nothing compiled"
    return _process(work, [sys.executable, "-c", _readme() + AGENT], 2.0)


def agent_compiled() -> Row:
    work = "the same, compiled before"
    return _process(work, [sys.executable, "-c", _readme() + AGENT], 1.0, "lsdt_posterior")


def command_cold() -> Row:
    return _process("lsdt candidates --example partial", _lsdt("candidates", "--example", "partial"), 0.6)


# ---------------------------------------------------------------- a service


def _tree_cpu(process: int) -> float:
    """Return the CPU seconds of a process so far, and of all that it started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    total = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    for thread in Path(f"/proc/{process}/task").iterdir():
        for child in (thread / "children").read_text().split():
            with suppress(OSError):  # it has just ended
                total += _tree_cpu(int(child))
    return total


class _Served:
    """A service that answers, and one connection to it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process, address = process, process.stdout.readline()
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", int(address.rpartition(":")[2]), timeout=120
        )
        end = time.monotonic() + 60.0
        while True:
            try:
                self.call("GET", "/readyz")
                break
            except ConnectionError:  # it says where it will listen before it does
                assert time.monotonic() < end
                self.connection.close()
                time.sleep(0.05)
        self.started = self.cpu()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        self.connection.request(method, path, None if body is None else json.dumps(body))
        answer = self.connection.getresponse()
        content = json.loads(answer.read())
        assert answer.status in (200, 201), content
        return content

    def create(self) -> None:
        self.call("POST", "/v1/experiments", _experiment())

    def ask(self) -> str:
        found: str = self.call("POST", "/v1/experiments/items/ask", {})["decisions"][0]["id"]
        return found

    def tell(self, decision: str, reward: float) -> None:
        self.call("POST", "/v1/experiments/items/tell", {"decision": decision, "reward": reward})

    def cpu(self) -> float:
        return _tree_cpu(self.process.pid)


@contextmanager
def _service(environment: dict[str, str]) -> Iterator[_Served]:
    """Run a service on an empty SQLite store."""
    with tempfile.TemporaryDirectory(prefix="lsdt-") as folder:
        words = _lsdt(
            "serve", "--store", f"sqlite:///{folder}/lsdt.db", "--port", "0", "--log-level", "error"
        )
        process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            yield _Served(process)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=30.0)
            except subprocess.TimeoutExpired:
                process.kill()


@cache
def _experiment() -> dict[str, Any]:
    """Return the request for an experiment of 100 arms, half of whose relations are known."""
    import lsdt

    side = lsdt.problems.uniform(100, 0.1, 0.9, 0.1, "bernoulli", 0.5, 0.5).draw(0, 0).side
    pairs = {"similar": side.similar_pairs().tolist(), "dissimilar": side.dissimilar_pairs().tolist()}
    return {"name": "items", "n_arms": 100, "epsilon": 0.1, "rewards": "bernoulli", **pairs}


def _created(work: str, limit: float, *compiled: str) -> Row:
    with _environment(*compiled) as environment:

        def first_ask() -> tuple[float, float]:
            with _service(environment) as served:
                served.create()
                served.ask()
                return served.started, served.cpu() - served.started

        found, against = _in_turns(first_ask, environment)
    started, seconds = (statistics.median(part) for part in zip(*found, strict=True))
    return _row(f"{work}; to start the service took {started:.2f} s", seconds, against, limit)


def service_cold() -> Row:
    return _created("lsdt serve: an experiment of 100 arms to its first ask, nothing compiled", 1.5)


def service_compiled() -> Row:
    return _created("the same, compiled before", 1.0, "lsdt_posterior")


def _longest_wait(mode: str, n_requests: int | None = None) -> tuple[float, int]:
    """Return the longest time that a request of an experiment took, from its first ask on, and their number.

    Without a number, requests go on until code is compiled, and a little longer.
    """
    with _environment() as environment, _service({**environment, "LSDT_JIT": mode}) as served:
        served.create()
        decision, longest, number = served.ask(), 0.0, 0
        end, is_compiled = time.perf_counter() + MOST_SECONDS, False
        while (began := time.perf_counter()) < end and number != n_requests:
            if number % 2:
                decision = served.ask()
            else:
                served.tell(decision, float(number % 3 == 0))
            longest, number = max(longest, time.perf_counter() - began), number + 1
            if n_requests is None and not is_compiled and number % 100 == 0:
                is_compiled = any(Path(environment["NUMBA_CACHE_DIR"]).rglob("*State-select-*.code"))
                end = time.perf_counter() + SECONDS_AFTER if is_compiled else end
        assert is_compiled == (n_requests is None), f"nothing was compiled in {number:,} requests"
    return longest, number


def service_while_compiling() -> Row:
    """Compare the longest request while hot code is compiled beside with the longest without a compiler."""
    longest, alone = [], []
    for _ in range(TURNS):
        seconds, n_requests = _longest_wait("auto")
        longest.append(seconds)
        alone.append(_longest_wait("never", n_requests)[0])
    least, against = min(longest), min(alone)
    return Row(
        f"the longest of {n_requests:,} requests while hot code is compiled (wall time, least of {TURNS})",
        least,
        "the same with LSDT_JIT=never",
        against,
        f"{1e3 * (least - against):+.0f} ms, {least / against:.1f} x",
        f"<= {1e3 * LONGEST_WAIT:+.0f} ms",
        least - against <= LONGEST_WAIT,
    )


WORKS = [
    readme_cold,
    agent_cold,
    agent_compiled,
    command_cold,
    service_cold,
    service_compiled,
    service_while_compiling,
]
