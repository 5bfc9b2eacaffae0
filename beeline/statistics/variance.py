"""How much of the spread of log scores is the trial, the order of the options, and chance.

Layout: the same trials, each with the same number of orders, each asked the same number of times;
``values[trial, order, repeat]`` holds log scores. Model: value = mean + trial + order within trial
+ repeat, each part with its own variance (two-fold nested random effects; Searle, Casella and
McCulloch, "Variance Components", 1992, chapter 3). Orders are nested because a random order is
drawn for each trial anew: the second order of one trial has nothing to do with that of another.
For orders that mean the same in each trial (newest first...), compare them pairwise
(:mod:`.paired`) instead: those are shifts, not spread.

With T trials, O orders and R repeats, and mean squares

    trial  = O R * sum of (trial mean - mean)**2 / (T - 1)
    order  = R * sum of (cell mean - trial mean)**2 / (T (O - 1))
    repeat = sum of (value - cell mean)**2 / (T O (R - 1))

the estimates are repeat, (order - repeat) / R and (trial - order) / (O R): the method of moments,
negative ones set to 0 when shown. Intervals: chi-square for the last kind of spread; for
differences of mean squares the modified large-sample method of Ting, Burdick, Graybill, Jeyaratnam
and Lu ("Confidence intervals on linear combinations of variance components that are unrestricted
in sign", 1990), which keeps its level for normal effects at any sample size. Log scores have an
upper end, so their effects are not quite normal: ``by_trials`` gives bootstrap bounds too, that
assume nothing but independent trials and need some 50 of them.

With one repeat, order and repeat cannot be told apart, and with one order there is none: the part
that is missing is None, and with one repeat ``order`` holds both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beeline.draws import seed_of
from beeline.statistics import quantiles
from beeline.statistics.basics import Interval
from beeline.statistics.bootstrap import RESAMPLES, generator

__all__ = ["Components", "by_trials", "variance_components"]


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of log scores, with 95% intervals. Square roots are spreads: 0.1 is about 10%."""

    trials: int
    orders: int
    repeats: int
    trial: Interval
    order: Interval | None
    repeat: Interval | None

    def shares(self) -> dict[str, float]:
        """Each part's share of their sum; they add up to 1, or are all 0 where nothing varies."""
        parts = {"trial": self.trial, "order": self.order, "repeat": self.repeat}
        values = {name: part.value for name, part in parts.items() if part is not None}
        total = math.fsum(values.values())
        return {name: value / total if total else 0.0 for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class _Square:
    """A mean square and its degrees of freedom."""

    value: float
    freedom: int


def variance_components(values: ArrayLike) -> Components:
    """Split the spread of ``values``, of shape (trials, orders, repeats).

    Raises ValueError for another shape, for one trial, and for one order and one repeat: there is
    nothing to split then.
    """
    data = _checked(values)
    count, orders, repeats = data.shape
    cell = data.mean(axis=2)
    trial = cell.mean(axis=1)
    squares = [
        _Square(orders * repeats * float(((trial - trial.mean()) ** 2).sum()) / (count - 1), count - 1)
    ]
    sizes = [orders * repeats]
    if orders > 1:
        freedom = count * (orders - 1)
        squares.append(_Square(repeats * float(((cell - trial[:, None]) ** 2).sum()) / freedom, freedom))
        sizes.append(repeats)
    if repeats > 1:
        freedom = count * orders * (repeats - 1)
        squares.append(_Square(float(((data - cell[:, :, None]) ** 2).sum()) / freedom, freedom))
        sizes.append(1)
    found = [
        _difference(above, below, size)
        for above, below, size in zip(squares, squares[1:], sizes, strict=False)
    ]
    found.append(_single(squares[-1], sizes[-1]))
    order = found[1] if orders > 1 else None
    return Components(count, orders, repeats, found[0], order, found[-1] if repeats > 1 else None)


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 3 or data.shape[0] < 2 or data.shape[1] * data.shape[2] < 2:
        raise ValueError(
            f"values of shape {data.shape} cannot be split: give (trials, orders, repeats) with at least two "
            "trials, and at least two orders or two repeats"
        )
    if not np.isfinite(data).all():
        raise ValueError("every trial needs every order and repeat: leave trials out that lack one")
    return data


def _single(square: _Square, size: int) -> Interval:
    """A mean square that estimates one variance times ``size``."""
    tail = (1 - quantiles.LEVEL) / 2
    total = square.value * square.freedom / size
    return Interval(
        square.value / size,
        total / quantiles.chi_square(1 - tail, square.freedom),
        total / quantiles.chi_square(tail, square.freedom),
    )


def _difference(above: _Square, below: _Square, size: int) -> Interval:
    """(above - below) / size, cut off at 0. Names as in the paper, ``many`` for infinity."""
    tail, many = (1 - quantiles.LEVEL) / 2, 1e12
    n1, n2 = above.freedom, below.freedom
    s1, s2 = above.value, below.value
    value = s1 - s2

    upper1, lower1 = quantiles.f(1 - tail, n1, many), quantiles.f(tail, n1, many)
    upper2, lower2 = quantiles.f(1 - tail, n2, many), quantiles.f(tail, n2, many)
    g1, h1 = 1 - 1 / upper1, 1 / lower1 - 1
    g2, h2 = 1 - 1 / upper2, 1 / lower2 - 1
    upper, lower = quantiles.f(1 - tail, n1, n2), quantiles.f(tail, n1, n2)
    g12 = ((upper - 1) ** 2 - (g1 * upper) ** 2 - h2**2) / upper
    h12 = ((1 - lower) ** 2 - (h1 * lower) ** 2 - g2**2) / lower
    down = (g1 * s1) ** 2 + (h2 * s2) ** 2 + g12 * s1 * s2
    up = (h1 * s1) ** 2 + (g2 * s2) ** 2 + h12 * s1 * s2
    low, high = value - math.sqrt(max(0.0, down)), value + math.sqrt(max(0.0, up))
    return Interval(max(0.0, value) / size, max(0.0, low) / size, max(0.0, high) / size)


def by_trials(values: ArrayLike, path: Sequence[str | int]) -> Components:
    """The same estimates with percentile bounds from 2,000 resamples of whole trials.

    For scores far from log-normal. Runs short of its level for few trials (some 91% at 50).
    """
    data = _checked(values)
    count, orders, repeats = data.shape
    point = variance_components(data)
    cell = data.mean(axis=2)
    trial = cell.mean(axis=1)
    # What each trial adds to the three sums of squares, so that a resample is a matrix product.
    centred = trial - trial.mean()
    between = ((cell - trial[:, None]) ** 2).sum(axis=1) / max(1, orders - 1)
    within = ((data - cell[:, :, None]) ** 2).sum(axis=(1, 2)) / (orders * max(1, repeats - 1))
    picks = generator(seed_of(*path)).random_sample(RESAMPLES * count).reshape(RESAMPLES, count) * count
    index = picks.astype(np.intp)
    first = centred.take(index)
    spread = first.var(axis=1, ddof=1)
    cells, chance = between.take(index).mean(axis=1), within.take(index).mean(axis=1)
    order = np.maximum(0.0, cells - (chance / repeats if repeats > 1 else 0.0))
    noise = cells / orders if orders > 1 else chance / repeats
    tops = {"trial": np.maximum(0.0, spread - noise), "order": order, "repeat": chance}

    def bounds(name: str, part: Interval | None) -> Interval | None:
        if part is None:
            return None
        ranked = np.sort(tops[name])
        return Interval(part.value, float(ranked[49]), float(ranked[1949]))

    whole = bounds("trial", point.trial)
    assert whole is not None
    return Components(
        count, orders, repeats, whole, bounds("order", point.order), bounds("repeat", point.repeat)
    )
