"""The settings of the contest on graphs: problems, policies, and constants tuned in favour of the rivals.

Tuned constants have the least mean regret of a grid on other problems (seed 1; 50 runs, 20 with 1,000 arms,
10 of C-UCB and D-UCB): ``laplacian_ucb`` alpha of .03, .1, .2, .4, .7, 1, 1.4, ``spectral_ts`` width of .2,
.35, .5, .7, 1, 1.4, both with ridge .01, the default, or with a ridge of .01, .1, .3, 1, 3, which is *tuned
with ridge*; ``ucb1`` alpha of .03, .1, .25, .5, 1; C-UCB and D-UCB factor of .02, .05, .1, .15, .2, .3, 1.

Published constants are delta .001 and a norm that bounds that of the means (1, or 7 with jittered means). The
width of SpectralTS is then ``sqrt(6 d log((ridge + T) / (delta ridge))) + norm / sigma``, d the effective
dimension: 11 with clusters, 2 on candidates at the two ends of an order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lsdt import problems
from lsdt.problems import rewards
from lsdt.reproduce.beyond.graphs.clusters import ClusterProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsdt.problems import Problem

OURS = ("lsdt_posterior", "lsdt_closure", "soft_closure")
_ON = "@propagation"


class RegretSetting(NamedTuple):
    """A setting: its title, its problem by the number of arms, rounds, policies by name, tuned factors.

    ``factors`` are the constants of C-UCB and D-UCB, which see rewards of similar arms; empty if they do not
    play.
    """

    title: str
    problem: Callable[[int], Problem]
    arms: int
    rounds: int
    words: dict[str, str]
    factors: dict[str, float] = {}  # noqa: RUF012 - never changed


def _clusters(**shape: Any) -> Callable[[int], Problem]:
    return lambda arms: ClusterProblem(**shape)


def _words(
    on: str, norm: float, width: float, alpha: str, ridged: str, spread: str, widened: str, ucb1: str
) -> dict[str, str]:
    """Return the policies of a setting: three of ours and the rivals with published and tuned constants."""
    everywhere = dict.fromkeys(("ckl_ucb", "clustered_ts", "ts", "ucb1")) if not on else {"ts": None}
    candidates = {f"{name}{on}": None for name in ("ckl_ucb", "clustered_ts", "ts", "ucb1") if on}
    return {
        **{name: name for name in (*OURS, *everywhere, *candidates)},
        "laplacian_ucb, published": f"laplacian_ucb{on}:radius=determinant,norm={norm:g}",
        "laplacian_ucb, tuned": f"laplacian_ucb{on}:alpha={alpha}",
        "laplacian_ucb, tuned with ridge": f"laplacian_ucb{on}:{ridged}",
        "spectral_ts, published": f"spectral_ts{on}:width={width:g}",
        "spectral_ts, tuned": f"spectral_ts{on}:width={spread}",
        "spectral_ts, tuned with ridge": f"spectral_ts{on}:{widened}",
        "ucb1, tuned": f"ucb1{on}:alpha={ucb1}",
    }


_EQUAL = _words("", 1, 36, ".4", "alpha=1,ridge=3", ".7", "width=.7,ridge=3", ".1")
_JITTERED = _words("", 7, 42, ".4", "alpha=1,ridge=3", ".7", "width=.7,ridge=3", ".1")
_TOGETHER = _words("", 1, 36, ".4", "alpha=.4,ridge=.01", ".7", "width=.7,ridge=.1", ".1")
_PAPER = _words(_ON, 1, 16, "1", "alpha=.7,ridge=1", ".7", "width=.5,ridge=3", "1")
_GAUSSIAN = _words(_ON, 1, 18, ".4", "alpha=.2,ridge=.3", ".2", "width=1,ridge=3", ".1")
_BERNOULLI = _words(_ON, 1, 18, ".03", "alpha=.03,ridge=.1", ".2", "width=.2,ridge=.3", ".03")
_JITTER = {"epsilon": 0.05, "jitter": 0.02}

ARENAS = {
    "cliques": RegretSetting("cliques, similar only", _clusters(), 101, 2_000, _EQUAL),
    "cliques-both": RegretSetting("cliques, both", _clusters(dissimilar=True), 101, 2_000, _EQUAL),
    "jittered": RegretSetting("jittered, similar only", _clusters(**_JITTER), 101, 2_000, _JITTERED),
    "jittered-both": RegretSetting(
        "jittered, both", _clusters(**_JITTER, dissimilar=True), 101, 2_000, _JITTERED
    ),
    "together": RegretSetting("best arm in a clique", _clusters(lone=False), 110, 2_000, _TOGETHER),
    # A tenth of the published numbers of arms and rounds, and ten times the published epsilon, .01: as many
    # similar arms as there. Means and sigma are the published ones.
    "qi-gaussian": RegretSetting(
        "Qi, Gaussian",
        lambda arms: problems.uniform(arms, -3.0, 3.0, 0.1, rewards.gaussian(sigma=0.5)),
        1_000,
        10_000,
        _GAUSSIAN,
        {"C-UCB": 0.1, "D-UCB": 0.02},
    ),
    "qi-bernoulli": RegretSetting(
        "Qi, Bernoulli",
        lambda arms: problems.uniform(arms, 0.0, 1.0, 0.1, "bernoulli"),
        1_000,
        10_000,
        _BERNOULLI,
        {"C-UCB": 0.02, "D-UCB": 0.02},
    ),
    "complete": RegretSetting(
        "complete, connected",
        lambda arms: problems.uniform(arms, 0.1, 1.0, 0.1, connected=True),
        100,
        1_000,
        _PAPER,
    ),
}
