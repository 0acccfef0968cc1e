"""Snapshots: an agent as bytes.

    magic (8 bytes) | format, length of the head (4 bytes each) | checksum (8) | head (JSON) | arrays

The head says what the arrays are; everything is padded to eight bytes; the checksum covers all that follows
it and what stands before it. Data only: nothing in a snapshot is ever executed, and what compiled code
trusts (shapes, places, row starts) is checked. The checksum is no signature, and numbers may be made up:
restore snapshots from trusted sources only.
"""

from __future__ import annotations

import json
import math
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import LARGEST_REWARD, checked_seed, checked_share, checked_size, checked_spread
from lsdt.agent.decisions import Pending
from lsdt.agent.learner import Learner, PriorTallies
from lsdt.errors import InvalidFile, InvalidInput, LsdtError
from lsdt.kernel.checksums import checksum
from lsdt.kernel.rewards import RewardModel, Tail
from lsdt.policies import Policy
from lsdt.policies.situation import MOST_ROUNDS, checked_horizon
from lsdt.side_information.io.arrays import as_words, exact_array, side_as_arrays, side_of_arrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

MAGIC, SIDE_MAGIC = b"LSDTAGNT", b"LSDTSIDE"
FORMATS = (1, 2)  # of an agent that began with nothing known, and of one with a prior
_KINDS = ("<i4", "<i8", "<f8")
_FRONT = struct.Struct("<8sIIQ")
_TALLIES = ("counts", "sums", "squares")


class Contents(NamedTuple):
    """Everything that an agent is."""

    learner: Learner
    is_auto: bool
    policy_reason: str


def to_bytes(contents: Contents) -> bytes:
    """Return an agent as bytes; see `Agent.snapshot`."""
    learner = contents.learner
    prior = learner.prior
    side_arrays, side = side_as_arrays(learner.side)
    arrays = {
        "buffer": learner.words,
        "counts": learner.counts,
        "sums": learner.sums,
        "squares": learner.squares,
        "pending": np.array(learner.pending.entries(), np.int64).reshape(-1, 3),
        **({} if learner.retired is None else {"retired": np.flatnonzero(learner.retired)}),
        **({f"prior_{name}": getattr(prior, name) for name in _TALLIES} if prior else {}),
        **{f"side/{name}": array for name, array in side_arrays.items()},
    }
    head = {
        "policy": policy_as_data(learner.policy),
        "reason": contents.policy_reason,
        "rewards": model_as_data(learner.rewards),
        "horizon": learner.horizon,
        "seed": learner.seed,
        "next": learner.next_number,
        "asked": learner.n_asked,
        "told": learner.n_told,
        "changes": learner.n_changes,
        "total": learner.total,
        "auto": contents.is_auto,
        "side": side,
        **({"prior": [prior.weight, prior.mark]} if prior else {}),
    }
    return _framed(MAGIC, FORMATS[1 if prior else 0], head, arrays)


def side_to_bytes(side: SideInformation) -> bytes:
    """Return side information as bytes, framed like a snapshot."""
    arrays, about = side_as_arrays(side)
    return _framed(SIDE_MAGIC, FORMATS[0], {"side": about}, arrays)


def side_from_bytes(blob: bytes) -> SideInformation:
    """Return the side information again; what is damaged is refused."""
    head, arrays = _parse(bytes(blob), SIDE_MAGIC)
    with _own_errors():
        return side_of_arrays({name: array.copy() for name, array in arrays.items()}, head["side"])


