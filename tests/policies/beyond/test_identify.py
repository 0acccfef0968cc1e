"""The policy "identify", and the rule that says when the best arm is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import comb

import lsdt
from lsdt.candidates import MutualBounds
from lsdt.errors import InvalidInput, Unsupported
from lsdt.kernel.random import new_stream
from lsdt.kernel.rewards import RewardModel
from lsdt.kernel.state import copy_state
from lsdt.policies.beyond.identify import first_state
from lsdt.policies.parts.evidence_tangents import (
    change_leader,
    find_leader,
    learn_all,
    learn_rewards,
)
from lsdt.policies.parts.gap_rows import fill_plays, sparse_rows
from lsdt.policies.parts.leaders import name_leader, none_can_reach
from lsdt.policies.parts.mixture_evidence import least_evidence, row_evidence
from lsdt.policies.stopping import StoppingRule
from naive.evidence import at_mean, best_leader, least, log_mixture
from side_by_side import play_both, random_problem

GAUSSIAN, BERNOULLI = RewardModel("gaussian", 1.0), RewardModel("bernoulli", 0.5)


def test_two_arms_by_hand():
    """As many plays of both: rival and leader meet half way, with the tolerance between them."""
    rule = StoppingRule(lsdt.SideInformation(2), GAUSSIAN, 0.5)
    n, m = 9, 1.0
    verdict = rule.judge(np.array([n, n]), np.array([-n * m, n * m]))
    moved = m + 0.25
    log_m = n**2 * moved**2 / (2 * (n + 1)) - 0.5 * math.log(1 + n)
    assert verdict.leader == 1
    assert verdict.least == pytest.approx(2 * math.log(0.5 + 0.5 * math.exp(log_m)), abs=1e-7)
    assert verdict.delta == pytest.approx(math.exp(-verdict.least))


def test_the_mixture_of_coins_is_a_martingale():
    """Its mean over all sequences of coins is 1 after any number of them."""
    for theta in (0.05, 0.3, 0.9):
        for n in (1, 2, 7, 30):
            total = sum(
                comb(n, wins)
                * theta**wins
                * (1 - theta) ** (n - wins)
                * math.exp(log_mixture("bernoulli", 0.5, n, wins / n, theta))
                for wins in range(n + 1)
            )
            assert total == pytest.approx(1.0)


def test_the_mixture_of_other_rewards_in_the_unit_interval_is_a_supermartingale():
    rewards, chances = np.array([0.0, 0.3, 1.0]), np.array([0.5, 0.3, 0.2])
    theta = float(rewards @ chances)
    for n in (1, 3, 6):
        sums = np.array(np.meshgrid(*[rewards] * n)).reshape(n, -1).sum(axis=0)
        weights = np.array(np.meshgrid(*[chances] * n)).reshape(n, -1).prod(axis=0)
        factor = [math.exp(log_mixture("bernoulli", 0.5, n, total / n, theta)) for total in sums]
        assert 0.5 < weights @ factor < 1.0


def twin_rows(state):
    """Return the bounds of a state as the twin has them; of arms outside a row it knows nothing."""
    rows, everybody, unknown = state.rows, range(len(state.tallies.counts)), (-math.inf, math.inf)
    bounds = list(zip(rows.lower.tolist(), rows.upper.tolist(), strict=True))
    if len(rows.played):
        lines = np.arange(len(bounds)).reshape(len(everybody), -1).tolist()
        return [dict(enumerate(bounds[at] for at in line)) for line in lines]
    indptr, others = rows.indptr.tolist(), rows.others.tolist()
    rows = [{others[at]: bounds[at] for at in range(*indptr[arm : arm + 2])} for arm in everybody]
    return [{other: row.get(other, unknown) for other in everybody} for row in rows]


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_the_least_evidence_is_that_of_a_fine_grid(family, thorough):
    for number in range(6, 16) if thorough else (7, 8):
        problem = random_problem(number, family, complete=number % 2 == 0)
        ready = lsdt.Policy("identify").begin(problem.side, problem.rewards, None, new_stream(0))
        player, n_arms = ready.player, len(ready.arms)
        rng = np.random.default_rng(number)
        for _ in range(40):
            arm = int(rng.integers(n_arms))
            mean = problem.means[ready.arms[arm]]
            player.update(arm, float(rng.random() < mean) if family == "bernoulli" else rng.normal(mean))
        state, sigma = player.state, problem.rewards.sigma
        rows = twin_rows(state)
        counts, means = state.tallies.counts, state.tallies.means
        seen = {a: (int(counts[a]), float(means[a])) for a in range(n_arms) if counts[a]}
        for leader in range(n_arms) if thorough else (number % 2 * n_arms // 2,):
            change_leader(state, leader)
            for arm in range(n_arms):
                if arm == leader:
                    continue
                q, value, bound, _ = least_evidence(state, arm, leader, state.tolerance, math.nan)
                expected = least(rows[arm], leader, state.tolerance, seen, family, sigma)[0]
                assert value == pytest.approx(expected, abs=1e-7)
                assert bound == pytest.approx(expected, abs=1e-4)
                if value < math.inf:
                    there = at_mean(rows[arm], leader, state.tolerance, seen, family, sigma, q)
                    assert value == pytest.approx(there, abs=1e-9)
                    assert bound < expected


def states_of(number, family):
    """Return a state on whole tables, and those on index rows with all arms, and with some of them only."""
    rng = np.random.default_rng(number)
    problem = random_problem(number, family, complete=False)
    found = lsdt.candidate_set(problem.side, "propagation")
    whole = first_state(found.mutual_bounds, family, problem.rewards.sigma, problem.side.epsilon)
    n_arms = len(found.arms)
    table = MutualBounds.of_tables(
        *(each.reshape(n_arms, n_arms) for each in (whole.rows.lower, whole.rows.upper))
    )
    states = {"whole": whole}
    for name, share in (("rows", 1.0), ("cut", 0.5)):
        is_kept = (rng.random((n_arms, n_arms)) < share) | (np.eye(n_arms) > rng.random())
        kept = is_kept.ravel()
        indptr = np.concatenate([[0], np.cumsum(is_kept.sum(axis=1))])
        bounds = MutualBounds(indptr, *(column[kept] for column in table[1:]))
        states[name] = whole._replace(rows=sparse_rows(bounds, whole.family))
    return {name: copy_state(state) for name, state in states.items()}, problem.means[found.arms], rng


def drawn(family, mean, rng):
    return float(rng.random() < mean) if family == "bernoulli" else rng.normal(mean)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_index_rows_say_what_whole_tables_say_and_cut_rows_never_more(family, thorough):
    """Whoever leads: what cut rows leave out takes off no less than it might, so that delta still holds."""
    has_lost = False
    for number in range(40 if thorough else 12):
        states, means, rng = states_of(number, family)
        n_arms = len(means)
        for arm in rng.integers(n_arms, size=25).tolist():
            reward = drawn(family, means[arm], rng)
            for state in states.values():
                learn_rewards(state, arm, 1, reward)
        seen = {
            arm: (int(count), float(states["cut"].tallies.means[arm]))
            for arm, count in enumerate(states["cut"].tallies.counts)
            if count
        }
        for leader in rng.integers(n_arms, size=2).tolist():
            for state in states.values():
                change_leader(state, leader)
            tolerance, rivals = states["whole"].tolerance, sorted(set(range(n_arms)) - {leader})
            for arm in rivals:
                value = {
                    name: least_evidence(state, arm, leader, tolerance, math.nan)[1:3]
                    for name, state in states.items()
                }
                assert value["rows"] == pytest.approx(value["whole"], rel=1e-9, abs=1e-8)
                assert value["cut"][0] <= value["whole"][0] + 1e-9
                assert value["cut"][1] <= value["whole"][0]
                has_lost = has_lost or value["cut"][0] < value["whole"][0] - 0.01
            for arm in rivals[-1:]:
                row, sigma = twin_rows(states["cut"])[arm], math.sqrt(states["cut"].variance)
                expected = least(row, leader, tolerance, seen, family, sigma)[0]
                assert value["cut"][0] == pytest.approx(expected, abs=1e-7)
    assert has_lost


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_tangents_are_brought_up_to_date(family):
    """They are what the evidence and its slope are at their points, after any rewards and leaders."""
    n_checked = {"whole": 0, "rows": 0, "cut": 0}
    for number in range(6):
        states, means, rng = states_of(number, family)
        for _ in range(30):
            arm = int(rng.integers(len(means)))
            reward = drawn(family, means[arm], rng)
            for name, state in states.items():
                find_leader(state)
                learn_rewards(state, arm, 1, reward)
                for at in np.flatnonzero(~np.isnan(state.point)).tolist():
                    given = (at // 2, int(state.leader[0]), state.tolerance, float(state.point[at]))
                    expected = row_evidence(state, *given)[:2]
                    found = (state.value[at], state.slope[at])
                    assert found == pytest.approx(expected, rel=1e-7, abs=1e-8)
                    n_checked[name] += 1
    assert min(n_checked.values()) > 100


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_what_is_found_of_one_arm_holds_for_its_kind(family):
    """Every arm solved for by itself has the same evidence, to the last bit; most arms were never played."""
    n_alike = 0
    for number in range(10):
        states, means, rng = states_of(number, family)
        alone = states["whole"]
        for arm in rng.integers(len(means), size=6).tolist():
            alone.tallies.counts[arm] += 3
            alone.tallies.sums[arm] += sum(drawn(family, means[arm], rng) for _ in range(3))
        shared = copy_state(alone)
        alone.rows.equivalence_class[:] = np.arange(len(means))
        named = []
        for state in (alone, shared):
            learn_all(state)
            fill_plays(state.rows, state.tallies.counts)
            named.append(name_leader(state))
        assert named[0].leader == named[1].leader
        assert np.array_equal(named[0].evidence, named[1].evidence)
        n_alike += len(means) - len(np.unique(shared.rows.equivalence_class))
    assert n_alike > 0


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_no_other_leader_has_more_evidence(family, thorough):
    """Against a twin that tries them all."""
    for number in range(60 if thorough else 4):
        states, means, rng = states_of(number, family)
        counts = rng.multinomial(20 * number, np.ones(len(means)) / len(means)) * (
            rng.random(len(means)) < 0.7
        )
        sums = np.array(
            [sum(drawn(family, m, rng) for _ in range(n)) for n, m in zip(counts, means, strict=True)]
        )
        for name, state in states.items():
            state.tallies.counts[:], state.tallies.sums[:] = counts, sums
            learn_all(state)
            fill_plays(state.rows, state.tallies.counts)
            leader, evidence = name_leader(state)[:2]
            seen = {arm: (int(n), float(state.tallies.means[arm])) for arm, n in enumerate(counts) if n}
            sigma = math.sqrt(state.variance)
            expected, values = best_leader(twin_rows(state), state.tolerance, seen, family, sigma)
            found = evidence.min(initial=math.inf)
            assert found == pytest.approx(expected, abs=1e-4), (number, name)
            assert values[leader] == pytest.approx(expected, abs=1e-4)
            if len(means) > 1:  # rows with the two arms that were played most: less evidence, never more
                narrow = name_leader(state, most_terms=0, n_columns=2)
                assert narrow.evidence.min() <= values[narrow.leader] + 1e-6


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_rivals_of_an_earlier_look_say_that_no_leader_has_enough_evidence(family, thorough):
    """Against a twin that tries all leaders: never where one has as much, and mostly where none has."""
    n_shown, n_true = 0, 0
    for number in range(60 if thorough else 7):
        states, means, rng = states_of(number, family)
        for name, fresh in states.items():
            counts, sums, looks = np.zeros(len(means), np.int64), np.zeros(len(means)), []
            for _ in range(3):
                for arm in rng.integers(len(means), size=2 + 10 * (number % 4)).tolist():
                    counts[arm] += 1
                    sums[arm] += drawn(family, means[arm], rng)
                state = copy_state(fresh)
                state.tallies.counts[:], state.tallies.sums[:] = counts, sums
                learn_all(state)
                fill_plays(state.rows, state.tallies.counts)
                named = name_leader(state)
                looks.append((named.order, named.point))
            seen = {arm: (int(n), float(state.tallies.means[arm])) for arm, n in enumerate(counts) if n}
            most = best_leader(twin_rows(state), state.tolerance, seen, family, math.sqrt(state.variance))[0]
            for order, point in looks:
                for goal in (9.0,) if most == math.inf else most + np.array([-1e-3, 1e-3, 0.5, 5.0]):
                    shown = none_can_reach(state, goal, order, point)
                    assert not (shown and goal <= most), (number, name)
                    n_shown += shown
                    n_true += goal > most + 0.1
    assert n_shown > 0.5 * n_true > 0


def test_it_stops_when_a_full_judgement_would():
    """The quick look, pending rewards included, says only that a judgement would find too little."""
    rng, n_quick, n_known = np.random.default_rng(3), 0, 0
    for seed in range(4):
        problem = random_problem(seed, "bernoulli", complete=False)
        rule, arms = StoppingRule(problem.side, BERNOULLI, 0.1), problem.side.n_arms
        plain = StoppingRule(problem.side, BERNOULLI, 0.1)
        counts, sums = np.zeros(arms, np.int64), np.zeros(arms)
        for _ in range(60):
            played = rng.integers(arms, size=5)
            np.add.at(counts, played, 1)
            np.add.at(sums, played, rng.random(5) < np.asarray(problem.means)[played])
            pending = rng.integers(2, size=arms)
            least = plain.judge(counts, sums, pending).least
            if rule.is_out_of_reach(counts, sums, 3.0, pending):
                assert least < 3.0
                n_quick += 1
            else:
                assert rule.judge(counts, sums, pending).least == least
                n_known += least >= 3.0
    assert n_quick > 50
    assert n_known > 0


def test_the_leader_is_not_always_the_arm_with_the_largest_mean():
    """Arm 1 has the largest mean, but relations leave a rival 0.2 above it; they leave none above arm 2."""
    ranges = [(0, 1, -1.0, 0.2), (0, 2, -1.0, 0.1), (1, 2, -0.1, 0.1)]
    rule = StoppingRule(lsdt.SideInformation(3, ranges=ranges), BERNOULLI, 0.1)
    verdict = rule.judge(np.array([0, 100, 0]), np.array([0.0, 80.0, 0.0]))
    assert verdict.leader == 2
    assert verdict.least == math.inf


def test_a_rule_does_not_change_by_judging():
    """It copies no tables, and what it learns of one question is gone at the next."""
    side = random_problem(8, "bernoulli", complete=False).side
    rule, rng = StoppingRule(side, BERNOULLI, 0.1), np.random.default_rng(0)
    asked = [rng.integers(5, size=side.n_arms) for _ in range(3)]
    first = [rule.judge(counts, 0.5 * counts) for counts in asked]
    rule.tries_to_go(asked[0], 0.5 * asked[0], 0.05)
    for counts, verdict in zip(asked, first, strict=True):
        again = rule.judge(counts, 0.5 * counts)
        assert again.leader == verdict.leader
        assert np.array_equal(again.evidence, verdict.evidence)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("parameters", [{}, {"tolerance": 0.05}])
def test_plays_an_arm_that_tells_most(family, parameters, thorough):
    def about(twin, expected, chosen):
        return chosen == expected or twin.indices[chosen] >= twin.indices[expected] - 1e-5

    for complete in (True, False):
        for number in (2, 3, 4, 7, 8) if thorough else (3,):
            problem = random_problem(number, family, complete)
            play_both("identify", problem, 25 if thorough else 10, seed=number, agree=about, **parameters)


def test_no_arm_is_neglected():
    """In t rounds every arm is played sqrt(t / K) - 12 times or more, whatever rewards are."""
    groups = lsdt.SideInformation(6, similar=[(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)], epsilon=0.1)
    player = lsdt.Policy("identify").begin(groups, BERNOULLI, None, new_stream(0)).player
    fewest = []
    for _ in range(1_500):
        arm = player.select()
        player.update(arm, float(arm < 3))  # it has been known for long
        fewest.append(int(player.state.tallies.counts.min()))
    needed = np.sqrt(np.arange(1, 1_501) / 6) - 12.0
    assert np.all(np.array(fewest)[6:] >= needed[:-6])  # six arms may be due at once
    assert fewest[-1] == 4


def identified(problem, seed, delta, most, **parameters):
    """Return whether the rule named an arm that is not good enough, or None if it did not stop."""
    instance = problem.draw(seed, 0)
    rewards = instance.rewards.model
    ready = lsdt.Policy("identify", **parameters).begin(instance.side, rewards, None, new_stream(seed))
    rng = np.random.default_rng(seed)
    player, state = ready.player, ready.player.state
    for tries in range(most):
        chosen = player.select()
        if state.evidence[0] >= math.log(1 / delta):
            named = instance.means[ready.arms[state.leader[0]]]
            return tries, named < instance.means.max() - state.tolerance - 1e-12
        mean = instance.means[ready.arms[chosen]]
        player.update(
            chosen, float(rng.random() < mean) if rewards.family == "bernoulli" else rng.normal(mean)
        )
    return most, None


def test_errors_are_rarer_than_delta(thorough):
    """No relations, two arms, delta = 0.2."""
    problem = lsdt.problems.given([0.4, 0.65], rewards="bernoulli")
    runs = [identified(problem, seed, 0.2, 5_000, tolerance=0.1) for seed in range(1_000 if thorough else 60)]
    assert all(wrong is not None for _, wrong in runs)
    assert np.mean([wrong for _, wrong in runs]) <= 0.2


def test_few_tries_with_complete_information():
    """The paper's setting: some two dozen tries, where a pairwise test takes thousands."""
    problem = lsdt.problems.uniform(n_arms=100, epsilon=0.1)
    runs = [identified(problem, seed, 0.05, 1_000) for seed in range(30)]
    assert not any(wrong for _, wrong in runs)
    assert np.mean([tries for tries, _ in runs]) < 40


