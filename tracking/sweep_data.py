"""What a sweep measured: the main score of each of its jobs, and a matrix where it has two dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.errors import BeelineError
from beeline.records import Cell, find_cells, read_records
from beeline.scoring import BENCHMARK, Summary, overall, summarise
from beeline.statistics import mean
from beeline.sweep_record import SweepJob, SweepRecord
from beeline.world_summary import WorldSummary, summarise_worlds
from tracking.tables import version_domains

__all__ = [
    "AnySummary",
    "Matrix",
    "Score",
    "by_job",
    "job_name",
    "job_rows",
    "matrices",
    "scores_of",
    "sweep_summaries",
]

AnySummary = Summary | WorldSummary
Key = tuple[str, str, str, str]
"""(version, model, study, domain), as a job has it."""


@dataclass(frozen=True, slots=True)
class Score:
    """The main number of an arm: the score in navigation; in worlds the share with the exact optimum,
    which has no interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """The models' main numbers in one (version, study, suite) of a sweep."""

    version: str
    study: str
    suite: str
    domains: tuple[str, ...]
    models: tuple[str, ...]
    """Both in the order of the command."""
    scores: Mapping[tuple[str, str], Score]
    """By (domain, model), where there is one."""
    partial: frozenset[tuple[str, str]]
    """Those with fewer trials than were wanted."""
    means: Mapping[str, Score]
    """By model, where every domain is there in full: as of an overall score in navigation, else the
    mean of the families' shares."""


def sweep_summaries(record: SweepRecord, results: Path) -> tuple[list[AnySummary], list[str]]:
    """A summary of each job that ran, in the order of the jobs, from all trials on disk, and a sentence
    for each whose records cannot be read. Of several conditions it is the benchmark, else the first."""
    cells: dict[Key, list[tuple[Cell, Path]]] = {}
    for cell, path in find_cells(results, {job.version for job in record.jobs}):
        cells.setdefault((cell.version, cell.model, cell.study, cell.domain), []).append((cell, path))
    found: list[AnySummary] = []
    notes = []
    for job in {job.key: job for job in record.jobs if job.ran}.values():
        own = sorted(cells.get(job.key, []), key=lambda pair: pair[0].condition != BENCHMARK)
        if not own:
            continue
        try:
            records = read_records(own[0][1]).records
            if records:
                worlds = records[0].suite == "worlds"
                found.append(summarise_worlds(records) if worlds else summarise(records, intervals=False))
        except BeelineError as error:
            notes.append(f"{job_name(record, job)}: {error}")
    return found, notes


def by_job(summaries: Sequence[AnySummary]) -> dict[Key, AnySummary]:
    """Summaries by the job that made them: of several conditions the benchmark, else the first."""
    found: dict[Key, AnySummary] = {}
    for summary in summaries:
        cell = summary.cell
        key = (cell.version, cell.model, cell.study, cell.domain)
        if key not in found or cell.condition == BENCHMARK:
            found[key] = summary
    return found


def scores_of(summary: AnySummary) -> dict[str, Score]:
    """The main number of each arm."""
    if isinstance(summary, WorldSummary):
        return {arm: Score(groups["all"].exact) for arm, groups in summary.arms.items()}
    return {arm: Score(a.score.value, a.score.low, a.score.high) for arm, a in summary.arms.items()}


def job_name(record: SweepRecord, job: SweepJob) -> str:
    """``tiles · sparrow · score``, with the version where the sweep has several."""
    parts = [job.domain, job.model, job.study]
    if len({other.version for other in record.jobs}) > 1:
        parts.append(f"version {job.version}")
    return " · ".join(parts)


def job_rows(record: SweepRecord, summaries: Sequence[AnySummary]) -> list[dict[str, Any]]:
    """One row a job: plain values, None where there are none. ``measure`` says what the numbers are: of
    the model in ``value``, ``low`` and ``high``, and of the arms that no model changes."""
    found = by_job(summaries)
    rows = []
    for job in record.jobs:
        summary = found.get(job.key) if job.ran else None
        scores = {} if summary is None else scores_of(summary)
        model = scores.get("model")
        rows.append(
            {
                "domain": job.domain,
                "model": job.model,
                "study": job.study,
                "version": job.version,
                "suite": job.suite,
                "state": job.state,
                "finished": job.finished,
                "wanted": job.wanted,
                "measure": None if summary is None else "exact" if summary.suite == "worlds" else "score",
                "value": None if model is None else model.value,
                "low": None if model is None else model.low,
                "high": None if model is None else model.high,
                **{a: scores[a].value if a in scores else None for a in ("oracle", "heuristic", "random")},
                "reason": job.reason,
            }
        )
    return rows


def matrices(record: SweepRecord, summaries: Sequence[AnySummary]) -> list[Matrix]:
    """A matrix for each (version, study, suite) of the sweep, of whatever size, in the order of the jobs."""
    groups: dict[tuple[str, str, str], dict[Key, SweepJob]] = {}
    for job in record.jobs:
        if job.state != "left out":
            groups.setdefault((job.version, job.study, _suite(record, job)), {})[job.key] = job
    found = by_job(summaries)
    return [_matrix(suite, list(jobs.values()), found) for (*_, suite), jobs in groups.items()]


def _suite(record: SweepRecord, job: SweepJob) -> str:
    """A job that failed before its domain was made may not know its suite: then that of its domain's
    others, else that of its neighbours, so that its row is missed where it belongs."""
    if job.suite:
        return job.suite
    known = [other for other in record.jobs if other.suite and other.state != "left out"]
    alike = [other.suite for other in known if other.domain == job.domain] + [o.suite for o in known]
    return alike[0] if alike else ""


def _matrix(suite: str, jobs: Sequence[SweepJob], summaries: Mapping[Key, AnySummary]) -> Matrix:
    domains = tuple(dict.fromkeys(job.domain for job in jobs))
    models = tuple(dict.fromkeys(job.model for job in jobs))
    scores, partial = {}, set()
    whole: dict[str, list[AnySummary]] = {}
    for job in jobs:
        summary = summaries.get(job.key) if job.ran else None
        score = None if summary is None else scores_of(summary).get("model")
        if summary is None or score is None:
            continue
        scores[job.domain, job.model] = score
        if job.state != "done" or job.finished < job.wanted:
            partial.add((job.domain, job.model))
        else:
            whole.setdefault(job.model, []).append(summary)
    means = {model: _mean(own) for model, own in whole.items() if len(own) == len(domains) > 1}
    first = jobs[0]
    return Matrix(
        first.version,
        first.study,
        suite,
        domains,
        models,
        scores,
        frozenset(partial),
        {model: score for model, score in means.items() if score is not None},
    )


def _mean(summaries: Sequence[AnySummary]) -> Score | None:
    """None where the summaries are not of one condition."""
    if len({summary.cell.condition for summary in summaries}) != 1:
        return None
    searches = [summary for summary in summaries if isinstance(summary, Summary)]
    if not searches:
        return Score(mean([scores_of(summary)["model"].value for summary in summaries]))
    if len(searches) != len(summaries):
        return None
    interval = overall(searches, version_domains(searches[0].cell.version)).arms["model"]
    return Score(interval.value, interval.low, interval.high)
