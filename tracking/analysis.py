"""What a study concludes, shown: text for the terminal, JSON and figures beside the records.

:func:`show` writes ``<results>/<version>/<model>/<study>/<domain>.analysis.json`` and, beside it,
``<domain>.<figure>.svg`` and ``.png`` for each figure that has data; an analysis that is one of several
of its domain has its variant behind the domain. :func:`load` finds the analyses again, for a report.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from beeline.analysis import Analysis, Figure, Series, Table
from tracking.tables import clean, table_lines, wrap_line

__all__ = [
    "SCHEMA",
    "analysis_path",
    "figure_paths",
    "find_analyses",
    "load",
    "read_analysis",
    "show",
    "text",
]

SCHEMA = 1
"""Version of the JSON form."""
_SUFFIX = ".analysis.json"


def show(analysis: Analysis, results: Path) -> str:
    """Write JSON and figures below ``results``; the text to print, which says where they lie.

    What was found is always in the text: a file that cannot be written costs one line in it.
    """
    width = shutil.get_terminal_size((80, 24)).columns
    lines = [text(analysis, width)]
    try:
        path = analysis_path(analysis, results)
        _write(path, (json.dumps(_plain({"schema": SCHEMA, **analysis.as_dict()}), **_JSON) + "\n").encode())
        lines.append(f"analysis: {path}")
        drawn = _draw(analysis, results)
        if drawn:
            names = ", ".join(at.name for at in drawn)
            lines.append(f"figures in {drawn[0].parent}, each as SVG and PNG: {names}")
    except OSError as error:
        lines.append(f"the analysis could not be written below {results} ({error.strerror or error})")
    except ImportError as error:
        lines.append(f"no figures: {error} (python -m pip install matplotlib)")
    return "\n".join(lines)


def text(analysis: Analysis, width: int = 80) -> str:
    """The sentence, the tables and the notes, no line longer than ``width``; ends with a newline."""
    width = max(width, 20)
    head = f"{analysis.study} · {analysis.domain} · model {analysis.model} · version {analysis.version}"
    blocks = ["\n".join([*wrap_line(clean(head), width), *wrap_line(clean(analysis.sentence), width)])]
    blocks += ["\n".join(_table(table, width)) for table in analysis.tables]
    notes = [line for note in analysis.notes for line in wrap_line(clean(note), width, "  ")]
    if notes:
        blocks.append("\n".join(notes))
    return "\n\n".join(blocks) + "\n"


def _table(table: Table, width: int) -> list[str]:
    rows = [tuple(clean(str(cell)) for cell in row) for row in table.rows]
    lines = wrap_line(clean(table.title), width) if table.title else []
    lines += table_lines(table.headings, rows, width)
    for note in table.notes:
        lines += wrap_line(clean(note), width, "  ")
    return lines


def analysis_path(analysis: Analysis, results: Path) -> Path:
    """Where the JSON lies."""
    folder = results / analysis.version / analysis.model / analysis.study
    return folder / f"{analysis.stem}{_SUFFIX}"


def figure_names(analysis: Analysis) -> list[tuple[Figure, str]]:
    """The figures that have data, each with its name as that of a file, all different."""
    from tracking.figures import has_data

    found, taken = [], set()
    for figure in analysis.figures:
        if not has_data(figure):
            continue
        stem = name = re.sub(r"[^A-Za-z0-9_-]+", "-", figure.name).strip("-") or "figure"
        more = 1
        while stem in taken:
            more += 1
            stem = f"{name}-{more}"
        taken.add(stem)
        found.append((figure, stem))
    return found


def figure_paths(analysis: Analysis, results: Path) -> list[tuple[Figure, Path]]:
    """The figures that have data, each with the path of its SVG; the PNG lies beside it."""
    folder = analysis_path(analysis, results).parent
    return [(figure, folder / f"{analysis.stem}.{stem}.svg") for figure, stem in figure_names(analysis)]


def _draw(analysis: Analysis, results: Path) -> list[Path]:
    paths = figure_paths(analysis, results)
    if not paths:
        return []
    from tracking.figures import images

    for figure, path in paths:
        as_svg, as_png = images(figure)
        _write(path, as_svg.encode("utf-8", "backslashreplace"))
        _write(path.with_suffix(".png"), as_png)
    return [path for _, path in paths]


def find_analyses(results: Path) -> list[Path]:
    """The JSON files below a results folder, sorted by path."""
    return sorted(results.glob(f"*/*/*/*{_SUFFIX}"))


def load(
    results: Path,
    version: str | None = None,
    model: str | None = None,
    study: str | None = None,
    domain: str | None = None,
) -> tuple[list[Analysis], list[str]]:
    """The analyses that match, sorted by path, and a note on each file that was passed over."""
    found, notes = [], []
    for path in find_analyses(results):
        parts = path.relative_to(results).parts
        stem = parts[3].removesuffix(_SUFFIX)
        place = (*parts[:3], stem)
        wanted = zip((version, model, study, domain), (*parts[:3], stem.partition(".")[0]), strict=True)
        if any(want is not None and want != have for want, have in wanted):
            continue
        try:
            analysis = read_analysis(path)
        except (OSError, ValueError) as error:
            notes.append(f"{path} was passed over ({error}): run the study again to have it written anew")
            continue
        if (analysis.version, analysis.model, analysis.study, analysis.stem) != place:
            notes.append(f"{path} was passed over: it is the analysis of another place")
            continue
        found.append(analysis)
    return found, notes


def read_analysis(path: Path) -> Analysis:
    """Read one file; raises OSError, or ValueError saying what is wrong with it."""
    data = json.loads(path.read_text("utf-8"))
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    if data.get("schema") != SCHEMA:
        raise ValueError(f"schema {data.get('schema')!r}, this program reads {SCHEMA}")
    try:
        return Analysis(
            **{name: _text(data[name]) for name in ("study", "domain", "model", "version", "sentence")},
            tables=tuple(_read_table(table) for table in data.get("tables", ())),
            figures=tuple(_read_figure(figure) for figure in data.get("figures", ())),
            data=dict(data.get("data") or {}),
            notes=tuple(_text(note) for note in data.get("notes", ())),
            variant=_text(data.get("variant", "")),
        )
    except KeyError as error:
        raise ValueError(f"no field {error.args[0]}") from error
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not an analysis: {error}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} where text belongs")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_text(value) for value in values)


def _read_table(data: Mapping[str, Any]) -> Table:
    headings = _texts(data["headings"])
    rows = tuple(_texts(row) for row in data["rows"])
    if any(len(row) != len(headings) for row in rows):
        raise TypeError(f"table {data['title']!r} has rows of other lengths than its headings")
    return Table(_text(data["title"]), headings, rows, _texts(data.get("notes", ())))


def _read_figure(data: Mapping[str, Any]) -> Figure:
    if data["kind"] not in ("forest", "bars", "lines", "scatter"):
        raise TypeError(f"figure {data['name']!r} is of no known kind")
    words = {name: _text(data[name]) for name in ("name", "title", "x_label", "y_label")}
    return Figure(
        **words,
        kind=data["kind"],
        series=tuple(_read_series(series) for series in data["series"]),
        reference=data.get("reference"),
        log_x=bool(data.get("log_x")),
        log_y=bool(data.get("log_y")),
        caption=_text(data.get("caption", "")),
    )


def _read_series(data: Mapping[str, Any]) -> Series:
    columns = {name: tuple(data.get(name, ())) for name in ("x", "y", "low", "high")}
    return Series(label=_text(data["label"]), **columns)


_JSON: dict[str, Any] = {"ensure_ascii": False, "indent": 2, "allow_nan": False}


def _plain(value: Any) -> Any:
    """JSON data: keys as text, NumPy's numbers as Python's, what is not finite as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
