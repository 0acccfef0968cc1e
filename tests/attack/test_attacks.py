"""A moment of every attack; `make test-attack` gives them minutes."""

from __future__ import annotations

import numpy as np
import pytest

from attack import run
from attack.damaged_files import damaged
from attack.outcome import Outcome, joined

SECONDS = 0.5
# Races for the cache compile for half a minute; tests/kernel/test_code_cache.py has them in the worst order.
LONG = {"commands", "damaged_files", "full_disk", "requests"}
SHORT = [
    pytest.param(name, marks=pytest.mark.long if name in LONG else ())
    for name in run.ATTACKS
    if name != "cache_races"
]


@pytest.mark.large
@pytest.mark.parametrize("name", SHORT)
def test_an_attack_finds_nothing(name):
    found = run.run_attack(name, 1, SECONDS)
    assert found.failures == []
    assert found.tried == found.well > 0


def test_damage_is_damage_and_the_same_seed_does_the_same():
    data = b"a,b,relation\n1,2,similar\n2,3,dissimilar\n"
    made = [damaged(data, np.random.default_rng([1, case])) for case in range(300)]
    assert data not in made
    assert made == [damaged(data, np.random.default_rng([1, case])) for case in range(300)]
    assert len(set(made)) > 200


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome(5, 5, []), 0),
        ((5, 5, []), 0),
        (Outcome(5, 4, ["seed 1, case 3: wrong"]), 1),
        (Outcome(0, 0, []), 1),
        (Outcome(2, 2, [], "a full tmpfs: no mounts here"), 0),
    ],
)
def test_any_failure_fails_the_run(monkeypatch, capsys, outcome, code):
    monkeypatch.setattr("attack.kills.attack", lambda seed, seconds: outcome)
    assert run.main(["--only", "kills", "--seconds", "1"]) == code
    printed = capsys.readouterr().out
    assert f"kills              {outcome[0]:>8} {outcome[1]:>14} {outcome[0] - outcome[1]:>9}" in printed
    for failure in outcome[2]:
        assert failure in printed
    if len(outcome) == 4 and outcome[3]:
        assert f"skipped: {outcome[3]}" in printed


def test_outcomes_are_joined():
    found = joined([Outcome(3, 3, []), Outcome(2, 1, ["x"], "y")])
    assert found == Outcome(5, 4, ["x"], "y")
