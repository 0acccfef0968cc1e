"""Titles of arms: shown to people, and of no consequence for anything else."""

from __future__ import annotations

import pickle

import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.plotting.arms import arm_rows
from lsdt.side_information.io.arrays import fingerprint

TITLES = {"7": "Alien", 8: "Brazil"}


@pytest.fixture
def side():
    plain = lsdt.SideInformation(3, [(7, 8), (8, 9)], [(7, 9)], arm_ids=[7, 8, 9], epsilon=0.1)
    return plain.with_titles(TITLES)


def test_they_change_nothing_but_texts(side):
    plain = lsdt.SideInformation(3, [(7, 8), (8, 9)], [(7, 9)], arm_ids=[7, 8, 9], epsilon=0.1)
    assert side == plain
    assert plain.titles is None
    assert plain.shown() is plain
    assert side.titles == {7: "Alien", 8: "Brazil"}
    assert [side.show(arm) for arm in range(3)] == ["Alien [7]", "Brazil [8]", "9"]
    assert fingerprint(side) == fingerprint(plain)
    found = lsdt.candidate_set(side)
    assert found.arm_ids == [7, 9]
    why = found.explain(8)
    assert "'Brazil [8]' cannot be the best: it is similar to 'Alien [7]' and '9'" in why.text
    assert why.arm_id == 8
    assert {relation[:2] for relation in why.relations} == {
        relation[:2] for relation in lsdt.candidate_set(plain).explain(8).relations
    }
    frame = found.to_frame()
    assert frame.columns[:2].tolist() == ["arm", "title"]
    assert frame["title"].tolist() == ["Alien", "Brazil", None]
    assert "Alien [7]" in frame["reason"][1]
    assert "title" not in lsdt.candidate_set(plain).to_frame()


def test_they_survive(side, tmp_path):
    for path in (tmp_path / "side.csv", tmp_path / "side.parquet"):
        side.save(path)
        assert lsdt.load(path).titles == side.titles
        assert lsdt.load(path) == side
    assert side.subset([8, 9]).titles == {8: "Brazil"}
    assert side.reveal(0.5, 0.5).titles == side.titles
    assert pickle.loads(pickle.dumps(side)).titles == side.titles
    other = lsdt.SideInformation(2, arm_ids=[8, 10], epsilon=0.1).with_titles({8: "Brasil", 10: "Dune"})
    assert lsdt.merge([side, other]).titles == {7: "Alien", 8: "Brazil", 10: "Dune"}


def test_an_agent_shows_them(side):
    agent = lsdt.Agent(side, "ucb1")
    agent.observe(7, 1.0)
    assert agent.best().arm_id == 7
    assert agent.best().text.startswith("arm 'Alien [7]': mean")
    assert agent.to_frame()["title"].tolist() == ["Alien", "Brazil", None]
    assert arm_rows(agent).labels[0] == "Alien [7]"
    again = lsdt.Agent.restore(agent.snapshot())
    assert again.side.titles == side.titles


def test_wrong_ones_are_refused(side, tmp_path):
    with pytest.raises(InvalidInput, match="the title of 7 must be text; got 3"):
        side.with_titles({7: 3})
    with pytest.raises(InvalidInput, match="no arm has a title: arms are 7, 8, 9, ..., titles are of 'x'"):
        side.with_titles({"x": "X"})
    with pytest.raises(InvalidInput, match="titles are a mapping from ids to titles; got list"):
        side.with_titles(["Alien"])
    path = tmp_path / "side.csv"
    side.save(path)
    path.write_text(path.read_text().replace('["Alien", "Brazil", null]', '["Alien", 3, null]'))
    with pytest.raises(InvalidFile, match="titles must be a list of text or null, one for each of the 3"):
        lsdt.load(path)
