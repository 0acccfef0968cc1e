"""From a log to the items that may be the best, and a race on common examples.

Three rules find candidates in the ratings of some users: beaten items by e-values (the default of
`lsdt.from_ratings`), beaten items by a bootstrap, and ranges that hold for all pairs. The best item is the
one with the largest mean rating over all users.

The level is measured on logs whose items all have the same mean, which is the hardest case: any item may
count as the best, and the first one does. Ratings are skewed, binary or heavy in ties. E-values are looked at
four times while each log grows.

A race tries items on the same users, those who rated all items. LUCB and `lsdt.identify` need separate tries;
successive halving has common examples, a fixed budget and no guarantee.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.errors import NoRelations
from lsdt.identification import race
from lsdt.plotting import Dot, draw_dots
from lsdt.ratings import (
    LOOK_ALIKE,
    USERS,
    RatingLog,
    beaten_by_bets,
    beaten_by_bootstrap,
    file_fingerprint,
    from_ratings,
    item_statistics,
    load_jester,
    look_alike,
    without_rating_warnings,
)
from lsdt.reproduce.beyond.pairs.unpaired import halve, identify_separately, play_lucb
from lsdt.reproduce.framework.claims import (
    Claim,
    Estimate,
    always,
    at_most,
    below,
    mean_of,
    number,
    ratio_of,
    share_of,
)
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import on_workers, rows_at

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

    Numbers = NDArray[np.float64]

_RULES: dict[str, dict[str, Any]] = {
    "e-values": {},
    "bootstrap": {"interval": "bootstrap"},
    "all ranges": {"guarantee": "all"},
}
# The goals that were set for the numbers of jokes left, by share of the users.
_GOALS = {
    "e-values": {0.005: 52.0, 0.01: 31.0, 0.02: 18.0, 0.05: 6.5, 0.1: 3.0},
    "bootstrap": {0.005: 35.0, 0.01: 21.0, 0.02: 12.0, 0.05: 4.3, 0.1: 2.5},
}
_MOST_SPLITS, _MOST_RACES, _MOST_LOGS = 50, 20, 1_000
_DELTA, _TOLERANCE = 0.05, 0.02
_MOST_TRIES = 3_000_000  # of LUCB, for an answer that a race finds in some ten thousand
_ITEMS, _USERS = 8, 150  # of a log with known truth; a pair of its items has enough raters for the bootstrap
_FEWEST_EXAMPLES = 1_000  # fewer cannot tell items apart that are 0.02 apart
_LOOKS = (15, 30, 75, 150)  # users at which e-values are looked at
_SEED = 41  # part of every random key, so that no run repeats those used to choose constants


def _skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return rng.beta(0.3, 2.7, shape)


def _binary(rng: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return (rng.random(shape) < 0.1).astype(np.float64)


def _tied(rng: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    drawn: Numbers = rng.choice([0.0, 0.5, 1.0], shape, p=[0.08, 0.9, 0.02])
    return drawn


_KINDS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Numbers]] = {
    "skewed": _skewed,
    "binary": _binary,
    "heavy in ties": _tied,
}


def _setting(request: Request) -> Setting:
    if request.jester is None:
        data = {"name": LOOK_ALIKE, "sha256": None, "users": USERS}
    else:
        data = {"name": request.jester.name, "sha256": file_fingerprint(request.jester)}
    quick = request.quick
    return {
        "data": data,
        "shares": [0.01, 0.02] if quick else list(_GOALS["e-values"]),
        "rules": list(_RULES),
        "splits": min(request.replications, 3 if quick else _MOST_SPLITS),
        "races": min(request.replications, 2 if quick else _MOST_RACES),
        "logs": min(10 * request.replications, 30 if quick else _MOST_LOGS),
        "kinds": list(_KINDS),
        "items": _ITEMS,
        "users": _USERS,
        "looks": list(_LOOKS),
        "delta": _DELTA,
        "tolerance": _TOLERANCE,
        "most_tries": 200_000 if quick else _MOST_TRIES,
        "most_tries_of_identify": 5_000 if quick else _MOST_TRIES,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    log = look_alike(n_users=setting["data"]["users"]) if work.jester is None else load_jester(work.jester)
    best = int(np.argmax(log.means()))
    splits = []
    steps = [(share, split) for share in setting["shares"] for split in range(setting["splits"])]
    for at, (share, split) in enumerate(steps):
        splits += _split(setting, log, best, share, (work.seed, split, _SEED))
        work.done(0.4 * (at + 1) / len(steps))
    tasks = [(setting, (work.seed, at, _SEED)) for at in range(setting["logs"])]
    level = on_workers(_level, tasks, work.stretch(0.4, 0.6))
    scores = _common_scores(log)
    races = on_workers(
        _race,
        [(setting, scores, (work.seed, at, _SEED)) for at in range(setting["races"])],
        work.stretch(0.6, 1.0),
    )
    rows = [row for found in level for row in found]
    return {"splits": pd.DataFrame(splits), "level": pd.DataFrame(rows), "races": pd.DataFrame(races)}


def _common_scores(log: RatingLog) -> Numbers:
    """Return the ratings of the users who rated all items, from 0 to 1.

    Hardly any user of the look-alike did: there, the half of the items with the most ratings is taken.
    """
    table = (log.matrix() - log.low) / (log.high - log.low)
    whole = table[np.isfinite(table).all(axis=1)]
    if len(whole) >= _FEWEST_EXAMPLES:
        return whole
    some = table[:, np.sort(np.argsort(-log.counts(), kind="stable")[: log.n_items // 2])]
    return some[np.isfinite(some).all(axis=1)]


def _split(
    setting: Setting, log: RatingLog, best: int, share: float, key: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Find the candidates in the ratings of a share of the users, by every rule."""
    users = np.random.default_rng(key).permutation(log.n_users)
    trained = log.of_users(np.sort(users[: round(share * log.n_users)]))
    rows = []
    for rule in setting["rules"]:
        left = np.arange(log.n_items)
        with without_rating_warnings(), suppress(NoRelations):  # too few common raters leave all items
            side = from_ratings(trained, progress=False, **_RULES[rule])
            left = candidate_set(side, progress=False).arms
        rows.append(
            {"rule": rule, "share": share, "split": key[1], "left": len(left), "kept": bool(best in left)}
        )
    return rows


