"""Ids of decisions that can be shown to anybody: number, arm, epoch, and a code that cannot be forged."""

from __future__ import annotations

import struct
from binascii import Error, a2b_base64, b2a_base64
from hashlib import blake2b
from hmac import compare_digest
from typing import Any, NamedTuple

from lsdt.errors import InvalidInput

_HEAD = struct.Struct(">QIq")
_CODE = 13  # bytes: 104 bits cannot be guessed, and 33 bytes in all need no padding in base 64
_LENGTH = 4 * (_HEAD.size + _CODE) // 3
KEY_BYTES = 32  # 256 random bits, which cannot be guessed; BLAKE2b takes up to 64 bytes


class Numbered(NamedTuple):
    """What an id says: the number of the decision, the index of its arm when it was made, and its epoch."""

    number: int
    arm: int
    epoch: int


class DecisionIds:
    """Makes and checks the ids of one experiment.

    Parameters
    ----------
    key : bytes
        The secret of the store, so that every service on it takes the ids of every other.
    name : str
        The experiment.
    created : int
        When it was made: ids of an earlier one of the same name are refused.

    Examples
    --------
    >>> from lsdt.service.decision_ids import DecisionIds
    >>> ids = DecisionIds(bytes(32), "drinks", 0)
    >>> ids.make(7, 2, epoch=1)
    'AAAAAAAAAAcAAAACAAAAAAAAAAHaTPvkhzLXNTfSdcKf'
    >>> ids.read(ids.make(7, 2, epoch=1))
    Numbered(number=7, arm=2, epoch=1)
    """

    def __init__(self, key: bytes, name: str, created: int) -> None:
        self._code = blake2b(f"{created}/{name}/".encode(), key=key, digest_size=_CODE)
        self._name = name

    def make(self, number: int, arm: int, epoch: int) -> str:
        """Return the id of a decision."""
        head = _HEAD.pack(number, arm, epoch)
        code = self._code.copy()
        code.update(head)
        text = b2a_base64(head + code.digest(), newline=False).decode()
        return text.replace("+", "-").replace("/", "_")

    def read(self, text: Any) -> Numbered:
        """Return what an id says, or refuse what this experiment did not hand out."""
        content = decoded(text)
        if content is not None:
            head = content[: _HEAD.size]
            code = self._code.copy()
            code.update(head)
            if compare_digest(code.digest(), content[_HEAD.size :]):
                return Numbered(*_HEAD.unpack(head))
        raise InvalidInput(f"{text!r} is not a decision of {self._name!r}; send the id that ask returned")


def decoded(text: Any) -> bytes | None:
    """Return the bytes of what looks like an id, or None."""
    if not isinstance(text, str) or len(text) != _LENGTH:
        return None
    try:
        return a2b_base64(text.replace("-", "+").replace("_", "/"), strict_mode=True)
    except (Error, ValueError):
        return None


def parts(text: str) -> Numbered:
    """Return what an id says, without checking it: only the service can."""
    content = decoded(text)
    if content is None:
        raise InvalidInput(f"{text!r} is not the id of a decision")
    return Numbered(*_HEAD.unpack(content[: _HEAD.size]))
