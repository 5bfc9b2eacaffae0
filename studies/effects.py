"""Conditions over the same trials, each against the benchmark's own.

Each is compared trial by trial (:mod:`beeline.statistics.paired`), with Holm's correction over the
conditions. How far the scores lie apart is compared with what chance alone makes of as many
conditions: the names of the conditions are exchanged at random within each trial, which changes
nothing if they do not matter (a permutation test in randomised blocks; Good, "Permutation, Parametric
and Bootstrap Tests of Hypotheses", 2005, chapter 7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from beeline.draws import seed_of
from beeline.records import Record
from beeline.statistics import Interval
from beeline.statistics.bootstrap import generator
from beeline.statistics.clusters import Key, score_over_trials, trial_logs
from beeline.statistics.from_records import scores
from beeline.statistics.multiple import holm
from beeline.statistics.paired import EXACT_UP_TO, PATTERNS, Comparison, compare
from beeline.study import BENCHMARK

__all__ = ["Effect", "Measured", "measure", "range_test"]

LEVEL = 0.05
RELABELLINGS = 1_999
_BLOCK = 1 << 14
"""Values exchanged at once: what fits the cache of a core."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One condition beside the benchmark's."""

    condition: str
    score: Interval
    unsolved: int
    comparison: Comparison | None
    """Against the benchmark's condition; None for itself."""
    adjusted: float | None
    """Holm's p-value over the conditions; None for the benchmark's own."""
    changed: Interval | None = None
    """Share of decisions that differ from the benchmark's at the same frontier; None without traces."""


@dataclass(frozen=True, slots=True)
class Measured:
    """All conditions over the trials that every one of them has."""

    trials: int
    left_out: int
    """Trials that some conditions lack."""
    effects: tuple[Effect, ...]
    range_ratio: float
    """Highest over lowest score."""
    range_by_chance: float
    """The same, typical (median) where names mean nothing."""
    range_p_value: float
    """How often names that mean nothing give as wide a range."""
    identical: bool
    """Every condition gave every trial the same score."""

    @property
    def beyond_chance(self) -> tuple[Effect, ...]:
        """Conditions that differ from the benchmark's, Holm's p below 0.05."""
        return tuple(e for e in self.effects if e.adjusted is not None and e.adjusted < LEVEL)

    @property
    def can_tell(self) -> bool:
        """Whether the smallest p-value that so many trials can give would be below 0.05."""
        least = 2.0 ** (1 - self.trials) if self.trials <= EXACT_UP_TO else 1 / (PATTERNS + 1)
        return least * max(1, len(self.effects) - 1) < LEVEL


def measure(
    records: Mapping[str, Sequence[Record]],
    path: Sequence[str | int],
    changed: Mapping[str, Interval | None] | None = None,
) -> Measured | None:
    """Compare the conditions with the one named ``benchmark``; None when it or all others lack records.

    Draws paths: ``path`` for every score, as in a summary; ``path``, the condition's name and "paired"
    for a comparison; ``path`` and "range" for the range.
    """
    keyed = {name: scores(found) for name, found in records.items()}
    keyed = {name: found for name, found in keyed.items() if found}
    if BENCHMARK not in keyed or len(keyed) < 2:
        return None
    trials = {name: {key[:2] for key in found} for name, found in keyed.items()}
    common = set.intersection(*trials.values())
    if not common:
        return None
    kept = {name: {k: s for k, s in found.items() if k[:2] in common} for name, found in keyed.items()}
    unsolved = {
        name: sum(
            record.arms["model"].get("solved") is not True
            for record in records[name]
            if "model" in record.arms and (record.domain, record.trial) in common
        )
        for name in kept
    }
    against = {
        name: compare(found, kept[BENCHMARK], [*path, name, "paired"])
        for name, found in kept.items()
        if name != BENCHMARK
    }
    adjusted = holm({name: found.p_value for name, found in against.items() if found is not None})
    effects = []
    for name, found in kept.items():
        score = score_over_trials(found, path)
        assert score is not None
        share = (changed or {}).get(name)
        effects.append(Effect(name, score, unsolved[name], against.get(name), adjusted.get(name), share))
    logs = np.array([_logs(found) for found in kept.values()]).T
    ratio, by_chance, p_value = range_test(logs, [*path, "range"])
    return Measured(
        trials=len(common),
        left_out=len(set.union(*trials.values())) - len(common),
        effects=tuple(effects),
        range_ratio=ratio,
        range_by_chance=by_chance,
        range_p_value=p_value,
        identical=bool(np.ptp(logs, axis=1).max() <= 1e-12),
    )


def _logs(scores: Mapping[Key, float]) -> list[float]:
    """Mean log score of each trial, sorted."""
    return [value for trials in trial_logs(scores).values() for value in trials.values()]


def range_test(logs: Any, path: Sequence[str | int]) -> tuple[float, float, float]:
    """Highest over lowest geometric mean of the columns of ``logs`` (trials by conditions), its
    median under RELABELLINGS seeded exchanges of the columns within each row, and the share of
    those that are at least as wide, (b + 1) / (m + 1)."""
    values = np.asarray(logs, dtype=np.float64)
    rows, columns = values.shape

    def spread(means: Any) -> Any:
        return means.max(axis=-1) - means.min(axis=-1)

    observed = float(spread(values.mean(axis=0)))
    draw = generator(seed_of(*path)).random_sample
    ranges = np.empty(RELABELLINGS)
    at_once = max(1, _BLOCK // values.size)
    for begin in range(0, RELABELLINGS, at_once):
        count = min(at_once, RELABELLINGS - begin)
        order = draw(count * values.size).reshape(count, rows, columns).argsort(axis=2, kind="stable")
        mixed = np.take_along_axis(values[None], order, axis=2)
        ranges[begin : begin + count] = spread(mixed.mean(axis=1))
    wider = int(np.count_nonzero(ranges >= observed - 1e-12))
    return math.exp(observed), math.exp(float(np.median(ranges))), (wider + 1) / (RELABELLINGS + 1)
