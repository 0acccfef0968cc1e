"""Snapshots: an agent as bytes, in the format of `binary_format`.

Data only: nothing in a snapshot is ever executed, and what compiled code trusts (shapes, places, row starts)
is checked. The checksum is no signature, and numbers may be made up: restore snapshots from trusted sources
only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import LARGEST_REWARD, checked_seed, checked_share, checked_size, checked_spread
from lsdt.agent.asked_order import Waiting
from lsdt.agent.binary_format import encode_frame, own_errors, parse
from lsdt.agent.cuts import n_cuts
from lsdt.agent.decisions import Pending
from lsdt.agent.epochs import epochs_of_array
from lsdt.agent.floors import Floors, checked_floors
from lsdt.agent.half_life import HalfLife, checked_half_life
from lsdt.agent.halt import PAUSED, STOPPED, Halt, checked_tolerance
from lsdt.agent.learner import Learner, PriorTallies
from lsdt.agent.revisions import RevisableReward, SettledTallies
from lsdt.agent.units import KEY_BYTES, Assignment, UnitTable, assignment_of
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.kernel import RewardModel, Tail
from lsdt.policies import MOST_ROUNDS, Policy, checked_horizon
from lsdt.side_information import SideInformation, exact_array, side_as_arrays, side_of_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"LSDTAGNT"
FORMAT = 5  # earlier ones belong to another random generator
_TALLIES = ("counts", "sums", "squares")


def to_bytes(learner: Learner, units: UnitTable | None = None) -> bytes:
    """Return an agent as bytes; see `Agent.snapshot`.

    The units of an agent without a store go with it; those of others stay in the store, where they can be
    erased.
    """
    prior = learner.prior
    side_arrays, side = side_as_arrays(learner.side)
    arrays = {
        "buffer": learner.words,
        "counts": learner.counts,
        "sums": learner.sums,
        "squares": learner.squares,
        "pending": learner.pending.to_array(),
        "epochs": learner.epochs.to_array(),
        **({} if learner.retired is None else {"retired": np.flatnonzero(learner.retired)}),
        **({} if learner.left_open is None else {"left_open": learner.left_open}),
        **({f"prior_{name}": getattr(prior, name) for name in _TALLIES} if prior else {}),
        **_order_as_arrays(learner),
        **_settled_as_arrays(learner),
        **_units_as_arrays(learner, units),
        **_fading_as_arrays(learner),
        **{f"side/{name}": array for name, array in side_arrays.items()},
    }
    head = {
        "policy": policy_as_data(learner.policy),
        "reason": learner.policy_reason,
        "rewards": model_as_data(learner.rewards),
        "horizon": learner.horizon,
        "seed": learner.seed,
        "next": learner.next_number,
        "asked": learner.n_asked,
        "told": learner.n_told,
        "changes": learner.n_changes,
        "total": learner.total,
        "auto": learner.is_auto,
        "side": side,
        "agent": learner.identity,
        "merged": list(learner.merged),
        **({"prior": [prior.weight, prior.mark]} if prior else {}),
        **({} if learner.fading is None else {"forget": [*learner.fading.half_life, learner.fading.clock]}),
        **({} if learner.floors is None else {"floors": list(learner.floors)}),
        **({} if learner.revisions is None else {"replace_within": learner.revisions.within}),
        **({} if learner.sticky is None else {"sticky": learner.sticky}),
        **({} if learner.halt is None else {"halt": list(learner.halt)}),
        **({} if learner.tolerance is None else {"tolerance": learner.tolerance}),
        **({} if units is None or not units.rows else {"unit_key": units.key.hex()}),
    }
    return encode_frame(MAGIC, FORMAT, head, arrays)


def _order_as_arrays(learner: Learner) -> dict[str, NDArray[Any]]:
    order, waiting = learner.order, learner.order.waiting()
    arms = sorted(order.cut_sums)
    sums = [np.array(order.cut_sums[arm]) for arm in arms]
    arrays: dict[str, NDArray[Any]] = {
        "ordered_counts": np.array(order.counts, np.int64),
        "ordered_sums": np.array(order.sums, np.float64),
        "cut_arms": np.array(arms, np.int64),
        "cut_lengths": np.array([len(kept) for kept in sums], np.int64),
        "cut_sums": np.concatenate([np.zeros(0), *sums]),
        "waiting": np.array([play[:2] for play in waiting], np.int64).reshape(-1, 2),
        "waiting_rewards": np.array([play.reward for play in waiting], np.float64),
    }
    if learner.others is not None:
        arrays |= {"other_counts": learner.others[0], "other_sums": learner.others[1]}
    return arrays


def _settled_as_arrays(learner: Learner) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    if learner.settled is not None:
        arrays |= {"settled_counts": learner.settled.counts, "settled_sums": learner.settled.sums}
    if learner.later:
        arrays["later"] = np.array(sorted(learner.later), np.int64)
    in_order = (
        {number for arm, number, _ in learner.order.waiting() if arm < 0} if learner.pending.early else ()
    )
    early = learner.pending.early.difference(in_order)
    if early:
        arrays["closed_early"] = np.array(sorted(early), np.int64)
    if learner.revisions is not None:
        entries = learner.revisions.entries
        rows = [(number, each.arm, each.time, each.counts) for number, each in entries.items()]
        arrays["revisable"] = np.array(rows, np.int64).reshape(-1, 4)
        arrays["revisable_rewards"] = np.array([each.reward for each in entries.values()], np.float64)
    return arrays


def _units_as_arrays(learner: Learner, units: UnitTable | None) -> dict[str, NDArray[Any]]:
    if units is None or not units.rows:
        return {}
    found = [assignment_of(value) for value in units.rows.values()]
    index = learner.side.index
    return {
        "unit_tokens": np.frombuffer(b"".join(units.rows), "<i8").astype(np.int64),
        "unit_rows": np.array([(index(each.arm_id), each.number, each.time) for each in found], np.int64),
        "unit_propensities": np.array(
            [math.nan if each.propensity is None else each.propensity for each in found], np.float64
        ),
    }


def _units(head: dict[str, Any], arrays: dict[str, NDArray[Any]], side: SideInformation) -> UnitTable:
    """Return the units of an agent without a store."""
    if "unit_key" not in head:
        return UnitTable()
    found = UnitTable(bytes.fromhex(head["unit_key"]))
    tokens = exact_array(arrays, "unit_tokens", np.int64, (None,))
    rows = exact_array(arrays, "unit_rows", np.int64, (len(tokens), 3))
    shares = exact_array(arrays, "unit_propensities", np.float64, (len(tokens),))
    if len(found.key) != KEY_BYTES or not ((rows[:, 0] >= 0) & (rows[:, 0] < side.n_arms)).all():
        raise InvalidFile("this snapshot has units with unknown arms")
    words = tokens.astype("<i8").tobytes()
    for at, ((arm, number, time), share) in enumerate(zip(rows.tolist(), shares.tolist(), strict=True)):
        made = Assignment(side.label(arm), number, time, None if math.isnan(share) else share)
        found.rows[words[8 * at : 8 * at + 8]] = made.to_bytes()
    return found


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
    """Return a reward model from plain data."""
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
    """Return a policy from plain data."""
    weight = data.get("prior_weight")
    return Policy(data["name"], on=data["on"], label=data["label"], prior_weight=weight, **data["parameters"])


def from_bytes(blob: bytes) -> Learner:
    """Return the learner of a snapshot."""
    return with_units(blob)[0]


def with_units(blob: bytes) -> tuple[Learner, UnitTable]:
    """Return the learner of a snapshot, and its units; see `Agent.restore`."""
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise InvalidFile(f"a snapshot is bytes; got {type(blob).__name__}")
    head, arrays = parse(bytes(blob), MAGIC, FORMAT)
    with own_errors():
        learner = _learner(head, arrays)
        return learner, _units(head, arrays, learner.side)


def _learner(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Learner:
    side_arrays = {name[5:]: array.copy() for name, array in arrays.items() if name.startswith("side/")}
    side = side_of_arrays(side_arrays, head["side"])
    model = model_of_data(head["rewards"])
    policy, buffer = policy_of_data(head["policy"]), exact_array(arrays, "buffer", np.float64, (None,)).copy()
    horizon, seed = checked_horizon(head["horizon"]), checked_seed(head["seed"])
    try:
        forget = _half_life(head)
        learner = Learner(
            side,
            policy,
            model,
            horizon,
            seed,
            buffer,
            forget=forget,
            replace_within=_whole(head, "replace_within") if "replace_within" in head else None,
            is_auto=bool(head["auto"]),
            policy_reason=str(head["reason"]),
        )
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
    learner.floors = _floors(head, side)
    learner.sticky = _whole(head, "sticky") if "sticky" in head else None
    learner.halt = _halt(head, side)
    if "tolerance" in head:
        learner.tolerance = checked_tolerance(head["tolerance"])
    learner.identity = str(head.get("agent", learner.identity))
    learner.merged = tuple(map(str, head.get("merged", ())))
    if "left_open" in arrays:
        learner.left_open = exact_array(arrays, "left_open", np.int64, (side.n_arms,)).copy()
        if not ((learner.left_open >= 0) & (learner.left_open <= MOST_ROUNDS)).all():
            raise InvalidFile("this snapshot has impossible numbers of open decisions of merged agents")
    _take_settled(arrays, learner)
    _take_order(arrays, learner)
    _take_fading(head, arrays, learner)
    return learner


def _whole(head: dict[str, Any], name: str) -> int:
    """Return a count of the head."""
    value = head[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_ROUNDS:
        raise InvalidFile(f"{name!r} of the snapshot must be a whole number from 0 on; got {value!r}")
    return value


def _tallies(
    arrays: dict[str, NDArray[Any]], prefix: str, learner: Learner
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return each arm's number of rewards, their sum, and the sum of their squares."""
    size = (learner.side.n_arms,)
    counts = exact_array(arrays, f"{prefix}counts", np.int64, size).copy()
    sums = exact_array(arrays, f"{prefix}sums", np.float64, size).copy()
    low, high = _range_of_rewards(learner)
    squares = exact_array(arrays, f"{prefix}squares", np.float64, size).copy()
    fits = (counts >= 0) & (counts <= MOST_ROUNDS) & (sums >= low * counts) & (sums <= high * counts)
    fits &= (squares >= 0.0) & (squares <= high**2 * counts)
    if not fits.all():
        raise InvalidFile("this snapshot counts impossible rewards")
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
        raise InvalidFile("this snapshot retires unknown arms")
    flags = np.zeros(learner.side.n_arms, bool)
    flags[gone] = True
    if flags[learner.arms].all():
        raise InvalidFile("this snapshot leaves no arm in play")
    return flags


