"""
When elimination begins
=======================

400 arms, each compared with a few others whose means are near. With six comparisons an arm nothing can be
excluded. Somewhat later nearly everything can: proofs are cycles of relations, and these appear all at
once. Propagation sees longer cycles than triangles do, and so begins earlier.
"""

import matplotlib.pyplot as plt

import lsdt

n_arms, comparisons = 400, [4, 6, 8, 10, 12, 15, 20, 30, 40, 50, 60]
left = {"triangles": [], "propagation": []}
for number in comparisons:
    side = lsdt.problems.sparse(n_arms, relations_per_arm=number).draw(seed=0, replication=0).side
    for method, shares in left.items():
        shares.append(len(lsdt.candidate_set(side, method)) / n_arms)

plt.style.use("lsdt.plotting.slides")
figure, axes = plt.subplots()
for method, colour in {"triangles": "C1", "propagation": "C0"}.items():
    axes.plot(comparisons, left[method], "o-", color=colour, ms=5)
axes.text(33, 0.36, "triangles", color="C1", size=13, weight="bold")
axes.text(11, 0.45, "propagation", color="C0", size=13, weight="bold")
axes.set(xlim=(0, 61), ylim=(0, 1.03), xlabel="comparisons an arm", ylabel="arms left")
axes.yaxis.set_major_formatter("{x:.0%}")
axes.set_title("Elimination begins suddenly")
