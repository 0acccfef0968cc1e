from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

import lsdt
from forks import forks
from lsdt.errors import InvalidInput
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.policies import registry
from lsdt.policies.offline import offline_step

if TYPE_CHECKING:
    from lsdt.kernel.state import Real, Reals, Whole, Wholes

ROOT = Path(__file__).parent.parent.parent

MODULE = """
from __future__ import annotations
import os
from typing import NamedTuple
import numpy as np
import lsdt
from lsdt.kernel.state import Reals, Whole

class StubbornState(NamedTuple):
    favourite: Whole
    n_arms: Whole
    seen: Reals

def prepare(situation, parameters):
    return StubbornState(FAVOURITE, situation.n_arms, np.zeros(1))

def select(state, allowed, stream):
    if len(allowed.flags) != state.n_arms or not allowed.flags.all():  # also where all may be played
        return -1
    return state.favourite

def update(state, arm, reward, stream):
    state.seen[0] += reward

lsdt.policies.register(lsdt.policies.Specification(
    name="stubborn", title="Stubborn", rule="always the same", reference="none", cost="O(1)",
    state=StubbornState, prepare=prepare, select=select, update=update,
))
"""

# What the policy needs beside itself is compiled already; the policy is kept in a folder of its own.
BEGIN = """
import os, sys
os.environ["LSDT_JIT"] = "always"
from pathlib import Path
import lsdt
from lsdt.kernel import cache_files
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
sys.path.insert(0, "")
side, stream = lsdt.SideInformation(5), new_stream(0)
cache_files.cache_folders = lambda: [Path("kept")]
cache_files.writable_folder.cache_clear()
"""
DECIDE = """
import stubborn
ready = lsdt.Policy("stubborn").begin(side, RewardModel("gaussian", 1.), 9, stream)
print(ready.player.select(), sum(ready.player.entries.select.dispatcher.stats.cache_hits.values()))
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
    situation = lsdt.policies.Situation(instance.side, instance.rewards.model)
    print(int(np.diff(situation.similar.indptr).argmax()))
"""


def run_script(folder, script):
    """Run a script in a process of its own; what else it needs is compiled already."""
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.split()


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
    for arm, update in (("3", "+= reward"), ("4", "= reward")):
        text = MODULE.replace("FAVOURITE", arm).replace("+= reward", update)
        (tmp_path / f"version{arm}.py").write_text(text)
    write = "Path('stubborn.py').write_text(Path('version{}.py').read_text())\n"
    steps = (write.format(3) + DECIDE, DECIDE, write.format(4) + DECIDE, DECIDE)
    assert forks(BEGIN, *steps, folder=tmp_path) == [["3", "0"], ["3", "1"], ["4", "0"], ["4", "1"]]


# The policies of the handbook, and an agent that is asked, closed and opened again.
HANDBOOK = """
import lsdt, handbook
side = lsdt.SideInformation(5)
result = lsdt.simulate(lsdt.problems.given([.1, .2, .3, .4, .5], side), ["mine", "in_turn"], 20, 2)
print(*result.plays("in_turn")[1], result.plays("mine")[0].sum())
def open_again():
    return lsdt.Agent.open("memory://turns", "turns", side, policy="in_turn", snapshot_every=0)
agent = open_again()
print(*(decision.arm for decision in agent.ask(3)), agent.ask(allowed=[0, 1]).arm)
agent.close()
print(*(decision.arm for decision in open_again().ask(5)))
result = lsdt.simulate(lsdt.problems.given([.1, .2, .3], rewards="bernoulli"), ["window"], 20, 2)
agent = lsdt.Agent(lsdt.SideInformation(2), "window")
agent.observe(1, .5)
for _ in range(10):
    agent.observe(0, 1.)
before = agent.ask().arm
for _ in range(6):
    agent.observe(0, 0.)
print(result.plays("window")[0].sum(), before, agent.ask().arm)
"""


@pytest.mark.large
def test_the_policies_of_the_handbook(tmp_path):
    """One counts asks: in a study, with decisions pending, and restored from a log; one has a table."""
    section = (ROOT / "docs/handbook/policies.md").read_text().partition("## Your own policy")[2]
    blocks = [block for block in re.findall("```python\n(.*?)```", section, re.DOTALL) if "register" in block]
    (tmp_path / "handbook.py").write_text("".join(blocks))
    assert " ".join(run_script(tmp_path, HANDBOOK)) == "4 4 4 4 4 20 0 1 2 0 1 2 3 4 0 20 0 1"


def test_registering():
    with pytest.raises(InvalidInput, match=r"takes an lsdt.policies.Specification \(docs/.*\); got str"):
        lsdt.policies.register("ucb1")
    with pytest.raises(InvalidInput, match="there is a built-in policy 'ucb1'"):
        lsdt.policies.register(lsdt.policies.registry.specification_of("ucb1"))


class MeansState(NamedTuple):
    scale: Real
    first: Whole
    counts: Wholes
    sums: Reals


class UnknownKinds(NamedTuple):
    scale: Real
    counts: list


class NoFields:
    pass


def means_state(situation, parameters):
    return MeansState(1.0, 0, np.zeros(situation.n_arms, int), np.zeros(situation.n_arms))


def first_arm(state, allowed, stream):
    return state.first


def add(state, arm, reward, stream):
    state.sums[arm] += reward


