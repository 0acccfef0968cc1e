"""
The claims of the paper at a glance
===================================

`lsdt reproduce` runs the paper's figures and tables again and judges every claim by checks: a row is a
claim, a square one of its checks, a measured quantity with its 95% interval. If the report is at hand, the
picture shows all of it. Otherwise a few parts are run here, with few replications, so that more checks stay
open.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

from lsdt.reproduce import Request, reproduce

reports = [path for path in map(Path, ["report/claims.json", "../../report/claims.json"]) if path.exists()]
if reports:
    report = json.loads(reports[0].read_text())
else:
    parts = ["fig-bstar-*", "fig-b0-*", "fig-regret-*"]
    with TemporaryDirectory() as folder:
        reproduce(folder, only=parts, request=Request(replications=20, quick=True))
        report = json.loads((Path(folder) / "claims.json").read_text())
claims = report["claims"]

# %%
# Blue: the whole interval is where the claim says. Vermilion: all of it is elsewhere. Grey: it is
# undecided.

plt.style.use("lsdt.plotting.slides")
rows = -(-len(claims) // 3)
figure, columns = plt.subplots(1, 3, figsize=(9, 1.2 + 0.22 * rows), sharey=True)
colours = {"confirmed": "C0", "refuted": "C1", "undecided": "#A0A0A0"}
for column, axes in enumerate(columns):
    for row, claim in enumerate(claims[column * rows : (column + 1) * rows]):
        outcomes = [check["outcome"] for check in claim["checks"]]
        weight = "normal" if claim["verdict"] == "holds" else "bold"
        axes.text(-0.3, row, claim["name"], ha="right", va="center_baseline", size=8.5, weight=weight)
        for place, outcome in enumerate(sorted(outcomes)[:12]):
            axes.scatter(place, row, s=32, marker="s", color=colours[outcome], linewidths=0)
    axes.set(xlim=(-17, 12), ylim=(rows - 0.5, -0.5))
    axes.set_axis_off()
counts = report["counts"]
found = "; ".join(f"{number} {verdict}" for verdict, number in counts.items())
figure.suptitle(
    f"{len(claims)} claims, {report['replications']} runs each: {found}", x=0.01, ha="left", weight="bold"
)