def _floors(head: dict[str, Any], side: SideInformation) -> Floors | None:
    """Return the arms with a guaranteed share."""
    if "floors" not in head:
        return None
    arms, shares, held_arm, held_share = head["floors"]
    listed = zip(arms, shares, strict=True)
    held = None if held_arm == -1 else {int(held_arm): held_share}
    for arm in (*arms, *(held or ())):
        if type(arm) is not int or not 0 <= arm < side.n_arms:
            raise InvalidFile(f"this snapshot has a floor for an unknown arm: {arm!r}")
    numbered = SideInformation(side.n_arms)
    return checked_floors(numbered, dict(listed), held)


def _halt(head: dict[str, Any], side: SideInformation) -> Halt | None:
    """Return the pause or the stop that is in force."""
    if "halt" not in head:
        return None
    name, time, arm, by, reason = head["halt"]
    least, end = (0, side.n_arms) if name == STOPPED else (-1, 0)
    if (
        name not in (PAUSED, STOPPED)
        or type(arm) is not int
        or not least <= arm < end
        or type(time) is not int
    ):
        raise InvalidFile(f"this snapshot has an impossible pause or stop: {head['halt']!r}")
    return Halt(name, time, arm, str(by), str(reason))


def _take_settled(arrays: dict[str, NDArray[Any]], learner: Learner) -> None:
    """Restore the rewards that count for guarantees, and those that may be replaced."""
    low, high = _range_of_rewards(learner)
    if "settled_counts" in arrays:
        size = (learner.side.n_arms,)
        counts = exact_array(arrays, "settled_counts", np.int64, size).copy()
        sums = exact_array(arrays, "settled_sums", np.float64, size).copy()
        if not (
            (counts >= 0) & (counts <= learner.counts) & (sums >= low * counts) & (sums <= high * counts)
        ).all():
            raise InvalidFile("this snapshot counts impossible final rewards")
        learner.settled = SettledTallies(counts, sums)
    if "later" in arrays:
        learner.later = set(exact_array(arrays, "later", np.int64, (None,)).tolist())
        if not all(number in learner.pending for number in learner.later):
            raise InvalidFile("this snapshot has decisions of units that were never asked for")
    if "closed_early" in arrays:
        learner.pending.remember_closed(exact_array(arrays, "closed_early", np.int64, (None,)).tolist())
    if learner.revisions is None:
        return
    rows = exact_array(arrays, "revisable", np.int64, (None, 4))
    rewards = exact_array(arrays, "revisable_rewards", np.float64, (len(rows),))
    for (number, arm, time, counts), reward in zip(rows.tolist(), rewards.tolist(), strict=True):
        fits = 0 <= arm < learner.side.n_arms and 0 <= number < learner.next_number and low <= reward <= high
        if not fits or number in learner.pending or number in learner.revisions.entries:
            raise InvalidFile("this snapshot has impossible rewards that may be replaced")
        learner.revisions.entries[number] = RevisableReward(arm, reward, time, bool(counts))