def _framed(magic: bytes, version: int, head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    raw = json.dumps({**head, "arrays": listed}).encode()
    raw += b" " * (-len(raw) % 8)
    parts = [as_words(raw), *(as_words(array) for array in arrays.values())]
    lengths = np.array([version, len(raw)], np.uint64)
    front = _FRONT.pack(magic, version, len(raw), checksum([lengths, *parts]))
    return b"".join([front, *(part.data.cast("B") for part in parts)])


def policy_as_data(policy: Policy) -> dict[str, Any]:
    """Return a policy as plain data."""
    name, on, label, given, prior_weight = policy.__reduce__()[1]
    data = {"name": name, "on": on, "label": label, "parameters": given}
    return data if prior_weight is None else {**data, "prior_weight": prior_weight}


def model_as_data(model: RewardModel) -> dict[str, Any]:
    """Return what is known of rewards as plain data."""
    tail = None if model.tail is None else list(model.tail)
    return {"family": model.family, "sigma": model.sigma, "tail": tail}


def model_of_data(data: dict[str, Any]) -> RewardModel:
    """Return it again."""
    if data["family"] not in ("bernoulli", "gaussian"):
        raise InvalidFile(f"rewards are 'bernoulli' or 'gaussian'; got {data['family']!r}")
    tail = None
    if data["tail"] is not None:
        nu, b, order, moment = data["tail"]
        if not 1.0 < checked_spread(order, "order") <= 2.0:
            raise InvalidFile(f"the order of a moment lies above 1 and up to 2; got {order!r}")
        tail = Tail(checked_spread(nu, "nu"), abs(checked_size(b, "b")), order, moment)
        if not checked_size(math.sqrt(moment), "moment") > 0.0:
            raise InvalidFile(f"a moment is positive; got {moment!r}")
    return RewardModel(data["family"], checked_spread(data["sigma"], "sigma"), tail)


def policy_of_data(data: dict[str, Any]) -> Policy:
    """Return the policy again."""
    weight = data.get("prior_weight")
    return Policy(data["name"], on=data["on"], label=data["label"], prior_weight=weight, **data["parameters"])


def from_bytes(blob: bytes) -> Contents:
    """Return the agent of a snapshot; see `Agent.restore`."""
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise InvalidFile(f"a snapshot is bytes; got {type(blob).__name__}")
    head, arrays = _parse(bytes(blob), MAGIC)
    with _own_errors():
        return _contents(head, arrays)


@contextmanager
def _own_errors() -> Iterator[None]:
    """Turn what Python says of contents that are none into an error about the snapshot."""
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


def _parse(blob: bytes, magic: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Check a snapshot and return its head and its arrays."""
    if len(blob) < _FRONT.size or blob[:8] != magic:
        raise InvalidFile("this is not a snapshot of an lsdt agent: it does not begin like one")
    _, version, length, expected = _FRONT.unpack_from(blob)
    if version not in FORMATS:
        raise InvalidFile(f"this snapshot has format {version}, and this version of lsdt reads 1 and 2")
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


def _contents(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Contents:
    side_arrays = {name[5:]: array.copy() for name, array in arrays.items() if name.startswith("side/")}
    side = side_of_arrays(side_arrays, head["side"])
    model = model_of_data(head["rewards"])
    policy, buffer = policy_of_data(head["policy"]), exact_array(arrays, "buffer", np.float64, (None,)).copy()
    horizon, seed = checked_horizon(head["horizon"]), checked_seed(head["seed"])
    try:
        learner = Learner(side, policy, model, horizon, seed, buffer)
    except InvalidInput as error:
        raise InvalidFile(f"this snapshot was made by another version of its policy: {error}") from None
    learner.counts, learner.sums, learner.squares = _tallies(arrays, "", learner)
    if "prior" in head:
        weight, mark = head["prior"]
        tallies = _tallies(arrays, "prior_", learner)
        learner.prior = PriorTallies(*tallies, checked_share(weight, "prior"), str(mark))
    learner.n_asked, learner.n_told = _whole(head, "asked"), _whole(head, "told")
    learner.next_number = _whole(head, "next")
    learner.n_changes = _whole(head, "changes")
    learner.total = float(head["total"])
    if not math.isfinite(learner.total):
        raise InvalidFile(f"the total of all rewards is a finite number; got {head['total']!r}")
    learner.pending = _pending(arrays, learner.next_number, side)
    learner.retired = _retired(arrays, learner)
    return Contents(learner, bool(head["auto"]), str(head["reason"]))


def _whole(head: dict[str, Any], name: str) -> int:
    """Return something that was counted."""
    value = head[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_ROUNDS:
        raise InvalidFile(f"{name!r} of the snapshot must be a whole number from 0 on; got {value!r}")
    return value


def _tallies(
    arrays: dict[str, NDArray[Any]], prefix: str, learner: Learner
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return how many rewards every arm has, their sums, and those of their squares."""
    size = (learner.side.n_arms,)
    counts = exact_array(arrays, f"{prefix}counts", np.int64, size).copy()
    sums = exact_array(arrays, f"{prefix}sums", np.float64, size).copy()
    low, high = (0.0, 1.0) if learner.rewards.family == "bernoulli" else (-LARGEST_REWARD, LARGEST_REWARD)
    squares = exact_array(arrays, f"{prefix}squares", np.float64, size).copy()
    fits = (counts >= 0) & (counts <= MOST_ROUNDS) & (sums >= low * counts) & (sums <= high * counts)
    fits &= (squares >= 0.0) & (squares <= high**2 * counts)
    if not fits.all():
        raise InvalidFile("this snapshot counts rewards that cannot be")
    return counts, sums, squares


def _pending(arrays: dict[str, NDArray[Any]], next_number: int, side: SideInformation) -> Pending:
    """Return the decisions whose rewards are not known yet."""
    pending = exact_array(arrays, "pending", np.int64, (None, 3))
    numbers, arms = pending[:, 0], pending[:, 1]
    fits = ((numbers >= 0) & (numbers < next_number) & (arms >= 0) & (arms < side.n_arms)).all()
    if not fits or len(np.unique(numbers)) < len(numbers):
        raise InvalidFile("this snapshot has pending decisions that were never asked for")
    return Pending(zip(*pending.T.tolist(), strict=True))


def _retired(arrays: dict[str, NDArray[Any]], learner: Learner) -> NDArray[np.bool_] | None:
    """Return which arms are out of play for good."""
    if "retired" not in arrays:
        return None
    gone = exact_array(arrays, "retired", np.int64, (None,))
    if not ((gone >= 0) & (gone < learner.side.n_arms)).all():
        raise InvalidFile("this snapshot retires arms that there are not")
    flags = np.zeros(learner.side.n_arms, bool)
    flags[gone] = True
    if flags[learner.arms].all():
        raise InvalidFile("this snapshot leaves no arm in play")
    return flags
