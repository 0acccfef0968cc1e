"""Side information as CSV and Parquet files.

Both have columns ``a``, ``b``, ``relation``, and ``threshold`` where thresholds are distinct, ``low`` and
``high`` where there are ranges, or ``arm``, ``mean`` when the information is implicit. What columns cannot
hold (that the information is complete, its epsilon, beaten arms, stated risks, the recipe of implicit
information) is a JSON object: Parquet's schema metadata, or the first line ``# lsdt {...}`` of a CSV file. It
also has a checksum of the content, which loading compares; files from elsewhere have none.

Damage must not make our own file look like one from elsewhere, whose completeness and epsilon are unknown. So
a mark with one wrong letter in a CSV file counts as damaged, not as missing. The file also ends with a line
``# lsdt end``: one of the two lines without the other means that a part was lost. A Parquet file has
marks outside its footer: before the first and after the last page, where no reader looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lsdt._files import checked_path, replace_file
from lsdt._validation import checked_flag, checked_texts, is_number
from lsdt.errors import InvalidFile, InvalidInput, TooLarge, listed, suggest
from lsdt.side_information.arms import with_stored_titles
from lsdt.side_information.beaten import beaten_of_list
from lsdt.side_information.io import parquet
from lsdt.side_information.io.columns import arms_and_pairs, integers_from_text
from lsdt.side_information.io.content_checksum import content_checksum, source_of
from lsdt.side_information.io.csv import line_of_row, read_csv, write_csv
from lsdt.side_information.layouts.reveal import layer_from_dict
from lsdt.side_information.layouts.stores import WindowStore
from lsdt.side_information.origin import Origin, risks_of_list
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.complete import from_means

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path

FORMAT = 1  # the version of the file format, raised when older versions could not read it
COLUMNS = ("a", "b", "relation")
THRESHOLD = "threshold"
ENDS = ("low", "high")
CHECKSUM = "checksum"
_MOST_MARKS = 1000  # in a fingerprint: one source has 32, merged sources add up, and more must be garbage
_ABOUT = (
    "format",
    "complete",
    "epsilon",
    "ids",
    "scale",
    "titles",
    "fingerprint",
    "beaten",
    "risks",
    "threshold",
    "layers",
    CHECKSUM,
)


def save(side: SideInformation, path: str | PathLike[str]) -> None:
    """Write `side` to a file; the ending chooses the format."""
    target = checked_path(path)
    ending = checked_ending(target)
    table, about = _recipe_table(side) if side.is_implicit else (pair_table(side), _about(side))
    about = {"format": FORMAT, **about, CHECKSUM: content_checksum(side)}
    write = parquet.write_parquet if ending == ".parquet" else write_csv
    with replace_file(target) as written:
        write(table, about, written)


def load(
    path: str | PathLike[str],
    complete: bool | None = None,
    columns: Sequence[str] = COLUMNS,
) -> SideInformation:
    """Read a file that `save` wrote, or any CSV or Parquet file with columns ``a``, ``b``, ``relation``.

    ``relation`` is ``similar``, ``dissimilar``, ``better`` (the mean of ``a`` is the larger) or ``range``; a
    row with an empty ``b`` names an arm that occurs in no pair. Arms are numbered in order of appearance in
    ``a``, then in ``b``; ids that are the integers 0 to K - 1 are indices. A column ``threshold`` holds
    distinct thresholds, one a row; columns ``low`` and ``high`` the ends of ranges, empty where open.

    Parameters
    ----------
    path : path-like
        A file that ends in ``.csv`` or ``.parquet``.
    complete : bool, optional
        With True every pair that is not listed is dissimilar, and the column ``relation`` may be missing. By
        default the file itself says so, or the information is partial.
    columns : sequence of str
        The names of the columns, in files that use other names: the two arms and the relation, then the
        threshold, or low and high, or all three of these.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import lsdt, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.csv"
    ...     rows = ["a,b,relation", "tea,mate,similar", "tea,juice,dissimilar"]
    ...     _ = path.write_text(chr(10).join(rows))
    ...     lsdt.load(path)
    SideInformation(3 arms, 1 similar pair, 1 dissimilar pair, partial)
    """
    source = checked_path(path)
    ending = checked_ending(source)
    columns = _checked_columns(complete, columns)
    try:
        if not source.is_file():
            what = "it is a folder" if source.is_dir() else "there is no such file"
            raise InvalidFile(f"cannot read {str(source)!r}: {what}")
        if ending == ".parquet":
            table, about, is_ours = parquet.read_parquet(source, columns)
        else:
            table, about, is_ended = read_csv(source)
            _check_ended(about, is_ended)
            is_ours = False  # only its first line says whether we wrote it
        _check_about(about, is_ours)
        if CHECKSUM not in about:
            return _built(table, about, complete, columns, source)
        side = _built(table, about, None, COLUMNS, source)
        if content_checksum(side) != about[CHECKSUM]:
            raise InvalidInput(
                f"its content has changed since it was saved: its checksum is {content_checksum(side)} and "
                f"was {about[CHECKSUM]!r}; if that was on purpose, remove {CHECKSUM!r} from its metadata, "
                "else load another copy"
            )
        if columns == COLUMNS and complete in (None, side.is_complete):
            return side
        return _built(table, about, complete, columns, source)
    except (InvalidFile, TooLarge):
        raise
    except InvalidInput as error:
        raise InvalidFile(f"{source}: {error}") from None
    except (
        pa.ArrowException,
        OSError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ) as error:
        reason = str(error) or type(error).__name__
        raise InvalidFile(f"{source} cannot be read as side information: {reason}") from None


def _built(
    table: pa.Table,
    about: dict[str, Any],
    complete: bool | None,
    columns: Sequence[str],
    source: Path,
) -> SideInformation:
    if "layers" in about:
        side = _from_recipe(table, about, complete)
    else:
        renamed = _rename_columns(table, columns, complete or about.get("complete"))
        side = _from_pairs(renamed, about, complete, source)
    named = side._with_names(with_stored_titles(side._names, about))
    beaten = beaten_of_list(about.get("beaten"), side.n_arms)
    risks = risks_of_list(about.get("risks", []))
    return named._with_origin(Origin(_scale(about), _fingerprint(about), beaten, risks))


def _scale(about: dict[str, Any]) -> tuple[float, float] | None:
    """Return the rating scale in the description of a file, or None."""
    if "scale" not in about:
        return None
    ends = about["scale"]
    if not isinstance(ends, list) or len(ends) != 2 or not all(map(is_number, ends)) or not ends[0] < ends[1]:
        raise InvalidInput(
            f"its metadata has scale={ends!r}; accepted are the two ends of the scale, [low, high]"
        )
    return float(ends[0]), float(ends[1])


def _fingerprint(about: dict[str, Any]) -> tuple[str, ...]:
    """Return the fingerprint of ratings in the description of a file; empty if it has none."""
    marks = about.get("fingerprint", [])
    if not isinstance(marks, list) or len(marks) > _MOST_MARKS or not all(map(_is_mark, marks)):
        raise InvalidInput(
            f"its metadata has fingerprint={marks!r}; accepted are up to {_MOST_MARKS} words of 16 "
            "hexadecimal digits"
        )
    return tuple(marks)


def _is_mark(word: Any) -> bool:
    return isinstance(word, str) and len(word) == 16 and set(word) <= set("0123456789abcdef")


def _checked_columns(complete: Any, columns: Any) -> tuple[str, ...]:
    if complete is not None:
        checked_flag(complete, "complete", ", or None for what the file says")
    return tuple(checked_texts(columns, "columns", "names"))


def _check_about(about: dict[str, Any], is_ours: bool) -> None:
    """Refuse a description of another format version, a lost one, and one with unknown entries."""
    if about.get("format", FORMAT) != FORMAT:
        raise InvalidInput(f"it has format {about['format']!r}; this version reads format {FORMAT}")
    if is_ours and CHECKSUM not in about:
        raise InvalidInput("it is damaged: its metadata was lost; load another copy")
    for name in about:
        if name not in _ABOUT:
            raise InvalidInput(
                f"its metadata has {name!r}; accepted are {', '.join(map(repr, _ABOUT))}"
                f"{suggest(name, _ABOUT)}"
            )


def _check_ended(about: dict[str, Any], is_ended: bool) -> None:
    """Refuse a CSV file written by us that has lost its first or its last line."""
    if is_ended and not about:
        raise InvalidInput(
            "it has lost its first line, which says whether it is complete, but not its last line, '# lsdt "
            "end'; load another copy, or remove the last line too to read it as a file from elsewhere"
        )
    if CHECKSUM in about and not is_ended:
        raise InvalidInput("its last line, '# lsdt end', is lost, and rows may be too; load another copy")


def checked_ending(path: Path) -> str:
    """Return the ending of the name of a side information file; refuse unknown endings."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise InvalidFile(f"a side information file ends in .csv or .parquet; got {str(path)!r}")
    return ending


