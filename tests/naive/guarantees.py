"""Which rewards count for guarantees at a time, from the events alone: slow and obvious."""

from __future__ import annotations

from lsdt.storage import Kind

ENDS = (Kind.TELL, Kind.CANCEL, Kind.EXPIRE)


def counted(events, n_arms, within, time):
    """Return counts, sums and open decisions of every arm that guarantees count at a time.

    A reward counts once nothing can replace it. A unit counts by its first decision.
    """
    counts, sums, still_open = [0] * n_arms, [0.0] * n_arms, [0] * n_arms
    asks = [event for event in events if event.kind == Kind.ASK]
    for ask in asks:
        if ask.data is not None and ask.data[:1] == b"\x04":  # of a unit that was there before
            continue
        ends = [event for event in events if event.number == ask.number and event.kind in ENDS]
        if not ends:
            still_open[ask.arm] += 1
            continue
        (end,) = ends
        if end.reward is None:
            continue
        if within is not None and end.time + within > time:
            still_open[ask.arm] += 1
            continue
        reward = end.reward
        for event in events:
            if event.kind == Kind.REPLACE and event.number == ask.number:
                reward = event.reward
        counts[ask.arm] += 1
        sums[ask.arm] += reward
    for event in events:
        if event.kind == Kind.OBSERVE:
            counts[event.arm] += 1
            sums[event.arm] += event.reward
    return counts, sums, still_open