def _level(setting: Setting, key: tuple[int, ...]) -> list[dict[str, Any]]:
    """Draw a log of every kind whose items are equally good, and see whether its first item is lost."""
    rows = []
    for place, kind in enumerate(setting["kinds"]):
        table = _KINDS[kind](np.random.default_rng((*key, place)), (setting["users"], setting["items"]))
        logs = [RatingLog.from_matrix(table[:size], scale=(0.0, 1.0)) for size in setting["looks"]]
        delta, items = setting["delta"], item_statistics(logs[-1])
        by_bets = any(beaten_by_bets(log, items, delta).is_out[0] for log in logs)
        by_bootstrap = beaten_by_bootstrap(logs[-1], delta, 30, key[1]).is_out[0]
        for rule, lost in (("e-values", by_bets), ("bootstrap", by_bootstrap)):
            rows.append({"kind": kind, "rule": rule, "log": key[1], "lost": bool(lost)})
    return rows


def _race(setting: Setting, scores: Numbers, key: tuple[int, ...]) -> dict[str, Any]:
    """Run a race, and its rivals at the same tolerance and error, or with the same number of tries."""
    rng, (n_examples, n_arms) = np.random.default_rng(key), scores.shape
    delta, tolerance = setting["delta"], setting["tolerance"]
    found = race(
        range(n_arms),
        lambda arm, example: scores[example, arm],
        range(n_examples),
        delta=delta,
        tolerance=tolerance,
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    lucb = play_lucb(scores, tolerance, delta, setting["most_tries"], rng)
    means = scores.mean(axis=0)
    gap = means.max() - means
    halved, sooner = (halve(scores, budget, rng) for budget in (found.tries, found.tries // 4))
    named, tries = identify_separately(scores, tolerance, delta, setting["most_tries_of_identify"], rng)
    return {
        "run": key[1],
        "race": found.tries,
        "race_known": found.stop,
        "race_gap": float(gap[found.arm]),
        "lucb": lucb.tries,
        "identify": tries,
        "identify_gap": float(gap[named]),
        "rule": lucb.by_identify,
        "lucb_gap": float(gap[lucb.arm]),
        "halving_gap": float(gap[halved]),
        "halving_quarter_gap": float(gap[sooner]),
    }


# ---------------------------------------------------------------- what is shown


def _left(tables: Tables, rule: str, share: float) -> pd.DataFrame:
    return rows_at(tables["splits"], rule=rule, share=share)


def _groups(tables: Tables) -> list[tuple[str, float]]:
    rows = tables["splits"]
    return list(dict.fromkeys(zip(rows["rule"], rows["share"].astype(float), strict=True)))


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for rule, share in sorted(_groups(tables), key=lambda group: (list(_RULES).index(group[0]), group[1])):
        group = _left(tables, rule, share)
        rows.append(
            {
                "what": f"items left, {rule}, {share:.3g} of the users",
                **mean_of(group["left"]).columns("value"),
                "best item lost": int((~group["kept"]).sum()),
                "runs": len(group),
            }
        )
    for (rule, kind), group in tables["level"].groupby(["rule", "kind"], sort=False):
        rows.append(
            {
                "what": f"share of logs that lose the best item, {rule}, {kind}",
                **share_of(group["lost"]).columns("value"),
                "best item lost": int(group["lost"].sum()),
                "runs": len(group),
            }
        )
    races = tables["races"]
    for name, title in (
        ("race", "evaluations, race"),
        ("lucb", "tries, LUCB"),
        ("identify", "tries, lsdt.identify"),
        ("rule", "tries, the rule of lsdt.identify on LUCB's tries"),
    ):
        rows.append({"what": title, **mean_of(races[name]).columns("value"), "runs": len(races)})
    for name, title in (
        ("race_gap", "race"),
        ("lucb_gap", "LUCB"),
        ("identify_gap", "lsdt.identify"),
        ("halving_gap", "halving with the race's evaluations"),
        ("halving_quarter_gap", "halving with a quarter of them"),
    ):
        far = races[name] > _TOLERANCE
        rows.append(
            {
                "what": f"distance of the item found from the best, {title}",
                **mean_of(races[name]).columns("value"),
                "best item lost": int(far.sum()),
                "runs": len(races),
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots = []
    for rule, share in _groups(tables):
        estimate = mean_of(_left(tables, rule, share)["left"])
        dots.append(Dot(rule, f"{share:.3g} of the users", estimate.value, *estimate.ends))
    return draw_dots(
        dots,
        "items that may be the best",
        "Items that a rating log leaves",
        f"mean of {tables['splits']['split'].nunique():,} splits, with 95% intervals",
        log=True,
    )


def _claims(tables: Tables) -> list[Claim]:
    fewer, level, races = [], [], tables["races"]
    for rule, goals in _GOALS.items():
        for share, goal in goals.items():
            group = _left(tables, rule, share)
            if len(group):
                fewer.append(at_most(f"items left, {rule}, {share:.3g}", mean_of(group["left"]), goal))
    for (rule, kind), group in tables["level"].groupby(["rule", "kind"], sort=False):
        level.append(at_most(f"best item lost, {rule}, {kind}", share_of(group["lost"]), _DELTA))
    by_rule = tables["splits"][tables["splits"]["rule"].isin(list(_GOALS))]
    return [
        Claim(
            "log-items-left",
            "Beaten items leave at most 52, 31, 18, 6.5 and 3 of 100 jokes at .5, 1, 2, 5 and 10% of the "
            "users by e-values, and 35, 21, 12, 4.3 and 2.5 by the bootstrap.",
            BEYOND_THE_PAPER,
            tuple(fewer),
        ),
        Claim(
            "log-best-kept",
            "The best item is kept in every split.",
            BEYOND_THE_PAPER,
            (always("splits that keep the best item", by_rule["kept"]),),
        ),
        Claim(
            "log-level",
            "On logs with known truth the best item is lost in at most 5% of them, also if e-values are "
            "looked at repeatedly.",
            BEYOND_THE_PAPER,
            tuple(level),
        ),
        Claim(
            "log-race",
            "A race on common examples needs fewer evaluations than LUCB and lsdt.identify need separate "
            "tries, at the same tolerance and error.",
            BEYOND_THE_PAPER,
            (
                below("evaluations over LUCB's tries", ratio_of(races["race"], races["lucb"]), 1.0),
                below(
                    "evaluations over the tries of lsdt.identify",
                    ratio_of(races["race"], races["identify"]),
                    1.0,
                ),
            ),
        ),
        Claim(
            "log-race-right",
            "The arm that a race names is within the tolerance of the best.",
            BEYOND_THE_PAPER,
            (always("races that name such an arm", races["race_gap"] <= _TOLERANCE),),
        ),
    ]


def _discussion(tables: Tables) -> str:
    races = tables["races"]
    far = int((races["halving_gap"] > _TOLERANCE).sum())
    sooner = int((races["halving_quarter_gap"] > _TOLERANCE).sum())
    ratio: Estimate = ratio_of(races["lucb"], races["race"])
    return (
        f"A race took {number(races['race'].mean())} evaluations, lsdt.identify "
        f"{number(races['identify'].mean())} separate tries, LUCB {number(ratio.value)} times what the "
        "race took (or more: it ends at the limit). Successive halving on common examples, with the race's "
        f"evaluations, named an arm outside the tolerance in {far} of {len(races)} runs, with a quarter of "
        f"them in {sooner}: if the number of evaluations is fixed and no guarantee is needed, halving is a "
        "good choice."
    )


EXPERIMENT = Experiment(
    id="beyond-pairs-log",
    title="From a log to the items that may be the best",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=1800.0,
)
