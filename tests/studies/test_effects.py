"""Conditions against the benchmark's: planted ratios come back, names that mean nothing are not found."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

from beeline.statistics import Interval
from studies.effects import Measured, measure, range_test
from tests.beeline.coverage import assert_nominal
from tests.beeline.test_scoring import record, result
from tests.studies.conditions import records_of


def measured(logs: dict[str, np.ndarray]) -> Measured:
    found = measure({name: records_of(values, name, "s") for name, values in logs.items()}, ["p"])
    assert found is not None
    return found


def test_planted_ratios_come_back_and_equals_are_left_alone() -> None:
    truth = {"better": 1.3, "worse": 0.8, "equal": 1.0}
    held, found = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for seed in range(100):
        rng = np.random.RandomState(seed)
        hard = rng.normal(-2.5, 0.6, 40)
        logs = {name: hard + rng.normal(math.log(ratio), 0.25, 40) for name, ratio in truth.items()}
        for effect in measured({"benchmark": hard + rng.normal(0, 0.25, 40), **logs}).effects[1:]:
            assert effect.comparison is not None
            ratio = effect.comparison.ratio
            held[effect.condition] += ratio.low <= truth[effect.condition] <= ratio.high
            found[effect.condition] += effect.adjusted is not None and effect.adjusted < 0.05
    assert min(held.values()) >= 93
    assert min(found["better"], found["worse"]) >= 90
    assert found["equal"] <= 11  # 5 expected; 12 or more come in 1 of 200 cases


def test_names_that_mean_nothing_make_no_range() -> None:
    wide = 0
    for seed in range(400):
        rng = np.random.RandomState(seed)
        logs = rng.normal(0, 1, (12, 1)) - rng.exponential(0.5, (12, 5))
        wide += range_test(logs, ["r", seed])[2] < 0.05
    assert_nominal(wide, 400)


def test_the_range_test_draws_from_all_exchanges() -> None:
    """Against every exchange, one by one."""
    logs = np.array([[0.0, 0.3, 0.9], [0.1, 0.0, 0.4], [0.0, 0.6, 0.5], [0.2, 0.0, 0.7]])
    ratio, by_chance, p_value = range_test(logs, ["r"])
    ranges = np.array(
        [
            np.ptp(
                np.array([[row[i] for i in order] for row, order in zip(logs, orders, strict=True)]).mean(0)
            )
            for orders in product(permutations(range(3)), repeat=4)
        ]
    )
    observed = np.ptp(logs.mean(axis=0))
    exact = float(np.mean(ranges >= observed - 1e-12))
    assert ratio == pytest.approx(math.exp(observed))
    assert abs(p_value - exact) < 4 * math.sqrt(exact * (1 - exact) / 2_000)
    assert abs(math.log(by_chance) - float(np.median(ranges))) < 0.03


def test_the_range_test_does_not_depend_on_the_order_of_conditions_that_agree() -> None:
    same = np.repeat(np.linspace(-3, -1, 7)[:, None], 3, axis=1)
    assert range_test(same, ["r"]) == (1.0, 1.0, 1.0)


def test_only_trials_that_all_have_count() -> None:
    found = measured(
        {
            "benchmark": np.array([-1.0, -2.0, -3.0, -4.0]),
            "a": np.array([-1.0, -2.0, -3.0]),
            "b": np.array([-1.0, -1.0]),
        }
    )
    assert (found.trials, found.left_out, found.identical) == (2, 2, False)
    assert [e.condition for e in found.effects] == ["benchmark", "a", "b"]
    benchmark, same, better = found.effects
    assert benchmark.comparison is None
    assert benchmark.adjusted is None
    assert same.comparison is not None
    assert same.comparison.ratio == Interval(1.0, 1.0, 1.0)
    assert (same.comparison.wins, same.comparison.ties, same.comparison.losses) == (0, 2, 0)
    assert better.comparison is not None
    assert better.comparison.ratio.value == pytest.approx(math.exp(0.5))
    assert found.range_ratio == pytest.approx(math.exp(0.5))
    assert not found.can_tell


def test_repeats_are_averaged() -> None:
    found = measured(
        {"benchmark": np.array([[-1.0, -3.0], [-2.0, -2.0]]), "a": np.array([[-2.0, -2.0], [-1.0, -3.0]])}
    )
    assert found.identical
    assert [e.score.value for e in found.effects] == pytest.approx([math.exp(-2)] * 2)


def test_unsolved_are_counted_among_the_common_trials() -> None:
    def records(solved: list[bool]) -> list:
        return [
            record(trial, {"model": result(0.002 if not s else 0.5, s)})
            for trial, s in enumerate(solved, start=1)
        ]

    found = measure(
        {"benchmark": records([True, False, True]), "a": records([False, False, True, False])}, ["p"]
    )
    assert found is not None
    assert [effect.unsolved for effect in found.effects] == [1, 2]


def test_how_many_trials_can_tell() -> None:
    rng = np.random.RandomState(3)
    for trials, conditions, enough in (
        (5, 2, False),
        (6, 2, True),
        (6, 3, False),
        (8, 3, True),
        (30, 8, True),
    ):
        names = ["benchmark", *map(str, range(1, conditions))]
        found = measured({name: rng.normal(-2, 0.3, trials) for name in names})
        assert found.can_tell is enough


def test_without_the_benchmark_or_another_there_is_nothing_to_compare() -> None:
    some = records_of(np.zeros(2), "a", "s")
    assert measure({"a": some, "b": some}, ["p"]) is None
    assert measure({"benchmark": some}, ["p"]) is None
    assert measure({"benchmark": some, "a": []}, ["p"]) is None
    assert measure({}, ["p"]) is None
    assert measure({"benchmark": some[:1], "a": some[1:]}, ["p"]) is None
