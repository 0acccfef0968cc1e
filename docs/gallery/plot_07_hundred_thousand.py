"""
100,000 arms
============

Every arm was compared with about a hundred others, which is one pair in a thousand. Each place of the
picture is an arm. A dot is one that can still be the best; everything else is proven out, before the first
try. Of all arms, 10,000 tries would reach a tenth at most.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

problem = lsdt.problems.sparse(n_arms=100_000, relations_per_arm=100)
side = problem.draw(seed=0, replication=0).side
found = lsdt.candidate_set(side)

plt.style.use("lsdt.plotting.slides")
figure, axes = plt.subplots(figsize=(9, 5.4))
axes.fill_between([-2, 402], -2, 251, color="#E4E4E4", linewidth=0)
row, column = np.divmod(found.arms, 400)
axes.scatter(column, row, s=7, color="C1", linewidths=0)
axes.set(xlim=(-2, 402), ylim=(-2, 251), xticks=[], yticks=[])
axes.spines[:].set_visible(False)
axes.set_title(f"{len(found):,} of 100,000 arms can be the best; the grey is proven out")
