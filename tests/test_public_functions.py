"""A slice of the attack on public functions; ``make test-attack`` tries all of it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import lsdt
from attack.public_functions import called, cases, spoilt
from lsdt.errors import InvalidFile, InvalidInput


@pytest.mark.filterwarnings("ignore")
def test_every_case_is_right_before_it_is_spoilt(tmp_path):
    with contextlib.chdir(tmp_path):
        for case in cases(tmp_path):
            case.function(**case.arguments) if case.name != "Policy" else lsdt.Policy("ucb1", alpha=2.0)


def test_bad_values_get_an_error_of_our_own(tmp_path):
    with contextlib.chdir(tmp_path):
        everything = list(spoilt(tmp_path))
        chosen = np.random.default_rng(0).choice(len(everything), 400, replace=False)
        assert [failure for at in chosen.tolist() if (failure := called(*everything[at]))] == []


@pytest.mark.parametrize("path", [None, 3, b"x", object(), "", "a\0b", "\ud800"])
def test_what_is_no_path(path, tmp_path):
    side = lsdt.SideInformation(3)
    result = lsdt.simulate(lsdt.problems.uniform(n_arms=3, epsilon=0.2), "ucb1", 5, 1)
    calls = [
        side.save,
        lsdt.SideInformation.load,
        result.save,
        lsdt.SimulationResult.load,
        lsdt.ratings.load_jester,
        lambda given: lsdt.plotting.save_regret(result, given),
        lambda given: lsdt.plotting.save_picture(lsdt.candidate_set(side), given),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="path must|file"):
            call(path)


def test_folders_where_files_are_wanted(tmp_path):
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(InvalidFile, match="it is a folder"):
        lsdt.SideInformation(3).save(folder)
    with pytest.raises(InvalidFile, match="it is a folder"):
        lsdt.SideInformation.load(folder)
