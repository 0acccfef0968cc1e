"""The reductions behind Theorem 4 (whether an arm can be best is NP-complete) on random formulas.

1-IN-3SAT becomes CONSISTENT-NAE-3SAT (Appendix E), and that becomes the question whether an arm can be the
best (Appendix F). Clauses have three different variables: a repeated literal would merge pairs of arms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.plotting import Line, Panel, draw_panels
from lsdt.reproduce.framework.claims import Claim, always, number
from lsdt.reproduce.framework.experiment import Experiment
from lsdt.reproduce.framework.sampling import line_of
from lsdt.reproduce.theorems.hardness.reductions import both_steps, first_step, larger_formula, second_step

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from lsdt.reproduce.framework.experiment import Request, Setting, Tables, Work

_E, _F = "Appendix E", "Appendix F"


def _setting(request: Request) -> Setting:
    return {
        "formulas": request.replications,
        "clauses": "three different variables each, complemented by fair coins",
        "answers": "yes and no in turn",
        "appendix_e": {"variables": [3, 5], "clauses": [1, 4]},
        "appendix_f": {"variables": [3, 5], "clauses": [2, 5]},
        "both": {"variables": [3, 4], "clauses": [1, 3]},
        "larger": {
            "variables": [4, 6, 8] if request.quick else [4, 6, 8, 10, 12],
            "clauses": "as many as variables, no complements",
            "random_relations": {"means": "uniform on (0, 1)", "epsilon": 0.1, "p": 0.2},
        },
    }


def _compute(setting: Setting, work: Work) -> Tables:
    import pandas as pd

    rows: dict[str, list[dict[str, object]]] = {}
    usual = setting["larger"]["random_relations"]
    for run in range(setting["formulas"]):
        found = {
            "appendix_e": [first_step(setting["appendix_e"], work.seed, run)],
            "appendix_f": [second_step(setting["appendix_f"], work.seed, run)],
            "both": [both_steps(setting["both"], work.seed, run)],
            "larger": [
                larger_formula(n_variables, usual["epsilon"], usual["p"], work.seed, run)
                for n_variables in setting["larger"]["variables"]
            ],
        }
        for name, more in found.items():
            rows.setdefault(name, []).extend(more)
        work.done((run + 1) / setting["formulas"])
    return {name: pd.DataFrame(found) for name, found in rows.items()}


def _table(tables: Tables) -> pd.DataFrame:
    import pandas as pd

    e, f = tables["appendix_e"], tables["appendix_f"]
    both, larger_ones = tables["both"], tables["larger"]
    questions = {
        "1-IN-3SAT to CONSISTENT-NAE-3SAT": (e, e["consistent"], None),
        "CONSISTENT-NAE-3SAT to arms, two questions": (f, f["x1"] | f["not_x1"], f["arms"]),
        "CONSISTENT-NAE-3SAT to arms, fresh variable": (f, f["fresh"], f["arms"] + 4),
        "1-IN-3SAT to arms": (both, both["can"], both["arms"]),
        "larger formulas to arms": (larger_ones, larger_ones["can"], larger_ones["arms"]),
    }
    return pd.DataFrame(
        {
            "reduction": name,
            "formulas": len(rows),
            "yes": int(rows["answer"].sum()),
            "no": int((~rows["answer"]).sum()),
            "answers that agree": int((rows["answer"] == found).sum()),
            "arms": "" if arms is None else f"{arms.min()} to {arms.max()}",
        }
        for name, (rows, found, arms) in questions.items()
    )


def _draw(tables: Tables) -> Figure:
    rows = tables["larger"]
    answers = (("it can (the formula says yes)", True, 0), ("it cannot (the formula says no)", False, 1))
    lines = [
        line_of(rows[rows["answer"] == answer], label, "arms", "orders", points=True, colour=colour)
        for label, answer, colour in answers
        if (rows["answer"] == answer).any()
    ]
    usual = rows.groupby("arms")["random_orders"].mean()
    lines.append(Line("random relations, any arm", usual.index, usual, reference=True))
    panel = Panel(
        lines,
        "arms",
        "orders of dissimilar pairs tried",
        x_range=(20, 2 + float(rows["arms"].max())),
        y_log=True,
    )
    return draw_panels(
        [panel],
        "Deciding one arm: formulas as arms against random relations",
        f"{len(rows) // rows['arms'].nunique():,} formulas of each size, yes and no in turn; "
        "bands: 95% intervals of the mean",
    )


def _claims(tables: Tables) -> list[Claim]:
    return [*_formula_claims(tables), *_arm_claims(tables), *_chain_claims(tables)]


def _formula_claims(tables: Tables) -> list[Claim]:
    e = tables["appendix_e"]
    return [
        Claim(
            "hardness-formulas",
            "Replacing every clause by three reduces 1-IN-3SAT to CONSISTENT-NAE-3SAT: the new formula is "
            "always not-all-equal satisfiable, and has a consistent assignment exactly when the old one has "
            "a solution.",
            _E,
            (
                always(f"exactly one true literal: answers agree, {_counts(e)}", e["answer"] == e["one"]),
                always(
                    "consistent, with the constant clause: answers agree",
                    e["answer"] == e["consistent_with_constant"],
                ),
                always("consistent, without it: answers agree", e["answer"] == e["consistent"]),
                always("new formulas that are not-all-equal satisfiable", e["not_all_equal"]),
                always("new formulas whose clauses have different variables", e["different_variables"]),
            ),
        ),
    ]


def _arm_claims(tables: Tables) -> list[Claim]:
    f, both, more = tables["appendix_f"], tables["both"], tables["larger"]
    n, m = f["variables"], f["clauses"]
    decided = np.concatenate([rows["undecided"].to_numpy() == 0 for rows in (f, both, more)])
    return [
        Claim(
            "hardness-arms",
            "A not-all-equal satisfiable formula becomes relations that some means satisfy; it has a "
            "consistent assignment exactly when x1 or its complement can be the best arm, and, with a "
            "variable that occurs in no clause, exactly when that one can.",
            _F,
            (
                always(f"two questions: answers agree, {_counts(f)}", f["answer"] == (f["x1"] | f["not_x1"])),
                always("one question: answers agree", f["answer"] == f["fresh"]),
                always(f"larger formulas: answers agree, {_counts(more)}", more["answer"] == more["can"]),
                always("formulas whose questions the search decides", decided),
                always("relations that some means satisfy", f["fits"]),
                always("such means whose assignment is not all equal", f["model_is_not_all_equal"]),
            ),
        ),
        Claim(
            "hardness-sizes",
            "For n variables and m clauses there are 4n + 3m + 1 arms, 4n + 3m similar and 6n + 9m "
            "dissimilar pairs.",
            _F,
            (
                always("arms as stated", f["arms"] == 4 * n + 3 * m + 1),
                always("similar pairs as stated", f["similar"] == 4 * n + 3 * m),
                always("dissimilar pairs as stated", f["dissimilar"] == 6 * n + 9 * m),
            ),
        ),
    ]


def _chain_claims(tables: Tables) -> list[Claim]:
    f, both = tables["appendix_f"], tables["both"]
    return [
        Claim(
            "hardness-chain",
            "Both reductions together turn 1-IN-3SAT into the question whether one arm can be the best.",
            f"Theorem 4, {_E} and F",
            (always(f"answers agree, {_counts(both)}", both["answer"] == both["can"]),),
        ),
        Claim(
            "hardness-certificates",
            "A yes can be checked quickly: there are mean rewards that prove it. They also encode a solution "
            "of the formula: in every clause one literal's arm lies on the best arm's side of p.",
            f"Theorem 4, {_F}",
            (
                always(
                    "formulas whose means satisfy all relations", _certificates_hold(f, both, "means_hold")
                ),
                always("formulas whose means hold a solution", _certificates_hold(f, both, "solution")),
            ),
        ),
    ]


def _counts(rows: pd.DataFrame) -> str:
    return f"{int(rows['answer'].sum()):,} yes and {int((~rows['answer']).sum()):,} no"


def _certificates_hold(
    f: pd.DataFrame, both: pd.DataFrame, column: str
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for every formula with the answer yes whether all its certificates are valid."""
    certified = f[f["certificates"] > 0]
    return np.concatenate([certified[column] == certified["certificates"], both.loc[both["can"], column]])


def _discussion(tables: Tables) -> str:
    more = tables["larger"]
    last = more[more["arms"] == more["arms"].max()]
    said = [
        f"{number(last.loc[last['answer'] == answer, 'orders'].mean())} where it {word}"
        for answer, word in ((True, "can"), (False, "cannot"))
        if (last["answer"] == answer).any()
    ]
    return (
        f"Formulas of {int(more['variables'].max())} variables become {int(last['arms'].iloc[0])} arms. The "
        "average number of orders of dissimilar pairs that are tried to decide whether one arm can be the "
        f"best is {' and '.join(said)}; with random relations among as many arms, it is "
        f"{number(last['random_orders'].mean())}.\n\n"
        "The clause with a constant that Appendix E adds at the end is not needed: complementing all "
        "variables turns one true literal into two. Appendix F has no arms for it either. A variable in no "
        "clause turns the two questions of Appendix F into one."
    )


EXPERIMENT = Experiment(
    id="check-hardness",
    title="The reductions behind NP-completeness, run",
    paper="Theorem 4, Appendices E and F",
    setting=_setting,
    compute=_compute,
    table=_table,
    draw=_draw,
    claims=_claims,
    discussion=_discussion,
    seconds=4.0,
)
