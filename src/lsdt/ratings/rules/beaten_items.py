"""From e-values, or from a bootstrap, to the items that are beaten: those that cannot be the best.

The best item is lost with probability at most delta; nothing else is claimed. See
`lsdt.ratings.statistics.betting` and `lsdt.ratings.statistics.best_bootstrap` for the two tests, and
`lsdt.side_information.beaten` for what may be done with the result.

With more than 2,000 items, every item is compared only with some tens of others: those with the most ratings
and those that are rated best (`hubs`). Fewer comparisons keep more items, and never lose the best one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lsdt.ratings.rules.hubs import MANY_ITEMS, hubs_of
from lsdt.ratings.statistics.best_bootstrap import margins
from lsdt.ratings.statistics.betting import expected_gain, place_bets, select_rivals
from lsdt.ratings.statistics.pairs import compare_items
from lsdt.side_information import ArmsAndPairs, Beaten, BeatenSource, SideInformation

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from lsdt.ratings.log import RatingLog
    from lsdt.ratings.statistics.items import ItemStatistics
    from lsdt.side_information import ArmId

# Bets on a pair that is expected to multiply its coin by less than e matter little: 1 / delta is needed on
# average over all rivals.
_LEAST_GAIN = 1.0
# Beaters that are kept of each item, at least: others may retire, or the best several be asked for.
_KEPT = 8


@dataclass(frozen=True, eq=False)
class BeatenItems:
    """The items that are beaten, by which others.

    Attributes
    ----------
    source : BeatenSource
        A row per beaten item and beater.
    item_ids : tuple
        Names of the items.
    n_compared : int
        The number of pairs with common raters.
    most : float
        The strongest evidence against any item being the best, as a share of what is needed.
    """

    source: BeatenSource
    item_ids: tuple[ArmId, ...]
    n_compared: int
    most: float

    @cached_property
    def is_out(self) -> NDArray[np.bool_]:
        """Which items are beaten."""
        return self.source.is_out(len(self.item_ids))

    def side_information(self, evidence: Any = None) -> SideInformation:
        """Return side information about the items without relations, but with the beaten ones."""
        none = np.empty((0, 2), np.int64)
        items = ArmsAndPairs(len(self.item_ids), list(self.item_ids), none, none)
        bare = SideInformation._from_indices(items, complete=False, epsilon=None, evidence=evidence)
        beaten = Beaten((self.source,)) if len(self.source.arms) else None
        return bare._with_origin(bare._origin._replace(beaten=beaten))


def beaten_by_bets(log: RatingLog, items: ItemStatistics, delta: float, min_raters: int = 1) -> BeatenItems:
    """Return the items that are beaten by e-values; valid for any number of raters.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.RatingLog.from_matrix([[.2, .6], [.4, .6], [.3, .7]] * 10, scale=(0, 1))
    >>> found = beaten_by_bets(log, lsdt.ratings.item_statistics(log), .05)
    >>> found.is_out.tolist(), found.source.raters.tolist()
    ([True, False], [30])
    """
    if log.n_items > MANY_ITEMS:
        hubs = hubs_of(items)
        item, rival = (grid.ravel() for grid in np.meshgrid(np.arange(log.n_items), hubs, indexing="ij"))
        found = place_bets(log, item[item != rival], rival[item != rival])
        n_compared = int((found.raters > 0).sum())
    else:
        listed = compare_items(log, min_raters, lambda *pair: expected_gain(*pair) >= _LEAST_GAIN)
        found, n_compared = place_bets(log, *select_rivals(listed)), listed.n_compared
    needed = (log.n_items - 1) / delta
    source = BeatenSource("betting", delta, needed, found.items, found.rivals, found.raters, found.log_e)
    source = source.select(found.raters >= min_raters)
    most = delta * float(np.exp(min(found.means().max(initial=-np.inf), 700.0)))
    return BeatenItems(_strongest(source, log.n_items), log.item_ids, n_compared, most)


def beaten_by_bootstrap(log: RatingLog, delta: float, min_raters: int, seed: int) -> BeatenItems:
    """Return the items that are beaten by a bootstrap; right if common raters are many.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.RatingLog.from_matrix([[.2, .6], [.4, .6], [.3, .7]] * 10, scale=(0, 1))
    >>> beaten_by_bootstrap(log, .05, 30, seed=0).is_out.tolist()
    [True, False]
    """
    listed = compare_items(log, max(min_raters, 2))
    by_second, by_first = margins(log, listed, delta, seed)
    ahead = np.concatenate((-listed.difference / by_second, listed.difference / by_first))
    items = np.concatenate((listed.first, listed.second))
    rivals = np.concatenate((listed.second, listed.first))
    order = np.flatnonzero(ahead >= 1.0)
    raters = np.tile(listed.raters, 2).astype(np.int64)
    source = BeatenSource("bootstrap", delta, 1.0, items[order], rivals[order], raters[order], ahead[order])
    most = float(ahead.max(initial=0.0))
    return BeatenItems(_strongest(source, log.n_items), log.item_ids, listed.n_compared, most)


def _strongest(source: BeatenSource, n_items: int) -> BeatenSource:
    """Return the rows of beaten items: those that are needed, and a few more; the strongest first."""
    order = np.lexsort((-source.evidence, source.arms))
    rows = order[source.is_out(n_items)[source.arms[order]]]
    arms, evidence = source.arms[rows], source.evidence[rows]
    kept = np.arange(len(rows)) - np.searchsorted(arms, arms) < _KEPT
    if source.kind == "betting":
        # Where a few rivals are not enough, all those are kept whose e-values add up to it.
        _, starts = np.unique(arms, return_index=True)
        for start, end in pairwise([*starts.tolist(), len(arms)]):
            sums = np.logaddexp.accumulate(evidence[start:end])
            kept[start : start + int(np.searchsorted(sums, np.log(source.needed))) + 1] = True
    return source.select(rows[kept])
