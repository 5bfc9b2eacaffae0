"""Counting how often an interval holds a planted value, over seeded repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from beeline.statistics import Interval


def covered(
    make: Callable[[np.random.RandomState], Interval | None], truth: float, repetitions: int
) -> float:
    """Share of repetitions whose interval holds ``truth``; each has its own seed, from 0 up."""
    found = 0
    for seed in range(repetitions):
        interval = make(np.random.RandomState(seed))
        assert interval is not None
        found += interval.low <= truth <= interval.high
    return found / repetitions


def assert_covers(
    make: Callable[[np.random.RandomState], Interval | None], truth: float, repetitions: int
) -> None:
    """At least 93 of each 100 repetitions."""
    assert covered(make, truth, repetitions) >= 0.93


def assert_nominal(rejected: int, repetitions: int, level: float = 0.05) -> None:
    """False positives at the nominal rate: within three standard errors of ``level``."""
    assert abs(rejected / repetitions - level) <= 3 * math.sqrt(level * (1 - level) / repetitions)
