"""Calibration and discrimination: against sklearn and scipy, planted values, and nothing planted."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from beeline.draws import Draws
from beeline.statistics import Interval
from beeline.statistics.calibration import calibration_error, calibration_test, reliability_curve
from beeline.statistics.discrimination import accuracy_over_chance, auc, rank_correlation
from beeline.statistics.proper import CLIP, bin_codes, brier, log_loss
from beeline.statistics.shares import wilson
from tests.beeline.coverage import assert_covers, assert_nominal

forecasts = st.lists(
    st.tuples(st.integers(0, 20).map(lambda k: k / 20) | st.floats(0, 1), st.integers(0, 1)),
    min_size=2,
    max_size=60,
)


def apart(pairs: list[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [p for p, _ in pairs], [y for _, y in pairs]


@settings(max_examples=80, deadline=None)
@given(forecasts)
def test_brier_and_its_parts(pairs: list[tuple[float, int]]) -> None:
    p, y = apart(pairs)
    found = brier(p, y)
    assert found.score.value == pytest.approx(metrics.brier_score_loss(y, p, pos_label=1))
    parts = found.reliability - found.resolution + found.uncertainty + found.within
    assert parts == pytest.approx(found.score.value)
    exact = brier([round(x, 1) for x in p], y, bins=1_000_000)
    assert exact.within == pytest.approx(0, abs=1e-12)
    assert (found.uncertainty == 0) == math.isnan(found.skill)


@settings(max_examples=80, deadline=None)
@given(forecasts)
def test_log_loss_agrees_with_sklearn(pairs: list[tuple[float, int]]) -> None:
    p, y = apart(pairs)
    found = log_loss(p, y)
    clipped = np.clip(p, CLIP, 1 - CLIP)
    assert found.loss.value == pytest.approx(metrics.log_loss(y, clipped, labels=[0, 1]), abs=1e-9)
    assert found.clipped == sum(not CLIP <= x <= 1 - CLIP for x in p)


def test_log_loss_is_finite_for_the_certain_and_wrong() -> None:
    assert log_loss([1.0, 0.5], [0, 1], clip=0.01).loss.value == pytest.approx(
        -(math.log(0.01) + math.log(0.5)) / 2
    )


@settings(max_examples=80, deadline=None)
@given(forecasts)
def test_auc_agrees_with_sklearn(pairs: list[tuple[float, int]]) -> None:
    p, y = apart(pairs)
    found = auc(p, y)
    if len(set(y)) == 1:
        assert found is None
        return
    assert found is not None
    assert found.value == pytest.approx(metrics.roc_auc_score(y, p))
    assert 0 <= found.low <= found.value <= found.high <= 1
    doubled = auc(p * 2, y * 2, list(range(len(p))) * 2)
    assert doubled is not None
    assert doubled.value == pytest.approx(found.value)


def test_auc_variance_is_delongs_without_clusters() -> None:
    rng = np.random.RandomState(4)
    y = rng.uniform(size=80) < 0.4
    x = rng.normal(y * 1.0, 1.0).round(1)
    kernel = (x[y][:, None] > x[~y][None, :]) + 0.5 * (x[y][:, None] == x[~y][None, :])
    variance = kernel.mean(axis=1).var(ddof=1) / y.sum() + kernel.mean(axis=0).var(ddof=1) / (~y).sum()
    found = auc(x, y)
    assert found is not None
    scale = kernel.mean() * (1 - kernel.mean())
    width = math.log(found.high / (1 - found.high)) - math.log(found.low / (1 - found.low))
    # The term for both kinds in one cluster is not exactly 0 where each is its own.
    assert width == pytest.approx(2 * 1.959964 * math.sqrt(variance) / scale, rel=0.01)


def test_auc_variance_with_clusters_is_near_the_jackknifes() -> None:
    rng = np.random.RandomState(9)
    trials = np.repeat(np.arange(40), 8)
    y = rng.uniform(size=320) < 0.5
    x = rng.normal(0, 2.0, 40)[trials] + rng.normal(size=320) + y
    found = auc(x, y, trials.tolist())
    assert found is not None
    left_out = [metrics.roc_auc_score(y[trials != t], x[trials != t]) for t in range(40)]
    jackknife = math.sqrt(39 / 40 * sum((v - np.mean(left_out)) ** 2 for v in left_out))
    width = math.log(found.high / (1 - found.high)) - math.log(found.low / (1 - found.low))
    scale = found.value * (1 - found.value)
    assert width == pytest.approx(2 * 1.959964 * jackknife / scale, rel=0.05)


def test_planted_auc_is_covered_with_clusters() -> None:
    def one(rng: np.random.RandomState) -> Interval | None:
        trials = np.repeat(np.arange(60), 6)
        y = rng.uniform(size=360) < np.repeat(rng.beta(1.5, 1.5, 60), 6)
        x = rng.normal(0, 0.6, 60)[trials] + rng.normal(0, 0.8, 360) + y
        return auc(x, y, trials.tolist())

    # Two normals one apart, of variance 0.6**2 + 0.8**2 = 1 each: Phi(1 / sqrt 2). Pairs within a
    # trial share its shift, but are one in sixty.
    assert_covers(one, float(stats.norm.cdf(1 / math.sqrt(2))), 500)


def test_bins() -> None:
    p = np.array([0.1] * 50 + [0.2] * 30 + [0.3] * 10 + [0.9] * 10)
    codes = bin_codes(p, 4)
    assert codes[0] == 0
    assert (np.diff(codes) >= 0).all()
    assert set(codes.tolist()) == set(range(int(codes.max()) + 1))
    for value in set(p.tolist()):
        assert len(set(codes[p == value].tolist())) == 1
    even = bin_codes(np.random.RandomState(0).uniform(size=1_000), 10)
    assert np.bincount(even).tolist() == [100] * 10
    assert bin_codes(np.array([0.0, 0.05, 0.1, 1.0, 0.95]), 10, equal_mass=False).tolist() == [0, 0, 1, 2, 2]


def test_plain_error_is_the_one_everybody_prints() -> None:
    rng = np.random.RandomState(1)
    p = rng.uniform(size=300).round(2)
    y = (rng.uniform(size=300) < p**2).astype(int)
    expected = 0.0
    for k in range(10):
        mine = np.minimum((p * 10).astype(int), 9) == k
        if mine.any():
            expected += mine.mean() * abs(p[mine].mean() - y[mine].mean())
    found = calibration_error(p, y, equal_mass=False)
    assert found.plain == pytest.approx(expected)
    assert found.error.low <= found.error.value < found.plain < found.error.high
    assert found.overconfidence.value == pytest.approx((p - y).mean())
    curve = reliability_curve(p, y, equal_mass=False)
    assert sum(b.items for b in curve) == 300
    assert sum(b.items * abs(b.probability - b.share.value) for b in curve) / 300 == pytest.approx(expected)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


SOURCES: dict[
    str, tuple[Callable[[np.random.RandomState, int], np.ndarray], Callable[[np.ndarray], np.ndarray]]
]
SOURCES = {
    "perfect": (lambda rng, n: rng.beta(2, 2, n), lambda p: p),
    "a tenth too sure": (lambda rng, n: rng.uniform(0.2, 1, n), lambda p: p - 0.1),
    "too extreme": (lambda rng, n: rng.beta(2, 2, n), lambda p: sigmoid(0.5 * np.log(p / (1 - p)))),
    "half of two decimals": (lambda rng, n: rng.beta(2, 1, n).round(2), lambda p: 0.5 * p),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("items", [200, 1_000])
def test_planted_miscalibration_is_covered(source: str, items: int) -> None:
    draw, truth = SOURCES[source]
    many = draw(np.random.RandomState(99), 1_000_000)
    planted = float(np.abs(truth(many) - many).mean())

    def one(rng: np.random.RandomState) -> Interval:
        p = draw(rng, items)
        return calibration_error(p, rng.uniform(size=items) < truth(p)).error

    assert_covers(one, planted, 500)


def test_planted_miscalibration_is_covered_with_clusters() -> None:
    def one(rng: np.random.RandomState) -> Interval:
        trials = np.repeat(np.arange(80), 6)
        p = rng.uniform(0.4, 0.9, 480)
        # Within a trial outcomes go together: one uniform serves most of its questions.
        shared = np.where(rng.uniform(size=480) < 0.5, rng.uniform(size=80)[trials], rng.uniform(size=480))
        return calibration_error(p, shared < p - 0.15, trials.tolist()).error

    assert_covers(one, 0.15, 500)


def test_debiasing_takes_from_what_noise_adds() -> None:
    found = []
    for seed in range(200):
        rng = np.random.RandomState(seed)
        p = rng.beta(2, 2, 300)
        found.append(calibration_error(p, rng.uniform(size=300) < p))
    plain, debiased = (np.mean([x.plain for x in found]), np.mean([x.error.value for x in found]))
    assert 0 < debiased < 0.65 * plain
    assert sum(x.error.low > 0 for x in found) <= 14


def test_false_positives_of_the_calibration_test() -> None:
    rejected = 0
    for seed in range(300):
        rng = np.random.RandomState(seed)
        p = rng.beta(2, 2, 60)
        rejected += calibration_test(p, rng.uniform(size=60) < p, ("null", seed)) <= 0.05
    assert_nominal(rejected, 300)
    p = np.linspace(0.3, 1, 200)
    assert calibration_test(p, np.random.RandomState(0).uniform(size=200) < p - 0.2, ("x",)) == 0.001


def test_calibration_test_draws_as_documented() -> None:
    p, y = [0.2, 0.4, 0.9, 0.7], [0, 1, 1, 0]
    draws, extreme = Draws("c", 1), 0
    observed = sum(abs(a - b) for a, b in zip(p, y, strict=True))
    for _ in range(999):
        extreme += sum(abs((draws.random() < a) - a) for a in p) >= observed - 1e-9
    assert calibration_test(p, y, ("c", 1), bins=100) == (extreme + 1) / 1_000


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([], [], "0 probabilities and 0 outcomes"),
        ([0.5], [1, 0], "1 probabilities and 2 outcomes"),
        ([1.1], [1], "between 0 and 1"),
        ([math.nan], [1], "between 0 and 1"),
        ([0.5], [0.5], "outcomes are 0 or 1"),
    ],
)
def test_what_is_no_forecast(p: list[float], y: list[float], message: str) -> None:
    for function in (brier, log_loss, calibration_error, reliability_curve):
        with pytest.raises(ValueError, match=message):
            function(p, y)


def test_one_question_says_nothing() -> None:
    found = calibration_error([0.7], [1])
    assert (found.error.low, found.error.high) == (0.0, 1.0)
    assert reliability_curve([0.7], [1])[0].share.low < 0.3
    assert auc([0.1, 0.9], [0, 1]) == Interval(1.0, pytest.approx(0.2065, abs=1e-3), 1.0)
    assert auc([0.9, 0.1], [0, 1]) == Interval(0.0, 0.0, pytest.approx(0.7935, abs=1e-3))


def test_accuracy_over_chance() -> None:
    perfect = accuracy_over_chance([1, 1, 1], [0.5, 0.2, 0.1])
    assert (perfect.value, perfect.high) == (1.0, 1.0)
    assert perfect.low < 0.3  # three questions do not prove it
    assert accuracy_over_chance([1, 0, 0, 0], [0.25] * 4).value == 0.0
    # Cohen's kappa, were the chance the same for all: (0.6 - 0.25) / 0.75.
    assert accuracy_over_chance([1, 1, 1, 0, 0], [0.25] * 5).value == pytest.approx(0.35 / 0.75)
    # With chance 0 it is the share.
    plain, share = accuracy_over_chance([1, 0, 0, 0, 1], [0] * 5), wilson(2, 5)
    assert (plain.low, plain.value, plain.high) == pytest.approx((share.low, 0.4, share.high), abs=0.06)
    with pytest.raises(ValueError, match="not positive"):
        accuracy_over_chance([1], [1.0])
    with pytest.raises(ValueError, match="one chance"):
        accuracy_over_chance([1, 0], [0.5])


def test_planted_knowledge_is_covered() -> None:
    def one(rng: np.random.RandomState) -> Interval:
        chances = 1 / rng.randint(2, 30, 300)
        knows = rng.uniform(size=300) < np.repeat(rng.beta(4, 6, 50), 6)
        hits = knows | (rng.uniform(size=300) < chances)
        return accuracy_over_chance(hits, chances, np.repeat(np.arange(50), 6).tolist())

    assert_covers(one, 0.4, 1_000)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=30))
def test_rank_correlation_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    found = rank_correlation(x, y, ("r",))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found is None
        return
    assert found is not None
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)


def test_rank_correlation_resamples_clusters() -> None:
    rng = np.random.RandomState(7)
    x, trials = rng.normal(size=40), np.repeat(np.arange(10), 4)
    y = x + rng.normal(size=40)
    found = rank_correlation(x, y, ("r",), trials.tolist())
    draws, values = Draws("r"), []
    for _ in range(2_000):
        picked = [np.flatnonzero(trials == draws.below(10)) for _ in range(10)]
        index = np.concatenate(picked)
        values.append(np.corrcoef(stats.rankdata(x[index]), stats.rankdata(y[index]))[0, 1])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((sorted(values)[49], sorted(values)[1_949]))


def test_planted_rank_correlation_is_covered() -> None:
    # Spearman's correlation of a bivariate normal: 6 / pi * asin(r / 2).
    def one(rng: np.random.RandomState) -> Interval | None:
        x = rng.normal(size=100)
        return rank_correlation(x, 0.6 * x + 0.8 * rng.normal(size=100), ("r",))

    assert_covers(one, 6 / math.pi * math.asin(0.3), 100)


def test_no_hit_at_all_is_no_licence_for_the_upper_bound() -> None:
    # Rounding on the way from knowledge to a rate and back must not leave a rate of 1e-18.
    sizes = [3 + (7 * i + 8) % 68 for i in range(400)]
    found = accuracy_over_chance([0] * 400, [1 / size for size in sizes], [i // 20 for i in range(400)])
    assert found.high < 0.2
    assert found.low == pytest.approx(found.value)
