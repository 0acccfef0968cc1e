"""The scale of the ratings that side information comes from."""

from __future__ import annotations

import pickle

import pytest

import lsdt
from lsdt.side_information import Origin


@pytest.fixture(scope="module")
def side():
    log, _ = lsdt.ratings.make_log(n_users=2000, n_items=6, ratings_per_user=5, seed=1)
    return lsdt.from_ratings(lsdt.ratings.read_log(log, scale=(0, 5)), epsilon=0.2)


def test_other_information_about_the_same_arms_keeps_it(side):
    assert side.scale == (0, 5)
    kept = [side.subset([0, 1, 2]), side.reveal(0.5, 0.5), side.corrupt(0.5), side.explicit()]
    for other in (*kept, pickle.loads(pickle.dumps(side))):
        assert other.scale == (0, 5)
    assert lsdt.SideInformation(3, epsilon=0.1).scale is None
    assert lsdt.SideInformation(3, similar=[(0, 1)]).subset([0, 1]).scale is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_keep_it(side, tmp_path, ending):
    path = tmp_path / f"side.{ending}"
    side.save(path)
    assert lsdt.load(path).scale == (0, 5)
    assert lsdt.load(path) == side
    without = lsdt.SideInformation(3, similar=[(0, 1)])
    without.save(path)
    assert lsdt.load(path).scale is None


def test_a_wrong_one_is_refused(side, tmp_path):
    path = tmp_path / "side.csv"
    side.save(path)
    text = path.read_text()
    assert '"scale": [0.0, 5.0]' in text
    path.write_text(text.replace("[0.0, 5.0]", "[0.0, 4.0]"))
    with pytest.raises(lsdt.errors.InvalidFile, match="content has changed since it was saved"):
        lsdt.load(path)
    for wrong in ("[5.0, 0.0]", "[1.0]", '"x"', "[null, 1]"):
        path.write_text(text.replace("[0.0, 5.0]", wrong))
        with pytest.raises(lsdt.errors.InvalidFile, match="accepted are the two ends"):
            lsdt.load(path)


def test_merging_carries_it_and_refuses_two(side):
    other = lsdt.SideInformation(6, epsilon=side.epsilon, arm_ids=side.arm_ids)
    assert lsdt.merge([side, other]).scale == (0, 5)
    assert lsdt.merge([other, other]).scale is None
    with pytest.raises(lsdt.errors.InvalidInput, match=r"from ratings from 0 to 5 and .* from 1 to 5"):
        lsdt.merge([side, other._with_origin(Origin(scale=(1.0, 5.0)))])


def test_evidence_survives_a_subset_and_an_epsilon(side):
    some = side.subset(side.arm_ids[:3])
    assert some.evidence is side.evidence
    assert len(some.evidence.ranking(some.arm_ids)) == 3
    ranges = lsdt.SideInformation(2, ranges=[(0, 1, 0.1, 0.2)])._with_origin(Origin(scale=(1.0, 5.0)))
    log = lsdt.ratings.RatingLog.from_matrix([[1.0, 5.0], [2.0, 4.0]])
    with pytest.raises(lsdt.errors.InvalidInput, match="Give prior="):
        lsdt.Agent(ranges, "imed", epsilon=0.1, rewards="gaussian", prior=log)
