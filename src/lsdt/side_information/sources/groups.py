"""Side information from a taxonomy: arms of one group are similar, groups may be known to lie apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from lsdt._html import fields_card
from lsdt._validation import checked_count, checked_list, checked_text, checked_whole, is_pair
from lsdt.errors import InvalidInput, suggest
from lsdt.kernel import require_memory
from lsdt.side_information.arms import ArmNames
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs, common_pair
from lsdt.side_information.layouts.stores import known_store
from lsdt.side_information.side_information import SideInformation
from lsdt.side_information.sources.tables import is_missing, is_table, table_columns, take_column, take_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmId

    Path: TypeAlias = tuple[str, ...]  # from the widest group to the narrowest
    ArmSets: TypeAlias = tuple[list[int], list[int] | None]  # all pairs within one, or between two

_BYTES_PER_PAIR = 56  # listed by group, in one list, and as a graph that is being built
_FINER = "choose a deeper level, or finer groups"


class GroupEvidence(NamedTuple):
    """What side information from groups rests on: the group of every arm, None for an arm in no group.

    Examples
    --------
    >>> import lsdt
    >>> lsdt.from_groups({"tea": "drinks/hot", "bread": "food"}, level=1).evidence.groups
    ('drinks', 'food')
    """

    groups: tuple[str | None, ...]

    def among(self, arms: NDArray[np.int64]) -> GroupEvidence:
        """Return the evidence about some of the arms."""
        return GroupEvidence(tuple(self.groups[arm] for arm in arms.tolist()))

    def _repr_html_(self) -> str:
        return fields_card(self)


def from_groups(
    groups: Any,
    epsilon: float | None = None,
    arm_ids: Sequence[ArmId] | None = None,
    level: int | None = None,
    apart: Iterable[tuple[str, str]] = (),
    separator: str = "/",
) -> SideInformation:
    """Make side information from groups of arms: a taxonomy, categories, series.

    Arms of one group are similar. Arms of different groups are *not* therefore dissimilar: their relation is
    unknown unless `apart` lists the two groups. `lsdt.check_side` tests groups against a log or rewards.

    Parameters
    ----------
    groups : mapping, sequence, table, or path
        The group of every arm: a mapping from arms to groups, or a list with one group per arm; or a table
        with columns ``arm`` and ``group``: a dataframe, a list of dicts, a dict of lists, or a ``.csv``,
        ``.tsv``, ``.jsonl`` or ``.parquet`` file. A group is text, or a path from the widest group to the
        narrowest, ``"drinks/hot"``. None means no group.
    epsilon : float, optional
        The threshold that the groups are meant for, where it is known.
    arm_ids : sequence of str or of int, optional
        Names of the arms. With a mapping these are its keys; give them to fix the order, or to have arms that
        are in no group.
    level : int, optional
        How many parts of a path make a group: 1 for the widest. Arms whose paths are shorter are in no
        group. By default the whole path counts.
    apart : iterable of pairs of groups
        Groups whose arms are dissimilar to one another, as paths of any length: ``("drinks", "food")``.
    separator : str
        What stands between the parts of a path.

    Examples
    --------
    >>> import lsdt
    >>> shelf = {"tea": "drinks/hot", "coffee": "drinks/hot", "cola": "drinks/cold", "bread": "food"}
    >>> side = lsdt.from_groups(shelf, epsilon=.1, apart=[("drinks/hot", "drinks/cold")])
    >>> side.relation("tea", "coffee"), side.relation("coffee", "cola"), side.relation("tea", "bread")
    ('similar', 'dissimilar', None)
    >>> lsdt.from_groups(shelf, level=1).relation("coffee", "cola")
    'similar'
    """
    checked_text(separator, "separator", " that stands between groups")
    level = None if level is None else checked_whole(level, "level", 1, meaning=", the widest groups")
    ids, members = _members(groups, arm_ids)
    names = ArmNames(checked_count(len(members)), ids)
    paths = [_path(group, separator, names.label(arm)) for arm, group in enumerate(members)]
    sets = _together(paths, level), _apart(paths, apart, separator)
    similar, dissimilar = (adjacency_of_pairs(_pairs(each), len(paths)) for each in sets)
    both = common_pair(similar, dissimilar)
    if both is not None:
        first, second = (f"{names.label(arm)!r} ({separator.join(paths[arm])!r})" for arm in both)
        raise InvalidInput(
            f"arms {first} and {second} are in one group at this level, and apart says that their groups lie "
            "apart; choose a deeper level"
        )
    of_level = (path[:level] if len(path) >= (level or 1) else () for path in paths)
    evidence = GroupEvidence(tuple(separator.join(path) or None for path in of_level))
    return SideInformation._of(known_store(len(paths), similar, dissimilar), names, epsilon, evidence)


def _members(groups: Any, arm_ids: Any) -> tuple[list[ArmId] | None, list[Any]]:
    """Return the ids and the group of every arm."""
    if is_table(groups):
        groups = _groups_of_table(groups)
    if isinstance(groups, Mapping):
        if arm_ids is None:
            keys = list(groups)
            return (None if keys == list(range(len(keys))) else keys), list(groups.values())
        ids = checked_list(arm_ids, "arm_ids", "ids, one per arm")
        strangers = [key for key in groups if key not in set(ids)]
        if strangers:
            raise InvalidInput(f"groups has the arm {strangers[0]!r}, which is not among arm_ids")
        return ids, [groups.get(name) for name in ids]
    if isinstance(groups, np.ndarray) and groups.ndim != 1:
        raise InvalidInput(f"groups must be a list with one group per arm; got an array {groups.shape}")
    plain = groups.to_pylist() if hasattr(groups, "to_pylist") else groups
    listed = checked_list(plain, "groups", "groups, one per arm, or a mapping from arms to groups")
    return None if arm_ids is None else checked_list(arm_ids, "arm_ids", "ids, one per arm"), listed


def _groups_of_table(rows: Any) -> dict[ArmId, Any]:
    what = repr(str(rows)) if isinstance(rows, (str, PathLike)) else "the table of groups"
    columns = table_columns(rows, what)
    arms, groups = take_ids(columns, "arm", what), take_column(columns, "group", what)
    if len(set(arms)) < len(arms):
        raise InvalidInput(f"an arm occurs twice in {what}; an arm is in one group, which may be a path")
    return {arm: None if is_missing(group) else group for arm, group in zip(arms, groups, strict=True)}


def _path(group: Any, separator: str, arm: ArmId) -> Path:
    """Return the parts of a group's path; none when the arm is in no group."""
    plain = group.item() if isinstance(group, np.generic) else group
    if plain is None or type(plain).__name__ in ("NAType", "NaTType") or plain != plain:
        return ()  # None, or what dataframes use for it
    if type(plain) is int or (type(plain) is float and plain.is_integer()):
        return (str(int(plain)),)
    parts = plain.split(separator) if isinstance(plain, str) else plain
    path = tuple(parts) if isinstance(parts, (list, tuple)) else ()
    if not path or not all(isinstance(part, str) and part for part in path):
        raise InvalidInput(
            f"a group is text, a path such as 'drinks{separator}hot', or None; arm {arm!r} has {group!r}"
        )
    return path


