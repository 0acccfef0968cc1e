"""The same study and candidate set on a local Ray cluster of two workers; run by ``make test-ray``."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

import lsdt

pytestmark = pytest.mark.ray


@pytest.fixture
def cluster():
    ray = pytest.importorskip("ray", reason="Ray is not installed here; run `make test-ray`")
    from ray.util.joblib import register_ray

    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.mark.filterwarnings("ignore")  # Ray has warnings of its own
def test_a_study_on_ray_is_bit_for_bit_the_same(cluster):
    problem = lsdt.problems.uniform(40, 0.1, 0.9, 0.15, "bernoulli", 0.5, 0.5)
    policies = ["lsdt_psi", "lsdt_ts_psi", "ckl_ucb", "ts", lsdt.Policy("ucb1", on="paper")]
    here = lsdt.simulate(problem, policies, 300, 20, n_jobs=1)
    with joblib.parallel_config("ray"):
        there = lsdt.simulate(problem, policies, 300, 20, n_jobs=2)
    for first, second in zip(here.arrays[:3], there.arrays[:3], strict=True):
        assert np.array_equal(first, second)


@pytest.mark.filterwarnings("ignore")
def test_parts_of_side_information_on_ray(cluster):
    pairs = [[], []]
    for part in range(4):
        means = np.random.default_rng(part).uniform(0.1, 1.0, 40)
        side = lsdt.from_means(means, 0.1).reveal(0.4, 0.4, part).explicit()
        pairs[0] += (side.similar_pairs() + 40 * part).tolist()
        pairs[1] += (side.dissimilar_pairs() + 40 * part).tolist()
    side = lsdt.SideInformation(160, *pairs, epsilon=0.1)
    here = lsdt.candidate_set(side, n_jobs=1)
    with joblib.parallel_config("ray"):
        there = lsdt.candidate_set(side, n_jobs=2)
    assert there.arms.tolist() == here.arms.tolist() == lsdt.candidate_set(side).arms.tolist()
    for arm in range(0, 160, 7):
        assert there.explain(arm).text == here.explain(arm).text
