"""Decisions from traces: where the chosen option stood, how likely it was called, whether it was right.

Reads whole trials in order until a cell has given ``least`` decisions (None: all trials), so that a
report over thousands of traces takes seconds. Fallbacks are left out: they took the first place by rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beeline.errors import StorageError
from beeline.records import Cell
from beeline.trace import read_trace

__all__ = ["LEAST", "Decisions", "read_decisions"]

LEAST = 1000
"""Decisions a cell that a report reads unless told otherwise."""

Trial = tuple[str, int]
"""(domain, trial): decisions of one trial belong together."""


@dataclass(slots=True)
class Decisions:
    """Columns of equal length for places, and of another equal length for probabilities."""

    places: list[int] = field(default_factory=list)
    """Place of the chosen option in the order shown, from 0."""
    options: list[int] = field(default_factory=list)
    place_trials: list[Trial] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    """Of the chosen option, at decisions where some option leads to a goal."""
    right: list[int] = field(default_factory=list)
    """1 where the chosen option was nearest to the goal."""
    right_trials: list[Trial] = field(default_factory=list)
    trials: int = 0
    """Traces read."""
    left: int = 0
    """Traces not read."""


def read_decisions(
    results: Path, cells: Sequence[Cell], runs: Sequence[Sequence[tuple[int, int]]], least: int | None = LEAST
) -> tuple[Decisions, list[str]]:
    """The decisions of some cells (one model's, each with its (trial, repeat) pairs), and a note on each
    trace that cannot be read. Only the first repeat of a trial is read."""
    found, notes = Decisions(), []
    for cell, keys in zip(cells, runs, strict=True):
        if not cell.trace_path(results, 1, 1).parent.is_dir():
            continue
        start, first = len(found.places), dict[int, int]()
        for trial, repeat in keys:
            first.setdefault(trial, repeat)
        for trial, repeat in first.items():
            path = cell.trace_path(results, trial, repeat)
            if not path.exists():
                continue
            if least is not None and len(found.places) - start >= least:
                found.left += 1
                continue
            try:
                _, lines = read_trace(path)
                steps = [_step(line) for line in lines if not line.get("forced") and not line.get("fallback")]
            except StorageError as error:
                notes.append(f"{error}: left out of the figures from traces")
                continue
            except (KeyError, TypeError, ValueError) as error:
                notes.append(
                    f"{path} holds a step that is none ({error!r}): left out of the figures from traces"
                )
                continue
            found.trials += 1
            for place, options, probability, right in steps:
                found.places.append(place)
                found.options.append(options)
                found.place_trials.append((cell.domain, trial))
                if right is not None:
                    found.probabilities.append(probability)
                    found.right.append(right)
                    found.right_trials.append((cell.domain, trial))
    return found, notes


def _step(line: dict[str, Any]) -> tuple[int, int, float, int | None]:
    """Place, options, probability, and whether right (None where no option leads to a goal)."""
    order = line["order"]
    best, distance = line["best_distance"], line["distance"]
    right = None if best is None else int(distance == best)
    return order.index(line["chosen"]), len(order), min(max(float(line["probability"]), 0.0), 1.0), right
