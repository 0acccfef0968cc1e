"""
A life with late rewards
========================

An agent decides 1,200 times. Rewards come about 100 decisions late and out of order, and one in ten never
comes. Each mark is a decision, in the row of the arm that was chosen. While decisions are pending, they
count as if they had paid their arm's mean so far; a few hundred decisions later the agent has settled on
the best arm.
"""

import heapq

import matplotlib.pyplot as plt
import numpy as np

import lsdt

rng = np.random.default_rng(3)
means = np.sort(rng.uniform(0.1, 0.9, 24))[::-1]  # arm 0 is the best
side = lsdt.from_means(means, epsilon=0.12).reveal(0.4, 0.4, seed=1)
agent = lsdt.Agent(side, policy=lsdt.Policy("ts", on="propagation"), rewards="bernoulli", seed=0)

chosen, pending, under_way = [], [], []
for now in range(1200):
    decision = agent.ask()
    chosen.append(decision.arm)
    if rng.random() < 0.9:  # the others are never answered
        heapq.heappush(
            under_way,
            (now + min(rng.exponential(100), 500), decision.number, rng.random() < means[decision.arm]),
        )
    while under_way and under_way[0][0] <= now:
        _, number, reward = heapq.heappop(under_way)
        agent.tell(number, float(reward))
    if now % 300 == 299:  # give up on what is older than 600 decisions
        agent.cancel_before(max(0, decision.number - 600))
    pending.append(agent.n_pending)

plt.style.use("lsdt.plotting.slides")
figure, (above, below) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, height_ratios=(3, 1))
out = np.setdiff1d(np.arange(24), lsdt.candidate_set(side).arms)
for arm in out:
    above.axhspan(arm - 0.5, arm + 0.5, color="#E4E4E4", linewidth=0)
above.text(600, out.mean(), f"{len(out)} arms were out before the first decision", ha="center", va="center")
above.plot(chosen, "|", color="C0", ms=8, mew=0.7)
above.set(ylim=(23.6, -0.6), xlim=(0, 1200), yticks=[0, 23], ylabel="arms")
above.set_yticklabels(["best", "worst"])
above.grid(visible=False)
share = chosen[-500:].count(0) / 500
above.set_title(f"Rewards come late, and {share:.0%} of the last 500 decisions are right")
below.plot(pending, color="C1")
below.set(ylim=(0, None), xlabel="decisions", ylabel="pending")
