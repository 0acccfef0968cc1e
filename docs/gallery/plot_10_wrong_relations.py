"""
Wrong relations, and an agent that watches
==========================================

Three relations in a hundred are wrong. A policy that believes all of them may throw out the best arm before
it starts, and then it loses something in every round, for ever. `lsdt_watchful` lets relations outvote one
another and drops those that rewards contradict. Thin lines are single problems, bold ones their means.
"""

import matplotlib.pyplot as plt
import numpy as np

import lsdt

policies = {"ts": "ignores relations", "ts@paper": "believes them all", "lsdt_watchful": "watches them"}
regret, lost = {policy: [] for policy in policies}, 0
for draw in range(10):
    means = np.random.default_rng(draw).uniform(0.1, 1.0, 100)
    wrong = lsdt.from_means(means, epsilon=0.1).reveal(0.5, 0.5, seed=draw).corrupt(0.03, seed=draw)
    lost += means.argmax() not in lsdt.candidate_set(wrong, "paper")
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
axes.set(xlim=(0, 3000), ylim=(3, 3000), yscale="log", xlabel="round", ylabel="regret: reward lost so far")
axes.set_yticks([10, 100, 1000], ["10", "100", "1,000"])
axes.set_title(f"Believing every relation lost the best arm in {lost} of 10 problems")
