"""One split of the users: side information from some of them, policies replayed on others."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt._progress import without_progress
from lsdt._validation import check_kind
from lsdt.errors import InconsistentSideInformation, InvalidInput, NoRelations, Unsupported
from lsdt.kernel import Purpose, RewardModel, compile_ahead, new_stream, seed_words
from lsdt.policies import Always, OfflineSteps, Policy, Prior, learn_rewards, weight_of_prior
from lsdt.ratings import without_rating_warnings
from lsdt.replays.off_policy import estimates, kish
from lsdt.replays.runner import UserRows, replay_once
from lsdt.side_information import SideInformation, from_means
from lsdt.simulation import BestTrainingMean, Outcomes, Stopped, best_known, event_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.kernel import Array
    from lsdt.policies import ReadyPolicy
    from lsdt.ratings import RatingLog
    from lsdt.replays.log_rows import LogRows
    from lsdt.replays.runner import ReplayHistory
    from lsdt.simulation import Competitor, Token

    SideOf = Callable[[RatingLog], SideInformation]

WHOLE = ("matched", "spent", "arms", "relations", "choice")  # answers that are whole numbers
# Draws of a policy's choice after training, to estimate the probability of playing each item: the standard
# error is below 0.008.
_DRAWS = 4_000
BOUNDED = RewardModel("bernoulli", 0.5)  # all that policies know about ratings from 0 to 1


class Remark(NamedTuple):
    """A problem that one policy had on a split.

    If the relations contradict one another (`contradicts`), the policy played on all items instead, unless it
    could not play at all (`played`).
    """

    column: int
    error: Unsupported | InconsistentSideInformation
    contradicts: bool
    played: bool


class ReplayStudy(NamedTuple):
    """The settings of a replay, as sent to every worker."""

    log: LogRows
    competitors: list[Competitor]
    side: SideOf | SideInformation | None
    horizon: int
    checkpoints: NDArray[np.int64]
    n_training: int
    n_tested: int
    prior_weight: float
    seed: int
    token: Token
    notes: tuple[str, ...] = ()
    training: LogRows | None = None  # the separate log to train on, if there is one
    in_order: bool = False  # whether users come in the order of time
    steps: OfflineSteps | None = None  # if all splits have the same side information
    rounds: int = 0  # of each policy, over all splits: whether they are worth compiling

    @property
    def trained(self) -> LogRows:
        """The log whose users are trained on."""
        return self.log if self.training is None else self.training

    @property
    def has_prior(self) -> bool:
        """Whether any policy learns the ratings trained on."""
        return any(weight_of_prior(competitor, self.prior_weight) > 0.0 for competitor in self.competitors)


class ReplayAnswers(NamedTuple):
    """How many answers the log gave, and estimates from them: arrays over (split, policy).

    ``matched`` rounds were answered by ``spent`` users or events, including those passed over. ``effective``
    is the effective number of users that answered (see `kish`), ``earned`` the sum of all answers,
    ``overlap`` the share of the data that another split is expected to use too. The policy played on ``arms``
    items; ``relations`` is the number found in training, -1 if none were looked for. For logs with
    propensities only: ``choice``, the item that the policy settles on in training, and its value by the three
    estimators of `off_policy`, with standard errors and the effective number of events
    (``weights_effective``); for a policy that draws its choice at random, the value of its probabilities
    after training.
    """

    matched: NDArray[np.int64]
    spent: NDArray[np.int64]
    effective: NDArray[np.float64]
    earned: NDArray[np.float64]
    overlap: NDArray[np.float64]
    arms: NDArray[np.int64]
    relations: NDArray[np.int64]
    choice: NDArray[np.int64]
    ips: NDArray[np.float64]
    snips: NDArray[np.float64]
    dr: NDArray[np.float64]
    ips_error: NDArray[np.float64]
    snips_error: NDArray[np.float64]
    dr_error: NDArray[np.float64]
    weights_effective: NDArray[np.float64]

    def rows(self, which: Any) -> ReplayAnswers:
        """Return the answers in some of the splits."""
        return ReplayAnswers(*(array[which] for array in self))


class Split(NamedTuple):
    """One split of the users, the same for all policies.

    ``training`` are the users trained on. ``order`` holds the rows replayed in the test, ``training_order``
    those replayed in training, ``prior`` the ratings of the users trained on, ``means`` the mean of every
    item among the users tested, and the counts and sums are those of the users trained on.
    """

    number: int
    training: NDArray[np.int64]
    tested_rows: NDArray[np.int64]
    order: NDArray[np.int64]
    training_order: NDArray[np.int64]
    prior: Prior | None
    means: NDArray[np.float64]
    counts_trained: NDArray[np.int64]
    sums_trained: NDArray[np.float64]
    stream: Array


def empty_results(study: ReplayStudy, splits: int) -> tuple[Outcomes, ReplayAnswers]:
    """Return empty arrays for the results of some splits."""
    cells = (splits, len(study.competitors))
    at_checkpoints = (*cells, len(study.checkpoints))
    played = Outcomes(
        np.full(at_checkpoints, math.nan),
        np.full(at_checkpoints, math.nan),
        np.zeros((*cells, study.log.n_items), np.int64),
        np.zeros(cells),
        np.zeros(cells),
        np.zeros((*cells, 0), np.int32),
    )
    whole = {name: np.full(cells, -1 if name == "choice" else 0) for name in WHOLE}
    arrays = {name: whole.get(name, np.full(cells, math.nan)) for name in ReplayAnswers._fields}
    return played, ReplayAnswers(**arrays)


def play_split(study: ReplayStudy, number: int) -> tuple[int, Outcomes, ReplayAnswers, list[Remark]]:
    """Replay all policies on one split, in a worker; return its number, results and remarks.

    A policy that cannot play with the side information of this split is left out; if the relations contradict
    one another, it plays without them. The remarks report both.
    """
    stop = event_of(study.token)
    split = _draw_split(study, number)
    played, answers = empty_results(study, 1)
    remarks: list[Remark] = []
    with without_progress(), compile_ahead(study.rounds):  # the replay shows its own
        side = _side(study, split)
        found = OfflineSteps(side) if study.steps is None else study.steps
        item_of = study.log.items_of(side)
        relations = _count_relations(side) if _is_found(study) else -1
        answers.relations[:] = relations
        blank = SideInformation(side.n_arms, arm_ids=side.arm_ids, epsilon=side.epsilon or 1.0)
        for column, competitor in enumerate(study.competitors):
            chosen = _choose_item(study, split, competitor, side)
            run = _PolicyOnSplit(study, split, chosen, side, found, item_of, relations)
            cell = played.cell(0, column), answers, column, stop
            try:
                run.fill(*cell)
            except Unsupported as error:
                remarks.append(Remark(column, error, False, False))
            except InconsistentSideInformation as error:
                try:
                    run._replace(side=blank, found=OfflineSteps(blank)).fill(*cell)
                    remarks.append(Remark(column, error, True, True))
                except Unsupported:
                    remarks.append(Remark(column, error, True, False))
    return number, played, answers, remarks


def divide_users(
    rng: np.random.Generator,
    n_users: int,
    n_training: int,
    n_tested: int,
    training_users: int | None = None,
    in_order: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Shuffle the users and return those to train on, the first ones, and those to test on, the last ones.

    The users tested do not depend on `n_training`. If there is a separate training log, with
    `training_users` users, those are shuffled by themselves. With `in_order`, the users tested are in the
    order of time.
    """
    users = rng.permutation(n_users)
    tested = users[n_users - n_tested :]
    training = users[:n_training] if training_users is None else rng.permutation(training_users)[:n_training]
    return training, np.sort(tested) if in_order else tested


