"""Means by exact summation, and the interval that every other module returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Interval", "geometric_mean", "mean"]


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
