"""Variance components: textbook identities, planted values, nothing where nothing is planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from beeline.statistics import Interval
from beeline.statistics.variance import Components, _difference, _Square, by_trials, variance_components
from tests.beeline.coverage import assert_covers, covered


def planted(
    rng: np.random.RandomState, trials: int, orders: int, repeats: int, spreads: tuple[float, float, float]
) -> np.ndarray:
    a, b, c = spreads
    return (
        rng.normal(0, a, (trials, 1, 1))
        + rng.normal(0, b, (trials, orders, 1))
        + rng.normal(0, c, (trials, orders, repeats))
    )


def plain(values: np.ndarray) -> tuple[float, float, float]:
    """Estimates written out as sums over cells, the way a textbook has them."""
    trials, orders, repeats = values.shape
    cells = {(t, o): sum(values[t, o]) / repeats for t in range(trials) for o in range(orders)}
    rows = {t: sum(cells[t, o] for o in range(orders)) / orders for t in range(trials)}
    grand = sum(rows.values()) / trials
    ms_trial = sum(orders * repeats * (rows[t] - grand) ** 2 for t in rows) / (trials - 1)
    ms_order = sum(repeats * (cells[t, o] - rows[t]) ** 2 for t, o in cells) / (trials * (orders - 1))
    ms_repeat = sum((x - cells[t, o]) ** 2 for t, o in cells for x in values[t, o]) / (
        trials * orders * (repeats - 1)
    )
    return (ms_trial - ms_order) / (orders * repeats), (ms_order - ms_repeat) / repeats, ms_repeat


def test_estimates_are_those_of_the_textbook() -> None:
    values = planted(np.random.RandomState(2), 9, 3, 4, (1.0, 0.7, 0.4))
    found = variance_components(values)
    assert found.order is not None
    assert found.repeat is not None
    assert (found.trial.value, found.order.value, found.repeat.value) == pytest.approx(plain(values))
    assert sum(found.shares().values()) == pytest.approx(1.0)
    again = by_trials(values, ("v",))
    assert (again.trial.value, again.order and again.order.value) == (found.trial.value, found.order.value)
    # Log scores may be shifted: a scale of all scores is no spread.
    moved = variance_components(values + 5.0)
    assert moved.trial.low == pytest.approx(found.trial.low)


@pytest.mark.parametrize("part", ["trial", "order", "repeat"])
@pytest.mark.parametrize(("size", "spreads"), [((50, 3, 3), (0.8, 0.3, 0.2)), ((20, 4, 2), (0.3, 0.5, 0.6))])
def test_planted_components_are_covered(
    part: str, size: tuple[int, int, int], spreads: tuple[float, float, float]
) -> None:
    truth = dict(zip(("trial", "order", "repeat"), spreads, strict=True))[part] ** 2

    def one(rng: np.random.RandomState) -> Interval | None:
        interval: Interval | None = getattr(variance_components(planted(rng, *size, spreads)), part)
        return interval

    assert_covers(one, truth, 1_000)


@pytest.mark.parametrize(("above", "below"), [(19, 60), (49, 100), (3, 5)])
def test_bounds_reach_zero_where_the_f_test_does(above: int, below: int) -> None:
    """What fixes the mixed terms of the method: a bound is 0 exactly where the ratio of mean squares
    is the quantile of F."""
    for share in (0.975, 0.025):
        ratio = stats.f.ppf(share, above, below)
        just_above = _difference(_Square(ratio * 1.001, above), _Square(1.0, below), 1)
        just_below = _difference(_Square(ratio * 0.999, above), _Square(1.0, below), 1)
        bounds = [(x.low if share > 0.5 else x.high) for x in (just_below, just_above)]
        assert bounds[0] == 0.0
        assert 0.0 < bounds[1] < 0.01
    # Without the lower mean square it is the chi-square interval of a variance.
    alone = _difference(_Square(2.0, above), _Square(1e-12, below), 1)
    exact = [2.0 * above / stats.chi2.ppf(q, above) for q in (0.975, 0.025)]
    assert [alone.low, alone.high] == pytest.approx(exact, rel=1e-6)


def test_one_order_or_one_repeat() -> None:
    def only_repeats(rng: np.random.RandomState) -> Interval | None:
        found = variance_components(planted(rng, 30, 1, 4, (0.5, 0.0, 0.3)))
        assert found.order is None
        return found.trial

    def only_orders(rng: np.random.RandomState) -> Interval | None:
        found = variance_components(planted(rng, 30, 4, 1, (0.5, 0.3, 0.4)))
        assert found.repeat is None
        return found.order

    assert_covers(only_repeats, 0.25, 1_000)
    assert_covers(only_orders, 0.3**2 + 0.4**2, 1_000)


def test_nothing_is_found_where_nothing_is_planted() -> None:
    found = [
        variance_components(planted(np.random.RandomState(seed), 30, 3, 3, (0.5, 0.0, 0.4)))
        for seed in range(1_000)
    ]
    claimed = sum(item.order is not None and item.order.low > 0 for item in found)
    assert 0.01 <= claimed / 1_000 <= 0.045  # one side of a 95% interval: 0.025
    noiseless = variance_components(planted(np.random.RandomState(0), 10, 3, 3, (0.5, 0.2, 0.0)))
    assert noiseless.repeat == Interval(pytest.approx(0), pytest.approx(0), pytest.approx(0))
    flat = variance_components(np.zeros((4, 2, 2)))
    assert flat.shares() == {"trial": 0.0, "order": 0.0, "repeat": 0.0}
    assert flat.trial == Interval(0.0, 0.0, 0.0)


@pytest.mark.parametrize("part", ["trial", "order", "repeat"])
def test_resampled_bounds_hold_for_skewed_effects(part: str) -> None:
    def values(rng: np.random.RandomState) -> np.ndarray:
        return (
            rng.exponential(0.6, (60, 1, 1))
            + rng.exponential(0.3, (60, 3, 1))
            + rng.uniform(-0.4, 0.4, (60, 3, 2))
        )

    truth = {"trial": 0.36, "order": 0.09, "repeat": 0.64 / 12}[part]

    def one(rng: np.random.RandomState) -> Interval | None:
        interval: Interval | None = getattr(by_trials(values(rng), ("v",)), part)
        return interval

    assert covered(one, truth, 300) >= 0.85  # short, as documented; the normal one is shorter still


@pytest.mark.parametrize("shape", [(1, 2, 2), (5, 1, 1), (4, 3)])
def test_what_cannot_be_split(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="cannot be split"):
        variance_components(np.zeros(shape))
    with pytest.raises(ValueError, match="every trial needs"):
        variance_components(np.full((3, 2, 2), np.nan))


def test_components_say_what_they_are() -> None:
    found = variance_components(np.arange(8.0).reshape(2, 2, 2))
    assert isinstance(found, Components)
    assert (found.trials, found.orders, found.repeats) == (2, 2, 2)
