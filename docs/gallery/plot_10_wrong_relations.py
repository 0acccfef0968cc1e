"""
Wrong relations, and an agent that watches
==========================================

One relation in a hundred is wrong. A policy that believes all of them may throw out the best arm before it
starts, and then it loses something in every round, for ever. `lsdt_watchful` lets relations outvote one
another and drops those that rewards contradict. Thin lines are single problems, bold ones their means.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

policies = {"ts": "ignores relations", "ts@paper": "believes them all", "lsdt_watchful": "watches them"}
regret = {policy: [] for policy in policies}
for draw in range(10):
    means = np.random.default_rng(draw).uniform(0.1, 1.0, 100)
    wrong = lsdt.from_means(means, epsilon=0.1).reveal(0.5, 0.5, seed=draw).corrupt(0.03, seed=draw)
    problem = lsdt.problems.given(means, wrong, "bernoulli", check=False)
    result = lsdt.simulate(problem, list(policies), horizon=3000, replications=1, seed=draw)
    for policy, label in zip(policies, result.policies, strict=True):
        regret[policy].append(result.regret(label)[0])

plt.style.use("lsdt.plotting.slides")
figure, axes = plt.subplots()
for (policy, words), colour in zip(policies.items(), ["C6", "C1", "C0"], strict=True):
    mean = np.mean(regret[policy], axis=0)
    axes.plot(result.checkpoints, np.transpose(regret[policy]), color=colour, lw=0.9, alpha=0.45)
    axes.plot(result.checkpoints, mean, color=colour, lw=3.6)
    axes.text(3040, mean[-1], f"{words}: {mean[-1]:.0f}", color=colour, size=13, weight="bold", va="center")
axes.set(xlim=(0, 3000), ylim=(0, None), xlabel="round", ylabel="regret: reward lost so far")
axes.set_title("One wrong relation in a hundred is enough to lose the best arm")