# ---------------------------------------------------------------------- writing


def pair_table(side: SideInformation) -> pa.Table:
    """Return a row per listed pair, and one with an empty ``b`` for every arm that needs its own row."""
    store = side.store.explicit()
    parts = [(store.similar.pairs(), "similar")]
    if store.dissimilar is not None:
        parts.append((store.dissimilar.pairs(), "dissimilar"))
    rows = None if store.ranges is None else store.ranges.rows()
    if store.ranges is not None and rows is not None:
        parts += [(store.ranges.better_pairs(), "better"), (rows[0], "range")]
    pairs = np.concatenate([part for part, _ in parts])
    declared = _arms_to_declare(pairs, side)
    codes = np.repeat(
        np.arange(len(parts) + 1, dtype=np.int8), [len(declared), *map(len, (p for p, _ in parts))]
    )
    words = pa.DictionaryArray.from_arrays(codes, [None, *(word for _, word in parts)])
    first = np.concatenate([declared, pairs[:, 0]])
    second = pa.array(np.concatenate([declared, pairs[:, 1]]), mask=np.arange(len(first)) < len(declared))
    ids = pa.array(side.arm_ids if side.arm_ids is not None else range(side.n_arms))
    columns = {"a": ids.take(pa.array(first)), "b": ids.take(second), "relation": words.cast(pa.string())}
    values = store.pair_thresholds()
    if values is not None:
        padded = np.full(len(first), np.nan)
        padded[len(declared) :][: sum(map(len, values))] = np.concatenate(values)
        columns[THRESHOLD] = pa.array(padded, from_pandas=True)
    for end, of_rows in zip(ENDS, () if rows is None else rows[1:], strict=rows is not None):
        padded = np.full(len(first), np.nan)
        padded[len(first) - len(of_rows) :] = np.where(np.isinf(of_rows), np.nan, of_rows)
        columns[end] = pa.array(padded, from_pandas=True)
    return pa.table(columns)


