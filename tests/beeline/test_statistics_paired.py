"""Paired comparison, corrections, power: against scipy, enumeration and planted values."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from beeline.draws import Draws
from beeline.statistics import Interval, geometric_mean, overall_interval
from beeline.statistics.multiple import compare_all, holm
from beeline.statistics.paired import (
    EXACT_UP_TO,
    PATTERNS,
    compare,
    differences,
    paired_ratio,
    sign_flip_test,
    sign_test,
)
from beeline.statistics.power import (
    detectable_ratio,
    power_of,
    simulated_power,
    spread_with_repeats,
    trials_needed,
)
from tests.beeline.coverage import assert_covers, assert_nominal


def table(values: dict[str, list[float]], repeats: int = 1) -> dict[tuple[str, int, int], float]:
    return {
        (domain, trial, repeat): score
        for domain, scores in values.items()
        for trial, score in enumerate(scores, start=1)
        for repeat in range(repeats)
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4).map(float) | st.floats(-3, 3), min_size=1, max_size=8))
def test_sign_flip_counts_every_pattern(values: list[float]) -> None:
    observed = abs(sum(values))
    patterns = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True)))
        for signs in product((1, -1), repeat=len(values))
    ]
    extreme = sum(total >= observed - 1e-12 * sum(map(abs, values)) for total in patterns)
    assert sign_flip_test(values, ("x",)) == pytest.approx(extreme / len(patterns))


def test_sign_flip_agrees_with_scipy() -> None:
    values = np.random.RandomState(5).normal(0.3, 1.0, 12)
    theirs = stats.permutation_test(
        (values,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_test(values.tolist(), ("x",)) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_many_trials_are_drawn_as_documented() -> None:
    values = [0.1 * k - 0.7 for k in range(EXACT_UP_TO + 3)]
    draws, extreme = Draws("flip", 1), 0
    for _ in range(PATTERNS):
        total = math.fsum(-v if draws.random() < 0.5 else v for v in values if v)
        extreme += abs(total) >= abs(math.fsum(values)) - 1e-9
    assert sign_flip_test(values, ("flip", 1)) == (extreme + 1) / (PATTERNS + 1)
    values = np.random.RandomState(8).normal(0.3, 1.0, EXACT_UP_TO).tolist()
    near = sign_flip_test(values, ("x",))
    scale = [1.0] * EXACT_UP_TO + [1e-9] * 3  # three that hardly matter, so that patterns are drawn
    drawn = sign_flip_test([*values, 1.0, 1.0, 1.0], ("x",), scale)
    assert drawn == pytest.approx(near, abs=4 * math.sqrt(near / PATTERNS))


def test_nothing_differs() -> None:
    assert sign_flip_test([0.0, 0.0], ("x",)) == 1.0
    assert sign_flip_test([], ("x",)) == 1.0
    scores = table({"a": [0.1, 0.2, 0.7]})
    same = compare(scores, scores, ("x",))
    assert same is not None
    assert (same.ratio, same.p_value, same.ties) == (Interval(1.0, 1.0, 1.0), 1.0, 3)
    assert compare(scores, table({"b": [0.5]}), ("x",)) is None


@given(st.integers(0, 40), st.integers(0, 40))
def test_sign_test_agrees_with_scipy(wins: int, losses: int) -> None:
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses) == pytest.approx(expected, abs=1e-12)


def test_holm() -> None:
    # Worked by hand: 4 * 0.005, 3 * 0.01, 2 * 0.03, and 0.04 may not fall below that.
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert list(adjusted) == ["a", "b", "c", "d"]
    assert list(adjusted.values()) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm({}) == {}
    assert holm({1: 0.6, 2: 0.9}) == {1: 1.0, 2: 1.0}
    with pytest.raises(ValueError, match="the p-value of x is nan"):
        holm({"x": math.nan})


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_never_helps_and_keeps_order(values: list[float]) -> None:
    adjusted = holm(dict(enumerate(values)))
    assert all(values[k] <= p <= 1.0 for k, p in adjusted.items())
    for i, j in product(range(len(values)), repeat=2):
        if values[i] <= values[j]:
            assert adjusted[i] <= adjusted[j]
    smallest = min(range(len(values)), key=lambda k: values[k])
    assert adjusted[smallest] == min(1.0, len(values) * values[smallest])


def test_all_pairs() -> None:
    rng = np.random.RandomState(6)
    base = rng.uniform(0.1, 0.5, 12)
    models = {
        "x": table({"a": (base * 1.5).tolist()}),
        "y": table({"a": (base * rng.uniform(0.9, 1.1, 12)).tolist()}),
        "z": table({"a": base.tolist()}),
        "other": table({"b": [0.5]}),
    }
    found = compare_all(models, ("all",))
    assert [(pair.first, pair.second) for pair in found] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert found[1].comparison == compare(models["x"], models["z"], ("all", "x", "z"))
    assert found[1].comparison.ratio.value == pytest.approx(1.5)
    assert found[1].adjusted == 3 * found[1].comparison.p_value == 3 / 2**11
    assert found[2].adjusted == found[2].comparison.p_value > 0.05


def test_compare_pairs_trials_and_averages_repeats() -> None:
    ours = {("a", 1, 0): 0.4, ("a", 1, 1): 0.1, ("a", 2, 0): 0.5, ("a", 3, 0): 0.9, ("b", 1, 0): 0.3}
    theirs = {("a", 1, 0): 0.1, ("a", 2, 0): 0.5, ("b", 1, 0): 0.6, ("b", 9, 0): 0.6, ("c", 1, 0): 1.0}
    found = compare(ours, theirs, ("p",))
    shuffled = compare(dict(reversed(ours.items())), dict(reversed(theirs.items())), ("p",))
    assert found == shuffled
    assert found is not None
    assert differences(ours, theirs) == {
        "a": [pytest.approx(math.log(2)), 0.0],
        "b": [pytest.approx(-math.log(2))],
    }
    # Domains weigh the same: (log 2 / 2 - log 2) / 2.
    assert found.ratio.value == pytest.approx(2**-0.25)
    assert (found.trials, found.wins, found.ties, found.losses, found.sign_p_value) == (3, 1, 1, 1, 1.0)
    assert found.spread == pytest.approx(math.log(2) / math.sqrt(2))


def test_domains_weigh_the_same_in_the_test_too() -> None:
    ours = table({"a": [0.9, 0.4, 0.6, 0.3], "b": [0.2, 0.5]})
    theirs = table({"a": [0.5, 0.5, 0.2, 0.1], "b": [0.3, 0.4]})
    found = compare(ours, theirs, ("w",))
    groups = differences(ours, theirs)
    terms = [value / len(group) for group in groups.values() for value in group]
    totals = [
        abs(sum(s * v for s, v in zip(signs, terms, strict=True))) for signs in product((1, -1), repeat=6)
    ]
    assert found is not None
    assert found.p_value == sum(total >= abs(sum(terms)) - 1e-12 for total in totals) / 64
    assert found.p_value != sign_flip_test([value for group in groups.values() for value in group], ("w",))


def test_ratio_is_that_of_the_scores() -> None:
    rng = np.random.RandomState(3)
    ours, theirs = ({d: rng.uniform(0.05, 1, 25).tolist() for d in "ab"} for _ in range(2))
    found = compare(table(ours, 2), table(theirs), ("p",))
    first, second = overall_interval(ours, ("q",)), overall_interval(theirs, ("q",))
    assert found is not None
    assert first is not None
    assert second is not None
    assert found.ratio.value == pytest.approx(first.value / second.value)
    single = compare(table({"a": ours["a"]}), table({"a": theirs["a"]}), ("p",))
    assert single is not None
    assert single.ratio.value == pytest.approx(geometric_mean(ours["a"]) / geometric_mean(theirs["a"]))


def test_expanded_bounds_are_those_of_students_t_for_normal_differences() -> None:
    values = stats.norm.ppf((np.arange(12) + 0.5) / 12)
    low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    found = paired_ratio([values.tolist()], ("t",))
    assert math.log(found.low) == pytest.approx(low, abs=0.06)
    assert math.log(found.high) == pytest.approx(high, abs=0.06)
    assert paired_ratio([[0.5], [0.1]], ("t",)) == Interval(math.exp(0.3), 0.0, math.inf)


def skewed(rng: np.random.RandomState, size: int) -> np.ndarray:
    """Differences of two searches: one side heavier, mean 0."""
    return np.log(rng.beta(2, 5, size) + 0.02) - np.log(rng.beta(3, 6, size) + 0.02) + 0.20035


@pytest.mark.parametrize("trials", [10, 20])
def test_planted_ratio_is_covered(trials: int) -> None:
    centre = float(skewed(np.random.RandomState(99), 2_000_000).mean())

    def one(rng: np.random.RandomState) -> Interval:
        values = skewed(rng, trials) - centre + math.log(1.3)
        return paired_ratio([values.tolist()], ("cover", trials))

    assert_covers(one, 1.3, 2_000)


def test_planted_ratio_over_domains_is_covered() -> None:
    def one(rng: np.random.RandomState) -> Interval:
        groups = [
            rng.normal(shift, spread, 12).tolist() for shift, spread in ((0.4, 1.0), (0.0, 0.5), (-0.1, 2.0))
        ]
        return paired_ratio(groups, ("cover",))

    assert_covers(one, math.exp(0.1), 1_000)


def test_false_positives_of_sign_flips() -> None:
    rejected = 0
    for seed in range(2_000):
        values = np.random.RandomState(seed).standard_t(3, 12)
        rejected += sign_flip_test(values.tolist(), ("null", seed)) <= 0.05
    assert_nominal(rejected, 2_000)


def test_false_positives_of_drawn_sign_flips() -> None:
    rejected = 0
    for seed in range(300):
        values = np.random.RandomState(seed).laplace(size=EXACT_UP_TO + 2)
        rejected += sign_flip_test(values.tolist(), ("null", seed)) <= 0.05
    assert_nominal(rejected, 300)


@pytest.mark.parametrize(("ratio", "spread"), [(1.2, 0.5), (0.7, 1.0), (2.0, 0.9)])
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_trials_needed_reach_the_power(ratio: float, spread: float, power: float) -> None:
    trials = trials_needed(ratio, spread, power)
    shape = stats.norm.ppf((np.arange(2_000) + 0.5) / 2_000) * spread
    found = simulated_power(shape.tolist(), ratio, trials, ("power", trials))
    assert found == pytest.approx(power, abs=0.035)
    assert power_of(trials, ratio, spread) == pytest.approx(power, abs=0.03)
    assert power_of(trials, ratio, spread) >= power - 1e-9 or trials == 2
    assert detectable_ratio(trials, spread, power) <= max(ratio, 1 / ratio) + 1e-9
    assert detectable_ratio(trials - 1, spread, power) > max(ratio, 1 / ratio)
    # Exact power of the t test, from the noncentral t distribution.
    shift, limit = abs(math.log(ratio)) / spread * math.sqrt(trials), stats.t.ppf(0.975, trials - 1)
    exact = stats.nct.sf(limit, trials - 1, shift) + stats.nct.cdf(-limit, trials - 1, shift)
    assert exact == pytest.approx(power, abs=0.025)


def test_sign_flips_have_the_power_that_was_planned() -> None:
    trials, found = trials_needed(2.0, 0.8, 0.8), 0
    assert trials <= EXACT_UP_TO
    for seed in range(500):
        values = np.random.RandomState(seed).normal(math.log(2.0), 0.8, trials)
        found += sign_flip_test(values.tolist(), ("power",)) <= 0.05
    assert found / 500 == pytest.approx(0.8, abs=0.055)


def test_power_at_the_ends() -> None:
    assert simulated_power([-1.0, 0.2, 0.8, 0.0], 1.0, 40, ("null",)) == pytest.approx(0.05, abs=0.02)
    assert detectable_ratio(1, 0.5) == math.inf
    assert power_of(10, 1.1, 0.0) == 1.0
    assert spread_with_repeats(0.3, 0.8, 4) == pytest.approx(0.5)
    for ratio in (1.0, 0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="no number of trials"):
            trials_needed(ratio, 0.5)
    with pytest.raises(ValueError, match="two trials"):
        simulated_power([0.1, 0.2], 2.0, 1, ("x",))
