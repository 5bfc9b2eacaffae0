"""Means and intervals of the benchmark: geometric means, seeded percentile bootstrap.

The bootstrap is the percentile method of Efron (1979) with 2,000 resamples whose draws are
seeded by a path, so that an interval is a function of the scores alone. Numbers are made with
``math.fsum``, whose result does not depend on the Python version.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from beeline.draws import seed_of

__all__ = [
    "RESAMPLES",
    "Interval",
    "bootstrap_means",
    "geometric_interval",
    "geometric_mean",
    "mean",
    "mean_interval",
    "overall_interval",
]

RESAMPLES = 2_000
_LOW, _HIGH = 49, 1_949


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds of its 95% interval, on the same scale."""

    value: float
    low: float
    high: float


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean by exact summation; raises ZeroDivisionError when empty."""
    return math.fsum(values) / len(values)


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean log; every value must be above 0."""
    return math.exp(mean([math.log(value) for value in values]))


def uniform_draws(path: Sequence[str | int], count: int) -> np.ndarray:
    """The first ``count`` values of ``Draws(*path).random()`` as a float64 array.

    NumPy's legacy generator, seeded with the seed's 32-bit words, least significant first and
    without zero words at the top, is the same Mersenne Twister as CPython's.
    """
    seed = seed_of(*path)
    words = []
    while seed:
        words.append(seed & 0xFFFFFFFF)
        seed >>= 32
    return np.random.RandomState(words or [0]).random_sample(count)


def bootstrap_means(values: Sequence[float], path: Sequence[str | int]) -> list[float]:
    """Means of RESAMPLES resamples of ``values``, in the order drawn.

    Each resample draws ``len(values)`` items with ``choice``, one after the other from one
    source of draws named by ``path``, and is averaged by exact summation.
    """
    n = len(values)
    picks = (uniform_draws(path, RESAMPLES * n) * n).astype(np.int64).reshape(RESAMPLES, n)
    drawn = np.asarray(values, dtype=np.float64)[picks].tolist()
    return [math.fsum(row) / n for row in drawn]


def mean_interval(values: Sequence[float], path: Sequence[str | int]) -> Interval | None:
    """Arithmetic mean with its 95% bootstrap interval; None when there are no values."""
    if not values:
        return None
    means = sorted(bootstrap_means(values, path))
    return Interval(mean(values), means[_LOW], means[_HIGH])


def geometric_interval(values: Sequence[float], path: Sequence[str | int]) -> Interval | None:
    """Geometric mean with its 95% bootstrap interval over the logs; None without values.

    ``values`` must be above 0 and in trial order (the order decides what a draw picks).
    """
    if not values:
        return None
    interval = mean_interval([math.log(value) for value in values], path)
    assert interval is not None
    return Interval(math.exp(interval.value), math.exp(interval.low), math.exp(interval.high))


def overall_interval(scores: Mapping[str, Sequence[float]], path: Sequence[str | int]) -> Interval | None:
    """Geometric mean of the domains' geometric means, trials resampled within each domain.

    One source of draws serves all: each resample goes through the domains in the order given
    and draws as many trials as a domain has. None when a domain has no scores or there is no
    domain.
    """
    if not scores or not all(scores.values()):
        return None
    exact = [[math.log(value) for value in values] for values in scores.values()]
    sizes = [len(values) for values in exact]
    picks = uniform_draws(path, RESAMPLES * sum(sizes)).reshape(RESAMPLES, sum(sizes))
    per_domain = []
    at = 0
    for values, size in zip(exact, sizes, strict=True):
        index = (picks[:, at : at + size] * size).astype(np.int64)
        drawn = np.asarray(values, dtype=np.float64)[index].tolist()
        per_domain.append([math.fsum(row) / size for row in drawn])
        at += size
    means = sorted(math.fsum(column) / len(exact) for column in zip(*per_domain, strict=True))
    value = mean([mean(values) for values in exact])
    return Interval(math.exp(value), math.exp(means[_LOW]), math.exp(means[_HIGH]))
