"""`lsdt.identify`: play until the best arm is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from lsdt._html import Html, card, facts, fold
from lsdt._progress import ProgressBar
from lsdt._validation import checked_number, checked_seed, checked_share_inside, checked_whole
from lsdt.agent import Agent, TopStopping, checked_top
from lsdt.errors import InvalidInput, Unsupported, counted
from lsdt.identification.top_identify import TopIdentification, top_answer
from lsdt.kernel import Purpose, new_stream, seed_words
from lsdt.policies import Policy, parse_policy
from lsdt.problems import checked_problem, checked_rewards, is_problem
from lsdt.side_information import SideInformation, with_risk
from lsdt.simulation import draw_several

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from lsdt._progress import Progress
    from lsdt.agent import Stopping
    from lsdt.kernel import Records
    from lsdt.problems import Instance, Problem, Rewards
    from lsdt.side_information import ArmId

    # A function that tries several arms, given by numbers and by ids, and returns the reward of each.
    Trial = Callable[[list[int], list[ArmId]], list[Any]]

_MOST_TRIES = 10**6  # the default budget: complete information needs dozens, hard cases tens of thousands
_MOST_AT_ONCE = 10**6  # no batch is larger than the default budget
# The stopping rule is evaluated whenever tries have grown by 1%: about 70 times while they double. Tries may
# exceed the necessary ones by that 1%.
_CHECKS = 100
# For more than one arm: the rule says what to try, and the policy has no more than that to choose from.
_PLAYS_WHAT_IT_MAY = "ucb1@all"


class Identification(NamedTuple):
    """Which arm was found to be the best; see `identify`.

    Attributes
    ----------
    arm_id : str or int
        The arm found.
    arm : int
        Its index.
    stop : bool
        Whether it is known to be within the tolerance of the best arm, at the level asked for.
    delta : float
        The level reached by the rewards: a guaranteed bound on the probability that it is not within the
        tolerance. `risk` adds to it.
    risk : float
        The probability, at most, that the side information is wrong, as far as its sources state one
        (`SideInformation.risks`); 0 if none does.
    error : float
        An estimate of that probability, usually smaller; not a guarantee.
    tolerance : float
        How far below the best arm it may lie.
    tries : int
        How many rewards were used.
    gap : float or None
        How far below the best arm its true mean lies, if a problem was simulated.
    agent : Agent
        The agent with everything it learned: ``agent.stopping()``, ``agent.best()``, ``agent.to_frame()``.
    text : str
        The result in a sentence.

    Examples
    --------
    >>> import lsdt
    >>> found = lsdt.identify(lsdt.problems.uniform(n_arms=100, epsilon=.1), seed=1)
    >>> found.stop, found.gap < .1
    (True, True)
    """

    arm_id: ArmId
    arm: int
    stop: bool
    delta: float
    risk: float
    error: float
    tolerance: float
    tries: int
    gap: float | None
    agent: Agent
    text: str

    def to_frame(self) -> pd.DataFrame:
        """Return a row per arm: plays, mean, the policy's score; see `Agent.to_frame`."""
        return self.agent.to_frame()

    def __repr__(self) -> str:
        return (
            f"Identification(arm_id={self.arm_id!r}, stop={self.stop}, delta={self.delta:.3g}, "
            + (f"risk={self.risk:.3g}, " if self.risk else "")
            + f"tries={self.tries:,})"
        )

    def _repr_html_(self) -> str:
        known = {
            "arm": self.arm_id,
            "known": self.stop,
            "level reached": self.delta,
            "risk of the side information": self.risk or None,
            "tolerance": self.tolerance,
            "tries": self.tries,
            "true distance below the best": self.gap,
        }
        learned = fold("what was learned", Html(self.agent._repr_html_()))
        return card("Identification", self.text, facts(known), learned)


