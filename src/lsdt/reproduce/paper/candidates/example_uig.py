"""The worked example of complete side information: arms as intervals, and the classes that can be best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsdt.candidates import candidate_set
from lsdt.plotting import plot_candidates
from lsdt.reproduce.framework.claims import Claim, always
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.paper.candidates.random_graphs import EPSILONS, complete_trial, trials_of
from lsdt.side_information import ARMS, EPSILON, MEANS, from_means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_SIZES = (8, 14)  # arms of random graphs: enough for classes of several arms, few enough for a full search


def _setting(request: Request) -> Setting:
    return {
        "arms": list(ARMS),
        "means": list(MEANS),
        "epsilon": EPSILON,
        "graph": "our own: the paper states the candidates and the classes, not the means",
        "random_graphs": {
            "arms": list(_SIZES),
            "epsilon": list(EPSILONS),
            "replications": request.replications,
        },
    }


def _compute(setting: Setting, work: Work) -> Tables:
    side = from_means(setting["means"], setting["epsilon"], arm_ids=setting["arms"])
    arms = candidate_set(side, "anchors").to_frame()
    arms["class"] += 1
    arms.insert(1, "mean", setting["means"])
    arms["epsilon"] = setting["epsilon"]
    return {"arms": arms, "trials": trials_of(complete_trial, setting["random_graphs"], work)}


def _table(tables: Tables) -> pd.DataFrame:
    return tables["arms"][["arm", "mean", "candidate", "class", "reason"]].fillna({"reason": ""})


def _draw(tables: Tables) -> Figure:
    arms = tables["arms"]
    side = from_means(arms["mean"].to_numpy(), float(arms["epsilon"].iloc[0]), arm_ids=arms["arm"].tolist())
    return plot_candidates(candidate_set(side, "anchors")).figure.figure


def _claims(tables: Tables) -> list[Claim]:
    trials = tables["trials"]
    return [
        Claim(
            "candidates-are-end-classes",
            "On a connected unit interval graph that is not complete, exactly the arms with the neighbours "
            "of the best arm and those with the neighbours of the worst can be the best (Theorem 1).",
            "Theorem 1, Section 3.2",
            (
                always("random graphs on which an exhaustive search agrees", trials["search_as_stated"]),
                always("random graphs on which the offline step agrees", trials["anchors_as_stated"]),
                always("random graphs with means that show every candidate best", trials["means_show_it"]),
            ),
        ),
    ]


def _discussion(tables: Tables) -> str:
    arms, trials = tables["arms"], tables["trials"]
    groups = [", ".join(map(str, members["arm"])) for _, members in arms[arms["candidate"]].groupby("class")]
    agree = trials[["search_as_stated", "anchors_as_stated", "means_show_it"]].all(axis=1)
    return (
        f"In the picture {int(arms['candidate'].sum())} of {len(arms)} arms can be the best: "
        f"{' and '.join(groups)}. The table names two neighbours that exclude each of the others. The "
        "paper's picture is not in its source: the means are ours, chosen to give the candidates that it "
        "states, and no claim is judged on them. What is judged is its theorem, on "
        f"{len(trials):,} random connected graphs of {trials['arms'].min()} to {trials['arms'].max()} arms: "
        f"it is right on {int(agree.sum()):,} of them."
    )


EXPERIMENT = Experiment(
    id="example-uig",
    title="A unit interval graph and its candidate set",
    paper="Figs. 1 and 2, Sections 2.1 and 3.2",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=0.2,
)
