"""Repeats, shares of unequal trials, censored trials: honest intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from beeline.statistics import Interval, geometric_interval, mean, overall_interval
from beeline.statistics.censored import Run, ratio_bounds, score_bounds
from beeline.statistics.clusters import (
    linearised_ratio,
    mean_over_clusters,
    rerun_interval,
    score_over_trials,
    trial_logs,
)
from beeline.statistics.shares import share_over_clusters, wilson
from tests.beeline.coverage import assert_covers, covered


def keyed(values: np.ndarray, domain: str = "a") -> dict[tuple[str, int, int], float]:
    """Scores from log scores of shape (trials, repeats)."""
    return {(domain, t, r): math.exp(x) for t, row in enumerate(values, start=1) for r, x in enumerate(row)}


def test_one_repeat_gives_the_interval_of_the_rules() -> None:
    scores = {("b", 2, 0): 0.2, ("b", 1, 0): 0.1, ("a", 1, 0): 0.5, ("a", 3, 0): 0.7}
    expected = overall_interval({"a": [0.5, 0.7], "b": [0.1, 0.2]}, ("s",))
    found = score_over_trials(scores, ("s",))
    assert found is not None
    assert expected is not None
    for ours, theirs in zip(
        (found.value, found.low, found.high), (expected.value, expected.low, expected.high), strict=True
    ):
        assert ours == pytest.approx(theirs, abs=1e-12)
    assert score_over_trials({}, ("s",)) is None


def test_repeats_are_not_trials() -> None:
    rng = np.random.RandomState(0)
    logs = rng.normal(-1, 0.8, (30, 1)) + rng.normal(0, 0.05, (30, 8))
    found = score_over_trials(keyed(logs), ("s",))
    naive = geometric_interval(np.exp(logs).ravel().tolist(), ("s",))
    assert found is not None
    assert naive is not None
    assert math.log(found.high / found.low) > 2 * math.log(naive.high / naive.low)
    assert trial_logs(keyed(logs))["a"][1] == pytest.approx(logs[0].mean())


def test_score_over_trials_is_covered() -> None:
    def one(rng: np.random.RandomState) -> Interval | None:
        logs = rng.normal(-1, 0.8, (60, 1)) + rng.normal(0, 0.6, (60, 2))
        return score_over_trials(keyed(logs), ("cover",))

    # The rules' percentile interval runs a little short: (n - 1) / n of the variance, no t.
    assert 0.92 <= covered(one, math.exp(-1), 500) <= 0.97


def test_running_the_same_trials_again_is_covered() -> None:
    trials = np.random.RandomState(1).normal(-2, 1.5, (12, 1))
    truth = math.exp(trials.mean())

    def one(rng: np.random.RandomState) -> Interval | None:
        return rerun_interval(keyed(trials + rng.normal(0, 0.3, (12, 3))))

    assert_covers(one, truth, 1_000)
    assert rerun_interval(keyed(trials)) is None
    single = rerun_interval(keyed(np.array([[0.0, -0.2, -0.4]])))
    low, high = stats.t.interval(0.95, 2, -0.2, stats.sem([0.0, -0.2, -0.4]))
    assert single is not None
    assert (single.low, single.high) == pytest.approx((math.exp(low), math.exp(high)))


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy(counts: tuple[int, int]) -> None:
    hits, items = counts
    found = wilson(hits, items)
    expected = stats.binomtest(hits, items).proportion_ci(0.95, "wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.low <= found.value <= found.high


def test_shares_need_items() -> None:
    for hits, items in ((0, 0), (3, 2), (-1, 4)):
        with pytest.raises(ValueError, match="no share"):
            wilson(hits, items)
    assert share_over_clusters([0, 0], [0, 0]) is None
    assert share_over_clusters([1, 0, 0, 1], [1, 1, 0, 1]) == wilson(2, 3)


def test_clusters_that_agree_within_count_once() -> None:
    # Each trial's ten decisions are alike, so there are only as many facts as trials.
    found = share_over_clusters([10, 0, 10, 0, 0, 10, 0, 0, 10, 0], [10] * 10)
    assert found is not None
    plain = wilson(4, 10)
    assert found.high - found.low >= 0.95 * (plain.high - plain.low)
    assert share_over_clusters([0] * 5, [40] * 5) == wilson(0, 5)
    assert share_over_clusters([7], [20]) == wilson(0.35, 1)


def test_effective_sample_size() -> None:
    hits, items = [3, 0, 5, 1, 2], [10, 8, 9, 12, 11]
    share = 11 / 50
    squares = sum((h - share * n) ** 2 for h, n in zip(hits, items, strict=True))
    variance = 5 / 4 * squares / 50**2
    size = share * (1 - share) / variance * (stats.t.ppf(0.975, 49) / stats.t.ppf(0.975, 4)) ** 2
    assert size < 50
    found, expected = share_over_clusters(hits, items), wilson(share * size, size)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
def test_share_of_changed_decisions_is_covered(share: float) -> None:
    def one(rng: np.random.RandomState) -> Interval | None:
        sizes = rng.randint(3, 40, 50)
        own = rng.beta(share * 6, (1 - share) * 6, 50)
        return share_over_clusters(rng.binomial(sizes, own).tolist(), sizes.tolist())

    assert_covers(one, share, 1_000)


def test_linearised_mean() -> None:
    values = [1.0, 4.0, 2.0, 7.0]
    single = mean_over_clusters(values)
    assert single.value == mean(values)
    assert single.error == pytest.approx(stats.sem(values))
    low, high = stats.t.interval(0.95, 3, mean(values), stats.sem(values))
    found = single.interval()
    assert (found.low, found.high) == pytest.approx((low, high))
    assert single.interval(low=3.0) == Interval(3.5, 3.0, found.high)
    doubled = mean_over_clusters(values * 2, list("abcdabcd"))
    assert doubled.error == pytest.approx(single.error)
    assert doubled.clusters == 4
    assert mean_over_clusters([0.5, 1.0], ["t", "t"]).interval(0, 1) == Interval(0.75, 0, 1)
    with pytest.raises(ValueError, match="not positive"):
        linearised_ratio([], [])
    with pytest.raises(ValueError, match="2 clusters for 3 items"):
        mean_over_clusters([1, 2, 3], ["a", "b"])


def test_linearised_mean_is_covered() -> None:
    def one(rng: np.random.RandomState) -> Interval:
        sizes = rng.randint(1, 20, 30)
        clusters = np.repeat(np.arange(30), sizes)
        values = rng.normal(2, 1, 30)[clusters] + rng.normal(0, 2, len(clusters))
        return mean_over_clusters(values, clusters.tolist()).interval()

    assert_covers(one, 2.0, 1_000)


def run(trial: int, expansions: int, solved: bool = True, reachable: int = 9_000, shortest: int = 9) -> Run:
    charged = expansions if solved else 2_500
    return Run(trial, (shortest + 1) / charged, solved, expansions, shortest, reachable)


def test_censored_runs_have_bounds() -> None:
    stopped = run(1, 2_500, solved=False)
    assert (stopped.limit, stopped.censored) == (2_500, True)
    assert (stopped.best, stopped.worst) == (10 / 2_501, 10 / 9_000)
    ended = run(2, 120, solved=False)
    assert (ended.censored, ended.best, ended.worst) == (False, 0.004, 0.004)
    solved = run(3, 20)
    assert (solved.censored, solved.best, solved.worst) == (False, 0.5, 0.5)
    found = score_bounds([solved, stopped, ended], ("c",))
    assert found is not None
    assert found.counted == geometric_interval([0.004, 0.004, 0.5], ("c",))
    assert (found.censored, found.exhausted) == (1, 1)
    assert found.low == found.worst.low <= found.worst.value < found.best.value < found.counted.value
    assert score_bounds([], ("c",)) is None


@given(st.data())
def test_whatever_a_finished_run_would_score_lies_between(data: st.DataObject) -> None:
    runs, finished = [], []
    for trial in range(1, data.draw(st.integers(2, 12)) + 1):
        reachable = data.draw(st.integers(2_501, 20_000))
        steps = data.draw(st.integers(10, reachable))
        runs.append(run(trial, min(steps, 2_500), steps <= 2_500, reachable))
        finished.append(10 / steps)
    found = score_bounds(runs, ("c",))
    truth = geometric_interval(finished, ("c",))
    assert found is not None
    assert truth is not None
    assert found.worst.value <= truth.value * (1 + 1e-12)
    assert truth.value <= found.best.value * (1 + 1e-12)
    assert found.low <= truth.low * (1 + 1e-12)
    assert truth.high <= found.high * (1 + 1e-12)


def test_ratio_bounds_do_not_order_what_neither_finished() -> None:
    both = ratio_bounds(
        [run(t, 2_500, solved=False) for t in (1, 2)], [run(t, 2_500, solved=False) for t in (2, 1)], ("r",)
    )
    assert both is not None
    assert (both.counted, both.censored) == (1.0, 2)
    assert both.low == pytest.approx(2_501 / 9_000)
    assert both.high == pytest.approx(9_000 / 2_501)
    mine = [run(t, 20 + t) for t in range(1, 9)]
    theirs = [run(t, 40 + 3 * t) for t in range(3, 12)]
    clear = ratio_bounds(mine, theirs, ("r",))
    assert clear is not None
    assert 1 < clear.low < clear.counted < clear.high
    assert ratio_bounds(mine, [run(99, 20)], ("r",)) is None
