"""``python -m tracking.sync``: fill the MLflow store from the records of a results folder."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from beeline.errors import BeelineError
from beeline.records import Cell, find_cells, read_records
from beeline.scoring import summarise
from beeline.sweep_record import SweepRecord, read_sweeps
from beeline.world_summary import summarise_worlds
from tracking.analysis import load
from tracking.mlflow_store import MLflowTracker, without_secrets

__all__ = ["main"]

_PATIENCE = 3
"""Failures of the store in a row, none having gone well before, after which it is taken to be away."""


def main(argv: Sequence[str] | None = None) -> int:
    """Log every cell that the store does not hold yet, then the analysis and report of each study, then
    the sweeps. What fails is passed over and said again at the end; exit code 0, or 1 when anything
    failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tracking.sync",
        description="Fill the MLflow store from the records of a results folder: what it does not hold yet.",
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    parser.add_argument("--uri", help="another store than the one in the results folder")
    parser.add_argument(
        "--no-reports", action="store_true", help="records only: no report pages and analyses"
    )
    options = parser.parse_args(argv)
    cells = find_cells(options.results)
    if not cells:
        print(f"tracking.sync: there are no records below {options.results}", file=sys.stderr)
        return 1
    tracker = MLflowTracker(options.uri, options.results)
    tries: list[tuple[str, Callable[[], str]]] = []
    for cell, path in cells:
        tries.append((str(path.relative_to(options.results)), _cell(tracker, cell, path)))
    if not options.no_reports:
        studies = dict.fromkeys((c.version, c.model, c.study, c.domain) for c, _ in cells)
        # A study that ran no condition has an analysis alone.
        analyses, _ = load(options.results)
        studies |= dict.fromkeys((a.version, a.model, a.study, a.domain) for a in analyses)
        tries += [("/".join(study), _study(tracker, study)) for study in studies]
    reading = read_sweeps(options.results)
    for note in reading.notes:
        print(f"note: {note}", file=sys.stderr)
    # The oldest first and after the cells: runs of jobs hang from the newest sweep that ran them.
    tries += [(f"sweep {record.id}", _sweep(tracker, record)) for record in reading.sweeps]
    return _run(tries)


def _cell(tracker: MLflowTracker, cell: Cell, path: Path) -> Callable[[], str]:
    def log() -> str:
        records = read_records(path).records
        if not records:
            return "no record that can be read"
        saved = path.with_suffix(".spec.json")
        spec = json.loads(saved.read_text("utf-8")) if saved.exists() else {}
        worlds = records[0].suite == "worlds"
        summary = summarise_worlds(records).as_dict() if worlds else summarise(records).as_dict()
        return tracker.log(cell, records, summary, spec)

    return log


def _study(tracker: MLflowTracker, study: tuple[str, str, str, str]) -> Callable[[], str]:
    return lambda: tracker.log_study(*study)


def _sweep(tracker: MLflowTracker, record: SweepRecord) -> Callable[[], str]:
    return lambda: tracker.log_sweep(record)


def _run(tries: Sequence[tuple[str, Callable[[], str]]]) -> int:
    failures, well = [], 0
    for number, (what, log) in enumerate(tries, start=1):
        try:
            where = log()
        except BeelineError as error:
            failures.append(f"{what}: {error}")
        except Exception as error:
            text = without_secrets((str(error).splitlines() or [""])[0])[:200]
            failures.append(f"{what}: the store failed ({type(error).__name__}: {text})")
            if not well and len(failures) >= _PATIENCE:
                rest = len(tries) - number
                if rest:
                    failures.append(f"{rest} more not tried: the store failed {len(failures)} times in a row")
                break
        else:
            well += 1
            if where:
                print(f"{what}: {where}", flush=True)
    for failure in failures:
        print(f"tracking.sync: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
