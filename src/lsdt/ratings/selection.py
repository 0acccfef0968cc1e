"""Which items of a log to keep: those with enough ratings, those with the most."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np

from lsdt._validation import checked_whole
from lsdt.errors import InvalidInput, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.ratings.events import EventLog
    from lsdt.ratings.log import RatingLog
    from lsdt.side_information import ArmId

Log = TypeVar("Log", bound="RatingLog | EventLog")


class ItemSelection(NamedTuple):
    """Keep items with at least `min_ratings` ratings, of these the `top` with the most; None keeps all."""

    min_ratings: int | None = None
    top: int | None = None

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is to be left out."""
        return self.min_ratings is None and self.top is None

    def checked(self) -> ItemSelection:
        """Return the selection; refuse what cannot be one."""
        least, top = self
        return ItemSelection(
            None if least is None else checked_whole(least, "min_ratings", 0),
            None if top is None else checked_whole(top, "top", 1),
        )

    def kept(self, counts: NDArray[np.int64], item_ids: Sequence[ArmId]) -> NDArray[np.int64]:
        """Return the items to keep, ascending; of several with as many ratings the first ids are kept."""
        kept = np.arange(len(counts))
        if self.min_ratings is not None:
            kept = np.flatnonzero(counts >= self.min_ratings)
        if len(kept) == 0:
            most = int(np.argmax(counts))
            raise InvalidInput(
                f"no item has at least {counted(self.min_ratings or 0, 'rating')}: {item_ids[most]!r} has "
                f"the most, {counts[most]:,}; lower min_ratings"
            )
        if self.top is not None:
            kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[: self.top]])
        return kept

    def note(self, counts: NDArray[np.int64], kept: NDArray[np.int64]) -> str:
        """Return what was left out in words; empty if nothing was."""
        if len(kept) == len(counts):
            return ""
        least = self.min_ratings or 0
        enough = int((counts >= least).sum())
        said = f"Of {counted(len(counts), 'item')} in the log"
        if enough == len(kept):
            return f"{said}, the {enough:,} with at least {counted(least, 'rating')} are kept."
        most = f"with the most ratings ({int(counts[kept].min()):,} or more) are kept."
        if enough == len(counts):
            return f"{said}, the {len(kept):,} {most}"
        return (
            f"{said}, {enough:,} have at least {counted(least, 'rating')}; the {len(kept):,} of these {most}"
        )


def select_items(log: Log, selection: ItemSelection) -> Log:
    """Return a log of ratings or events about some of its items; its note says which were left out."""
    if selection.keeps_all:
        return log
    counts = np.bincount(log.items, minlength=len(log.item_ids))
    kept = selection.kept(counts, log.item_ids)
    return cast("Log", log.of_items(kept)._with(note=selection.note(counts, kept) or log.note))
