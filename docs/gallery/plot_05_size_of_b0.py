"""
How much has to be known
========================

The paper keeps every arm that no triangle of relations excludes; it calls them B0. Propagation follows all
chains of relations instead of triangles alone. With a quarter of the relations of 100 arms it leaves about
as few as triangles do with half of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

shares = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
draws = 12


def mean_left(method):
    """Return how many of 100 arms a method leaves, on average, for every share of the relations."""
    left = np.zeros(len(shares))
    for draw in range(draws):
        means = np.random.default_rng(draw).uniform(0.1, 1.0, 100)
        everything = lsdt.from_means(means, epsilon=0.1)
        for at, share in enumerate(shares):
            left[at] += len(lsdt.candidate_set(everything.reveal(share, share, seed=draw), method)) / draws
    return left


plt.style.use("lsdt.plotting.slides")
triangles, propagation = mean_left("triangles"), mean_left("propagation")
figure, axes = plt.subplots()
axes.plot(shares, triangles, color="C1")
axes.plot(shares, propagation, color="C0")
axes.fill_between(shares, propagation, triangles, color="C0", alpha=0.12, linewidth=0)
axes.text(
    0.42, np.interp(0.42, shares, triangles) + 3, "triangles: the paper's B0", color="C1", weight="bold"
)
axes.text(
    0.16, np.interp(0.16, shares, propagation) - 12, "propagation", color="C0", weight="bold", ha="right"
)
axes.set(
    xlim=(0, 1), ylim=(0, 103), xlabel="share of the relations that are known", ylabel="arms left of 100"
)
axes.xaxis.set_major_formatter("{x:.0%}")
axes.set_title("Longer proofs need half as many relations")