@overload
def identify(
    source: Problem | Callable[[Any], Any],
    side: SideInformation | None = None,
    delta: float | None = 0.05,
    tolerance: float | None = None,
    *,
    top: Literal[1] = 1,
    rewards: str | Rewards | None = None,
    policy: str | Policy = "identify",
    budget: int | None = None,
    batch: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Identification: ...
@overload
def identify(
    source: Problem | Callable[[Any], Any],
    side: SideInformation | None = None,
    delta: float | None = 0.05,
    tolerance: float | None = None,
    *,
    top: int | str,
    rewards: str | Rewards | None = None,
    policy: str | Policy = "identify",
    budget: int | None = None,
    batch: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Identification | TopIdentification: ...
def identify(
    source: Problem | Callable[[Any], Any],
    side: SideInformation | None = None,
    delta: float | None = 0.05,
    tolerance: float | None = None,
    *,
    top: int | str = 1,
    rewards: str | Rewards | None = None,
    policy: str | Policy = "identify",
    budget: int | None = None,
    batch: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Identification | TopIdentification:
    """Play until the best arm is known, or until the budget is used up.

    With probability at least 1 - delta, the arm found is within the tolerance of the best one: see
    docs/handbook/identify.md for the assumptions and docs/theory/stopping.md for the proof.

    Parameters
    ----------
    source : problem of `lsdt.problems`, or function
        What to play. A problem is drawn and simulated. A function tries an arm: it gets its id and returns
        the reward; with `batch`, it gets a list of ids and returns a list of rewards.
    side : SideInformation
        What is known about the arms; a problem has its own.
    delta : float, optional
        The accepted probability of finding an arm that is not good enough. With None the whole budget is
        used.
    tolerance : float, optional
        How far below the best arm the one found may lie, in rewards; by default epsilon.
    top : int or 'all'
        How many arms to find: with probability at least 1 - delta, each of them is within the tolerance of
        the `top`-th best. ``'all'`` finds all arms within the tolerance of the best, and none more than twice
        as far below.
    rewards : {'bernoulli', 'gaussian'} or Rewards, optional
        The law of the rewards, by default ``'bernoulli'``: between 0 and 1. A problem has its own.
    policy : str or Policy
        How arms are chosen; the guarantee holds for every policy. By default ``'identify'``, which is made
        for this. For more than one arm, it means to try the arm that tells most about the strongest
        objection, and other policies must play on all arms.
    budget : int, optional
        The most tries; by default a million.
    batch : int, optional
        How many arms are tried at once.
    seed : int
        The same seed gives the same problem and the same choices.
    progress : bool or function, optional
        Whether to show a progress bar; by default on a terminal. A function is called with the share of the
        budget that is used.

    Returns
    -------
    Identification, or TopIdentification if `top` is not 1
        ``arm_id`` or ``arm_ids``, ``stop``, ``delta``, ``tries``, ``agent``.

    Examples
    --------
    >>> import lsdt
    >>> quality = {"tea": .2, "coffee": .3, "cocoa": .5, "juice": .85, "water": .9}
    >>> side = lsdt.from_means(list(quality.values()), epsilon=.2, arm_ids=list(quality))
    >>> found = lsdt.identify(lambda drink: quality[drink], side, delta=.01)
    >>> found.arm_id in ("juice", "water"), found.tries < 100
    (True, True)
    """
    limit = _MOST_TRIES if budget is None else checked_whole(budget, "budget", 1)
    if delta is None and budget is None:
        raise InvalidInput("with delta=None the whole budget is used; give a budget")
    level = 0.5 if delta is None else checked_share_inside(delta, "delta")
    at_once = 1 if batch is None else checked_whole(batch, "batch", 1, _MOST_AT_ONCE)
    checked_seed(seed)
    known, law, instance = _setting(source, side, rewards, seed)
    which = checked_top(top, known.n_arms)
    is_guided = which != 1 and policy == "identify"
    chosen = _PLAYS_WHAT_IT_MAY if is_guided else _policy(policy, tolerance)
    agent = Agent(known, chosen, rewards=law, horizon=limit, seed=seed)
    trial = _callback(source, batch) if instance is None else _simulated(instance, seed)
    if which != 1 and agent.policy.on != "all":
        raise Unsupported(
            f"{agent.policy.label!r} plays arms that can be the best, and top={top!r} asks for more; leave "
            "policy out, or use one on all arms, such as 'ts@all'"
        )
    note = agent.stopping(level, tolerance).note if which == 1 and agent.policy.on != "all" else ""
    if note:
        raise Unsupported(
            f"{note}; but this policy plays only the candidates that they leave. Correct what is wrong "
            "(lsdt.candidate_set(side).conflict names relations that contradict one another), or leave all "
            "relations out"
        )
    tries, told_until = 0, 0
    allowed = None
    bar = ProgressBar(limit, "tries", progress)
    try:
        while tries < limit:
            if (delta is not None or is_guided) and tries >= told_until:
                looked = agent.stopping(level, tolerance, top=which)
                if delta is not None and looked.stop:
                    break
                if is_guided:
                    assert isinstance(looked, TopStopping)
                    allowed = looked.to_try[: 1 if batch is None else at_once]
                told_until = tries + max(tries // _CHECKS, 1)
            decisions = agent.ask(min(at_once, limit - tries), allowed=allowed)
            paid = trial([each.arm for each in decisions], [each.arm_id for each in decisions])
            for decision, reward in zip(decisions, paid, strict=True):
                agent.tell(decision, reward)
            tries += len(decisions)
            bar.update(len(decisions))
    finally:
        bar.close()
    last = agent.stopping(level, tolerance, top=which)
    if isinstance(last, TopStopping):
        return top_answer(agent, last, delta, tries, instance)
    return _answer(agent, last, delta, tries, instance)


def _answer(
    agent: Agent, found: Stopping, delta: float | None, tries: int, instance: Instance | None
) -> Identification:
    gap = None if instance is None else float(instance.means.max() - instance.means[found.arm])
    known = delta is not None and found.stop
    text = found.text
    if not known:
        text = (
            f"arm {found.arm_id!r} is the best guess after {counted(tries, 'reward')}: the probability that "
            f"it is not within {found.tolerance:g} of the best is about {found.error:.2g}, and certainly at "
            f"most {with_risk(found.delta, found.risk)}" + (f"; {found.about_risk}" if found.risk else "")
        )
    return Identification(
        found.arm_id,
        found.arm,
        known,
        found.delta,
        found.risk,
        found.error,
        found.tolerance,
        tries,
        gap,
        agent,
        text,
    )


def _policy(policy: Any, tolerance: Any) -> str | Policy:
    """Return the policy to play; ``'identify'`` gets the tolerance of the call unless it has one."""
    if isinstance(policy, str) and policy != "auto":
        policy = parse_policy(policy)
    if isinstance(policy, Policy) and policy == Policy("identify") and tolerance is not None:
        return Policy("identify", tolerance=checked_number(tolerance, "tolerance", at_least=0.0))
    return policy  # type: ignore[no-any-return]


def _setting(
    source: Any, side: Any, rewards: Any, seed: int
) -> tuple[SideInformation, str | Rewards, Instance | None]:
    """Return the side information, the reward law, and the instance of a problem (None for a function)."""
    if is_problem(source):
        if side is not None or rewards is not None:
            raise InvalidInput("a problem has its own side information and rewards; leave out both")
        instance = checked_problem(source).draw(seed, 0)
        if instance.rewards.law is None:
            raise InvalidInput(
                "identify can simulate only the laws of lsdt.rewards; give a function that tries an arm"
            )
        return instance.side, instance.rewards, instance
    if not callable(source):
        raise InvalidInput(
            "identify takes a problem of lsdt.problems, or a function that tries an arm and returns its "
            f"reward; got {source!r}"
        )
    if not isinstance(side, SideInformation):
        raise InvalidInput(
            f"with a function that tries arms, side must be a SideInformation; got {type(side).__name__}"
        )
    return side, checked_rewards("bernoulli" if rewards is None else rewards), None


def _simulated(instance: Instance, seed: int) -> Trial:
    """Return a function that draws rewards of a problem's arms, as in replication 0 of a simulation."""
    law, stream = instance.rewards, new_stream(seed, 0, Purpose.REWARD)
    if law.records is not None:
        return _recorded(law.records, seed)
    means = np.ascontiguousarray(instance.means, np.float64).copy()

    def trial(arms: list[int], _: list[ArmId]) -> list[Any]:
        assert law.law is not None
        numbers = np.array(arms, np.int64)
        paid: list[float] = draw_several(law.law, means, law.scale, law.shape, stream, numbers).tolist()
        return paid

    return trial


def _recorded(records: Records, seed: int) -> Trial:
    """Return a function that draws at random from the recorded rewards of each arm."""
    rng = np.random.default_rng(seed_words(seed, 0, Purpose.REWARD))
    starts, sizes = records.starts[:-1], np.diff(records.starts)

    def trial(arms: list[int], _: list[ArmId]) -> list[Any]:
        paid: list[float] = records.values[starts[arms] + rng.integers(sizes[arms])].tolist()
        return paid

    return trial


def _callback(function: Any, batch: int | None) -> Trial:
    """Return a function that tries arms by calling the user's function, once per arm or once per batch."""

    def one_by_one(_: list[int], names: list[ArmId]) -> list[Any]:
        return [function(name) for name in names]

    def at_once(_: list[int], names: list[ArmId]) -> list[Any]:
        paid = function(names)
        try:
            listed = list(paid)
        except TypeError:
            listed = []
        if len(listed) != len(names):
            raise InvalidInput(
                f"with batch the function gets a list of arms and returns a reward for each; it got "
                f"{counted(len(names), 'arm')} and returned {paid!r}"
            )
        return listed

    return one_by_one if batch is None else at_once
