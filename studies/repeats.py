"""What repeats of the same trials show: scores again, variance components, decisions that change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from beeline.records import Cell, Record
from beeline.statistics import Interval, geometric_mean
from beeline.statistics.clusters import Key, rerun_interval, score_over_trials
from beeline.statistics.from_records import layout
from beeline.statistics.shares import wilson
from beeline.statistics.variance import Components, by_trials, variance_components
from studies.changes import Changes, compare_traces, share_of

__all__ = ["Repeated", "find_changes", "measure_repeats"]


_ROUNDING = 1e-20
"""Variances below are rounding: two scores that differ do so by 1 / 2,500 or more."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """What the repeats show. Shares are None without traces, or where there is nothing to share."""

    trials: int
    """Trials that have every order and repeat."""
    repeats: int
    scores: Mapping[str, Interval]
    """By order: for other trials of the same kind."""
    rerun: Mapping[str, Interval | None]
    """By order: for the same trials run again."""
    by_repeat: Mapping[str, tuple[float, ...]]
    """Score of each repeat, by order."""
    components: Components | None
    """None for fewer than two trials."""
    resampled: Components | None
    """The same with bounds from whole trials resampled."""
    scores_changed: Interval
    """Share of (trial, order) whose repeats did not all score the same."""
    between_repeats: Interval | None
    """Share of decisions that a repeat makes otherwise, the question being the same."""
    first_question: Interval | None
    """The same of the first question of each trial."""
    between_orders: Interval | None
    """Share of decisions made otherwise in another order of the same frontier."""

    @property
    def all_scores(self) -> list[float]:
        """Of every order and repeat."""
        return [value for values in self.by_repeat.values() for value in values]


def measure_repeats(
    conditions: Mapping[str, Mapping[Key, float]],
    path: Sequence[str | int],
    between_repeats: Mapping[int, Changes] | None = None,
    between_orders: Mapping[int, Changes] | None = None,
) -> Repeated | None:
    """From keyed scores by order, and changes by trial; None without two repeats of a trial.

    Draws paths: ``path`` and the order's name (unless it is the benchmark's) for scores, ``path``
    and "components" for the resampled bounds.
    """
    having = {name: found for name, found in conditions.items() if found}
    if not having:
        return None
    kept, values = layout(having)
    if not kept or values.shape[2] < 2:
        return None
    rows = set(kept)
    whole = {name: {k: s for k, s in found.items() if k[:2] in rows} for name, found in having.items()}
    repeats = sorted({key[2] for found in whole.values() for key in found})
    by_order: dict[str, Interval] = {}
    for name, found in whole.items():
        score = score_over_trials(found, path)
        assert score is not None
        by_order[name] = score
    uneven = int((values.max(axis=2) - values.min(axis=2) > 1e-12).sum())
    several = len(kept) > 1
    return Repeated(
        trials=len(kept),
        repeats=len(repeats),
        scores=by_order,
        rerun={name: rerun_interval(found) for name, found in whole.items()},
        by_repeat={
            name: tuple(geometric_mean([s for k, s in found.items() if k[2] == r]) for r in repeats)
            for name, found in whole.items()
        },
        components=_exact(variance_components(values)) if several else None,
        resampled=_exact(by_trials(values, [*path, "components"])) if several else None,
        scores_changed=wilson(uneven, values.shape[0] * values.shape[1]),
        between_repeats=share_of(between_repeats or {}),
        first_question=share_of(between_repeats or {}, first=True),
        between_orders=share_of(between_orders or {}),
    )


def _exact(found: Components) -> Components:
    """The components without what rounding leaves of equal scores: the mean of three equal logs is
    not quite each of them, and would make chance of nothing."""

    def part(interval: Interval) -> Interval:
        value, low, high = (
            bound if bound > _ROUNDING else 0.0 for bound in (interval.value, interval.low, interval.high)
        )
        return Interval(value, low, high)

    order, repeat = (None if it is None else part(it) for it in (found.order, found.repeat))
    return replace(found, trial=part(found.trial), order=order, repeat=repeat)


def find_changes(
    results: Path, cells: Mapping[str, Cell], records: Mapping[str, Sequence[Record]]
) -> tuple[dict[int, Changes], dict[int, Changes]]:
    """Changes by trial, over every pair of repeats of one order, and over every pair of orders with
    the same repeat number. Raises StorageError for a trace that cannot be read."""
    repeats: dict[int, Changes] = {}
    orders: dict[int, Changes] = {}

    def add(to: dict[int, Changes], trial: int, one: Path, other: Path, same_order: bool) -> None:
        found = compare_traces(one, other, same_order)
        if found is not None:
            to[trial] = to.get(trial, Changes()) + found

    keys = {name: {record.key for record in having} for name, having in records.items()}
    for name, cell in cells.items():
        for (trial, repeat), (other_trial, again) in combinations(sorted(keys[name]), 2):
            if trial == other_trial:
                one, other = (cell.trace_path(results, trial, number) for number in (repeat, again))
                add(repeats, trial, one, other, True)
    for first, second in combinations(cells, 2):
        for trial, repeat in sorted(keys[first] & keys[second]):
            one, other = (cells[name].trace_path(results, trial, repeat) for name in (first, second))
            add(orders, trial, one, other, False)
    return repeats, orders
