"""A replay as one would write it down: a list of users, taken from the front."""

from __future__ import annotations

import math


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
