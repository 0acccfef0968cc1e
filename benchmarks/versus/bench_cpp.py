"""lsdt's compiled rounds against loops.cpp, the same rules written by hand in C++.

Both sides get the same problems and random streams and must play the same arms. A replication is one call
from Python on either side; making its tallies is inside the time that is measured.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from lsdt.kernel import random
from lsdt.kernel.random import Purpose
from replications import CHECKPOINTS, SIZE, Replication, TimedRun, in_turns_against, replications
from timing import Row

REPEATS = 25
NATIVE, PLAIN = "-O3 -march=native", "-O3"
SOURCE = Path(__file__).with_name("loops.cpp")


class Run(ctypes.Structure):
    """The structure of the same name in loops.cpp."""

    _fields_ = (
        ("arms", ctypes.c_void_p),
        ("n_arms", ctypes.c_int64),
        ("means", ctypes.c_void_p),
        ("gaps", ctypes.c_void_p),
        ("reward_key", ctypes.c_void_p),
        ("policy_key", ctypes.c_void_p),
        ("checkpoints", ctypes.c_void_p),
        ("n_checkpoints", ctypes.c_int64),
        ("regret", ctypes.c_void_p),
        ("reward", ctypes.c_void_p),
        ("plays", ctypes.c_void_p),
    )


def build(flags: str, folder: str) -> ctypes.CDLL:
    target = str(Path(folder) / "loops.so")
    command = ["g++", "-std=c++17", *flags.split(), "-shared", "-fPIC", "-o", target, str(SOURCE)]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(target)
    library.set_ziggurat(*map(_address, (random._WIDTH, random._INSIDE, random._HEIGHT)))
    return library


def _address(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _arguments(work: Replication, totals: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """Return the arguments of a loop, and the arrays that must stay while it runs."""
    setting, own = work.setting(), work.stream(Purpose.POLICY)
    arrays = (setting.arms, setting.means, setting.gaps, totals.stream, own, CHECKPOINTS)
    arms, means, gaps, noise, policy, checkpoints = (array.ctypes.data for array in arrays)
    outputs = (array.ctypes.data for array in (totals.regret, totals.reward, totals.plays))
    sizes = len(setting.arms), len(CHECKPOINTS)
    run = Run(arms, sizes[0], means, gaps, noise, policy, checkpoints, sizes[1], *outputs)
    bernoulli = ctypes.c_bool(work.instance.rewards.name == "bernoulli")
    return [ctypes.byref(run), bernoulli, *_parameters(work.ready.player.state)], arrays


def _parameters(state: Any) -> tuple[Any, ...]:
    """Return what the loops want to know beside the run: alpha, and the classes where there are any."""
    alpha = ctypes.c_double(getattr(state, "alpha", 0.0))
    if not hasattr(state, "layout"):
        return alpha, None, None, ctypes.c_int64(0)
    starts, members = state.layout.starts, state.layout.members
    return alpha, _address(starts), _address(members), ctypes.c_int64(len(starts) - 1)


def _play_with(function: Any, works: list[Replication]) -> TimedRun:
    ledgers = [work.totals() for work in works]
    calls = [_arguments(work, totals) for work, totals in zip(works, ledgers, strict=True)]
    started = process_time()
    for arguments, _ in calls:
        function(*arguments)
    return process_time() - started, ledgers


def _compare(policy: str, rewards: str, most: float, flags: str = NATIVE) -> Row:
    works = replications(policy, rewards)
    with tempfile.TemporaryDirectory() as folder:
        function = getattr(build(flags, folder), policy)
        measured = in_turns_against(policy, works, lambda these: _play_with(function, these), REPEATS)
    ratio, ours, theirs = measured
    return Row(
        f"{policy}, {rewards} rewards, {SIZE}",
        ours,
        f"C++ by hand, g++ {flags}",
        theirs,
        f"{ratio:.2f} x",
        f"<= {most:g} x",
        ratio <= most,
    )


def csi_gaussian() -> Row:
    return _compare("lsdt_csi", "gaussian", 1.3)


def csi_bernoulli() -> Row:
    return _compare("lsdt_csi", "bernoulli", 1.3)


def csi_plain() -> Row:
    return _compare("lsdt_csi", "gaussian", 1.3, PLAIN)


def ucb1_gaussian() -> Row:
    return _compare("ucb1", "gaussian", 1.6)


def ucb1_plain() -> Row:
    return _compare("ucb1", "gaussian", 1.6, PLAIN)


def ts_bernoulli() -> Row:
    return _compare("ts", "bernoulli", 1.3)


def ts_plain() -> Row:
    return _compare("ts", "bernoulli", 1.3, PLAIN)


WORKS = [csi_gaussian, csi_bernoulli, csi_plain, ucb1_gaussian, ucb1_plain, ts_bernoulli, ts_plain]
