"""Side information out of what was sent: pairs, a table of pairs, a log of ratings."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsdt.errors import InvalidInput, LsdtError, suggest
from lsdt.policies import Policy
from lsdt.problems import rewards as laws
from lsdt.side_information import SideInformation, complete, from_means, merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.problems import Rewards
    from lsdt.service.messages import ExtendRequest, NewExperiment, PolicyChoice, RewardLaw

_LAWS = ("bernoulli", "exponential", "gaussian", "laplace", "pareto", "student_t")
_EXAMPLE = {
    "espresso": 0.62, "ristretto": 0.58, "cappuccino": 0.53, "mocha": 0.47, "cocoa": 0.42, "chai": 0.36,
    "tea": 0.31, "mate": 0.24, "lemonade": 0.17, "cola": 0.11, "water": 0.06, "kefir": 0.02,
}  # fmt: skip


def side_of(new: NewExperiment) -> SideInformation:
    """Return the side information of a new experiment."""
    ways = [way for way in ("arms", "n_arms", "file", "log") if getattr(new, way) is not None]
    ways += ["example"] if new.example else []
    if len(ways) != 1:
        said = " and ".join(ways) or "none of them"
        raise InvalidInput(f"an experiment is made of one of: arms, n_arms, file, log, example; got {said}")
    if new.example:
        return example()
    if new.file is not None:
        return from_file(new.file.encode(), ".csv", new.complete or None)
    if new.log is not None:
        return from_log(new.log.encode(), ".csv", new.epsilon)
    n_arms = len(new.arms) if new.arms is not None else new.n_arms or 0
    if new.complete:
        if new.dissimilar or new.better or new.ranges:
            raise InvalidInput("complete=true takes similar pairs only: every other pair is dissimilar")
        return complete(n_arms, new.similar, arm_ids=new.arms, epsilon=new.epsilon)
    return SideInformation(
        n_arms,
        new.similar,
        new.dissimilar,
        arm_ids=new.arms,
        epsilon=new.epsilon,
        better=new.better,
        ranges=new.ranges,
    )


def example() -> SideInformation:
    """Return twelve drinks, and most of what is similar among them."""
    side = from_means(list(_EXAMPLE.values()), epsilon=0.15, arm_ids=list(_EXAMPLE))
    return side.reveal(p_similar=0.8, p_dissimilar=0.6, seed=1)


def from_file(content: bytes, ending: str, is_complete: bool | None = None) -> SideInformation:
    """Return the side information of a table of pairs, or of a file that lsdt wrote."""
    from lsdt.side_information import load  # loads pyarrow

    return _with_file(content, ending, lambda path: load(path, is_complete))


def from_log(content: bytes, ending: str, epsilon: float | None) -> SideInformation:
    """Return what a log of ratings says about its items."""
    from lsdt.ratings import from_ratings

    chosen = "auto" if epsilon is None else epsilon
    return _with_file(content, ending, lambda path: from_ratings(path, epsilon=chosen, progress=False))


def _with_file(content: bytes, ending: str, read: Callable[[Path], SideInformation]) -> SideInformation:
    """Read uploaded bytes through a temporary file, whose path no error message shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{ending}"
        path.write_bytes(content)
        try:
            return read(path)
        except LsdtError as error:
            text = str(error).replace(repr(str(path)), "the file").replace(str(path), "the file")
            raise type(error)(text) from None


def extended(side: SideInformation, more: ExtendRequest) -> SideInformation:
    """Return side information with more arms and relations."""
    if side.arm_ids is None and more.arms:
        raise InvalidInput("arms without ids cannot be added to; send the whole side information as a file")
    ids = None if side.arm_ids is None else [*side.arm_ids, *(a for a in more.arms if a not in side.arm_ids)]
    n_arms = side.n_arms if ids is None else len(ids)
    added = SideInformation(
        n_arms,
        more.similar,
        more.dissimilar,
        arm_ids=ids,
        epsilon=side.epsilon,
        better=more.better,
        ranges=more.ranges,
    )
    return merge([side, added], names=["the experiment", "what was sent"])


def check_order(before: SideInformation, after: SideInformation) -> None:
    """Refuse other side information whose arms are numbered otherwise: the log counts by number.

    Where arms are missing, and so retire, the agent keeps its order by itself.
    """
    if before.arm_ids is not None and not set(before.arm_ids) <= set(after.arm_ids or ()):
        return
    for arm in range(min(before.n_arms, after.n_arms)):
        if before.label(arm) != after.label(arm):
            raise InvalidInput(
                f"list the arms of the experiment first, in their order: arm {arm} is "
                f"{before.label(arm)!r}, and {after.label(arm)!r} in what was sent"
            )


_PLACES = {
    "on": "; say it beside them, as in {'name': 'ts', 'on': 'paper', 'parameters': {}}",
    "prior_weight": "; say it of the experiment, beside 'policy'",
    "label": "; an experiment has a name of its own",
}


def policy_of(choice: str | PolicyChoice) -> str | Policy:
    """Return the policy that was asked for."""
    if isinstance(choice, str):
        return choice
    parameters: dict[str, Any] = dict(choice.parameters)
    for word, place in _PLACES.items():
        if word in parameters:
            raise InvalidInput(f"{word!r} is not one of the policy's parameters{place}")
    return Policy(choice.name, on=choice.on, **parameters)


def rewards_of(law: str | RewardLaw) -> str | Rewards:
    """Return what rewards are like."""
    if isinstance(law, str):
        return law
    if law.name not in _LAWS:
        raise InvalidInput(
            f"rewards are one of {', '.join(_LAWS)}; got {law.name!r}{suggest(law.name, _LAWS)}"
        )
    try:
        made: Rewards = getattr(laws, law.name)(**law.parameters)
    except TypeError:
        raise InvalidInput(
            f"{law.name} rewards have no such parameter: {', '.join(law.parameters)}"
        ) from None
    return made
