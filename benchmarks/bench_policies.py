"""Policies: the one driver of all of them against loops for one, threads against processes, first use."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import lsdt
import specialised_loops as loops
from lsdt.kernel.random import Purpose
from lsdt.kernel.state import state_of
from replications import ARMS, HORIZON, SIZE, Replication, TimedRun, in_turns_against, replications
from timing import Row

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 15
STUDY = ["lsdt_csi", "ucb1", "ts", "ckl_ucb"]
STUDY_REPLICATIONS = 1_000

# A process of its own that plays when it is told to, and says how long it took.
WORKER = """
import sys, time, lsdt
def run(replications):
    started = time.perf_counter()
    lsdt.simulate(lsdt.problems.uniform(), sys.argv[2].split(","), 1000, replications, int(sys.argv[1]), 1)
    return time.perf_counter() - started
run(2)
print("ready", flush=True)
for line in sys.stdin:
    print(run(int(line)), flush=True)
"""

FIRST_USE = """
import time, lsdt
started = time.process_time()
lsdt.simulate(lsdt.problems.uniform(), ["lsdt_csi", "ucb1"], horizon=1000, replications=1)
print(time.process_time() - started)
"""

HELP = """
import sys
from lsdt.cli.main import main
try:
    main(["--help"])
finally:
    assert "numba" not in sys.modules
