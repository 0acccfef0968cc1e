"""The result of a simulation."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lsdt._validation import checked_word
from lsdt.errors import InvalidInput, counted, suggest
from lsdt.kernel import GENERATOR
from lsdt.simulation import result_files
from lsdt.simulation.study import empty_outcomes

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.simulation.study import Outcomes, Study

_FEW = 5  # checkpoints that a message lists one by one
LEVEL = 0.95  # of confidence intervals, by convention; messages and docstrings say 95%


def interval(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return mean, lower and upper end of the 95% interval (Student's t) over the first axis."""
    from scipy.special import stdtrit

    count = len(values)
    mean = values.mean(axis=0)
    if count < 2:
        return mean, np.full_like(mean, math.nan), np.full_like(mean, math.nan)
    half = stdtrit(count - 1, 0.5 + 0.5 * LEVEL) * values.std(axis=0, ddof=1) / math.sqrt(count)
    return mean, mean - half, mean + half


def _describe_problem(study: Study) -> dict[str, Any]:
    prior = {} if study.prior is None else {"prior": study.prior.describe()}
    return {**study.problem.describe(), **prior}


def check_same_study(study: Study, replications: int, result: Any) -> None:
    """Raise `InvalidInput` unless the study with this many replications can be added to a result."""
    if not isinstance(result, SimulationResult) or result.kind != SimulationResult.kind:
        raise InvalidInput(f"add_to must be a SimulationResult; got {type(result).__name__}")
    asked = SimulationResult.of_study(study, empty_outcomes(study, 0), np.zeros(0, bool), False)
    for name in ("seed", "generator", "policies", "described", "problem", "per_horizon", "checkpoints"):
        mine, theirs = (_plain(getattr(each, name)) for each in (asked, result))
        if mine != theirs:
            if name == "checkpoints":
                mine, theirs = (_in_short(each.checkpoints) for each in (asked, result))
            raise InvalidInput(
                f"the result to add to is that of another study. Its {name}: {theirs}. Here: {mine}. Give "
                "the same arguments as for that result, or leave add_to out"
            )
    for name, option in (("plays", "plays"), ("arms", "keep_arms")):
        kept = getattr(result.arrays, name).shape[2] > 0
        if kept != (getattr(asked.arrays, name).shape[2] > 0):
            raise InvalidInput(f"the result to add to was made with {option}={kept}; do the same here")
    if len(result.numbers) and replications <= int(result.numbers[-1]):
        raise InvalidInput(
            f"replications is the number in all, and the result to add to goes up to "
            f"{int(result.numbers[-1]) + 1:,}; got {replications:,}"
        )


def _in_short(checkpoints: NDArray[np.int64]) -> str:
    if len(checkpoints) <= _FEW:
        return ", ".join(f"{each:,}" for each in checkpoints)
    return f"{len(checkpoints):,} from {checkpoints[0]:,} to {checkpoints[-1]:,}"


