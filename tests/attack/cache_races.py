"""Many processes that compile different policies into one empty cache at once, some of them killed.

Whatever happens to the others, every process that ends makes the decisions of the interpreter, and so does a
fresh process that finds the cache they left.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from attack.outcome import Outcome
from attack.processes import environment

# Policies without an offline step: there is little but their own code to compile.
POLICIES = ("ucb1", "ts", "ts_gaussian", "moss", "imed", "kl_ucb", "osub", "imed_ub", "uts")
_AT_ONCE = 8
_LONGEST = 300.0


def attack(seed: int, seconds: float) -> Outcome:
    """Let processes race for one cache, round after round."""
    until = time.monotonic() + seconds
    expected = _interpreted(POLICIES)
    told_apart = len({tuple(each) for each in expected.values()})
    tried, well, failures = 0, 0, []
    if told_apart < 6:
        failures.append(f"the policies make only {told_apart} different runs: swapped code would not be seen")
    at_once = _AT_ONCE if seconds > 30 else 2
    turn, longest = 0, 0.0
    while turn == 0 or time.monotonic() + longest < until:
        began = time.monotonic()
        for policy, wrong in _race(seed, turn, at_once, expected):
            tried += 1
            well += not wrong
            if wrong:
                failures.append(f"{policy}, race {turn} of --seed {seed}: {wrong}")
        longest = max(longest, time.monotonic() - began)
        turn += 1
    return Outcome(tried, well, failures)


def _race(seed: int, turn: int, at_once: int, expected: dict[str, list[int]]) -> list[tuple[str, str]]:
    """Return the policies that were run and what went wrong with each, empty where nothing did."""
    rng = np.random.default_rng([seed, turn])
    policies = [POLICIES[at] for at in rng.permutation(len(POLICIES))[:at_once]]
    victims = policies[: at_once // 3 + 1] if turn % 2 else []
    with tempfile.TemporaryDirectory() as cache:
        began = time.monotonic()
        running = {policy: _started([policy], cache) for policy in policies}
        for policy in victims:  # compiling begins after the imports, and takes seconds
            time.sleep(rng.uniform(0.0, 2.0 + 0.5 * at_once / max(1, len(victims))))
            running[policy].kill()
        answers = [
            (policy, _wrong(running[policy], policy, expected, killed=policy in victims))
            for policy in policies
        ]
        left = max(10.0, _LONGEST - (time.monotonic() - began))
        afterwards = _started(policies, cache)
        told, _ = _told(afterwards, left)
        for policy in policies:
            same = told is not None and told[policy] == expected[policy]
            answers.append((policy, "" if same else "decides otherwise with the cache that was left"))
    return answers


def _started(policies: list[str], cache: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "attack.decisions", *policies],
        env=environment(NUMBA_CACHE_DIR=cache, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _told(process: subprocess.Popen[str], longest: float) -> tuple[dict[str, Any] | None, str]:
    """Return what a process printed, or None and why it did not."""
    try:
        out, err = process.communicate(timeout=longest)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, f"no answer within {longest:g} seconds"
    if process.returncode != 0:
        return None, f"code {process.returncode}: {(err.strip().splitlines() or ['nothing was said'])[-1]}"
    return json.loads(out), ""


def _wrong(process: subprocess.Popen[str], policy: str, expected: dict[str, list[int]], killed: bool) -> str:
    told, why = _told(process, _LONGEST)
    if killed and process.returncode == -9:
        return ""
    if told is None:
        return why
    return "" if told[policy] == expected[policy] else f"decided {told[policy]}, not {expected[policy]}"


def _interpreted(policies: tuple[str, ...]) -> dict[str, list[int]]:
    """Return what the interpreter alone decides."""
    with tempfile.TemporaryDirectory() as cache:
        told, why = _told(_started(list(policies), cache, NUMBA_DISABLE_JIT="1"), _LONGEST)
    if told is None:
        raise RuntimeError(f"the interpreter does not play: {why}")
    return told
