"""Titles that commands show beside the ids of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from lsdt.side_information import ArmId, SideInformation


def add_titles_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a file of titles."""
    parser.add_argument(
        "--titles",
        metavar="FILE",
        help="show titles beside ids: a text file with columns, .parquet or .jsonl, with ids in the first "
        "column and titles in the one called title, or else in the second; or .json, an object of ids and "
        "titles",
    )


class Titles:
    """Titles of items; an item without a title is shown by its id."""

    def __init__(self, path: str | None) -> None:
        self._path, self._titles = path, {}
        if path is not None:
            from lsdt.ratings import read_titles  # loads pyarrow

            self._titles = read_titles(path)

    def check(self, items: Sequence[ArmId]) -> None:
        """Raise an error if the file has no title for any of these items."""
        if self._path is not None and not any(str(item) in self._titles for item in items):
            few, others = (
                ", ".join(repr(name) for name in list(names)[:3]) for names in (items, self._titles)
            )
            raise InvalidInput(
                f"--titles {self._path!r} has no title for any item: items are {few}, ..., titles are for "
                f"{others or 'none'}, ..."
            )

    def show(self, item: ArmId) -> str:
        """Return an item's title followed by its id, or only the id if there is no title."""
        title = self._titles.get(str(item))
        return f"{title} [{item}]" if title else str(item)

    def of(self, items: Iterable[ArmId]) -> dict[str, str]:
        """Return the titles of these items by id, without the items that have none."""
        return {str(item): self._titles[str(item)] for item in items if str(item) in self._titles}

    def name_arms(self, side: SideInformation) -> SideInformation:
        """Return the side information with these titles, or unchanged if there are none."""
        return side.with_titles(self._titles) if self._titles else side
