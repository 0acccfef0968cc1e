"""Snapshots: an agent as bytes, framed by `frames`.

Data only: nothing in a snapshot is ever executed, and what compiled code trusts (shapes, places, row starts)
is checked. The checksum is no signature, and numbers may be made up: restore snapshots from trusted sources
only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._validation import LARGEST_REWARD, checked_seed, checked_share, checked_size, checked_spread
from lsdt.agent.decisions import Pending
from lsdt.agent.drift import Cuts, n_cuts
from lsdt.agent.epochs import epochs_of_array
from lsdt.agent.frames import framed, own_errors, parse
from lsdt.agent.half_life import HalfLife, checked_half_life
from lsdt.agent.learner import Learner, PriorTallies
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.kernel.rewards import RewardModel, Tail
from lsdt.policies import Policy
from lsdt.policies.situation import MOST_ROUNDS, checked_horizon
from lsdt.side_information.io.arrays import exact_array, side_as_arrays, side_of_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

MAGIC, SIDE_MAGIC = b"LSDTAGNT", b"LSDTSIDE"
FORMAT = 4  # earlier ones do not say which opening made a decision
_SIDE_FORMAT = 1
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
        "epochs": learner.epochs.to_array(),
        **({} if learner.retired is None else {"retired": np.flatnonzero(learner.retired)}),
        **({} if learner.left_open is None else {"left_open": learner.left_open}),
        **({f"prior_{name}": getattr(prior, name) for name in _TALLIES} if prior else {}),
        **_cuts_as_arrays(learner.cuts),
        **_fading_as_arrays(learner),
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
        "agent": learner.identity,
        "merged": list(learner.merged),
        **({"prior": [prior.weight, prior.mark]} if prior else {}),
        **({} if learner.fading is None else {"forget": [*learner.fading.half_life, learner.fading.clock]}),
    }
    return framed(MAGIC, FORMAT, head, arrays)


def side_to_bytes(side: SideInformation, gone: list[int]) -> bytes:
    """Return side information, and which arms retire with it, as bytes framed like a snapshot."""
    arrays, about = side_as_arrays(side)
    return framed(SIDE_MAGIC, _SIDE_FORMAT, {"side": about, "gone": gone}, arrays)


def side_from_bytes(blob: bytes) -> tuple[SideInformation, list[int]]:
    """Return side information again, and which arms retire with it; what is damaged is refused."""
    head, arrays = parse(bytes(blob), SIDE_MAGIC, _SIDE_FORMAT)
    with own_errors():
        side = side_of_arrays({name: array.copy() for name, array in arrays.items()}, head["side"])
        gone = head.get("gone", [])
        if not all(type(arm) is int and 0 <= arm < side.n_arms for arm in gone):
            raise InvalidFile("the log retires arms that there are not")
        return side, gone


def _cuts_as_arrays(cuts: Cuts) -> dict[str, NDArray[Any]]:
    arms = np.array(list(cuts.sums), np.int64)
    sums = [np.array(kept) for kept in cuts.sums.values()]
    arrays: dict[str, NDArray[Any]] = {
        "cut_arms": arms,
        "cut_lengths": np.array([len(kept) for kept in sums], np.int64),
        "cut_sums": np.concatenate([np.zeros(0), *sums]),
    }
    if cuts.others is not None:
        arrays |= {"other_counts": cuts.others[0], "other_sums": cuts.others[1]}
    return arrays


def _fading_as_arrays(learner: Learner) -> dict[str, NDArray[Any]]:
    fading = learner.fading
    if fading is None:
        return {}
    left = {f"left_{name}": each for name, each in zip(_TALLIES, fading.left, strict=True)}
    return left | {f"since_{name}": each for name, each in zip(_TALLIES, fading.since, strict=True)}


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
    head, arrays = parse(bytes(blob), MAGIC, FORMAT)
    with own_errors():
        return _contents(head, arrays)


def _contents(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Contents:
    side_arrays = {name[5:]: array.copy() for name, array in arrays.items() if name.startswith("side/")}
    side = side_of_arrays(side_arrays, head["side"])
    model = model_of_data(head["rewards"])
    policy, buffer = policy_of_data(head["policy"]), exact_array(arrays, "buffer", np.float64, (None,)).copy()
    horizon, seed = checked_horizon(head["horizon"]), checked_seed(head["seed"])
    try:
        forget = _half_life(head)
        learner = Learner(side, policy, model, horizon, seed, buffer, forget=forget)
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
    learner.epochs = epochs_of_array(exact_array(arrays, "epochs", np.int64, (None, 3)), learner.next_number)
    learner.pending = _pending(arrays, learner, side)
    learner.retired = _retired(arrays, learner)
    learner.identity = str(head.get("agent", learner.identity))
    learner.merged = tuple(map(str, head.get("merged", ())))
    if "left_open" in arrays:
        learner.left_open = exact_array(arrays, "left_open", np.int64, (side.n_arms,)).copy()
        if not ((learner.left_open >= 0) & (learner.left_open <= MOST_ROUNDS)).all():
            raise InvalidFile("this snapshot has impossible numbers of open decisions of merged agents")
    learner.cuts = _cuts(arrays, learner)
    _take_fading(head, arrays, learner)
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


def _pending(arrays: dict[str, NDArray[Any]], learner: Learner, side: SideInformation) -> Pending:
    """Return the decisions whose rewards are not known yet."""
    pending = exact_array(arrays, "pending", np.int64, (None, 3))
    numbers, arms = pending[:, 0], pending[:, 1]
    runs = learner.epochs.to_array()
    at = np.searchsorted(runs[:, 0], numbers, side="right") - 1
    fits = ((at >= 0) & (arms >= 0) & (arms < side.n_arms)).all() and (numbers < runs[at, 1]).all()
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


def _cuts(arrays: dict[str, NDArray[Any]], learner: Learner) -> Cuts:
    """Return what the test for arms that change knows of earlier rewards."""
    cuts, size = Cuts(), (learner.side.n_arms,)
    if "cut_arms" not in arrays:  # of a version without that test, which begins here
        cuts.add_others(learner.counts.copy(), learner.sums.copy())
        return cuts
    if "other_counts" in arrays:
        counts = exact_array(arrays, "other_counts", np.int64, size).copy()
        cuts.add_others(counts, exact_array(arrays, "other_sums", np.float64, size).copy())
    arms = exact_array(arrays, "cut_arms", np.int64, (None,))
    lengths = exact_array(arrays, "cut_lengths", np.int64, (len(arms),))
    if not ((arms >= 0) & (arms < size[0])).all() or len(np.unique(arms)) < len(arms):
        raise InvalidFile("this snapshot has earlier rewards of arms that there are not")
    expected = np.zeros(size[0], np.int64)
    expected[arms] = lengths
    own = cuts.own(learner)[0]
    if (own < 0).any() or not np.array_equal(n_cuts(own), expected):
        raise InvalidFile("this snapshot has other earlier rewards than it counts")
    sums = exact_array(arrays, "cut_sums", np.float64, (int(lengths.sum()),))
    ends = np.cumsum(lengths)
    pieces = np.split(sums, ends[:-1]) if len(arms) else []
    cuts.sums = {arm: piece.tolist() for arm, piece in zip(arms.tolist(), pieces, strict=True)}
    return cuts


def _half_life(head: dict[str, Any]) -> HalfLife | None:
    """Return how fast rewards fade."""
    if "forget" not in head:
        return None
    length, in_seconds, _ = head["forget"]
    return checked_half_life(f"{float(length):.15g} {'seconds' if in_seconds else 'rounds'}")


def _take_fading(head: dict[str, Any], arrays: dict[str, NDArray[Any]], learner: Learner) -> None:
    """Give a learner back what is left of its rewards."""
    fading, size = learner.fading, (learner.side.n_arms,)
    if fading is None:
        return
    left, since = (
        [exact_array(arrays, f"{part}_{name}", np.float64, size).copy() for name in _TALLIES]
        for part in ("left", "since")
    )
    fits = (left[0] >= 0.0) & (left[0] <= MOST_ROUNDS) & (since[0] >= 0.0) & (since[0] <= learner.counts)
    clock = head["forget"][2]
    if not fits.all() or not all(np.isfinite(each).all() for each in (*left, *since)):
        raise InvalidFile("this snapshot has rewards left that cannot be")
    if isinstance(clock, bool) or not isinstance(clock, int) or not -1 <= clock <= 2**62:
        raise InvalidFile(f"the clock of the snapshot is a whole number; got {clock!r}")
    fading.left, fading.since, fading.clock = left, since, clock
