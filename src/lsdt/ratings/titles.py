"""Titles of items, for people to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lsdt._files import checked_path
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.kernel.memory import require_memory
from lsdt.ratings.reading.delimited import open_table
from lsdt.ratings.reading.text_files import DAMAGE, TABLES, text_file

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

_BYTES = 10.0  # of memory for a byte of JSON


def read_titles(path: str | PathLike[str]) -> dict[str, str]:
    r"""Read the titles of items from a file.

    Parameters
    ----------
    path : path
        A file of text with columns, as of `lsdt.ratings.read_log`: the first column holds ids, the one called
        ``title``, or else the second, titles. Or ``.json``: one object, ids and their titles. Text that is
        not in UTF-8 is taken for Latin-1, in which some lists of titles come.

    Returns
    -------
    dict
        Titles by id, all of them text: look up ``titles[str(item)]``.

    Examples
    --------
    >>> import lsdt, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "movies.csv"
    >>> _ = path.write_text("movieId,title,genres\n1,Toy Story (1995),Animation\n")
    >>> lsdt.ratings.read_titles(path)
    {'1': 'Toy Story (1995)'}
    """
    file = checked_path(path, "titles")
    try:
        if file.suffix.lower() == ".json":
            return _of_json(file)
        opened = text_file(file, any_ending=False)
        if opened is not None and opened.ending in TABLES:
            try:
                return _of_table(opened, "utf-8-sig")
            except UnicodeDecodeError:
                return _of_table(opened, "latin-1")
    except InvalidInput as error:
        raise InvalidFile(f"{str(file)!r} cannot be read as titles: {error}") from None
    except DAMAGE as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidFile(f"cannot read {str(file)!r}: {reason}") from None
    raise InvalidFile(
        f"titles are a file that ends in {', '.join(TABLES)} (also compressed) or .json; got {str(file)!r}"
    )


def _of_table(file: Any, encoding: str) -> dict[str, str]:
    table = open_table(file, encoding=encoding)
    names = table.names()
    if len(names) < 2:
        raise InvalidInput("it has one column, and needs two: ids and titles")
    at = [name.lower() for name in names].index("title") if "title" in map(str.lower, names) else 1
    titles: dict[str, str] = {}
    for line, record in table.records(errors="strict"):
        if len(record) <= at:
            raise InvalidInput(f"line {line} has {len(record)} fields, and titles are in number {at + 1}")
        titles.setdefault(record[0].strip(), record[at].strip())
    return titles


def _of_json(path: Path) -> dict[str, str]:
    size = path.stat().st_size
    require_memory(_BYTES * size, f"a file of titles of {size:,} bytes", "keep those of the items in the log")
    try:
        found = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput("it must be one JSON object, with ids and their titles")
    for item, title in found.items():
        if not isinstance(title, str):
            raise InvalidInput(f"the title of {item!r} must be text; got {title!r}")
    return found
