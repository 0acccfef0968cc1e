"""Recommending jokes: policies replayed on the Jester ratings, or on synthetic ratings like them.

The paper trains on 5% of the users with alpha 0.2 and on 10% with alpha 0.1, so two things change at once. A
control, 5% with alpha 0.1, separates their effects; no claim is judged on it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from lsdt.plotting import Dot, draw_dots
from lsdt.ratings import LOOK_ALIKE, USERS, file_fingerprint, load_jester, where_to_get_jester
from lsdt.reproduce.framework.claims import (
    Claim,
    above,
    at_least,
    at_most,
    below,
    between,
    deviation_ratio,
    exactly,
    mean_of,
    number,
    share_of,
)
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import rows_at, values_at
from lsdt.reproduce.framework.wording import LSDT_PSI, TS_ON_B0, UCB1, UCB1_ON_B0, with_interval
from lsdt.reproduce.paper.jester.jester_grid import grid_claim, shapes_of
from lsdt.reproduce.paper.jester.jester_splits import (
    BEST_IN_HINDSIGHT,
    BEST_IN_TRAINING,
    INFORMED,
    NAMED,
    OTHERS,
    TS_PRIOR,
    check_sizes,
    split_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.claims import Check, Estimate
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables

_WHERE = "Fig. 8, Section 6.3"
_RIVALS = tuple(label for label in NAMED if label != LSDT_PSI)
_FEW = 50  # candidates: our reading of a search that works leaves fewer than half of the jokes
_SEARCHED = {
    "epsilon": "epsilon chosen",
    "candidates": "candidates left",
    "similar": "similar pairs",
    "dissimilar": "dissimilar pairs",
    "unknown": "unknown pairs",
    "best_kept": "share of splits that keep the best joke",
}


def _setting(request: Request) -> Setting:
    most = 5 if request.quick else 50 if request.replications >= 1000 else 20
    if request.jester is None:
        data = {"name": LOOK_ALIKE, "sha256": None, "users": USERS}
    else:
        data = {"name": request.jester.name, "sha256": file_fingerprint(request.jester)}
    return {
        "data": data,
        "training": [
            {"share": 0.05, "alpha": 0.2, "control": False},
            {"share": 0.1, "alpha": 0.1, "control": False},
            {"share": 0.05, "alpha": 0.1, "control": True},
        ],
        "test_users": 20_000,
        "horizon": 4_000,
        "splits": min(request.replications, most),
        "lambda": 1 / 32,
        "start": 0.01,
        "resolution": 0.01,
        "rewards": "ratings from 0 to 1, known to be bounded: sigma 1/2",
        "ckl_ucb": "squared difference as divergence; with and without a floor at the arm's mean",
    }


def _check(request: Request) -> None:
    """Raise an error if the file has too few users or ratings for a split."""
    if request.jester is not None:
        check_sizes(load_jester(request.jester), _setting(request))


class _Training(NamedTuple):
    """A way to train: the share of the users, and alpha."""

    training: float
    alpha: float

    def __str__(self) -> str:
        return f"{self.training:.0%} of users, alpha {self.alpha:g}"


def _groups(tables: Tables, control: bool = False) -> list[_Training]:
    """Return the paper's ways to train, from less to more data, or only the control."""
    rows = tables["searches"]
    rows = rows[rows["control"] == control]
    return sorted(_Training(*pair) for pair in set(zip(rows["training"], rows["alpha"], strict=True)))


def _ratings(tables: Tables, label: str, group: _Training) -> NDArray[np.float64]:
    """Return a policy's mean rating per user, split by split."""
    return values_at(tables["runs"], "rating", policy=label, **group._asdict())


def _ahead(tables: Tables, first: str, second: str, group: _Training) -> Estimate:
    """Return how much more a policy earns than another, paired by split."""
    return mean_of(_ratings(tables, first, group) - _ratings(tables, second, group))


def _synthetic(tables: Tables) -> bool:
    return bool(tables["data"]["synthetic"].iloc[0])


