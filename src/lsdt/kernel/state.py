"""A policy's state: a NamedTuple of views into one flat buffer.

A buffer of float64 is cheap to hand to compiled code (a NamedTuple of arrays costs microseconds a call), and
a snapshot of a policy is one copy of it. Its first eight words are the random stream of the current round,
which begins with the policy's key; the fields of the state follow. A field is declared by its annotation::

    class CounterState(NamedTuple):
        alpha: Real       # a parameter: read only
        total: Wholes     # arrays may change; a single counter is an array of length 1
        means: Reals
        indptr: FixedWholes  # a table that never changes: a state that was kept must have the same
        lower: FixedReals

Annotations must be written with exactly these six names. Fields that several policies share are a
NamedTuple too, and the field that holds it is annotated with its class, as in ``tallies: Tallies``. Its
fields lie in the buffer one after the other in its place, and have names such as ``tallies.counts``. In a
function that is compiled separately, a local name for a nested state makes Numba count references to each of
its arrays at every call: name the arrays instead.
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from lsdt.errors import InvalidInput
from lsdt.kernel.jit import Array, inlined
from lsdt.kernel.random import KEY_WORDS, STREAM_WORDS, begin_round

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Real: TypeAlias = float
Whole: TypeAlias = int
Reals: TypeAlias = Array
Wholes: TypeAlias = Array
FixedReals: TypeAlias = Array
FixedWholes: TypeAlias = Array


class Allowed(NamedTuple):
    """Which arms may be played this time: a flag for every arm, and whether all may."""

    everything: bool
    flags: Array


# What a field is made of, and which are arrays.
ELEMENTS = {
    "Real": np.float64,
    "Whole": np.int64,
    "Reals": np.float64,
    "Wholes": np.int64,
    "FixedReals": np.float64,
    "FixedWholes": np.int64,
}
ARRAYS = ("Reals", "Wholes", "FixedReals", "FixedWholes")
_KINDS = (
    "Real, Whole (parameters), Reals, Wholes (arrays that change), FixedReals or FixedWholes (tables), or "
    "the class of another typing.NamedTuple of such fields"
)
_MOST = 2**53  # of anything that is counted


class Packed(NamedTuple):
    """A state as compiled code takes it: the words, and where each field begins and ends."""

    buffer: Array
    offsets: Array

    def copy(self) -> Packed:
        """Return an independent copy."""
        return Packed(self.buffer.copy(), self.offsets)

    def with_key(self, key: Array) -> Packed:
        """Return an independent copy with another key."""
        other = self.copy()
        other.buffer.view(np.uint64)[:STREAM_WORDS] = key
        return other

    def words(self) -> Array:
        """Return the words to keep; the stream of the last round, which no round needs again, is cleared."""
        self.buffer[KEY_WORDS:STREAM_WORDS] = 0.0
        return self.buffer


@cache
def field_kinds(state_class: type) -> dict[str, str]:
    """Return the declared kind of every field by its name, fields of nested states by dotted names."""
    kinds: dict[str, str] = {}
    for name, kind in declared_fields(state_class).items():
        if isinstance(kind, str):
            kinds[name] = kind
        else:
            kinds |= {f"{name}.{inner}": each for inner, each in field_kinds(kind).items()}
    return kinds


@cache
def declared_fields(state_class: type) -> dict[str, str | type]:
    """Return the kind of every field or its class, or say which declaration is not understood."""
    declared = getattr(state_class, "__annotations__", {})
    names: tuple[str, ...] = getattr(state_class, "_fields", ())
    if not names or not all(name in declared for name in names):
        raise InvalidInput(
            f"the state of a policy is a typing.NamedTuple of fields that are declared {_KINDS}; got "
            f"{getattr(state_class, '__name__', state_class)}"
        )
    known = getattr(sys.modules.get(state_class.__module__), "__dict__", {})
    found: dict[str, str | type] = {}
    for name in names:
        kind = _name_of(declared[name])
        nested = declared[name] if isinstance(declared[name], type) else known.get(kind)
        if kind in ELEMENTS:
            found[name] = kind
        elif isinstance(nested, type) and hasattr(nested, "_fields") and nested is not state_class:
            found[name] = nested
        else:
            raise InvalidInput(
                f"field {name!r} of {state_class.__name__} is declared {kind!r}; accepted are {_KINDS}. The "
                "six kinds are of lsdt.kernel.state, under just these names (with `from __future__ import "
                "annotations` at the top of the file); a class must be known in the module of "
                f"{state_class.__name__} when it runs"
            )
    return found


def _name_of(annotation: Any) -> str:
    """Return an annotation as it is written in the file, as far as Python has kept that."""
    if isinstance(annotation, type):
        return annotation.__name__
    return str(getattr(annotation, "__forward_arg__", annotation))


def _values(state: Any) -> list[Any]:
    """Return what is in the fields of a state, in the order of `field_kinds`."""
    values: list[Any] = []
    for value, kind in zip(state, declared_fields(state.__class__).values(), strict=True):
        if isinstance(kind, str):
            values.append(value)
        else:
            values += _values(value)
    return values


def _made_of(state_class: type, values: Iterator[Any]) -> Any:
    """Return the state with these values in its fields, in the order of `field_kinds`."""
    kinds = declared_fields(state_class).values()
    return state_class(*(next(values) if isinstance(kind, str) else _made_of(kind, values) for kind in kinds))


def check_values(state: Any, state_class: type, whole: str = "") -> None:
    """Refuse a state that does not hold what its class declares; `pack` would cut fractions off.

    `whole` names the field that holds this state, if it is nested in another one.
    """
    if not isinstance(state, state_class):
        place = f" for {whole}" if whole else ""
        raise InvalidInput(
            f"prepare must return a {state_class.__name__}{place}, as declared; got {type(state).__name__}"
        )
    values: dict[str, Any] = state._asdict()  # type: ignore[attr-defined]
    for (name, value), kind in zip(values.items(), declared_fields(state_class).values(), strict=True):
        field = f"field {name!r} of {state_class.__name__}"
        if not isinstance(kind, str):
            check_values(value, kind, field)
            continue
        found = np.asarray(value)
        field = f"{field} is declared {kind}"
        if found.dtype.kind not in "biuf":
            raise InvalidInput(f"{field}: prepare must put numbers there; got {value!r}")
        n_axes = 1 if kind.endswith("s") else 0
        if found.ndim != n_axes:
            shape = "an array of one dimension" if n_axes else "a single number"
            hint = "; keep a table row by row, and use reshape" if n_axes and found.ndim > 1 else ""
            raise InvalidInput(f"{field}: prepare must put {shape} there; got shape {found.shape}{hint}")
        if "Whole" in kind and not (np.isfinite(found) & (found == np.trunc(found))).all():
            raise InvalidInput(f"{field}: prepare must put whole numbers there; got {value!r}")


def pack(state: Any, key: Array) -> Packed:
    """Copy a state, given as numbers and arrays, and the key of its random streams into a buffer."""
    values, kinds = _values(state), field_kinds(state.__class__).values()
    sizes = [value.size if isinstance(value, np.ndarray) else np.size(value) for value in values]
    places = [0, *accumulate(sizes, initial=STREAM_WORDS)]
    buffer = np.zeros(places[-1])
    wholes = buffer.view(np.int64)
    buffer.view(np.uint64)[:STREAM_WORDS] = key
    for value, kind, size, first in zip(values, kinds, sizes, places[1:], strict=False):
        words = buffer if "Real" in kind else wholes
        if not isinstance(value, np.ndarray):
            words[first : first + size] = value
        elif size:
            words[first : first + size].reshape(value.shape)[...] = value  # tables row by row
    return Packed(buffer, np.array(places, np.int64))


def copy_state(state: Any) -> Any:
    """Return a copy of a state that compiled code can be called with; tables are shared."""
    fields: list[Any] = []
    for value, kind in zip(_values(state), field_kinds(state.__class__).values(), strict=True):
        element: Any = ELEMENTS[kind]
        if kind.startswith("Fixed"):
            fields.append(np.ascontiguousarray(value, element).ravel())
        else:
            fields.append(np.array(value, element) if kind in ARRAYS else element(value))
    return _made_of(state.__class__, iter(fields))


class Ragged(NamedTuple):
    """A field of the states of many replications: one length each, all values in a row; None is all zero."""

    sizes: Array
    values: Array | None = None


def pack_many(state: Any, keys: Array) -> list[Packed]:
    """Copy the states of many replications, one for each key, into buffers: those that `pack` would make.

    A field is `Ragged`, or a number each, or one number for all.
    """
    values, kinds = _values(state), field_kinds(state.__class__).values()
    sizes = np.ones((len(keys), len(kinds)), np.int64)
    for at, value in enumerate(values):
        if isinstance(value, Ragged):
            sizes[:, at] = value.sizes
    offsets = np.zeros((len(keys), len(kinds) + 2), np.int64)
    offsets[:, 1] = STREAM_WORDS
    np.cumsum(sizes, axis=1, out=offsets[:, 2:])
    offsets[:, 2:] += STREAM_WORDS
    ends = np.cumsum(offsets[:, -1])
    starts = ends - offsets[:, -1]
    buffer = np.zeros(ends[-1])
    wholes = buffer.view(np.int64)
    buffer.view(np.uint64)[starts[:, None] + np.arange(STREAM_WORDS)] = keys
    for at, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        words = buffer if "Real" in kind else wholes
        firsts = starts + offsets[:, at + 1]
        if not isinstance(value, Ragged):
            words[firsts] = value
        elif value.values is not None:
            before = np.cumsum(value.sizes) - value.sizes
            places = np.repeat(firsts - before, value.sizes)
            words[places + np.arange(len(value.values))] = value.values
    bounds = zip(starts.tolist(), ends.tolist(), offsets, strict=True)
    return [Packed(buffer[start:end], places) for start, end, places in bounds]


def unpack(state: Any, key: Array, content: Array, places: Mapping[str, str | int]) -> Packed:
    """Restore a saved state from its words; `state` is the same policy's before the first round.

    What compiled code trusts is checked: tables and the key are the same, parameters too but for rounding, no
    count is below zero, and what is used as an index (`places`) is within bounds. Other numbers may be
    anything.
    """
    fresh = pack(state, key)
    if content.dtype != np.float64 or content.shape != fresh.buffer.shape:
        raise InvalidInput(f"the state has {content.size} words, and {len(fresh.buffer)} are needed")
    if not np.array_equal(content[:STREAM_WORDS].view(np.uint64), key):
        raise InvalidInput("the random streams of the state have another key than those of its seed")
    kinds = field_kinds(state.__class__)
    sizes = dict(zip(kinds, np.diff(fresh.offsets[1:]).tolist(), strict=True))
    for at, (name, kind) in enumerate(kinds.items(), start=1):
        kept, before = (words[fresh.offsets[at] : fresh.offsets[at + 1]] for words in (content, fresh.buffer))
        if "Real" not in kind:
            kept, before = kept.view(np.int64), before.view(np.int64)
        if not _may_be(kept, before, kind):
            raise InvalidInput(f"field {name!r} of the state does not hold what it must")
        if name in places:
            room = places[name]
            size = room if isinstance(room, int) else sizes[room]
            used = kept[::2] if kind == "Reals" else kept  # every other word of a tournament is an arm
            if not ((used >= 0) & (used < size)).all():
                raise InvalidInput(f"field {name!r} of the state points outside of its {size:,} places")
    return Packed(content, fresh.offsets)


def _may_be(kept: Array, before: Array, kind: str) -> bool:
    """Return whether a field can hold these words, judging by what it held before the first round."""
    if kind in ("Real", "FixedReals"):
        return bool(np.allclose(kept, before, rtol=1e-9, atol=0.0, equal_nan=True))
    if kind == "Reals":
        return True
    if kind == "Wholes":
        return bool(((kept >= np.minimum(before, 0)) & (kept <= _MOST)).all())
    return np.array_equal(kept, before)


def view_of(buffer: Array, first: int, last: int, kind: Any) -> Array:
    """Return the elements from `first` to `last` as numbers of a kind; they stay where they are."""
    return buffer[first:last].view(kind)


def state_of(kind: Any, buffer: Array, offsets: Array) -> Any:
    """Return the state of class `kind` as views into a buffer; compiled code calls it too."""
    fields = []
    for at, each in enumerate(field_kinds(kind).values(), start=1):
        view = view_of(buffer, offsets[at], offsets[at + 1], ELEMENTS[each])
        fields.append(view if each in ARRAYS else view[0])
    return _made_of(kind, iter(fields))


@inlined
def allowed_of(everything: bool, flags: Array) -> Allowed:
    """Return which arms may be played; the references of the flags, which the caller has, are not counted."""
    return Allowed(everything, view_of(flags, 0, len(flags), np.bool_))


@inlined
def stream_of(buffer: Array, round_: int, purpose: int) -> Array:
    """Return the random stream of a round for a purpose, at its beginning; it is a view of the buffer."""
    stream = view_of(buffer, 0, STREAM_WORDS, np.uint64)
    begin_round(stream, round_, purpose)
    return stream
