"""The shapes of what is sent and answered. The OpenAPI description is made of these.

Values that an agent checks by itself (rewards, numbers of decisions) are taken as they come, so that its own
messages reach the caller; their declared types are for the description.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

ORDERS = ("arm", "plays", "mean", "score")  # of lists of arms; with - in front, downward
FORMATS = ("jsonl", "parquet")  # of logs
ArmId = str | int
Number = Annotated[Any, Meta(extra_json_schema={"type": "number"})]
Whole = Annotated[Any, Meta(extra_json_schema={"type": "integer"})]
Chance = Annotated[Any, Meta(extra_json_schema={"type": ["boolean", "integer"]})]


class Expiry(Struct, forbid_unknown_fields=True):
    """What happens to decisions whose reward is never told.

    They are closed this many seconds after they were asked for, with this reward, or without any.
    """

    after: float
    reward: float | None = None


class PolicyChoice(Struct, forbid_unknown_fields=True):
    """A policy with its parameters."""

    name: str
    on: str | None = None
    parameters: dict[str, float | int | bool | str] = {}


class RewardLaw(Struct, forbid_unknown_fields=True):
    """What rewards are like, with parameters such as sigma."""

    name: str
    parameters: dict[str, float] = {}


class PriorRewards(Struct, forbid_unknown_fields=True):
    """Rewards that are known already: arms, and what each paid."""

    arms: list[ArmId]
    rewards: list[float]


class NewExperiment(Struct, forbid_unknown_fields=True):
    """An experiment to begin: arms and what is known about pairs, or a table of pairs, or a log of ratings.

    `file` and `log` are the text of CSV files; larger ones are sent as they are, see the documentation.
    """

    name: str
    arms: list[ArmId] | None = None
    n_arms: int | None = None
    similar: list[tuple[ArmId, ArmId]] = []
    dissimilar: list[tuple[ArmId, ArmId]] = []
    better: list[tuple[ArmId, ArmId]] = []
    ranges: list[tuple[ArmId, ArmId, float | None, float | None]] = []
    complete: bool = False
    file: str | None = None
    log: str | None = None
    example: bool = False
    epsilon: float | None = None
    policy: str | PolicyChoice = "auto"
    rewards: str | RewardLaw = "bernoulli"
    horizon: int | None = None
    seed: int = 0
    prior: PriorRewards | None = None
    prior_weight: float = 1.0
    forget: float | str | None = None
    floor: dict[str, float] | None = None
    holdout: dict[str, float] | None = None
    replace_within: float | str | None = None
    sticky: float | str | None = None
    tolerance: float | None = None
    expiry: Expiry | None = None


class CreateResponse(Struct):
    """A new experiment: its policy and why, and the arms that the policy plays on."""

    name: str
    policy: str
    reason: str
    candidates: list[ArmId]


class Halted(Struct):
    """The pause or the stop that is in force: since when, with which arm, who did it, why; and in words."""

    since: float
    arm: ArmId | None
    by: str
    reason: str
    text: str


class About(Struct):
    """An experiment as it is now. Its `status` is "open", "paused" or "stopped"; `halt` says more."""

    name: str
    policy: str
    reason: str
    rewards: str
    arms: int
    candidates: int
    decisions: int
    told: int
    pending: int
    created: float
    expiry: Expiry | None
    tolerance: float | None
    status: str
    halt: Halted | None


class ExperimentList(Struct):
    """All experiments that the caller may see."""

    experiments: list[About]


class AskRequest(Struct, forbid_unknown_fields=True):
    """How many decisions, of which arms, whether with their probability, and whether of different arms.

    Or who asks: a unit keeps its arm.
    """

    n: Whole | None = None
    allowed: list[ArmId | bool] | None = None
    propensity: Chance = False
    distinct: bool = False
    unit: str | None = None


class DecisionResponse(Struct, omit_defaults=True):
    """An arm to play; the reward is told under the id."""

    id: str
    arm: ArmId
    propensity: float | None = None


class DecisionList(Struct):
    """What was asked for."""

    decisions: list[DecisionResponse]


class Reward(Struct, forbid_unknown_fields=True):
    """The reward of a decision."""

    decision: str
    reward: Number


class TellRequest(Struct, forbid_unknown_fields=True):
    """The reward of one decision, or of many.

    `repeat` says what to do with decisions that were told before: "ignore", or "replace" the earlier reward.
    """

    decision: str | UnsetType = UNSET
    reward: Number | UnsetType = UNSET
    rewards: list[Reward] | UnsetType = UNSET
    repeat: str = "ignore"


class TellResponse(Struct):
    """How many rewards were learned, and how many were of decisions closed before.

    A reward that replaces another counts as learned.
    """

    learned: int
    repeated: int


class Observation(Struct, forbid_unknown_fields=True):
    """A reward without an ask."""

    arm: ArmId
    reward: Number


class ObserveRequest(Struct, forbid_unknown_fields=True):
    """One such reward, or many."""

    arm: ArmId | UnsetType = UNSET
    reward: Number | UnsetType = UNSET
    rewards: list[Observation] | UnsetType = UNSET


class ObserveResponse(Struct):
    """How many rewards were learned."""

    learned: int


class CancelRequest(Struct, forbid_unknown_fields=True):
    """Decisions whose rewards will never be known: one, several, or all before one."""

    decision: str | None = None
    decisions: list[str] | None = None
    before: str | None = None


class CancelResponse(Struct):
    """How many decisions were given up."""

    cancelled: int


class ExtendRequest(Struct, forbid_unknown_fields=True):
    """More arms, and more about pairs."""

    arms: list[ArmId] = []
    similar: list[tuple[ArmId, ArmId]] = []
    dissimilar: list[tuple[ArmId, ArmId]] = []
    better: list[tuple[ArmId, ArmId]] = []
    ranges: list[tuple[ArmId, ArmId, float | None, float | None]] = []


class ExtendResponse(Struct):
    """What changed."""

    new_arms: list[ArmId]
    in_play: list[ArmId]
    out_of_play: list[ArmId]
    text: str
    retired: list[ArmId]


class RetireRequest(Struct, forbid_unknown_fields=True):
    """An arm that is never to be chosen again, or that comes back; and why, for the log."""

    arm: ArmId
    reason: str = ""


class EraseRequest(Struct, forbid_unknown_fields=True):
    """A unit that is to be forgotten."""

    unit: str


class EraseResponse(Struct):
    """Whether the unit was known."""

    erased: bool


class MergeRequest(Struct, forbid_unknown_fields=True):
    """Other experiments of this service, whose rewards are to count too."""

    experiments: list[str]


class MergeResponse(Struct):
    """How many rewards were learned from others."""

    learned: int


class PauseRequest(Struct, forbid_unknown_fields=True):
    """Why it is paused, or goes on, for the log and for those who ask."""

    reason: str = ""


class StopRequest(Struct, forbid_unknown_fields=True):
    """The arm that every ask is answered from now on, and why."""

    arm: ArmId
    reason: str = ""


class ToleranceRequest(Struct, forbid_unknown_fields=True):
    """The tolerance of `stopping` where none is given there; null for epsilon."""

    tolerance: Number | None
    reason: str = ""


class DoneResponse(Struct):
    """It is done, and kept."""

    done: bool = True


class SnapshotResponse(Struct):
    """A snapshot was kept; its size in bytes."""

    bytes: int


class ListedArm(Struct):
    """An arm: plays and mean of told rewards, its score in the policy, its status, its title.

    `estimate` is its posterior mean by relations and the rewards of all arms, with a 95% interval.
    """

    arm: ArmId
    plays: int
    mean: float | None
    score: float | None
    status: str
    prior: int
    estimate: float
    low: float
    high: float
    title: str | None = None


class ArmPage(Struct):
    """The arms, all or a page of them; `total` is how many there are."""

    arms: list[ListedArm]
    total: int


class ArmEstimateResponse(Struct):
    """What is known about an arm's mean, with two 95% intervals: of its posterior, and one for all times.

    The ends of the second are null where they are infinite.
    """

    arm: ArmId
    mean: float
    low: float
    high: float
    plays: int
    anytime_low: float | None
    anytime_high: float | None


class BestResponse(Struct):
    """The arm to recommend, and the next best.

    With `top`, arm and runners-up are the best `top` together, and `certainty` is that of all of them.
    """

    arm: ArmId
    mean: float
    low: float
    high: float
    plays: int
    anytime_low: float | None
    anytime_high: float | None
    certainty: float
    runners_up: list[ArmEstimateResponse]
    text: str


class WhyResponse(Struct):
    """Why an arm is played, or is not: the argument, the relations it rests on, and its steps.

    Of a candidate, `means` satisfy every relation and give this arm the largest: one for each arm, in the
    order of `GET .../arms`. They are null where the rule does not find such means, and for arms that are out.
    """

    arm: ArmId
    status: str
    candidate: bool
    reason: str
    relations: list[list[Any]]
    steps: list[dict[str, Any]] = []
    means: list[float] | None = None


class StoppingResponse(Struct):
    """Whether it is known which arm is the best, or which are the best `top`, or all within the tolerance.

    `arms` are the arms to name, the likely best first, and `arm` is the first of them; of all arms within the
    tolerance there may be none to name yet, and `arm` is null. `evidence` against the
    strongest rival is a logarithm, null where relations settle it; `needed` is how much makes `stop` true.
    `tries_to_go` is an estimate, null where `no_estimate` says why. `pending` is how many decisions have no
    reward yet; `text` says what they do to the answer. `risk` is the probability, at most, that the side
    information is wrong, as far as it states one; it adds to `delta`.
    """

    stop: bool
    arm: ArmId | None
    delta: float
    risk: float
    tolerance: float
    text: str
    evidence: float | None
    needed: float
    tries_to_go: int | None
    no_estimate: str
    pending: int
    arms: list[ArmId]
    top: int | str


class StoppingForecast(Struct):
    """How far an experiment is from stopping, at a delta of 0.05, as it was a few seconds ago.

    `known` is null where that cannot be said, or not yet; `text` says why.
    """

    known: bool | None
    text: str
    arm: ArmId | None = None
    evidence: float | None = None
    needed: float | None = None
    tries_to_go: int | None = None


class ControlArm(Struct):
    """The arm that others are compared with; `mean` is null before its first reward."""

    arm: ArmId
    plays: int
    mean: float | None


class LiftedArm(Struct):
    """How much better an arm is than the control; all intervals hold together, at all times.

    `lift`, `low` and `high` are null where nothing is known of one of the two.
    """

    arm: ArmId
    plays: int
    mean: float
    lift: float | None
    low: float | None
    high: float | None


class Lift(Struct):
    """The arms in play that have a reward, the highest mean first, compared with a control."""

    control: ControlArm
    arms: list[LiftedArm]


class SuspectList(Struct):
    """Relations that the rewards contradict, the strongest first."""

    suspects: list[dict[str, Any]]


class ChangedArm(Struct):
    """An arm whose mean has changed, with plays and mean before and after the likeliest moment of it.

    `evidence` is a logarithm. `mean_after` is 0 where nothing was played since.
    """

    arm: ArmId
    evidence: float
    plays_before: int
    mean_before: float
    plays_after: int
    mean_after: float


class BlockedArm(Struct):
    """An arm whose changes could not be noticed: `plays` of it wait for a decision that is still open.

    `decision` is the number of that decision, and `seconds` how long ago it was asked for.
    """

    arm: ArmId
    decision: int
    seconds: float
    plays: int


class Drift(Struct):
    """Arms whose mean has changed, the clearest first, and arms that an open decision blocks."""

    arms: list[ChangedArm]
    blocked: list[BlockedArm] = []


class NewKey(Struct, forbid_unknown_fields=True):
    """A key to add."""

    role: str
    experiment: str | None = None
    rate: float | None = None
    name: str = ""


class AddedKey(Struct):
    """A key, shown this once."""

    id: str
    key: str
    role: str
    experiment: str | None
    name: str


class ListedKey(Struct):
    """A key without its secret."""

    id: str
    role: str
    experiment: str | None
    rate: float | None
    created: float
    name: str


class KeyList(Struct):
    """All keys."""

    keys: list[ListedKey]


class NewWebhook(Struct, forbid_unknown_fields=True):
    """A webhook to add: where to, of one experiment or of all, and which types of events (all)."""

    url: str
    experiment: str | None = None
    events: list[str] | None = None


class AddedWebhook(Struct):
    """A webhook, with the secret that its messages are signed with, shown this once."""

    id: str
    secret: str
    url: str
    experiment: str | None
    events: list[str]


class ListedWebhook(Struct):
    """A webhook, and how deliveries went since the service was started.

    Of `url` the path is hidden, as it often holds a secret. `created` is null for those of the command line.
    `inactive` says why nothing is sent to it, and is mostly empty. `failed` counts attempts, `given_up`
    messages; `last_status` is null where there was no answer.
    """

    id: str
    url: str
    experiment: str | None
    events: list[str]
    created: float | None
    inactive: str
    queued: int = 0
    delivered: int = 0
    failed: int = 0
    given_up: int = 0
    last_attempt: float | None = None
    last_status: int | None = None
    last_error: str = ""
    last_delivered: float | None = None


class WebhookList(Struct):
    """All webhooks."""

    webhooks: list[ListedWebhook]


class WebhookTest(Struct):
    """Whether a test message was accepted; `status` is null where there was no answer."""

    delivered: bool
    status: int | None
    detail: str


class Health(Struct):
    """Whether the service can answer."""

    status: str
    detail: str = ""


class ProblemDetails(Struct):
    """What went wrong, as RFC 9457 has it; title and detail are those of the error in Python."""

    type: str
    title: str
    status: int
    detail: str
    decisions: list[str] | UnsetType = UNSET  # of a LostDecision: the ids that the log does not hold
