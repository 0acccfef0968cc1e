"""
A proof, drawn
==============

Could D be the best of these five arms? No triangle of relations says no, yet six relations together do.
Suppose that D is the best. Then one half of the relations puts C above B, and the other half puts B above
C. Every arm that `lsdt.candidate_set` excludes comes with such a proof, in words and step by step.
"""

import matplotlib.pyplot as plt

import lsdt

side = lsdt.SideInformation(
    n_arms=5,
    arm_ids=list("ABCDE"),
    similar=[("D", "B"), ("D", "C"), ("A", "B"), ("C", "E")],
    dissimilar=[("A", "C"), ("B", "E")],
)
why = lsdt.candidate_set(side).explain("D")
print(why)

# %%
# On the left are the relations that make C lie above B, on the right those that make B lie above C. Going
# down, arms get worse; the ticks are one epsilon apart.

plt.style.use("lsdt.plotting.slides")
figure, halves = plt.subplots(1, 2, figsize=(9, 5), sharey=True)
depths = [{"D": 0, "C": 0.25, "B": 0.7, "A": 1.45}, {"D": 0, "B": 0.25, "C": 0.7, "E": 1.45}]
looks = {"similar": ("-", "C0", -0.07, "right"), "dissimilar": ((0, (4, 2)), "C1", 0.07, "left")}

for axes, depth in zip(halves, depths, strict=True):
    place = {arm: (0.5 * (number % 2), depth[arm]) for number, arm in enumerate(depth)}
    for a, b, relation in why.relations:
        if {a, b} <= set(place):
            style, colour, aside, side_of_line = looks[relation]
            (x0, y0), (x1, y1) = place[a], place[b]
            axes.plot([x0, x1], [y0, y1], ls=style, color=colour, zorder=1)
            if "D" not in (a, b):
                axes.text((x0 + x1) / 2 + aside, 1.15, relation, color=colour, ha=side_of_line)
    for arm, (x, y) in place.items():
        axes.scatter(x, y, s=640, color="C0" if arm == "D" else "C2", zorder=2)
        axes.text(x, y, arm, color="white", weight="bold", size=14, ha="center", va="center_baseline")
    _, upper, lower, last = depth
    said = f"{last} is less than epsilon\nbelow {lower}, and at least\nepsilon below {upper}:"
    axes.text(0.72, 0.15, said, va="top")
    axes.text(0.72, 0.66, f"{upper} is above {lower}", size=14, weight="bold")
    axes.set(xlim=(-0.35, 1.75), ylim=(1.75, -0.25), xticks=[])
    axes.set_yticks([0, 1], ["the best", "epsilon\nbelow it"])
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="y", length=0)
figure.suptitle(
    "Were D the best, C would lie above B, and B above C", x=0.01, ha="left", size=14.5, weight="bold"
)
