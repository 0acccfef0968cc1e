"""Metrics of arms, as Prometheus reads them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput
from lsdt.service.arm_metrics import _largest, arm_numbers
from lsdt.service.hosting import Service
from lsdt.service.metrics import metrics_text
from lsdt.service.requests import Caller
from lsdt.service.settings import Settings

SAMPLE = re.compile(r'(\w+)(?:{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)})? ([-+.\deEinfINFNa]+)')


def parsed(text):
    """Return the samples of a text in Prometheus' format by name and labels, each of which comes once."""
    found, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in kinds
            kinds[name] = kind
        elif not line.startswith("#"):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            pairs = re.findall(r'(\w+)="((?:[^"\\\n]|\\.)*)"', labels or "")
            key = name, *((word, re.sub(r"\\(.)", _unescaped, text)) for word, text in pairs)
            assert key not in found, line
            found[key] = float(value)
    assert {key[0] for key in found} <= set(kinds) | {
        f"lsdt_commit_seconds_{e}" for e in ("bucket", "sum", "count")
    }
    return found


def _unescaped(found):
    return {"n": "\n", "\\": "\\", '"': '"'}[found[1]]


ODD = ['quote " and \\ and\nline', "other", "rest", "a}b", "é,=", "\u2028", "x" * 300, "{}", "never"]


def test_the_most_played_arms_have_numbers_and_the_others_are_summed():
    service = Service(Settings("memory://", metrics_arms=3))
    try:
        side = lsdt.SideInformation(len(ODD), arm_ids=ODD)
        hosted = service.make("odd", side, {"policy": "ucb1"}, None)
        for times, arm in enumerate(ODD[:-1]):
            for number in range(10 - times):
                hosted.agent.observe(arm, float(number % 2))
        found = parsed(metrics_text(service, Caller("admin")))
        of_plays = {key[1:]: value for key, value in found.items() if key[0] == "lsdt_arm_plays"}
        own = {labels[1][1]: value for labels, value in of_plays.items() if len(labels) == 2}
        assert own == {ODD[0]: 10, ODD[1]: 9, ODD[2]: 8}
        rest = (("experiment", "odd"), ("arm", "other"), ("rest", "true"))
        assert of_plays[rest] == sum(range(3, 8))
        assert found["lsdt_arm_rewards", *rest] == sum(n // 2 for n in range(3, 8))
        assert found["lsdt_arm_rewards", ("experiment", "odd"), ("arm", ODD[0])] == 5
        assert found["lsdt_arm_index", ("experiment", "odd"), ("arm", ODD[0])] > 0.5
        assert sum(of_plays.values()) == found["lsdt_rewards_total", ("experiment", "odd")]
    finally:
        service._close_store()


def test_a_key_for_one_experiment_sees_its_arms_only():
    service = Service(Settings("memory://"))
    try:
        made = {
            name: service.make(name, lsdt.SideInformation(2), {"policy": "ts"}, None) for name in ("a", "b")
        }
        caller = Caller("read", "a", made["a"].created)
        found = parsed(metrics_text(service, caller))
        assert {key[1] for key in found} == {("experiment", "a")}
        both = parsed(metrics_text(service, Caller("read")))
        assert ("lsdt_arm_plays", ("experiment", "b"), ("arm", "other"), ("rest", "true")) in both
    finally:
        service._close_store()


def test_arms_may_have_no_metrics_and_their_number_is_bounded():
    service = Service(Settings("memory://", metrics_arms=0))
    try:
        service.make("a", lsdt.SideInformation(2), {"policy": "ts"}, None)
        assert "lsdt_arm" not in metrics_text(service, Caller("admin"))
    finally:
        service._close_store()
    with pytest.raises(InvalidInput, match="metrics_arms"):
        Settings("memory://", metrics_arms=1_001)


def test_the_largest_are_those_of_a_sort():
    rng = np.random.default_rng(0)
    for n_arms, most in ((1, 1), (5, 5), (1_000, 7), (1_000, 0), (300, 2)):
        counts = rng.integers(0, 6, n_arms)
        assert _largest(counts, most).tolist() == np.argsort(-counts, kind="stable")[:most].tolist()
    agent = lsdt.Agent(lsdt.SideInformation(1_000), policy="ucb1")
    agent.observe(700, 1.0)
    assert [(each.arm, each.plays) for each in arm_numbers(agent, 3)] == [("700", 1), (None, 0)]
