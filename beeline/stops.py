"""Why a condition stopped before its last trial: one small file beside its records.

It lies there as long as the trials are owed, so that a report can say it first; the run that
finishes them removes it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from beeline.clock import utc_now
from beeline.errors import BeelineError
from beeline.records import Cell

__all__ = ["Stop", "clear_stop", "find_stops", "note_stop"]

_SUFFIX = ".stopped.json"


@dataclass(frozen=True, slots=True)
class Stop:
    """Where and why a run stopped."""

    path: str
    """version/model/study/domain.condition"""
    kind: str
    """Class of the error."""
    reason: str
    finished: int
    wanted: int
    utc: str

    def matches(self, filters: Mapping[str, str | None]) -> bool:
        """Whether version, model, study and domain are those of ``filters``, None being any."""
        version, model, study, last = self.path.split("/")
        have = {"version": version, "model": model, "study": study, "domain": last.partition(".")[0]}
        return all(filters.get(name) in (None, value) for name, value in have.items())

    def __str__(self) -> str:
        return (
            f"{self.path}: stopped with {self.finished} of {self.wanted} trials ({self.utc}): {self.reason}"
        )


def _path(results: Path, cell: Cell) -> Path:
    return cell.path(results).with_suffix(_SUFFIX)


def note_stop(
    results: Path, cell: Cell, error: BeelineError | KeyboardInterrupt, finished: int, wanted: int
) -> None:
    """Note a stop. That it cannot be written is no error: the run has one already."""
    path = _path(results, cell)
    name = f"{cell.version}/{cell.model}/{cell.study}/{cell.domain}.{cell.condition}"
    reason = "interrupted; the same command resumes" if isinstance(error, KeyboardInterrupt) else str(error)
    stop = Stop(name, type(error).__name__, reason, finished, wanted, utc_now())
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(stop), indent=2) + "\n", "utf-8")


def clear_stop(results: Path, cell: Cell) -> None:
    """Forget a stop: its trials are done."""
    with contextlib.suppress(OSError):
        _path(results, cell).unlink(missing_ok=True)


def find_stops(results: Path) -> Iterator[Stop]:
    """The stops noted below a results folder, sorted by path; unreadable files are passed over."""
    for path in sorted(results.glob(f"*/*/*/*{_SUFFIX}")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            yield Stop(**json.loads(path.read_text("utf-8")))