"""


def _ucb1_loop(work: Replication) -> Callable[[Any], None]:
    setting, alpha = work.setting(), work.ready.player.state.alpha
    return lambda totals: loops.ucb1(setting.means, setting.gaps, alpha, *_outputs(totals))


def _ts_loop(work: Replication) -> Callable[[Any], None]:
    setting, own = work.setting(), work.stream(Purpose.POLICY)
    return lambda totals: loops.ts(setting.means, setting.gaps, own, *_outputs(totals))


def _csi_loop(work: Replication) -> Callable[[Any], None]:
    setting, state = work.setting(), work.ready.player.state
    classes = state.alpha, state.layout.starts, state.layout.members
    return lambda totals: loops.lsdt_csi(*setting[:3], *classes, *_outputs(totals))


def _ckl_loop(work: Replication) -> Callable[[Any], None]:
    setting, packed = work.setting(), work.ready.player.packed.copy()
    state = state_of(type(work.ready.player.state), *packed)
    scale = 0.0 if work.instance.rewards.name == "bernoulli" else setting.scale
    return lambda totals: loops.ckl_ucb(state, setting.means, setting.gaps, scale, *_outputs(totals))


def _outputs(totals: Any) -> tuple[Any, ...]:
    return totals.stream, totals.checkpoints, totals.regret, totals.reward, totals.plays


def _player(loop: Callable[[Replication], Callable[[Any], None]]) -> Callable[[list[Replication]], TimedRun]:
    def played(works: list[Replication]) -> TimedRun:
        calls = [(loop(work), work.totals()) for work in works]
        started = process_time()
        for call, totals in calls:
            call(totals)
        return process_time() - started, [totals for _, totals in calls]

    return played


def _generic(policy: str, rewards: str, loop: Callable[[Replication], Callable[[Any], None]]) -> Row:
    works = replications(policy, rewards)
    ratio, ours, theirs = in_turns_against(policy, works, _player(loop), REPEATS)
    return Row(
        f"{policy}, {rewards} rewards, {SIZE}",
        ours,
        "a Numba loop for this policy alone",
        theirs,
        f"{ratio:.2f} x",
        "<= 1.10 x",
        ratio <= 1.1,
    )


def generic_ucb1() -> Row:
    return _generic("ucb1", "gaussian", _ucb1_loop)


def generic_csi() -> Row:
    return _generic("lsdt_csi", "gaussian", _csi_loop)


def generic_ts() -> Row:
    return _generic("ts", "bernoulli", _ts_loop)


def _ckl(rewards: str) -> Row:
    works = replications("ckl_ucb", rewards, 10)
    ratio, ours, theirs = in_turns_against("ckl_ucb", works, _player(_ckl_loop), 5)
    return Row(
        f"ckl_ucb, {rewards} rewards, {SIZE}; the same choices",
        ours,
        "a Numba loop that solves for every index in every round",
        theirs,
        f"{1 / ratio:.0f} x",
        ">= 10 x",
        ratio <= 0.1,
    )


def ckl_gaussian() -> Row:
    return _ckl("gaussian")


def ckl_bernoulli() -> Row:
    return _ckl("bernoulli")


def _study(policy: str, repeats: int = REPEATS) -> Row:
    """Compare a whole call of simulate with the rounds inside it, as it measures them."""
    problem = lsdt.problems.uniform(ARMS)
    lsdt.simulate(problem, policy, HORIZON, 10, n_jobs=1)
    taken = []
    for seed in range(repeats):
        started = perf_counter()
        result = lsdt.simulate(problem, policy, HORIZON, STUDY_REPLICATIONS, seed, 1)
        taken.append((perf_counter() - started, float(result.seconds(policy)[1].sum())))
    ratio = statistics.median(whole / rounds for whole, rounds in taken)
    ours, theirs = (min(times) / STUDY_REPLICATIONS for times in zip(*taken, strict=True))
    return Row(
        f"simulate with one thread: {policy}, {STUDY_REPLICATIONS:,} times {SIZE}; seconds of one",
        ours,
        "its rounds alone",
        theirs,
        f"{ratio:.2f} x",
        "<= 2 x",
        ratio <= 2.0,
    )


def study_csi() -> Row:
    return _study("lsdt_csi")


def study_ucb1() -> Row:
    return _study("ucb1")


def study_ts() -> Row:
    return _study("ts", 3)


def offline_closure() -> Row:
    """The offline step of a closure policy, and all else before its first round."""
    problem, policy = lsdt.problems.uniform(ARMS, p_similar=0.5, p_dissimilar=0.5), "lsdt_closure"
    lsdt.simulate(problem, policy, 10, 3, n_jobs=1)
    taken = []
    for seed in range(5):
        taken.append(float(lsdt.simulate(problem, policy, 10, 40, seed, 1).seconds(policy)[0].mean()))
    seconds = min(taken)
    return Row(
        f"{policy} before its first round, K = {ARMS}, half of the relations known",
        seconds,
        "",
        None,
        f"{1e3 * seconds:.1f} ms",
        "<= 1 ms",
        seconds <= 1e-3,
    )


def _threads() -> float:
    started = perf_counter()
    lsdt.simulate(lsdt.problems.uniform(), STUDY, 1000, STUDY_REPLICATIONS, n_jobs=2)
    return perf_counter() - started


def _worker(seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, str(seed), ",".join(STUDY)]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    return worker


def _processes(workers: list[subprocess.Popen[str]]) -> float:
    """Return the seconds for the whole study at the summed speed of two processes with a half each."""
    half = STUDY_REPLICATIONS // 2
    for worker in workers:
        print(half, file=worker.stdin, flush=True)
    taken = [float(worker.stdout.readline()) for worker in workers]  # type: ignore[union-attr]
    return STUDY_REPLICATIONS / sum(half / seconds for seconds in taken)


def two_threads() -> Row:
    lsdt.simulate(lsdt.problems.uniform(), STUDY, 1000, 2)
    workers = [_worker(seed) for seed in (0, 1)]
    pairs = [(_threads(), _processes(workers)) for _ in range(REPEATS)]
    for worker in workers:
        worker.communicate()
    ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    share = statistics.median(apart / together for together, apart in pairs)
    return Row(
        f"simulate with two threads: {', '.join(STUDY)}, {STUDY_REPLICATIONS} times {SIZE}",
        ours,
        "two processes with one thread and half of it each",
        theirs,
        f"{share:.2f} of the speed",
        ">= 0.9",
        share >= 0.9,
    )


def _output(script: str, mode: str = "auto") -> str:
    environment = {**os.environ, "LSDT_JIT": mode}
    # An installed package has its bytecode on disk; to compile all sources again would take a second.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return answer.stdout


def _first_use(mode: str, words: str) -> Row:
    _output(FIRST_USE, mode)  # compiles, where that was not done before
    seconds = statistics.median(float(_output(FIRST_USE, mode)) for _ in range(5))
    return Row(
        f"first simulate of a new process after `import lsdt`: lsdt_csi, ucb1, {SIZE}; {words}, CPU",
        seconds,
        "",
        None,
        f"{seconds:.2f} s",
        "< 0.7 s",
        seconds < 0.7,
    )


def first_use() -> Row:
    return _first_use("auto", "interpreted")


def first_use_loaded() -> Row:
    return _first_use("always", "with LSDT_JIT=always, compiled before")


def command_help() -> Row:
    _output(HELP)  # fails when Numba is loaded
    taken = []
    for _ in range(9):
        started = perf_counter()
        subprocess.run([sys.executable, "-m", "lsdt.cli.main", "--help"], capture_output=True, check=True)
        taken.append(perf_counter() - started)
    seconds = statistics.median(taken)
    return Row(
        "lsdt --help, the whole process; Numba is not loaded",
        seconds,
        "",
        None,
        f"{seconds:.2f} s",
        "< 0.5 s",
        seconds < 0.5,
    )


WORKS = [
    generic_csi,
    generic_ucb1,
    generic_ts,
    ckl_gaussian,
    ckl_bernoulli,
    study_csi,
    study_ucb1,
    study_ts,
    offline_closure,
    two_threads,
    first_use,
    first_use_loaded,
    command_help,
]
