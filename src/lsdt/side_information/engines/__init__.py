"""Pairs that stay in DuckDB, Spark or another engine, since they do not fit in memory.

`lazy_pairs` has the value and its maker, `row_checks` checks rows in the engine, `workspace` keeps results of
queries there. `pair_tables` are the pairs with numbered arms, each pair once; `triangle_tables` and
`order_tables` are the queries of the two rules that run there (`lsdt.candidates.out_of_core` calls them).
"""

from lsdt.side_information.engines.lazy_pairs import LazyPairs, from_lazy_frame, lazy_pairs_of
from lsdt.side_information.engines.pair_tables import open_tables

__all__ = ["LazyPairs", "from_lazy_frame", "lazy_pairs_of", "open_tables"]