def split_generator(seed: int, number: int) -> np.random.Generator:
    """Return the generator that divides the users of a split, and then orders its rows."""
    return np.random.default_rng(seed_words(seed, number, Purpose.PROBLEM))


def _draw_split(study: ReplayStudy, number: int) -> Split:
    """Return a split with users divided at random, and with their rows in the order in which they come."""
    log = study.log
    rng = split_generator(study.seed, number)
    own = None if study.training is None else study.training.n_users
    training, tested = divide_users(rng, log.n_users, study.n_training, study.n_tested, own, study.in_order)
    trained_rows, tested_rows = log.rows_of(
        training if own is None else training[:0], tested, rng, study.in_order
    )
    coins = log.coins(rng)
    order = tested_rows[coins[tested_rows]]
    if study.training is not None:
        trained_rows = study.training.rows_of(training, training[:0], rng)[0]
        coins = study.training.coins(rng)
    training_order = trained_rows[coins[trained_rows]]
    counts, sums = study.trained.tallies(trained_rows)
    return Split(
        number,
        training,
        tested_rows,
        order,
        training_order,
        Prior(*study.trained.ratings_of(training_order)) if study.has_prior else None,
        log.means(tested_rows),
        counts,
        sums,
        new_stream(study.seed, number, Purpose.POLICY),
    )


