"""Contests with wrong relations: what it costs to trust them, and how often the best arm is lost.

The best arm is *out* in a run if it is never played in the second half of the rounds, which can be measured
for every policy.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt import problems
from lsdt.plotting import Line, Panel, draw_panels
from lsdt.policies import parse_policy
from lsdt.reproduce.beyond.contests.contest import available_words
from lsdt.reproduce.beyond.contests.results import WORST
from lsdt.reproduce.beyond.wrong_relations.wrong_problems import RobustPolicy, WrongProblem
from lsdt.reproduce.framework.claims import CONFIRMED, REFUTED, Check, Claim, mean_of, number, share_of
from lsdt.reproduce.framework.experiment import BEYOND_THE_PAPER, Experiment
from lsdt.reproduce.framework.sampling import note_on_runs, simulate_part, values_at
from lsdt.reproduce.framework.wording import CONTEST_COLOURS, contest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from lsdt.policies import Policy
    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work
    from lsdt.simulation import SimulationResult

WRONG = (0.0, 0.001, 0.01, 0.05)  # shares of the revealed relations, from none to one in twenty
WATCHFUL, CLOSURE = "lsdt_watchful", "lsdt_closure"
_ROBUST = "ts@robust"
_POLICIES = (WATCHFUL, CLOSURE, _ROBUST, "ts", "kl_ucb")
# Fixed before any run: the largest share of wrong relations at which the best arm is claimed to stay, and the
# largest share of runs in which it may be out.
_MOST_WRONG = 0.01
_MOST_OUT = 0.01


def wrong_setting(request: Request, revealed: float | None, wrong: Sequence[float] = WRONG) -> Setting:
    """Return the setting of a contest with wrong relations; ``revealed=None`` reveals near pairs first."""
    return {
        "arms": 100,
        "means": [0.1, 0.9],
        "epsilon": 0.1,
        "rewards": "bernoulli",
        "revealed": "exp(-distance / (2 epsilon))" if revealed is None else revealed,
        "wrong": [0.0, _MOST_WRONG] if request.quick else list(wrong),
        "horizon": 10_000,
        "policies": [word for word in _POLICIES if word == _ROBUST or available_words([word])],
        "replications": request.replications,
        "fixed_draw": request.fixed_draw,
    }


def play_wrong(setting: Setting, work: Work) -> Tables:
    """Play all policies at every share of wrong relations; record regret and late plays of the best arm."""
    import pandas as pd

    parts, count = [], len(setting["wrong"])
    for place, wrong in enumerate(setting["wrong"]):
        parts.append(_play(setting, wrong, work.stretch(place / count, (place + 1) / count)))
    runs = pd.concat(parts, ignore_index=True)
    times = runs.groupby(["wrong", "policy"], sort=False, observed=True)["us_per_step"].median().reset_index()
    return {"runs": runs.drop(columns="us_per_step"), "times": times}


def _policies(setting: Setting) -> list[Policy]:
    return [RobustPolicy("ts") if word == _ROBUST else parse_policy(word) for word in setting["policies"]]


def name_of_word(setting: Setting, word: str) -> str:
    """Return the display name of a policy, given its string."""
    if word == _ROBUST:
        return "TS on robust triangles"
    return contest_name(parse_policy(word), problems.uniform(rewards=setting["rewards"]).rewards.model, False)


def _problem(setting: Setting, wrong: float) -> WrongProblem:
    low, high = setting["means"]
    complete = problems.uniform(
        setting["arms"], low, high, setting["epsilon"], setting["rewards"], fixed=setting["fixed_draw"]
    )
    share = setting["revealed"]
    return WrongProblem(complete, share if isinstance(share, float) else None, wrong)


def _play(setting: Setting, wrong: float, work: Work) -> pd.DataFrame:
    import pandas as pd

    problem = _problem(setting, wrong)
    best = np.array([problem.draw(work.seed, run).means.argmax() for run in range(setting["replications"])])
    result = _simulate(setting, problem, work)
    frames = []
    for word, label in zip(setting["policies"], result.policies, strict=True):
        on_best = result.plays(label)[np.arange(len(best)), best]
        frames.append(
            pd.DataFrame(
                {
                    "wrong": wrong,
                    "word": word,
                    "policy": name_of_word(setting, word),
                    "run": np.arange(len(best)),
                    "regret": result.regret(label)[:, -1],
                    "best_late": on_best,
                    "out": on_best == 0,
                    "us_per_step": 1e6 * result.seconds(label)[1] / setting["horizon"],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def _simulate(setting: Setting, problem: WrongProblem, work: Work) -> SimulationResult:
    """Simulate, counting the plays of the second half; warnings about contradictions are expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate_part(
            problem,
            _policies(setting),
            work,
            plays=True,
            horizon=setting["horizon"],
            replications=setting["replications"],
            checkpoints=1,
            plays_after=setting["horizon"] // 2,
            progress=work.done,
        )


def _at(tables: Tables, wrong: float, policy: str, column: str) -> NDArray[np.float64]:
    return values_at(tables["runs"], column, wrong=wrong, policy=policy)


def _shares(tables: Tables) -> list[float]:
    return [float(value) for value in tables["runs"]["wrong"].unique()]


def _names(tables: Tables) -> dict[str, str]:
    """Return the display name of every policy, by its string."""
    rows = tables["runs"].drop_duplicates("word")
    return {str(word): str(name) for word, name in zip(rows["word"], rows["policy"], strict=True)}


