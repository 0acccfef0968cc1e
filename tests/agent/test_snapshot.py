from __future__ import annotations

import struct

import numpy as np
import pytest

import lsdt
from agent.examples import MEANS, NAMED, SIDE, played, same_state
from lsdt.errors import InvalidFile

SIDES = {
    "implicit": SIDE,
    "named": NAMED,
    "revealed": SIDE.reveal(0.6, 0.6, seed=4),
    "by distance": SIDE.reveal(lambda d: 1 - d / 2, 0.5, seed=4),
    "pairs": SIDE.reveal(0.6, 0.6, seed=4).explicit(),
    "complete pairs": SIDE.explicit(),
}


@pytest.mark.parametrize("name", SIDES)
def test_a_restored_agent_goes_on_bit_for_bit(name):
    agent = played(lsdt.Agent(SIDES[name], "ts", seed=5), 50)
    agent.ask(3)
    blob = agent.snapshot()
    again = lsdt.Agent.restore(blob)
    assert same_state(agent, again)
    assert again.side == agent.side
    assert again.policy == agent.policy
    assert again.policy_reason == agent.policy_reason
    assert again.snapshot() == blob
    for _ in range(30):
        first, second = agent.ask(propensity=True), again.ask(propensity=True)
        assert first == second
        agent.tell(first, 1.0)
        again.tell(second, 1.0)


@pytest.mark.parametrize("name", lsdt.policies.available())
def test_every_policy_survives(name):
    agent = played(lsdt.Agent(SIDE, name, horizon=300), 80)
    again = lsdt.Agent.restore(agent.snapshot())
    played(agent, 100, seed=9)
    played(again, 100, seed=9)
    assert same_state(agent, again)


def test_every_damaged_byte_is_noticed():
    agent = lsdt.Agent(lsdt.from_means(MEANS[:3], 0.2), "ucb1")
    agent.tell(agent.ask(), 1.0)
    agent.ask()
    blob = agent.snapshot()
    for at in range(len(blob)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(blob)
            damaged[at] ^= flip
            with pytest.raises(InvalidFile):
                lsdt.Agent.restore(bytes(damaged))


def test_every_shortened_snapshot_is_refused():
    blob = lsdt.Agent(lsdt.from_means(MEANS[:3], 0.2), "ucb1").snapshot()
    for length in range(len(blob)):
        with pytest.raises(InvalidFile):
            lsdt.Agent.restore(blob[:length])
    with pytest.raises(InvalidFile, match="damaged"):
        lsdt.Agent.restore(blob + b"\0" * 8)


def test_what_is_not_a_snapshot_is_refused_with_a_word():
    with pytest.raises(InvalidFile, match="does not begin like one"):
        lsdt.Agent.restore(b"PK\x03\x04 something else altogether")
    with pytest.raises(InvalidFile, match="a snapshot is bytes; got str"):
        lsdt.Agent.restore("text")
    blob = bytearray(lsdt.Agent(SIDE, "ucb1").snapshot())
    for version, what in ((99, "upgrade lsdt"), (3, "made by an earlier lsdt, .* prior=")):
        struct.pack_into("<I", blob, 8, version)
        with pytest.raises(InvalidFile, match=f"has format {version}, and .* reads format 5: .*{what}"):
            lsdt.Agent.restore(bytes(blob))


def test_a_snapshot_is_a_copy():
    agent = played(lsdt.Agent(SIDE, "ucb1"), 20)
    again = lsdt.Agent.restore(agent.snapshot())
    played(agent, 20)
    assert again.n_told == 20
    assert not np.shares_memory(again.state().counts, agent.state().counts)


def test_ranges_come_back():
    side = lsdt.SideInformation(
        5, [(0, 1)], [(1, 4)], epsilon=0.1, better=[(0, 2)], ranges=[(0, 3, 0.05, None)]
    )
    agent = lsdt.Agent(side, policy=lsdt.Policy("ucb1", on="propagation"), seed=1)
    agent.tell(agent.ask(), 1.0)
    again = lsdt.Agent.restore(agent.snapshot())
    assert again.side == side
    assert again.ask() == agent.ask()
