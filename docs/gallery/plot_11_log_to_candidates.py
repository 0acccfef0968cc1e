"""
From a log to candidates
========================

3,000 made-up users rated nine of twenty items each. Every two items are compared on the users who rated
both, and all intervals hold together with a probability of 95%. An item whose whole interval lies below 0
is worse than the leading one, and is out. What is left is short enough for an experiment.
"""

import matplotlib.pyplot as plt

import lsdt

log, truth = lsdt.ratings.make_log(n_users=3000, n_items=20, ratings_per_user=9, seed=2)
side = lsdt.from_ratings(log, guarantee="all")
found = lsdt.candidate_set(side)
items = side.evidence.ranking()["item"].tolist()
leader = items[0]

plt.style.use("lsdt.plotting.slides")
figure, axes = plt.subplots(figsize=(9, 5.6))
for row, item in enumerate(items[1:], start=1):
    low, high = side.difference(item, leader)
    colour = "C0" if item in found.arm_ids else "#A0A0A0"
    axes.plot([low, high], [row, row], color=colour, lw=5)
    axes.plot((low + high) / 2, row, "o", color=colour, ms=9)
axes.plot(0, 0, "o", color="C0", ms=11)
axes.axvline(0, color="C0", lw=1.2, zorder=0)
axes.text(-0.03, 0, "the leading item", color="C0", weight="bold", ha="right", va="center")
axes.text(0.0, 12, "worse, with 95% confidence  ", weight="bold", ha="right", va="center")
axes.set_yticks(range(len(items)), [f"item {item}" for item in items])
axes.set(
    ylim=(len(items) - 0.4, -0.8), xlabel=f"mean rating compared with item {leader}, as a share of the scale"
)
axes.grid(visible=False)
axes.tick_params(axis="y", length=0)
axes.spines["left"].set_visible(False)
axes.set_title(f"A log leaves {len(found)} of {len(items)} items that can be the best")