def test_without_an_epsilon_the_tolerance_must_be_given():
    plain = lsdt.SideInformation(3, similar=[(0, 1)])
    with pytest.raises(Unsupported, match="no epsilon, so give a tolerance.*tolerance=0.01 for"):
        lsdt.Agent(plain, policy="identify")
    with pytest.raises(Unsupported, match="a tenth of the mean of a good arm is a start"):
        lsdt.Agent(plain, policy="ucb1").stopping()
    two = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(0, 2)], epsilon=(0.3, 0.1))
    with pytest.raises(
        Unsupported, match="thresholds of their own.*tolerance=0.02, a fifth of how far apart"
    ):
        lsdt.Agent(two, policy="ucb1").stopping()
    ranged = lsdt.SideInformation(3, ranges=[(0, 1, -0.1, 0.3), (0, 2, 0.0, 0.2)])
    with pytest.raises(Unsupported, match="tolerance=0.02, a fifth of how far apart relations put two arms"):
        lsdt.Agent(ranged, policy="ucb1").stopping()
    assert lsdt.Agent(plain, policy="ucb1").stopping(tolerance=0.2).tolerance == 0.2


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([0.05, 0.08, 0.12], "tolerance=0.01, a fifth of the spread of the means so far"),
        ([0.2, 0.9, 0.5], "tolerance=0.1, a fifth of the spread of the means so far"),
        ([0.1, None, None], "tolerance=0.01, a tenth of the mean reward so far"),
    ],
)
def test_the_tolerance_that_is_proposed_is_on_the_scale_of_the_means(means, said):
    """Also where ranges from a short log are nearly as wide as the scale."""
    wide = lsdt.SideInformation(3, ranges=[(0, 1, -0.4, 0.451), (0, 2, -0.5, 0.4)])
    for side in (lsdt.SideInformation(3), wide):
        agent = lsdt.Agent(side, policy="ucb1")
        for arm, mean in enumerate(means):
            for number in range(0 if mean is None else 100):
                agent.observe(arm, float(number < 100 * mean))
        with pytest.raises(Unsupported, match=said):
            agent.stopping()


