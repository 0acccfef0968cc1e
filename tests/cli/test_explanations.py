from __future__ import annotations

import json

import pytest

from lsdt.cli.main import main

HOOKS = """a,b,relation
tea,coffee,similar
tea,mate,similar
coffee,cocoa,similar
mate,juice,similar
tea,cocoa,dissimilar
tea,juice,dissimilar
cocoa,juice,dissimilar
"""
CLAW = """a,b,relation
0,1,similar
0,2,similar
0,3,similar
1,2,dissimilar
1,3,dissimilar
2,3,dissimilar
4,,
"""


@pytest.fixture
def run(capsys, tmp_path):
    def run(text, *arguments):
        path = tmp_path / "pairs.csv"
        path.write_text(text)
        code = main(["candidates", str(path), *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_a_derivation_is_printed_step_by_step(run):
    code, out, err = run(HOOKS, "--explain", "tea", "--explain", "cocoa")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("why"))
    assert lines[first].startswith("why         arm 'tea' cannot be the best. Suppose it is")
    assert "              1. d('cocoa') >= 1: 'tea' and 'cocoa' are dissimilar." in lines
    assert "a contradiction." in " ".join(out.split())
    assert "'coffee' (0 to 1)" in " ".join(out.split())
    assert max(map(len, lines)) <= 100


def test_a_derivation_as_json(run):
    _, out, _ = run(HOOKS, "--explain", "tea", "--json")
    answer = json.loads(out)
    assert answer["conflict"] is None
    steps = answer["explanations"][0]["steps"]
    assert [step["kind"] for step in steps] == ["order", "order", "order", "contradiction"]


def test_contradictory_relations_are_a_warning_not_an_error(run):
    code, out, err = run(CLAW)
    assert code == 0
    assert err.startswith("lsdt: warning: the relations contradict one another; at least 1 is wrong")
    assert "Warning" not in err
    assert "max_wrong=1" in " ".join(out.split())
    assert "check first whether" in " ".join(out.split())
    assert "5 of 5 arms may be the best" in out
    assert "conflict    No means whatsoever satisfy these relations:" in out
    assert max(map(len, out.splitlines())) <= 100


def test_the_conflict_as_json(run):
    code, out, err = run(CLAW, "--json")
    conflict = json.loads(out)["conflict"]
    assert code == 0
    assert err.startswith("lsdt: warning: ")
    assert sorted(conflict["arms"]) == [0, 1, 2, 3]
    assert len(conflict["relations"]) == 6
    assert conflict["suggestion"] in conflict["relations"]
    assert conflict["steps"][-1]["kind"] == "contradiction"
    assert json.loads(out)["notes"][0].startswith("the relations contradict")


RANGES = """a,b,relation,low,high
coffee,tea,range,.05,.2
tea,mate,range,-.02,.02
juice,coffee,range,-.1,.1
tea,water,better,,
"""


def test_the_order_of_arms_is_explained(run):
    code, out, err = run(RANGES, "--explain", "mate", "--explain", "water", "--explain", "juice")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "0 dissimilar pairs, 1 better pair, 3 ranges (partial)" in text
    assert "2 of 5 arms can be the best" in text
    assert "excluded 3 of 5 arms: 3 since another arm is better" in text
    assert (
        "arm 'mate' cannot be the best: 'coffee' is better than it by at least 0.03, since 'coffee'" in text
    )
    assert "arm 'water' cannot be the best: 'tea' is better than it." in text
    assert "means coffee: 0.0" in text


def test_the_order_of_arms_as_json(run):
    code, out, _ = run(RANGES, "--explain", "mate", "--method", "order", "--json")
    assert code == 0
    answer = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert answer["candidates"] == ["coffee", "juice"]
    why = answer["explanations"][0]
    assert why["relations"][0] == ["coffee", "tea", "range", 0.05, 0.2]
    assert [link["why"] for link in why["steps"][0]["links"]] == ["range", "range", "best"]


def test_a_circle_is_an_error_of_its_own(run):
    circle = "a,b,relation\nx,y,better\ny,z,better\nz,x,better\n"
    code, out, err = run(circle, "--method", "order")
    assert (code, out) == (4, "")
    assert "'x' is better than 'y'" in err
    code, out, err = run(circle)
    assert code == 0
    assert "contradict" in err
