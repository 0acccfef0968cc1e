"""
Five drinks, five relations
===========================

Three pairs of drinks are known to be similar, two to be dissimilar. That is enough to rule out coffee: were
it the best, tea and cocoa would both lie just below it, and be similar. They are not.
"""

import matplotlib.pyplot as plt

import lsdt

side = lsdt.SideInformation(
    n_arms=5,
    arm_ids=["tea", "coffee", "cocoa", "juice", "water"],
    similar=[("tea", "coffee"), ("coffee", "cocoa"), ("cocoa", "juice")],
    dissimilar=[("tea", "cocoa"), ("tea", "water")],
)
found = lsdt.candidate_set(side)
print(found.explain("coffee"))

# %%
# Solid lines join similar drinks, dashed lines dissimilar ones; what is grey cannot be the best.

plt.style.use("lsdt.plotting.slides")
axes = lsdt.plotting.plot_candidates(found)
axes.set_title("Coffee is out before anybody has tasted it")