def _plain(value: Any) -> str:
    """Return a setting as text that is the same after it was saved and loaded."""
    return json.dumps(value, default=lambda other: getattr(other, "tolist", lambda: repr(other))())


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """Regret, reward, plays and seconds of every policy in every replication.

    Attributes
    ----------
    policies : list of str
        Labels, in the order in which they were given.
    checkpoints : array of int
        Rounds at which regret and reward were recorded; the last one is the horizon.
    replications : int
        Number of finished replications.
    partial : bool
        Whether the study was interrupted and has fewer replications than requested.
    requested : int
        Number of replications requested.
    per_horizon : bool
        Whether policies that depend on the horizon were run once for every checkpoint.
    seed : int
        The seed of the study.
    generator : str
        The random generator. With another one the same seed gives other numbers.
    problem : dict
        The problem as plain data.
    described : list of dict
        The policies as plain data: title, where they play, all parameters.

    Examples
    --------
    >>> import lsdt
    >>> problem = lsdt.problems.uniform(n_arms=10, epsilon=.2)
    >>> result = lsdt.simulate(problem, ["ucb1", "ts"], horizon=100, replications=5)
    >>> result.policies, result.regret("ts").shape == (5, len(result.checkpoints))
    (['ucb1', 'ts'], True)
    """

    policies: list[str]
    checkpoints: NDArray[np.int64]
    numbers: NDArray[np.int64]
    partial: bool
    requested: int
    seed: int
    generator: str
    problem: dict[str, Any]
    described: list[dict[str, Any]]
    per_horizon: bool
    arrays: Outcomes

    kind: ClassVar[str] = "simulation"

    @classmethod
    def of_study(
        cls, study: Study, played: Outcomes, finished: NDArray[np.bool_], partial: bool
    ) -> SimulationResult:
        """Return the result of the finished replications."""
        numbers = np.flatnonzero(finished)
        kept = played.rows(numbers) if partial else played
        return cls(
            [competitor.label for competitor in study.competitors],
            study.checkpoints,
            numbers,
            partial,
            len(finished),
            study.seed,
            GENERATOR,
            _describe_problem(study),
            [competitor.describe(study.problem.rewards.model) for competitor in study.competitors],
            study.per_horizon,
            kept,
        )

    @property
    def replications(self) -> int:
        """Number of finished replications."""
        return len(self.numbers)

    @property
    def horizon(self) -> int:
        """Number of rounds."""
        return int(self.checkpoints[-1])

    def _at(self, policy: Any) -> int:
        label = policy
        if not isinstance(policy, str):
            label = (
                getattr(policy, "label", None) or getattr(policy, "__name__", None) or type(policy).__name__
            )
        if label not in self.policies:
            raise InvalidInput(
                f"no policy {label!r} in this study; there are {', '.join(map(repr, self.policies))}"
                + suggest(str(label), self.policies)
            )
        return self.policies.index(label)

    def regret(self, policy: Any) -> NDArray[np.float64]:
        """Return the regret of a policy, computed from the true means, ``(replications, checkpoints)``."""
        return self.arrays.regret[:, self._at(policy)]

    def reward(self, policy: Any) -> NDArray[np.float64]:
        """Return the summed rewards of a policy, ``(replications, checkpoints)``."""
        return self.arrays.reward[:, self._at(policy)]

    def plays(self, policy: Any) -> NDArray[np.int64]:
        """Return how often each arm was played, ``(replications, arms)``."""
        if self.arrays.plays.shape[2] == 0:
            raise InvalidInput("plays were not counted in this study; run it with plays=True")
        return self.arrays.plays[:, self._at(policy)]

    def arms(self, policy: Any) -> NDArray[np.int32]:
        """Return the arm that was played in each round, ``(replications, rounds)``."""
        if self.arrays.arms.shape[2] == 0:
            raise InvalidInput("the arms played were not kept in this study; run it with keep_arms=True")
        return self.arrays.arms[:, self._at(policy)]

    def seconds(self, policy: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the seconds that a policy spent offline and in its rounds, two arrays over replications."""
        at = self._at(policy)
        return self.arrays.offline_seconds[:, at], self.arrays.online_seconds[:, at]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per policy, replication and checkpoint: ``t``, ``regret``, ``reward``."""
        return result_files.tidy_frame(self)

    def summary(self, t: int | None = None) -> pd.DataFrame:
        """Return one row per policy: regret, mean reward, milliseconds per run.

        Of the regret there are the mean with its 95% interval, the standard deviation, what 95% and 99% of
        the runs do not exceed (``q95``, ``q99``), and the worst run.

        Parameters
        ----------
        t : int, optional
            The checkpoint to report; by default the last.

        Examples
        --------
        >>> import lsdt
        >>> problem = lsdt.problems.uniform(n_arms=10, epsilon=.2)
        >>> result = lsdt.simulate(problem, ["ucb1", "ts"], horizon=100, replications=5)
        >>> list(result.summary().columns)[:7]
        ['regret', 'low', 'high', 'std', 'q95', 'q99', 'worst']
        """
        import pandas as pd

        at = self._checkpoint(t)
        regret = self.arrays.regret[:, :, at]
        mean, low, high = interval(regret)
        q95, q99 = np.quantile(regret, [0.95, 0.99], axis=0)
        std = regret.std(axis=0, ddof=1) if self.replications > 1 else np.full(len(mean), math.nan)
        columns = {
            "regret": mean,
            "low": low,
            "high": high,
            "std": std,
            "q95": q95,
            "q99": q99,
            "worst": regret.max(axis=0),
            "reward": self.arrays.reward[:, :, at].mean(axis=0),
            "offline_ms": 1e3 * self.arrays.offline_seconds.mean(axis=0),
            "online_ms": 1e3 * self.arrays.online_seconds.mean(axis=0),
        }
        return pd.DataFrame(columns, index=pd.Index(self.policies, name="policy"))

    def difference(self, first: Any, second: Any, of: str = "regret") -> pd.DataFrame:
        """Return the regret of `first` minus that of `second`, paired by replication, with its 95% interval.

        Both policies meet the same problems and the same noise, so the interval is usually much narrower than
        one of unpaired runs. With ``of='reward'`` the rewards are compared.

        Examples
        --------
        >>> import lsdt
        >>> problem = lsdt.problems.uniform(n_arms=50, epsilon=.1)
        >>> result = lsdt.simulate(problem, ["ucb1", "lsdt_csi"], horizon=500, replications=20)
        >>> bool(result.difference("ucb1", "lsdt_csi")["low"].iloc[-1] > 0)
        True
        """
        import pandas as pd

        checked_word(of, "of", ("regret", "reward"))
        mean, low, high = interval(getattr(self, of)(first) - getattr(self, of)(second))
        return pd.DataFrame({"t": self.checkpoints, "difference": mean, "low": low, "high": high})

    def regret_interval(self, policy: Any) -> tuple[NDArray[np.float64], ...]:
        """Return the mean regret at the checkpoints, and the ends of its 95% interval."""
        return interval(self.regret(policy))

    def _checkpoint(self, t: int | None) -> int:
        if t is None:
            return len(self.checkpoints) - 1
        places = np.flatnonzero(self.checkpoints == t)
        if len(places) == 0:
            raise InvalidInput(f"round {t} was not recorded; checkpoints are {self.checkpoints.tolist()}")
        return int(places[0])

    def _more(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what a subclass saves in addition: arrays over (replication, policy), and plain data."""
        return {}, {}

    @classmethod
    def _build(
        cls, fields: tuple[Any, ...], columns: dict[str, NDArray[Any]], about: dict[str, Any]
    ) -> SimulationResult:
        """Build a result from its fields and what a subclass saved in addition."""
        return cls(*fields)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a folder of Parquet files and a ``study.json`` that says what was run, and how far."""
        result_files.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> SimulationResult:
        """Read a folder that `save` wrote.

        Examples
        --------
        >>> import lsdt, tempfile
        >>> problem = lsdt.problems.uniform(n_arms=10, epsilon=.2)
        >>> result = lsdt.simulate(problem, "ucb1", horizon=100, replications=5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(folder)
        ...     again = lsdt.SimulationResult.load(folder)
        >>> bool((again.regret("ucb1") == result.regret("ucb1")).all())
        True
        """
        return result_files.load(cls, path)

    def __repr__(self) -> str:
        state = f", partial: {self.requested} were requested" if self.partial else ""
        runs = counted(self.replications, "replication")
        return f"SimulationResult({', '.join(self.policies)}; {runs} of {self.horizon:,} rounds{state})"

    def _repr_html_(self) -> str:
        from lsdt.simulation.card import result_card

        return result_card(self)
