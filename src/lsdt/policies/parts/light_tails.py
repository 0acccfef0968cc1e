"""What the policies for light (sub-exponential) tails share: their parameters.

The mean of n such rewards is above its expectation by x with probability at most exp(-n min(x^2 / (2 nu^2),
x / (2 b))) (Wainwright, *High-Dimensional Statistics*, 2019, Proposition 2.9, for the mean of n). Solved for
the probability t^-c, c the confidence, that is the width max(nu sqrt(2 c log t / n), 2 b c log t / n). With
confidence 4 and sub-Gaussian rewards (nu = sigma, b = 0) it is the width of UCB1 for rewards in [0, 1],
where sigma = 1/2, and that of LSDT-CSI.
"""

from __future__ import annotations

from lsdt.policies.specification import Number

NU = Number(
    "nu",
    None,
    "sub-exponential parameter of the rewards; by default the problem's, sigma for sub-Gaussian ones",
    above=0.0,
    told=lambda rewards, _: rewards.tails.nu,
)
B = Number(
    "b",
    None,
    "second sub-exponential parameter; by default the problem's, 0 for sub-Gaussian rewards",
    at_least=0.0,
    told=lambda rewards, _: rewards.tails.b,
)
CONFIDENCE = Number(
    "confidence", 4.0, "bounds fail with probability t^-confidence; 4 as in UCB1 and LSDT-CSI", above=0.0
)
