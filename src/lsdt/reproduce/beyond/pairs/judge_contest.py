"""Prompts compared by a judge, then tried: within .03 of the best, with a judge who errs in four ways.

Arms have a probability of success, uniform in [.4, .9]. A judge is asked about 600 pairs, then arms are tried
600 times. `lsdt.Inquiry` chooses the pairs, keeps the arms that have the best one with probability .95, and
`lsdt.identify` tries these. Its rivals: the arms with the most wins in as many random pairs, then successive
halving; and successive halving without a judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.identification import Inquiry, identify
from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.beyond.pairs.noisy_judges import NoisyJudge, halving, win_counts
from lsdt.reproduce.framework.claims import (
    Claim,
    above,
    always,
    at_least,
    at_most,
    exactly,
    mean_of,
    share_of,
)
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import on_workers, rows_at
from lsdt.side_information import SideInformation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_LOW, _HIGH, _ARMS, _NEAR = 0.4, 0.9, 120, 0.03
_CALLS, _TRIES = 600, 600
_BATCH = 10  # questions at once
_MOST_RUNS = 100
_SEED = 2026  # part of every random key, so that no run repeats those used to choose constants
# Arms that go on after win counts: of 4, 8, 12, 16 and 30, the best on 200 other draws for every judge.
_KEPT = 8
JUDGES = {
    "independent errors": {"bias": 0.0, "kind": ""},
    "position bias .04": {"bias": 0.04, "kind": ""},
    "position bias .1": {"bias": 0.1, "kind": ""},
    "repeats itself": {"bias": 0.0, "kind": "repeats"},
}
OURS, COUNTS, ALONE = "lsdt.Inquiry, then identify", "win counts, then halving", "halving, no judge"


def _setting(request: Request) -> Setting:
    return {
        "judges": list(JUDGES),
        "n_arms": 20 if request.quick else _ARMS,
        "calls": 60 if request.quick else _CALLS,
        "tries": 200 if request.quick else _TRIES,
        "kept": _KEPT,
        "replications": min(request.replications, 5 if request.quick else _MOST_RUNS),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    tasks = [
        (setting, work.seed, run, judge)
        for judge in setting["judges"]
        for run in range(setting["replications"])
    ]
    rows = [row for rows in on_workers(_play, tasks, work) for row in rows]
    return {"runs": pd.DataFrame(rows)}


def _play(setting: Setting, seed: int, run: int, judge: str) -> list[dict[str, Any]]:
    """Play one run: every way asks the same judge about the same arms."""
    number = list(JUDGES).index(judge)
    rng = np.random.default_rng([seed, run, _SEED])
    means: NDArray[np.float64] = rng.uniform(_LOW, _HIGH, int(setting["n_arms"]))
    rows = []
    for way, play in ((OURS, _ours), (COUNTS, _counts), (ALONE, _alone)):
        coins = np.random.default_rng([seed, run, _SEED, number, 1])
        asked = NoisyJudge(means, coins, **JUDGES[judge])  # type: ignore[arg-type]
        arm, facts = play(setting, means, asked, np.random.default_rng([seed, run, _SEED, number, 2]))
        gap = float(means.max() - means[arm])
        rows.append({"judge": judge, "way": way, "run": run, "gap": gap, "near": gap <= _NEAR, **facts})
    return rows


def _ours(
    setting: Setting, means: Any, judge: NoisyJudge, rng: np.random.Generator
) -> tuple[int, dict[str, Any]]:
    n_arms, calls = len(means), setting["calls"]
    inquiry = Inquiry(SideInformation(n_arms), "better")
    while (room := calls - inquiry.n_answers) > 0 and (asked := inquiry.next(min(_BATCH, room))):
        for a, b in asked.pairs:
            inquiry.tell(a, b, judge(int(a), int(b)))
    found: Any = inquiry.found
    arms = np.sort(found.arms)
    facts = {
        "calls": inquiry.n_answers,
        "left": len(arms),
        "kept": bool(means.argmax() in arms),
        "collapsed": len(arms) == n_arms,
    }
    if len(arms) == 1:
        return int(arms[0]), facts
    known = inquiry.side.subset(arms.tolist())
    best = identify(
        lambda arm: float(rng.random() < means[arms[arm]]),
        known,
        delta=None,
        tolerance=_NEAR,
        budget=setting["tries"],
        seed=int(rng.integers(2**31)),
        progress=False,
    )
    return int(arms[best.arm]), facts


def _counts(
    setting: Setting, means: Any, judge: NoisyJudge, rng: np.random.Generator
) -> tuple[int, dict[str, Any]]:
    kept = win_counts(judge, len(means), setting["calls"], rng)[: setting["kept"]]
    facts = {
        "calls": setting["calls"],
        "left": len(kept),
        "kept": bool(means.argmax() in kept),
        "collapsed": False,
    }
    return halving(means, kept, setting["tries"], rng), facts


def _alone(
    setting: Setting, means: Any, _judge: NoisyJudge, rng: np.random.Generator
) -> tuple[int, dict[str, Any]]:
    arm = halving(means, np.arange(len(means)), setting["tries"], rng)
    return arm, {"calls": 0, "left": len(means), "kept": True, "collapsed": False}


# ---------------------------------------------------------------- what is shown


def _of(tables: Tables, judge: str, way: str) -> pd.DataFrame:
    return rows_at(tables["runs"], judge=judge, way=way)


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (judge, way), group in tables["runs"].groupby(["judge", "way"], sort=False, observed=True):
        rows.append(
            {
                "judge": judge,
                "way": way,
                **share_of(group["near"]).columns("within .03"),
                "mean distance": float(group["gap"].mean()),
                "largest": float(group["gap"].max()),
                "calls": float(group["calls"].mean()),
                "arms left": float(group["left"].mean()),
                "best arm lost": int((~group["kept"]).sum()),
                "collapsed": int(group["collapsed"].sum()),
                "runs": len(group),
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots = []
    for (judge, way), group in tables["runs"].groupby(["judge", "way"], sort=False, observed=True):
        estimate = share_of(group["near"])
        dots.append(Dot(str(way), str(judge), estimate.value, *estimate.ends))
    return draw_dots(
        dots,
        "share of runs that end within .03 of the best arm",
        "A judge, then tries",
        f"{tables['runs']['run'].nunique():,} runs, with 95% intervals",
    )


def _claims(tables: Tables) -> list[Claim]:
    first, *others = list(JUDGES)
    ours = tables["runs"][tables["runs"]["way"] == OURS]
    harder = [
        at_least(f"within .03, {judge}", exactly(_of(tables, judge, OURS)["near"].mean()), 0.9)
        for judge in others
    ]
    ahead = [
        at_least(
            f"share within .03 minus that of win counts, {judge}",
            exactly(_of(tables, judge, OURS)["near"].mean() - _of(tables, judge, COUNTS)["near"].mean()),
            0.0,
        )
        for judge in JUDGES
    ]
    apart = [
        above(
            f"distance of win counts minus that of lsdt.Inquiry, {judge}",
            mean_of(
                _of(tables, judge, COUNTS)["gap"].to_numpy() - _of(tables, judge, OURS)["gap"].to_numpy()
            ),
            0.0,
        )
        for judge in JUDGES
    ]
    lost = [
        at_most(f"best arm lost, {judge}", exactly(1.0 - _of(tables, judge, OURS)["kept"].mean()), 0.05)
        for judge in JUDGES
    ]
    return [
        Claim(
            "judge-independent",
            "With independent errors, at least 95 of 100 runs end within .03 of the best arm, after at most "
            "760 calls of the judge.",
            BEYOND_THE_PAPER,
            (
                at_least("runs within .03", exactly(_of(tables, first, OURS)["near"].mean()), 0.95),
                at_most("calls", exactly(ours["calls"].max()), 760),
            ),
        ),
        Claim(
            "judge-biased",
            "With a position bias of .04 or .1, and with a judge that repeats itself, at least 90 of 100 do, "
            "and no inquiry collapses.",
            BEYOND_THE_PAPER,
            (*harder, always("runs that leave fewer arms than there were", ~ours["collapsed"])),
        ),
        Claim(
            "judge-ahead",
            "It is never behind win counts with halving at the same calls, and ends nearer to the best arm.",
            BEYOND_THE_PAPER,
            (*ahead, *apart),
        ),
        Claim(
            "judge-best-kept",
            "The best arm is lost at most as often as the stated risk, 5%.",
            BEYOND_THE_PAPER,
            tuple(lost),
        ),
    ]


def _discussion(tables: Tables) -> str:
    said = []
    for judge in JUDGES:
        shares = [f"{_of(tables, judge, way)['near'].mean():.2f} ({way})" for way in (OURS, COUNTS, ALONE)]
        left = _of(tables, judge, OURS)["left"].mean()
        said.append(f"{judge.capitalize()}: {', '.join(shares)}; {left:.1f} arms were left to try")
    return (
        ". ".join(said)
        + ". The judge's answers are evidence for strengths on one scale: an arm that is about "
        "equal to the favourite is told from it by comparing both with an arm at the distance where answers "
        "change, so few arms need to be tried."
    )


EXPERIMENT = Experiment(
    id="beyond-pairs-judge",
    title="Arms compared by a judge who errs",
    paper=BEYOND_THE_PAPER,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=1500.0,
)
