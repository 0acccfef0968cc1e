"""The queries of the order rule in an engine: bounds that add up along links.

A link says ``x_end - x_start <= bound``, or ``<`` if it is strict. The *depth* of an arm is twice the number
of quanta by which it is known to lie below the largest mean, plus one if strictly; an arm is out when its
depth is above 0. A round follows the links from all arms that became deeper in the round before. Depths are
integers, so that no sum is rounded. After any number of rounds all depths are valid; more rounds can only
increase them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from lsdt.side_information.engines.workspace import Workspace, collect, row_of
from lsdt.side_information.layouts.integer_steps import MOST_QUANTA, common_quantum
from lsdt.side_information.layouts.thresholds import Thresholds

if TYPE_CHECKING:
    from lsdt.side_information.engines.workspace import Lazy

_MOST_LEVELS = 2**60  # twice the largest sum of bounds along all arms must fit in 64 bits
_EXACT_FLOATS = 2**52  # whole numbers up to here are exact as floats
_MOST_LISTED = 100_000  # distinct bounds read to find a common quantum; more than these hardly have one


class OrderTables:
    """Links between arms, and the depths of arms that are out.

    `ranges` are better pairs and ranges, `near` similar and `far` dissimilar pairs (or None). If the range
    of a dissimilar pair excludes one order of its arms, they are in the other order, at least epsilon apart.
    `finish` appends the table of excluded arms to `out`.
    """

    def __init__(
        self,
        work: Workspace,
        ranges: Lazy,
        near: Lazy | None,
        far: Lazy | None,
        epsilon: float | None,
        n_arms: int,
        out: list[Lazy],
    ) -> None:
        self._work, self._out = work, out
        links = _links_of_ranges(ranges)
        if far is not None and epsilon is not None:
            links = nw.concat([links, *_links_of_ordered(ranges, far, epsilon)])
        has_size = _has_size(links)
        # Similar pairs add nothing to better pairs alone; to ranges with a size they do, if epsilon is known.
        self.reads_similar = near is None or epsilon is not None or not has_size
        if near is not None and epsilon is not None and has_size:
            links = nw.concat([links, *_links_of_pairs(near, epsilon)])
        links, self.quantum, self.is_exact = _in_quanta(links, n_arms, has_size)
        self._links = work.keep(links)
        self._depths: Lazy | None = None
        self._new: Lazy | None = None

    def step(self) -> int:
        """Take one round; return how many arms became deeper."""
        if self._new is None:
            deeper = self._links.select(nw.col("end").alias("arm"), (_COST + nw.col("strict")).alias("depth"))
            deeper = _deepest(deeper.filter(nw.col("depth") > 0))
            self._depths = self._new = self._work.keep(deeper)
            return self._count(self._new)
        assert self._depths is not None
        before, links = self._new.rename({"arm": "start"}), self._links
        most = row_of(before.select(nw.col("depth").max().alias("most")))["most"]
        if most is None:
            return 0
        links = links.filter(_COST + nw.col("strict") + int(most) > 0).join(before, on="start")
        depth = nw.col("depth")
        sums = depth + _COST + nw.col("strict") * (1 - depth % 2)
        deeper = _deepest(
            links.select(nw.col("end").alias("arm"), sums.alias("depth")).filter(nw.col("depth") > 0)
        )
        known = self._depths.rename({"depth": "known"})
        deeper = deeper.join(known, on="arm", how="left")
        deeper = deeper.filter(nw.col("known").is_null() | (depth > nw.col("known"))).select("arm", "depth")
        new = self._work.keep(deeper)
        n_new = self._count(new)
        if n_new:
            old = self._depths.join(new, on="arm", how="anti")
            self._depths = self._work.keep(nw.concat([old.select("arm", "depth"), new]))
        self._new = new
        return n_new

    def finish(self) -> int:
        """Append the excluded arms to `out`, and return how many there are."""
        assert self._depths is not None
        out = self._depths.select("arm")
        self._out.append(out)
        return self._count(out)

    @staticmethod
    def _count(frame: Lazy) -> int:
        return int(row_of(frame.select(nw.len().alias("arms")))["arms"])


_COST = nw.col("cost")  # minus twice the bound, in quanta


def _deepest(depths: Lazy) -> Lazy:
    return depths.group_by("arm").agg(nw.col("depth").max())


def _links_of_ranges(ranges: Lazy) -> Lazy:
    low, high = nw.col("low"), nw.col("high")
    above = ranges.filter(~high.is_null()).select(
        nw.col("hi").alias("start"),
        nw.col("lo").alias("end"),
        high.alias("bound"),
        nw.col("strict_high").alias("strict"),
    )
    below = ranges.filter(~low.is_null()).select(
        nw.col("lo").alias("start"),
        nw.col("hi").alias("end"),
        (0.0 - low).alias("bound"),
        nw.col("strict_low").alias("strict"),
    )
    return nw.concat([above, below])


def _links_of_ordered(ranges: Lazy, far: Lazy, epsilon: float) -> list[Lazy]:
    """Return links of dissimilar pairs whose range excludes one of their two orders."""
    both = ranges.join(far.select("lo", "hi"), on=["lo", "hi"])
    low, high = nw.col("low"), nw.col("high")
    is_above = (low > -epsilon) | ((low == -epsilon) & (nw.col("strict_low") == 1))
    is_below = (high < epsilon) | ((high == epsilon) & (nw.col("strict_high") == 1))
    return [
        both.filter(is_ordered).select(
            nw.col(start).alias("start"),
            nw.col(end).alias("end"),
            nw.lit(-epsilon).cast(nw.Float64).alias("bound"),
            nw.lit(0).cast(nw.Int64).alias("strict"),
        )
        for start, end, is_ordered in (("lo", "hi", is_above), ("hi", "lo", is_below))
    ]


def _links_of_pairs(near: Lazy, epsilon: float) -> list[Lazy]:
    return [
        near.select(
            nw.col(start).alias("start"),
            nw.col(end).alias("end"),
            nw.lit(epsilon).cast(nw.Float64).alias("bound"),
            nw.lit(1).cast(nw.Int64).alias("strict"),
        )
        for start, end in (("lo", "hi"), ("hi", "lo"))
    ]


def _has_size(links: Lazy) -> bool:
    found = row_of(links.select((nw.col("bound") != 0.0).cast(nw.Int64).sum().alias("sized")))
    return bool(found["sized"])


def _in_quanta(links: Lazy, n_arms: int, has_size: bool) -> tuple[Lazy, float, bool]:
    """Return links with their cost in quanta, the size of a quantum, and whether none was rounded."""

    def costs(bounds: nw.Expr) -> Lazy:
        return links.select("start", "end", (bounds.cast(nw.Int64) * -2).alias("cost"), "strict")

    if not has_size:
        return links.select("start", "end", nw.lit(0).cast(nw.Int64).alias("cost"), "strict"), 1.0, True
    bound = nw.col("bound")
    sizes = links.filter(bound != 0.0).select(bound.abs().alias("size"))
    most = min(_MOST_LEVELS // (n_arms + 1), _EXACT_FLOATS)
    common = _common_quantum(sizes.unique(), min(most, MOST_QUANTA))
    if common is not None:
        return costs((bound / common).round()), common, True
    largest = float(row_of(sizes.select(nw.col("size").max()))["size"])
    # Dividing by a power of two does not round, so rounding up is exact.
    quantum = float(np.ldexp(1.0, int(np.frexp(largest / most)[1])))
    whole = (bound / quantum).round()
    return costs(nw.when(whole * quantum < bound).then(whole + 1.0).otherwise(whole)), quantum, False


def _common_quantum(sizes: Lazy, most: int) -> float | None:
    listed: Any = collect(sizes.head(_MOST_LISTED + 1)).column("size")
    if len(listed) > _MOST_LISTED:
        return None
    values = np.asarray(listed, np.float64)
    return common_quantum(Thresholds(values, values[:1]), most)
