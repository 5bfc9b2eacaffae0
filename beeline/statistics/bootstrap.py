"""The benchmark's intervals: geometric means with a seeded percentile bootstrap.

The bootstrap is the percentile method of Efron ("Bootstrap methods: another look at the
jackknife", 1979) with 2,000 resamples whose draws are seeded by a path, so that an interval is a
function of the scores alone. Sums are correctly rounded (``math.fsum``, or :mod:`.exact` in bulk
with the same bits), so the result does not depend on the Python version. The bounds are the means
ranked 50th and 1,950th from below.

Assumes trials that are independent of each other, which they are: trial n comes from its own draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from beeline.draws import seed_of
from beeline.statistics.basics import Interval, mean
from beeline.statistics.exact import split

__all__ = [
    "RESAMPLES",
    "bootstrap_means",
    "generator",
    "geometric_interval",
    "mean_interval",
    "overall_interval",
    "resampled_means",
    "uniform_draws",
]

RESAMPLES = 2_000
_LOW, _HIGH = 49, 1_949
_BLOCK = 1 << 14
"""Draws handled at once: what fits the cache of a core; 200,000 at once take twice as long."""


def generator(seed: int) -> np.random.RandomState:
    """The Mersenne Twister of ``random.Random(seed)``; its ``random_sample`` is ``random()``.

    NumPy's legacy generator, seeded with the seed's 32-bit words, least significant first and
    without zero words at the top, is the same as CPython's.
    """
    words = []
    while seed:
        words.append(seed & 0xFFFFFFFF)
        seed >>= 32
    return np.random.RandomState(words or [0])


def uniform_draws(path: Sequence[str | int], count: int) -> NDArray[np.float64]:
    """The first ``count`` values of ``Draws(*path).random()`` as a float64 array."""
    return generator(seed_of(*path)).random_sample(count)


def bootstrap_means(values: Sequence[float], path: Sequence[str | int]) -> list[float]:
    """Means of RESAMPLES resamples of ``values``, in the order drawn.

    Each resample draws ``len(values)`` items with ``choice``, one after the other from one
    source of draws named by ``path``, and is averaged by exact summation.
    """
    found: list[float] = _resampled_means((tuple(values),), seed_of(*path))[0].tolist()
    return found


def mean_interval(values: Sequence[float], path: Sequence[str | int]) -> Interval | None:
    """Arithmetic mean with its 95% bootstrap interval; None when there are no values."""
    if not values:
        return None
    low, high = _bounds((tuple(values),), seed_of(*path))
    return Interval(mean(values), low, high)


def geometric_interval(values: Sequence[float], path: Sequence[str | int]) -> Interval | None:
    """Geometric mean with its 95% bootstrap interval over the logs; None without values.

    ``values`` must be above 0 and in trial order (the order decides what a draw picks).
    """
    interval = mean_interval([math.log(value) for value in values], path)
    if interval is None:
        return None
    return Interval(math.exp(interval.value), math.exp(interval.low), math.exp(interval.high))


def overall_interval(scores: Mapping[str, Sequence[float]], path: Sequence[str | int]) -> Interval | None:
    """Geometric mean of the domains' geometric means, trials resampled within each domain.

    One source of draws serves all: each resample goes through the domains in the order given
    and draws as many trials as a domain has. None when a domain has no scores or there is no
    domain.
    """
    if not scores or not all(scores.values()):
        return None
    logs = tuple(tuple(math.log(value) for value in values) for values in scores.values())
    low, high = _bounds(logs, seed_of(*path))
    value = mean([mean(values) for values in logs])
    return Interval(math.exp(value), math.exp(low), math.exp(high))


def resampled_means(groups: Sequence[Sequence[float]], path: Sequence[str | int]) -> NDArray[np.float64]:
    """RESAMPLES means of the groups' means, in the order drawn; groups are resampled apart."""
    return _means_of_means(tuple(tuple(group) for group in groups), seed_of(*path))


@lru_cache(maxsize=4_096)
def _bounds(groups: tuple[tuple[float, ...], ...], seed: int) -> tuple[float, float]:
    """The bounds of the mean of the groups' means.

    Remembered, because a report over many models meets the same offline arms again with each.
    """
    means = np.partition(_means_of_means(groups, seed), (_LOW, _HIGH))
    return float(means[_LOW]), float(means[_HIGH])


def _means_of_means(groups: tuple[tuple[float, ...], ...], seed: int) -> NDArray[np.float64]:
    per_group = _resampled_means(groups, seed)
    if len(groups) == 1:
        return per_group[0]
    columns = zip(*(row.tolist() for row in per_group), strict=True)
    return np.array([math.fsum(column) for column in columns]) / len(groups)


def _resampled_means(groups: tuple[tuple[float, ...], ...], seed: int) -> list[NDArray[np.float64]]:
    """RESAMPLES means of each group; a resample draws from the groups one after the other."""
    sizes = [len(group) for group in groups]
    width = sum(sizes)
    values = [np.asarray(group, dtype=np.float64) for group in groups]
    limbs = [split(group, len(group)) for group in values]
    draw = generator(seed).random_sample
    means = [np.empty(RESAMPLES) for _ in groups]
    rows = max(1, _BLOCK // width)
    for begin in range(0, RESAMPLES, rows):
        end = min(begin + rows, RESAMPLES)
        block = draw((end - begin) * width).reshape(end - begin, width)
        at = 0
        for group, limb, size, found in zip(values, limbs, sizes, means, strict=True):
            picks = (block[:, at : at + size] * size).astype(np.intp)
            if limb is not None:
                found[begin:end] = limb.row_sums(picks) / size
            else:
                found[begin:end] = [math.fsum(row) / size for row in group[picks].tolist()]
            at += size
    return means
