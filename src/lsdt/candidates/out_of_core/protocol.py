"""The queries that the rules need from an engine. No dataframe is touched here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation


class OpenArms(Protocol):
    """How many arms may still be excluded, and how many wedges would decide all of them."""

    @property
    def arms(self) -> int:
        """Number of arms."""

    @property
    def wedges(self) -> int:
        """Number of wedges: two similar pairs at one arm."""


class TriangleQueries(Protocol):
    """The queries of the triangle rule; the engine records the arms they exclude."""

    def count_open(self) -> OpenArms:
        """Count the arms that may still be excluded, and the wedges at them."""

    def sample(self, most: int, number: int) -> int:
        """Look at about `most` similar pairs of every open arm; return how many arms they exclude."""

    def prepare(self, most_wedges: int) -> int:
        """Drop all pairs that no open arm needs; return the number of parts in which to decide the arms."""

    def decide(self, part: int) -> int:
        """Decide one part of the open arms; return how many of them are excluded."""


class OrderQueries(Protocol):
    """The queries of the order rule."""

    quantum: float
    is_exact: bool
    reads_similar: bool

    def step(self) -> int:
        """Run one round; return the number of arms whose bound fell."""

    def finish(self) -> int:
        """Record the excluded arms in the engine; return how many."""


class PairQueries(Protocol):
    """Pairs in an engine, every pair once; see `lsdt.side_information.engines.pair_tables`."""

    @property
    def n_arms(self) -> int:
        """Number of arms."""

    @property
    def n_pairs(self) -> int:
        """Number of similar and dissimilar pairs."""

    def check(self) -> None:
        """Raise if the relations of a single pair contradict one another."""

    def triangles(self) -> TriangleQueries:
        """Return the queries of the triangle rule, for the arms that are left."""

    def order(self) -> OrderQueries:
        """Return the queries of the order rule."""

    def count_left(self) -> int:
        """Return how many arms are left."""

    def read_left(self) -> tuple[SideInformation, int]:
        """Return the arms that are left with their relations, and how many relations did not fit."""