def _policies_by_group(tables: Tables) -> list[tuple[_Training, tuple[str, ...]]]:
    """Return all ways to train, each with the policies replayed on it."""
    paper, control = _groups(tables), _groups(tables, control=True)
    return [*((group, (*NAMED, *OTHERS)) for group in paper), *((group, INFORMED) for group in control)]


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for group, labels in _policies_by_group(tables):
        for label in labels:
            earned, ahead = _ratings(tables, label, group), _ahead(tables, label, LSDT_PSI, group)
            rows.append(_row(f"rating: {label}", group, earned, mean_of(earned), ahead))
        for column, words in _SEARCHED.items():
            values = values_at(tables["searches"], column, **group._asdict())
            estimate = share_of(values) if column == "best_kept" else mean_of(values)
            rows.append(_row(words, group, values, estimate))
    return pd.DataFrame(rows)


def _row(
    what: str,
    group: _Training,
    values: NDArray[np.float64],
    estimate: Estimate,
    ahead: Estimate | None = None,
) -> dict[str, float | str]:
    gap = (math.nan,) * 3 if ahead is None else ahead
    return {
        "trained on": str(group),
        "what": what,
        **estimate.columns("mean"),
        "deviation": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
        "minus LSDT-PSI": gap[0],
        "gap low": gap[1],
        "gap high": gap[2],
    }


def _draw(tables: Tables) -> Figure:
    dots = []
    for group, labels in _policies_by_group(tables):
        control = " (control)" if group in _groups(tables, control=True) else ""
        for label in labels:
            mean = mean_of(_ratings(tables, label, group))
            name = f"{group.training:.0%}, alpha {group.alpha:g}{control}"
            dots.append(Dot(label, name, mean.value, *mean.ends))
    splits = tables["searches"]["run"].nunique()
    name = LOOK_ALIKE if _synthetic(tables) else "Jester"
    note = f"mean of {splits} splits of the users, 95% intervals" if splits > 1 else "one split: no intervals"
    return draw_dots(
        dots,
        "average rating per user, one joke each, on the scale from -10 to 10",
        f"Jokes recommended to new users ({name})",
        f"{note}; above the line the policies that the paper names; groups: share of users trained on",
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
            f"{on}LSDT-PSI varies little from run to run, compared with the others (read: its standard "
            "deviation over splits is not above that of each rival).",
            _WHERE,
            tuple(_variation_checks(tables)),
        ),
        Claim(
            "jester-more-training",
            f"{on}more training data, with the smaller alpha it allows, improves LSDT-PSI and UCB1 on B0.",
            _WHERE,
            tuple(_training_checks(tables)),
        ),
        Claim(
            "jester-epsilon-search",
            f"{on}searching for the epsilon with the fewest candidates works (read: fewer than {_FEW} of the "
            "100 jokes are left, UCB1 earns more on them than on all, and the best joke is among them in "
            "more than half of the splits).",
            _WHERE,
            tuple(_search_checks(tables)),
        ),
        grid_claim(tables, on, _groups(tables), "Section 6.3"),
        *([] if _synthetic(tables) else [_size_claim(tables)]),
    ]


def _size_claim(tables: Tables) -> Claim:
    data = tables["data"].iloc[0]
    return Claim(
        "jester-size",
        "The Jester ratings are those of 25,000 users (read: to the nearest thousand), and 34% of them or "
        "more rated every joke.",
        "Section 6.3",
        (
            between("users", exactly(data["users"]), 24_500, 25_499),
            at_least("smallest share of users who rated a joke", exactly(data["least_rated"]), 0.34),
        ),
    )


def _best_checks(tables: Tables) -> Iterator[Check]:
    for group in _groups(tables):
        for rival in _RIVALS:
            yield above(
                f"rating of LSDT-PSI minus {rival}, {group}", _ahead(tables, LSDT_PSI, rival, group), 0.0
            )


def _variation_checks(tables: Tables) -> Iterator[Check]:
    for group in _groups(tables):
        for rival in _RIVALS:
            ratio = deviation_ratio(_ratings(tables, LSDT_PSI, group), _ratings(tables, rival, group))
            yield at_most(f"deviation of LSDT-PSI over that of {rival}, {group}", ratio, 1.0)


def _gain(tables: Tables, label: str, less: _Training, more: _Training) -> Estimate:
    return mean_of(_ratings(tables, label, more) - _ratings(tables, label, less))