def _is_found(study: ReplayStudy) -> bool:
    """Return whether every split finds its side information in the ratings trained on."""
    uses = any(competitor.uses_side for competitor in study.competitors)
    return uses and study.side is not None and not isinstance(study.side, SideInformation)


def _count_relations(side: SideInformation) -> int:
    """Return the number of relations and of beaten items; ranges count only if one of them orders its pair.

    If none does, equal means satisfy all ranges, which then say nothing about which item is best.
    """
    ranges = 0
    if side.ranges is not None and len(side.ranges.ordered_pairs()):
        ranges = len(side.ranges.pairs)
    beaten = 0 if side.beaten is None else int(side.beaten.is_out(side.n_arms).sum())
    return side.n_similar + side.n_dissimilar + ranges + beaten


def _side(study: ReplayStudy, split: Split) -> SideInformation:
    """Return the side information of a split, empty if no policy uses it or no relations are found."""
    if isinstance(study.side, SideInformation):
        return study.side
    if study.side is None or not _is_found(study):
        return SideInformation(study.log.n_items, arm_ids=study.log.item_ids)
    try:
        with without_rating_warnings():  # every split would repeat the warnings about the ratings
            side = study.side(study.trained.training_log(split.training))
    except NoRelations:  # a note counts such splits; without relations any epsilon is right
        return SideInformation(study.log.n_items, arm_ids=study.log.item_ids, epsilon=1.0)
    except InvalidInput as error:
        raise InvalidInput(
            f"no side information from the {len(split.training):,} users trained on in split "
            f"{split.number}: {error}. Train on more, or give side=None"
        ) from None
    check_kind(side, SideInformation, "side must return a SideInformation")
    return side


def _choose_item(
    study: ReplayStudy, split: Split, competitor: Competitor, side: SideInformation
) -> Competitor:
    """Return the policy itself; for `best_training_mean`, one that always plays the best item in training."""
    if not isinstance(competitor, BestTrainingMean):
        return competitor
    playable = np.zeros(study.log.n_items, bool)
    playable[study.log.items_of(side)] = True
    best = best_known(split.counts_trained, split.sums_trained, playable)
    if best < 0:
        raise InvalidInput(f"no user trained on rated any arm (in split {split.number}); use a larger train")
    return Always(study.log.item_ids[best], competitor.label)


