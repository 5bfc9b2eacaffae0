"""Positions of choices: exact chance for any mix of sizes, planted preferences, false positives."""

from __future__ import annotations

import numpy as np
import pytest

from beeline.draws import Draws
from beeline.statistics import Interval, position
from beeline.statistics.position import PATTERNS, positions
from tests.beeline.coverage import assert_covers, assert_nominal


def sizes(rng: np.random.RandomState, count: int) -> np.ndarray:
    """Frontiers as searches have them: from two options to 255."""
    return np.minimum(255, 2 + rng.geometric(0.04, count))


def uniform(rng: np.random.RandomState, size: np.ndarray) -> np.ndarray:
    return (rng.uniform(size=len(size)) * size).astype(int)


def test_each_place_counts_where_it_lies() -> None:
    found = positions([0, 2, 0], [2, 3, 1], ("p",), stretches=4)
    assert found is not None
    assert found.questions == 2  # a question of one option says nothing
    # Place 1 of 2 covers 0 to 1/2; place 3 of 3 covers 2/3 to 1: a third of the third quarter.
    assert found.histogram == pytest.approx((0.25, 0.25, 0.125, 0.375))
    assert [p.questions for p in found.places] == [2, 2, 1]
    assert [p.share.value for p in found.places] == [0.5, 0.0, 1.0]
    assert [p.expected for p in found.places] == pytest.approx([5 / 12, 5 / 12, 1 / 3])
    assert found.relative_place.value == pytest.approx((0.25 + 5 / 6) / 2)
    # (1/2 - 5/12) / (7/12) for both ends.
    assert (found.first.value, found.last.value) == pytest.approx((1 / 7, 1 / 7))


def test_every_place_once_is_even() -> None:
    for m in (2, 3, 7, 10, 255):
        found = positions(list(range(m)), [m] * m, ("p",))
        assert found is not None
        assert found.histogram == pytest.approx([0.1] * 10)
        assert found.relative_place.value == pytest.approx(0.5)
        assert (found.first.value, found.p_value) == (pytest.approx(0), 1.0)


def test_the_test_draws_as_documented() -> None:
    place, size = [0, 1, 0, 0, 2], [2, 4, 4, 3, 9]

    def unevenness(chosen: list[int]) -> float:
        total = np.zeros(10)
        for k, m in zip(chosen, size, strict=True):
            for b in range(10):
                total[b] += max(0.0, m * (min((k + 1) / m, (b + 1) / 10) - max(k / m, b / 10)))
        return float(((total - 0.5) ** 2).sum())

    draws, extreme = Draws("p", 3), 0
    for _ in range(PATTERNS):
        extreme += unevenness([draws.below(m) for m in size]) >= unevenness(place) - 1e-9
    found = positions(place, size, ("p", 3))
    assert found is not None
    assert found.p_value == (extreme + 1) / (PATTERNS + 1)


def test_many_questions_are_counted_alike() -> None:
    """More questions than kinds of place take another way to the same sums."""
    rng = np.random.RandomState(0)
    size = rng.randint(2, 5, 200)
    place = uniform(rng, size)
    many = positions(place.tolist(), size.tolist(), ("q",))
    assert many is not None
    draws, extreme, table = Draws("q"), 0, {}
    for m in (2, 3, 4):
        for k in range(m):
            one = positions([k], [m], ("x",))
            assert one is not None
            table[m, k] = np.array(one.histogram)
    observed = sum(table[m, k] for m, k in zip(size.tolist(), place.tolist(), strict=True))
    least = ((observed - 20) ** 2).sum() - 1e-9
    for _ in range(PATTERNS):
        drawn = sum(table[m, draws.below(m)] for m in size.tolist())
        extreme += ((drawn - 20) ** 2).sum() >= least
    assert many.p_value == (extreme + 1) / (PATTERNS + 1)


def test_false_positives() -> None:
    rejected = outside = 0
    for seed in range(300):
        rng = np.random.RandomState(seed)
        size = sizes(rng, 80)
        found = positions(uniform(rng, size).tolist(), size.tolist(), ("null", seed))
        assert found is not None
        rejected += found.p_value <= 0.05
        outside += not found.relative_place.low <= 0.5 <= found.relative_place.high
    assert_nominal(rejected, 300)
    assert_nominal(outside, 300)


@pytest.mark.parametrize("preference", [0.0, 0.15, 0.6])
def test_planted_liking_of_the_first_place_is_covered(
    preference: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position, "PATTERNS", 99)  # quick; what is tested here is the interval
    noticed: list[bool] = []

    def one(rng: np.random.RandomState) -> Interval:
        trials = np.repeat(np.arange(40), 10)
        size = sizes(rng, 400)
        own = np.zeros(40) if not preference else rng.beta(preference * 8, (1 - preference) * 8, 40)
        chosen = np.where(rng.uniform(size=400) < own[trials], 0, uniform(rng, size))
        found = positions(chosen.tolist(), size.tolist(), ("p",), trials.tolist(), single=0)
        assert found is not None
        noticed.append(found.p_value <= 0.05)
        return found.first

    assert_covers(one, preference, 500)
    share = sum(noticed) / len(noticed)
    assert share <= 0.08 if not preference else share >= 0.9


def test_planted_slope_is_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three choices fall in the first half of the way: mean place 1/4 or 3/4."""
    monkeypatch.setattr(position, "PATTERNS", 99)
    noticed = []

    def one(rng: np.random.RandomState) -> Interval:
        size = 2 * sizes(rng, 300)
        early = rng.uniform(size=300) < 2 / 3
        chosen = uniform(rng, size // 2) + np.where(early, 0, size // 2)
        found = positions(chosen.tolist(), size.tolist(), ("p",), single=0)
        assert found is not None
        noticed.append(found.p_value <= 0.05)
        return found.relative_place

    assert_covers(one, (2 / 3) * 0.25 + (1 / 3) * 0.75, 400)
    assert sum(noticed) >= 360


def test_nothing_to_judge() -> None:
    assert positions([], [], ("p",)) is None
    assert positions([0, 0], [1, 1], ("p",)) is None
    for place, size in (([2], [2]), ([-1], [2]), ([0, 1], [2])):
        with pytest.raises(ValueError, match="needs a place"):
            positions(place, size, ("p",))