def _training_checks(tables: Tables) -> Iterator[Check]:
    less, more = _groups(tables)
    for label in (LSDT_PSI, UCB1_ON_B0):
        yield above(f"rating of {label}, {more} minus {less}", _gain(tables, label, less, more), 0.0)


def _search_checks(tables: Tables) -> Iterator[Check]:
    for group in _groups(tables):
        left = values_at(tables["searches"], "candidates", **group._asdict())
        kept = values_at(tables["searches"], "best_kept", **group._asdict())
        yield below(f"candidates left of 100, {group}", mean_of(left), _FEW)
        gain = _ahead(tables, UCB1_ON_B0, UCB1, group)
        yield above(f"rating of UCB1 on B0 minus UCB1 on all, {group}", gain, 0.0)
        yield above(f"share of splits that keep the best joke, {group}", share_of(kept), 0.5)


def _discussion(tables: Tables) -> str:
    data = tables["data"].iloc[0]
    paragraphs = [
        f"Ratings: {data['data']}, {data['users']:,} users, every joke rated by {data['least_rated']:.1%} of "
        "them or more."
    ]
    if _synthetic(tables):
        paragraphs.append(
            "These are synthetic ratings that look like Jester's, not Jester: they show how the part works, "
            f"not what the data say. {where_to_get_jester()}"
        )
    searches = [_search_discussion(tables, group) for group, _ in _policies_by_group(tables)]
    paragraphs += [_policy_discussion(tables), " ".join(searches), _control_discussion(tables)]
    answered, spent = int(tables["runs"]["matched"].min()), int(tables["runs"]["spent"].max())
    paragraphs.append(
        f"At least {answered:,} rounds were answered in every run, by at most {spent:,} of the test users. "
        "Splits share most of their users: intervals are about other splits of these users, not about other "
        "users."
    )
    return "\n\n".join(paragraphs)


def _search_discussion(tables: Tables, group: _Training) -> str:
    searches, shapes = tables["searches"], shapes_of(tables, *group)
    found = rows_at(searches, **group._asdict())
    epsilon, left = (number(found[column].mean()) for column in ("epsilon", "candidates"))
    kept = int(found["best_kept"].sum())
    return (
        f"Trained on {group}, the search takes epsilon {epsilon} and leaves {left} of 100 jokes, on average, "
        f"and the truly best one (over all users) in {kept} of {len(found)} splits. Over all of the grid "
        f"|B0| has one valley in {int(shapes['one_valley'].sum())} splits, and the search is at its minimum "
        f"in {int(shapes['reached'].sum())}, beyond it by {number(shapes['beyond'].mean())} on average."
    )


def _policy_discussion(tables: Tables) -> str:
    more = _groups(tables)[-1]
    means = {label: number(_ratings(tables, label, more).mean()) for label in (*NAMED, *OTHERS)}
    return (
        f"On {more}, LSDT-PSI earns {means[LSDT_PSI]} per user. TS on the same candidates, which the paper "
        f"does not name here, earns {means[TS_ON_B0]}. The training ratings, used directly, earn "
        f"{means[BEST_IN_TRAINING]} by always playing the joke with the best training mean and "
        f"{means[TS_PRIOR]} by TS that starts with them. The joke with the best mean of the test users, "
        f"always played, earns {means[BEST_IN_HINDSIGHT]}."
    )


def _control_discussion(tables: Tables) -> str:
    less, more = _groups(tables)
    parts = []
    for control in _groups(tables, control=True):
        alone, rest = _gain(tables, LSDT_PSI, less, control), _gain(tables, LSDT_PSI, control, more)
        parts.append(
            f"The paper changes alpha along with the training data. The control, {control}, separates the "
            f"two: the smaller alpha alone changes the rating of LSDT-PSI by {with_interval(alone)}, and the "
            f"additional users then change it by {with_interval(rest)}."
        )
    return " ".join(parts)


EXPERIMENT = Experiment(
    id="fig-jester",
    title="Recommending jokes",
    paper=_WHERE,
    setting=_setting,
    compute=split_tables,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=10.0,
    check=_check,
)
