"""Side information from comparisons: `lsdt.from_comparisons`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput, SideWarning
from lsdt.side_information.sources.paired_strengths import Counts, clearly_better, fit_strengths
from naive.paired_strengths import chances, strengths


def _drawn(rng, true, n, order=True, position=0.5, tie=0.4):
    """Return rows (a, b, order, result) drawn from the model."""
    values = np.concatenate([true, [position if order else 0.0, tie]])
    rows = []
    for _ in range(n):
        a, b = rng.choice(len(true), 2, replace=False).tolist()
        shown = float(rng.choice([-1.0, 1.0])) if order else 0.0
        rows.append((a, b, shown, int(rng.choice(3, p=chances(values, a, b, shown)))))
    return rows


def _counts(rows):
    a, b, order, result = (np.array(column) for column in zip(*rows, strict=True))
    return Counts(a, b, order.astype(float), *np.eye(3)[result].T)


@pytest.mark.parametrize(("order", "tie"), [(True, 0.4), (False, 0.4), (True, 0.0)])
def test_newton_agrees_with_a_general_optimiser(order, tie):
    rng = np.random.default_rng(3)
    rows = _drawn(rng, np.array([0.0, 0.5, 1.0, -1.0]), 80, order, 0.5, tie)
    found = fit_strengths(_counts(rows), 4, prior=2.0)
    expected = strengths(rows, 4, 2.0, order, tie > 0.0)
    assert found.strength == pytest.approx(expected[0], abs=1e-4)
    assert found.position == pytest.approx(expected[1], abs=1e-4)
    assert found.tie == pytest.approx(expected[2], abs=1e-4)


def test_two_arms_by_hand():
    """Without ties and a prior, log odds of winning: 30 of 40 is log 3, with variance 1/30 + 1/10."""
    found = fit_strengths(
        Counts(np.array([0]), np.array([1]), np.zeros(1), np.array([30.0]), np.array([10.0]), np.zeros(1)),
        2,
        prior=1e3,
    )
    assert found.strength[0] - found.strength[1] == pytest.approx(np.log(3.0), abs=1e-6)
    c = found.covariance
    assert c[0, 0] + c[1, 1] - 2 * c[0, 1] == pytest.approx(1 / 30 + 1 / 10, rel=1e-5)
    assert c[-1].tolist() == c[-2].tolist() == [0.0] * 4


def test_what_is_clear_by_hand():
    """Two arms: the usual two-sided interval, 1.96 standard errors."""
    covariance = np.eye(2) / 2.0
    assert clearly_better(np.array([1.97, 0.0]), covariance, 0.95).tolist() == [[0, 1]]
    assert clearly_better(np.array([1.95, 0.0]), covariance, 0.95).tolist() == []
    assert clearly_better(np.array([1.0]), np.eye(1), 0.95).tolist() == []


def test_all_relations_are_right_at_the_stated_level():
    """150 draws of which none is nearly free of error: 5% wrong plus 3 standard errors is 15."""
    wrong = kept = ordered = 0
    for run in range(150):
        rng = np.random.default_rng([1, run])
        true = rng.normal(0.0, (0.02, 0.5, 2.0)[run % 3], 6)
        fitted = fit_strengths(_counts(_drawn(rng, true, 60)), 6)
        pairs = clearly_better(fitted.strength, fitted.covariance[:-2, :-2], 0.95)
        ordered += len(pairs)
        wrong += any(true[a] < true[b] for a, b in pairs.tolist())
        kept += true.argmax() not in pairs[:, 1]
    assert wrong <= 150 * 0.05 + 3 * np.sqrt(150 * 0.05 * 0.95)
    assert kept >= 150 - 15
    assert ordered > 300  # of 2,250 pairs


ROWS = [("tea", "mate", "tea")] * 18 + [("tea", "mate", "mate")] * 2 + [("mate", "cola", "mate")] * 20


def test_all_forms_of_rows_say_the_same():
    names = ("a", "b", "winner")
    dicts = [dict(zip(names, row, strict=True)) for row in ROWS]
    frame = pd.DataFrame(dicts)
    words = frame.assign(winner=["a" if row[0] == row[2] else "b" for row in ROWS])
    grouped = {"a": ["tea", "cola"], "b": ["mate", "mate"], "wins": [18, 0], "losses": [2, 20]}
    arms = ["tea", "mate", "cola"]
    expected = lsdt.from_comparisons(ROWS)
    assert expected.arm_ids == tuple(arms)
    for rows in (dicts, frame, words, {name: list(frame[name]) for name in names}, grouped):
        side = lsdt.from_comparisons(rows, arm_ids=arms)
        assert side == expected
        assert side.evidence.strengths == pytest.approx(expected.evidence.strengths, abs=1e-6)
    renamed = frame.rename(columns={"a": "model_a", "b": "model_b"}).assign(winner="model_a")
    assert lsdt.from_comparisons(renamed, a="model_a", b="model_b").evidence.n_rows == 40


def test_arms_that_never_met_are_ordered():
    side = lsdt.from_comparisons(ROWS)
    assert side.relation("tea", "cola") == "better"
    assert lsdt.candidate_set(side).arm_ids == ["tea"]
    table = side.evidence.to_frame()
    assert table["arm"].tolist() == ["tea", "mate", "cola"]
    assert table["strength"].is_monotonic_decreasing
    assert side.evidence.tie == 0.0
    assert "larger mean reward" in side.evidence.assumption
    few = side.subset(["mate", "cola"])
    assert few.evidence.arm_ids == ("mate", "cola")
    assert few.relation("mate", "cola") == "better"


def test_groups_that_never_met_are_not_ordered():
    side = lsdt.from_comparisons([("a1", "a2", "a1")] * 40 + [("b1", "b2", "b1")] * 40)
    assert side.relation("a1", "a2") == side.relation("b1", "b2") == "better"
    assert side.relation("a1", "b2") is None
    assert "2 groups of arms" in side.evidence.notes[-1]


def test_the_position_is_not_mistaken_for_strength():
    """A judge who always takes what comes first says nothing about two arms."""
    rows = [
        {"a": "tea", "b": "mate", "winner": shown, "first": shown} for shown in ["tea"] * 30 + ["mate"] * 10
    ]
    plain = lsdt.from_comparisons([{k: v for k, v in row.items() if k != "first"} for row in rows])
    assert plain.relation("tea", "mate") == "better"
    assert plain.evidence.position is None
    assert any("cannot be separated" in note for note in plain.evidence.notes)
    with pytest.warns(SideWarning, match="orders? no pair"):
        side = lsdt.from_comparisons(rows)
    assert side.relation("tea", "mate") is None
    assert side.evidence.position > 2.0 * side.evidence.position_error
    with pytest.warns(SideWarning, match="orders? no pair"):
        always = lsdt.from_comparisons([("tea", "mate", "tea")] * 5, first="a")
    assert always.evidence.position > 0.0


def _shown_by_number(position, strength=3.0, n=2_000):
    """Return comparisons of twelve arms where the arm with the smaller number is always shown first."""
    rng, rows = np.random.default_rng(5), []
    for _ in range(n):
        one, other = sorted(rng.choice(12, 2, replace=False).tolist())
        wins = rng.random() < 1.0 / (1.0 + np.exp(strength * 0.05 * (other - one) - position))
        rows.append((one, other, one if wins else other))
    return rows


def test_a_preference_for_the_first_column_is_found_out():
    """Here the position outweighs the strengths, and every better pair is wrong if it is ignored."""
    rows = _shown_by_number(2.5)
    with pytest.warns(SideWarning, match="arms in the first column win more often .*say first='a'") as told:
        plain = lsdt.from_comparisons(rows)
    assert told[0].filename == __file__
    assert lsdt.candidate_set(plain).arm_ids != [11]
    assert 11 in lsdt.candidate_set(lsdt.from_comparisons(rows, first="a")).arm_ids
    assert any("say first='a'" in note for note in plain.evidence.notes)
    turned = [(other, one, winner) for one, other, winner in rows]
    with pytest.warns(SideWarning, match="first column win less often"):
        lsdt.from_comparisons(turned)
    renamed = pd.DataFrame(rows, columns=["left", "right", "winner"])
    with pytest.warns(SideWarning, match="say first='left'"):
        lsdt.from_comparisons(renamed, a="left", b="right")


def test_no_preference_no_warning():
    """Warnings are errors here: neither without an effect, nor where the winner is simply written first."""
    lsdt.from_comparisons(_shown_by_number(0.0))
    rows = _shown_by_number(0.0)
    lsdt.from_comparisons([(w, a if w == b else b, w) for a, b, w in rows])


def test_two_bad_arms_are_a_tie():
    rows = [("tea", "mate", word) for word in ("tie (bothbad)", "both_bad", "Tie", "tea", "mate")]
    with pytest.warns(SideWarning, match="orders? no pair"):
        side = lsdt.from_comparisons(rows)
    assert side.evidence.tie > 0.0
    with pytest.raises(InvalidInput, match="got 'tied up'"):
        lsdt.from_comparisons([("tea", "mate", "tied up")])


@pytest.mark.filterwarnings("ignore:.*orders? no pair:lsdt.errors.SideWarning")
def test_the_same_judge_pair_and_order_count_once():
    rows = [{"a": "tea", "b": "mate", "winner": "tea", "judge": "ann", "first": "tea"}] * 50
    side = lsdt.from_comparisons(rows)
    assert side.evidence.n_rows == 50
    assert side.evidence.n_counted == 1
    assert side.relation("tea", "mate") is None
    assert any("1 of 50 comparisons" in note for note in side.evidence.notes)
    once = lsdt.from_comparisons(rows[:1])
    assert side.evidence.strengths == pytest.approx(once.evidence.strengths)
    # The other order is another question, and so is the same one to another judge.
    more = [*rows, {**rows[0], "first": "mate"}, {**rows[0], "judge": "bob"}]
    assert lsdt.from_comparisons(more).evidence.n_counted == 3
    turned = {"a": "mate", "b": "tea", "winner": "tea", "judge": "ann", "first": "tea"}
    assert lsdt.from_comparisons([*rows, turned]).evidence.n_counted == 1


def test_counts_of_one_judge_are_not_lost_without_a_word():
    counts = {"a": ["tea"], "b": ["mate"], "wins": [300], "losses": [10], "judge": ["gpt"]}
    with pytest.warns(SideWarning) as told:
        side = lsdt.from_comparisons(counts)
    assert side.evidence.n_counted == 1
    lost, nothing = (str(each.message) for each in told)
    assert "1 of 310 comparisons count (row 0: 310 of 'tea' and 'mate' by 'gpt')" in lost
    assert "leave the column out" in lost
    assert nothing == (
        "1 comparison orders no pair of arms at confidence 0.95 (310, of which the same judge, pair and "
        "order count once): this does not say which arm is the best. Add comparisons (lsdt.Inquiry and lsdt "
        "next-pairs say of which pairs), leave out arms that are not in question, or accept a lower "
        "confidence="
    )
    del counts["judge"]
    assert lsdt.from_comparisons(counts).relation("tea", "mate") == "better"


def test_evidence_is_short_in_print():
    rows = [(f"a{at}", f"a{at + 1}", f"a{at}") for at in range(9) for _ in range(40)]
    evidence = lsdt.from_comparisons(rows).evidence
    assert repr(evidence) == "ComparisonEvidence(360 comparisons, 10 arms, confidence 0.95)"
    text = str(evidence)
    assert text.startswith(
        "360 comparisons, of 10 arms; strengths in log odds, with their standard errors: 'a0' "
    )
    assert text.endswith(", 5 weaker; all better pairs hold with 0.95")
    assert len(text) < 300
    assert repr(lsdt.from_features([[0.0], [1.0]], 0.1).evidence) == (
        "FeatureEvidence(2 arms, 1 features, lipschitz=0.1)"
    )


@pytest.mark.filterwarnings("ignore:.*orders? no pair:lsdt.errors.SideWarning")
@pytest.mark.parametrize("nobody", [None, float("nan"), ""])
def test_rows_without_a_judge_count_as_independent(nobody):
    rows = [{"a": "tea", "b": "mate", "winner": "tea", "judge": nobody}] * 20
    known = [{"a": "tea", "b": "mate", "winner": "tea", "judge": "ann"}] * 20
    evidence = lsdt.from_comparisons(rows + known).evidence
    assert evidence.n_counted == 21
    assert "20 rows without a judge, counted as independent" in evidence.notes


def test_an_arm_that_never_lost_has_a_finite_strength():
    side = lsdt.from_comparisons([("tea", "mate", "tea")] * 1_000)
    assert np.isfinite(side.evidence.strengths).all()
    assert side.relation("tea", "mate") == "better"


def test_files(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["a", "b", "winner"])
    expected = lsdt.from_comparisons(ROWS)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_csv(tmp_path / "rows.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    for ending in ("csv", "tsv", "parquet", "jsonl"):
        assert lsdt.from_comparisons(tmp_path / f"rows.{ending}") == expected
    with pytest.raises(InvalidFile, match=r"ends in .csv, .tsv, .jsonl or .parquet; got"):
        lsdt.from_comparisons("rows.txt")
    with pytest.raises(InvalidFile, match="cannot read"):
        lsdt.from_comparisons(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([], {}, "comparisons must have at least one row"),
        ({"a": [], "b": [], "winner": []}, {}, "comparisons must have at least one row"),
        ({"a": ["x"], "b": ["y", "z"], "winner": ["x"]}, {}, "must have one length"),
        ([("tea", "tea", "tea")], {}, "row 0 compares 'tea' with itself"),
        ([("tea", "mate", "cola")], {}, "row 0: the winner must be 'tea' or 'mate'.*or 'tie'; got 'cola'"),
        ([("tea", "mate")], {}, r"row 0 must be \(a, b, winner\)"),
        ([("tea", None, "tea")], {}, "an arm must be a string or a whole number; got None"),
        ([("tea", "mate", "tea"), ("tea", "", "tea")], {}, "row 1: an arm must be a string .*; got ''"),
        (
            [{"a": 1, "b": 2, "won": 1}],
            {},
            "has no column 'winner'.*say winner=...; or give the columns wins",
        ),
        ([{"a": 1, "b": 2, "wins": 3, "losses": None}], {}, "row 0: losses is missing; write 0 if"),
        ([{"a": 1, "b": 2, "wins": np.nan, "losses": 1}], {}, "row 0: wins is missing; write 0 if"),
        ([{"a": 1, "b": 2, "wins": -1, "losses": 0}], {}, "row 0: wins must be a count, 0 or more; got -1"),
        ([{"a": 1, "b": 2, "wins": "x", "losses": 0}], {}, "must be numbers"),
        ([{"a": 1, "b": 2, "wins": 0, "losses": 0}], {}, "all counts are 0"),
        ([("tea", "mate", "tea")], {"confidence": 1.0}, "confidence"),
        ([("tea", "mate", "tea")], {"first": "shown"}, "has no column 'shown'"),
        ([("tea", "mate", "tea")], {"judge": "who"}, "has no column 'who'"),
        ([("tea", "mate", "tea")], {"arm_ids": ["tea"]}, "arm_ids lacks arms that were compared: 'mate'"),
        ([("tea", "mate", "tea")], {"a": 1}, "columns"),
        (7, {}, "comparisons must be a dataframe, a dict of columns"),
    ],
)
def test_bad_rows(rows, options, said):
    with pytest.raises(InvalidInput, match=said):
        lsdt.from_comparisons(rows, **options)


def test_merged_with_another_source():
    side = lsdt.merge(
        [lsdt.from_comparisons(ROWS), lsdt.from_groups({"tea": "hot", "mate": "hot"}, epsilon=0.1)]
    )
    assert side.relation("tea", "cola") == "better"
    assert side.n_similar == 1
    assert side.evidence.risk == 0.05