def _open_in_order(learner: Learner) -> dict[int, int]:
    """Return the arms of the decisions that are open in the order asked, by number."""
    entries = learner.pending.entries()
    found = {number: arm for number, arm, _ in entries if number not in learner.later}
    if learner.revisions is not None:
        told = learner.revisions.entries
        found |= {number: each.arm for number, each in told.items() if each.counts}
    return found


def _take_order(arrays: dict[str, NDArray[Any]], learner: Learner) -> None:
    """Restore the rewards in the order asked."""
    order, own, size = learner.order, learner.counts, (learner.side.n_arms,)
    if "other_counts" in arrays:
        others = exact_array(arrays, "other_counts", np.int64, size).copy()
        learner.others = others, exact_array(arrays, "other_sums", np.float64, size).copy()
        own = own - others
        if (others < 0).any() or not np.isfinite(learner.others[1]).all():
            raise InvalidFile("this snapshot merges impossible rewards")
    counts = exact_array(arrays, "ordered_counts", np.int64, size)
    sums = exact_array(arrays, "ordered_sums", np.float64, size)
    waiting = _waiting(arrays, learner)
    told = np.array([arm for arm, _, reward in waiting if arm >= 0 and not math.isnan(reward)], np.int64)
    low, high = _range_of_rewards(learner)
    fits = (counts >= 0) & (counts + np.bincount(told, minlength=size[0]) <= own)
    if not (fits & (sums >= low * counts) & (sums <= high * counts)).all():
        raise InvalidFile("this snapshot has other rewards in the order asked than it counts")
    order.counts, order.sums = counts.tolist(), sums.tolist()
    order.cut_sums = _cut_sums(arrays, counts)
    order.wait(waiting, set(_open_in_order(learner)))
    learner.pending.remember_closed([number for arm, number, _ in waiting if arm < 0])


