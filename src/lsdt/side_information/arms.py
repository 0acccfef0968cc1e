"""Arms by name: optional ids, and the conversion of a user's arms and pairs to indices."""

from __future__ import annotations

from collections.abc import Set
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from lsdt._validation import checked_list, is_pair, is_whole
from lsdt.errors import InvalidInput, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

ArmId: TypeAlias = str | int

_MOST_COMPARED = 10_000  # searching more ids for a similar one would take too long
_EXAMINED = 1_000  # pairs searched for True and False, which numpy would read as 1 and 0


class ArmsAndPairs(NamedTuple):
    """Arms in their order, similar and dissimilar pairs as indices, and their thresholds if there are any.

    `ranges` are the better pairs, better arm first, the pairs with a range, and its low and high ends.
    """

    n_arms: int
    arm_ids: list[ArmId] | None
    similar: NDArray[np.int64]
    dissimilar: NDArray[np.int64]
    thresholds: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    ranges: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | None = (
        None
    )


class ArmNames:
    """The ids of the arms, all strings or all ints; without ids an arm is called by its index."""

    __slots__ = ("_index", "ids", "n_arms", "titles")

    def __init__(
        self, n_arms: int, arm_ids: Iterable[Any] | None, titles: tuple[str | None, ...] | None = None
    ) -> None:
        self.n_arms = n_arms
        self.titles = titles  # for display, one per arm; None for an arm without a title
        self.ids = None if arm_ids is None else _checked_ids(arm_ids, n_arms)
        self._index: dict[ArmId, int] | None = None

    @property
    def integer_ids(self) -> bool:
        """Whether ids were given and are ints."""
        return self.ids is not None and isinstance(self.ids[0], int)

    def label(self, arm: int) -> ArmId:
        """Return the id of an arm, or its index when there are no ids."""
        if not is_whole(arm):
            raise InvalidInput(f"an arm is labelled by its index, a whole number; got {arm!r}")
        if not 0 <= arm < self.n_arms:
            raise InvalidInput(f"there is no arm {arm}; arms are numbered 0 to {self.n_arms - 1}")
        return int(arm) if self.ids is None else self.ids[arm]

    def show(self, arm: int) -> str:
        """Return the name to display: the title and the id, or the id alone."""
        name, title = self.label(arm), None if self.titles is None else self.titles[arm]
        return f"{title} [{name}]" if title else str(name)

    def index(self, arm: Any) -> int:
        """Return the index of an arm given by id or, unless ids are ints, by index."""
        arm = _plain(arm)
        if type(arm) is int and not self.integer_ids:
            if not 0 <= arm < self.n_arms:
                raise InvalidInput(f"there is no arm {arm}; arms are numbered 0 to {self.n_arms - 1}")
            return arm
        found = self._lookup().get(arm) if type(arm) in (str, int) else None
        if found is None:
            raise InvalidInput(f"there is no arm {arm!r}; {self._accepted_text(arm)}")
        return found

    def indices(self, values: NDArray[Any], relation: str) -> NDArray[np.int64]:
        """Return the indices of an ``(m, 2)`` array of ids or indices; errors name the pair and the arm."""
        if values.dtype.kind == "O" and not self.integer_ids:
            values = _integers_if_all(values)
        if values.dtype.kind in "iu" and not self.integer_ids:
            wrong = (values < 0) | (values >= self.n_arms)
            if wrong.any():
                row = int(np.argmax(wrong.any(axis=1)))
                arm = int(values[row][wrong[row]][0])
                raise InvalidInput(
                    f"{relation} pair number {row} is {_pair_text(values[row])}: there is no arm {arm}; "
                    f"arms are numbered 0 to {self.n_arms - 1}"
                )
            return values
        indices = self._look_up(values)
        unknown = indices < 0
        if unknown.any():
            row = int(np.argmax(unknown.any(axis=1)))
            arm = _plain(values[row][unknown[row]][0])
            raise InvalidInput(
                f"{relation} pair number {row} is {_pair_text(values[row])}: there is no arm {arm!r}; "
                f"{self._accepted_text(arm)}"
            )
        return indices

    def _look_up(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of every id in an array, -1 for an unknown one."""
        arms = values.ravel().tolist()
        lookup = self._lookup() if self.ids is not None else range(self.n_arms)
        if isinstance(lookup, dict) and set(map(type, arms)) <= {str, int}:
            places = list(map(lookup.get, arms, repeat(-1)))  # twice as fast as a loop
        else:  # numpy's own strings and ints, or what cannot be an id
            plain = [_plain(arm) for arm in arms]
            places = [_place_in(lookup, arm) if type(arm) in (str, int) else -1 for arm in plain]
        return np.array(places, np.int64).reshape(values.shape)

    def _lookup(self) -> dict[ArmId, int]:
        if self._index is None and self.ids is not None:
            self._index = {name: arm for arm, name in enumerate(self.ids)}
        return self._index or {}

    def _accepted_text(self, arm: Any) -> str:
        if self.ids is None:
            return f"arms are numbered 0 to {self.n_arms - 1} (give arm_ids to use names)"
        shown = ", ".join(repr(name) for name in self.ids[:3])
        more = ", ..." if len(self.ids) > 3 else ""
        if self.integer_ids:
            return f"arm ids are {shown}{more}; with integer ids a number is an id, not an index"
        near = suggest(str(arm), map(str, self.ids)) if len(self.ids) <= _MOST_COMPARED else ""
        return f"arm ids are {shown}{more}{near}"


def _place_in(lookup: dict[ArmId, int] | range, arm: ArmId) -> int:
    if isinstance(lookup, dict):
        return lookup.get(arm, -1)
    return int(arm) if arm in lookup else -1


def _integers_if_all(values: NDArray[Any]) -> NDArray[Any]:
    """Return an object array of whole numbers as integers, anything else as it is."""
    plain = [_plain(arm) for arm in values.ravel().tolist()]
    if all(type(arm) is int and abs(arm) < 2**63 for arm in plain):
        return np.array(plain, np.int64).reshape(values.shape)
    return values


def _pair_text(pair: Any) -> str:
    first, second = (_plain(arm) for arm in pair)
    return f"({first!r}, {second!r})"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _checked_ids(arm_ids: Iterable[Any], n_arms: int) -> tuple[ArmId, ...]:
    if isinstance(arm_ids, (set, frozenset)):
        raise InvalidInput("arm_ids must be a list: a set has no order, and the arms need one")
    ids = tuple(_plain(name) for name in checked_list(arm_ids, "arm_ids", "ids, one per arm"))
    if len(ids) != n_arms:
        raise InvalidInput(f"arm_ids must have one id for each of the {n_arms} arms; got {len(ids)}")
    kind = type(ids[0])
    for arm, name in enumerate(ids):
        if type(name) not in (str, int) or name == "":
            raise InvalidInput(f"arm ids must be non-empty strings or ints; arm {arm} has {name!r}")
        if type(name) is not kind:
            raise InvalidInput(f"arm ids must be all strings or all ints; got {ids[0]!r} and {name!r}")
        if kind is int and not -(2**63) <= name < 2**63:
            raise InvalidInput(f"integer arm ids must fit in 64 bits; arm {arm} has {name}")
        if kind is str and not name.isprintable() and not _is_text(name):
            raise InvalidInput(f"arm ids must be text that can be written in UTF-8; arm {arm} has {name!r}")
    if len(set(ids)) != n_arms:
        seen: dict[ArmId, int] = {}
        for arm, name in enumerate(ids):
            if name in seen:
                raise InvalidInput(f"arm ids must differ; {name!r} is the id of arms {seen[name]} and {arm}")
            seen[name] = arm
    return ids


def index_pairs(pairs: Any, names: ArmNames, relation: str) -> NDArray[np.integer[Any]]:
    """Return ``(m, 2)`` indices of the pairs of one relation; errors name the pair and the arm."""
    indices = names.indices(_two_columns(pairs, relation), relation)
    same = indices[:, 0] == indices[:, 1]
    if same.any():
        row = int(np.argmax(same))
        arm = names.label(int(indices[row, 0]))
        raise InvalidInput(
            f"{relation} pair number {row} joins arm {arm!r} to itself; a relation needs two different arms"
        )
    return indices


def _two_columns(pairs: Any, relation: str) -> NDArray[Any]:
    """Return the pairs as an ``(m, 2)`` array of ints, or of objects when they are ids."""
    if hasattr(pairs, "columns"):
        raise InvalidInput(f"{relation} must be a list of pairs; for a dataframe use lsdt.from_frame")
    if not isinstance(pairs, np.ndarray):
        pairs = _array_of_rows(pairs, relation)
    if pairs.size == 0:
        return np.zeros((0, 2), np.int32)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInput(f"{relation} must have two columns, one pair a row; got shape {pairs.shape}")
    if pairs.dtype.kind in "iu":
        return np.asarray(pairs)
    if pairs.dtype.kind not in "OUT":
        raise InvalidInput(f"{relation} must hold arm numbers or ids; got an array of {pairs.dtype}")
    return np.asarray(pairs, object)


def _array_of_rows(pairs: Any, relation: str) -> NDArray[Any]:
    rows = checked_list(pairs, relation, "pairs of arms")
    try:
        array = np.array(rows)
    except (ValueError, OverflowError):  # rows of different lengths, or a number beyond 64 bits
        array = np.zeros(0)
    if array.dtype.kind in "iu" and array.ndim == 2 and array.shape[1] == 2:
        flags = any(isinstance(arm, (bool, np.bool_)) for pair in rows[:_EXAMINED] for arm in pair)
        if not flags:
            return array
    for row, pair in enumerate(rows):
        if relation == "better" and isinstance(pair, Set):
            raise InvalidInput(f"better pair number {row} is {pair!r}, a set, and has no first arm")
        if not is_pair(pair):
            raise InvalidInput(f"{relation} pair number {row} must be two arms; got {pair!r}")
    objects = np.empty((len(rows), 2), object)
    for row, pair in enumerate(rows):
        objects[row] = tuple(pair)
    return objects


def with_stored_titles(names: ArmNames, about: dict[str, Any]) -> ArmNames:
    """Return names with the titles from a file or snapshot, if there are any; refuse invalid titles."""
    titles = about.get("titles")
    if titles is None:
        return names
    fits = isinstance(titles, list) and len(titles) == names.n_arms
    if not fits or not all(title is None or isinstance(title, str) for title in titles):
        raise InvalidInput(
            f"titles must be a list of text or null, one for each of the {names.n_arms} arms; got other ones"
        )
    return ArmNames(names.n_arms, names.ids, tuple(titles))
