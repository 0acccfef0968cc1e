"""
Order against thresholds
========================

The same logs, read in two ways. Similar and dissimilar pairs say how far apart two items are, but not which
of them is better. Ranges say both, and excluding an item then takes one comparison in place of a triangle.
With 500 users order leaves half of the items, and thresholds leave them all.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

users, draws, n_items = [500, 1000, 2000, 4000, 8000], 2, 20
left = {"threshold": np.zeros(len(users)), "ranges": np.zeros(len(users))}
for at, n_users in enumerate(users):
    for draw in range(draws):
        log = lsdt.ratings.make_log(n_users, n_items, ratings_per_user=8, skew=0.3, seed=draw).log
        for relations, numbers in left.items():
            numbers[at] += len(lsdt.candidate_set(lsdt.from_ratings(log, relations=relations))) / draws

plt.style.use("lsdt.plotting.slides")
figure, axes = plt.subplots()
for relations, words, colour in [
    ("threshold", "similar or dissimilar", "C1"),
    ("ranges", "which is better, and by how much", "C0"),
]:
    axes.plot(users, left[relations], "o-", color=colour, ms=6)
    axes.text(8600, left[relations][-1], words, color=colour, weight="bold", va="center")
axes.set(xscale="log", ylim=(0, n_items + 0.5), xlabel="users in the log", ylabel=f"items left of {n_items}")
axes.set_xticks(users, [f"{number:,}" for number in users], minor=False)
axes.set_yticks([0, 5, 10, 15, 20])
axes.minorticks_off()
axes.set_title("Knowing which is better is worth more than knowing how alike")
