"""What a sweep ends with: a matrix of domains and models, the jobs that failed, and a count.

:func:`sweep_text` is for the terminal, below the tables of the jobs; :func:`write_sweep_table` puts the
same, with one row a job, as Markdown beside the sweep's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from beeline.sweep_record import SweepRecord, write_text
from tracking.document import Block, Document, Grid, Heading, Text
from tracking.markdown import render
from tracking.sweep_data import AnySummary, Matrix, Score, job_name, job_rows, matrices, sweep_summaries
from tracking.tables import clean, format_score, table_lines, wrap_line

__all__ = ["count_line", "sweep_markdown", "sweep_text", "write_sweep_table"]

_PARTIAL = "°"
_MEAN = "mean"


def sweep_text(record: SweepRecord, summaries: Sequence[AnySummary], width: int = 80) -> str:
    """The matrices, what failed and a count, no line longer than ``width``; ends with a newline."""
    width = max(width, 20)
    blocks = [
        "\n".join(_matrix_lines(matrix, width)) for matrix in matrices(record, summaries) if _two(matrix)
    ]
    ends = [line for told in _troubles(record) for line in _entry(told, width)]
    blocks.append("\n".join([*ends, *wrap_line(f"sweep: {count_line(record)}", width)]))
    return "\n\n".join(blocks) + "\n"


def count_line(record: SweepRecord) -> str:
    """Such as ``14 jobs, 12 done, 1 failed, 1 left out``."""
    count = len(record.jobs)
    states = [f"{number} {state}" for state, number in record.counts.items()]
    return ", ".join([f"{count} job{'s' * (count != 1)}", *states])


def write_sweep_table(
    record: SweepRecord, results: Path, summaries: Sequence[AnySummary] | None = None
) -> Path:
    """Write ``<results>/sweeps/<id>.md``; returns its path. ``summaries`` default to those of the records
    on disk. Raises StorageError."""
    notes: list[str] = []
    if summaries is None:
        summaries, notes = sweep_summaries(record, results)
    path = record.path(results).with_suffix(".md")
    write_text(path, sweep_markdown(record, summaries, notes))
    return path


def sweep_markdown(record: SweepRecord, summaries: Sequence[AnySummary], notes: Sequence[str] = ()) -> str:
    """The whole as Markdown. ``notes`` say what could not be read."""
    blocks: list[Block] = [Text(f"Started {record.started_utc}, ended {record.finished_utc}, {record.code}.")]
    if record.overrides:
        blocks.append(Text(f"Overrides: {' '.join(record.overrides)}"))
    blocks += [_grid(matrix) for matrix in matrices(record, summaries) if _two(matrix)]
    troubles = _troubles(record)
    if troubles or notes:
        blocks.append(Heading(2, "What failed"))
        blocks += [Text(line) for line in (*troubles, *notes)]
    blocks += [Heading(2, "Jobs"), _jobs(record, summaries)]
    return render(Document(f"Sweep {record.id}", f"{count_line(record)}.", blocks), "")[0]


def _two(matrix: Matrix) -> bool:
    return len(matrix.domains) > 1 and len(matrix.models) > 1


def _title(matrix: Matrix) -> str:
    what = "share of worlds with the exact optimum" if matrix.suite == "worlds" else "scores"
    return clean(f"{what} · study {matrix.study} · version {matrix.version}")


def _notes(matrix: Matrix) -> list[str]:
    notes = []
    if matrix.means:
        what = "of the families' shares" if matrix.suite == "worlds" else "geometric, of the domains' scores"
        notes.append(f"{_MEAN}: {what}, where all are there")
    if matrix.partial:
        notes.append(f"{_PARTIAL} not all trials")
    return notes


def _rows(matrix: Matrix, intervals: bool) -> list[tuple[str, ...]]:
    rows = []
    for domain in matrix.domains:
        found = [
            _score(matrix, matrix.scores.get((domain, m)), intervals, (domain, m) in matrix.partial)
            for m in matrix.models
        ]
        rows.append((clean(domain), *found))
    if matrix.means:
        means = [_score(matrix, matrix.means.get(m), intervals, False) for m in matrix.models]
        rows.append((_MEAN, *means))
    return rows


def _score(matrix: Matrix, score: Score | None, intervals: bool, partial: bool) -> str:
    if score is None:
        return "-"
    sign = _PARTIAL if partial else ""
    if matrix.suite == "worlds":
        return f"{100 * score.value:.0f}%{sign}"
    text = f"{format_score(score.value)}{sign}"
    return f"{text} {_interval(score)}" if intervals and score.low is not None else text


def _interval(score: Score) -> str:
    return "-" if score.low is None else f"{format_score(score.low)}-{format_score(score.high)}"


def _matrix_lines(matrix: Matrix, width: int) -> list[str]:
    """With intervals, without, or as a list: the first that fits."""
    lines = wrap_line(_title(matrix), width)
    notes = _notes(matrix)
    headings = ("domain", *map(clean, matrix.models))
    for intervals in (True, False):
        rows = _rows(matrix, intervals)
        if _width(headings, rows) <= width:
            lines += table_lines(headings, rows, width)
            if not intervals and matrix.suite != "worlds":
                notes.append("95% intervals: in the tables of the jobs")
            break
    else:
        for row in _rows(matrix, True):
            lines += wrap_line(row[0], width)
            for model, cell in zip(headings[1:], row[1:], strict=True):
                lines += wrap_line(f"{model}: {cell}", width, "  ")
    for note in notes:
        lines += wrap_line(note, width, "  ")
    return lines


def _width(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    columns = zip(headings, *rows, strict=True)
    return sum(max(map(len, column)) for column in columns) + 2 * (len(headings) - 1)


def _grid(matrix: Matrix) -> Grid:
    return Grid(_title(matrix), ("domain", *matrix.models), tuple(_rows(matrix, True)), tuple(_notes(matrix)))


def _troubles(record: SweepRecord) -> list[str]:
    """A line for each job that failed or stopped."""
    lines = []
    for job in record.jobs:
        if job.state not in ("failed", "stopped"):
            continue
        far = f", {job.finished} of {job.wanted} trials" if job.finished else ""
        why = " ".join((job.reason or "no reason was kept").split())
        lines.append(clean(f"{job.state}: {job_name(record, job)}{far}: {why}"))
    return lines


def _entry(line: str, width: int) -> list[str]:
    """Lines after the first are set in."""
    first, *_ = wrap_line(line, width)
    rest = line[len(first) :].strip()
    return [first, *(wrap_line(rest, width, "  ") if rest else [])]


def _jobs(record: SweepRecord, summaries: Sequence[AnySummary]) -> Grid:
    several = len({job.version for job in record.jobs}) > 1
    headings = ("domain", "model", "study", "state", "trials", "score", "95% interval", "heuristic", "random")
    rows = []
    for row in job_rows(record, summaries):

        def shown(value: float | None, measure: str | None = row["measure"]) -> str:
            if value is None:
                return "-"
            return f"{100 * value:.0f}%" if measure == "exact" else format_score(value)

        rows.append(
            (
                row["domain"],
                row["model"],
                row["study"] + (f" · version {row['version']}" if several else ""),
                row["state"],
                f"{row['finished']}/{row['wanted']}",
                shown(row["value"]),
                "-" if row["low"] is None else f"{shown(row['low'])}-{shown(row['high'])}",
                shown(row["heuristic"]),
                shown(row["random"]),
            )
        )
    worlds = any(row["measure"] == "exact" for row in job_rows(record, summaries))
    notes = ("Scores in per cent are shares of worlds with the exact optimum.",) if worlds else ()
    return Grid("", headings, tuple(rows), notes, frozenset({1, 2, 3}))
