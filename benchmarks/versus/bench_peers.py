"""UCB1 and Thompson sampling of lsdt against other packages, each in an environment of its own.

A peer plays one run with its own policy object, choose and learn in turns; only these rounds are timed. lsdt
plays many with its public `simulate` on one thread. Of these the rounds are compared, as the result reports
them, and beside that the whole call: seeds, states and records included. The peers' seconds and those of the
whole call are processor time, those of the rounds a median, so that other work on the machine disturbs less.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path
from time import process_time

from setup_peers import peer_python

import lsdt
from replications import ARMS, HORIZON, SIZE
from timing import Row

REPEATS, REPLICATIONS = 7, {"ucb1": 1000, "ts": 200}
LOOPS = Path(__file__).with_name("peer_loops.py")
TITLES = {"SMPyBandits": "SMPyBandits", "mabwiser": "MABWiser", "river": "river"}


def _peer(environment: str, package: str, policy: str) -> subprocess.Popen[str]:
    python = peer_python(environment)
    if not python.exists():
        sys.exit(f"there is no {python}; run setup_peers.py first")
    command = [str(python), "-W", "ignore", str(LOOPS), package, policy, str(ARMS)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _answer(peer: subprocess.Popen[str]) -> str:
    assert peer.stdout is not None
    return peer.stdout.readline().strip()


def _by_peer(peer: subprocess.Popen[str]) -> float:
    print(HORIZON, file=peer.stdin, flush=True)
    return float(_answer(peer))


def _by_lsdt(policy: str) -> tuple[float, float]:
    """Return the seconds of a run: its rounds alone, and its share of the whole call."""
    count = REPLICATIONS[policy]
    means = [(arm + 0.5) / ARMS for arm in range(ARMS)]
    problem = lsdt.problems.given(means, rewards="bernoulli")
    started = process_time()
    result = lsdt.simulate(problem, policy, HORIZON, count, n_jobs=1)
    whole = (process_time() - started) / count
    return float(statistics.median(result.seconds(policy)[1])), whole


def _against(environment: str, package: str, policy: str, least: float) -> Row:
    peer = _peer(environment, package, policy)
    version = _answer(peer)
    _by_lsdt(policy)
    taken = [(*_by_lsdt(policy), _by_peer(peer)) for _ in range(REPEATS)]
    peer.communicate()
    ratio = statistics.median(theirs / rounds for rounds, _, theirs in taken)
    of_all = statistics.median(theirs / whole for _, whole, theirs in taken)
    ours, _, theirs = map(min, zip(*taken, strict=True))
    return Row(
        f"{policy}, bernoulli rewards, {SIZE}",
        ours,
        f"{TITLES[package]} {version}",
        theirs,
        f"{ratio:.0f} x; {of_all:.0f} x with all around the rounds",
        f">= {least:g} x",
        bool(ratio >= least),
    )


def smpybandits_ucb1() -> Row:
    return _against("old", "SMPyBandits", "ucb1", 150)


def smpybandits_ts() -> Row:
    return _against("old", "SMPyBandits", "ts", 60)


def mabwiser_ucb1() -> Row:
    return _against("current", "mabwiser", "ucb1", 1000)


def mabwiser_ts() -> Row:
    return _against("current", "mabwiser", "ts", 1000)


def river_ucb1() -> Row:
    return _against("current", "river", "ucb1", 300)


def river_ts() -> Row:
    return _against("current", "river", "ts", 300)


WORKS = [smpybandits_ucb1, smpybandits_ts, mabwiser_ucb1, mabwiser_ts, river_ucb1, river_ts]
