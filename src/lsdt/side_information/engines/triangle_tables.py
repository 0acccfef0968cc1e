"""The queries of the triangle rule in an engine.

An arm x is out when two arms a and b similar to it are dissimilar. To look for that, the engine lists
*wedges* and looks up their third side. It can start from either of two kinds:

- two similar pairs at x; check whether their ends are dissimilar: d (d - 1) / 2 wedges for d similar arms;
- a similar pair (x, a) and a dissimilar pair (a, b); check whether x and b are similar. Dissimilar pairs are
  directed from the arm with fewer of them, so that at most sqrt(2 n) of n such pairs start at one arm.

Taking the cheaper for every arm, there are at most about m^1.5 wedges of m pairs, however large the hubs. An
arm that is similar to d others may have far more triangles than are needed to exclude it: `sample` examines
wedges of a few of its similar pairs only. Every triangle found there is real, so that sampling is sound; an
arm without one stays open, unless all of its pairs were examined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import narwhals as nw

from lsdt.side_information.engines.workspace import Workspace, row_of

if TYPE_CHECKING:
    from lsdt.side_information.engines.workspace import Lazy

# Coins are linear hashes modulo a prime whose products with the factors fit in 64 bits. The factors are
# multipliers of well-known random number generators: ANSI C, then those of Fishman and Moore (1986).
_PRIME = 2**31 - 1
_FACTORS = (1_103_515_245, 742_938_285, 950_706_376, 1_226_874_159, 62_089_911, 1_343_714_438)


class OpenArms(NamedTuple):
    """How many arms may still be excluded, and how many wedges would decide all of them."""

    arms: int
    wedges: int


class TriangleTables:
    """Tables of similar pairs from either side, of dissimilar pairs, and of arms that are still open.

    `kinds` are the pairs (``lo``, ``hi``, ``near``); tables of excluded arms are appended to `out`, and arms
    that are already in it are skipped.
    """

    def __init__(self, work: Workspace, kinds: Lazy, out: list[Lazy]) -> None:
        self._work, self._out = work, out
        near = kinds.filter(nw.col("near") == 1)
        self._near = nw.concat(
            [
                near.select(nw.col("lo").alias("x"), nw.col("hi").alias("y")),
                near.select(nw.col("hi").alias("x"), nw.col("lo").alias("y")),
            ]
        )
        self._far = kinds.filter(nw.col("near") == 0).select(nw.col("lo").alias("a"), nw.col("hi").alias("b"))
        self._open = self._degrees(self._near)

    def _degrees(self, near: Lazy) -> Lazy:
        """Return the arms that are not out and have at least two similar arms, with the number of these."""
        degrees = near.group_by("x").agg(nw.len().cast(nw.Int64).alias("degree"))
        degrees = degrees.filter(nw.col("degree") > 1)
        for out in self._out:
            degrees = degrees.join(out, left_on="x", right_on="arm", how="anti")
        return self._work.keep(degrees)

    def count_open(self) -> OpenArms:
        """Count the arms that may still be excluded, and the wedges at them."""
        degree = nw.col("degree").cast(nw.Float64)
        wedges = (degree * (degree - 1.0) * 0.5).sum()
        found = row_of(self._open.select(nw.len().alias("arms"), wedges.alias("wedges")))
        return OpenArms(int(found["arms"]), int(found["wedges"] or 0))

    def sample(self, most: int, number: int) -> int:
        """Examine about `most` similar pairs of every open arm; return how many arms they exclude.

        Arms with no more than `most` similar arms are decided. Another `number` gives another sample.
        """
        near = self._near.join(self._open, on="x")
        left, right = _FACTORS[number % len(_FACTORS)], _FACTORS[(number + 1) % len(_FACTORS)]
        x, y = nw.col("x").abs() % _PRIME, nw.col("y").abs() % _PRIME
        coin = (x * left + y * right) % _PRIME
        sampled = near.filter(coin * nw.col("degree") < nw.lit(most * _PRIME)).select("x", "y")
        kept = self._work.keep(sampled)
        n_out = self._exclude([self._by_near(kept, self._far)])
        self._work.drop(kept)
        undecided = self._open.filter(nw.col("degree") > most).join(
            self._out[-1], left_on="x", right_on="arm", how="anti"
        )
        before, self._open = self._open, self._work.keep(undecided)
        self._work.drop(before)
        return n_out

    def prepare(self, most_wedges: int) -> int:
        """Drop all pairs that no open arm needs; return in how many parts to decide the arms.

        A dissimilar pair is needed if both of its arms are similar to open ones, a similar pair if one of its
        arms is open and the other has such a dissimilar pair.
        """
        near = self._work.keep(self._near.join(self._open.select("x"), on="x", how="semi"))
        ends = near.select("y").unique()
        far = self._far
        for name in ("a", "b"):
            far = far.join(ends, left_on=name, right_on="y", how="semi")
        far = self._work.keep(far)
        sides = nw.concat([far.select(nw.col(name).alias("y")) for name in ("a", "b")])
        counts = self._work.keep(sides.group_by("y").agg(nw.len().cast(nw.Int64).alias("many")))
        self._near = self._work.keep(near.join(counts, on="y", how="semi"))
        before, self._open = self._open, self._degrees(self._near)
        self._work.drop(before, near)
        self._far, self._directed = far, self._work.keep(_directed(far, counts))
        steps = self._directed.group_by("a").agg(nw.len().cast(nw.Int64).alias("steps"))
        reached = self._near.join(steps, left_on="y", right_on="a")
        by_far = reached.group_by("x").agg(nw.col("steps").sum().cast(nw.Int64))
        degree, steps_ = nw.col("degree"), nw.col("by_far")
        routes = self._open.join(by_far.rename({"steps": "by_far"}), on="x", how="left")
        # If no directed pair starts at an arm similar to x, then x has no triangle.
        routes = routes.filter(~steps_.is_null()).select(
            "x",
            (degree * (degree - 1) <= 2 * steps_).alias("is_near"),
            nw.when(degree * (degree - 1) <= 2 * steps_)
            .then(degree * (degree - 1) * 0.5)
            .otherwise(steps_)
            .cast(nw.Float64)
            .alias("wedges"),
        )
        self._routes = self._work.keep(routes)
        wedges = row_of(self._routes.select(nw.col("wedges").sum()))["wedges"] or 0.0
        self._n_parts = -(-int(wedges) // most_wedges)
        return self._n_parts

    def decide(self, part: int) -> int:
        """Examine all wedges of one part of the open arms; return how many of these arms are out."""
        mine = self._routes.filter(nw.col("x").abs() % self._n_parts == part)
        near = self._near
        one, two = (
            near.join(mine.filter(when).select("x"), on="x", how="semi")
            for when in (nw.col("is_near"), ~nw.col("is_near"))
        )
        paths = two.join(self._directed, left_on="y", right_on="a").select("x", "b")
        by_far = paths.join(two, left_on=["x", "b"], right_on=["x", "y"], how="semi").select("x")
        return self._exclude([self._by_near(one, self._far), by_far])

    def _by_near(self, near: Lazy, far: Lazy) -> Lazy:
        """Return the arms with two of these similar pairs whose ends are dissimilar."""
        first, second = near.rename({"y": "a"}), near.rename({"y": "b"})
        wedges = first.join(second, on="x").filter(nw.col("a") < nw.col("b"))
        return wedges.join(far, on=["a", "b"]).select("x")

    def _exclude(self, found: list[Lazy]) -> int:
        arms = nw.concat(found) if len(found) > 1 else found[0]
        out = self._work.keep(arms.unique().rename({"x": "arm"}))
        self._out.append(out)
        return int(row_of(out.select(nw.len().alias("arms")))["arms"])


def _directed(far: Lazy, counts: Lazy) -> Lazy:
    """Return dissimilar pairs, each directed from the arm with fewer of them."""
    for name in ("a", "b"):
        own = counts.rename({"y": name, "many": f"many_{name}"})
        far = far.join(own, on=name)
    is_turned = nw.col("many_a") > nw.col("many_b")
    return far.select(
        nw.when(is_turned).then(nw.col("b")).otherwise(nw.col("a")).alias("a"),
        nw.when(is_turned).then(nw.col("a")).otherwise(nw.col("b")).alias("b"),
    )
