"""One split of the users: side information from some, policies replayed on the others."""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.errors import InconsistentSideInformation, InvalidInput, Unsupported
from lsdt.kernel.random import Purpose, new_stream, seed_words
from lsdt.kernel.rewards import RewardModel
from lsdt.policies.always import Always
from lsdt.policies.offline import OfflineSteps
from lsdt.policies.player import Player
from lsdt.policies.policy import Policy
from lsdt.policies.prior import Prior, learn_rewards, weight_of_prior
from lsdt.replays.off_policy import estimates, kish
from lsdt.replays.runner import Rows, replay_once
from lsdt.side_information import SideInformation, from_means
from lsdt.simulation.references import BestTrainingMean, best_known
from lsdt.simulation.study import Played
from lsdt.simulation.workers import Stopped, event_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.kernel.jit import Array
    from lsdt.policies.policy import Begun
    from lsdt.ratings.log import RatingLog
    from lsdt.replays.log_rows import Material
    from lsdt.replays.runner import Replayed
    from lsdt.simulation.competitors import Contender
    from lsdt.simulation.workers import Token

    SideOf = Callable[[RatingLog], SideInformation]

BOUNDED = RewardModel("bernoulli", 0.5)  # what is known of ratings from 0 to 1


class ReplayStudy(NamedTuple):
    """What is to be done, as every worker gets it."""

    material: Material
    contenders: list[Contender]
    side: SideOf | SideInformation | None
    rounds: int
    checkpoints: NDArray[np.int64]
    n_training: int
    prior_weight: float
    seed: int
    token: Token

    @property
    def has_prior(self) -> bool:
        """Whether any policy learns the ratings trained on."""
        return any(weight_of_prior(contender, self.prior_weight) > 0.0 for contender in self.contenders)


class Answers(NamedTuple):
    """How much the log had to say: arrays over (split, policy).

    ``matched`` rounds were answered after ``spent`` users or events had come by; ``effective`` is the number
    of equally busy users that is worth, ``earned`` the sum of all answers, ``overlap`` how much of it another
    split is expected to use too. ``choice``, and what it is worth by the three estimators of `off_policy`
    with their standard errors, is there for propensities only.
    """

    matched: NDArray[np.int64]
    spent: NDArray[np.int64]
    effective: NDArray[np.float64]
    earned: NDArray[np.float64]
    overlap: NDArray[np.float64]
    choice: NDArray[np.int64]
    ips: NDArray[np.float64]
    snips: NDArray[np.float64]
    dr: NDArray[np.float64]
    ips_error: NDArray[np.float64]
    snips_error: NDArray[np.float64]
    dr_error: NDArray[np.float64]
    weights_effective: NDArray[np.float64]

    def rows(self, which: Any) -> Answers:
        """Return the answers in some of the splits."""
        return Answers(*(array[which] for array in self))


