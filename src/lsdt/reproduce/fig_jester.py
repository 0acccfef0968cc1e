"""Recommending jokes: policies replayed on the Jester ratings, or on a synthetic look-alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lsdt.ratings.jester import fingerprint, where_to_get_jester
from lsdt.ratings.look_alike import LOOK_ALIKE, USERS
from lsdt.report.dots import Dot, draw_dots
from lsdt.reproduce.claims import (
    Claim,
    above,
    at_most,
    below,
    deviation_ratio,
    mean_of,
    number,
    share_of,
)
from lsdt.reproduce.experiments import Experiment
from lsdt.reproduce.jester_splits import (
    BEST_IN_HINDSIGHT,
    BEST_IN_TRAINING,
    LSDT_PSI,
    NAMED,
    OTHERS,
    TS_ON_B0,
    TS_TAUGHT,
    UCB1,
    UCB1_ON_B0,
    split_tables,
)
from lsdt.reproduce.sampling import values_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from lsdt.report.style import Figure
    from lsdt.reproduce.claims import Check, Estimate
    from lsdt.reproduce.experiments import Request, Setting, Tables

_WHERE = "Section 6.3"
_RIVALS = tuple(label for label in NAMED if label != LSDT_PSI)
_FEW = 50  # candidates: half of the jokes


def _setting(request: Request) -> Setting:
    most = 5 if request.quick else 50 if request.runs >= 1000 else 20
    if request.jester is None:
        data = {"name": LOOK_ALIKE, "sha256": None, "users": USERS}
    else:
        data = {"name": request.jester.name, "sha256": fingerprint(request.jester)}
    return {
        "data": data,
        "training": [{"share": 0.05, "alpha": 0.2}, {"share": 0.1, "alpha": 0.1}],
        "test_users": 20_000,
        "rounds": 4_000,
        "splits": min(request.runs, most),
        "lambda": 1 / 32,
        "start": 0.01,
        "resolution": 0.01,
        "rewards": "ratings from 0 to 1, known to be bounded: sigma 1/2",
        "ckl_ucb": "squared difference as divergence",
    }


def _ratings(tables: Tables, label: str, share: float) -> NDArray[np.float64]:
    """Return what a policy earned per round in every split."""
    return values_at(tables["runs"], "rating", policy=label, training=share)


def _ahead(tables: Tables, first: str, second: str, share: float) -> Estimate:
    """Return how far a policy is ahead of another, split by split."""
    return mean_of(_ratings(tables, first, share) - _ratings(tables, second, share))


def _shares(tables: Tables) -> list[float]:
    return sorted(tables["searches"]["training"].unique().tolist())


def _synthetic(tables: Tables) -> bool:
    return bool(tables["data"]["synthetic"].iloc[0])


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for share in _shares(tables):
        for label in (*NAMED, *OTHERS):
            earned, ahead = _ratings(tables, label, share), _ahead(tables, label, LSDT_PSI, share)
            rows.append(_row(f"rating: {label}", share, earned, ahead))
        for column, words in _SEARCHED.items():
            rows.append(_row(words, share, values_at(tables["searches"], column, training=share)))
    return pd.DataFrame(rows)


_SEARCHED = {
    "epsilon": "epsilon chosen",
    "candidates": "candidates left",
    "similar": "similar pairs",
    "dissimilar": "dissimilar pairs",
    "unknown": "unknown pairs",
    "best_kept": "share of splits that keep the best joke",
}


def _row(
    what: str, share: float, values: NDArray[np.float64], ahead: Estimate | None = None
) -> dict[str, float | str]:
    mean, low, high = mean_of(values)
    gap = (math.nan,) * 3 if ahead is None else ahead
    return {
        "training": share,
        "what": what,
        "mean": mean,
        "low": low,
        "high": high,
        "deviation": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
        "minus LSDT-PSI": gap[0],
        "gap low": gap[1],
        "gap high": gap[2],
    }


def _draw(tables: Tables) -> Figure:
    searches = tables["searches"]
    dots = []
    for share in _shares(tables):
        group = f"trained on {share:.0%} of users"
        for label in (*NAMED, *OTHERS):
            mean, low, high = mean_of(_ratings(tables, label, share))
            ends = (mean, mean) if math.isnan(low) else (low, high)
            dots.append(Dot(label, group, mean, *ends))
    splits = searches["run"].nunique()
    name = LOOK_ALIKE if _synthetic(tables) else "Jester"
    note = f"mean of {splits} splits of the users, 95% intervals" if splits > 1 else "one split: no intervals"
    return draw_dots(
        dots,
        "average rating per user, one joke each, on the scale from -10 to 10",
        f"Jokes recommended to new users ({name})",
        f"{note}; above the line the policies that the paper names",
        line_after=NAMED[-1],
    )


def _claims(tables: Tables) -> list[Claim]:
    on = "On the synthetic look-alike, not Jester: " if _synthetic(tables) else "On the Jester ratings: "
    return [
        Claim(
            "jester-best",
            f"{on}LSDT-PSI earns a higher average rating than UCB1, TS, CKL-UCB and UCB1 on B0.",
            _WHERE,
            tuple(_best_checks(tables)),
        ),
        Claim(
            "jester-small-variation",
            f"{on}LSDT-PSI varies little from run to run, compared with the others.",
            _WHERE,
            tuple(_variation_checks(tables)),
        ),
        Claim(
            "jester-more-training",
            f"{on}more training data improves LSDT-PSI and UCB1 on B0.",
            _WHERE,
            tuple(_training_checks(tables)),
        ),
        Claim(
            "jester-epsilon-search",
            f"{on}searching for the epsilon with the fewest candidates works: few jokes are left, "
            "learning on them is better than on all, and the best joke is mostly among them.",
            _WHERE,
            tuple(_search_checks(tables)),
        ),
    ]


def _best_checks(tables: Tables) -> Iterator[Check]:
    for share in _shares(tables):
        for rival in _RIVALS:
            what = f"rating of LSDT-PSI minus {rival}, {share:.0%} training"
            yield above(what, _ahead(tables, LSDT_PSI, rival, share), 0.0)


def _variation_checks(tables: Tables) -> Iterator[Check]:
    for share in _shares(tables):
        for rival in _RIVALS:
            ratio = deviation_ratio(_ratings(tables, LSDT_PSI, share), _ratings(tables, rival, share))
            yield at_most(f"deviation of LSDT-PSI over that of {rival}, {share:.0%} training", ratio, 1.0)


def _training_checks(tables: Tables) -> Iterator[Check]:
    less, more = _shares(tables)
    for label in (LSDT_PSI, UCB1_ON_B0):
        gain = mean_of(_ratings(tables, label, more) - _ratings(tables, label, less))
        yield above(f"rating of {label}, {more:.0%} minus {less:.0%} training", gain, 0.0)


def _search_checks(tables: Tables) -> Iterator[Check]:
    for share in _shares(tables):
        left = values_at(tables["searches"], "candidates", training=share)
        kept = values_at(tables["searches"], "best_kept", training=share)
        yield below(f"candidates left of 100, {share:.0%} training", mean_of(left), _FEW)
        gain = _ahead(tables, UCB1_ON_B0, UCB1, share)
        yield above(f"rating of UCB1 on B0 minus UCB1 on all, {share:.0%} training", gain, 0.0)
        yield above(f"share of splits that keep the best joke, {share:.0%} training", share_of(kept), 0.5)


def _search_reading(searches: pd.DataFrame, share: float) -> str:
    found = searches[searches["training"] == share]
    epsilon, left, lost = (number(found[column].mean()) for column in ("epsilon", "candidates", "lost"))
    kept, of_tested = (int(found[column].sum()) for column in ("best_kept", "best_of_tested_kept"))
    tried, inconsistent = found["tried"].sum(), found["inconsistent"].sum()
    return (
        f"Trained on {share:.0%}, the search takes epsilon {epsilon} and leaves {left} of 100 jokes, on "
        f"average; {inconsistent} of the {tried} values it tried contradict themselves. "
        f"The joke with the best mean of all users is left in {kept} of {len(found)} splits, that with the "
        f"best mean of the test users in {of_tested}; the best one left is {lost} below the best, on average."
    )


def _reading(tables: Tables) -> str:
    sentences = []
    if _synthetic(tables):
        sentences.append(
            "These are synthetic ratings that look like Jester's, not Jester: they show how the part works, "
            f"not what the data say. {where_to_get_jester()}"
        )
    sentences += [_search_reading(tables["searches"], share) for share in _shares(tables)]
    more = _shares(tables)[-1]
    means = {label: number(_ratings(tables, label, more).mean()) for label in (*NAMED, *OTHERS)}
    sentences.append(
        f"At {more:.0%} LSDT-PSI earns {means[LSDT_PSI]} a user. Two questions of a practitioner: TS on the "
        f"same candidates earns {means[TS_ON_B0]}; and the training ratings, used directly, earn "
        f"{means[BEST_IN_TRAINING]} by always playing the joke with the best training mean and "
        f"{means[TS_TAUGHT]} by TS that starts with them. No joke played always would earn more than "
        f"{means[BEST_IN_HINDSIGHT]}."
    )
    answered, spent = tables["runs"]["matched"].min(), tables["runs"]["spent"].max()
    sentences.append(
        f"Every run had {answered:,} rounds or more answered, by at most {spent:,} of the test users. Splits "
        "share most of their users: intervals speak of other splits of these users, not of other users."
    )
    return " ".join(sentences)


EXPERIMENT = Experiment(
    id="fig-jester",
    title="Recommending jokes",
    paper=_WHERE,
    setting=_setting,
    compute=split_tables,
    table=_table,
    draw=_draw,
    claims=_claims,
    reading=_reading,
    seconds=5.0,
)
