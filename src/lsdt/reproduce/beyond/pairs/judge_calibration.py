"""What `lsdt.Inquiry` calls probable: how often the best arm is among the arms that it keeps.

Judges of several kinds, most of them not as in the model: with ties at a fixed difference, a position bias,
log odds, or a number of their own for every pair; arms uniform, skewed or in groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.identification import Inquiry
from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.beyond.pairs.noisy_judges import NoisyJudge
from lsdt.reproduce.framework.claims import Claim, at_least, at_most, between, exactly, share_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import on_workers
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_ARMS, _CALLS, _RISKS = 30, (60, 120), (0.1, 0.05)
_MOST_RUNS = 100
_BATCH = 4  # questions at once
_SEED = 3031  # part of every random key, so that no run repeats those used to choose constants
WORLDS: dict[str, dict[str, Any]] = {
    "ties at a fixed difference": {},
    "position bias .1": {"bias": 0.1},
    "log odds (Bradley-Terry)": {"kind": "odds"},
    "a number for every pair": {"kind": "grudges"},
    "skewed means": {"arms": "skewed"},
    "means in groups": {"arms": "groups"},
}
_STEPS = ((0.85, 0.95), (0.95, 1.0 + 1e-9))  # stated probabilities that are looked at together


def _setting(request: Request) -> Setting:
    return {
        "worlds": list(WORLDS),
        "n_arms": 12 if request.quick else _ARMS,
        "calls": [20, 40] if request.quick else list(_CALLS),
        "risks": list(_RISKS),
        "replications": min(request.replications, 5 if request.quick else _MOST_RUNS),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    runs = range(setting["replications"])
    tasks = [
        (setting, work.seed, run, world, risk)
        for risk in setting["risks"]
        for world in setting["worlds"]
        for run in runs
    ]
    return {"runs": pd.DataFrame([row for rows in on_workers(_play, tasks, work) for row in rows])}


def means_of(arms: str, n_arms: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return means: uniform, exponential above .4, or close together in three groups."""
    if arms == "skewed":
        return 0.4 + rng.exponential(0.1, n_arms)
    if arms == "groups":
        return rng.choice([0.4, 0.6, 0.8], n_arms) + rng.normal(0.0, 0.02, n_arms)
    return rng.uniform(0.4, 0.9, n_arms)


def _play(setting: Setting, seed: int, run: int, world: str, risk: float) -> list[dict[str, Any]]:
    """Ask a judge, and note what is stated and what is true after some numbers of answers."""
    rng = np.random.default_rng([seed, run, _SEED, list(WORLDS).index(world)])
    options = dict(WORLDS[world])
    means = means_of(options.pop("arms", ""), setting["n_arms"], rng)
    judge = NoisyJudge(means, rng, **options)
    inquiry = Inquiry(SideInformation(len(means)), "better", risk=risk)
    rows = []
    for calls in setting["calls"]:
        while (room := calls - inquiry.n_answers) > 0 and (asked := inquiry.next(min(_BATCH, room))):
            for a, b in asked.pairs:
                inquiry.tell(a, b, judge(int(a), int(b)))
        found: Any = inquiry.found
        kept = bool(means.argmax() in found.arms)
        behind = float(means.max() - means[found.arms].max())
        rows.append(
            {
                "world": world,
                "risk": risk,
                "run": run,
                "calls": calls,
                "stated": found.probability,
                "kept": kept,
                "behind": behind,
                "left": len(found),
            }
        )
    return rows


def _stated(tables: Tables, low: float, high: float) -> pd.DataFrame:
    runs = tables["runs"]
    return runs[(runs["stated"] >= low) & (runs["stated"] < high)]


def _groups(tables: Tables) -> list[tuple[str, pd.DataFrame]]:
    """Return the sets of every kind of judge and arms at every risk, with a title."""
    return [
        (f"{world}, risk {risk:g}", group)
        for (risk, world), group in tables["runs"].groupby(["risk", "world"], sort=False)
    ]


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    groups = _groups(tables)
    groups += [
        (f"all, stated {low:g} to {min(high, 1):g}", _stated(tables, low, high)) for low, high in _STEPS
    ]
    for name, group in groups:
        if len(group):
            rows.append(
                {
                    "judge and arms": name,
                    "stated": float(group["stated"].mean()),
                    **share_of(group["kept"]).columns("best arm kept"),
                    "arms left": float(group["left"].mean()),
                    "best of these behind the best": float(group["behind"].mean()),
                    "sets": len(group),
                }
            )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots = []
    for name, group in _groups(tables):
        estimate = share_of(group["kept"])
        dots.append(Dot("best arm kept", name, estimate.value, *estimate.ends))
        stated = float(group["stated"].mean())
        dots.append(Dot("stated", name, stated, stated, stated))
    return draw_dots(dots, "probability", "Stated and true", "with 95% intervals")


def _claims(tables: Tables) -> list[Claim]:
    called = _stated(tables, *_STEPS[0])
    share = called["kept"].mean() if len(called) else np.nan
    lost = [
        at_most(f"best arm lost, {name}", share_of(~group["kept"]), float(group["risk"].iloc[0]))
        for name, group in _groups(tables)
    ]
    return [
        Claim(
            "judge-calibrated",
            "Of the sets that have the best arm with a stated probability of about 90% (85 to 95%), 85 to "
            "95% have it, also if the judge is not as in the model.",
            BEYOND_THE_PAPER,
            (
                between("share that has the best arm", exactly(share), 0.85, 0.95),
                at_least("stated sets", exactly(len(called)), 1),
            ),
        ),
        Claim(
            "judge-risk",
            "With every judge, the best arm is lost at most at the accepted risk, of 10 and of 5%.",
            BEYOND_THE_PAPER,
            tuple(lost),
        ),
    ]


def _discussion(tables: Tables) -> str:
    runs = tables["runs"]
    return (
        "On average the sets are said to have the best arm with probability "
        f"{runs['stated'].mean():.3f}, and {runs['kept'].mean():.3f} have it. The probability is that of a "
        "normal law with the tails of Student's; how heavy they are was chosen on other draws."
    )


EXPERIMENT = Experiment(
    id="beyond-pairs-calibration",
    title="How probable is what an inquiry calls probable",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=600.0,
)
