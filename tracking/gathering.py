"""Everything a report is made of, read once from a results folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from beeline.analysis import Analysis
from beeline.errors import StorageError
from beeline.latency import LatencyHistogram
from beeline.records import Cell, Record, find_cells, read_records
from beeline.scoring import Summary, summarise
from beeline.stops import find_stops
from beeline.world_summary import WorldSummary, summarise_worlds

__all__ = ["Gathered", "gather"]


@dataclass(slots=True)
class Gathered:
    """Sorted by path."""

    results: Path
    summaries: list[Summary] = field(default_factory=list)
    worlds: list[WorldSummary] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Lines and files passed over."""
    stops: list[str] = field(default_factory=list)
    analyses: list[Analysis] = field(default_factory=list)
    latencies: dict[Cell, LatencyHistogram] = field(default_factory=dict)
    """Of the cells whose model arm has any."""
    codes: dict[Cell, tuple[str, ...]] = field(default_factory=dict)
    """Revisions of the code, sorted."""
    runs: dict[Cell, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """(trial, repeat) of each record, sorted."""


def gather(
    results: Path, filters: Mapping[str, str | None], intervals: bool, whole: bool = False
) -> Gathered:
    """Read the cells that match; ``filters`` may name version, model, study and domain, None being any.
    ``whole`` also reads the analyses.

    Raises StorageError for a file that cannot be read, a newer one, or mixed records.
    """
    found = Gathered(results)
    version = filters.get("version")
    for cell, path in find_cells(results, None if version is None else [version]):
        if any(filters.get(name) not in (None, getattr(cell, name)) for name in ("model", "study", "domain")):
            continue
        reading = read_records(path)
        found.notes += reading.notes
        records = reading.records
        if not records:
            continue
        if records[0].cell != cell:
            raise StorageError(
                f"{path} holds records of {records[0].cell}: move it to where its name and folders "
                "say the same"
            )
        if records[0].suite == "worlds":
            found.worlds.append(summarise_worlds(records))
        else:
            found.summaries.append(summarise(records, intervals))
            _latency(found, cell, records)
        found.codes[cell] = tuple(sorted({record.code for record in records}))
        found.runs[cell] = tuple(record.key for record in records)
    found.stops = [str(stop) for stop in find_stops(results) if stop.matches(filters)]
    if whole:
        from tracking.analysis import load

        found.analyses, notes = load(results, **{name: filters.get(name) for name in _PLACES})
        found.notes += notes
    return found


_PLACES = ("version", "model", "study", "domain")


def _latency(found: Gathered, cell: Cell, records: list[Record]) -> None:
    parts = [record.arms["model"].get("latency_ms") for record in records if "model" in record.arms]
    pooled = LatencyHistogram.pooled(part for part in parts if part)
    if pooled.count:
        found.latencies[cell] = pooled
