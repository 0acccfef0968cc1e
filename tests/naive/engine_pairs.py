"""Pair statistics of a log as a list of triples, exactly and one pair at a time."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations


def with_means(rows):
    """One rating per user and item: the mean of those given."""
    given = {}
    for user, item, rating in rows:
        given.setdefault((user, item), []).append(Fraction(rating))
    return {key: sum(ratings) / len(ratings) for key, ratings in given.items()}


def pair_statistics(rows, scale, min_raters):
    """Return {(a, b): (raters, difference, variance)} on the scale from 0 to 1, and how many pairs have any."""
    rated = with_means(rows)
    low, high = map(Fraction, scale)
    users = {user for user, _ in rated}
    found, compared = {}, 0
    for a, b in combinations(sorted({item for _, item in rated}), 2):
        differences = [
            (rated[user, a] - rated[user, b]) / (high - low)
            for user in users
            if (user, a) in rated and (user, b) in rated
        ]
        compared += bool(differences)
        if differences and len(differences) >= min_raters:
            mean = sum(differences) / len(differences)
            squares = sum((difference - mean) ** 2 for difference in differences)
            variance = squares / (len(differences) - 1) if len(differences) > 1 else None
            found[a, b] = len(differences), mean, variance
    return found, compared


def coins(n_users, coefficients):
    """Coins of users by arithmetic without bounds."""
    prime = 2**31 - 1
    first, second, third, fourth = coefficients
    return [(first * k**3 + second * k**2 + third * k + fourth) % prime for k in range(n_users)]
