"""`lsdt.plan`: before the first try, how many it will take, what it will cost, and what would help most."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._html import card, facts, html_table
from lsdt._validation import (
    LARGEST_REWARD,
    check_kind,
    checked_list,
    checked_number,
    checked_seed,
    checked_share_inside,
    checked_whole,
)
from lsdt.agent import choose_policy
from lsdt.errors import (
    ContradictionWarning,
    InconsistentSideInformation,
    InvalidInput,
    TooLarge,
    Unsupported,
    counted,
)
from lsdt.identification.plan_runs import (
    LikelyMeans,
    classical_tries,
    left_with_pairs,
    likely_means,
    played_out,
    regret_of,
)
from lsdt.policies import Policy, StoppingRule, offline_step, tolerance_of
from lsdt.problems import checked_rewards
from lsdt.side_information import SideInformation, with_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.problems import Rewards

_MOST_CANDIDATES = 1_000  # a run among more takes most of a second
_MOST_RUNS = 10_000
_STEPS = (4.0, 2.0, 1.0, 0.5, 0.25)  # other tolerances to plan for, as shares of the one asked for
_MOST_TRIES = 1_000_000  # as many as `lsdt.identify` tries by default
_FINEST = 1e-6  # the smallest tolerance, as a share of sigma
_ENDS = (0.05, 0.95)  # of the intervals, which hold 90%
# Runs of short plans, and of comparing pairs with tries: 100 pairs among 100 arms take a second per run.
_FEW_RUNS = 20
_DELTA = 0.05  # the default of `plan` and of `lsdt.identify`
_LIKELY = 0.9  # how sure a tolerance has to be reached to count as affordable


class Plan(NamedTuple):
    """What to expect of an experiment; see `plan`.

    Attributes
    ----------
    n_arms, n_candidates : int
        How many arms there are, and how many can be the best.
    delta, tolerance : float
        The accepted probability of naming a wrong arm, and how far below the best arm it may lie.
    tries : tuple of float
        How many tries it takes until the best arm is known: median, and lower and upper end of an interval
        that holds 90%. Infinite beyond a million.
    classical : int
        Tries by the sample-size formula for tests of every arm against the best one, without relations.
    tolerances : DataFrame
        For several tolerances: ``tries`` (median), ``low``, ``high``, and ``classical``. All rows are played
        on the same mean vectors, so they differ by their tolerance alone.
    rounds : DataFrame
        For every horizon: ``regret`` (mean), ``low``, ``high`` (90% of the runs lie between them),
        ``without`` (the regret of a policy that ignores the relations), and ``tolerance``, the least one that
        this many tries establish with a probability of 90%; NaN if none of those in `tolerances`.
    learning : DataFrame
        What ``more`` pairs or tries would tell: how many ``arms`` could then still be the best, on average,
        and how probable it is that the best one is then ``known``; both on the same mean vectors, 20 at most
        where pairs are asked about.
    policy : str
        The policy whose regret it is.
    runs : int
        How many mean vectors were drawn.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.1, .2, .3, .4, .5], epsilon=.15)
    >>> plan = lsdt.plan(side, horizons=[100], n_pairs=0, runs=10)
    >>> plan.tries[0] < plan.classical
    True
    """

    n_arms: int
    n_candidates: int
    delta: float
    tolerance: float
    tries: tuple[float, float, float]
    classical: int
    tolerances: pd.DataFrame
    rounds: pd.DataFrame
    learning: pd.DataFrame
    policy: str
    runs: int

    @property
    def text(self) -> str:
        """The plan in a few sentences."""
        middle, low, high = self.tries
        said = [
            f"Of {counted(self.n_arms, 'arm')}, {self.n_candidates:,} can be the best.",
            f"Until one within {self.tolerance:g} of the best is known, with a probability of an error of at "
            f"most {self.delta:g}, it takes {_tries(middle)} (90% of runs: {_many(low)} to "
            f"{_many(high)}); a classical test of every arm takes {self.classical:,}.",
        ]
        for row in self.rounds.itertuples():
            without = "" if np.isnan(row.without) else f"; without the relations, {row.without:,.3g}"
            said.append(
                f"In {row.horizon:,} rounds {self.policy} loses {row.regret:,.3g} ({row.low:,.3g} to "
                f"{row.high:,.3g}) against always playing the best arm{without}."
            )
        for row in self.learning.itertuples():
            said.append(f"After {row.more}, {row.arms:,.1f} arms could still be the best.")
        return " ".join(said)

    def _repr_html_(self) -> str:
        return card(
            "Plan",
            self.text,
            facts({"arms": self.n_arms, "candidates": self.n_candidates, "policy": self.policy}),
            *(
                html_table(list(frame.columns), frame.to_numpy(object).tolist())
                for frame in (self.tolerances, self.rounds, self.learning)
            ),
        )


def plan(
    side: SideInformation,
    rewards: str | Rewards = "bernoulli",
    delta: float = _DELTA,
    tolerance: float | None = None,
    *,
    epsilon: float | None = None,
    policy: str | Policy = "auto",
    horizons: Sequence[int] = (1_000,),
    n_pairs: int = 100,
    means_between: tuple[float, float] | None = None,
    runs: int = 100,
    seed: int = 0,
) -> Plan:
    """Say before the first try how long it will take, what it will cost, and what would help most.

    Means are drawn from all that the relations allow, and experiments are played on them: `identify` until
    the best arm is known, a policy for every horizon. What is said holds for means like these. If you know
    where yours lie, as with click rates, say so: `means_between`.

    Parameters
    ----------
    side : SideInformation
        What is known about the arms.
    rewards : {'bernoulli', 'gaussian'} or Rewards
        The law of the rewards.
    delta : float
        The accepted probability of naming an arm that is not good enough.
    tolerance : float, optional
        How far below the best arm the one that is named may lie; by default epsilon.
    epsilon : float, optional
        Less than which the means of similar arms differ, if the side information does not say so.
    policy : str or Policy
        The policy whose regret is estimated; by default the one that an agent would use.
    horizons : list of int
        The numbers of rounds for which regret is estimated. They are also budgets: which tolerance does this
        many tries establish?
    n_pairs : int
        How many more pairs, and how many tries instead, are compared; 0 for neither. Pairs are those that an
        `Inquiry` would ask about, and need an epsilon.
    means_between : pair of float, optional
        The lowest and the highest mean that are possible. By default, how far means spread is taken from how
        many pairs are similar and how many are not. If only one of these is known, means of rewards between 0
        and 1 spread over all of it, others as far as it takes for as many pairs to be similar as are.
    runs : int
        How many mean vectors are drawn.
    seed : int
        The same seed gives the same plan.

    Returns
    -------
    Plan
        ``text``, ``tries``, ``tolerances``, ``rounds``, ``learning``.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.problems.uniform(30, .1, .9, .1, "bernoulli", .5, .5).draw(0, 0).side
    >>> plan = lsdt.plan(side, horizons=[100], n_pairs=10, runs=10)
    >>> plan.n_candidates < 30, plan.tries[1] <= plan.tries[0] <= plan.tries[2]
    (True, True)
    """
    check_kind(side, SideInformation, "side must be SideInformation, such as lsdt.load('pairs.csv')")
    side = with_epsilon(side, epsilon)
    law, accepted = checked_rewards(rewards), checked_share_inside(delta, "delta")
    listed = checked_list(horizons, "horizons", "whole numbers")
    budgets = [checked_whole(each, "every horizon", 1, _MOST_TRIES) for each in listed]
    more = checked_whole(n_pairs, "n_pairs", 0, _MOST_TRIES)
    n_runs = checked_whole(runs, "runs", 2, _MOST_RUNS)
    checked_seed(seed)
    return _planned(
        side,
        law,
        accepted,
        tolerance,
        policy,
        budgets,
        more,
        _checked_box(means_between, law),
        n_runs,
        _STEPS,
        seed,
    )


def brief_plan(
    side: SideInformation,
    rewards: Rewards,
    tolerance: float | None,
    policy: str | Policy,
    horizon: int,
    runs: int = _FEW_RUNS,
    seed: int = 0,
) -> Plan:
    """Return the plan for one tolerance and one horizon, by default on few mean vectors, as a page shows it.

    Its numbers are those of `plan` with as many runs and the same seed.
    """
    return _planned(side, rewards, _DELTA, tolerance, policy, [horizon], 0, None, runs, (1.0,), seed)


def _planned(
    side: SideInformation,
    law: Rewards,
    accepted: float,
    tolerance: float | None,
    policy: str | Policy,
    budgets: list[int],
    more: int,
    box: tuple[float, float] | None,
    n_runs: int,
    steps: tuple[float, ...],
    seed: int,
) -> Plan:
    if not side.has_epsilon and side.n_similar + side.n_dissimilar > 0:
        raise Unsupported(
            "a plan draws means that satisfy the similar and dissimilar pairs, and nothing says how far "
            "apart these are: give epsilon=..., less than which the means of similar arms differ"
        )
    within = tolerance_of(side, tolerance)
    if not within > 0.0:
        raise InvalidInput("a plan needs a tolerance above 0: with 0, ties would take for ever; got 0")
    if within < _FINEST * law.model.sigma:
        raise InvalidInput(
            f"a plan needs a tolerance of at least {_FINEST:g} times the noise of a reward, whose sigma is "
            f"{law.model.sigma:g}: a smaller one takes 10^12 tries and more; got {within:g}"
        )
    if max(within, side.epsilon or 0.0) > LARGEST_REWARD:
        raise InvalidInput(
            f"a plan needs a tolerance and an epsilon of at most {LARGEST_REWARD:g}, the largest reward "
            f"that is accepted; got {max(within, side.epsilon or 0.0):g}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)  # the error says it
        found = offline_step(side, "propagation")
    assert found is not None
    if found.conflict is not None:
        raise InconsistentSideInformation(
            "the relations contradict one another, so no means satisfy them and nothing can be planned; "
            f"correct them: {found.conflict.brief}",
            found.conflict,
        )
    if len(found.arms) > _MOST_CANDIDATES:
        raise TooLarge(
            f"{len(found.arms):,} arms can be the best, and plans are made for up to {_MOST_CANDIDATES:,}; "
            "more pairs exclude more: see lsdt.next_pairs(side)"
        )
    likely = likely_means(found, law, box, n_runs, seed)
    chosen, _ = choose_policy(policy, side, law.model, max(budgets, default=1_000))
    rounds = _rounds(found, law, chosen, budgets, likely, seed)  # first: a policy may be refused here
    tolerances, rounds["tolerance"] = _tolerances(found, law, within, steps, accepted, likely, budgets, seed)
    middle = tolerances[tolerances["tolerance"] == within].iloc[0]
    learning = _learning(found, law, within, accepted, more, likely, seed)
    return Plan(
        side.n_arms,
        len(found.arms),
        accepted,
        within,
        (float(middle["tries"]), float(middle["low"]), float(middle["high"])),
        int(middle["classical"]),
        tolerances,
        rounds,
        learning,
        chosen.label,
        n_runs,
    )


def _checked_box(between: Any, law: Rewards) -> tuple[float, float] | None:
    """Return where means lie, or say what is accepted."""
    if between is None:
        return None
    ends = checked_list(between, "means_between", "two numbers, the lowest and the highest mean")
    if len(ends) != 2:
        raise InvalidInput(f"means_between is the lowest and the highest mean; got {between!r}")
    least, most = (0.0, 1.0) if law.model.family == "bernoulli" else (None, None)
    low, high = (checked_number(end, "means_between", at_least=least, at_most=most) for end in ends)
    if not low < high:
        raise InvalidInput(
            f"means_between is the lowest and the highest mean, in this order; got {between!r}"
        )
    return low, high


def _middle_90(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(values, _ENDS)
    return float(low), float(high)


def _tolerances(
    found: CandidateSet,
    law: Rewards,
    within: float,
    steps: tuple[float, ...],
    delta: float,
    likely: LikelyMeans,
    budgets: list[int],
    seed: int,
) -> tuple[pd.DataFrame, list[float]]:
    """Return the table of tolerances, and for every budget the least one that it is likely to establish."""
    import pandas as pd

    rows, affordable = [], [np.nan] * len(budgets)
    for step in steps:
        tolerance = step * within
        rule = StoppingRule(found.side, law.model, tolerance, found)
        tries = played_out(rule, likely, delta, _MOST_TRIES, seed)[0].astype(np.float64)
        tries[tries >= _MOST_TRIES] = np.inf
        low, high = np.quantile(tries, _ENDS, method="higher")
        classical = classical_tries(found.side.n_arms, law.model.sigma, tolerance, delta)
        rows.append((tolerance, float(np.quantile(tries, 0.5, method="higher")), low, high, classical))
        for place, budget in enumerate(budgets):
            if np.mean(tries <= budget) >= _LIKELY:
                affordable[place] = tolerance
    return pd.DataFrame(rows, columns=["tolerance", "tries", "low", "high", "classical"]), affordable


def _rounds(
    found: CandidateSet,
    law: Rewards,
    policy: Policy,
    budgets: list[int],
    likely: LikelyMeans,
    seed: int,
) -> pd.DataFrame:
    """Return the regret at every horizon, with the relations and without."""
    import pandas as pd

    columns = ["horizon", "regret", "low", "high", "without"]
    if not budgets:
        return pd.DataFrame(columns=columns)
    side, order = found.side, sorted(set(budgets))
    regret = regret_of(policy, side, law, found, likely, order, seed)
    without = np.full(len(order), np.nan)
    if len(likely.arms) == side.n_arms:
        plain = Policy("ts" if law.model.family == "bernoulli" else "imed")
        without = regret_of(plain, SideInformation(side.n_arms), law, None, likely, order, seed).mean(axis=0)
    rows = []
    for budget in budgets:
        place = order.index(budget)
        column = regret[:, place]
        rows.append((budget, float(column.mean()), *_middle_90(column), float(without[place])))
    return pd.DataFrame(rows, columns=columns)


def _learning(
    found: CandidateSet, law: Rewards, within: float, delta: float, more: int, likely: LikelyMeans, seed: int
) -> pd.DataFrame:
    """Return how many arms more pairs, or as many tries, would leave."""
    import pandas as pd

    rows: list[tuple[str, float, float]] = []
    if more:
        if len(likely.arms) == found.side.n_arms and found.side.epsilon is not None:
            # Tries are then counted on the same few mean vectors as pairs.
            likely = LikelyMeans(likely.arms, likely.means[:_FEW_RUNS])
            asked, left = left_with_pairs(found.side, likely, more)
            most = int(asked.max())
            if most:
                label = counted(most, "more pair") + (" (no others can help)" if most < more else "")
                rows.append((label, float(left.mean()), float(np.mean(left == 1))))
        rule = StoppingRule(found.side, law.model, within, found)
        tries, left = played_out(rule, likely, delta, more, seed)
        rows.append((f"{more:,} more tries", float(left.mean()), float(np.mean(tries < more))))
    return pd.DataFrame(rows, columns=["more", "arms", "known"])


def _many(tries: float) -> str:
    return f"{tries:,.0f}" if np.isfinite(tries) else f"more than {_MOST_TRIES:,}"


def _tries(tries: float) -> str:
    return _many(tries) + (" try" if tries == 1 else " tries")
