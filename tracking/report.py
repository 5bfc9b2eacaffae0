"""Tables and figures from records alone: ``python -m tracking.report``.

Text, Markdown, CSV or JSON goes to the terminal or a file; ``--html`` writes one page with everything in
it, ``--markdown`` the same as Markdown with its figures in a folder beside it.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from beeline.errors import BeelineError, StorageError
from beeline.scoring import Measure, Summary
from beeline.world_summary import WorldSummary
from tracking import tables, world_tables
from tracking.document import Document
from tracking.gathering import Gathered, gather
from tracking.traced import LEAST

__all__ = ["FORMATS", "load", "main", "parse_decisions", "render", "write_markdown", "write_pages"]

FORMATS = ("text", "markdown", "csv", "json")


def load(
    results: Path,
    version: str | None = None,
    model: str | None = None,
    study: str | None = None,
    domain: str | None = None,
    intervals: bool = True,
) -> tuple[list[Summary], list[str]]:
    """Summaries of the navigation cells that match, sorted by path, and notes on lines passed over.

    Raises StorageError for a file that cannot be read, a newer one, or mixed records.
    """
    filters = {"version": version, "model": model, "study": study, "domain": domain}
    found = gather(results, filters, intervals)
    return found.summaries, found.notes


def render(
    summaries: Sequence[Summary],
    format: str = "text",
    width: int = 80,
    stops: Sequence[str] = (),
    worlds: Sequence[WorldSummary] = (),
) -> str:
    """The report in one of FORMATS; ``width`` is in characters and matters for text only.
    ``stops`` say which conditions ended early (beeline.stops). Families of worlds follow; their rows of
    CSV leave empty what they have no value of."""
    if format == "text":
        blocks = [tables.text(summaries, width, stops=stops)] if summaries else []
        return "\n".join([*blocks, world_tables.text(worlds, width)] if worlds else blocks)
    if format == "markdown":
        return _markdown(summaries, stops, worlds)
    if format == "csv":
        return _csv(summaries, worlds)
    if format == "json":
        data = {
            "alarms": [*tables.alarm_lines(summaries, stops), *world_tables.alarm_lines(worlds)],
            "summaries": [summary.as_dict() for summary in summaries],
            "overall": [item.as_dict() for item in tables.overalls(summaries)],
            "worlds": [summary.as_dict() for summary in worlds],
        }
        return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    raise ValueError(f"no such format: {format}")


def _markdown(summaries: Sequence[Summary], stops: Sequence[str], worlds: Sequence[WorldSummary]) -> str:
    def row(values: Sequence[str]) -> str:
        return "| " + " | ".join(_escape(value) for value in values) + " |"

    alarms = [*tables.alarm_lines(summaries, stops), *world_tables.alarm_lines(worlds)]
    blocks = ["\n".join(f"- **{_escape(line)}**" for line in alarms)] if alarms else []
    for summary in summaries:
        lines = [f"### {_escape(tables.title(summary))}", "", row(tables.HEADINGS)]
        lines.append("|---|" + "---:|" * (len(tables.HEADINGS) - 1))
        lines += [row(tables.cells(arm, result)) for arm, result in summary.arms.items()]
        notes = [tables.model_line(result) for result in summary.arms.values()]
        for note in [*notes, *tables.footnotes(summary)]:
            if note:
                lines += ["", _escape(note)]
        blocks.append("\n".join(lines))
    for item in tables.overalls(summaries):
        what = "overall" if item.complete else f"overall of {', '.join(item.domains)} only, no headline score"
        head = f"### {_escape(f'{what} · model {item.model} · {item.condition} · version {item.version}')}"
        lines = [head, "", row(("arm", "score", "95% interval")), "|---|---:|---:|"]
        lines += [
            row(
                (
                    item.model if arm == "model" else arm,
                    tables.format_score(score.value),
                    tables.format_interval(score),
                )
            )
            for arm, score in item.arms.items()
        ]
        blocks.append("\n".join(lines))
    for family in worlds:
        lines = [f"### {_escape(world_tables.title(family))}", "", row(world_tables.HEADINGS)]
        lines.append("|---|" + "---:|" * (len(world_tables.HEADINGS) - 1))
        lines += [row(cells) for cells in world_tables.rows(family)]
        for note in world_tables.diagnosis(family):
            lines += ["", _escape(note)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _escape(text: str) -> str:
    for sign in "\\|*_<`":
        text = text.replace(sign, "\\" + sign)
    return text


def _csv(summaries: Sequence[Summary], worlds: Sequence[WorldSummary]) -> str:
    rows = [row for summary in summaries for row in _flat(summary)]
    rows += [row for family in worlds for row in world_tables.flat(family)]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


_MEASURES = (
    "coverage",
    "solved_only",
    "path_score",
    "optimal_share",
    "mean_regret",
    "dead_end_share",
    "on_path_share",
)


def _flat(summary: Summary) -> Iterator[dict[str, Any]]:
    cell = summary.cell
    for arm, result in summary.arms.items():
        row: dict[str, Any] = {
            **asdict(cell),
            "heuristic": summary.heuristic,
            "arm": arm,
            "trials": result.trials,
            "unsolved": result.unsolved,
            "expansions": result.expansions,
            "score": result.score.value,
            "score_low": result.score.low,
            "score_high": result.score.high,
        }
        for name in _MEASURES:
            measure: Measure = getattr(result, name)
            row[name] = measure.value
            row[f"{name}_low"] = measure.interval.low if measure.interval else None
            row[f"{name}_high"] = measure.interval.high if measure.interval else None
            row[f"{name}_left_out"] = measure.left_out
        if result.usage is not None:
            for name in result.usage.__dataclass_fields__:
                value = getattr(result.usage, name)
                row[name] = json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value
        yield row


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tracking.report",
        description="Scores with 95% intervals, choices and usage, from the records of a results folder.",
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    for name, what in (("version", "V"), ("model", "M"), ("study", "S"), ("domain", "D")):
        parser.add_argument(f"--{name}", metavar=what, help=f"only this {name}")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write here, not to the terminal")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a page with figures (a folder gets report.html)"
    )
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write Markdown, figures beside it (a folder: report.md)",
    )
    parser.add_argument(
        "--traces",
        type=parse_decisions,
        default=LEAST,
        metavar="N|all|none",
        help=f"decisions to read from the traces of each domain and model (default: {LEAST})",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, or 1 with one sentence on stderr. Wrong usage exits with 2."""
    options = _parser().parse_args(arguments)
    filters = {name: getattr(options, name) for name in ("version", "model", "study", "domain")}
    pages = bool(options.html or options.markdown)
    try:
        found = gather(options.results, filters, options.format in ("csv", "json"), whole=pages)
        for note in found.notes:
            print(f"note: {note}", file=sys.stderr)
        if not found.summaries and not found.worlds:
            asked = " ".join(f"--{name} {value}" for name, value in filters.items() if value is not None)
            raise StorageError(
                f"no records in {options.results}{f' for {asked}' if asked else ''}: make some with "
                "`python -m beeline`, or name another folder with --results DIR"
            )
        if pages:
            for path in write_pages(found, options.html, options.markdown, options.traces):
                print(path)
        if not pages or options.output:
            _plain(found, options.format, options.output)
    except BeelineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def parse_decisions(value: str) -> int | None:
    """What ``--traces`` means: decisions, 0 for none, None for all."""
    if value in ("all", "none"):
        return None if value == "all" else 0
    if not value.isascii() or not value.isdigit():
        raise argparse.ArgumentTypeError(f"{value!r}: give a number of decisions, all or none")
    return int(value)


