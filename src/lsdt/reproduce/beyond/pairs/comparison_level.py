"""Better pairs from comparisons, on known truth: how often one is wrong, or the best arm is lost."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.errors import SideWarning
from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.beyond.pairs.noisy_judges import NoisyJudge
from lsdt.reproduce.framework.claims import Claim, at_most, exactly, share_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import on_workers
from lsdt.side_information import from_comparisons

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_ARMS, _LEVEL = 20, 0.05
_EACH = (10, 40)  # comparisons per arm
_DRAWS = 300
_SEED = 4042  # part of every random key
# Half the range of the means around .65, and the kind of judge.
WORLDS: dict[str, tuple[float, dict[str, Any]]] = {
    "log odds (Bradley-Terry)": (0.25, {"kind": "odds"}),
    "log odds, nearly equal arms": (0.001, {"kind": "odds"}),
    "log odds, position bias .1": (0.25, {"kind": "odds", "bias": 0.1}),
    "ties at a fixed difference, one in ten wrong": (0.25, {}),
    "a number for every pair": (0.25, {"kind": "grudges"}),
}
_OUTSIDE = "a number for every pair"  # here comparisons of a pair are not independent: no level is claimed


def _setting(request: Request) -> Setting:
    return {
        "worlds": list(WORLDS),
        "n_arms": 8 if request.quick else _ARMS,
        "each": [10] if request.quick else list(_EACH),
        "replications": 5 if request.quick else _DRAWS,
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    runs = range(setting["replications"])
    tasks = [(setting, work.seed, run, world) for world in setting["worlds"] for run in runs]
    return {"runs": pd.DataFrame([row for rows in on_workers(_play, tasks, work) for row in rows])}


def _play(setting: Setting, seed: int, run: int, world: str) -> list[dict[str, Any]]:
    """Draw arms and comparisons of random pairs in random order, and look for wrong relations."""
    rng = np.random.default_rng([seed, run, _SEED, list(WORLDS).index(world)])
    n_arms = int(setting["n_arms"])
    half, options = WORLDS[world]
    means = 0.65 + half * rng.uniform(-1.0, 1.0, n_arms)
    judge = NoisyJudge(means, rng, **options)
    rows = []
    for each in setting["each"]:
        seen = []
        for _ in range(n_arms * each // 2):
            a, b = rng.choice(n_arms, 2, replace=False).tolist()
            word = judge(a, b)
            winner = "tie" if word == "equal" else a if word == "better" else b
            seen.append({"a": a, "b": b, "winner": winner, "first": a})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SideWarning)  # few comparisons may order nothing
            side = from_comparisons(seen, arm_ids=range(n_arms))
        pairs = [] if side.ranges is None else side.ranges.better_pairs().tolist()
        found = candidate_set(side, progress=False)
        rows.append(
            {
                "world": world,
                "each": each,
                "run": run,
                "wrong": any(means[a] < means[b] for a, b in pairs),
                "lost": bool(means.argmax() not in found.arms),
                "left": len(found),
                "ordered": len(pairs) / (n_arms * (n_arms - 1) / 2),
            }
        )
    return rows


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (world, each), group in tables["runs"].groupby(["world", "each"], sort=False):
        rows.append(
            {
                "judge": world,
                "comparisons per arm": each,
                **share_of(group["wrong"]).columns("a wrong pair"),
                "best arm lost": float(group["lost"].mean()),
                "pairs ordered": float(group["ordered"].mean()),
                "arms left": float(group["left"].mean()),
                "draws": len(group),
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots = []
    for (world, each), group in tables["runs"].groupby(["world", "each"], sort=False):
        estimate = share_of(group["wrong"])
        dots.append(Dot(f"{each} comparisons per arm", str(world), estimate.value, *estimate.ends))
    return draw_dots(dots, "share of draws with a wrong pair", "Better pairs from comparisons", "level .05")


def _claims(tables: Tables) -> list[Claim]:
    wrong, lost = [], []
    for (world, each), group in tables["runs"].groupby(["world", "each"], sort=False):
        if world != _OUTSIDE:
            what = f"{world}, {each} comparisons per arm"
            wrong.append(at_most(f"draws with a wrong pair, {what}", exactly(group["wrong"].mean()), _LEVEL))
            lost.append(at_most(f"best arm lost, {what}", exactly(group["lost"].mean()), _LEVEL))
    return [
        Claim(
            "comparisons-level",
            "A relation from comparisons is wrong in at most 5% of the draws, the stated level.",
            BEYOND_THE_PAPER,
            tuple(wrong),
        ),
        Claim(
            "comparisons-best-kept",
            "The best arm is lost in at most 5% of the draws.",
            BEYOND_THE_PAPER,
            tuple(lost),
        ),
    ]


def _discussion(tables: Tables) -> str:
    outside = tables["runs"][tables["runs"]["world"] == _OUTSIDE]
    return (
        "The level is that of all pairs together, so it is kept with room to spare. If the judge holds a "
        "number of its own for or against every pair, comparisons of one pair are not independent and the "
        "order of two arms need not be that of their means: then "
        f"{outside['wrong'].mean():.3f} of the draws have a wrong pair, and {outside['lost'].mean():.3f} "
        "lose the best arm."
    )


EXPERIMENT = Experiment(
    id="beyond-pairs-comparisons",
    title="Better pairs from wins, losses and ties",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=120.0,
)
