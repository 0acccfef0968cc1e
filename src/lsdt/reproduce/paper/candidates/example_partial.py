"""The worked example of partial side information: arms in the middle may turn out to be the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import plot_candidates
from lsdt.reproduce.framework.certificates import makes_best
from lsdt.reproduce.framework.claims import Claim, always, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.paper.candidates.random_graphs import EPSILONS, SHARES, partial_trial, trials_of
from lsdt.side_information import ARMS, EPSILON, MEANS, OTHER_MEANS, SideInformation, example

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_STATED = (1, 2, 3, 5, 6, 10, 11)  # the candidates that the paper states
_SIZES = (7, 11)  # arms of random graphs: enough to hide relations, few enough for an exhaustive search


def _setting(request: Request) -> Setting:
    return {
        "arms": list(ARMS),
        "means": list(MEANS),
        "stated_means": list(OTHER_MEANS),
        "epsilon": EPSILON,
        "graph": "our own: the relations that hold under the means and under those that the paper states",
        "random_graphs": {
            "arms": list(_SIZES),
            "epsilon": list(EPSILONS),
            "revealed": list(SHARES),
            "replications": request.replications,
        },
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    side = example("partial")
    found = candidate_set(side, "exact")
    arms = found.to_frame()
    arms.insert(1, "stated_mean", setting["stated_means"])
    for column, kept in (
        ("by_triangles", candidate_set(side, "triangles").arms),
        ("when_complete", candidate_set(example("complete"), "anchors").arms),
    ):
        arms[column] = np.isin(np.arange(side.n_arms), kept)
    arms["has_means"] = [
        makes_best(side, found.explain(arm).means, setting["epsilon"], at)
        for at, arm in enumerate(arms["arm"])
    ]
    arms["epsilon"] = setting["epsilon"]
    pairs = np.concatenate([side.similar_pairs(), side.dissimilar_pairs()])
    words = ["similar"] * side.n_similar + ["dissimilar"] * side.n_dissimilar
    names = np.array(setting["arms"])[pairs]
    relations = pd.DataFrame({"a": names[:, 0], "b": names[:, 1], "relation": words})
    return {
        "arms": arms,
        "relations": relations,
        "trials": trials_of(partial_trial, setting["random_graphs"], work),
    }


def _table(tables: Tables) -> pd.DataFrame:
    columns = ["arm", "stated_mean", "candidate", "by_triangles", "when_complete", "reason"]
    return tables["arms"][columns].fillna({"reason": ""})


def _draw(tables: Tables) -> Figure:
    arms, relations = tables["arms"], tables["relations"]
    near, apart = (
        relations.loc[relations["relation"] == word, ["a", "b"]].to_numpy()
        for word in ("similar", "dissimilar")
    )
    side = SideInformation(
        len(arms), near, apart, arm_ids=arms["arm"].tolist(), epsilon=float(arms["epsilon"].iloc[0])
    )
    return plot_candidates(candidate_set(side, "exact")).figure.figure


def _claims(tables: Tables) -> list[Claim]:
    arms, trials = tables["arms"], tables["trials"]
    stated, candidate = arms["arm"].isin(_STATED), arms["candidate"]
    return [
        Claim(
            "partial-candidates",
            "In the worked example with part of the relations revealed, arms 1, 2, 3, 5, 6, 10 and 11 can be "
            "the best, and no others (read: on a graph of our own, since the paper's is not in its source; "
            "it reveals what holds under our means and under the stated ones).",
            "Fig. 3, Section 4.1",
            (
                always("arms that a search over all orders decides as stated", candidate == stated),
                always("candidates with means that show it", arms.loc[candidate, "has_means"]),
            ),
        ),
        Claim(
            "partial-triangles",
            "An arm that is similar to two arms known to be dissimilar cannot be the best (Proposition 1).",
            "Proposition 1, Section 4.1",
            (
                always(
                    "random graphs on which an exhaustive search excludes all such arms",
                    trials["between_excluded"],
                ),
            ),
        ),
        Claim(
            "partial-nested",
            "Arms that can be the best if everything is revealed can be so if less is revealed, and the "
            "triangle rule keeps all that can: B* is in B, and B is in B0.",
            "Section 4.1",
            (
                always("random graphs with B* in B, found by search", trials["b_star_in_b"]),
                always("random graphs with B, found by search, in B0", trials["b_in_b0"]),
            ),
        ),
    ]


def _discussion(tables: Tables) -> str:
    arms, trials = tables["arms"], tables["trials"]
    new = arms[arms["candidate"] & ~arms["when_complete"]]
    more = int((arms["by_triangles"] & ~arms["candidate"]).sum())
    kept, complete = int(arms["candidate"].sum()), int(arms["when_complete"].sum())
    sizes = ", ".join(
        f"{name} {number(trials[column].mean())}"
        for name, column in (("B*", "b_star"), ("B", "b"), ("B0", "b0"))
    )
    return (
        f"{kept} of {len(arms)} arms can be the best, {complete} if everything were revealed: because of the "
        f"hidden relations, arms {', '.join(map(str, new['arm']))} remain possible. The triangle rule keeps "
        f"{'no arm' if more == 0 else f'{more} arms'} beyond the candidates here. The paper's graph is not "
        "in its source; ours is a reconstruction, which reveals the relations that hold under both our means "
        "and the stated ones. The stated means therefore fit by construction; that all other arms are "
        f"excluded is a result. On {len(trials):,} partly revealed random graphs of "
        f"{trials['arms'].min()} to {trials['arms'].max()} arms there are on average: {sizes}; "
        f"{int(trials['between'].sum()):,} arms are similar to two dissimilar ones."
    )


EXPERIMENT = Experiment(
    id="example-partial",
    title="A partially revealed graph and its candidate set",
    paper="Fig. 3, Section 4.1",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=0.2,
)
