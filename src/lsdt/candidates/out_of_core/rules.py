"""The rounds of the two rules that an engine can run.

**Triangles.** The engine lists wedges (see `lsdt.side_information.engines.triangle_tables`), and what it
lists may be written to disk. So no query lists more than a few times as many wedges as there are pairs. If
there are more, wedges of a sample of each arm's similar pairs come first: if there are many triangles, these
exclude most arms, and fewer arms have fewer wedges, so the next sample can take more of each. When that no
longer pays, the pairs that the remaining arms do not need are dropped, and the arms are decided part by part.
Stopping after any query leaves more arms, but never loses a candidate.

**Order.** Bounds pass along links, one link per round, from arms whose bound fell in the round before. One
round is enough for better pairs: an arm with another above it is out. Ranges add up, and take as many rounds
as the longest chain that still lowers a bound. Stopping early leaves more arms here too.
"""

from __future__ import annotations

from math import isqrt
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from lsdt._progress import counter
from lsdt.candidates.propagation.method import Clock, Stage
from lsdt.errors import counted

if TYPE_CHECKING:
    from lsdt.side_information import OrderTables, TriangleTables


class Limits(NamedTuple):
    """Limits on the size of one query and on the number of rounds.

    A query lists about `wedges_per_pair` wedges for every pair, or `fewest_wedges` if that is more. A sample
    pays if it decides a share `worth_while` of the open arms; it takes at least `fewest_sampled` pairs per
    arm. The order rule takes at most `most_rounds` rounds. More wedges per query need more disk and fewer
    queries; more rounds follow longer chains.
    """

    wedges_per_pair: int = 4
    fewest_wedges: int = 20_000_000
    fewest_sampled: int = 4
    worth_while: float = 0.1
    most_rounds: int = 100


USUAL_LIMITS = Limits()


def exclude_by_triangles(
    queries: TriangleTables, n_arms: int, n_pairs: int, clock: Clock, limits: Limits = USUAL_LIMITS
) -> Stage:
    """Exclude every arm that two similar, mutually dissimilar arms rule out."""
    started, n_out, rounds = perf_counter(), 0, 0
    most = max(limits.wedges_per_pair * n_pairs, limits.fewest_wedges)
    left = queries.count_open()
    while left.arms and left.wedges > most and not clock.is_over():
        sampled = max(isqrt(2 * most // left.arms), limits.fewest_sampled)
        n_out += queries.sample(sampled, rounds)
        rounds += 1
        before, left = left, queries.count_open()
        if before.arms - left.arms < limits.worth_while * before.arms:
            break
    remark = ""
    if left.arms:
        n_parts, part = queries.prepare(most), 0
        with counter(n_parts, "parts") as count:
            while part < n_parts and not clock.is_over():
                n_out += queries.decide(part)
                part += 1
                count(1)
        if part < n_parts:
            remark = f"time ran out after {part} of {counted(n_parts, 'part')} of the arms; the others stay"
    return Stage("triangles", n_arms, n_out, perf_counter() - started, remark)


def exclude_by_order(queries: OrderTables, n_arms: int, clock: Clock, limits: Limits = USUAL_LIMITS) -> Stage:
    """Exclude every arm that another one is known to lie above, within the limit on rounds."""
    started, rounds = perf_counter(), 1
    falling = queries.step()
    while falling and rounds < limits.most_rounds and not clock.is_over():
        falling = queries.step()
        rounds += 1
    remarks = []
    if falling:
        remarks.append(
            f"bounds of {counted(falling, 'arm')} still fell in round {rounds}: either chains are longer, or "
            "relations contradict one another; more arms may be out"
        )
    if not queries.reads_similar:
        remarks.append("similar pairs were not combined with ranges, since their epsilon is not known")
    if not queries.is_exact:
        remarks.append(
            "the ends of ranges have no common unit, and each was widened by less than "
            f"{queries.quantum:.1g}: an arm that could be excluded by so little may stay"
        )
    return Stage("order", n_arms, queries.finish(), perf_counter() - started, "; ".join(remarks))
