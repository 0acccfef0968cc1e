"""
When the best arm is known
==========================

Each dot is a run that went on until the best of 40 arms was known, to within epsilon and with an error of
at most 5%. The stopping rule holds however often one looks; `agent.stopping` applies it to any agent.
Without relations that takes hundreds of tries. With half of the relations a handful is enough, fewer than
there are arms.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

shares, runs, medians = [1.0, 0.5, 0.2, 0.0], 8, []
plt.style.use("lsdt.plotting.slides")
figure, axes = plt.subplots()
for row, share in enumerate(shares):
    problem = lsdt.problems.uniform(
        40, low=0.1, high=0.9, epsilon=0.2, rewards="bernoulli", p_similar=share, p_dissimilar=share
    )
    tries = [lsdt.identify(problem, delta=0.05, seed=run).tries for run in range(runs)]
    medians.append(np.median(tries))
    colour = "C0" if share else "C1"
    axes.scatter(tries, row + np.linspace(-0.2, 0.2, runs), s=46, color=colour, alpha=0.9, linewidths=0)
    axes.plot([medians[-1]] * 2, [row - 0.34, row + 0.34], color=colour)
    axes.text(29_000, row, f"{medians[-1]:,.0f} tries", va="center", ha="right", size=12.5, weight="bold")
axes.set(xscale="log", xlim=(2, 30_000), ylim=(len(shares) - 0.5, -0.5))
axes.set_yticks(range(len(shares)), [f"{share:.0%}" if share else "none" for share in shares])
axes.set_xticks([10, 100, 1000, 10_000], ["10", "100", "1,000", "10,000"])
axes.set(
    xlabel="tries until the best arm is known; the line is the median of 8 runs", ylabel="relations known"
)
axes.grid(visible=False)
axes.tick_params(axis="y", length=0)
axes.set_title(f"Half of the relations: {medians[1]:.0f} tries instead of {medians[-1]:,.0f}")
