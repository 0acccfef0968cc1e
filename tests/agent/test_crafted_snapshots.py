from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lsdt
from agent.crafted_snapshots import FULL, MANY, SIDES, closed, opened
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.kernel.state import field_kinds


def test_changed_snapshots_are_refused_or_play(thorough):
    program = Path(__file__).with_name("crafted_snapshots.py")
    words = [sys.executable, program, "7", "400" if thorough else "24"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["answers"]["refused"] > 8
    assert found["answers"]["plays"] > 1


def restored_with(agent, name, change):
    """Return the agent of a snapshot of which one array was changed."""
    version, head, arrays = opened(agent.snapshot())
    for entry in arrays:
        if entry[0] == name:
            entry[1] = change(entry[1])
    return lsdt.Agent.restore(closed(version, head, arrays))


def with_element(at, value):
    def change(array):
        array[at] = value
        return array

    return change


@pytest.mark.parametrize(
    ("side", "name", "change"),
    [
        ("pairs", "side/similar_indptr", with_element(1, 10**9)),
        ("pairs", "side/similar_indices", with_element(0, 10**6)),
        ("pairs", "side/dissimilar_indptr", with_element(-1, 0)),
        ("complete pairs", "side/similar_indices", lambda array: array[:-1]),
        ("implicit", "side/order", with_element(0, 3)),
        ("implicit", "side/right_end", with_element(0, 10**6)),
        ("implicit", "side/means", with_element(0, np.nan)),
        ("implicit", "counts", with_element(0, -1)),
        ("implicit", "counts", lambda array: array[:-1]),
        ("implicit", "sums", lambda array: array.astype("<f4")),
        ("implicit", "squares", with_element(0, -1.0)),
        ("implicit", "squares", with_element(0, float("nan"))),
        ("implicit", "squares", lambda array: array[:-1]),
        ("thresholds", "side/similar_thresholds", with_element(0, -1.0)),
    ],
)
def test_arrays_that_compiled_code_trusts_are_checked(side, name, change):
    agent = lsdt.Agent(SIDES[side], "lsdt_closure")
    with pytest.raises((InvalidFile, InvalidInput)):
        restored_with(agent, name, change)


def place_of(agent, field):
    player = agent.state().player
    return player.packed.offsets[1 + list(field_kinds(type(player.state))).index(field)]


def test_tables_and_places_of_a_state_are_checked():
    agent = lsdt.Agent(FULL, "kl_ucb")
    place = place_of(agent, "last")
    outside = with_element(place, np.array([10**6]).view(np.float64)[0])
    with pytest.raises(InvalidFile, match="'last' of the state points outside of its 8 places"):
        restored_with(agent, "buffer", outside)
    agent = lsdt.Agent(MANY, "ucb1")
    place = place_of(agent, "tree")
    with pytest.raises(InvalidFile, match="'tree' of the state points outside of its 600 places"):
        restored_with(agent, "buffer", with_element(place + 2, 1e9))
    agent = lsdt.Agent(FULL, "lsdt_closure")
    place = place_of(agent, "costs.rows.lower")
    with pytest.raises(InvalidFile, match="'costs.rows.lower' of the state does not hold what it must"):
        restored_with(agent, "buffer", with_element(place, 1e6))
    with pytest.raises(InvalidFile, match="have another key"):
        restored_with(agent, "buffer", with_element(slice(0, 4), 0.0))
