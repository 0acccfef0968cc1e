"""Compiled side of `log`: sort ratings by user and item, and pick rows out of them."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, copy_into


@compiled
def rows_of_triples(
    users: Array, items: Array, ratings: Array, n_users: int, n_items: int
) -> tuple[Array, Array, Array]:
    """Return ``starts, items, ratings`` by user, the items of each ascending.

    Two counting passes, by item and then by user; ratings of one user and item stay in the order given.
    """
    place = np.zeros(n_items + 1, np.int64)
    starts = np.zeros(n_users + 1, np.int64)
    for at in range(len(users)):
        place[items[at] + 1] += 1
        starts[users[at] + 1] += 1
    for item in range(n_items):
        place[item + 1] += place[item]
    for user in range(n_users):
        starts[user + 1] += starts[user]
    by_item = np.empty(len(users), np.uint32)
    for at in range(len(users)):
        by_item[place[items[at]]] = at
        place[items[at]] += 1
    free = starts[:-1].copy()
    sorted_items = np.empty(len(users), np.int32)
    sorted_ratings = np.empty(len(users), np.float64)
    for number in range(len(by_item)):
        at = by_item[number]
        to = free[users[at]]
        sorted_items[to] = items[at]
        sorted_ratings[to] = ratings[at]
        free[users[at]] += 1
    return starts, sorted_items, sorted_ratings


@compiled
def first_repeat(starts: Array, items: Array) -> tuple[int, int]:
    """Return the first user and item that occur twice, or ``(-1, -1)``."""
    for user in range(len(starts) - 1):
        for at in range(starts[user] + 1, starts[user + 1]):
            if items[at] == items[at - 1]:
                return user, items[at]
    return -1, -1


@compiled
def merge_repeats(starts: Array, items: Array, ratings: Array, mean: bool) -> int:
    """Merge repeated ratings of a user and item into their mean, or the last, in place; return the count."""
    kept = 0
    begin = starts[0]
    for user in range(len(starts) - 1):
        end = starts[user + 1]
        starts[user] = kept
        at = begin
        while at < end:
            last = at
            total = ratings[at]
            while last + 1 < end and items[last + 1] == items[at]:
                last += 1
                total += ratings[last]
            items[kept] = items[at]
            ratings[kept] = total / (last - at + 1) if mean else ratings[last]
            kept += 1
            at = last + 1
        begin = end
    starts[len(starts) - 1] = kept
    return kept


@compiled
def rows_of_users(starts: Array, items: Array, ratings: Array, users: Array) -> tuple[Array, Array, Array]:
    """Return the rows of some users, in the order given."""
    begin = np.zeros(len(users) + 1, np.int64)
    for number in range(len(users)):
        begin[number + 1] = begin[number] + starts[users[number] + 1] - starts[users[number]]
    picked_items = np.empty(begin[len(users)], np.int32)
    picked_ratings = np.empty(begin[len(users)], np.float64)
    for number in range(len(users)):
        first, last = starts[users[number]], starts[users[number] + 1]
        to = begin[number]
        copy_into(picked_items[to:], items[first:last])
        copy_into(picked_ratings[to:], ratings[first:last])
    return begin, picked_items, picked_ratings
