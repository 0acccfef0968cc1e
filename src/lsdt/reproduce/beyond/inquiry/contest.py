"""How many answers it takes until at most ten arms are left, for each kind of answer and three ways to ask.

At first no relation is known. Every way asks the same judge about the same arms, and excludes an arm only by
proof; except that `lsdt.Inquiry` takes better, worse or about equal as evidence, and keeps the arms that have
the best one with probability .95. If answers order arms, each excludes at most one, so no proof can exclude
90 of 100 arms with fewer than 90 answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.beyond.inquiry.askers import WAYS
from lsdt.reproduce.beyond.inquiry.judges import KINDS, Judge
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
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_LOW, _HIGH, _EPSILON = 0.1, 1.0, 0.1  # the paper's setting (Section 6.2.1)
_ARMS, _UNTIL = 100, 10  # as many arms as in the paper; ten are few enough to try them all
_MOST_RUNS = 20  # a candidate set is computed for every answer, so a run takes seconds
_WRONG = 0.05  # of the answers: a guess at a careful judge
_SEED = 17  # part of every random key, so that no run repeats those used to choose constants
OURS = "lsdt.Inquiry"
WRONG = f"{OURS}, one answer in {round(1 / _WRONG)} wrong"
_WRONG_KINDS = ("better", "range")
_LIMITS = {"similar": 600, "better": 250}  # answers: the goals that were set for lsdt.Inquiry


def _setting(request: Request) -> Setting:
    return {
        "kinds": list(KINDS),
        "ways": list(WAYS),
        "kinds_with_wrong_answers": list(_WRONG_KINDS),
        "wrong": _WRONG,
        "n_arms": 20 if request.quick else _ARMS,
        "until": 8 if request.quick else _UNTIL,
        "epsilon": 2.0 * _EPSILON if request.quick else _EPSILON,
        "replications": min(request.replications, 5 if request.quick else _MOST_RUNS),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    games = len(_games(setting))
    tasks = [
        (setting, work.seed, run, game) for run in range(setting["replications"]) for game in range(games)
    ]
    return {"runs": pd.DataFrame(on_workers(_play, tasks, work))}


def _games(setting: Setting) -> list[tuple[str, str, float]]:
    """Return the games of every run: the kind of answers, the way to ask, and the share of wrong answers."""
    games = [(kind, way, 0.0) for kind in setting["kinds"] for way in setting["ways"]]
    return games + [(kind, OURS, setting["wrong"]) for kind in setting["kinds_with_wrong_answers"]]


def _play(setting: Setting, seed: int, run: int, game: int) -> dict[str, Any]:
    """Play one game of a run: ask until few arms are left."""
    key = (seed, run, _SEED)
    kind, way, wrong = _games(setting)[game]
    means: NDArray[np.float64] = np.random.default_rng([*key, 0]).uniform(_LOW, _HIGH, int(setting["n_arms"]))
    judge = Judge(kind, means, setting["epsilon"], (*key, 1), wrong)
    asked = WAYS[way](judge, setting["until"], np.random.default_rng([*key, 2, game]))
    return {
        "kind": kind,
        "way": way if not wrong else WRONG,
        "run": run,
        "answers": asked.answers,
        "left": len(asked.left),
        "kept": bool(means.argmax() in asked.left),
    }


# ---------------------------------------------------------------- what is shown


def _of(tables: Tables, kind: str, way: str) -> pd.DataFrame:
    return rows_at(tables["runs"], kind=kind, way=way)


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (kind, way), group in tables["runs"].groupby(["kind", "way"], sort=False, observed=True):
        rows.append(
            {
                "answers are": KINDS[str(kind)],
                "asked about": way,
                **mean_of(group["answers"]).columns("answers"),
                "median": float(group["answers"].median()),
                "most": int(group["answers"].max()),
                "arms left": float(group["left"].mean()),
                "best arm lost": int((~group["kept"]).sum()),
                "runs": len(group),
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots = []
    for row in _table(tables).itertuples(index=False):
        kind, way, *estimate = row[:5]
        dots.append(Dot(way, kind, estimate[0], *Estimate(*estimate).ends))
    return draw_dots(
        dots,
        "answers until few arms are left",
        "How many answers each way of asking takes",
        f"mean of {tables['runs']['run'].nunique():,} runs, with 95% intervals",
        log=True,
    )


def _claims(tables: Tables) -> list[Claim]:
    few = [
        at_most(f"answers, {KINDS[kind]}", mean_of(_of(tables, kind, OURS)["answers"]), limit)
        for kind, limit in _LIMITS.items()
    ]
    fewer = []
    for kind, title in KINDS.items():
        own = _of(tables, kind, OURS)["answers"]
        for way in WAYS:
            if way != OURS:
                ratio = ratio_of(own, _of(tables, kind, way)["answers"])
                fewer.append(below(f"answers over those about {way}, {title}", ratio, 1.0))
    ranges = ratio_of(_of(tables, "range", OURS)["answers"], _of(tables, "better", OURS)["answers"])
    runs = tables["runs"]
    is_judged = (runs["kind"] == "better") & runs["way"].isin([OURS, WRONG])
    right = runs[(runs["way"] != WRONG) & ~is_judged]
    return [
        Claim(
            "inquiry-few-answers",
            "lsdt.Inquiry leaves at most 10 of 100 arms after at most 600 answers of similar or dissimilar, "
            "and after at most 250 of better, worse or about equal.",
            BEYOND_THE_PAPER,
            tuple(few),
        ),
        Claim(
            "inquiry-fewer-than-others",
            "It takes fewer answers than random pairs and than the most uncertain pairs, with each kind of "
            "answer.",
            BEYOND_THE_PAPER,
            tuple(fewer),
        ),
        Claim(
            "inquiry-ranges",
            "Fewer answers are needed if they say by how much, to within epsilon, than if they say which is "
            "better.",
            BEYOND_THE_PAPER,
            (below("answers by how much over those that say which", ranges, 1.0),),
        ),
        Claim(
            "inquiry-best-kept",
            "If all answers are right, the best arm is never lost by proof; as evidence for lsdt.Inquiry, "
            "better, worse or about equal loses it at most at the stated risk of 5%.",
            BEYOND_THE_PAPER,
            (
                always("runs that keep the best arm, by proof", right["kept"]),
                at_most("best arm lost, as evidence", share_of(~runs[is_judged]["kept"]), 0.05),
            ),
        ),
    ]


def _discussion(tables: Tables) -> str:
    said = []
    for kind, title in KINDS.items():
        counts = [number(_of(tables, kind, way)["answers"].mean()) for way in WAYS]
        named = ", ".join(f"{count} ({way})" for count, way in zip(counts, WAYS, strict=True))
        said.append(f"{title.capitalize()}: {named}")
    return (
        ". ".join(said)
        + ". If answers order arms, each excludes at most one; ranges come close to that, since one answer "
        "places an arm on a common scale."
    )


EXPERIMENT = Experiment(
    id="beyond-inquiry",
    title="Which pair to ask about next",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=115.0,
)
