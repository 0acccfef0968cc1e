"""Fingerprints of logs, to recognise ratings that were used before.

Side information and a prior from the same ratings count them twice. To detect this, side information carries
marks of some of its users. A mark is a hash of all items and ratings of a user, in any order. It does not
depend on the names or numbers of users, nor on the unit of ratings. Users with the most ratings are marked,
because no two of them are likely to have the same ratings.

A mark has 64 bits and reveals neither the user nor the ratings.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.log import RatingLog
    from lsdt.side_information import ArmId, SideInformation

# Users that are marked: enough to estimate a share within 0.1, at 16 characters each in a file.
_MARKS = 32
_LEAST_RATINGS = 2  # of a user; one rating compares no two items
_STEPS = 1e6  # of the scale: smaller differences come from rounding in another unit or file format
# Share of the marks from which a log counts as the same. Logs of other users have none of them, barring a
# collision of 64 bits; a random half of the log has about half.
_SAME = 0.5
# The constants of SplitMix64.
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def fingerprint_of(log: RatingLog) -> tuple[str, ...]:
    """Return the marks of the users with the most ratings, ascending.

    Examples
    --------
    >>> import lsdt
    >>> log = lsdt.ratings.read_log(lsdt.ratings.make_log(n_users=50, n_items=9, ratings_per_user=5).log)
    >>> marks = fingerprint_of(log)
    >>> len(marks), share_known(marks, log.unit()), share_known(marks, log.of_users(range(25))) < 1
    (32, 1.0, True)
    """
    lengths = np.diff(log.starts)
    most = np.argsort(-lengths, kind="stable")[:_MARKS]
    chosen = most[lengths[most] >= _LEAST_RATINGS]
    return tuple(sorted(f"{mark:016x}" for mark in set(_marks(log.of_users(chosen)).tolist())))


def share_known(marks: tuple[str, ...], log: RatingLog) -> float:
    """Return the share of the marks found among the users of a log; 0 without marks."""
    if not marks:
        return 0.0
    known = np.array([int(mark, 16) for mark in marks], np.uint64)
    return float(np.isin(known, _marks(log)).mean())


def share_of_prior(side: SideInformation, log: RatingLog) -> float:
    """Return the share of the marked users that are in a log; 0 if it holds other ratings.

    The side information may cover only some items of the log.
    """
    found = share_known(side.fingerprint, log)
    if found < _SAME and side.fingerprint and side.arm_ids is not None:
        arms: set[ArmId] = set(side.arm_ids)
        mine = [at for at, item in enumerate(log.item_ids) if item in arms]
        if 0 < len(mine) < log.n_items:
            found = share_known(side.fingerprint, log.of_items(mine))
    return found if found >= _SAME else 0.0


def _marks(log: RatingLog) -> NDArray[np.uint64]:
    """Return a mark for every user: the sum of hashes of their ratings."""
    names = [hashlib.blake2b(repr(item).encode(), digest_size=8).digest() for item in log.item_ids]
    items = np.frombuffer(b"".join(names), "<u8").astype(np.uint64)
    steps = np.rint(log.unit_ratings() * _STEPS).astype(np.int64).astype(np.uint64)
    hashes = _mixed(items[log.items] ^ _mixed(steps))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)))
    return np.asarray(sums[log.starts[1:]] - sums[log.starts[:-1]])


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of words (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    words = words + _ODD[0]
    words = (words ^ (words >> np.uint64(30))) * _ODD[1]
    words = (words ^ (words >> np.uint64(27))) * _ODD[2]
    return words ^ (words >> np.uint64(31))