class Split(NamedTuple):
    """One split, with what all policies share.

    ``order`` are the rows that come by in the test, ``prior`` the ratings of the users trained on, ``means``
    the mean of every item among the users tested; the tallies are those of the users trained on.
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


def empty_results(study: ReplayStudy, splits: int) -> tuple[Played, Answers]:
    """Return room for the results of some splits."""
    cells = (splits, len(study.contenders))
    at_checkpoints = (*cells, len(study.checkpoints))
    played = Played(
        np.full(at_checkpoints, math.nan),
        np.full(at_checkpoints, math.nan),
        np.zeros((*cells, study.material.n_items), np.int64),
        np.zeros(cells),
        np.zeros(cells),
    )
    whole = {name: np.full(cells, -1 if name == "choice" else 0) for name in ("matched", "spent", "choice")}
    arrays = {name: whole.get(name, np.full(cells, math.nan)) for name in Answers._fields}
    return played, Answers(**arrays)


def play_split(study: ReplayStudy, number: int) -> tuple[int, Played, Answers]:
    """Replay all policies on one split; this is what a worker does."""
    stop = event_of(study.token)
    split = _drawn(study, number)
    played, answers = empty_results(study, 1)
    try:
        side = _side(study, split)
        found = OfflineSteps(side)
        item_of = study.material.items_of(side)
        for column, contender in enumerate(study.contenders):
            run = _Run(study, split, _decided(study, split, contender, side), side, found, item_of)
            run.fill(played.cell(0, column), answers, column, stop)
    except (Unsupported, InconsistentSideInformation) as error:
        error.args = (f"{error} (in split {number})", *error.args[1:])
        raise
    return number, played, answers


def _drawn(study: ReplayStudy, number: int) -> Split:
    """Divide the users, and let what is tested come by in a random order."""
    material = study.material
    rng = np.random.default_rng(seed_words(study.seed, number, Purpose.PROBLEM))
    users = rng.permutation(material.n_users)
    training = users[: study.n_training]
    trained_rows, tested_rows = material.rows_of(users, study.n_training, rng)
    coins = material.coins(rng)
    order, training_order = tested_rows[coins[tested_rows]], trained_rows[coins[trained_rows]]
    counts, sums = material.tallies(trained_rows)
    return Split(
        number,
        training,
        tested_rows,
        order,
        training_order,
        Prior(*material.ratings_of(training_order)) if study.has_prior else None,
        material.means(tested_rows),
        counts,
        sums,
        new_stream(study.seed, number, Purpose.POLICY),
    )


def _side(study: ReplayStudy, split: Split) -> SideInformation:
    """Return the side information of a split, of the users trained on; none where nobody looks at it."""
    if isinstance(study.side, SideInformation):
        return study.side
    if study.side is None or not any(contender.uses_side for contender in study.contenders):
        return SideInformation(study.material.n_items, arm_ids=study.material.item_ids)
    try:
        side = study.side(study.material.training_log(split.training))
    except InvalidInput as error:
        raise InvalidInput(
            f"no side information out of the {len(split.training):,} users trained on in split "
            f"{split.number}: {error}. Train on more, or give side=None"
        ) from None
    if not isinstance(side, SideInformation):
        raise InvalidInput(f"side must return a SideInformation; it returned {type(side).__name__}")
    return side


def _decided(study: ReplayStudy, split: Split, contender: Contender, side: SideInformation) -> Contender:
    """Return the policy itself; what was best in training is an item now."""
    if not isinstance(contender, BestTrainingMean):
        return contender
    playable = np.zeros(study.material.n_items, bool)
    playable[study.material.items_of(side)] = True
    best = best_known(split.counts_trained, split.sums_trained, playable)
    if best < 0:
        raise InvalidInput(f"nobody in training rated any arm (in split {split.number}); use a larger train")
    return Always(study.material.item_ids[best], contender.label)


class _Run(NamedTuple):
    """One policy on one split."""

    study: ReplayStudy
    split: Split
    contender: Contender
    side: SideInformation
    found: OfflineSteps
    item_of: NDArray[np.int64]

    def begun(self) -> Begun:
        """Return the policy before its first round, its arms numbered as the items are."""
        stream = self.split.stream.copy()
        begun = self.contender.begin(
            self.side, BOUNDED, self.study.rounds, stream, self.found.of(self.contender.on)
        )
        return begun._replace(arms=self.item_of[begun.arms])

    @property
    def known(self) -> Prior | None:
        """What the policy learns before its first round; None where it learns nothing."""
        weight = weight_of_prior(self.contender, self.study.prior_weight)
        key = self.study.seed, self.split.number, Purpose.THINNING
        return self.split.prior.thinned(weight, *key) if self.split.prior and weight > 0.0 else None

    def fill(self, out: Played, answers: Answers, column: int, stop: threading.Event) -> None:
        """Replay the policy and write down what came of it."""
        material, begun, known = self.study.material, self.begun(), self.known
        if known is not None:
            learn_rewards(begun, *known)
        started = perf_counter()
        played = replay_once(begun, material.rows, self.study.rounds, self.split.order, stop.is_set)
        out.online_seconds[0] = perf_counter() - started
        out.offline_seconds[0] = begun.seconds
        if stop.is_set():
            raise Stopped
        self._write_rounds(played, out)
        busy = np.unique(material.owners_of(played.users), return_counts=True)[1]
        low, width = material.low, material.high - material.low
        earned = low * played.matched + width * float(played.rewards.sum())
        overlap = max(len(busy) / material.n_users, self._used_again(out.plays[0]))
        values: tuple[float, ...] = (played.matched, played.spent, kish(busy), earned, overlap)
        if material.weights is not None:
            choice = self._choice(known)
            values = (*values, choice, *self._worth(choice))
        for array, value in zip(answers, values, strict=False):
            array[0, column] = value

    def _write_rounds(self, played: Replayed, out: Played) -> None:
        material, checkpoints = self.study.material, self.study.checkpoints
        width, means = material.high - material.low, self.split.means
        out.plays[0] = np.bincount(played.items, minlength=material.n_items)
        reached = checkpoints[checkpoints <= played.matched]
        if len(reached):
            earned = material.low * reached + width * np.cumsum(played.rewards)[reached - 1]
            lost = width * np.cumsum(np.nanmax(means) - means[played.items])[reached - 1]
            out.reward[0, : len(reached)], out.regret[0, : len(reached)] = earned, lost

    def _used_again(self, plays: NDArray[np.int64]) -> float:
        """Return which share of the answers another split with the same plays is expected to use too.

        Of an item's N answers in the log each split uses n at random, so n / N of them are used again.
        """
        there = np.maximum(self.study.material.answers, plays)
        shares = np.divide(plays, there, out=np.zeros(len(plays)), where=plays > 0)
        return float(shares @ plays) / max(int(plays.sum()), 1)

    def _choice(self, known: Prior | None) -> int:
        """Return the item the policy settles on in training: the best of what it met there."""
        if isinstance(self.contender, Always):
            return int(self.item_of[self.contender.index(self.side)])
        begun, material = self.begun(), self.study.material
        if known is None:
            met = replay_once(begun, material.rows, self.study.rounds, self.split.training_order)
            known = Prior(met.items, met.rewards)
        mine = np.zeros(material.n_items, bool)
        mine[begun.arms] = True
        alive = getattr(begun.player.state, "alive", None) if isinstance(begun.player, Player) else None
        if alive is not None:
            mine[begun.arms[np.asarray(alive) == 0]] = False
        counts, sums = known.tallies(material.n_items)
        return best_known(counts, sums, mine)

    def _worth(self, choice: int) -> tuple[float, ...]:
        """Return what always playing an item is worth on the users tested, by three estimators."""
        material, split = self.study.material, self.split
        if choice < 0 or material.weights is None:
            return (*(math.nan,) * 6, 0.0)
        rows = split.tested_rows
        counted = split.counts_trained[choice]
        model = split.sums_trained[choice] / counted if counted > 0 else math.nan
        shown = rows[material.rows.items[rows] == choice]
        found = estimates(
            material.rows.ratings[shown],
            material.weights[shown],
            material.owners_of(shown),
            np.bincount(material.owners_of(rows), minlength=material.n_users),
            model,
        )
        low, width = material.low, material.high - material.low
        values, errors = (low + width * value for value in found.values), (width * e for e in found.errors)
        return (*values, *errors, found.effective)


def load_compiled(study: ReplayStudy) -> None:
    """Compile, or load, what will be timed: a round of every policy on a user who rated nothing."""
    nobody = Rows(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))
    tiny = from_means([0.5], 1.0)
    for contender in study.contenders:
        if isinstance(contender, Policy):
            replay_once(contender.begin(tiny, BOUNDED, 1, new_stream(0)), nobody, 1)
