"""
Complete against partial
========================

A hundred arms, and less and less known of them. Each dot is an arm at its mean; what is coloured can still
be the best. With all relations the two ends are left, with a half hardly more. Below a quarter candidates
appear all along the line, and with a tenth nearly all arms stay.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

plt.style.use("lsdt.plotting.slides")
means = np.random.default_rng(1).uniform(0.0, 1.0, 100)
everything = lsdt.from_means(means, epsilon=0.1)
shares = [1.0, 0.5, 0.3, 0.25, 0.2, 0.15, 0.1]

figure, axes = plt.subplots()
for row, share in enumerate(shares):
    found = lsdt.candidate_set(everything.reveal(share, share, seed=0))
    out = np.delete(np.arange(100), found.arms)
    axes.scatter(means[out], np.full(len(out), row), s=45, color="#C8C8C8", linewidths=0)
    axes.scatter(means[found.arms], np.full(len(found), row), s=60, color="C0", linewidths=0)
    axes.text(1.03, row, f"{len(found)} left", va="center", size=12.5, weight="bold")
axes.set(ylim=(len(shares) - 0.5, -0.5), xlim=(-0.02, 1.12), xlabel="mean of the arm, which nobody knows")
axes.set_xticks(np.linspace(0, 1, 6))
axes.set_yticks(range(len(shares)), [f"{share:.0%}" for share in shares])
axes.set_ylabel("relations known")
axes.grid(visible=False)
axes.spines["left"].set_visible(False)
axes.tick_params(axis="y", length=0)
axes.set_title("The less is known, the further candidates reach in")