def _together(paths: list[Path], level: int | None) -> list[ArmSets]:
    """Return the arms of every group at this level."""
    together: dict[Path, list[int]] = {}
    for arm, path in enumerate(paths):
        if len(path) >= (level or 1):
            together.setdefault(path[:level], []).append(arm)
    if level is not None and not together:
        deepest = max(map(len, paths))
        raise InvalidInput(f"no arm has a group at level {level}; the longest path has {deepest} parts")
    return [(arms, None) for arms in together.values()]


def _apart(paths: list[Path], apart: Iterable[tuple[str, str]], separator: str) -> list[ArmSets]:
    """Return the arms on either side of every pair of groups that lie apart."""
    inside: dict[Path, list[int]] = {}
    for arm, path in enumerate(paths):
        for depth in range(1, len(path) + 1):
            inside.setdefault(path[:depth], []).append(arm)
    sides: list[ArmSets] = []
    for pair in checked_list(apart, "apart", "pairs of groups"):
        if not is_pair(pair):
            raise InvalidInput(f"apart must be a list of pairs of groups; got {pair!r} in it")
        first, second = (_known_path(group, inside, separator) for group in pair)
        if first[: len(second)] == second[: len(first)]:
            raise InvalidInput(f"groups that lie apart must not share arms; {pair[0]!r} and {pair[1]!r} do")
        sides.append((inside[first], inside[second]))
    return sides


def _known_path(group: Any, inside: dict[Path, list[int]], separator: str) -> Path:
    path = _path(group, separator, "in apart")
    if path not in inside:
        known = [separator.join(name) for name in inside]
        shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
        raise InvalidInput(
            f"apart names the group {group!r}, which no arm is in; groups are {shown}"
            + suggest(str(group), known)
        )
    return path


def _pairs(sets: list[ArmSets]) -> NDArray[np.int32]:
    """Return all pairs within sets of arms, or between two of them."""
    count = sum(len(one) * (len(one) - 1) // 2 if two is None else len(one) * len(two) for one, two in sets)
    require_memory(count * _BYTES_PER_PAIR, f"listing the {count:,} pairs of the groups", _FINER)
    listed = [np.zeros((0, 2), np.int32)]
    for one, two in sets:
        arms = np.array(one, np.int32)
        if two is None:
            first, second = np.triu_indices(len(arms), 1)
            listed.append(np.column_stack((arms[first], arms[second])))
        else:
            others = np.array(two, np.int32)
            listed.append(np.column_stack((np.repeat(arms, len(others)), np.tile(others, len(arms)))))
    return np.concatenate(listed)
