"""The policies of a study: compiled policies, and objects in plain Python, behind one interface."""

from __future__ import annotations

import copy
import inspect
import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lsdt._validation import checked_share
from lsdt.errors import InvalidInput, Unsupported
from lsdt.policies import ALWAYS, Always, Policy, ReadyPolicy, Situation, checked_on, parse_policy
from lsdt.side_information import subset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.kernel import Array, RewardModel
    from lsdt.side_information import SideInformation

BEST_TRAINING_MEAN = "best_training_mean"


class Competitor(Protocol):
    """The interface of a policy in a study."""

    @property
    def label(self) -> str:
        """Its name in tables and figures."""

    @property
    def on(self) -> str:
        """The arms it plays on: all, or the candidates of a method."""

    @property
    def uses_horizon(self) -> bool:
        """Whether it plays differently for different horizons."""

    @property
    def uses_side(self) -> bool:
        """Whether it plays differently for different side information."""

    @property
    def prior_weight(self) -> float | None:
        """The weight it gives to rewards known before the first round; None for the study's weight."""

    @property
    def why_no_prior(self) -> str:
        """The reason why it cannot start with known rewards; empty if it can."""

    def describe(self, rewards: RewardModel) -> dict[str, Any]:
        """Return the policy as plain data."""

    def begin(
        self,
        side: SideInformation,
        rewards: RewardModel,
        horizon: int | None,
        stream: Array,
        found: CandidateSet | None,
    ) -> ReadyPolicy:
        """Return the policy, ready for its first round."""


class PythonPolicy:
    """A user's policy in plain Python; every replication gets a new object.

    It is a function or class that is called with a `Situation` and a NumPy Generator and returns an object
    with ``select()`` and ``update(arm, reward)``, or such an object itself, which is copied. With an
    attribute ``on = "paper"`` it plays on the candidates only, numbered from 0.
    """

    uses_horizon = uses_side = True  # it may: its code is unknown
    why_no_prior = ""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.on = checked_on(getattr(source, "on", "all"))
        weight = getattr(source, "prior_weight", None)
        self.prior_weight = None if weight is None else checked_share(weight, "prior_weight")
        self._ready = not inspect.isclass(source) and hasattr(source, "select")
        name = getattr(source, "label", None) or getattr(source, "__name__", None)
        self.label = str(name or type(source).__name__)
        if not self._ready and not callable(source):
            raise InvalidInput(
                f"a policy is a name, an lsdt.Policy, an object with select() and update(arm, reward), or a "
                f"function that makes one; got {source!r}"
            )

    def _build(self, situation: Situation, rng: np.random.Generator) -> Any:
        try:
            inspect.signature(self._source).bind(situation, rng)
        except TypeError as error:
            made = "; or give an object of it" if inspect.isclass(self._source) else ""
            raise InvalidInput(
                f"the policy {self.label!r} is called with a situation and a NumPy Generator, and does not "
                f"take these ({error}): let it take two arguments, (situation, rng){made}"
            ) from None
        except ValueError:  # no signature to check
            pass
        return self._source(situation, rng)

    def describe(self, rewards: RewardModel) -> dict[str, Any]:
        """Return the policy as plain data."""
        return {"policy": None, "title": self.label, "on": self.on, "parameters": {}}

    def begin(
        self,
        side: SideInformation,
        rewards: RewardModel,
        horizon: int | None,
        stream: Array,
        found: CandidateSet | None,
    ) -> ReadyPolicy:
        """Return a new object for one replication."""
        arms = np.arange(side.n_arms) if found is None else found.arms
        if self._ready:
            player = copy.deepcopy(self._source)
        else:
            player = self._build(
                Situation(subset(side, arms), rewards, horizon), np.random.default_rng(stream)
            )
        for method in ("select", "update"):
            if not hasattr(player, method):
                raise InvalidInput(f"the policy {self.label!r} has no {method}()")
        return ReadyPolicy(player, arms, 0.0 if found is None else found.seconds)


class BestTrainingMean:
    """A policy that always plays the item that was best in training; see `best_training_mean`."""

    on, uses_horizon, uses_side, prior_weight, why_no_prior = "all", False, False, 0.0, ""
    label = BEST_TRAINING_MEAN

    def describe(self, rewards: RewardModel) -> dict[str, Any]:
        """Return the policy as plain data."""
        return {"policy": BEST_TRAINING_MEAN, "title": self.label, "on": self.on, "parameters": {}}

    def begin(
        self,
        side: SideInformation,
        rewards: RewardModel,
        horizon: int | None,
        stream: Array,
        found: CandidateSet | None = None,
    ) -> ReadyPolicy:
        """Raise `Unsupported`: a simulation has no training ratings."""
        raise Unsupported(
            f"{BEST_TRAINING_MEAN} needs training ratings, which only lsdt.replay has; in a simulation name "
            "an arm, as in lsdt.policies.constant(arm)"
        )


def best_training_mean() -> BestTrainingMean:
    """Return a policy of `lsdt.replay` that always plays the item with the best mean in training.

    That is what one would do without a bandit, so it is the first baseline to compare with. As in
    `Agent.best`, two ratings of the overall mean are added to each item, so that one lucky rating does not
    win.
    """
    return BestTrainingMean()


def best_known(counts: NDArray[Any], sums: NDArray[np.float64], among: NDArray[Any] | None = None) -> int:
    """Return the arm with the best mean, two rewards of the overall mean added to each; -1 without rewards.

    Only arms with rewards count, and if `among` is given, only those that it flags.
    """
    known = counts > 0 if among is None else (counts > 0) & among
    if not known.any():
        return -1
    overall = sums.sum() / counts.sum()
    return int(np.argmax(np.where(known, (sums + 2.0 * overall) / (counts + 2.0), -math.inf)))


def _parse(word: str) -> Competitor:
    """Return the policy that a string names; see `parse_policy`."""
    name, _, arm = word.partition(":")
    if name == ALWAYS:
        if not arm:
            raise InvalidInput(f"say after {ALWAYS}: which arm is played, as in {ALWAYS}:3")
        return Always(arm)
    return BestTrainingMean() if word == BEST_TRAINING_MEAN else parse_policy(word)


def checked_competitors(policies: Any) -> list[Competitor]:
    """Return the policies of a study as a list, or raise `InvalidInput`; their labels must differ."""
    single = (
        isinstance(policies, (str, Policy)) or not hasattr(policies, "__iter__") or np.shape(policies) == ()
    )
    listed: Iterable[Any] = [policies] if single else policies
    found: list[Competitor] = []
    for entry in listed:
        if isinstance(entry, str):
            found.append(_parse(entry))
        else:
            ready = isinstance(entry, (Policy, Always, BestTrainingMean))
            found.append(entry if ready else PythonPolicy(entry))
    if not found:
        raise InvalidInput("a study needs at least one policy; got an empty list")
    labels = [competitor.label for competitor in found]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidInput(
                f"two policies are called {label!r}; tell them apart with lsdt.Policy(..., label=...), or by "
                "an attribute `label` of your own"
            )
    return found