def _arms_to_declare(pairs: np.ndarray[Any, Any], side: SideInformation) -> np.ndarray[Any, Any]:
    """Return the arms that need their own row: those in no pair, or all if their order would be lost."""
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
    return about | source_of(side)


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


def _from_pairs(table: pa.Table, about: dict[str, Any], complete: bool | None, path: Path) -> SideInformation:
    is_csv = path.suffix.lower() == ".csv"
    if complete is None:
        complete = about.get("complete", False)
        if not isinstance(complete, bool):
            raise InvalidInput(f"its metadata has complete={complete!r}; accepted are true and false")
    needed = ["a", "b"] if complete else ["a", "b", "relation"]
    missing = [name for name in needed if name not in table.column_names]
    if missing:
        if missing != ["relation"]:
            hint = "; give columns of other names with columns=, or --columns"
        else:
            hint = "; only complete information, where every pair not listed is dissimilar, can do without"
        if {"user", "item", "rating"} <= set(table.column_names):
            hint = "; this looks like a log of ratings, from which lsdt build makes side information"
        raise InvalidInput(
            f"it lacks the columns {listed(missing)}; found {listed(table.column_names, missing[0])}{hint}"
        )
    a, b = table.column("a"), table.column("b")
    if is_csv and about.get("ids") != "text":
        a, b = integers_from_text(a, b)
    if about.get("ids") == "integers" and not pa.types.is_integer(a.type):
        raise InvalidInput("its metadata says that its ids are integers, but they are not")
    found = arms_and_pairs(
        a,
        b,
        table.column("relation") if "relation" in table.column_names else None,
        place=lambda row: line_of_row(path, row) if is_csv else f"row {row + 1}",
        keep_ids="ids" in about,
        **{name: table.column(name) for name in (THRESHOLD, *ENDS) if name in table.column_names},
    )
    return SideInformation._from_indices(found, complete, about.get("epsilon"))


def _rename_columns(table: pa.Table, columns: Sequence[str], complete: bool | None) -> pa.Table:
    """Rename the user's columns, or ``A``, ``B``, ``Relation``, to the names used here."""
    names = table.column_names
    if tuple(columns) == COLUMNS:
        lowered = [name.lower() for name in names]
        return table.rename_columns(lowered) if len(set(lowered)) == len(lowered) else table
    needed = (
        "two columns of arms"
        if complete
        else "two columns of arms and one of relations, then that of thresholds or those of low and high, or "
        "all three, if there are any"
    )
    if len(columns) not in range(2 if complete else 3, 7) or len(set(columns)) < len(columns):
        raise InvalidInput(f"columns must name {needed}, all different; got {list(columns)}")
    missing = [name for name in columns if name not in names]
    if missing:
        raise InvalidInput(f"it lacks the columns {listed(missing)}; found {listed(names, missing[0])}")
    more = {4: (THRESHOLD,), 5: ENDS, 6: (THRESHOLD, *ENDS)}.get(len(columns), ())
    return table.select(list(columns)).rename_columns([*COLUMNS[: len(columns)], *more])


def _from_recipe(table: pa.Table, about: dict[str, Any], complete: bool | None) -> SideInformation:
    missing = [name for name in ("arm", "mean") if name not in table.column_names]
    if missing:
        raise InvalidInput(f"it lacks the columns {listed(missing)}; found {listed(table.column_names)}")
    arms = table.column("arm")
    if about.get("ids") == "integers":
        arms = arms.cast(pa.int64())
    means = table.column("mean").cast(pa.float64()).to_numpy()
    side = from_means(means, about["epsilon"], arms.to_pylist() if "ids" in about else None)
    layers = [layer_from_dict(layer) for layer in about["layers"]]
    side = side._with_recipe(float(about["threshold"]), layers)
    if complete is not None and complete != side.is_complete:
        kind = "complete" if side.is_complete else "partial"
        raise InvalidInput(f"it is a recipe for {kind} information and cannot be read as anything else")
    return side
