from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import lsdt
from lsdt.errors import InvalidInput

MODULE = """
from __future__ import annotations
from typing import NamedTuple
import numpy as np
import lsdt
from lsdt.kernel.states import Reals, Whole

class StubbornState(NamedTuple):
    favourite: Whole
    seen: Reals

def prepare(situation, parameters):
    return StubbornState(FAVOURITE, np.zeros(1))

def select(state, allowed, stream):
    return state.favourite

def update(state, arm, reward, stream):
    state.seen[0] += reward

lsdt.policies.register(lsdt.policies.Specification(
    name="stubborn", title="Stubborn", rule="always the same", reference="none", cost="O(1)",
    state=StubbornState, prepare=prepare, select=select, update=update,
))
"""

SCRIPT = """
import lsdt, stubborn
problem = lsdt.problems.uniform(n_arms=5, epsilon=.2)
result = lsdt.simulate(problem, ["stubborn", "ucb1"], 20, 2)
entry = lsdt.policies.registry.specification("stubborn").entries().play
print(result.plays("stubborn").tolist()[0].index(20), sum(entry.stats.cache_hits.values()))
"""


def run_script(folder):
    """In a cache of its own: processes that compile at the same time may lose one another's entries."""
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.split()


def test_a_users_compiled_policy_is_kept_on_disk_until_its_file_changes(tmp_path):
    (tmp_path / "stubborn.py").write_text(MODULE.replace("FAVOURITE", "3"))
    assert run_script(tmp_path)[0] == "3"
    assert run_script(tmp_path) == ["3", "1"]
    (tmp_path / "stubborn.py").write_text(MODULE.replace("FAVOURITE", "4").replace("+= reward", "= reward"))
    assert run_script(tmp_path) == ["4", "0"]


def test_registering():
    with pytest.raises(InvalidInput, match="takes a Specification; got str"):
        lsdt.policies.register("ucb1")
    with pytest.raises(InvalidInput, match="there is a built-in policy 'ucb1'"):
        lsdt.policies.register(lsdt.policies.registry.specification("ucb1"))


def test_policies_are_values():
    import pickle

    for policy in (lsdt.Policy("ucb1", on="candidates", alpha=3.0), lsdt.Policy("lsdt_csi", label="x")):
        again = pickle.loads(pickle.dumps(policy))
        assert again == policy
        assert hash(again) == hash(policy)
        assert again.parameters == policy.parameters
    assert lsdt.Policy("ucb1") != lsdt.Policy("ucb1", alpha=3.0)
    assert lsdt.Policy("ucb1", alpha=2.0).label == "ucb1 (alpha=2)"


def test_where_a_policy_plays():
    with pytest.raises(InvalidInput, match="lsdt_psi has the paper's offline step built in"):
        lsdt.Policy("lsdt_psi", on="candidates")
    with pytest.raises(
        InvalidInput, match="on must be one of 'all', 'candidates'; got 'candidate'.*did you mean"
    ):
        lsdt.Policy("ucb1", on="candidate")
    with pytest.raises(InvalidInput, match="asked for by name; got 3"):
        lsdt.Policy(3)
