"""Side information as CSV and Parquet files.

Both hold columns ``a``, ``b``, ``relation``, or ``arm``, ``mean`` when the information is implicit. What
columns cannot say (that the information is complete, its epsilon, the recipe of implicit information) is a
small JSON object: Parquet's schema metadata, or a first line ``# lsdt {...}`` of a CSV file.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from lsdt.errors import InvalidFile, InvalidInput
from lsdt.side_information import tables
from lsdt.side_information.revealing import layer_from_dict
from lsdt.side_information.stores import WindowStore

if TYPE_CHECKING:
    from os import PathLike

    from lsdt.side_information.side_information import SideInformation

FORMAT = 1
_MARK = "# lsdt "
_KEY = b"lsdt"


def save(side: SideInformation, path: str | PathLike[str]) -> None:
    """Write `side` to a file; the ending chooses the format."""
    target = Path(path)
    ending = _checked_ending(target)
    table, about = _recipe_table(side) if side.is_implicit else _pair_table(side)
    written = target.with_name(f".{target.name}.part")
    try:
        if ending == ".parquet":
            metadata = {_KEY: json.dumps({"format": FORMAT, **about}).encode()}
            pq.write_table(table.replace_schema_metadata(metadata), written)
        else:
            _write_csv(table, about, written)
        written.replace(target)  # all or nothing: an older file survives a full disk
    finally:
        written.unlink(missing_ok=True)


def load(cls: type[SideInformation], path: str | PathLike[str], complete: bool | None) -> SideInformation:
    """Read a file that `save` or anybody else wrote; see `SideInformation.load`."""
    source = Path(path)
    ending = _checked_ending(source)
    if not source.is_file():
        raise InvalidFile(f"there is no file {str(source)!r}")
    try:
        table, about, first_line = _read_parquet(source) if ending == ".parquet" else _read_csv(source)
        if about.get("format", FORMAT) != FORMAT:
            raise InvalidInput(f"it has format {about['format']!r}; this version reads format {FORMAT}")
        if "layers" in about:
            return _from_recipe(cls, table, about)
        return _from_pairs(cls, table, about, complete, source, first_line)
    except InvalidInput as error:
        raise InvalidFile(f"{source.name}: {error}") from None
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise InvalidFile(f"{source.name} cannot be read as side information: {error}") from None


def _checked_ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise InvalidFile(f"a side information file ends in .csv or .parquet; got {str(path)!r}")
    return ending


# ---------------------------------------------------------------------- writing


def _write_csv(table: pa.Table, about: dict[str, Any], path: Path) -> None:
    with path.open("wb") as stream:
        if about:
            stream.write(f"{_MARK}{json.dumps({'format': FORMAT, **about})}\n".encode())
        pa_csv.write_csv(table, stream, pa_csv.WriteOptions(quoting_style="needed"))


def _pair_table(side: SideInformation) -> tuple[pa.Table, dict[str, Any]]:
    store = side.store.explicit()
    parts = [(store.similar.pairs(), "similar")]
    if store.dissimilar is not None:
        parts.append((store.dissimilar.pairs(), "dissimilar"))
    pairs = np.concatenate([part for part, _ in parts])
    declared = _arms_to_declare(pairs, side)
    codes = np.repeat(
        np.arange(len(parts) + 1, dtype=np.int8), [len(declared), *map(len, (p for p, _ in parts))]
    )
    words = pa.DictionaryArray.from_arrays(codes, [None, *(word for _, word in parts)])
    first = np.concatenate([declared, pairs[:, 0]])
    second = pa.array(np.concatenate([declared, pairs[:, 1]]), mask=np.arange(len(first)) < len(declared))
    ids = pa.array(side.arm_ids if side.arm_ids is not None else range(side.n_arms))
    table = pa.table(
        {
            "a": ids.take(pa.array(first)),
            "b": ids.take(second),
            "relation": words.cast(pa.string()),
        }
    )
    return table, _about(side)


def _arms_to_declare(pairs: np.ndarray[Any, Any], side: SideInformation) -> np.ndarray[Any, Any]:
    """Return the arms that need a row of their own: those in no pair, or all to keep their order."""
    paired = np.zeros(side.n_arms, bool)
    paired[pairs.ravel()] = True
    lonely = np.flatnonzero(~paired).astype(np.int32)
    if side.arm_ids is None:
        return lonely
    appearance = np.concatenate([lonely, pairs[:, 0], pairs[:, 1]])
    first_place = np.empty(side.n_arms, np.int64)
    first_place[appearance[::-1]] = np.arange(len(appearance))[::-1]  # the last write is the first place
    kept = (np.diff(first_place) > 0).all()
    return lonely if kept else np.arange(side.n_arms, dtype=np.int32)


def _about(side: SideInformation) -> dict[str, Any]:
    about: dict[str, Any] = {}
    if side.is_complete:
        about["complete"] = True
    if side.epsilon is not None:
        about["epsilon"] = side.epsilon
    if side.arm_ids is not None:
        about["ids"] = "text" if isinstance(side.arm_ids[0], str) else "integers"
    return about


def _recipe_table(side: SideInformation) -> tuple[pa.Table, dict[str, Any]]:
    store = side.store
    assert isinstance(store, WindowStore)
    ids = side.arm_ids if side.arm_ids is not None else range(side.n_arms)
    table = pa.table({"arm": pa.array(ids), "mean": pa.array(store.windows.means_by_arm())})
    about = _about(side)
    about["threshold"] = store.windows.threshold
    about["layers"] = [layer.to_dict() for layer in store.layers]
    return table, about


# ---------------------------------------------------------------------- reading


def _read_parquet(path: Path) -> tuple[pa.Table, dict[str, Any], int]:
    table = pq.read_table(path)
    metadata = table.schema.metadata or {}
    return table, _parsed_about(metadata.get(_KEY, b"{}").decode()), 1


def _read_csv(path: Path) -> tuple[pa.Table, dict[str, Any], int]:
    """Return the table, what its first line tells, and the number of the line of the first row."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            line = stream.readline()
            marked = line.startswith(_MARK)
            header_line = stream.readline() if marked else line
    except UnicodeDecodeError:
        raise InvalidInput("it is not text in UTF-8") from None
    about = _parsed_about(line[len(_MARK) :]) if marked else {}
    names = next(csv.reader([header_line]), [])
    if not names:
        raise InvalidInput("it is empty; the first line must name the columns a, b, relation")
    types = {name: pa.string() for name in names}
    if "layers" in about:
        types["mean"] = pa.float64()
    table = pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(skip_rows=int(marked)),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True
        ),
    )
    return table, about, 2 + int(marked)


