from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.policies.offline import offline_step

MODULE = """
from __future__ import annotations
import os
from typing import NamedTuple
import numpy as np
import lsdt
from lsdt.kernel.state import Reals, Whole

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
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
begun = lsdt.Policy("stubborn").begin(lsdt.SideInformation(5), RewardModel("gaussian", 1.), 9, new_stream(0))
print(begun.player.select(), sum(begun.player.entries.select.stats.cache_hits.values()))
"""

# Two studies with one policy, which is compiled once: the first plays an arm that there is not.
STUDIES = """
import os
os.environ["FAVOURITE"] = "50_000_000"
import lsdt, stubborn
import numpy as np
problem = lsdt.problems.given([.1, .2, .3, .4, .5], lsdt.SideInformation(5))
try:
    lsdt.simulate(problem, "stubborn", 20, 2)
except lsdt.errors.LsdtError as error:
    print(str(error).replace(" ", "_"))
del os.environ["FAVOURITE"]
problem = lsdt.problems.uniform(12, epsilon=.3)
plays = lsdt.simulate(problem, "stubborn", 20, 6, n_jobs=1).plays("stubborn")
print(*(int(arm) for arm in plays.argmax(axis=1)))
for number in range(6):
    instance = problem.draw(0, number)
    print(int(np.diff(lsdt.Situation(instance.side, instance.rewards.model).similar.indptr).argmax()))
"""


def run_script(folder, script=SCRIPT):
    """In a cache of its own: processes that compile at the same time may lose one another's entries."""
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.split()


@pytest.mark.large
def test_studies_of_a_users_policy(tmp_path):
    """An arm that there is not is an error, not a crash.

    And it is given the side information of every replication, even if it declares no need of any: it may
    look, as this one at the arm with most similar ones.
    """
    look = "int(os.environ.get('FAVOURITE') or np.diff(situation.similar.indptr).argmax())"
    (tmp_path / "stubborn.py").write_text(MODULE.replace("FAVOURITE", look))
    complaint, *found = run_script(tmp_path, STUDIES)
    assert complaint == "the_policy_'stubborn'_selected_50000000;_arms_are_0_to_4"
    assert found[:6] == found[6:]
    assert len(set(found)) > 1


@pytest.mark.large
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

    for policy in (lsdt.Policy("ucb1", on="paper", alpha=3.0), lsdt.Policy("lsdt_csi", label="x")):
        again = pickle.loads(pickle.dumps(policy))
        assert again == policy
        assert hash(again) == hash(policy)
        assert again.parameters == policy.parameters
    assert lsdt.Policy("ucb1") != lsdt.Policy("ucb1", alpha=3.0)
    assert lsdt.Policy("ucb1", alpha=2.0).label == "ucb1 (alpha=2)"


def test_where_a_policy_plays():
    with pytest.raises(InvalidInput, match="lsdt_psi always plays on 'paper', by its own offline step"):
        lsdt.Policy("lsdt_psi", on="paper")
    with pytest.raises(
        InvalidInput,
        match="on must be one of 'all', 'auto', 'paper', .*; got 'papers'.*did you mean 'paper'",
    ):
        lsdt.Policy("ucb1", on="papers")
    with pytest.raises(InvalidInput, match="asked for by name; got int"):
        lsdt.Policy(3)


def test_a_class_of_state_belongs_to_one_policy():
    import dataclasses

    from lsdt.policies.classic import ucb1

    borrowed = dataclasses.replace(ucb1.SPECIFICATION, name="mine", select=ucb1.update)
    with pytest.raises(InvalidInput, match="Ucb1State belongs to another policy"):
        lsdt.policies.register(borrowed)
    ucb1.SPECIFICATION.entries()  # the owner comes first, whatever tests ran before
    with pytest.raises(InvalidInput, match="two policies share the class of state Ucb1State"):
        borrowed.entries()


HELPER = "def pick():\n    return 2\n"


@pytest.mark.large
@pytest.mark.long
def test_editing_what_a_users_policy_calls_compiles_it_anew(tmp_path):
    body = MODULE.replace("FAVOURITE", "0").replace("return state.favourite", "return pick()")
    body = body.replace(
        "import lsdt\n", "import lsdt\nimport numba\nimport helper\npick = numba.njit(helper.pick)\n"
    )
    (tmp_path / "stubborn.py").write_text(body)
    (tmp_path / "helper.py").write_text(HELPER)
    assert run_script(tmp_path)[0] == "2"
    (tmp_path / "helper.py").write_text(HELPER.replace("2", "1"))
    assert run_script(tmp_path)[0] == "1"


@pytest.mark.parametrize("on", ["auto", "paper", "triangles", "propagation", "probing", "exact"])
def test_on_takes_the_words_of_method(on):
    side = lsdt.from_means([0.1, 0.12, 0.2, 0.3, 0.45], 0.15).reveal(0.9, 0.9, seed=2)
    wanted = lsdt.candidate_set(side, on)
    assert (lsdt.Policy("ucb1", on=on).on, offline_step(side, on).method) == (on, wanted.method)
    assert offline_step(side, on).arms.tolist() == wanted.arms.tolist()
