"""Tables of features: an array, any dataframe or a file, with a row per arm, as points and ids."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._files import checked_path
from lsdt._validation import checked_list
from lsdt.errors import InvalidFile, InvalidInput, listed, suggest
from lsdt.side_information.sources.tables import read_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId


_IDS = "arm"  # the column of ids, unless another one is named
_LARGEST = 1e300  # differences of larger numbers might overflow


class FeatureTable(NamedTuple):
    """Features of arms: a row per arm, what each column is called, and the ids of the arms if they have any.

    Columns of an array are called by their numbers.
    """

    points: NDArray[np.float64]
    names: list[Any]
    arm_ids: list[ArmId] | None

    def axes(self, wanted: Any, what: str) -> NDArray[np.int64]:
        """Return the places of columns given by name or number; errors say which does not exist."""
        places = []
        for name in checked_list(wanted, what, "features"):
            if not isinstance(name, (str, int, np.integer)) or name not in self.names:
                shown = listed([str(each) for each in self.names], str(name))
                hint = suggest(str(name), map(str, self.names))
                raise InvalidInput(f"{what} names the feature {name!r}; there are {shown}{hint}")
            places.append(self.names.index(name))
        return np.array(sorted(set(places)), np.int64)


def points_of(given: Any, arm_ids: Any) -> FeatureTable:
    """Return one row of features per arm, the names of the features, and the ids."""
    if isinstance(given, (str, PathLike)):
        is_npy = str(given).lower().endswith(".npy")
        arm_ids = _IDS if arm_ids is None and not is_npy else arm_ids
        given = _read_array(given) if is_npy else read_table(given, ".csv, .tsv, .jsonl, .parquet or .npy")
    is_array = isinstance(given, (np.ndarray, list, tuple))
    frame = None if is_array else _narwhals_frame(given)
    if frame is not None:
        return _points_of_frame(frame, arm_ids)
    if isinstance(arm_ids, str):
        raise InvalidInput(f"arm_ids={arm_ids!r} names a column, and X is no dataframe; give a list of ids")
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise InvalidInput(f"X must be a table of numbers, one row per arm: {error}") from None
    width = values.shape[1] if values.ndim == 2 else 0
    shown = [f"feature {number}" for number in range(width)]
    return FeatureTable(_checked_points(values, shown), list(range(width)), _ids_of(arm_ids))


def _read_array(path: str | PathLike[str]) -> NDArray[Any]:
    """Read an array that NumPy saved."""
    try:
        found: NDArray[Any] = np.load(checked_path(path, "file"), allow_pickle=False)
    except FileNotFoundError:
        raise InvalidFile(f"cannot read {str(path)!r}: there is no such file") from None
    except OSError as error:
        raise InvalidFile(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (EOFError, ValueError) as error:
        raise InvalidFile(f"{str(path)!r} is no array of numbers as numpy.save writes it: {error}") from None
    return found


def _ids_of(arm_ids: Any) -> list[ArmId] | None:
    """Return the ids as a list, or None if none are given."""
    return None if arm_ids is None else checked_list(arm_ids, "arm_ids", "ids, one per arm")


def _narwhals_frame(given: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(given)
    except TypeError:
        return None


def _is_number(kind: Any) -> bool:
    import narwhals as nw

    return bool(kind.is_numeric()) or kind == nw.Boolean


def _points_of_frame(frame: Any, arm_ids: Any) -> FeatureTable:
    import narwhals as nw

    eager = frame.collect() if hasattr(frame, "collect") else frame
    names = list(eager.columns)
    if arm_ids is None and _IDS in names:  # ids may be numbers, and would count as a feature
        arm_ids = _IDS
    if isinstance(arm_ids, str):
        if arm_ids not in names:
            raise InvalidInput(
                f"there is no column {arm_ids!r} of ids; found {listed(names, arm_ids)}"
                f"{suggest(arm_ids, names)}. Name it: arm_ids=..."
            )
        names.remove(arm_ids)
        arm_ids = eager[arm_ids].to_list()
    words = [name for name in names if not _is_number(eager[name].dtype)]
    if words:
        hint = "name the column of ids with arm_ids=" if arm_ids is None else "leave them out"
        raise InvalidInput(f"features must be numbers; the columns {words} are not; {hint}")
    columns = [eager[name].cast(nw.Float64).to_numpy() for name in names]
    values = np.column_stack(columns) if columns else np.zeros((len(eager), 0))
    points = _checked_points(values, [f"column {name!r}" for name in names])
    return FeatureTable(points, names, arm_ids)


def _checked_points(values: NDArray[Any], names: list[str]) -> NDArray[np.float64]:
    if values.ndim != 2 or 0 in values.shape:
        hint = "; one feature per arm is a table with one column" if values.ndim == 1 else ""
        raise InvalidInput(
            f"X must be a table, a row per arm and a column per feature; got the shape {values.shape}{hint}"
        )
    if values.dtype.kind not in "iufb":
        raise InvalidInput(f"features must be numbers; got an array of {values.dtype}")
    points = np.ascontiguousarray(values, np.float64)
    bad = ~np.isfinite(points)
    if bad.any():
        arm, feature = map(int, np.argwhere(bad)[0])
        value = points[arm, feature]
        raise InvalidInput(f"features must be finite; arm {arm} has {value} in {names[feature]}")
    large = np.abs(points) > _LARGEST
    if large.any():
        arm, feature = map(int, np.argwhere(large)[0])
        raise InvalidInput(
            f"features must be at most {_LARGEST:g} in size; arm {arm} has {points[arm, feature]:g} in "
            f"{names[feature]}; rescale"
        )
    return points
