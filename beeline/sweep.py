"""What a sweep leaves when its jobs are over: a file, a table over all of it, a run of its own in MLflow."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from beeline.clock import utc_now
from beeline.condition import cell_of, code_revision
from beeline.errors import StorageError
from beeline.records import read_records
from beeline.resolver import resolve
from beeline.run import Job
from beeline.sweep_record import SweepJob, SweepRecord, read_sweeps
from beeline.tracked import track_sweep

__all__ = ["job_not_run", "keep_sweep"]


def job_not_run(config: Mapping[str, Any], state: str, reason: str) -> SweepJob:
    """A job whose config was refused or left out, named as far as the config names it."""

    def name(group: str) -> str:
        value = config.get(group)
        return str(value.get("name", "?")) if isinstance(value, Mapping) else str(value)

    return SweepJob(name("version"), name("domain"), name("model"), name("study"), "", state, reason, 0, 0)


def keep_sweep(
    jobs: Sequence[Job],
    others: Sequence[SweepJob],
    overrides: Sequence[str],
    started: str,
    ended: bool = True,
) -> list[SweepRecord]:
    """Write and track a sweep in each results folder that it wrote to, a sweep that did not come to its
    end on file alone; says what went wrong. Jobs that were not run (``others``) are told in each."""
    kept = []
    for root in dict.fromkeys(job.spec.results.resolve() for job in jobs):
        mine = [job for job in jobs if job.spec.results.resolve() == root]
        found = (*(_job(job) for job in mine), *others)
        record = SweepRecord(found, tuple(overrides), started, utc_now(), code_revision())
        # One that is resumed began when it was begun.
        before = [other for other in read_sweeps(root).sweeps if other.id == record.id]
        if before and set(before[0].counts) - {"done", "left out"}:
            record = replace(record, started_utc=before[0].started_utc)
        try:
            record.write(mine[0].spec.results)
            resolve("tracking.sweep_tables:write_sweep_table")(record, mine[0].spec.results)
        except StorageError as error:
            print(f"warning: {error}", file=sys.stderr)
            continue
        if ended:
            track_sweep(mine[0].spec, record)
        kept.append(record)
    return kept


def _job(job: Job) -> SweepJob:
    spec = job.spec
    finished = wanted = 0
    state: str
    reason: str | None
    for condition in job.conditions:
        path = cell_of(spec, condition).path(spec.results)
        keys = {record.key for record in read_records(path).records}
        here = [(t, r) for t in range(1, spec.trials + 1) for r in range(1, condition.repeats + 1)]
        wanted += len(here)
        finished += len(keys.intersection(here))
    if job.error is not None:
        state, reason = "failed", str(job.error)
    elif job.ran is None and finished < max(wanted, 1):
        state, reason = "stopped", "interrupted; the same command resumes"
    else:
        state, reason = "done", None
    return SweepJob(
        spec.version,
        spec.domain_name,
        spec.model_name,
        spec.study.name,
        spec.domain.suite,
        state,
        reason,
        finished,
        wanted,
    )
