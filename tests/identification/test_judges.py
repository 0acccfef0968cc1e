"""Judges that may be wrong: `lsdt.Inquiry` with answers better, worse or equal."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidFile, InvalidInput
from lsdt.identification.judges.judge_model import JudgeLaw, JudgeModel
from lsdt.identification.judges.likely_best import best_chances
from naive.judge_posterior import chance, posterior

NAMES = list("abcdefghij")
MEANS = dict(zip(NAMES, np.linspace(0.1, 1.0, 10), strict=True))


def _word(apart, tie=0.15):
    return "equal" if abs(apart) < tie else "better" if apart > 0.0 else "worse"


def _judge(means, bias=0.0, wrong=0.0, seed=0):
    coins = np.random.default_rng(seed)

    def judge(a, b):
        word = _word(means[a] - means[b] + bias)
        if coins.random() < wrong:
            word = coins.choice([other for other in ("better", "worse", "equal") if other != word])
        return str(word)

    return judge


def _inquiry(**options):
    return lsdt.Inquiry(lsdt.SideInformation(10, arm_ids=NAMES), answers="better", **options)


# -------------------------------------------------------------------- the model


@pytest.mark.parametrize("word", [0, 1, 2])
def test_moments_agree_with_quadrature(word):
    law = JudgeLaw(noise=0.4, tie=0.3, slip=0.1)
    mean, variance = 0.2, 0.5
    x = np.linspace(-6.0, 6.0, 4_001)
    weight = np.exp(-0.5 * (x - mean) ** 2 / variance)
    weight /= weight.sum()
    seen = weight * np.array([chance(word, float(each), *law) for each in x])
    total = seen.sum()
    middle = seen @ x / total
    spread = seen @ (x - middle) ** 2 / total
    found, slope, bend = law.moments(mean, variance, word)
    assert found == pytest.approx(total, abs=1e-6)
    assert mean + variance * slope == pytest.approx(middle, abs=1e-6)
    assert variance + variance**2 * bend == pytest.approx(spread, abs=1e-6)


def test_information_is_what_answers_are_expected_to_tell():
    law = JudgeLaw(noise=0.4, tie=0.3, slip=0.1)
    mean, variance = np.linspace(-2.0, 2.0, 9), np.full(9, 0.5)
    rows = [law.moments(mean, variance, np.full(9, word)) for word in range(3)]
    assert sum(row[0] for row in rows) == pytest.approx(1.0)
    assert law.information(mean, variance) == pytest.approx(-sum(row[0] * row[2] for row in rows))


def test_the_posterior_agrees_with_a_sum_over_a_grid():
    """Three arms: a normal approximation, so to within a tenth, and the same order of arms."""
    answers = [(0, 1, 2), (1, 2, 2), (0, 2, 2), (2, 1, 1), (1, 0, 0), (0, 1, 1)]
    model = JudgeModel(3)
    for row in answers:
        model.tell(*row)
    members, mean, covariance = model.posterior()
    assert members.tolist() == [0, 1, 2]
    expected, spread, best = posterior(3, answers, *model.law)
    assert mean == pytest.approx(expected, abs=0.1)
    assert np.sqrt(np.diag(covariance)) == pytest.approx(np.sqrt(np.diag(spread)), abs=0.1)
    # Draws have heavier tails than the normal law, so favourites are a little less certain.
    assert best_chances(model.posterior(), 0).members == pytest.approx(best, abs=0.12)


def test_nothing_is_known_of_arms_that_were_not_asked_about():
    model = JudgeModel(4)
    chances = best_chances(model.posterior(), 4)
    assert chances.fresh == 1.0
    model.tell(0, 1, 1)
    chances = best_chances(model.posterior(), 2)
    assert chances.members.sum() + chances.fresh == pytest.approx(1.0)
    assert 0.5 < chances.fresh < 0.62  # the two that are about equal count as less than two


# -------------------------------------------------------------------- the inquiry


def test_a_judge_who_errs():
    """The best arm stays among those left in nearly all of 12 runs, and few are left."""
    kept, left = 0, []
    for seed in range(12):
        rng = np.random.default_rng([3, seed])
        means = dict(zip(NAMES, rng.uniform(0.0, 1.0, 10), strict=True))
        inquiry = _inquiry()
        inquiry.run(_judge(means, wrong=0.1, seed=seed), jobs=1, calls=40)
        kept += max(means, key=means.get) in inquiry.found
        left.append(len(inquiry.found))
        assert inquiry.found.probability >= 0.95
    assert kept >= 10  # at a risk of 5%, 9 or fewer have a probability of .002
    assert np.mean(left) < 4.0


def test_the_position_is_estimated_and_removed():
    inquiry = _inquiry()
    found = inquiry.run(_judge(MEANS, bias=0.3), jobs=1, calls=60)
    assert inquiry.judge.position > 0.3
    assert inquiry.judge.is_biased
    assert found.arm_ids[0] == "j"
    fair = _inquiry()
    fair.run(_judge(MEANS), jobs=1, calls=60)
    assert not fair.judge.is_biased


def test_contradictions_make_the_judge_look_worse_and_bring_no_arm_back():
    inquiry = _inquiry()
    inquiry.run(_judge(MEANS), jobs=1, calls=40)
    slip = inquiry.judge.slip
    for arm in "abcdefghi":
        inquiry.tell(arm, "j", "better", by="another judge")
    after = inquiry.found
    assert inquiry.judge.slip > 2.0 * slip
    assert "j" in after
    assert len(after) < 6
    doubtful = inquiry.disputed
    assert list(doubtful.columns) == ["a", "b", "answer", "doubt"]
    assert ("a", "j") in set(zip(doubtful["a"], doubtful["b"], strict=True))


def test_the_same_question_counts_once():
    once, often, others = _inquiry(), _inquiry(), _inquiry()
    independent = _inquiry(repeats=True)
    for number in range(5):
        for inquiry in (often, independent):
            inquiry.tell("a", "b", "better")
        others.tell("a", "b", "better", by=f"judge {number}")
    once.tell("a", "b", "better")
    first = [inquiry.found.to_frame().set_index("arm_id")["chance"]["a"] for inquiry in (once, often, others)]
    assert first[0] == first[1] < first[2]
    assert independent.found.chances[0] == others.found.chances[0]
    assert often.n_answers == 5


def test_no_question_is_asked_twice():
    inquiry = lsdt.Inquiry(lsdt.SideInformation(3), answers="better", risk=0.001)
    asked = []
    while batch := inquiry.next(2):
        for one in batch:
            asked.append((one.a, one.b))
            inquiry.tell(one.a, one.b, "equal")
    assert len(asked) == len(set(asked)) == 6
    ended = inquiry.next()
    assert ended.reason == (
        "every pair was asked in both orders, so nothing more can be learnt from this judge; no arm is out; "
        "try the arms that are left with lsdt.identify, or ask another judge"
    )
    assert ended.left == 3
    assert not ended.known


def test_what_is_known_and_what_only_ended():
    """An inquiry may end because enough is known, or because this judge can say no more."""
    inquiry = _inquiry(until=2)
    found = inquiry.run(_judge(MEANS), jobs=1)
    ended = inquiry.next()
    assert ended.known
    assert ended.reason == (
        f"2 arms left; one of them is the best with probability {found.probability:.3g}, if the judge "
        "prefers arms with larger means"
    )
    alike = _inquiry(until=1)
    means = MEANS | {"i": 1.0}  # the judge calls the two best equal, in either order
    found = alike.run(_judge(means), jobs=1)
    ended = alike.next()
    assert not ended.known
    lost = f"{1.0 - found.probability:.2g}"
    assert f"2 arms left, but with probability {lost} the best arm is not among them; try" in ended.reason
    assert "try the arms that are left with lsdt.identify, or ask another judge" in ended.reason


@pytest.mark.parametrize("seed", range(3, 7))
def test_a_judge_who_guesses_is_found_out(seed):
    """Few arms are left after some answers, but these do not agree: it goes on, and then says so."""
    coins = np.random.default_rng(seed)
    guessing = _inquiry(until=2)
    guessing.run(lambda a, b: str(coins.choice(["better", "worse", "equal"])), jobs=1)
    ended = guessing.next()
    assert guessing.n_answers == 90
    assert not ended.known
    assert not guessing.judge.agrees
    assert "agree with one another hardly better than chance" in ended.reason
    assert "try all arms, not only these, with lsdt.identify, or ask another judge" in ended.reason
    honest = _inquiry()
    honest.run(_judge(MEANS, wrong=0.2, seed=seed), jobs=1, calls=40)
    assert honest.judge.agrees
    assert _inquiry().judge.agreement is None


def test_arms_dropped_for_their_number_are_part_of_the_risk():
    """1,200 arms that all seem equal: most are dropped, and neither words nor numbers hide it."""
    inquiry = lsdt.Inquiry(lsdt.SideInformation(1200), answers="better", until=300)
    while batch := inquiry.next(400):
        for one in batch:
            inquiry.tell(one.a, one.b, "equal")
    ended, found = inquiry.next(), inquiry.found
    assert len(found) < 300
    assert 0.05 < found.probability < 0.4  # about as many of the arms as are left
    assert not ended.known
    assert "all arms, not only these" in ended.reason


def test_pairs_under_way_are_not_chosen_again():
    inquiry = _inquiry()
    first = inquiry.next(3).pairs
    second = inquiry.next(5, pending=first).pairs
    assert not set(first) & set(second)
    ranges = lsdt.Inquiry(lsdt.SideInformation(4), "range")
    first = ranges.next(2).pairs
    assert not set(first) & set(ranges.next(2, pending=first).pairs)


def test_costs_decide_among_equals():
    inquiry = _inquiry()
    asked = inquiry.next(3, cost=lambda a, b: 1.0 if "e" in (a, b) else 5.0)
    assert all("e" in pair for pair in asked.pairs[:1])
    assert asked.questions[0].cost == 1.0
    assert 0.0 < asked.questions[0].expected < 1.0


def test_what_was_known_before_is_certain():
    side = lsdt.SideInformation(10, better=[("i", "j"), ("i", "h")], arm_ids=NAMES)
    inquiry = lsdt.Inquiry(side, answers="better")
    assert set(inquiry.found.arm_ids) == set("abcdefgi")
    with pytest.raises(InvalidInput, match="arm 'j' cannot be the best by what was known before"):
        inquiry.tell("a", "j", "better")
    inquiry.run(_judge(MEANS), jobs=1, calls=40)
    assert inquiry.found.arm_ids[0] == "i"
    assert inquiry.side.relation("i", "a") == "better"
    assert inquiry.side.relation("i", "j") == "better"


def test_clear_pairs_become_relations():
    inquiry = _inquiry()
    assert inquiry.side == inquiry.side_before
    inquiry.run(_judge(MEANS), jobs=1, calls=60)
    pairs = inquiry.side.ranges.better_pairs().tolist()
    assert len(pairs) > 5
    assert all(MEANS[NAMES[a]] > MEANS[NAMES[b]] for a, b in pairs)
    known = inquiry.side.subset(inquiry.found.arm_ids)
    assert set(known.arm_ids) == set(inquiry.found.arm_ids)


def test_very_many_arms():
    """More arms than the joint law holds: the rest is dropped, and what that risks is part of the answer."""
    means = np.random.default_rng(0).uniform(0.0, 1.0, 400)
    means[13] = 1.2
    inquiry = lsdt.Inquiry(lsdt.SideInformation(400), answers="better", until=20)
    for _turn in range(3):
        for one in inquiry.next(200):
            inquiry.tell(one.a, one.b, _word(means[one.a] - means[one.b]))
    assert 590 <= inquiry.n_answers <= 600
    assert 13 in inquiry.found
    assert len(inquiry.found) < 120


# -------------------------------------------------------------------- asking


def test_async_and_plain_judges_are_asked_at_the_same_time():
    """Every question waits until others are under way too, so asking one after the other would never end."""
    gate = threading.Barrier(3)

    def plain(a, b):
        gate.wait(30)
        return _word(MEANS[a] - MEANS[b])

    inquiry = _inquiry()
    inquiry.run(plain, jobs=3, calls=9)
    assert inquiry.n_answers == 9
    under_way, most = 0, 0

    async def waiting(a, b):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return _word(MEANS[a] - MEANS[b])

    inquiry = _inquiry()
    inquiry.run(waiting, jobs=4, calls=12)
    assert inquiry.n_answers == 12
    assert most == 4


def test_an_inquiry_goes_on_where_it_stopped(tmp_path):
    log = tmp_path / "answers.csv"
    asked = []

    def judge(a, b):
        asked.append((a, b))
        return _word(MEANS[a] - MEANS[b])

    first = _inquiry()
    first.run(judge, jobs=2, calls=12, log=log)
    assert first.n_answers == len(log.read_text().splitlines()) - 1 == 12
    second = _inquiry()
    second.run(judge, jobs=2, calls=10, log=log)
    second.run(judge, jobs=2, calls=0, log=log)  # the same file is read once
    assert second.n_answers == len(asked) == len(set(asked)) == 22
    asked = []
    with pytest.raises(InvalidFile, match="cannot write .*No such file or directory"):
        _inquiry().run(lambda *pair: asked.append(pair), log=tmp_path / "nowhere" / "answers.csv")
    assert not asked  # no answer is paid for
    log.write_text("x,y\n")
    with pytest.raises(InvalidFile, match="not a log of answers"):
        _inquiry().resume(log)


def test_answers_about_arms_that_are_out_by_now_are_passed_over(tmp_path):
    log = tmp_path / "answers.csv"
    log.write_text("a,b,answer\na,j,better\na,b,worse\n")
    side = lsdt.SideInformation(10, better=[("i", "j")], arm_ids=NAMES)  # more is known than when it began
    inquiry = lsdt.Inquiry(side, answers="better")
    inquiry.resume(log)
    assert inquiry.n_answers == 1
    log.write_text("a,b,answer\na,x,better\n")
    with pytest.raises(InvalidFile, match="line 2: there is no arm 'x'"):
        lsdt.Inquiry(side, answers="better").resume(log)


def test_a_budget_of_money():
    inquiry = _inquiry()
    inquiry.run(_judge(MEANS), jobs=3, budget=1.0, cost=0.15)
    assert inquiry.n_answers == 6
    with pytest.raises(InvalidInput, match="budget needs cost="):
        inquiry.run(_judge(MEANS), budget=1.0)


def test_a_judge_without_an_answer_or_with_an_error(tmp_path):
    inquiry = _inquiry()
    asked = []

    def silent(a, b):
        asked.append((a, b))

    inquiry.run(silent, jobs=2, calls=10)
    assert inquiry.n_answers == 0
    assert len(set(asked)) == 10
    log = tmp_path / "answers.csv"

    def broken(a, b):
        if len(asked) == 15:
            raise ConnectionError("no route")
        asked.append((a, b))
        return "equal"

    with pytest.raises(ConnectionError, match="no route") as caught:
        inquiry.run(broken, jobs=1, log=log)
    assert "when the judge was asked about" in caught.value.__notes__[0]
    assert inquiry.n_answers == 5
    assert len(log.read_text().splitlines()) == 6
    with pytest.raises(
        InvalidInput, match="an answer must be one of 'better', 'worse', 'equal'; got 'maybe'"
    ):
        inquiry.run(lambda a, b: "maybe", jobs=1)
    with pytest.raises(InvalidInput, match="judge must be a function of two arms"):
        inquiry.run("gpt")


def test_bad_values():
    with pytest.raises(InvalidInput, match="max_wrong is for answers='similar' or 'range'"):
        _inquiry(max_wrong=1)
    with pytest.raises(InvalidInput, match="epsilon is for answers='similar' or 'range'"):
        _inquiry(epsilon=0.1)
    with pytest.raises(InvalidInput, match="risk"):
        _inquiry(risk=0.0)
    with pytest.raises(InvalidInput, match="only answers='better' has a model of the judge"):
        _ = lsdt.Inquiry(lsdt.SideInformation(3)).judge
    with pytest.raises(InvalidInput, match="calls"):
        _inquiry().run(_judge(MEANS), calls=-1)
