"""What a policy file declares: its state, its functions, its parameters with their ranges, and flags."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lsdt._html import fields_card
from lsdt._validation import LARGEST_REWARD, checked_number, checked_word, number_in_words
from lsdt.errors import InvalidInput, suggest
from lsdt.kernel import Entries, define_rule, entries_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import SimpleNamespace

    from lsdt.candidates import CandidateClasses
    from lsdt.kernel import RewardModel
    from lsdt.policies.situation import Situation


@dataclass(frozen=True)
class Number:
    """A real parameter: its default and its range.

    A default of None is worked out by `derive`, from what is known of the rewards and from the parameters
    declared before this one. `goes_with` is a `Choice` and the words of it for which there is such a number.
    """

    name: str
    default: float | None
    meaning: str
    derive: Callable[[RewardModel, Mapping[str, Any]], float] | None = None
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    goes_with: tuple[str, tuple[str, ...]] | None = None

    def checked(self, value: Any, policy: str) -> float | None:
        """Return the value as a float, or say what is wrong with it."""
        if value is None and self.default is None:
            return None
        return checked_number(value, f"{policy}: {self.name}", self.above, self.at_least, self.at_most)

    @property
    def accepted(self) -> str:
        """The range in words."""
        return number_in_words(self.above, self.at_least, self.at_most)

    def _repr_html_(self) -> str:
        return fields_card(self)


@dataclass(frozen=True)
class Choice:
    """A parameter that is one of a few words.

    Each of `contest_words` makes another policy, which contests compare with the default. With one of
    `random_words` the policy draws its choice at random. With one of `truncating_words` it plays by truncated
    means, which are then its score: they need every single reward, not only counts and sums.
    """

    name: str
    default: str
    meaning: str
    words: tuple[str, ...]
    contest_words: tuple[str, ...] = ()
    random_words: tuple[str, ...] = ()
    truncating_words: tuple[str, ...] = ()

    def checked(self, value: Any, policy: str) -> str:
        """Return the word, or say which are accepted."""
        return checked_word(value, f"{policy}: {self.name}", self.words)

    @property
    def accepted(self) -> str:
        """The words."""
        return "one of " + ", ".join(map(repr, self.words))

    def _repr_html_(self) -> str:
        return fields_card(self)


@dataclass(frozen=True)
class Specification:
    """A policy, written once: simulator and agent run the same functions.

    Parameters
    ----------
    name : str
        The key under which users ask for it.
    title : str
        What figures call it.
    rule : str
        The rule as a formula.
    reference : str
        Where it comes from; the equation where it is the paper's.
    cost : str
        What a round costs, in the number of arms K the policy plays on.
    state : type
        A NamedTuple declared with the field kinds of `lsdt.kernel.state`.
    prepare : callable
        ``prepare(situation, parameters) -> state``: the state before the first round. Parameters are
        complete: what depends on the rewards is worked out, and a `Number` that does not apply is None.
    select, update : callable
        ``select(state, allowed, stream) -> arm`` and ``update(state, arm, reward, stream)``, in the part of
        Python that Numba compiles. ``allowed.flags[arm]`` says whether an arm may be played, and
        ``allowed.everything`` whether all may. `select` leaves the state as it is: asked twice it answers
        the same. It may write to caches, such as where a solver starts next time, as long as no answer
        depends on them; only ties within rounding may be broken differently.
    parameters : tuple of Number or Choice
        With defaults and ranges.
    needs : frozenset of str
        Any of ``'complete'`` (side information), ``'connected'``, ``'epsilon'`` (one for all pairs),
        ``'distances'`` (that, a threshold for every pair, or ranges), ``'pairs'`` (similar and dissimilar
        pairs, whatever the threshold), ``'horizon'``.
    offline : {'', 'paper', 'propagation'}
        The offline step it starts with by itself: none, the paper's, or propagation.
    asked : callable, optional
        ``asked(state, arm, allowed, stream)``: what an ask changes, such as turns, epochs and
        counters. It is called once for every ask, after `select` has chosen `arm`, with the same `allowed`
        and a stream that yields the same numbers. An agent that is restored from a log calls it for every
        ask in the log, without `select`. With decisions pending, an agent chooses on a copy of the state
        that runs ahead, and counts the ask in both: `arm` is then not always what `select` says of `state`.
    expect : callable, optional
        ``expect(state, arms, rewards, stream)``: learns what stands in for the rewards of pending decisions,
        on the copy of the state that runs ahead, for policies whose `update` does more than the next few
        choices need. By default, `update` learns each of them.
    score : callable, optional
        ``score(state, arm) -> float``: its score of an arm, such as an index, for people to look at.
    score_name : str
        What the score is.
    randomised : bool
        Whether its choice is drawn at random.
    eliminates : bool
        Whether it drops arms for good. Its state then has ``alive``, 1 for every arm that is left, and
        ``gone_at``, after how many rewards each of the others was dropped.
    learns_from_sums : bool
        Whether the count and the sum of each arm's rewards are all that it learns from them, so that it can
        start again from these. Truncated means, which a `Choice` may ask for, need every single reward.
    why_no_prior : str
        Why it cannot start with known rewards; empty where it can.
    minimises_regret : bool
        Whether it is made to lose little; contests of regret leave out policies made for something else.
    fill : callable, optional
        ``fill(state, counts, sums)``: puts what the arms have paid into a state before its first round, as
        counts and sums that need not be whole. It is plain NumPy, and how a policy forgets: old rewards count
        less, and a new state is made. None where having learned one by one matters.
    remark : callable, optional
        ``remark(state) -> str``: what users should know of how it plays here, told by the state before its
        first round, such as that something was left out because there are too many arms; else nothing.
    places : mapping
        Fields that change and are used as places in another: its name, or a number of places. A state that
        was kept is refused where one of them lies outside.
    prepare_many : callable, optional
        ``prepare_many(classes, parameters) -> state``: for a policy that starts with the paper's offline step
        on complete information, the states of many replications at once, in fields of
        `lsdt.kernel.state.Ragged`. It makes studies faster, and nothing else: each state is the one that
        `prepare` makes.
    """

    name: str
    title: str
    rule: str
    reference: str
    cost: str
    state: type
    prepare: Callable[[Situation, SimpleNamespace], Any]
    select: Callable[[Any, Any, Any], int]
    update: Callable[[Any, int, float, Any], None]
    parameters: tuple[Number | Choice, ...] = ()
    needs: frozenset[str] = frozenset()
    offline: str = ""
    asked: Callable[[Any, int, Any, Any], None] | None = None
    expect: Callable[[Any, Any, Any, Any], None] | None = None
    score: Callable[[Any, int], float] | None = None
    score_name: str = "mean"
    randomised: bool = False
    eliminates: bool = False
    learns_from_sums: bool = True
    why_no_prior: str = ""
    minimises_regret: bool = True
    fill: Callable[[Any, Any, Any], None] | None = None
    remark: Callable[[Any], str] | None = None
    places: Mapping[str, str | int] = field(default_factory=dict, hash=False)
    prepare_many: Callable[[CandidateClasses, SimpleNamespace], Any] | None = None

    @property
    def follows_pairs(self) -> bool:
        """Whether similar and dissimilar pairs at one epsilon are what it knows: ranges are read as such."""
        return "epsilon" in self.needs and "complete" not in self.needs

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that apply, the given ones checked and the others at their defaults."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                accepted = ", ".join(known) if known else "none"
                raise InvalidInput(
                    f"{self.name} has no parameter {name!r}; its parameters are: {accepted}"
                    + suggest(name, known)
                )
        values = {
            name: parameter.checked(given.get(name, parameter.default), self.name)
            for name, parameter in known.items()
        }
        for name, parameter in known.items():
            if isinstance(parameter, Number) and parameter.goes_with is not None:
                choice, words = parameter.goes_with
                if values[choice] in words:
                    continue
                if given.get(name) is not None:
                    raise InvalidInput(
                        f"{self.name}: {name} goes with {choice}={' or '.join(map(repr, words))}; got "
                        f"{name}={values[name]:g} and {choice}={values[choice]!r}"
                    )
                del values[name]
        return values

    def resolve(self, parameters: Mapping[str, Any], rewards: RewardModel) -> dict[str, Any]:
        """Return the parameters with everything worked out that depends on the rewards."""
        values = dict(parameters)
        for parameter in self.parameters:
            value = values.get(parameter.name, math.nan)  # there is none that does not apply
            if isinstance(parameter, Number) and value is None and parameter.derive:
                values[parameter.name] = parameter.derive(rewards, values)
            elif value == "auto":
                values[parameter.name] = rewards.family
        return values

    def draws(self, parameters: Mapping[str, Any]) -> bool:
        """Say whether the choice is drawn at random with these parameters."""
        return self.randomised or any(parameters[each.name] in each.random_words for each in self._choices())

    def truncates(self, parameters: Mapping[str, Any]) -> bool:
        """Say whether it plays by truncated means with these parameters."""
        return any(parameters[each.name] in each.truncating_words for each in self._choices())

    def _choices(self) -> list[Choice]:
        return [each for each in self.parameters if isinstance(each, Choice)]

    def entries(self) -> Entries:
        """Return the compiled functions that run it."""
        score = self.score or _no_score
        define_rule(self.state, self.select, self.update, score, self.asked, self.expect)
        return entries_of(self.state)

    def _repr_html_(self) -> str:
        return fields_card(self)


def _no_score(state: Any, arm: int) -> float:
    """Think nothing of an arm."""
    return math.nan


# Parameters that several policies share.
SIGMA = Number(
    "sigma",
    None,
    "sub-Gaussian parameter of the rewards; by default the problem's",
    lambda rewards, _: rewards.sigma,
    above=0.0,
    at_least=1.0 / LARGEST_REWARD,
    at_most=LARGEST_REWARD,
)
DIVERGENCE = Choice(
    "divergence",
    "auto",
    "reward family of the Kullback-Leibler divergence; by default the problem's",
    ("auto", "gaussian", "bernoulli"),
)