MINE = lsdt.policies.Specification(
    name="mine",
    title="Mine",
    rule="the first",
    reference="none",
    cost="O(1)",
    state=MeansState,
    prepare=means_state,
    select=first_arm,
    update=add,
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"state": UnknownKinds},
            "field 'counts' of UnknownKinds is declared 'list'; accepted are Real, Whole .*__future__",
        ),
        ({"state": NoFields}, "is a typing.NamedTuple of fields .*; got NoFields"),
        ({"state": dict}, "is a typing.NamedTuple of fields .*; got dict"),
        (
            {"select": lambda state: 0},
            r"select is called as select\(state, allowed, stream\): too many positional",
        ),
        ({"update": "add"}, r"update must be a function, update\(state, arm, reward, stream\); got 'add'"),
        ({"asked": lambda state: None}, r"asked is called as asked\(state, arm, allowed, stream\)"),
        ({"expect": lambda state: None}, r"expect is called as expect\(state, arms, rewards, stream\)"),
        ({"needs": frozenset({"order"})}, "mine: needs must be one of 'complete', .*; got 'order'"),
        ({"offline": "all"}, "mine: offline must be one of '', 'paper', 'propagation'; got 'all'"),
        ({"eliminates": True}, "eliminates needs a field 'alive'; the state has scale, first, counts, sums"),
        ({"places": {"champion": "counts"}}, "places names a field 'champion'; the state has"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_said_before_it_is_compiled(monkeypatch, changes, message):
    monkeypatch.setattr(registry, "_ADDED", {})
    with pytest.raises(InvalidInput, match=message):
        lsdt.policies.register(replace(MINE, **changes))
    assert "mine" not in lsdt.policies.available()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ((1.0, 0, [1.5], [0.0]), "field 'counts' of MeansState is declared Wholes: .* whole numbers"),
        ((1.0, 0.5, [1], [0.0]), "field 'first' of MeansState is declared Whole: .* whole numbers .*0.5"),
        ((1.0, 0, [1], 0.0), "field 'sums' .* an array of one dimension there; got shape ()"),
        (
            (1.0, 0, [1], [[0.0]]),
            "one dimension there; .*; keep a table row by row, and use reshape",
        ),
        (([1.0], 0, [1], [0.0]), "field 'scale' .* a single number there; got shape"),
        (("a", 0, [1], [0.0]), "field 'scale' .* numbers there; got 'a'"),
        (None, "prepare must return a MeansState, as declared; got tuple"),
    ],
)
def test_what_is_wrong_with_a_state_is_said(monkeypatch, state, message):
    monkeypatch.setattr(registry, "_ADDED", {})
    made = (0, 1) if state is None else MeansState(*state)
    lsdt.policies.register(replace(MINE, prepare=lambda situation, parameters: made))
    with pytest.raises(InvalidInput, match=message):
        lsdt.Policy("mine").begin(lsdt.SideInformation(1), RewardModel("gaussian", 1.0), 9, new_stream(0))


def test_an_agent_says_how_a_policy_of_ones_own_is_used(monkeypatch):
    class Mine:
        def select(self):
            return 0

    monkeypatch.setattr(registry, "_ADDED", {})
    side = lsdt.SideInformation(2)
    register = "declare it with lsdt.policies.register, then ask for it by name .*; as it is, lsdt.simulate"
    for policy, kind in ((Mine, "the class Mine"), (Mine(), "a value of kind Mine")):
        with pytest.raises(InvalidInput, match=f"asked for by name, .*; got {kind}; .*{register}"):
            lsdt.Agent(side, policy=policy)
    with pytest.raises(InvalidInput, match="register.specification. first, then ask for 'mine' by name"):
        lsdt.Agent(side, policy=MINE)
    with pytest.raises(InvalidInput, match="or is an lsdt.Policy; got a value of kind int$"):
        lsdt.Agent(side, policy=3)


def test_an_agent_takes_the_words_that_a_study_takes():
    side = lsdt.from_means([0.1, 0.2, 0.3], 0.15)
    agent = lsdt.Agent(side, policy="ucb1@propagation:alpha=8")
    assert agent.policy == lsdt.Policy("ucb1", on="propagation", alpha=8.0)
    assert agent.arms_in_play == [0, 2]
    url = "memory://words"
    lsdt.Agent.open(url, "words", side=side, policy="ts@paper").close()
    again = lsdt.Agent.open(url, "words", side=side, policy="ts@paper")
    assert again.policy == lsdt.Policy("ts", on="paper")
    again.close()
    with pytest.raises(InvalidInput, match="policy"):
        lsdt.Agent.open(url, "words", side=side, policy="ts")
    with pytest.raises(InvalidInput, match="on must be one of .*did you mean 'paper'"):
        lsdt.Agent(side, policy="ts@papers")


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
    with pytest.raises(InvalidInput, match="asked for by name, .*; got a value of kind int$"):
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
    edit = f"Path('helper.py').write_text({HELPER.replace('2', '1')!r})\n"
    assert forks(BEGIN, DECIDE, edit + DECIDE, folder=tmp_path) == [["2", "0"], ["1", "0"]]


@pytest.mark.parametrize("on", ["auto", "paper", "triangles", "propagation", "probing", "exact"])
def test_on_takes_the_words_of_method(on):
    side = lsdt.from_means([0.1, 0.12, 0.2, 0.3, 0.45], 0.15).reveal(0.9, 0.9, seed=2)
    wanted = lsdt.candidate_set(side, on)
    assert (lsdt.Policy("ucb1", on=on).on, offline_step(side, on).method) == (on, wanted.method)
    assert offline_step(side, on).arms.tolist() == wanted.arms.tolist()
