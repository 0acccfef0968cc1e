"""A policy's state: a NamedTuple of views into one flat buffer.

A buffer of float64 is cheap to hand to compiled code (a NamedTuple of arrays costs microseconds a call), and
a snapshot of a policy is one copy of it. Its first four words are the policy's random stream; the fields of
the state follow. A field is declared by its annotation::

    class CounterState(NamedTuple):
        alpha: Real       # a parameter: read only
        total: Wholes     # arrays may change; a single counter is an array of length 1
        means: Reals

Annotations must be written with exactly these four names.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numba.extending import overload

from lsdt.errors import InvalidInput
from lsdt.kernel.compiling import Array

if TYPE_CHECKING:
    from collections.abc import Callable

Real: TypeAlias = float
Whole: TypeAlias = int
Reals: TypeAlias = Array
Wholes: TypeAlias = Array

# Which arms may be played this time: a flag for every arm, or None when all may.
Allowed: TypeAlias = Array | None

STREAM_WORDS = 4

# How a field is read out of ``words = buffer[first:last]``.
_READ = {
    "Real": "words[0]",
    "Whole": "words.view(int64)[0]",
    "Reals": "words",
    "Wholes": "words.view(int64)",
}


class Packed(NamedTuple):
    """A state as compiled code takes it: the words, and where each field begins and ends."""

    buffer: Array
    offsets: Array

    def copy(self) -> Packed:
        """Return a state of its own with the same content."""
        return Packed(self.buffer.copy(), self.offsets)


@cache
def field_kinds(state_class: type) -> list[str]:
    """Return the declared kind of every field, or say which declaration is not understood."""
    declared = (state_class.__annotations__[name] for name in state_class._fields)  # type: ignore[attr-defined]
    kinds = [str(getattr(kind, "__forward_arg__", kind)) for kind in declared]
    for name, kind in zip(state_class._fields, kinds, strict=True):  # type: ignore[attr-defined]
        if kind not in _READ:
            raise TypeError(
                f"field {name!r} of {state_class.__name__} is declared {kind!r}; accepted are "
                f"{', '.join(_READ)} (with `from __future__ import annotations` in the file)"
            )
    return kinds


def pack(state: Any, stream: Array, content: Array | None = None) -> Packed:
    """Copy a state, given as numbers and arrays, and its random stream into a buffer.

    With `content`, the words of such a state that were kept, only its layout is worked out.
    """
    if content is not None:
        offsets = np.array([0, *accumulate([STREAM_WORDS, *map(np.size, state)])], np.int64)
        if len(content) != offsets[-1]:
            raise InvalidInput(f"the state has {len(content)} words, and {offsets[-1]} are needed")
        return Packed(content, offsets)
    parts = [stream.view(np.float64)]
    for value, kind in zip(state, field_kinds(state.__class__), strict=True):
        exact = np.float64 if kind.startswith("Real") else np.int64
        parts.append(np.array(value, exact, ndmin=1).view(np.float64))
    offsets = np.array([0, *accumulate(map(len, parts))], np.int64)
    return Packed(np.concatenate(parts), offsets)


def state_of(kind: Any, buffer: Array, offsets: Array) -> Any:
    """Return the state of class `kind` as views into a buffer; compiled code calls it too."""
    return state_reader(kind)(kind, buffer, offsets)


def stream_of(buffer: Array) -> Array:
    """Return the random stream in a buffer; compiled code calls it too."""
    return buffer[:STREAM_WORDS].view(np.uint64)


_READERS: dict[type, Callable[..., Any]] = {}


def state_reader(state_class: type) -> Callable[..., Any]:
    """Write the function that makes a state out of a buffer, once per class."""
    if state_class not in _READERS:
        reads = []
        for number, kind in enumerate(field_kinds(state_class), start=1):
            words = f"buffer[offsets[{number}]:offsets[{number + 1}]]"
            reads.append(_READ[kind].replace("words", words))
        source = f"def read(kind, buffer, offsets):\n    return State({', '.join(reads)})\n"
        names: dict[str, Any] = {"State": state_class, "int64": np.int64}
        exec(source, names)
        _READERS[state_class] = names["read"]
    return _READERS[state_class]


@overload(state_of, jit_options={"forceinline": True}, strict=False)
def _compiled_state_of(kind: Any, buffer: Any, offsets: Any) -> Callable[..., Any]:
    return state_reader(kind.instance_class)


@overload(stream_of, jit_options={"forceinline": True}, strict=False)
def _compiled_stream_of(buffer: Any) -> Callable[..., Any]:
    def read(buffer: Any) -> Any:
        return buffer[:STREAM_WORDS].view(np.uint64)

    return read
