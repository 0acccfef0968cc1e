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
from textwrap import shorten

import matplotlib.pyplot as plt

from lsdt.reproduce import Request, reproduce

reports = [path for path in map(Path, ["report/claims.json", "../../report/claims.json"]) if path.exists()]
if reports:
    report = json.loads(reports[0].read_text())
else:
    parts = ["fig-bstar-eps", "fig-b0-p", "fig-regret-psi-*"]
    with TemporaryDirectory() as folder:
        reproduce(folder, only=parts, request=Request(replications=20, quick=True))
        report = json.loads((Path(folder) / "claims.json").read_text())
claims = report["claims"]

# %%
# A claim holds if all its checks are confirmed. It does not hold if none is, and one at least is refuted.

plt.style.use("lsdt.plotting.slides")
verdicts = ["holds", "holds in part", "does not hold"]
colours = {"confirmed": "C0", "refuted": "C1", "undecided": "#A0A0A0"}
claims.sort(key=lambda claim: verdicts.index(claim["verdict"]))
figure, axes = plt.subplots(figsize=(9, 1.3 + 0.27 * len(claims)))
for row, claim in enumerate(claims):
    words = shorten(claim["claim"].split(" (read:")[0], 82, placeholder=" ...")
    axes.text(-0.7, row, words, ha="right", va="center_baseline", size=9.5)
    for place, outcome in enumerate(sorted(check["outcome"] for check in claim["checks"])):
        axes.scatter(place, row, s=60, marker="s", color=colours[outcome], linewidths=0)
for place, (outcome, colour) in zip([0, 5, 9], colours.items(), strict=True):
    axes.text(place - 0.3, -1.2, outcome, color=colour, size=10.5, weight="bold")
axes.set(xlim=(-30, 13), ylim=(len(claims) - 0.5, -1.8))
axes.set_axis_off()
whole, part, failed = ([claim["verdict"] for claim in claims].count(verdict) for verdict in verdicts)
runs = report["replications"]
axes.set_title(f"Of {len(claims)} claims {whole} hold, {part} in part, {failed} do not ({runs} runs each)")