class _PolicyOnSplit(NamedTuple):
    """One policy on one split of the users."""

    study: ReplayStudy
    split: Split
    competitor: Competitor
    side: SideInformation
    found: OfflineSteps
    item_of: NDArray[np.int64]
    relations: int

    def begin(self) -> ReadyPolicy:
        """Return the policy, ready for its first round, with its arms as item numbers."""
        stream = self.split.stream.copy()
        ready = self.competitor.begin(
            self.side, BOUNDED, self.study.horizon, stream, self.found.of(self.competitor.on)
        )
        return ready._replace(arms=self.item_of[ready.arms])

    @property
    def prior(self) -> Prior | None:
        """The ratings that the policy learns before its first round, or None."""
        weight = weight_of_prior(self.competitor, self.study.prior_weight)
        key = self.study.seed, self.split.number, Purpose.THINNING
        return self.split.prior.thinned(weight, *key) if self.split.prior and weight > 0.0 else None

    def fill(self, out: Outcomes, answers: ReplayAnswers, column: int, stop: threading.Event) -> None:
        """Replay the policy and fill in its results."""
        log, ready, known = self.study.log, self.begin(), self.prior
        if known is not None:
            learn_rewards(ready, *known)
        started = perf_counter()
        played = replay_once(ready, log.rows, self.study.horizon, self.split.order, stop.is_set)
        out.online_seconds[0] = perf_counter() - started
        out.offline_seconds[0] = ready.seconds
        if stop.is_set():
            raise Stopped
        self._write_rounds(played, out)
        busy = np.unique(log.owners_of(played.users), return_counts=True)[1]
        low, width = log.low, log.high - log.low
        earned = low * played.matched + width * float(played.rewards.sum())
        overlap = max(len(busy) / log.n_users, self._shared_answers(out.plays[0]))
        values: tuple[float, ...] = (played.matched, played.spent, kish(busy), earned, overlap)
        values = (*values, len(ready.arms), self.relations)
        if log.weights is not None:
            choice, probabilities = self._choice(known)
            values = (*values, choice, *self._worth(probabilities))
        for array, value in zip(answers, values, strict=False):
            array[0, column] = value

    def _write_rounds(self, played: ReplayHistory, out: Outcomes) -> None:
        log, checkpoints = self.study.log, self.study.checkpoints
        width, means = log.high - log.low, self.split.means
        out.plays[0] = np.bincount(played.items, minlength=log.n_items)
        reached = checkpoints[checkpoints <= played.matched]
        if len(reached):
            earned = log.low * reached + width * np.cumsum(played.rewards)[reached - 1]
            lost = width * np.cumsum(np.nanmax(means) - means[played.items])[reached - 1]
            out.reward[0, : len(reached)], out.regret[0, : len(reached)] = earned, lost

    def _shared_answers(self, plays: NDArray[np.int64]) -> float:
        """Return the share of the answers that another split with the same plays is expected to use too.

        Of an item's N answers in the log each split uses n at random, so n / N of them are used again.
        """
        there = np.maximum(self.study.log.answers, plays)
        shares = np.divide(plays, there, out=np.zeros(len(plays)), where=plays > 0)
        return float(shares @ plays) / max(int(plays.sum()), 1)

    def _choice(self, known: Prior | None) -> tuple[int, NDArray[np.float64]]:
        """Return the item the policy settles on in training, and how likely it then is to play each item.

        It settles on the best item that it has seen, and then always plays it. A policy that draws its choice
        at random keeps drawing, with the probabilities that it has after training.
        """
        log = self.study.log
        if isinstance(self.competitor, Always):
            item = int(self.item_of[self.competitor.index(self.side)])
            return item, _always(item, log.n_items)
        ready = self.begin()
        if known is None:
            rows = self.study.trained.rows
            met = replay_once(ready, rows, self.study.horizon, self.split.training_order)
            known = Prior(met.items, met.rewards)
        else:
            learn_rewards(ready, *known)
        mine = np.zeros(log.n_items, bool)
        mine[ready.arms] = True
        if isinstance(self.competitor, Policy) and self.competitor.eliminates:
            mine[ready.arms[np.asarray(ready.player.state.alive) == 0]] = False
        counts, sums = known.tallies(log.n_items)
        item = best_known(counts, sums, mine)
        if not (isinstance(self.competitor, Policy) and self.competitor.randomised):
            return item, _always(item, log.n_items)
        stream = new_stream(self.study.seed, self.split.number, Purpose.PROPENSITY)
        player = ready.player
        drawn = player.entries.count_choices(*player.packed, True, player.flags, stream, _DRAWS)
        probabilities = np.zeros(log.n_items)
        probabilities[ready.arms] = np.asarray(drawn) / _DRAWS
        return item, probabilities

    def _worth(self, probabilities: NDArray[np.float64]) -> tuple[float, ...]:
        """Return the value, on the users tested, of playing items with these probabilities."""
        log, split = self.study.log, self.split
        if log.weights is None or not probabilities.any():
            return (*(math.nan,) * 6, 0.0)
        rows, counts, sums = split.tested_rows, split.counts_trained, split.sums_trained
        # Any model is valid: an item without ratings in training gets the mean of all ratings.
        overall = float(sums.sum()) / max(int(counts.sum()), 1)
        model = np.divide(sums, counts, out=np.full(log.n_items, overall), where=counts > 0)
        shown, users = log.rows.items[rows], log.owners_of(rows)
        found = estimates(
            log.rows.ratings[rows],
            probabilities[shown] * log.weights[rows],
            users,
            log.n_users,
            model[shown],
            np.full(len(rows), float(probabilities @ model)),
        )
        low, width = log.low, log.high - log.low
        values, errors = (low + width * value for value in found.values), (width * e for e in found.errors)
        return (*values, *errors, found.effective)


def _always(item: int, n_items: int) -> NDArray[np.float64]:
    """Return the probabilities of a policy that always plays `item`; all 0 if it is -1."""
    probabilities = np.zeros(n_items)
    if item >= 0:
        probabilities[item] = 1.0
    return probabilities


def load_compiled(study: ReplayStudy) -> None:
    """Compile or load the code of every policy before timing starts, on a user without ratings."""
    no_ratings = UserRows(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))
    tiny = from_means([0.5], 1.0)
    for competitor in study.competitors:
        if isinstance(competitor, Policy):
            with compile_ahead(study.rounds):
                replay_once(competitor.begin(tiny, BOUNDED, 1, new_stream(0)), no_ratings, 1)
