"""Bytes with a head, arrays and a checksum.

    magic (8 bytes) | format, length of the head (4 bytes each) | checksum (8) | head (JSON) | arrays

The head says what the arrays are; everything is padded to eight bytes; the checksum covers all that follows
it and what stands before it. Data only: nothing in it is ever executed.
"""

from __future__ import annotations

import json
import math
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidFile, LsdtError
from lsdt.kernel import checksum
from lsdt.side_information import as_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_KINDS = ("<i4", "<i8", "<f8")
_FRONT = struct.Struct("<8sIIQ")


def encode_frame(magic: bytes, version: int, head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return a head and arrays as bytes."""
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    raw = json.dumps({**head, "arrays": listed}).encode()
    raw += b" " * (-len(raw) % 8)
    parts = [as_words(raw), *(as_words(array) for array in arrays.values())]
    lengths = np.array([version, len(raw)], np.uint64)
    front = _FRONT.pack(magic, version, len(raw), checksum([lengths, *parts]))
    return b"".join([front, *(part.data.cast("B") for part in parts)])


@contextmanager
def own_errors() -> Iterator[None]:
    """Convert decoding errors into `InvalidFile`."""
    try:
        yield
    except LsdtError:
        raise
    except (
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        MemoryError,
        RecursionError,
    ) as error:
        raise InvalidFile(
            f"this snapshot does not hold an agent that this version can read: {error!r}"
        ) from None


def head_of(blob: bytes) -> dict[str, Any]:
    """Return the head alone; nothing is checked."""
    head: dict[str, Any] = json.loads(blob[_FRONT.size : _FRONT.size + _FRONT.unpack_from(blob)[2]])
    return head


def parse(blob: bytes, magic: bytes, format_: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Check a snapshot and return its head and its arrays."""
    if len(blob) < _FRONT.size or blob[:8] != magic:
        raise InvalidFile("this is not a snapshot of an lsdt agent: it does not begin like one")
    _, version, length, expected = _FRONT.unpack_from(blob)
    if version != format_:
        what = "upgrade lsdt"
        if version < format_:
            what = (
                "it was made by an earlier lsdt, whose decisions do not say which opening of an agent made "
                "them; read it with that version, and begin a new agent with its rewards as prior=(arms, "
                "rewards)"
            )
        raise InvalidFile(
            f"this snapshot has format {version}, and this version of lsdt reads format {format_}: {what}"
        )
    if len(blob) % 8 or length % 8 or _FRONT.size + length > len(blob):
        raise InvalidFile(f"this snapshot is cut short or damaged: {len(blob)} bytes")
    lengths = np.array([version, length], np.uint64)
    words = np.frombuffer(blob, np.uint64, offset=_FRONT.size)
    try:
        head = json.loads(blob[_FRONT.size : _FRONT.size + length])
        arrays, parts, at = {}, [words[: length // 8]], length // 8
        for name, kind, shape in head["arrays"]:
            if kind not in _KINDS or not all(isinstance(side, int) and side >= 0 for side in shape):
                raise ValueError("not an array of a snapshot")
            dtype, size = np.dtype(kind), math.prod(shape)
            n_words = -(-size * dtype.itemsize // 8)
            part = words[at : at + n_words]
            parts.append(part)
            arrays[name] = part.view(dtype)[:size].reshape(shape)
            at += n_words
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, MemoryError, RecursionError):
        raise InvalidFile("this snapshot is damaged: its head cannot be read") from None
    if at != len(words) or checksum([lengths, *parts]) != expected:
        raise InvalidFile("this snapshot is cut short or damaged: its checksum does not fit")
    return head, arrays
