"""What a run hands to its tracker. Records are safe before: a tracker that fails costs one warning."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from beeline.records import Cell, Record
from beeline.resolver import resolve
from beeline.scoring import Summary
from beeline.spec import Spec

if TYPE_CHECKING:
    from beeline.sweep_record import SweepRecord
    from beeline.world_summary import WorldSummary

__all__ = ["track", "track_study", "track_sweep"]

_said: set[str] = set()
"""Lines that were shown: a sweep says where it tracks once."""


def track(
    spec: Spec, cell: Cell, records: Sequence[Record], summary: Callable[[], Summary | WorldSummary]
) -> None:
    """Log a condition; its ``summary`` is made only if somebody takes it."""
    _log(spec, lambda tracker: tracker.log(cell, records, summary().as_dict(), spec.as_dict()))


def track_study(spec: Spec, domain: str | None = None) -> None:
    """Log what a study found over its conditions; other people's trackers may know conditions alone.
    ``domain`` is that of the analysis, where it is not the run's."""

    def log(tracker: Any) -> str:
        if not hasattr(tracker, "log_study"):
            return ""
        said: str = tracker.log_study(
            spec.version, spec.model_name, spec.study.name, domain or spec.domain_name
        )
        return said

    _log(spec, log)


def track_sweep(spec: Spec, record: SweepRecord) -> None:
    """Log a sweep, after its jobs were; ``spec`` is that of one of them, for tracker and folder. Other
    people's trackers may know no sweeps."""

    def log(tracker: Any) -> str:
        if not hasattr(tracker, "log_sweep"):
            return ""
        said: str = tracker.log_sweep(record)
        return said

    _log(spec, log)


def _log(spec: Spec, log: Callable[[Any], str]) -> None:
    target = spec.tracking.get("target")
    if target is None:
        return
    settings = {k: v for k, v in spec.tracking.items() if k not in ("name", "target")}
    tracker = resolve(str(target), spec.plugins).from_settings(settings, spec.results)
    try:
        where = log(tracker)
    except Exception as error:
        print(
            f"warning: tracking failed ({type(error).__name__}: {_first_line(error)}); the "
            f"records are safe, fill the store later with: python -m tracking.sync --results {spec.results}",
            file=sys.stderr,
        )
    else:
        if where and where not in _said:
            _said.add(where)
            with contextlib.suppress(BrokenPipeError):  # the reader has seen enough; the run goes on
                print(where)


def _first_line(error: Exception) -> str:
    """The start of a message, a user and password in a URL masked."""
    return re.sub(r"//[^/@\s]*@", "//***@", (str(error).splitlines() or [""])[0])[:200]