def _parsed_about(text: str) -> dict[str, Any]:
    try:
        about = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"what it says about itself is not JSON: {error}") from None
    if not isinstance(about, dict):
        raise InvalidInput(f"what it says about itself must be a JSON object; got {text.strip()!r}")
    return about


def _from_pairs(
    cls: type[SideInformation],
    table: pa.Table,
    about: dict[str, Any],
    complete: bool | None,
    path: Path,
    first_line: int,
) -> SideInformation:
    if complete is None:
        complete = bool(about.get("complete", False))
    names = table.column_names
    needed = ["a", "b"] if complete else ["a", "b", "relation"]
    missing = [name for name in needed if name not in names]
    if missing:
        hint = "" if complete else " (for complete information the relation may be left out: say so)"
        raise InvalidInput(f"it lacks the columns {missing}; found {names}, expected {needed}{hint}")
    a, b = table.column("a"), table.column("b")
    if path.suffix.lower() == ".csv" and about.get("ids") != "text":
        a, b = tables.integers_from_text(a, b)
    found = tables.arms_and_pairs(
        a,
        b,
        table.column("relation") if "relation" in names else None,
        place=lambda row: _place(path, row, first_line),
        keep_ids="ids" in about,
    )
    return cls._from_indices(found, complete, about.get("epsilon"))


def _from_recipe(cls: type[SideInformation], table: pa.Table, about: dict[str, Any]) -> SideInformation:
    missing = [name for name in ("arm", "mean") if name not in table.column_names]
    if missing:
        raise InvalidInput(f"it lacks the columns {missing}; found {table.column_names}")
    arms = table.column("arm")
    if about.get("ids") == "integers":
        arms = arms.cast(pa.int64())
    means = table.column("mean").to_numpy()
    epsilon = about["epsilon"]
    tolerance = max(0.0, 1.0 - about["threshold"] / epsilon)
    side = cls.from_means(means, epsilon, arms.to_pylist() if "ids" in about else None, tolerance)
    return side._with_recipe(about["threshold"], [layer_from_dict(layer) for layer in about["layers"]])


def _place(path: Path, row: int, first_line: int) -> str:
    """Word where a row stands: the line of a CSV file (counted as an editor does), the row of a table."""
    if path.suffix.lower() != ".csv":
        return f"row {row + 1}"
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for _ in range(first_line - 1):
            stream.readline()
        reader = csv.reader(stream)
        filled = -1
        for record in reader:
            filled += bool(record)  # blank lines hold no row
            if filled == row:
                break
        return f"line {first_line - 1 + reader.line_num}"
