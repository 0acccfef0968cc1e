"""Runs inside a peer's environment: plays rounds when it is told to, and says how long they took.

    python peer_loops.py PACKAGE POLICY ARMS

It prints the version of the package, then reads numbers of rounds and prints seconds. Nothing but the peer's
own policy and a coin for the reward is in the loop.
"""

import contextlib
import io
import random
import sys
from time import process_time


def smpybandits(policy, n_arms):
    with contextlib.redirect_stdout(io.StringIO()):  # it greets with advice
        from SMPyBandits import Policies
    player = {"ucb1": Policies.UCB, "ts": Policies.Thompson}[policy](n_arms)
    player.startGame()
    return player.choice, player.getReward


def mabwiser(policy, n_arms):
    from mabwiser.mab import MAB, LearningPolicy

    rules = {"ucb1": LearningPolicy.UCB1(alpha=2**0.5), "ts": LearningPolicy.ThompsonSampling()}
    player = MAB(arms=list(range(n_arms)), learning_policy=rules[policy], seed=0)
    arms = list(range(n_arms))
    player.fit(arms, [arm % 2 for arm in arms])  # it wants one reward of every arm before it predicts
    return player.predict, lambda arm, reward: player.partial_fit([arm], [reward])


def river(policy, n_arms):
    from river import bandit, proba

    if policy == "ucb1":
        player = bandit.UCB(delta=1, seed=0)
    else:
        player = bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=0)
    arms = list(range(n_arms))
    return lambda: player.pull(arms), player.update


def play(make, policy, means, rounds):
    choose, learn = make(policy, len(means))
    coin = random.Random(0).random
    started = process_time()
    for _ in range(rounds):
        arm = choose()
        learn(arm, int(coin() < means[arm]))
    return process_time() - started


def main():
    package, policy, n_arms = sys.argv[1], sys.argv[2], int(sys.argv[3])
    from importlib.metadata import version

    make = {"SMPyBandits": smpybandits, "mabwiser": mabwiser, "river": river}[package]
    means = [(arm + 0.5) / n_arms for arm in range(n_arms)]
    play(make, policy, means, 20)
    print(version(package), flush=True)
    for line in sys.stdin:
        print(play(make, policy, means, int(line)), flush=True)


if __name__ == "__main__":
    main()
