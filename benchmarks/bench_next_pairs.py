"""Questions about very many arms, and a judge command that takes its time."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

import lsdt
from lsdt.cli.main import main
from timing import Row, timed

EPSILON = 0.1
ARMS, BATCH, BATCHES = 10_000, 1_000, 14
PROMPTS, ANSWERS, JOBS = 120, 240, 8
# Arm i is better than arm j if i > j + 2; an answer takes .24 s, as one of a model behind an endpoint may.
JUDGE = "#!/bin/sh\nsleep .24\nd=$(($1 - $2))\n"
JUDGE += "if [ $d -gt 2 ]; then echo better; elif [ $d -lt -2 ]; then echo worse; else echo equal; fi\n"


def _answer(kind: str, difference: float) -> object:
    if kind == "range":
        return difference - EPSILON / 2, difference + EPSILON / 2
    if abs(difference) < EPSILON:
        return "similar" if kind == "similar" else "equal"
    if kind == "similar":
        return "dissimilar"
    return "better" if difference > 0.0 else "worse"


def _slowest(kind: str) -> float:
    """Return the processor seconds of the slowest batch; the first one, which loads code, is left out."""
    means = np.random.default_rng(5).uniform(0.1, 1.0, ARMS)
    lsdt.next_pairs(lsdt.SideInformation(20, [(0, 1)], [(1, 2)], epsilon=EPSILON), answers=kind)
    inquiry = lsdt.Inquiry(lsdt.SideInformation(ARMS, epsilon=EPSILON), kind, until=10)
    taken = []
    for _turn in range(BATCHES):
        started = process_time()
        questions = inquiry.next(BATCH)
        taken.append(process_time() - started)
        for one in questions:
            inquiry.tell(one.a, one.b, _answer(kind, means[one.a] - means[one.b]))
    return max(taken[1:])


def _row(kind: str, title: str) -> Row:
    seconds = _slowest(kind)
    work = f"1,000 questions about 10^4 arms, {title}, slowest batch of {BATCHES} (processor time)"
    return Row(work, seconds, "", None, f"{seconds:.2f} s", "< 1 s", seconds < 1.0)


def similar() -> Row:
    return _row("similar", "similar or dissimilar")


def better() -> Row:
    return _row("better", "better, worse or about equal")


def ranges() -> Row:
    return _row("range", "by how much")


def command() -> Row:
    """`lsdt next-pairs --judge COMMAND --jobs 8` against one command after the other."""
    with tempfile.TemporaryDirectory() as folder:
        judge, arms = Path(folder, "judge.sh"), Path(folder, "prompts.txt")
        judge.write_text(JUDGE)
        judge.chmod(0o755)
        arms.write_text("\n".join(map(str, range(PROMPTS))))

        def ask(jobs: int) -> None:
            words = ["next-pairs", "--arms", str(arms), "--answers", "better", "--jobs", str(jobs)]
            words += ["--judge", f"{judge} {{a}} {{b}}", "--max-questions", str(ANSWERS)]
            with contextlib.redirect_stdout(io.StringIO()):
                main([*words, "--log", str(Path(folder, f"answers-{jobs}.csv"))])

        many, one = timed(lambda: ask(JOBS)), timed(lambda: ask(1))
    return Row(
        f"lsdt next-pairs, {ANSWERS} answers about {PROMPTS} arms, a judge command of .24 s, --jobs {JOBS}",
        many,
        "--jobs 1",
        one,
        f"{one / many:.1f} x",
        ">= 4 x",
        one >= 4.0 * many,
    )


WORKS = [similar, better, ranges, command]
