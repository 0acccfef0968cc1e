"""Pairs that stay in their engine: the value that `lsdt.candidate_set` takes instead of side information."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import narwhals as nw

from lsdt._html import fields_card
from lsdt._validation import checked_epsilon, checked_whole
from lsdt.errors import InvalidInput, counted
from lsdt.kernel import require_memory
from lsdt.side_information.engines.row_checks import Columns, checked_pairs
from lsdt.side_information.engines.workspace import Workspace, collect, row_of
from lsdt.side_information.io.columns import arms_and_pairs
from lsdt.side_information.side_information import SideInformation

if TYPE_CHECKING:
    from lsdt.side_information.arms import ArmId
    from lsdt.side_information.engines.workspace import Lazy

_BYTES_PER_ROW = 250.0  # an estimate of peak memory while rows become side information


@dataclass(frozen=True, eq=False)
class LazyPairs:
    """Pairs of arms in DuckDB, Spark or a lazy polars frame, checked there. Make them with `from_lazy_frame`.

    Attributes
    ----------
    rows : narwhals.LazyFrame
        Columns ``a``, ``b``, ``relation``, ``low``, ``high``.
    n_rows : int
        Number of rows; repeated pairs count as often as they occur.
    counts : dict
        Number of rows of each relation.
    has_text : bool
        Whether ids are text; else they are whole numbers.
    epsilon : float or None
        The threshold between similar and dissimilar, where it is known.

    Examples
    --------
    >>> import duckdb, lsdt
    >>> rows = "(1, 2, 'similar'), (2, 3, 'better')"
    >>> table = duckdb.sql(f"select * from (values {rows}) as pairs(a, b, relation)")
    >>> pairs = lsdt.from_lazy_frame(table)
    >>> pairs.n_rows, pairs.counts["better"], pairs.has_text
    (2, 1, False)
    """

    rows: Lazy = field(repr=False)
    n_rows: int
    counts: dict[str, int]
    has_text: bool
    epsilon: float | None

    @property
    def has_ranges(self) -> bool:
        """Whether there are better pairs or ranges."""
        return self.counts["better"] + self.counts["range"] > 0

    @property
    def engine(self) -> str:
        """The name of the engine: ``'duckdb'``, ``'pyspark'``, ``'polars'``, ..."""
        return str(self.rows.implementation.value)

    def around(self, arms: list[ArmId], radius: int = 1) -> SideInformation:
        """Read into memory the arms within `radius` steps of some arms, and all relations among them.

        A step follows any relation except dissimilar.

        Parameters
        ----------
        arms : list of ids
            Where to begin.
        radius : int
            How many steps to go.

        Examples
        --------
        >>> import duckdb, lsdt
        >>> rows = "(1, 2, 'similar'), (2, 3, 'similar'), (3, 4, 'similar'), (1, 3, 'dissimilar')"
        >>> pairs = lsdt.from_lazy_frame(duckdb.sql(f"select * from (values {rows}) as t(a, b, relation)"))
        >>> pairs.around([2])
        SideInformation(3 arms, 2 similar pairs, 1 dissimilar pair, complete)
        """
        kind: type = str if self.has_text else int
        if not arms or not all(type(arm) is kind for arm in arms):
            raise InvalidInput(f"arms must be a list of ids, {kind.__name__} as in the frame; got {arms!r}")
        radius = checked_whole(radius, "radius", 0)
        reached = self._arms(nw.col("a").is_in(arms), nw.col("b").is_in(arms))
        links = self.rows.filter(~nw.col("b").is_null() & (nw.col("relation") != "dissimilar"))
        for _ in range(radius):
            there, back = (
                links.join(reached, left_on=here, right_on="arm", how="semi").select(
                    nw.col(other).alias("arm")
                )
                for here, other in (("a", "b"), ("b", "a"))
            )
            reached = nw.concat([reached, there, back]).unique()
        with Workspace(self.rows) as work:
            return self._read(work.keep(reached))

    def _arms(self, *when: nw.Expr) -> Lazy:
        """Return the arms: ``a`` where the first condition holds and ``b`` where the second one does."""
        parts = (
            self.rows.filter(one).select(nw.col(name).alias("arm"))
            for one, name in zip(when, ("a", "b"), strict=True)
        )
        return reduce(lambda one, other: nw.concat([one, other]), parts).unique()

    def _read(self, arms: Lazy) -> SideInformation:
        among = self.rows.join(arms, left_on="a", right_on="arm", how="semi")
        among = among.join(arms, left_on="b", right_on="arm", how="semi")
        named = arms.select(
            nw.col("arm").alias("a"),
            nw.lit(None, nw.String if self.has_text else nw.Int64).alias("b"),
            nw.lit(None, nw.String).alias("relation"),
            *(nw.lit(None, nw.Float64).alias(end) for end in ("low", "high")),
        )
        n_rows = row_of(among.select(nw.len().alias("rows")))["rows"]
        what = f"reading {counted(n_rows, 'row')} around these arms"
        require_memory(n_rows * _BYTES_PER_ROW, what, "take a smaller radius")
        table = collect(nw.concat([named.sort("a"), among]))
        if not len(table):
            raise InvalidInput("none of these arms is in the frame")
        found = arms_and_pairs(
            table.column("a"),
            table.column("b"),
            table.column("relation"),
            place=lambda row: f"row {row}",
            keep_ids=True,
            low=table.column("low"),
            high=table.column("high"),
        )
        return SideInformation._from_indices(found, False, self.epsilon)

    def _repr_html_(self) -> str:
        return fields_card(self)


def from_lazy_frame(
    frame: Any,
    a: str = "a",
    b: str = "b",
    relation: str = "relation",
    epsilon: float | None = None,
    low: str = "low",
    high: str = "high",
) -> LazyPairs:
    """Open pairs that stay in their engine: a DuckDB relation, a Spark dataframe, a lazy polars frame.

    The engine checks all rows, and `lsdt.candidate_set` lets it exclude arms; only the candidates and the
    relations among them are read. For pairs that fit in memory, `lsdt.from_frame` is faster and supports
    every method.

    Parameters
    ----------
    frame : lazy frame
        A row per pair, as for `lsdt.from_frame`; a row with an empty `b` and no relation names an arm.
    a, b, relation : str
        Names of the columns with the two arms and with ``similar``, ``dissimilar``, ``better`` or ``range``.
    epsilon : float, optional
        The threshold between similar and dissimilar, where it is known: ranges can then imply such pairs too.
    low, high : str
        Names of the columns with the ends of ranges, read where there are any; an empty end is open.

    Returns
    -------
    LazyPairs

    Examples
    --------
    >>> import duckdb, lsdt
    >>> rows = "('tea', 'coffee', 'similar'), ('coffee', 'cocoa', 'similar'), ('tea', 'cocoa', 'dissimilar')"
    >>> drinks = duckdb.sql(f"select * from (values {rows}) as drinks(x, y, kind)")
    >>> pairs = lsdt.from_lazy_frame(drinks, "x", "y", "kind")
    >>> pairs.n_rows, pairs.counts["similar"]
    (3, 2)
    >>> lsdt.candidate_set(pairs, "paper").arm_ids
    ['cocoa', 'tea']
    """
    try:
        native = nw.from_native(frame)
    except (TypeError, nw.exceptions.NarwhalsError):
        native = None
    if not isinstance(native, nw.LazyFrame):
        raise InvalidInput(
            "from_lazy_frame takes a DuckDB relation, a Spark dataframe or a lazy polars frame; got "
            f"{type(frame).__name__}. A frame that is in memory is read by lsdt.from_frame"
        )
    Workspace(native)  # refuses other engines
    columns = Columns(a, b, relation, low, high)
    found = checked_pairs(native, columns)
    return LazyPairs(
        found.rows,
        found.n_rows,
        found.counts,
        found.has_text,
        None if epsilon is None else checked_epsilon(epsilon),
    )


def lazy_pairs_of(value: Any) -> LazyPairs | None:
    """Return a `LazyPairs` as it is, and a lazy frame as `LazyPairs`; None for anything else."""
    if isinstance(value, LazyPairs):
        return value
    native = nw.from_native(value, pass_through=True)
    return from_lazy_frame(value) if isinstance(native, nw.LazyFrame) else None
