"""Questions about very many arms: the slowest batch of a whole inquiry."""

from __future__ import annotations

from time import process_time

import numpy as np

import lsdt
from timing import Row

EPSILON = 0.1
ARMS, BATCH, BATCHES = 10_000, 1_000, 14


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


WORKS = [similar, better, ranges]
