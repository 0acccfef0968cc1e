"""
Only the two ends can be best
=============================

Each bar is an arm, from its mean to its mean plus epsilon: arms are similar where bars overlap. Nobody
knows the means, only which bars overlap. That alone leaves a few arms at either end of the line; read
backwards, it is the same line, so that it takes rewards to tell the two ends apart.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

plt.style.use("lsdt.plotting.slides")
means = np.random.default_rng(5).uniform(0.0, 1.0, 60)
found = lsdt.candidate_set(lsdt.from_means(means, epsilon=0.12))

axes = lsdt.plotting.plot_candidates(found)
axes.set_title(f"{len(found)} of {len(means)} arms can be the best, and nothing was tried yet")
