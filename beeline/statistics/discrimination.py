"""Can a model tell right from wrong, whatever scale its numbers have?

- *Accuracy against chance*: questions differ in how many options are right, so raw accuracy says
  little. (hits - chance) / (items - chance), summed over items: 0 is guessing, 1 is perfect, as
  Cohen's kappa ("A coefficient of agreement for nominal scales", 1960) with known chance. Interval:
  Wilson's at the effective sample size (:mod:`.shares`) for the share that this is worth at the
  mean chance, brought back to the scale.
- *Area under the ROC curve*: the probability that an item that happened got the higher number than
  one that did not, ties counting half. Variance by Obuchowski ("Nonparametric analysis of clustered
  ROC curve data", 1997), which without clusters is DeLong's (1988); the interval is made on the logit
  scale, so it stays within 0 and 1.
- *Rank correlation* (Spearman, 1904) of estimates with true numbers, such as moves left; whole
  clusters are resampled (:mod:`.clusters`), ranks anew in each resample.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beeline.draws import seed_of
from beeline.statistics import quantiles
from beeline.statistics.basics import Interval
from beeline.statistics.bootstrap import RESAMPLES, generator
from beeline.statistics.clusters import Linearised, codes_of, linearised_ratio
from beeline.statistics.shares import wilson, wilson_at

__all__ = ["accuracy_over_chance", "auc", "rank_correlation"]


def accuracy_over_chance(
    hits: ArrayLike, chances: ArrayLike, clusters: Sequence[Hashable] | None = None
) -> Interval:
    """Accuracy between chance (0) and perfect (1); below 0 for worse than guessing.

    ``hits`` are 0 or 1; ``chances`` are each question's share of right options, below 1 for at
    least one. Raises ValueError when guessing cannot go wrong anywhere.
    """
    y, c = np.asarray(hits, dtype=np.float64), np.asarray(chances, dtype=np.float64)
    if y.shape != c.shape or not ((c >= 0) & (c <= 1)).all():
        raise ValueError("give one chance between 0 and 1 for each question")
    codes = codes_of(clusters, len(y))
    found = linearised_ratio(np.bincount(codes, y - c), np.bincount(codes, 1 - c))
    chance = float(c.mean())

    # A mean of zeros and ones, but for the rounding of the way there and back.
    rate = min(1.0, max(0.0, chance + found.value * (1 - chance)))
    if min(rate, 1 - rate) < 1e-12:
        rate = float(round(rate))
    bounds = wilson_at(Linearised(rate, found.error * (1 - chance), found.clusters), len(y))
    low, high = ((bound - chance) / (1 - chance) for bound in (bounds.low, bounds.high))
    return Interval(found.value, min(low, found.value), max(high, found.value))


def auc(
    numbers: ArrayLike, outcomes: ArrayLike, clusters: Sequence[Hashable] | None = None
) -> Interval | None:
    """Area under the ROC curve; None when all outcomes agree. ``numbers`` may be on any scale.

    A perfect separation has no spread to measure: its bound is Wilson's for as many hits as the
    rarer outcome has clusters.
    """
    x, y = np.asarray(numbers, dtype=np.float64), np.asarray(outcomes, dtype=np.float64) == 1
    codes = codes_of(clusters, len(x))
    count = int(codes.max(initial=-1)) + 1
    yes, no = np.sort(x[y]), np.sort(x[~y])
    if not len(yes) or not len(no):
        return None
    # Share of the other kind below (above, for those that did not happen), ties counting half.
    below = (np.searchsorted(no, x[y], "left") + np.searchsorted(no, x[y], "right")) / (2 * len(no))
    above = 1 - (np.searchsorted(yes, x[~y], "left") + np.searchsorted(yes, x[~y], "right")) / (2 * len(yes))
    value = math.fsum(below.tolist()) / len(yes)
    owners, others = np.bincount(codes[y], minlength=count), np.bincount(codes[~y], minlength=count)
    first = np.bincount(codes[y], below, count) - owners * value
    second = np.bincount(codes[~y], above, count) - others * value
    a, b = int((owners > 0).sum()), int((others > 0).sum())
    if value in (0.0, 1.0) or min(a, b) < 2:
        sure = wilson(value * min(a, b), min(a, b))
        return Interval(value, sure.low, sure.high)
    variance = (
        a / (a - 1) * float(first @ first) / len(yes) ** 2
        + b / (b - 1) * float(second @ second) / len(no) ** 2
        + 2 * count / (count - 1) * float(first @ second) / (len(yes) * len(no))
    )
    reach = quantiles.normal(0.5 + quantiles.LEVEL / 2)
    margin = reach * math.sqrt(max(0.0, variance)) / (value * (1 - value))
    middle = math.log(value / (1 - value))
    return Interval(value, 1 / (1 + math.exp(margin - middle)), 1 / (1 + math.exp(-margin - middle)))


def rank_correlation(
    estimates: ArrayLike,
    truths: ArrayLike,
    path: Sequence[str | int],
    clusters: Sequence[Hashable] | None = None,
) -> Interval | None:
    """Spearman's rank correlation with percentile bounds; None where either does not vary."""
    x, y = np.asarray(estimates, dtype=np.float64), np.asarray(truths, dtype=np.float64)
    codes = codes_of(clusters, len(x))
    count = int(codes.max(initial=-1)) + 1
    if not count or x.min() == x.max() or y.min() == y.max():
        return None
    ranks = _Ranks(x), _Ranks(y)
    value = float(_correlation(ranks, np.ones((1, len(x))))[0])
    draw, found = generator(seed_of(*path)).random_sample, []
    rows = max(1, (1 << 18) // len(x))
    for begin in range(0, RESAMPLES, rows):
        size = min(rows, RESAMPLES - begin)
        picks = (draw(size * count) * count).astype(np.intp)
        picks += np.repeat(np.arange(size) * count, count)
        times = np.bincount(picks, minlength=size * count).reshape(size, count)
        found.append(_correlation(ranks, times[:, codes].astype(np.float64)))
    ranked = np.sort(np.concatenate(found))
    return Interval(value, float(ranked[49]), float(ranked[1949]))


class _Ranks:
    """Mid-ranks of items under weights, one set of weights a row."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        self.starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self.level = np.empty(len(values), dtype=np.intp)
        self.level[self.order] = np.cumsum(np.r_[False, ordered[1:] != ordered[:-1]])

    def __call__(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        mass = np.add.reduceat(weights[:, self.order], self.starts, axis=1)
        middle: NDArray[np.float64] = (np.cumsum(mass, axis=1) - mass / 2)[:, self.level]
        return middle


def _correlation(ranks: tuple[_Ranks, _Ranks], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson's correlation of both ranks for each row of weights; 0 where a resample lacks spread."""
    total = weights.sum(axis=1, keepdims=True)
    a, b = (rank(weights) for rank in ranks)
    a, b = (z - (weights * z).sum(axis=1, keepdims=True) / total for z in (a, b))
    both = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
    result: NDArray[np.float64] = np.divide(
        (weights * a * b).sum(axis=1), both, out=np.zeros(len(weights)), where=both > 0
    )
    return result
