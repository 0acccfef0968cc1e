"""Files of text: plain, compressed by gzip, or alone in a zip archive."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import pyarrow as pa

from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES = (".csv", ".tsv", ".dat")
JSON_LINES = (".jsonl", ".ndjson")
# Characters: far longer than any row, because an archive may unpack to a line without an end.
MOST_LINE = 2**23
DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError)  # while unpacking
_LISTED = 5  # files named in an error, by eye


class TextFile(NamedTuple):
    """A text file, perhaps compressed: `ending` is that of its text, `member` its name in a zip archive."""

    path: Path
    ending: str
    compressed: bool = False
    member: str | None = None

    @property
    def name(self) -> str:
        """The name of the file for errors."""
        return repr(self.path.name if self.member is None else f"{self.path.name}/{self.member}")

    def open(self) -> IO[bytes]:
        """Open the text as a stream of bytes, for Python."""
        if self.member is not None:
            with zipfile.ZipFile(self.path) as archive:
                return archive.open(self.member)  # keeps the archive's file open
        return cast("IO[bytes]", gzip.open(self.path)) if self.compressed else self.path.open("rb")

    def open_arrow(self) -> pa.NativeFile:
        """Open the text as a stream of bytes, for pyarrow."""
        if self.member is not None:
            return pa.PythonFile(self.open(), mode="r")
        return pa.input_stream(str(self.path), compression="gzip" if self.compressed else None)

    def lines(self, encoding: str = "utf-8-sig", errors: str = "strict") -> Iterator[str]:
        """Yield its lines, ends included; refuse one too long to be held."""
        with io.TextIOWrapper(self.open(), encoding, errors, newline="") as stream:
            number = 0
            while line := stream.readline(MOST_LINE):
                number += 1
                if len(line) == MOST_LINE:
                    raise InvalidInput(
                        f"line {number:,} has {MOST_LINE:,} characters or more; no rating does"
                    )
                yield line


def text_file(path: Path, any_ending: bool) -> TextFile | None:
    """Return a file as text, or None if its ending is not that of text; `any_ending` accepts every file."""
    ending = path.suffix.lower()
    if ending == ".zip":
        return _in_archive(path, any_ending)
    compressed = ending == ".gz"
    if compressed:
        ending = Path(path.stem).suffix.lower()
    if any_ending or ending in (*TABLES, *JSON_LINES):
        return TextFile(path, ending, compressed)
    return None


def _in_archive(path: Path, any_ending: bool) -> TextFile:
    """Return the one file of text in a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [member for member in archive.infolist() if not member.is_dir() and not _hidden(member)]
    except zipfile.BadZipFile as error:
        raise InvalidInput(f"the archive is damaged: {error}") from None
    endings = {member: PurePosixPath(member.filename).suffix.lower() for member in inside}
    fitting = [member for member in inside if endings[member] in (*TABLES, *JSON_LINES)]
    if any_ending and not fitting:
        fitting = inside
    if len(fitting) != 1:
        shown = ", ".join(repr(member.filename) for member in (fitting or inside)[:_LISTED])
        more = ", ..." if len(fitting or inside) > _LISTED else ""
        raise InvalidInput(
            f"the archive must hold one file that ends in {', '.join((*TABLES, *JSON_LINES))}; it holds "
            f"{len(fitting)}, of {shown or 'nothing'}{more}. Unpack the one that is the log"
        )
    if fitting[0].flag_bits & 1:
        raise InvalidInput(f"{fitting[0].filename!r} in the archive needs a password; unpack it first")
    return TextFile(path, endings[fitting[0]], member=fitting[0].filename)


def _hidden(member: zipfile.ZipInfo) -> bool:
    """Return whether a file is one that archivers add by themselves."""
    parts = PurePosixPath(member.filename).parts
    return parts[0] == "__MACOSX" or parts[-1].startswith(".")
