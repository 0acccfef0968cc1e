"""Theorem 5: how often the triangle rule leaves an arm that complete information excludes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import Dot, draw_dots
from lsdt.reproduce.framework.claims import Claim, Estimate, always, at_most, number, share_of_counts
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.theorems.block_graphs import block_means, least_product
from lsdt.side_information import SideInformation, from_means
from lsdt.theory import check_assumptions

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

# Classes three quarters of epsilon apart: each is similar to its two neighbours only, the fewest witnesses.
_STEP = 0.75
_WHERE = "Theorem 5, Section 4.1, Appendix G"
_PATH = "path, all similar pairs known"


def _setting(request: Request) -> Setting:
    """Return graphs at the limit of Assumption 5, where p_S^2 p_D is the least it allows."""
    graphs = [_graph(_PATH, 12, 1, "dissimilar"), _graph("path, p_S = p_D", 12, 1, "both")]
    sizes, arms = ((2, 12), (48, 384)) if request.quick else ((2, 4, 12), (48, 144, 384))
    graphs += [_graph(f"classes of {size}", n_arms, size, "similar") for size in sizes for n_arms in arms]
    return {
        "graphs": graphs,
        "step": f"{_STEP} epsilon between classes",
        "draws_per_run": 20 if request.quick else 200,
        "replications": request.replications,
    }


def _graph(kind: str, n_arms: int, size: int, hidden: str) -> dict[str, Any]:
    """Describe a graph; ``hidden`` says which relations are revealed with a probability below 1."""
    product = least_product(n_arms, size)
    shares = {
        "similar": (math.sqrt(product), 1.0),
        "dissimilar": (1.0, product),
        "both": (product ** (1 / 3), product ** (1 / 3)),
    }[hidden]
    return {
        "graph": kind,
        "arms": n_arms,
        "class_size": size,
        "p_similar": min(shares[0] + 1e-12, 1.0),
        "p_dissimilar": min(shares[1] + 1e-12, 1.0),
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    graphs, draws, runs = setting["graphs"], setting["draws_per_run"], setting["replications"]
    rows: list[dict[str, Any]] = []
    for place, graph in enumerate(graphs):
        held = check_assumptions(_copies(graph, 1), graph["p_similar"], graph["p_dissimilar"])
        about = {**graph, "kappa": held.kappa_of_classes, "assumptions_hold": held.hold, "draws": draws}
        many = _copies(graph, draws)
        for run in range(runs):
            seed = int(np.random.default_rng((work.seed, run, place)).integers(2**63))
            rows.append({**about, "run": run, **_count(graph, many, draws, seed)})
        work.done((place + 1) / len(graphs))
    return {"runs": pd.DataFrame(rows)}


def _copies(graph: dict[str, Any], copies: int) -> SideInformation:
    """Return copies of a graph, far apart, so that one draw of their relations is a draw for each copy.

    A triangle contains two similar pairs, so none spans two copies.
    """
    n_classes = graph["arms"] // graph["class_size"]
    means = block_means(n_classes, graph["class_size"], _STEP)
    apart = (n_classes + 2) * _STEP * np.arange(copies)
    return from_means((apart[:, None] + means).ravel(), 1.0)


def _count(graph: dict[str, Any], many: SideInformation, copies: int, seed: int) -> dict[str, int]:
    """Return in how many draws an arm between the end classes stays, and the total number of such arms."""
    revealed = many.reveal(graph["p_similar"], graph["p_dissimilar"], seed=seed)
    left = np.zeros(many.n_arms, bool)
    left[candidate_set(revealed, method="triangles").arms] = True
    size = graph["class_size"]
    inner = left.reshape(copies, graph["arms"])[:, size:-size]
    return {"failed": int(inner.any(axis=1).sum()), "extra": int(inner.sum())}


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for (kind, n_arms), group in tables["runs"].groupby(["graph", "arms"], sort=False):
        first, draws = group.iloc[0], int(group["draws"].sum())
        failed = share_of_counts(int(group["failed"].sum()), draws)
        inner = int(n_arms - 2 * first["class_size"])
        extra = share_of_counts(int(group["extra"].sum()), draws * inner)
        rows.append(
            {
                "graph": kind,
                "arms": int(n_arms),
                "kappa": first["kappa"],
                "p_S": first["p_similar"],
                "p_D": first["p_dissimilar"],
                "draws": draws,
                "failed": failed.value,
                "low": failed.low,
                "high": failed.high,
                "stated": 1.0 / n_arms**2,
                "proof": 1.0 / n_arms,
                "extra_arms": inner * extra.value,
                "extra_low": inner * extra.low,
                "extra_high": inner * extra.high,
                "assumptions_hold": bool(first["assumptions_hold"]),
            }
        )
    return pd.DataFrame(rows)


def _draw(tables: Tables) -> Figure:
    dots = []
    for row in _table(tables).itertuples():
        name, scale = f"{row.graph}, K = {row.arms}", row.arms
        measured = (scale * row.failed, scale * row.low, scale * row.high)
        dots.append(Dot(name, "measured", *measured))
        dots.append(Dot(name, "stated: 1/K²", *[scale * row.stated] * 3))
        dots.append(Dot(name, "proof: 1/K", *[scale * row.proof] * 3))
    draws = int(_table(tables)["draws"].min())
    return draw_dots(
        dots,
        "share of draws in which an arm outside B* stays, times K",
        "Triangle rule at the limit of Assumption 5",
        f"{draws:,} draws of each graph, bars: 95% intervals",
    )


def _claims(tables: Tables) -> list[Claim]:
    rows = _table(tables)
    path = rows[rows["graph"] == _PATH].iloc[0]

    def name(row: Any) -> str:
        return f"{row.graph}, K = {row.arms}"

    stated = (
        at_most(f"share of draws with such an arm, {name(path)}", _failure_share(path), path.stated),
        always(
            "graphs on which that share is not above 1/K^2, by its interval", rows["low"] <= rows["stated"]
        ),
    )
    proof = [at_most(f"that share, {name(row)}", _failure_share(row), row.proof) for row in rows.itertuples()]
    held = always("graphs that meet Assumptions 3 to 5", rows["assumptions_hold"])
    extra = [at_most(f"mean |B0| - |B*|, {name(row)}", _excess(row), row.proof) for row in rows.itertuples()]
    return [
        Claim(
            "theorem-5-stated",
            "Under Assumptions 3 to 5 all arms outside B* are eliminated with probability 1 - 1/K^2 or more.",
            _WHERE,
            stated,
        ),
        Claim(
            "theorem-5-proof",
            "Under Assumptions 3 to 5 all arms outside B* are eliminated with probability 1 - 1/K or more, "
            "by the sum over the arms that the proof omits and Appendix I uses.",
            "Appendix I, from Appendix G",
            (*proof, held),
        ),
        Claim(
            "theorem-5-size",
            "The mean size of B0 exceeds that of B* by an amount that goes to 0 as K grows (read: at most "
            "1/K).",
            _WHERE,
            tuple(extra),
        ),
    ]


def _failure_share(row: Any) -> Estimate:
    return Estimate(row.failed, row.low, row.high)


def _excess(row: Any) -> Estimate:
    return Estimate(row.extra_arms, row.extra_low, row.extra_high)


def _discussion(tables: Tables) -> str:
    rows = _table(tables)
    path = rows[rows["graph"] == _PATH].iloc[0]
    pairs = rows[rows["graph"] == "classes of 2"].iloc[-1]
    large = rows[rows["graph"] == "classes of 12"]
    above = int((rows["low"] > rows["stated"]).sum())
    return (
        "On a path of 12 arms each of the 10 inner arms depends on one dissimilar pair that stays hidden "
        f"with probability 1/144: one or more of them stay in a share of {number(path['failed'])} of the "
        f"draws, while the theorem states {number(path['stated'])} and the sum over the arms gives "
        f"{number(path['proof'])}.\n\n"
        f"Classes of 2 with all dissimilar pairs known fail in {number(pairs['failed'])} of the draws at K = "
        f"{pairs['arms']} (stated {number(pairs['stated'])}), classes of 12 in "
        f"{number(large['failed'].max())} at most. By their intervals the stated bound is exceeded on "
        f"{above} of {len(rows)} graphs, 1/K on {int((rows['low'] > rows['proof']).sum())}."
    )


EXPERIMENT = Experiment(
    id="check-theorem-5",
    title="How often the triangle rule leaves too many arms",
    paper=_WHERE,
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=2.5,
)