def wrong_standings(tables: Tables) -> pd.DataFrame:
    """Return regret with its interval and worst case, and how often the best arm is out."""
    import pandas as pd

    steps = tables["times"].set_index(["wrong", "policy"])["us_per_step"]
    rows = []
    for wrong in _shares(tables):
        for name in _names(tables).values():
            regret, out = (_at(tables, wrong, name, column) for column in ("regret", "out"))
            share = share_of(out)
            rows.append(
                {
                    "wrong (%)": 100.0 * wrong,
                    "policy": name,
                    **mean_of(regret).columns("regret"),
                    "95% of runs below": float(np.quantile(regret, WORST)),
                    "best arm out (%)": 100.0 * share.value,
                    "out, from (%)": 100.0 * share.low,
                    "out, to (%)": 100.0 * share.high,
                    "us per step": float(steps[wrong, name]),
                }
            )
    return pd.DataFrame(rows)


def draw_wrong(tables: Tables, title: str) -> Figure:
    """Draw regret, worst case, and how often the best arm is out, by the share of wrong relations."""
    shares = _shares(tables)
    places = list(range(len(shares)))
    shown: tuple[list[Line], ...] = ([], [], [])
    for word, name in _names(tables).items():
        colour = CONTEST_COLOURS["ts@paper" if word == _ROBUST else word]
        regret = [_at(tables, wrong, name, "regret") for wrong in shares]
        mean = [mean_of(values) for values in regret]
        low, high = zip(*(it.ends for it in mean), strict=True)
        out = [100.0 * _at(tables, wrong, name, "out").mean() for wrong in shares]
        worst = [float(np.quantile(values, WORST)) for values in regret]
        middle = [it.value for it in mean]
        shown[0].append(Line(name, places, middle, low, high, points=True, colour=colour))
        shown[1].append(Line(name, places, worst, points=True, colour=colour))
        shown[2].append(Line(name, places, out, points=True, colour=colour))
    ticks = [(float(place), f"{100 * wrong:g}") for place, wrong in zip(places, shares, strict=True)]
    labels = ("mean regret", "95% of the runs are below", "runs with the best arm out (%)")
    panels = [
        Panel(lines, "wrong relations (%)", label, x_ticks=ticks)
        for lines, label in zip(shown, labels, strict=True)
    ]
    return draw_panels(panels, title, note_on_runs(tables["runs"]["run"]))


def best_arm_claims(tables: Tables, name: str, where: str) -> list[Claim]:
    """Return the claim that the watchful policy keeps the best arm when few relations are wrong."""
    names = _names(tables)
    if WATCHFUL not in names:
        return []
    checks: tuple[Check, ...] = tuple(
        _best_arm_check(
            f"runs of {names[WATCHFUL]} with the best arm out, {100 * wrong:g}% of the relations wrong",
            _at(tables, wrong, names[WATCHFUL], "out"),
        )
        for wrong in _shares(tables)
        if wrong <= _MOST_WRONG
    )
    text = (
        f"{where}, the best arm is out in at most {_MOST_OUT:.0%} of the runs of LSDT-Watchful when at most "
        f"{_MOST_WRONG:.0%} of the relations are wrong (read: of the runs played, not of all possible runs)."
    )
    return [Claim(name, text, BEYOND_THE_PAPER, checks)]


def _best_arm_check(what: str, out: NDArray[np.float64]) -> Check:
    """Check that the best arm is out in few of these runs; the interval is shown with the count."""
    share, few = share_of(out), bool(out.mean() <= _MOST_OUT)
    told = f"{int(out.sum())} of {len(out)} ({share.low:.1%} to {share.high:.1%})"
    return Check(what, share, f"at most {_MOST_OUT:.0%} of them", CONFIRMED if few else REFUTED, told)


def wrong_discussion(tables: Tables) -> str:
    """Return a text on how much each policy loses, and how often it loses the best arm."""
    said = []
    for wrong in _shares(tables):
        order = sorted(_names(tables).values(), key=lambda name: _at(tables, wrong, name, "regret").mean())
        told = ", ".join(
            f"{name} {number(_at(tables, wrong, name, 'regret').mean())} and "
            f"{_at(tables, wrong, name, 'out').mean():.1%}"
            for name in order
        )
        said.append(f"With {100 * wrong:g}% of the relations wrong: {told}.")
    return (
        "Regret at the end, lowest first, and the share of runs in which the best arm is out, that is, never "
        f"played in the second half of the rounds. {' '.join(said)}"
    )


class _WrongContest(NamedTuple):
    """One contest: its titles, setting and claim, and its approximate running time."""

    title: str
    figure: str
    setting: Callable[[Request], Setting]
    claim: str
    where: str  # how the claim begins
    seconds: float


_CONTESTS = {
    "beyond-wrong": _WrongContest(
        "Relations that are wrong",
        "100 arms, half of the relations revealed, some of them wrong; 10,000 rounds",
        partial(wrong_setting, revealed=0.5),
        "watchful-keeps-the-best",
        "When half of the relations are revealed",
        150.0,
    ),
    "beyond-distance": _WrongContest(
        "Relations that are wrong, near pairs revealed first",
        "100 arms, near pairs revealed first, some relations wrong; 10,000 rounds",
        partial(wrong_setting, revealed=None, wrong=(0.0, 0.01)),
        "watchful-keeps-the-best-near",
        "When near pairs are revealed more often",
        75.0,
    ),
}

EXPERIMENTS = {
    name: Experiment(
        id=name,
        title=contest.title,
        paper=BEYOND_THE_PAPER,
        setting=contest.setting,
        compute=play_wrong,
        table=wrong_standings,
        draw=partial(draw_wrong, title=contest.figure),
        claims=partial(best_arm_claims, name=contest.claim, where=contest.where),
        discussion=wrong_discussion,
        seconds=contest.seconds,
    )
    for name, contest in _CONTESTS.items()
}
