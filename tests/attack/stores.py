"""Stores under attack: a writer that is killed, a disk that fills up, a file that is damaged or taken away.

What a writer said it was answered is in the log, once, and the agent that is opened afterwards is what the
log says. A damaged file is refused, or says the same. A writer whose files were taken away, or that waited
too long for another program, answers nothing more and ends with an error. Nothing but `LsdtError` comes out.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import tempfile
import time
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lsdt
from attack.damaged_files import damaged
from attack.outcome import Outcome
from attack.processes import apart, forked
from lsdt.errors import LostDecision, LsdtError, StoreFailed
from lsdt.storage import Kind, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

_FAILED = 10  # the exit code of a writer that was told that its store failed
SIDE = lsdt.from_means([0.2, 0.35, 0.5, 0.8], 0.3, ["a", "b", "c", "d"])
POLICIES = ("ucb1", "ts", "ossb")
_LOOP = 0.25  # seconds within which a writer is killed
_MOST_ROOM = 400_000  # bytes
_PATIENCE = 0.15  # seconds of a writer for the lock of another program
_LONGEST = 60.0  # seconds for a writer to notice what was done to its files


def attack(seed: int, seconds: float) -> Outcome:
    """Kill, fill and damage stores in turn."""
    return apart("stores", seed, seconds)


def inside(seed: int, seconds: float) -> Outcome:
    """Run the attack in this process, which forks one for every case."""
    until = time.monotonic() + seconds
    tried, well, failures = 0, 0, []
    for policy in POLICIES:  # compiled here, not in every child
        agent = lsdt.Agent(SIDE, policy)
        for decision in agent.ask(3):
            agent.tell(decision, 1.0)
    with tempfile.TemporaryDirectory() as name:
        for turn in count():
            if turn >= len(_CASES) and time.monotonic() > until:
                break
            case, folder = _CASES[turn % len(_CASES)], Path(name) / f"case {turn}"
            folder.mkdir()
            rng = np.random.default_rng([seed, turn])
            try:
                wrong = case(folder / "agents.db", rng)
            except Exception as error:
                wrong = f"{type(error).__name__}: {str(error)[:200]}"
            tried += 1
            well += not wrong
            if wrong:
                failures.append(f"{case.__name__.strip('_')}, case {turn} of --seed {seed}: {wrong}")
            shutil.rmtree(folder)
    return Outcome(tried, well, failures)


def _work(path: Path, rng: np.random.Generator, answers: Path) -> Callable[[Callable[[str], None]], int]:
    """Return what a writer does until it is stopped: ask, tell, cancel, and note what was answered."""
    policy = POLICIES[rng.integers(len(POLICIES))]
    durability = "full" if rng.random() < 0.3 else "process"
    every = int(rng.integers(5, 60))
    choices = np.random.default_rng(rng.integers(2**32))

    def work(_say: Callable[[str], None]) -> int:
        note = os.open(answers, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        store = open_store(f"sqlite:///{path}", durability=durability, patience=_PATIENCE)
        agent = lsdt.Agent.open(store, "x", SIDE, policy=policy, snapshot_every=every)
        while True:
            decision = agent.ask()
            os.write(note, b"ask %d %d\n" % (decision.number, decision.arm))
            if choices.random() < 0.7:
                agent.tell(decision, float(choices.random() < 0.5))
                os.write(note, b"tell %d %d\n" % (decision.number, decision.arm))
            elif choices.random() < 0.5:
                agent.cancel(decision)
                os.write(note, b"cancel %d %d\n" % (decision.number, decision.arm))

    return work


def _kill(path: Path, rng: np.random.Generator) -> str:
    """Kill a writer, twice in a row."""
    answers = path.with_name("answers")
    for _ in range(2):
        work = _work(path, rng, answers)
        pid = os.fork()
        if pid == 0:
            try:
                work(lambda _: None)
            finally:
                os._exit(1)
        time.sleep(rng.uniform(0.0, _LOOP))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return _complaint(path, answers, most_unanswered=2)


def _take_away(path: Path, rng: np.random.Generator) -> str:
    """Remove, rename or replace a file of a store while a writer is at work, or give it a second name."""
    folder, answers = path.with_name("store"), path.with_name("answers")
    folder.mkdir()
    path = folder / path.name
    harm = _HARMS[rng.integers(len(_HARMS))]
    with _Writer(_work(path, rng, answers), answers) as writer:
        time.sleep(rng.uniform(0.0, _LOOP))
        left = harm(path)
        n_answers = writer.n_answers()
        code = writer.ended()
        if code != _FAILED:
            return f"after {harm.__name__.strip('_')} it ended with code {code}"
        if writer.n_answers() > n_answers + 1:  # one may have been on its way
            return f"{writer.n_answers() - n_answers} answers after {harm.__name__.strip('_')}"
    if left is None:
        return ""
    (folder / f"{path.name}-link").unlink(missing_ok=True)
    return _complaint(left, answers, most_unanswered=2)


def _remove(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    shutil.copyfile(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def _rename(path: Path) -> Path:
    return path.rename(path.with_name("renamed.db"))


def _rename_folder(path: Path) -> Path:
    return path.parent.rename(path.parent.with_name("renamed")) / path.name


def _link(path: Path) -> Path:
    os.link(path, path.with_name(f"{path.name}-link"))
    return path


def _remove_log(path: Path) -> Path:
    path.with_name(f"{path.name}-wal").unlink()
    return path


def _remove_index(path: Path) -> Path:
    path.with_name(f"{path.name}-shm").unlink()
    return path


def _remove_lock(path: Path) -> Path:
    path.with_name(f"{path.name}-lock").unlink()
    return path


_HARMS: tuple[Callable[[Path], Path | None], ...] = (
    _remove, _replace, _rename, _rename_folder, _link, _remove_log, _remove_index, _remove_lock,
)  # fmt: skip


def _hold(path: Path, rng: np.random.Generator) -> str:
    """Hold the write lock of a file for a while, sometimes for longer than the writer waits."""
    answers, is_long = path.with_name("answers"), rng.random() < 0.5
    with _Writer(_work(path, rng, answers), answers) as writer:
        time.sleep(rng.uniform(0.0, _LOOP))
        other = sqlite3.connect(path, timeout=_LONGEST, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        n_answers = writer.n_answers()
        if is_long:
            code = writer.ended()
            if code != _FAILED:
                return f"it ended with code {code} while another program held the lock"
        else:
            time.sleep(rng.uniform(0.0, 0.3 * _PATIENCE))
        if writer.n_answers() > n_answers + 1:
            return f"{writer.n_answers() - n_answers} answers while another program held the lock"
        n_answers = writer.n_answers()
        other.execute("ROLLBACK")
        other.close()
        if not is_long:
            writer.wait_for_answers(n_answers + 5)
    return _complaint(path, answers, most_unanswered=2)


class _Writer:
    """A writer in a fork, which has begun to answer; at the end it is killed, if it is still there."""

    def __init__(self, work: Callable[[Callable[[str], None]], int], answers: Path) -> None:
        self._answers = answers
        self._code: int | None = None
        self._pid = os.fork()
        if self._pid == 0:
            try:
                work(lambda _: None)
            except StoreFailed:
                os._exit(_FAILED)
            finally:
                os._exit(1)
        self.wait_for_answers(1)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def n_answers(self) -> int:
        return self._answers.read_bytes().count(b"\n") if self._answers.exists() else 0

    def wait_for_answers(self, n: int) -> None:
        limit = time.monotonic() + _LONGEST
        while self.n_answers() < n:
            if time.monotonic() > limit:
                raise TimeoutError("the writer does not answer")
            time.sleep(0.002)

    def ended(self) -> int | None:
        """Return the exit code; None if it is not over in time."""
        limit = time.monotonic() + _LONGEST
        while time.monotonic() < limit:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
                return self._code
            time.sleep(0.002)
        return None


def _fill(path: Path, rng: np.random.Generator) -> str:
    """Let a writer run into a limit on the size of its files, then give it room again."""
    answers, room = path.with_name("answers"), int(np.exp(rng.uniform(np.log(1_000), np.log(_MOST_ROOM))))
    work = _work(path, rng, answers)

    def limited(say: Callable[[str], None]) -> int:
        answers.touch()
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            return work(say)
        except LsdtError as error:
            say(str(error))
            return 0
        except OSError:  # our own notes ran into the limit
            return 0

    ended = forked(limited)
    if ended.code != 0:
        return f"it ended with code {ended.code}: {ended.text[-200:]}"
    return _complaint(path, answers, most_unanswered=1)


def _complaint(path: Path, answers: Path, most_unanswered: int) -> str:
    """Open what was left behind, and return what is wrong with it."""
    words = {Kind.ASK: "ask", Kind.TELL: "tell", Kind.CANCEL: "cancel"}
    said = answers.read_text().splitlines() if answers.exists() else []
    if said and len(said[-1].split()) != 3:
        said.pop()  # torn
    if not path.exists():
        return "answers without a store" if said else ""
    try:
        agent = lsdt.Agent.open(f"sqlite:///{path}", "x", SIDE, durability="process", snapshot_every=0)
    except LsdtError as error:
        return f"it does not open again: {error}"
    store = agent.lease.store
    log = [entry for batch in store.read("x") for entry in batch if entry.kind in words]
    lines = [f"{words[Kind(entry.kind)]} {entry.number} {entry.arm}" for entry in log]
    told = [entry.arm for entry in log if entry.kind == Kind.TELL]
    plays = agent.to_frame()["plays"].tolist()
    for _ in range(3):
        agent.tell(agent.ask(), 1.0)
    agent.close()
    if len(set(lines)) < len(lines):
        return "an event is in the log twice"
    lost = set(said) - set(lines)
    if lost:
        return f"{len(lost)} of {len(said)} answers are lost, such as {min(lost)!r}"
    if len(lines) - len(said) > most_unanswered:
        return f"{len(lines) - len(said)} events were never answered"
    if plays != np.bincount(np.array(told, int), minlength=4).tolist():
        return "the agent counts other plays than the log"
    return ""


_WHOLE: dict[str, Any] = {}
_NOTES = ("keys", "sessions")


def _damage(path: Path, rng: np.random.Generator) -> str:
    """Damage the file of a store that was closed."""
    if not _WHOLE:
        _WHOLE["bytes"], _WHOLE["content"] = _whole(path.with_name("whole.db"))
    path.write_bytes(damaged(_WHOLE["bytes"], rng))

    def work(say: Callable[[str], None]) -> int:
        try:
            found = _content(path)
        except LsdtError:
            return 0
        if found != _WHOLE["content"]:
            say("it opens with other content")
            return 1
        return 0

    ended = forked(work)
    return "" if ended.code == 0 else f"code {ended.code}: {ended.text.strip()[-200:]}"


def _whole(path: Path) -> tuple[bytes, Any]:
    agent = lsdt.Agent.open(f"sqlite:///{path}", "x", SIDE, policy="ts", snapshot_every=25)
    for number in range(40):
        decision = agent.ask()
        if number % 4:
            agent.tell(decision, float(number % 3 == 0))
    store = agent.lease.store
    for scope in _NOTES:
        store.remember(scope, "k1", b'{"experiment": "A", "reward": 0}')
    agent.close()
    whole = path.read_bytes()
    return whole, _content(path)  # which asks once more


def _content(path: Path) -> Any:
    """Return what an agent in a store knows, what its log says, its settings and its notes."""
    agent = lsdt.Agent.open(f"sqlite:///{path}", "x", snapshot_every=0)
    known = agent.to_frame().to_csv(), agent.pending_numbers(), agent.n_told, agent.ask().arm
    with open_store(f"sqlite:///{path}") as store:
        store.check_notes(but=("answers ", "units "))
        log = [(entry.writer, *entry[3:]) for batch in store.read("x") for entry in batch]
        notes = [store.recall(scope) for scope in _NOTES], store.find("x")
    agent.close()
    return known, log[:-1], notes


def _restore(path: Path, rng: np.random.Generator) -> str:
    """Put a backup back, and tell everything that was ever asked: only what the log holds may be learned."""
    backup = path.with_name("backup.db")
    known = _asked(path, rng, backup)
    lost = known.pop("lost")
    shutil.copy(backup, path)
    for left in path.parent.glob(f"{path.name}-*"):
        left.unlink()
    agent = lsdt.Agent.open(f"sqlite:///{path}", "x", durability="process")
    decisions = known["before"] + lost + agent.ask(int(rng.integers(1, 15)))
    truth = np.bincount([each.arm for each in known["told"]], minlength=4)
    for at in rng.permutation(len(decisions)):
        decision, is_lost = decisions[at], len(known["before"]) <= at < len(known["before"]) + len(lost)
        try:
            agent.tell(decision, 1.0, repeat="ignore")
        except LostDecision:
            if not is_lost:
                return f"decision {decision.number} is in the log, and is refused"
            continue
        if is_lost:
            return f"decision {decision.number} is not in the log, and was learned"
        truth[decision.arm] += decision not in known["told"]
    plays = agent.to_frame()["plays"].to_numpy()
    agent.close()
    return "" if np.array_equal(plays, truth) else f"learned {plays.tolist()}, sent {truth.tolist()}"


def _asked(path: Path, rng: np.random.Generator, backup: Path) -> dict[str, list[lsdt.agent.Decision]]:
    """Ask and tell in several openings, with a backup in between; return what it holds, and what not."""
    found: dict[str, list[lsdt.agent.Decision]] = {"before": [], "lost": [], "told": []}
    policy, n_before = POLICIES[rng.integers(len(POLICIES))], int(rng.integers(1, 4))
    for turn in range(n_before + int(rng.integers(1, 3))):
        with lsdt.Agent.open(f"sqlite:///{path}", "x", SIDE, policy=policy, durability="process") as agent:
            made = agent.ask(int(rng.integers(1, 12)))
            told = [each for each in made if rng.random() < 0.4]
            agent.tell_many([(each, 1.0) for each in told])
            found["before" if turn < n_before else "lost"] += made
            if turn < n_before:
                found["told"] += told
            if turn == n_before - 1:
                with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
                    source.backup(target)
    return found


_CASES = (_kill, _fill, _damage, _restore, _take_away, _damage, _hold, _take_away)
