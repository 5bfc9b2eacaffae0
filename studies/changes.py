"""Decisions that change between two runs of the same trial, from their traces.

Evictions and the order of successors have draws of their own, so two searches hold the same
frontier until the first step at which they choose differently. Up to and including that step they
were asked about the same options: each such step is one comparison, the last of them a change.
After it the searches go apart and nothing can be compared.

A step without a choice asks nothing. One that ended in a fallback was no decision of the model's:
it is not counted, but a search that it leads elsewhere ends the comparison.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.errors import StorageError
from beeline.records import Cell
from beeline.statistics import Interval
from beeline.statistics.shares import share_over_clusters

__all__ = ["Changes", "changed_share", "compare_paths", "compare_traces", "share_of"]


@dataclass(frozen=True, slots=True)
class Changes:
    """Of one pair of runs, or summed over pairs."""

    met: int = 0
    """Decisions that both made of the same frontier."""
    changed: int = 0
    """Those that differ; at most one a pair."""
    first_met: int = 0
    """Pairs with a first decision."""
    first_changed: int = 0

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            self.met + other.met,
            self.changed + other.changed,
            self.first_met + other.first_met,
            self.first_changed + other.first_changed,
        )


def compare_paths(
    ours: Iterable[Mapping[str, Any]], theirs: Iterable[Mapping[str, Any]], same_order: bool
) -> Changes:
    """Walk two traces side by side. ``same_order``: stop, too, where the options were shown in
    different orders, as after a reply that had to be asked for again."""
    met = changed = 0
    first: bool | None = None
    for one, other in zip(ours, theirs, strict=False):
        same = one["chosen"] == other["chosen"]
        if not one["forced"]:
            if same_order and one["order"] != other["order"]:
                break
            if not one["fallback"] and not other["fallback"]:
                met += 1
                changed += not same
                if first is None:
                    first = not same
        if not same:
            break
    return Changes(met, changed, int(first is not None), int(first is True))


def compare_traces(one: Path, other: Path, same_order: bool) -> Changes | None:
    """The same for two trace files, read as far as needed; None when either is missing. Raises
    StorageError for one that cannot be read."""
    if not one.exists() or not other.exists():
        return None
    with ExitStack() as stack:
        ours, theirs = (stack.enter_context(closing(_steps(path))) for path in (one, other))
        return compare_paths(ours, theirs, same_order)


def changed_share(
    results: Path, ours: Cell, theirs: Cell, keys: Sequence[tuple[int, int]]
) -> Interval | None:
    """Share of the decisions of ``ours`` that ``theirs`` made otherwise at the same frontier, over
    (trial, repeat) ``keys``; None without traces."""
    by_trial: dict[int, Changes] = {}
    for trial, repeat in keys:
        found = compare_traces(
            ours.trace_path(results, trial, repeat), theirs.trace_path(results, trial, repeat), False
        )
        if found is not None:
            by_trial[trial] = by_trial.get(trial, Changes()) + found
    return share_of(by_trial)


def share_of(by_trial: Mapping[int, Changes], first: bool = False) -> Interval | None:
    """Changed of met decisions (``first``: of first decisions only), trials as clusters; None
    when there are none."""
    parts = [by_trial[trial] for trial in sorted(by_trial) if by_trial[trial].met]
    if first:
        return share_over_clusters([p.first_changed for p in parts], [p.first_met for p in parts])
    share = share_over_clusters([p.changed for p in parts], [p.met for p in parts])
    if share is None or share.value:
        return share
    # Without a change nothing tells how they come in clumps, and the bound above would be that of a
    # decision a trial. But a pair changes once at most: what is unlikely of trials is so of pairs.
    pairs_to_met = sum(p.first_met for p in parts) / sum(p.met for p in parts)
    return Interval(0.0, 0.0, share.high * pairs_to_met)


def _steps(path: Path) -> Generator[dict[str, Any], None, None]:
    try:
        with gzip.open(path) as file:
            next(file)  # the header
            for line in file:
                yield json.loads(line.decode("utf-8", "surrogatepass"))
    except (OSError, EOFError, ValueError) as error:
        raise StorageError(f"cannot read the trace {path}: {error}") from error
    except StopIteration:
        raise StorageError(f"cannot read the trace {path}: it is empty") from None
