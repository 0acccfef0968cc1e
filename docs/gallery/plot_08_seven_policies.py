"""
Seven policies
==============

100 arms that pay 0 or 1, half of the relations known, 1,000 rounds, the mean of 30 problems. Policies that
ignore relations spend all rounds on finding out what relations say for nothing. Most of the gain comes
before the first round, from leaving out the arms that cannot be best; pooling rewards along all that the
relations imply (`lsdt_closure`) then leaves a third of the rest.
"""

import matplotlib.pyplot as plt

import lsdt

problem = lsdt.problems.uniform(100, 0.1, 0.9, 0.1, rewards="bernoulli", p_similar=0.5, p_dissimilar=0.5)
policies = {  # from the least regret to the most
    "lsdt_closure": ("LSDT-closure", "C0"),
    "ts@paper": ("Thompson sampling on B0", "C5"),
    "ckl_ucb": ("CKL-UCB", "C2"),
    "lsdt_psi": ("LSDT-PSI, the paper's own", "C1"),
    "ucb1@paper": ("UCB1 on B0", "C3"),
    "ts": ("Thompson sampling", "C4"),
    "ucb1": ("UCB1", "C6"),
}
result = lsdt.simulate(problem, list(policies), horizon=1000, replications=30, seed=0)

plt.style.use("lsdt.plotting.slides")
figure, axes = plt.subplots(figsize=(9, 5.4))
height = 0.0
for label, (name, colour) in zip(result.policies, policies.values(), strict=True):
    mean, low, high = result.regret_interval(label)
    axes.plot(result.checkpoints, mean, color=colour, lw=4 if name == "LSDT-closure" else 2.4)
    axes.fill_between(result.checkpoints, low, high, color=colour, alpha=0.15, linewidth=0)
    height = max(height + 15, mean[-1])  # names do not cover one another
    axes.text(1015, height, f"{name}: {mean[-1]:.0f}", va="center", size=12)
axes.set(xlim=(0, 1000), ylim=(0, None), xlabel="round", ylabel="regret: reward lost so far")
axes.set_title("Relations save nearly all of the regret")