def _range_of_rewards(learner: Learner) -> tuple[float, float]:
    return (0.0, 1.0) if learner.rewards.family == "bernoulli" else (-LARGEST_REWARD, LARGEST_REWARD)


def _waiting(arrays: dict[str, NDArray[Any]], learner: Learner) -> list[Waiting]:
    """Return the plays that wait behind their arm's first open decision, each after it."""
    places = exact_array(arrays, "waiting", np.int64, (None, 2))
    rewards = exact_array(arrays, "waiting_rewards", np.float64, (len(places),))
    columns = (places[:, 0].tolist(), places[:, 1].tolist(), rewards.tolist())
    plays = [Waiting(*play) for play in zip(*columns, strict=True)]
    pending = _open_in_order(learner)
    low, high = _range_of_rewards(learner)
    last, n_behind, fits = -1, 0, len(np.unique(places[:, 1])) == len(places)
    for arm, number, reward in plays:
        is_open, is_known = number in pending, not math.isnan(reward)
        fits &= low <= reward <= high if is_known else number >= 0
        if arm == -1:
            fits &= not is_open and number >= 0
        elif arm == last:
            n_behind += 1
            fits &= n_behind <= learner.order.most and number < learner.next_number
            fits &= not is_open or (pending[number] == arm and not is_known)
        else:
            fits &= last < arm < learner.side.n_arms and pending.get(number) == arm and not is_known
            last, n_behind = arm, 0
    if not fits:
        raise InvalidFile("this snapshot has impossible waiting plays")
    return plays


def _cut_sums(arrays: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> dict[int, list[float]]:
    """Return the sum of each arm's rewards at each of its cuts."""
    arms = exact_array(arrays, "cut_arms", np.int64, (None,))
    lengths = exact_array(arrays, "cut_lengths", np.int64, (len(arms),))
    if not ((arms >= 0) & (arms < len(counts))).all() or len(np.unique(arms)) < len(arms):
        raise InvalidFile("this snapshot has earlier rewards of unknown arms")
    expected = np.zeros(len(counts), np.int64)
    expected[arms] = lengths
    if not np.array_equal(n_cuts(counts), expected):
        raise InvalidFile("this snapshot has other earlier rewards than it counts")
    sums = exact_array(arrays, "cut_sums", np.float64, (int(lengths.sum()),))
    if not np.isfinite(sums).all():
        raise InvalidFile("this snapshot has earlier rewards that are not finite")
    pieces = np.split(sums, np.cumsum(lengths)[:-1]) if len(arms) else []
    return {arm: piece.tolist() for arm, piece in zip(arms.tolist(), pieces, strict=True)}


def _half_life(head: dict[str, Any]) -> HalfLife | None:
    """Return how fast rewards fade."""
    if "forget" not in head:
        return None
    length, in_seconds, _ = head["forget"]
    return checked_half_life(f"{float(length):.15g} {'seconds' if in_seconds else 'rounds'}")


def _take_fading(head: dict[str, Any], arrays: dict[str, NDArray[Any]], learner: Learner) -> None:
    """Restore fading tallies."""
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
        raise InvalidFile("this snapshot contains impossible faded tallies")
    if isinstance(clock, bool) or not isinstance(clock, int) or not -1 <= clock <= 2**62:
        raise InvalidFile(f"the clock of the snapshot is a whole number; got {clock!r}")
    fading.left, fading.since, fading.clock = left, since, clock
