"""A sweep in MLflow: one run per version of the benchmark, above the runs of its jobs.

It has no tag ``condition``, so that whoever looks for the runs of jobs never meets it. Logging the same
sweep again brings its run up to date.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from beeline.digest import digest_of
from beeline.sweep_record import STATES, SweepRecord, read_sweeps
from beeline.versions import is_official
from tracking.mlflow_calls import PARAM_LENGTH, clean_name, log_metrics
from tracking.sweep_data import AnySummary, by_job, job_rows, matrices, scores_of, sweep_summaries
from tracking.sweep_tables import count_line, sweep_markdown

__all__ = ["log_sweep", "sweep_metrics"]

_PARENT = "mlflow.parentRunId"
_PLACE = ("version", "model", "study", "domain")
_PLURAL = {"domain": "domains", "model": "models", "study": "studies"}
_NOTE_LENGTH = 8000
_TABLE = "sweep/jobs.json"


def log_sweep(client: Any, experiment_of: Callable[[str], str], record: SweepRecord, results: Path) -> str:
    """Log a sweep and hang the runs of its jobs from it; returns a line for the user, empty when nothing
    is new. ``experiment_of`` gives the id of a version's experiment. Raises whatever the store raises."""
    summaries, notes = sweep_summaries(record, results)
    others = read_sweeps(results).sweeps
    said = []
    for version in dict.fromkeys(job.version for job in record.jobs if job.state != "left out"):
        part = replace(record, jobs=tuple(job for job in record.jobs if job.version == version))
        experiment = experiment_of(version)
        run, new = _log(client, experiment, record, part, summaries, notes)
        _adopt(client, experiment, run, _owned(record, part, others))
        if new:
            said.append(f"MLflow: sweep {record.id} in experiment beeline {version} ({count_line(part)})")
    return "\n".join(said)


def _log(
    client: Any,
    experiment: str,
    record: SweepRecord,
    part: SweepRecord,
    summaries: Sequence[AnySummary],
    notes: Sequence[str],
) -> tuple[str, bool]:
    """The id of the sweep's run, and whether anything was logged. ``part`` are the jobs of one version:
    params and metrics are theirs, tables and files show the whole sweep."""
    from mlflow.entities import Param

    version = part.jobs[0].version
    rows = job_rows(record, summaries)
    digest = digest_of([record.as_dict(), rows, list(notes)])
    # Newest first; more than one only where replacing one was cut off.
    found = _runs(client, experiment, f"tags.kind = 'sweep' and tags.sweep = '{record.id}'")
    run, old = (found[0] if found else None), found[1:]
    if run is not None and run.data.tags.get("sweep_digest") == digest:
        return str(run.info.run_id), False
    table = sweep_markdown(record, summaries, notes)
    state = next((s for s in ("failed", "stopped") if s in part.counts), "done")
    tags = {
        "kind": "sweep",
        "sweep": record.id,
        "version": version,
        "official": str(is_official(version)).lower(),
        "status": state,
        "jobs": count_line(part),
        "code": record.code,
        "mlflow.note.content": table if len(table) <= _NOTE_LENGTH else f"{count_line(part)}.",
    }
    params = {key: value[:PARAM_LENGTH] for key, value in _params(part).items()}
    metrics = dict(sweep_metrics(part, summaries))
    if run is not None and (run.data.params not in ({}, params) or set(run.data.metrics) - set(metrics)):
        run, old = None, [run, *old]  # MLflow never changes a param, nor takes back a metric
    if run is None:
        run = client.create_run(experiment, run_name=_name(part), tags=tags)
    else:
        for key, value in tags.items():
            client.set_tag(run.info.run_id, key, value)
    at = str(run.info.run_id)
    client.log_batch(at, params=[Param(key, value) for key, value in params.items()])
    log_metrics(client, at, [(key, value, 0) for key, value in metrics.items()])
    _files(client, at, record, table, rows)
    client.set_terminated(at, {"failed": "FAILED", "stopped": "KILLED"}.get(state, "FINISHED"))
    for other in old:
        for child in _runs(client, experiment, f"tags.`{_PARENT}` = '{other.info.run_id}'"):
            client.set_tag(child.info.run_id, _PARENT, at)
        client.delete_run(other.info.run_id)
    client.set_tag(at, "sweep_digest", digest)  # last: a run that was cut off is logged again
    return at, True


