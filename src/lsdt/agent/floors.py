"""Arms that are played with a certain share whatever was learned: floors and holdouts.

A coin is tossed for every decision. It depends on the seed and on the number of the decision, not on rewards,
so an arm with a floor of f is played with probability f plus (1 - all floors) times the probability with
which the policy chooses it. That is the propensity, and it is exact where the policy does not draw.

A holdout is a floor for units: whether a unit belongs to it depends on the seed and the unit alone, so the
unit gets the same arm for as long as the experiment runs. Decisions without a unit toss the coin.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt._validation import checked_number
from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from lsdt.side_information import ArmId, SideInformation

_STEPS = 2.0**-53  # coins are multiples of it, as those of NumPy
_WORD = 8


class FloorChoice(NamedTuple):
    """What the coin of a decision says: the arm, its propensity, and whether the policy did not choose it."""

    arm: int
    propensity: float | None
    is_forced: bool


class Floors(NamedTuple):
    """The arms with a guaranteed share.

    Attributes
    ----------
    arms, shares : tuple
        The arms with a floor, and the least share of each.
    held_arm, held_share : int, float
        The arm of the holdout and its share of the units; -1 and 0 without one.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(3, arm_ids=["control", "red", "blue"])
    >>> agent = lsdt.Agent(side, policy="ucb1", floor={"control": .25})
    >>> arms = [decision.arm_id for decision in agent.ask(1000)]
    >>> .3 < arms.count("control") / 1000 < .7              # its floor, and what the policy adds to it
    True
    """

    arms: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    held_arm: int = -1
    held_share: float = 0.0

    def choose(
        self,
        seed: int,
        number: int,
        unit: bytes | None,
        is_open: Callable[[int], bool],
        arm: int,
        chance_of: Callable[[int], float | None],
    ) -> FloorChoice:
        """Return the arm of a decision, for which the policy chose `arm`.

        Parameters
        ----------
        seed, number : int
            The seed of the agent and the number of the decision, which the coin depends on.
        unit : bytes or None
            Which unit asks.
        is_open : callable
            Whether an arm may be played this time. The share of one that may not goes to the policy.
        arm : int
            What the policy chose.
        chance_of : callable
            The probability with which the policy chooses an arm; None where it is not known.
        """
        listed = [(each, share) for each, share in zip(self.arms, self.shares, strict=True) if is_open(each)]
        has_holdout = self.held_share > 0.0 and is_open(self.held_arm)
        if has_holdout and unit is None:
            listed.append((self.held_arm, self.held_share))
        chosen, is_forced = arm, False
        if has_holdout and unit is not None and self.holds(seed, unit):
            chosen, is_forced = self.held_arm, True
        elif listed:
            coin = _coin(seed, number.to_bytes(_WORD, "little"))
            for each, share in listed:
                if coin < share:
                    chosen, is_forced = each, True
                    break
                coin -= share
        chance = chance_of(chosen)
        if chance is not None:
            forced = sum(share for _, share in listed)
            chance = sum(share for each, share in listed if each == chosen) + (1.0 - forced) * chance
            if has_holdout and unit is not None:  # the share of the units, and of the others the above
                chance = self.held_share * (chosen == self.held_arm) + (1.0 - self.held_share) * chance
        return FloorChoice(chosen, chance, is_forced)

    def holds(self, seed: int, unit: bytes) -> bool:
        """Return whether a unit belongs to the holdout."""
        return _coin(seed, b"unit" + unit) < self.held_share

    def renumber(self, places: NDArray[np.int64]) -> Floors:
        """Return a copy with arms renumbered by `places`."""
        held = self.held_arm if self.held_arm < 0 else int(places[self.held_arm])
        return self._replace(arms=tuple(int(places[arm]) for arm in self.arms), held_arm=held)

    def as_options(self, side: SideInformation) -> dict[str, dict[ArmId, float]]:
        """Return the options `floor` and `holdout` that they were made from."""
        made: dict[str, dict[ArmId, float]] = {}
        if self.arms:
            labels = map(side.label, self.arms)
            made["floor"] = dict(zip(labels, self.shares, strict=True))
        if self.held_arm >= 0:
            made["holdout"] = {side.label(self.held_arm): self.held_share}
        return made

    def controls(self) -> list[int]:
        """Return the arms that the others are compared with."""
        return list(dict.fromkeys([*self.arms, *([self.held_arm] if self.held_arm >= 0 else [])]))


def _coin(seed: int, word: bytes) -> float:
    """Return a number from [0, 1): a hash, because to begin a random stream takes ten times as long."""
    size = max(_WORD, (seed.bit_length() + 7) // 8)
    key = seed.to_bytes(size, "little")
    digest = blake2b(word, digest_size=_WORD, key=key[:64], person=b"lsdt floor").digest()
    return (int.from_bytes(digest, "little") >> 11) * _STEPS


def checked_floors(side: SideInformation, floor: Any, holdout: Any) -> Floors | None:
    """Return floors and holdout as users give them, or say what is accepted; None without any."""
    shares = _checked_shares(side, floor, "floor")
    held = _checked_shares(side, holdout, "holdout")
    if len(held) > 1:
        raise InvalidInput(f"a holdout has one arm, as in holdout={{'control': 0.05}}; got {holdout!r}")
    total = sum(shares.values()) + sum(held.values())
    if total > 1.0 + 1e-12:  # ten floors of a tenth come to a little more than 1
        raise InvalidInput(f"floors and holdout come to more than 1; lower some; got {total:g}")
    if not shares and not held:
        return None
    held_arm, held_share = next(iter(held.items()), (-1, 0.0))
    return Floors(tuple(shares), tuple(shares.values()), held_arm, held_share)


def _checked_shares(side: SideInformation, value: Any, name: str) -> dict[int, float]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} is a share by arm, as in {name}={{'control': 0.1}}; got {value!r}")
    found = {
        side.index(arm): checked_number(share, f"{name}[{arm!r}]", above=0.0, at_most=1.0)
        for arm, share in value.items()
    }
    if len(found) < len(value):
        raise InvalidInput(f"{name} names an arm twice; got {value!r}")
    return found
