"""Intervals where results come in clusters: repeats and decisions of one trial belong together.

The unit that is drawn independently is the trial. Two repeats, two orders or two decisions of one
trial share its problem, so counting each as one more sample makes intervals too short. Two ways
keep that honest:

- *resampling whole trials* (the cluster bootstrap: Davison and Hinkley, "Bootstrap Methods and
  their Application", 1997, section 3.8, whose first strategy keeps a cluster as it is; drawing
  within it once more would count its noise twice), for scores;
- *the linearised variance* of a ratio of sums with clusters as primary units (Cochran, "Sampling
  Techniques", 1977, section 6), with Student's t on clusters minus one degrees of freedom, for
  means and shares over decisions.

Scores are keyed by (domain, trial, repeat); keys are sorted, so the order of a mapping is no matter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beeline.statistics import quantiles
from beeline.statistics.basics import Interval, mean
from beeline.statistics.bootstrap import overall_interval

__all__ = [
    "Key",
    "Linearised",
    "codes_of",
    "linearised_ratio",
    "mean_over_clusters",
    "rerun_interval",
    "score_over_trials",
    "trial_logs",
]

Key = tuple[str, int, int]
"""(domain, trial, repeat)."""


def trial_logs(scores: Mapping[Key, float]) -> dict[str, dict[int, float]]:
    """Mean log score over the repeats of each trial, by domain and trial, both sorted."""
    found: dict[str, dict[int, list[float]]] = {}
    for (domain, trial, _), score in sorted(scores.items()):
        found.setdefault(domain, {}).setdefault(trial, []).append(math.log(score))
    return {domain: {trial: mean(logs) for trial, logs in trials.items()} for domain, trials in found.items()}


def score_over_trials(scores: Mapping[Key, float], path: Sequence[str | int]) -> Interval | None:
    """Score over domains, trials and repeats: geometric mean of the domains' geometric means, a
    domain's being over its trials and a trial's over its repeats; None without scores.

    The interval resamples whole trials within each domain, domains in sorted order. It says what
    other trials of the same kind would give. With one repeat a trial it is that of the rules.
    """
    by_domain = {
        domain: [math.exp(value) for value in trials.values()]
        for domain, trials in trial_logs(scores).items()
    }
    return overall_interval(by_domain, path)


def rerun_interval(scores: Mapping[Key, float]) -> Interval | None:
    """The same score, with the interval of what running *the same trials* again would give.

    Pooled variance s2 of the log scores within a trial, over sum(k - 1) degrees of freedom for k
    repeats; variance of the mean = sum over domains and trials of (s2 / k) / (trials of the
    domain * domains)**2. Assumes one spread for all trials, which the pooling needs. None when
    there are no scores or no trial was repeated.
    """
    groups: dict[tuple[str, int], list[float]] = {}
    for (domain, trial, _), score in sorted(scores.items()):
        groups.setdefault((domain, trial), []).append(math.log(score))
    freedom = sum(len(logs) - 1 for logs in groups.values())
    if not freedom:
        return None
    by_domain: dict[str, list[list[float]]] = {}
    for (domain, _), logs in groups.items():
        by_domain.setdefault(domain, []).append(logs)
    within = math.fsum((x - mean(logs)) ** 2 for logs in groups.values() for x in logs) / freedom
    value = mean([mean([mean(logs) for logs in trials]) for trials in by_domain.values()])
    variance = math.fsum(
        within / len(logs) / (len(trials) * len(by_domain)) ** 2
        for trials in by_domain.values()
        for logs in trials
    )
    margin = quantiles.t(0.5 + quantiles.LEVEL / 2, freedom) * math.sqrt(variance)
    return Interval(math.exp(value), math.exp(value - margin), math.exp(value + margin))


@dataclass(frozen=True, slots=True)
class Linearised:
    """A ratio of sums over clusters and its standard error."""

    value: float
    error: float
    """NaN with a single cluster, whose spread nobody can know."""
    clusters: int

    def interval(self, low: float = -math.inf, high: float = math.inf) -> Interval:
        """value ± t * error, cut off at the bounds that the quantity cannot leave."""
        if self.clusters < 2:
            return Interval(self.value, low, high)
        margin = quantiles.t(0.5 + quantiles.LEVEL / 2, self.clusters - 1) * self.error
        return Interval(self.value, max(low, self.value - margin), min(high, self.value + margin))


def linearised_ratio(above: ArrayLike, below: ArrayLike) -> Linearised:
    """sum(above) / sum(below), one item a cluster.

    Variance C / (C - 1) * sum of (above - value * below)**2 / sum(below)**2 for C clusters.
    Raises ValueError when the sum below is not positive.
    """
    over, under = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    total = math.fsum(under.tolist())
    if not total > 0:
        raise ValueError("a share needs something to be a share of: the sum below the line is not positive")
    value = math.fsum(over.tolist()) / total
    count = len(over)
    if count < 2:
        return Linearised(value, math.nan, count)
    squares = math.fsum(((over - value * under) ** 2).tolist())
    return Linearised(value, math.sqrt(count / (count - 1) * squares) / total, count)


def codes_of(clusters: Sequence[Hashable] | None, count: int) -> NDArray[np.intp]:
    """A number a cluster for each item, by first appearance; without clusters each item is its own.

    Raises ValueError when there are not ``count`` of them.
    """
    if clusters is None:
        return np.arange(count, dtype=np.intp)
    if len(clusters) != count:
        raise ValueError(f"{len(clusters)} clusters for {count} items: give one a item, in the same order")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.intp)


def mean_over_clusters(values: ArrayLike, clusters: Sequence[Hashable] | None = None) -> Linearised:
    """Mean over items, each item counting alike, with clusters as the independent units."""
    items = np.asarray(values, dtype=np.float64)
    codes = codes_of(clusters, len(items))
    return linearised_ratio(np.bincount(codes, weights=items), np.bincount(codes))