def sweep_metrics(record: SweepRecord, summaries: Sequence[AnySummary]) -> Iterator[tuple[str, float]]:
    """``tiles/sparrow.model.score`` for a job, with the study before ``model`` unless it is ``score``;
    ``tiles/random.score`` for an arm that no model changes; ``overall/sparrow.model.score`` where all
    domains of several are there; ``jobs/done``. In worlds the number is called ``exact``."""
    for state in STATES:
        yield f"jobs/{state.replace(' ', '_')}", float(record.counts.get(state, 0))
    offline: dict[str, tuple[int, float]] = {}
    found = by_job(summaries)
    for job in {job.key: job for job in record.jobs if job.ran}.values():
        summary = found.get(job.key)
        for arm, score in scores_of(summary).items() if summary is not None else ():
            assert summary is not None
            number = "exact" if summary.suite == "worlds" else "score"
            if arm == "model":
                yield _metric(job.domain, job.model, job.study, number), score.value
                continue
            name, before = clean_name(f"{job.domain}/{arm}.{number}"), (0, 0.0)
            # The same in every job but for how many trials there are.
            offline[name] = max(offline.get(name, before), (summary.trials, score.value))
    yield from ((name, value) for name, (_, value) in offline.items())
    for matrix in matrices(record, summaries):
        number = "exact" if matrix.suite == "worlds" else "score"
        for model, score in matrix.means.items():
            yield _metric("overall", model, matrix.study, number), score.value


def _metric(domain: str, model: str, study: str, number: str) -> str:
    within = "" if study == "score" else f"{study}."
    return clean_name(f"{domain}/{model}.{within}model.{number}")


def _named(record: SweepRecord) -> dict[str, list[str]]:
    """What the sweep ran over; jobs left out are none of it."""
    jobs = [job for job in record.jobs if job.state != "left out"]
    return {name: list(dict.fromkeys(getattr(job, name) for job in jobs)) for name in _PLURAL}


def _params(record: SweepRecord) -> dict[str, str]:
    named = {_PLURAL[name]: ", ".join(sorted(found)) for name, found in _named(record).items()}
    return {"overrides": " ".join(record.overrides), **named}


def _name(record: SweepRecord) -> str:
    """Such as ``sweep · 2 domains x 3 models · score``."""
    parts = [
        found[0] if len(found) == 1 else f"{len(found)} {_PLURAL[what]}"
        for what, found in _named(record).items()
    ]
    return "sweep · {} x {} · {}".format(*parts)


def _files(client: Any, run: str, record: SweepRecord, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        text = json.dumps(record.as_dict(), indent=2, ensure_ascii=False) + "\n"
        (place / "sweep.json").write_text(text, "utf-8", errors="backslashreplace")
        (place / "sweep.md").write_text(table, "utf-8", errors="backslashreplace")
        client.log_artifacts(run, folder, "sweep")
    # As client.log_table writes it, which would add to an earlier table instead of replacing it.
    columns = list(rows[0])
    data = [[row[column] for column in columns] for row in rows]
    client.log_dict(run, {"columns": columns, "data": data}, _TABLE)
    client.set_tag(run, "mlflow.loggedArtifacts", json.dumps([{"path": _TABLE, "type": "table"}]))


def _owned(
    record: SweepRecord, part: SweepRecord, others: Sequence[SweepRecord]
) -> set[tuple[str, str, str, str]]:
    """The jobs whose runs belong to this sweep: no newer one ran them."""
    newer = {
        job.key
        for other in others
        if other.id != record.id and (other.started_utc, other.id) > (record.started_utc, record.id)
        for job in other.jobs
        if job.ran
    }
    return {job.key for job in part.jobs if job.ran} - newer


def _adopt(client: Any, experiment: str, parent: str, owned: set[tuple[str, str, str, str]]) -> None:
    for run in _runs(client, experiment, "tags.condition = '-'"):
        tags = run.data.tags
        version, model, study, domain = (tags.get(name, "") for name in _PLACE)
        if (version, model, study, domain) in owned and tags.get(_PARENT) != parent:
            client.set_tag(run.info.run_id, _PARENT, parent)


def _runs(client: Any, experiment: str, wanted: str) -> list[Any]:
    found: list[Any] = []
    token = None
    while True:
        page = client.search_runs([experiment], filter_string=wanted, max_results=1000, page_token=token)
        found += page
        token = page.token
        if not token:
            return found
