"""The result of a replay, and notes on what it assumes and when it is not meaningful."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt._validation import checked_whole, checked_word
from lsdt.errors import Unsupported, counted
from lsdt.policies import weight_of_prior
from lsdt.ratings import from_ratings, relations_asked
from lsdt.replays.off_policy import ESTIMATORS
from lsdt.replays.splits import WHOLE, ReplayAnswers, divide_users, split_generator
from lsdt.side_information import SideInformation
from lsdt.simulation import LEVEL, SimulationResult

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.replays.log_rows import LogRows
    from lsdt.replays.splits import Remark, ReplayStudy

# Below these an average is reported as meaningless. 30 and 10 are the usual rules of thumb for the normal
# approximation to a mean and to a rate; the share of rounds was chosen by judgement.
FEW = 30  # answers, or equally active users
FEW_OF_EACH = 10  # answers of each of two kinds, such as click and no click
FEW_ROUNDS = 0.1  # of the horizon

_ASSUMED = {
    "matrix": (
        "This holds if whether a user rated an item has nothing to do with the rating. If people rate what "
        "they like, all rewards are too high, most of all those of items that few people rate."
    ),
    "uniform": "This holds if what was shown was chosen at random, regardless of the user.",
    "propensity": (
        "This holds if the probabilities are those with which items were chosen, and every item could be "
        "chosen for every user."
    ),
}
_UNLIKELY = 1e-3  # p value below which a note says that items were not chosen uniformly; rarely a false alarm


@dataclass(frozen=True, eq=False, repr=False)
class ReplayResult(SimulationResult):
    """Rewards of policies in replays of a log; a replication is a split of the users.

    It is a `SimulationResult`, on the scale of the ratings: ``reward`` is the sum of the answers, and
    ``regret`` is how much more the best item in hindsight would have earned, computed from the items' means
    among the users tested. Both are NaN at rounds that the log could not answer.

    Attributes
    ----------
    notes : list of str
        Assumptions behind the answer, and warnings about it.
    answers : ReplayAnswers
        How many answers the log gave, and estimates: arrays of splits by policies.

    Examples
    --------
    >>> import lsdt, numpy as np
    >>> liking = (np.random.default_rng(0).random((500, 3)) < [.2, .5, .7]).astype(float)
    >>> result = lsdt.replay(liking, ["ucb1", "best_training_mean"], horizon=50, splits=2)
    >>> result.policies, result.matched("ucb1").tolist()
    (['ucb1', 'best_training_mean'], [50, 50])
    """

    answers: ReplayAnswers
    notes: list[str]

    kind = "replay"

    def matched(self, policy: Any) -> NDArray[np.int64]:
        """Return the number of rounds that were answered in every split."""
        return self.answers.matched[:, self._at(policy)]

    def users(self, split: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers in the log of the users that a split trained on, and of those that it tested.

        With a `test_log`, users tested are numbered as in that log. If `chronological`, both are numbered as
        in the two logs that ``log.divide_by_time(train)`` returns.

        Examples
        --------
        >>> import lsdt, numpy as np
        >>> liking = (np.random.default_rng(0).random((500, 3)) < [.2, .5, .7]).astype(float)
        >>> result = lsdt.replay(liking, "ucb1", horizon=50, splits=2, train=.1, test=.5)
        >>> trained, tested = result.users(1)
        >>> len(trained), len(tested), len(np.intersect1d(trained, tested))
        (50, 250, 0)
        """
        number = checked_whole(split, "split", 0, self.requested - 1)
        n_users, n_training, n_tested = (self.problem[name] for name in ("users", "trained_on", "tested_on"))
        own, in_order = self.problem.get("training_users"), self.problem.get("chronological", False)
        rng = split_generator(self.seed, number)
        return divide_users(rng, n_users, n_training, n_tested, own, in_order)

    def played(self, policy: Any) -> NDArray[np.bool_]:
        """Return for every split whether the policy could play; averages are over those splits only."""
        return self.answers.arms[:, self._at(policy)] > 0

    def effective(self, policy: Any) -> NDArray[np.float64]:
        """Return the effective number of users behind the answers of every split (Kish)."""
        return self.answers.effective[:, self._at(policy)]

    def mean_reward(self, policy: Any) -> NDArray[np.float64]:
        """Return the mean answer of every split; NaN where there was none."""
        return self._means()[:, self._at(policy)]

    def _means(self) -> NDArray[np.float64]:
        earned, matched = self.answers.earned, self.answers.matched
        means: NDArray[np.float64] = np.divide(
            earned, matched, out=np.full(earned.shape, math.nan), where=matched > 0
        )
        return means

    def enough(self, policy: Any) -> bool:
        """Return whether there were enough answers for a meaningful average; `summary` says why not."""
        return not self._lack(self._at(policy))

    def _lack(self, column: int) -> str:
        """Return why the answers of a policy are too few to mean anything, or an empty text."""
        ends = tuple(self.problem["scale"]) if self.problem.get("two_valued") else None
        return too_few(self.answers, column, self.horizon, ends)

    def _overlap(self, t: int | None = None) -> NDArray[np.float64]:
        """Return, for every policy, an upper bound on the share of its data that two splits have in common.

        It is the largest of three shares: of the answers, of the users that answered, and of the users
        trained on.
        """
        share = self.answers.overlap.mean(axis=0)
        if t is not None:
            share = share * np.minimum(t / np.maximum(self.answers.matched.mean(axis=0), 1.0), 1.0)
        users = self.problem["users"]
        share = np.maximum(share, self._share_trained)
        overlap: NDArray[np.float64] = np.minimum(share, 1.0 - 1.0 / users)
        return overlap

    @property
    def _share_trained(self) -> float:
        """The share of the users that is trained on; 0 if the training log is separate."""
        if "training_users" in self.problem:
            return 0.0
        return float(self.problem["trained_on"] / self.problem["users"])

    def _averages(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean of each policy's values over the splits in which it could play."""
        return split_intervals(values, self.answers.arms > 0, np.zeros(values.shape[1]))[0]

    def summary(self, t: int | None = None) -> pd.DataFrame:
        """Return one row per policy: mean reward per round with its 95% interval, regret, number of answers.

        Intervals stay within the scale of the ratings. ``enough`` says whether there were enough answers for
        the average to mean anything, and ``reason`` why not, or why a number is missing.

        Parameters
        ----------
        t : int, optional
            The checkpoint up to which rounds count; by default all that were answered.
        """
        import pandas as pd

        at = self._checkpoint(t)
        rewards = self._means() if t is None else self.arrays.reward[:, :, at] / t
        mean, low, high = split_intervals(rewards, self.answers.arms > 0, self._overlap(t))
        effective = np.nan_to_num(self._averages(self.answers.effective))
        low, high = within_scale(mean, 0.5 * (high - low), effective, *self.problem["scale"])
        rounds = np.where(np.isnan(self.arrays.regret), 0, self.checkpoints).max(axis=2)
        lost = np.nanmax(np.nan_to_num(self.arrays.regret, nan=0.0), axis=2)
        regret = lost / np.maximum(rounds, 1) if t is None else self.arrays.regret[:, :, at] / t
        columns = {
            "reward": mean,
            "low": low,
            "high": high,
            "regret": self._averages(regret),
            "rounds": np.nan_to_num(self._averages(self.answers.matched)),
            "effective": effective,
            "enough": [self.enough(label) for label in self.policies],
            "reason": [self._reason(column, t, mean[column]) for column in range(len(mean))],
            "offline_ms": 1e3 * self._averages(self.arrays.offline_seconds),
            "online_ms": 1e3 * self._averages(self.arrays.online_seconds),
        }
        return pd.DataFrame(columns, index=pd.Index(self.policies, name="policy"))

    def _reason(self, column: int, t: int | None, mean: float) -> str:
        """Return why numbers of a policy are missing or not meaningful, or an empty text."""
        lack = self._lack(column)
        if lack:
            return lack
        if math.isnan(mean):
            return f"in some split the log ended before round {1 if t is None else t:,}"
        played = int((self.answers.arms[:, column] > 0).sum())
        return "it played in one split: there is no interval" if played < 2 else ""

    def difference(self, first: Any, second: Any, of: str = "reward") -> pd.DataFrame:
        """Return the reward per round of `first` minus that of `second`, with its 95% interval over splits.

        There is one row per checkpoint, NaN if one of the two did not reach it in some split. With
        ``of='regret'`` the regrets are compared, where less is better.
        """
        import pandas as pd

        checked_word(of, "of", ("reward", "regret"))
        values = getattr(self, of)(first) - getattr(self, of)(second)
        mean, low, high = self._interval(values / self.checkpoints, [self._at(first), self._at(second)])
        return pd.DataFrame({"t": self.checkpoints, "difference": mean, "low": low, "high": high})

    def regret_interval(self, policy: Any) -> tuple[NDArray[np.float64], ...]:
        """Return the mean regret at the checkpoints, and the ends of its 95% interval."""
        return self._interval(self.regret(policy), [self._at(policy)])

    def _interval(self, values: NDArray[np.float64], columns: list[int]) -> tuple[NDArray[np.float64], ...]:
        """Return mean and interval, at the checkpoints, of values that depend on the policies `columns`."""
        overlap = np.array([self._overlap(t)[columns].max() for t in self.checkpoints.tolist()])
        played = (self.answers.arms[:, columns] > 0).all(axis=1)
        return split_interval(values[played], overlap)

    def estimates(self) -> pd.DataFrame:
        """Return the value, on the users tested, of what each policy has learned in training.

        That is the value of the item that it settles on, or, for a policy that draws its choice at random
        such as ``ts``, of playing with the probabilities that it has after training. It needs a log with
        propensities, and has one row per policy and estimator (``ips``, ``snips`` or ``dr``) with the
        effective number of events. The 95% intervals add the variance due to the users tested, who are the
        same in all splits, and that due to the users trained on, who are partly the same.
        """
        import pandas as pd

        if self.problem["method"] != "propensity":
            raise Unsupported(
                "estimates need the probabilities with which items were shown; this log was replayed by "
                f"method={self.problem['method']!r}"
            )
        trained = np.array(self._share_trained)
        rows = []
        for column, label in enumerate(self.policies):
            played = self.played(label)
            for name in ESTIMATORS:
                values = getattr(self.answers, name)[played, column]
                shared = np.square(getattr(self.answers, f"{name}_error")[played, column])
                ends = map(float, split_interval(values, trained, shared.mean() if len(shared) else 0.0))
                effective = np.sum(self.answers.weights_effective[played, column]) / max(len(values), 1)
                rows.append([label, name, *ends, effective])
        names = ["policy", "estimator", "reward", "low", "high", "effective"]
        return pd.DataFrame(rows, columns=names)

    def _more(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        return self.answers._asdict(), {"notes": self.notes}

    @classmethod
    def _build(
        cls, fields: tuple[Any, ...], columns: dict[str, NDArray[Any]], about: dict[str, Any]
    ) -> ReplayResult:
        arrays: dict[str, Any] = {
            name: columns[name].astype(np.int64) if name in WHOLE else columns[name]
            for name in ReplayAnswers._fields
        }
        return cls(*fields, answers=ReplayAnswers(**arrays), notes=about["notes"])  # type: ignore[misc]

    def __repr__(self) -> str:
        state = f", partial: {self.requested} were requested" if self.partial else ""
        runs = counted(self.replications, "split")
        return f"ReplayResult({', '.join(self.policies)}; {runs} of {self.horizon:,} rounds{state})"


def split_interval(
    values: NDArray[np.float64], overlap: NDArray[np.float64], shared: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return mean, lower and upper end of the 95% interval over splits of the same users.

    Splits share users, so their results vary less among themselves than results of new users would. If two
    splits have a share rho (`overlap`) of the relevant users in common, the variance v among n splits is (1 -
    rho) times that of a single one, and the variance of their mean is v (1 / n + rho / (1 - rho)) (Nadeau and
    Bengio, 2003, for splits into training and test data), plus the variance `shared` by all splits. Student's
    t has n - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    count = len(values)
    mean = values.mean(axis=0) if count else np.full(values.shape[1:], math.nan)
    if count < 2:
        return mean, np.full_like(mean, math.nan), np.full_like(mean, math.nan)
    variance = values.var(axis=0, ddof=1) * (1.0 / count + overlap / (1.0 - overlap)) + shared
    half = stdtrit(count - 1, 0.5 + 0.5 * LEVEL) * np.sqrt(variance)
    return mean, mean - half, mean + half


def within_scale(
    mean: NDArray[np.float64],
    half: NDArray[np.float64],
    effective: NDArray[np.float64],
    low: float,
    high: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of intervals around means, kept within the scale.

    The half-widths `half` are converted to log-odds by the slope at the mean, and the ends converted back.
    For a mean at an end of the scale, where nothing varies, the interval is that of `effective` equal
    answers: for 0 successes in n tries it ends at ``1 - 0.025^(1/n)``.
    """
    from scipy.special import expit, logit

    share, reach = (mean - low) / (high - low), half / (high - low)
    inside = (share > 0.0) & (share < 1.0)
    middle = np.where(inside, share, 0.5)
    reach = reach / (middle * (1.0 - middle))
    lower, upper = (expit(logit(middle) + side * reach) for side in (-1.0, 1.0))
    unseen = 1.0 - (0.5 - 0.5 * LEVEL) ** (1.0 / np.maximum(effective, 1.0))
    lower = np.where(inside, lower, np.where(share <= 0.0, 0.0, 1.0 - unseen))
    upper = np.where(inside, upper, np.where(share <= 0.0, unseen, 1.0))
    known = ~np.isnan(half)
    lower, upper = (low + (high - low) * np.where(known, end, math.nan) for end in (lower, upper))
    return lower, upper


def split_intervals(
    values: NDArray[Any], played: NDArray[np.bool_], overlap: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Return the `split_interval` of every policy, over the splits in which it played."""
    columns = zip(values.T, played.T, overlap, strict=True)
    found = [split_interval(column[rows], share) for column, rows, share in columns]
    mean, low, high = np.array(found, np.float64).T
    return mean, low, high


def too_few(answers: ReplayAnswers, column: int, horizon: int, ends: tuple[float, float] | None) -> str:
    """Return why the answers of a policy are too few to mean anything, or an empty text.

    `ends` are the two values that answers have, such as no click and click; None if there are more values.
    """
    played = answers.arms[:, column] > 0
    if not played.any():
        return f"0 of {horizon:,} rounds were answered: it could not play"
    matched, effective = (float(part[played, column].mean()) for part in (answers.matched, answers.effective))
    if matched < FEW:
        return f"{matched:.0f} of {horizon:,} rounds were answered, on average; at least {FEW} are needed"
    if effective < FEW:
        return f"the answers are worth {effective:.0f} users, on average; at least {FEW} are needed"
    if matched < FEW_ROUNDS * horizon:
        return f"{matched:,.0f} of {horizon:,} rounds were answered, on average: less than {FEW_ROUNDS:.0%}"
    if ends is None:
        return ""
    low, high = ends
    above = (float(answers.earned[played, column].mean()) - low * matched) / (high - low)
    for count, value in ((above, high), (matched - above, low)):
        if count < FEW_OF_EACH:
            return (
                f"a split has {count:.1f} answers of {value:g}, on average; at least {FEW_OF_EACH} are "
                "needed: ask for more rounds (horizon)"
            )
    return ""


def notes_of(
    study: ReplayStudy, answers: ReplayAnswers, remarks: dict[int, list[Remark]]
) -> tuple[list[str], list[str]]:
    """Return notes on how to read a replay, and warnings about answers that mean nothing."""
    serious, notes = _failures(study, answers, remarks), [_ASSUMED[study.log.method]]
    for column, competitor in enumerate(study.competitors):
        played = answers.arms[:, column] > 0
        if not played.any():  # already reported
            continue
        ends = (study.log.low, study.log.high) if study.log.is_two_valued else None
        reason = too_few(answers, column, study.horizon, ends)
        short = int((answers.matched[played, column] < study.horizon).sum())
        if reason:
            serious.append(f"the answer for {competitor.label!r} means nothing: {reason}")
        elif short:
            least = int(answers.matched[played, column].min())
            notes.append(
                f"The log ended before {competitor.label!r} had played {study.horizon:,} rounds in {short} "
                f"of {len(answers.matched)} splits, in one of them after {least:,}: compare it with the "
                "others at a number of rounds that all have played, or ask for fewer rounds."
            )
    if isinstance(study.side, SideInformation):
        notes.append(
            "The side information is the same in all splits: if it was made from this log, it used the users "
            "tested on, and rewards on the candidates are too high."
        )
    serious += _without_relations(study, answers, every=True)
    notes += _without_relations(study, answers, every=False)
    notes += _notes_on_candidates(study, answers, remarks)
    notes += _notes_on_priors(study)
    return [*study.notes, *notes, *_notes_on_events(study.log)], serious


def _failures(study: ReplayStudy, answers: ReplayAnswers, remarks: dict[int, list[Remark]]) -> list[str]:
    """Return warnings about policies that could not play, or had to play without relations."""
    said, splits = [], counted(len(answers.arms), "split")
    listed = [(number, remark) for number in sorted(remarks) for remark in remarks[number]]
    for column, competitor in enumerate(study.competitors):
        failed = [(number, each) for number, each in listed if each.column == column and not each.played]
        if failed:
            others = "" if len(failed) == len(answers.arms) else "; its averages are over the others"
            number, first = failed[0]
            said.append(
                f"{competitor.label!r} could not play in {len(failed)} of {splits}: {first.error} "
                f"(in split {number}){others}"
            )
    alone = sorted({number for number, each in listed if each.contradicts})
    if alone:
        labels = dict.fromkeys(
            study.competitors[each.column].label for _, each in listed if each.contradicts and each.played
        )
        where = f", where {', '.join(map(repr, labels))} played on all items without them" if labels else ""
        said.append(
            f"the relations contradict one another in {len(alone)} of {splits}{where} (split {alone[0]} is "
            f"the first). {_HELP}, or ask for more confidence; 'propagation' goes on with those that agree"
        )
    return said


_READ_RANGES_AS_PAIRS = ("paper", "anchors", "triangles")
_HELP = "Train on more users (train), or keep fewer items (min_ratings or top of read_log)"


def _without_relations(study: ReplayStudy, answers: ReplayAnswers, *, every: bool) -> list[str]:
    """Return a note on splits without relations: if all have none (`every`), or if only some have none."""
    without = answers.relations[:, 0] == 0
    if not without.any() or without.all() != every:
        return []
    many = f"in {int(without.sum())} of {counted(len(without), 'split')}"
    return [
        f"the {study.n_training:,} users trained on decide no relation between any two items {many}, where "
        f"all policies play on all items. {_HELP}, or decide without confidence (side='paper')"
    ]


def _is_of_ranges(study: ReplayStudy) -> bool:
    """Return whether the relations are, or will be when they are found, ranges only."""
    if isinstance(study.side, SideInformation):
        return study.side.ranges is not None and study.side.n_similar + study.side.n_dissimilar == 0
    by_rule = getattr(study.side, "func", None) is from_ratings
    return by_rule and relations_asked(getattr(study.side, "keywords", {})) == "ranges"


def _notes_on_candidates(
    study: ReplayStudy, answers: ReplayAnswers, remarks: dict[int, list[Remark]]
) -> list[str]:
    """Return a note on policies that were meant to play on the candidates but played on all items."""
    contradicted = {remark.column for said in remarks.values() for remark in said}
    on_all = [
        competitor
        for column, competitor in enumerate(study.competitors)
        if competitor.on != "all"
        and (answers.arms[:, column] == study.log.n_items).all()
        and column not in contradicted
    ]
    blind = [each for each in on_all if each.on in _READ_RANGES_AS_PAIRS and _is_of_ranges(study)]
    if blind:
        names = ", ".join(repr(each.label) for each in blind)
        return [
            f"{names} played on all {study.log.n_items:,} items: {blind[0].on!r} uses ranges only as near or "
            "far pairs, without their direction. Play on the candidates that the order of the items leaves, "
            "as in ts@order."
        ]
    same = [repr(each.label) for each in on_all]
    if not same or (answers.relations == 0).all():  # already reported
        return []
    found = answers.relations[:, 0]
    pairs = study.log.n_items * (study.log.n_items - 1) // 2
    decided = f"on average {found.mean():,.0f} of {counted(pairs, 'pair')} of items are decided, and "
    return [
        f"All {study.log.n_items:,} items are candidates in every split, and {', '.join(same)} played on all "
        f"of them: {decided if (found >= 0).all() else ''}the relations exclude none. "
        f"{_HELP}, or decide without confidence (side='paper')."
    ]


def _notes_on_priors(study: ReplayStudy) -> list[str]:
    """Return a note on policies that learned the ratings from which their relations were found."""
    if study.side is None or isinstance(study.side, SideInformation):
        return []
    twice = [
        repr(each.label)
        for each in study.competitors
        if each.uses_side and weight_of_prior(each, study.prior_weight) > 0.0
    ]
    if not twice:
        return []
    return [
        f"{', '.join(twice)} learned the ratings from which the relations were found: these count twice, and "
        "so do their chance errors."
    ]


def _notes_on_events(log: LogRows) -> list[str]:
    if log.method == "uniform":
        chance = _chance_of_uniform(np.bincount(log.rows.items, minlength=log.n_items))
        if chance < _UNLIKELY:
            return [
                "Items were not shown equally often; by chance alone that would happen with probability "
                f"{chance:.1g}. It does no harm as long as what was shown did not depend on the user; "
                "otherwise use propensities."
            ]
    chances = getattr(log.source, "propensities", None)
    if log.method == "propensity" and chances is not None and log.clip > 0.0:
        cut = float((chances < log.clip).mean())
        return [f"{cut:.1%} of the events have a propensity below the clip {log.clip:g}: this adds a bias."]
    return []


def _chance_of_uniform(counts: np.ndarray) -> float:
    """Return the p value of Pearson's chi-squared test that all items are equally likely."""
    from scipy.special import chdtrc

    expected = counts.mean()
    return float(chdtrc(max(len(counts) - 1, 1), np.square(counts - expected).sum() / expected))
