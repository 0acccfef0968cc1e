"""A replay as one would write it down: a list of users, taken from the front."""

from __future__ import annotations

import math

import numpy as np


def replayed(player, arms, ratings, order, rounds):
    """Return (item, user, rating) of every round, and how many users were used up."""
    waiting = list(order)
    history = []
    while len(history) < rounds and waiting:
        chosen = player.select()
        item = arms[chosen]
        while waiting and math.isnan(ratings[waiting[0]][item]):
            waiting.pop(0)
        if not waiting:
            break
        user = waiting.pop(0)
        player.update(chosen, ratings[user][item])
        history.append((int(item), int(user), float(ratings[user][item])))
    return history, len(order) - len(waiting)


def split_of(n_users, n_training, seed, number):
    """Return the users trained on and those tested, and the generator for what else is drawn."""
    rng = np.random.default_rng((seed, number, 0))
    users = rng.permutation(n_users).tolist()
    return users[:n_training], users[n_training:], rng


def taken_events(events, n_training, n_users, seed, number, clip=0.0):
    """Return the events of training and test that are used, in the order in which they come.

    An event is (user, item, answer, propensity); without propensities all are used.
    """
    trained, _, rng = split_of(n_users, n_training, seed, number)
    order = rng.permutation(len(events)).tolist()
    used = [True] * len(events)
    if events[0][3] is not None:
        smallest = {}
        for _, item, _, chance in events:
            smallest[item] = min(chance, smallest.get(item, 1.0))
        coins = rng.random(len(events))
        for at, (_, item, _, chance) in enumerate(events):
            used[at] = coins[at] < max(smallest[item], clip) / chance
    come = [at for at in order if used[at]]
    return [at for at in come if events[at][0] in trained], [
        at for at in come if events[at][0] not in trained
    ]


def replayed_events(player, arms, events, order, rounds):
    """Return (item, event, answer) of every round: the choice waits for an event that shows it."""
    history, waiting = [], list(order)
    while len(history) < rounds and waiting:
        chosen = player.select()
        while waiting and events[waiting[0]][1] != arms[chosen]:
            waiting.pop(0)
        if not waiting:
            break
        at = waiting.pop(0)
        player.update(chosen, events[at][2])
        history.append((int(arms[chosen]), at, events[at][2]))
    return history


def worth(choice, events, model, clip=0.0):
    """Return IPS, SNIPS, DR and the effective number of events of always playing `choice`."""
    weights = [1.0 / max(p, clip) if item == choice else 0.0 for _, item, _, p in events]
    answers = [answer for _, _, answer, _ in events]
    n = len(events)
    ips = sum(w * r for w, r in zip(weights, answers, strict=True)) / n
    snips = sum(w * r for w, r in zip(weights, answers, strict=True)) / sum(weights)
    dr = sum(model + w * (r - model) for w, r in zip(weights, answers, strict=True)) / n
    return ips, snips, dr, sum(weights) ** 2 / sum(w * w for w in weights)


def standard_error(values, users):
    """Return the error of the mean of values, those of a user taken together."""
    mean = sum(values) / len(values)
    by_user = {}
    for value, user in zip(values, users, strict=True):
        by_user[user] = by_user.get(user, 0.0) + value - mean
    return math.sqrt(sum(total**2 for total in by_user.values())) / len(values)


def value_of(events, probabilities, models, clip=0.0):
    """Return IPS, SNIPS and DR; every event has a row of probabilities and of modelled answers."""
    weighted = total = robust = 0.0
    for (_, item, answer, p), row, model in zip(events, probabilities, models, strict=True):
        w = row[item] / max(p, clip)
        weighted, total = weighted + w * answer, total + w
        robust += sum(a * b for a, b in zip(row, model, strict=True)) + w * (answer - model[item])
    return weighted / len(events), weighted / total, robust / len(events)