def _plain(found: Gathered, format: str, output: Path | None) -> None:
    width = 80 if output else shutil.get_terminal_size((80, 24)).columns
    if format == "csv":  # rows only: what has no row is said beside them
        alarms = tables.alarm_lines(found.summaries, found.stops)
        for line in [*alarms, *world_tables.alarm_lines(found.worlds)]:
            print(f"! {line}", file=sys.stderr)
    _write(render(found.summaries, format, width, found.stops, found.worlds), output)


def write_pages(
    found: Gathered, html: Path | None, markdown: Path | None, least: int | None = LEAST
) -> list[Path]:
    """Write the report as a page, as Markdown, or both, and return what was written. A folder gets
    ``report.html`` or ``report.md``; Markdown's figures lie in ``<stem>-figures`` beside it. Raises
    StorageError."""
    from tracking.page import build

    document = build(found, least)
    written = []
    if html is not None:
        from tracking.html import render as as_html

        path = html / "report.html" if html.is_dir() else html
        _save(path, as_html(document).encode("utf-8", "backslashreplace"), "--html")
        written.append(path)
    if markdown is not None:
        path = markdown / "report.md" if markdown.is_dir() else markdown
        written.append(write_markdown(document, path, "--markdown"))
    return written


def write_markdown(document: Document, path: Path, option: str) -> Path:
    """Write Markdown to ``path`` and its figures into ``<stem>-figures`` beside it; returns ``path``.
    Raises StorageError, which names the command's ``option``."""
    from tracking.markdown import render as as_markdown

    folder = path.with_name(f"{path.name.removesuffix('.md')}-figures")
    text, files = as_markdown(document, quote(folder.name))
    for name, data in files.items():
        _save(folder / name, data, option)
    _save(path, text.encode("utf-8", "backslashreplace"), option)
    return path


def _save(path: Path, data: bytes, option: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise StorageError(
            f"cannot write {path} ({error.strerror or error}): choose another file with {option} FILE"
        ) from error


def _write(report: str, output: Path | None) -> None:
    data = report.encode("utf-8", errors="backslashreplace")
    if output is None:
        try:
            sys.stdout.flush()
            if hasattr(sys.stdout, "buffer"):
                sys.stdout.buffer.write(data)
            else:
                sys.stdout.write(report)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise StorageError(
            f"cannot write {output} ({error.strerror or error}): choose another file with --output FILE"
        ) from error


if __name__ == "__main__":
    sys.exit(main())
