"""The order asked, the slow way: all events are kept, and looked through again at every one."""

from __future__ import annotations


class Play:
    """A play of an arm: open, cancelled, or with a reward."""

    def __init__(self, number, reward=None, is_open=True):
        self.number, self.reward, self.is_open = number, reward, is_open


def sequences(events, n_arms, most):
    """Return, for every arm, the rewards before its first open play, and the plays behind that one.

    Events are ``("ask", number, arm)``, ``("close", number, arm, reward)`` with None for cancelled, and
    ``("observe", arm, reward)``. A decision may be closed before it is asked for.
    """
    plays = [[] for _ in range(n_arms)]
    for at, event in enumerate(events):
        if event[0] == "close":
            for play in plays[event[2]]:
                if play.number == event[1]:
                    play.reward, play.is_open = event[3], False
            continue
        arm = event[2] if event[0] == "ask" else event[1]
        if len(_behind(plays[arm])) >= most:
            continue
        if event[0] == "observe":
            plays[arm].append(Play(None, event[2], is_open=False))
            continue
        play = Play(event[1])
        for earlier in events[:at]:
            if earlier[:2] == ("close", event[1]):
                play.reward, play.is_open = earlier[3], False
        plays[arm].append(play)
    counted = [_before(each) for each in plays]
    rewards = [[play.reward for play in each if play.reward is not None] for each in counted]
    return rewards, [_behind(each) for each in plays]


def _before(plays):
    """Return the plays before the first open one."""
    for at, play in enumerate(plays):
        if play.is_open:
            return plays[:at]
    return plays


def _behind(plays):
    """Return the plays behind the first open one."""
    return plays[len(_before(plays)) + 1 :]