def test_bounds_without_a_size_are_not_used():
    """Three similar arms of unknown epsilon: the rule is that of arms without relations."""
    related = lsdt.SideInformation(3, similar=[(0, 1), (1, 2)])
    counts, sums = np.array([40, 40, 40]), np.array([5.0, 15.0, 30.0])
    verdicts = [
        StoppingRule(side, BERNOULLI, 0.1).judge(counts, sums) for side in (related, lsdt.SideInformation(3))
    ]
    assert np.array_equal(verdicts[0].evidence, verdicts[1].evidence)


def test_relations_settle_rivals_without_a_reward():
    side = lsdt.from_means([0.5, 0.55, 0.6], epsilon=0.2)
    verdict = StoppingRule(side, BERNOULLI, None).judge(np.zeros(3, np.int64), np.zeros(3))
    assert verdict.least == math.inf
    assert verdict.delta == 0.0
    assert verdict.error == 0.0


@pytest.mark.parametrize("law", ["laplace", "exponential", "student_t", "pareto"])
def test_rewards_with_heavier_tails_are_refused(law):
    """A variance is not enough: Student's t with 3 degrees and Pareto with exponent 2.5 have one."""
    rewards = getattr(lsdt.rewards, law)(*{"student_t": (3.0,), "pareto": (2.5,)}.get(law, ()))
    agent = lsdt.Agent(lsdt.SideInformation(2), "ucb1", rewards=rewards)
    with pytest.raises(Unsupported, match="heavier tails"):
        agent.stopping(tolerance=0.1)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, float("nan"), "small", None, True])
def test_what_is_no_delta(delta):
    with pytest.raises(InvalidInput, match="delta must"):
        lsdt.Agent(lsdt.SideInformation(2, epsilon=0.1), "ucb1").stopping(delta)
