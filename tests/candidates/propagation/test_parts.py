from __future__ import annotations

import joblib
import numpy as np
import pytest

import lsdt
from lsdt.candidates.reasons import reasons_of
from naive.checkers import in_epsilons, lies_between, means_fit

SideInformation = lsdt.SideInformation


def several(n_parts, n_arms=40, share=0.5, **names):
    """Parts that no relation joins, their arms mixed, and an arm without any relation."""
    similar, dissimilar = [], []
    mixed = np.random.default_rng(5).permutation(n_parts * n_arms)
    for part in range(n_parts):
        means = np.random.default_rng(part).uniform(0.1, 1.0, n_arms)
        side = lsdt.from_means(means, 0.1).reveal(share, share, part).explicit()
        arms = mixed[part * n_arms : (part + 1) * n_arms]
        similar += arms[side.similar_pairs()].tolist()
        dissimilar += arms[side.dissimilar_pairs()].tolist()
    return SideInformation(n_parts * n_arms + 1, similar, dissimilar, epsilon=0.1, **names)


def is_explained(side, why):
    """Whether the relations of an explanation are those of the side information, and its steps hold."""
    known = all(side.relation(a, b) == word for a, b, word in why.relations)
    if why.means is not None:
        return known and means_fit(side, why.means, 0.1) and why.means[why.arm] == why.means.max()
    if why.steps and why.steps[-1].kind == "between":
        return known and lies_between(in_epsilons(side), why.steps, why.arm_id) is not None
    return known and (why.is_candidate or len(why.relations) > 0)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_parts_on_workers_give_the_answer_of_the_whole(backend):
    side = several(3)
    whole = lsdt.candidate_set(side)
    with joblib.parallel_config(backend):
        found = lsdt.candidate_set(side, n_jobs=2)
    assert found.arms.tolist() == whole.arms.tolist()
    assert found.method == whole.method
    assert {stage.name for stage in found.stages} >= {"triangles", "orientation"}
    assert found.stages[0][:3] == whole.stages[0][:3]
    assert (reasons_of(found).kinds == reasons_of(whole).kinds).mean() > 0.9
    for arm in range(0, side.n_arms, 4):
        why = found.explain(arm)
        assert why.arm == arm
        assert why.is_candidate == (arm in found)
        assert is_explained(side, why)


def test_explanations_name_arms_as_the_whole_does():
    side = several(2, arm_ids=[f"film {number}" for number in range(81)])
    found = lsdt.candidate_set(side, n_jobs=1)
    for arm in np.setdiff1d(np.arange(81), found.arms)[::5].tolist():
        why = found.explain(f"film {arm}")
        assert why.relations
        assert is_explained(side, why)
        assert f"'film {arm}'" in why.text


def test_means_of_a_candidate_are_those_of_all_parts():
    similar, dissimilar = np.array([(0, 1), (0, 2), (2, 3)]), np.array([(1, 2), (0, 3), (1, 3)])
    line = [similar + 4 * part for part in range(6)], [dissimilar + 4 * part for part in range(6)]
    side = SideInformation(24, *(np.concatenate(some) for some in line), epsilon=0.1)
    found = lsdt.candidate_set(side, n_jobs=1)
    whole = lsdt.candidate_set(side)
    assert found.arms.tolist() == whole.arms.tolist() == [arm for arm in range(24) if arm % 4 in (1, 3)]
    for arm in found.arms.tolist():
        why = found.explain(arm)
        assert why.is_candidate
        assert is_explained(side, why)


def test_a_contradiction_in_one_part_is_one_of_the_whole():
    good = several(2)
    circle = [(81, 82), (82, 83), (83, 84), (84, 81)]
    side = SideInformation(
        85,
        [*good.similar_pairs().tolist(), *circle],
        [*good.dissimilar_pairs().tolist(), (81, 83), (82, 84)],
        epsilon=0.1,
    )
    with pytest.warns(lsdt.errors.ContradictionWarning):
        whole = lsdt.candidate_set(side)
    with pytest.warns(lsdt.errors.ContradictionWarning, match="contradict"):
        found = lsdt.candidate_set(side, n_jobs=2)
    assert found.arms.tolist() == whole.arms.tolist()
    assert found.conflict.arms == whole.conflict.arms == (81, 82, 83, 84)
    assert found.max_wrong == whole.max_wrong
    assert found.stages[-1].name == whole.stages[-1].name
    assert found.explain(0).arm == 0


def test_ranges_join_parts():
    side = SideInformation(4, [(0, 1), (2, 3)], [(0, 2)], better=[(1, 3)], epsilon=1.0)
    assert lsdt.candidate_set(side, n_jobs=2).arms.tolist() == lsdt.candidate_set(side).arms.tolist()
    apart = SideInformation(6, [(0, 1), (3, 4)], [(1, 2), (4, 5)], better=[(1, 0)], epsilon=1.0)
    found = lsdt.candidate_set(apart, n_jobs=2)
    assert found.arms.tolist() == lsdt.candidate_set(apart).arms.tolist()
    assert "better" in str(found.explain(0).relations)


def test_a_number_of_workers_is_checked():
    with pytest.raises(lsdt.errors.InvalidInput, match="n_jobs must be"):
        lsdt.candidate_set(several(1, 10), n_jobs=0)


def test_time_counts_for_all_parts_together():
    found = lsdt.candidate_set(several(3), n_jobs=1, timeout=1e-6)
    assert set(lsdt.candidate_set(several(3)).arms) <= set(found.arms)
