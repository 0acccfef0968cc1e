"""The gadgets behind Theorem 4: what one clause becomes, as formulas, as arms and as intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates import candidate_set
from lsdt.plotting import WIDTH, plot_candidates, write_title
from lsdt.reproduce.framework.certificates import makes_best, relations_hold
from lsdt.reproduce.framework.claims import Claim, always
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.theorems.hardness.formulas import Formula, anchor_instance, interval_model
from lsdt.reproduce.theorems.hardness.reductions import links
from lsdt.side_information import SideInformation, from_means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_CLAUSE = (1, -2, -3)  # the clause of the paper's Fig. 12
_TRUE = (True, True, True)  # makes exactly one literal of the clause true


def _setting(request: Request) -> Setting:
    return {
        "variables": 3,
        "clause": list(_CLAUSE),
        "true_variables": list(_TRUE),
        "graph": "the clause that the paper's picture of intervals has; the pictures are not in its source",
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    first, second, third = setting["clause"]
    formula = Formula(setting["variables"], ((first, second, third),))
    side = anchor_instance(formula)
    found = candidate_set(side, "exact")
    arms = found.to_frame()
    arms["has_means"] = [
        makes_best(side, found.explain(arm).means, 1.0, at) for at, arm in enumerate(arms["arm"])
    ]
    pairs = np.concatenate([side.similar_pairs(), side.dissimilar_pairs()])
    names = np.array(side.arm_ids)[pairs]
    words = ["similar"] * side.n_similar + ["dissimilar"] * side.n_dissimilar
    begins = interval_model(formula, setting["true_variables"])
    arms["begins"] = [begins[arm] for arm in arms["arm"]]
    relations = pd.DataFrame({"a": names[:, 0], "b": names[:, 1], "relation": words})
    relations["holds_in_intervals"] = relations_hold(side, arms["begins"], 1.0)
    work.done(1.0)
    return {"links": pd.DataFrame(links()), "arms": arms, "relations": relations}


def _table(tables: Tables) -> pd.DataFrame:
    return tables["links"]


def _draw(tables: Tables) -> Figure:
    from matplotlib.figure import Figure

    arms, relations = tables["arms"], tables["relations"]
    near, apart = (
        relations.loc[relations["relation"] == word, ["a", "b"]].to_numpy()
        for word in ("similar", "dissimilar")
    )
    side = SideInformation(len(arms), near, apart, arm_ids=arms["arm"].tolist())
    figure = Figure(figsize=(WIDTH, 9.0), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(1.1, 1.0))
    plot_candidates(candidate_set(side, "exact"), above)
    intervals = from_means(arms["begins"], 1.0, arm_ids=arms["arm"].tolist())
    plot_candidates(candidate_set(intervals, "anchors"), below)
    write_title(below, "Intervals that satisfy all relations: x1 begins leftmost", wrap=True)
    below.set_xlabel("position, with p from 0 to 1")
    return figure


def _claims(tables: Tables) -> list[Claim]:
    counts = tables["links"][[f"true_in_clause_{place}" for place in (1, 2, 3)]]
    return [
        Claim(
            "hardness-links",
            "Whatever the three literals of a clause are, the stated values of its two new variables leave "
            "one or two true literals in each of the three clauses that replace it.",
            "Table 3, Appendix E",
            (always("rows of the table for which this is so", counts.isin([1, 2]).all(axis=1)),),
        ),
    ]


def _discussion(tables: Tables) -> str:
    arms, relations = tables["arms"], tables["relations"]
    kept = arms.loc[arms["candidate"], "arm"]
    told = relations["relation"].value_counts()
    holding = int(relations["holds_in_intervals"].sum())
    leftmost = arms.loc[arms["begins"] == arms["begins"].min(), "arm"]
    return (
        "The table is that of Appendix E: for all values of a clause's literals x1, x2, x3, it gives the "
        "values of the two new variables a and b, and how many literals are true in each of the three "
        "clauses that replace it.\n\n"
        f"The first picture is Appendix F's, for the clause x1, not x2, not x3: {len(arms)} arms, "
        f"{told['similar']} similar and {told['dissimilar']} dissimilar pairs. Every variable is a path of "
        "five arms through p; the clause attaches the arms v to its literals. Literals on one side of p are "
        f"true, on the other false. {len(kept)} arms can be the best: {', '.join(kept)}.\n\n"
        "The second picture is the proof's: unit intervals for the assignment that makes all three variables "
        "true, and so exactly one literal of the clause. True literals are a staircase left of p, false ones "
        f"right of it. {holding} of {len(relations)} relations hold in it, and {' and '.join(leftmost)} "
        "begin leftmost: x1 can be an end of the line, and so the best."
    )


EXPERIMENT = Experiment(
    id="example-gadgets",
    title="What a clause becomes in the proof of NP-completeness",
    paper="Table 3 and Figs. 11 and 12, Appendices E and F",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=0.2,
)
