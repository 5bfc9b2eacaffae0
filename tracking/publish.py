"""Results of each version as a page of the documentation: ``python -m tracking.publish``.

Writes ``docs/results/<version>.md`` and its figures from records alone. What is custom, partial or unclean is
said at the top; an incomplete set has no headline number. A model whose configuration says
``publish: false`` (its vendor's terms forbid it, or were not read) is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from beeline.errors import BeelineError, StorageError
from beeline.overrides import config_folder
from beeline.records import Cell
from beeline.scoring import Overall, Summary, overall
from beeline.versions import is_official
from tracking import tables
from tracking.document import Alarms, Block, Document, Grid, Heading, Text
from tracking.gathering import Gathered, gather
from tracking.page import reading, version_blocks
from tracking.page_data import is_main, model_label, versions
from tracking.report import parse_decisions, write_markdown
from tracking.tables import clean, format_interval, format_score, version_domains
from tracking.traced import LEAST

__all__ = ["document", "main", "withheld"]

_TRIALS = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; returns 0, or 1 with one sentence on stderr. Wrong usage exits with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m tracking.publish",
        description="Write the results of each version as a page of the documentation, with figures, from "
        "records alone. What is custom, partial or unclean is said at the top; an incomplete set has no "
        "headline number. A model whose configuration says publish: false (its vendor's terms forbid it, or "
        "were not read) is left out, and the page says so.",
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    parser.add_argument("--version", metavar="V", help="only this version")
    parser.add_argument(
        "--output", type=Path, default=Path("docs/results"), metavar="DIR", help="default: docs/results"
    )
    parser.add_argument(
        "--withheld", action="store_true", help="also models whose configuration says publish: false"
    )
    parser.add_argument(
        "--traces",
        type=parse_decisions,
        default=LEAST,
        metavar="N|all|none",
        help=f"decisions to read from the traces of each domain and model (default: {LEAST})",
    )
    options = parser.parse_args(arguments)
    try:
        found = gather(options.results, {"version": options.version}, intervals=False)
        for note in found.notes:
            print(f"note: {note}", file=sys.stderr)
        names = [v for v in versions(found.summaries) if any(map(is_main, _of(found, v)))]
        if not names:
            raise StorageError(
                f"no scores to publish in {options.results}: run the benchmark first (study=score or "
                "study=baseline), or name another folder with --results DIR"
            )
        held = withheld(found)
        for version in names:
            left_out = sorted({s.cell.model for s in _of(found, version)} & set(held))
            page = document(found, version, left_out, options.withheld, options.traces)
            path = write_markdown(page, options.output / f"{version}.md", "--output")
            kept = f" (left out: {', '.join(left_out)})" if left_out and not options.withheld else ""
            print(f"{path}{kept}")
    except BeelineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _of(found: Gathered, version: str) -> list[Summary]:
    return [s for s in found.summaries if s.cell.version == version]


def withheld(found: Gathered) -> list[str]:
    """Models whose configuration says ``publish: false``: the one they ran with, or today's of the
    same name or the same API name."""
    closed = list(_closed())
    held = set()
    for summary in found.summaries:
        ran = _ran_with(found.results, summary.cell)
        same = {("name", summary.cell.model), ("id", summary.model_id)}
        if ran.get("publish") is False or any(same & {(k, c.get(k)) for k in ("name", "id")} for c in closed):
            held.add(summary.cell.model)
    return sorted(held - {"none"})


def _closed() -> Iterable[dict[str, Any]]:
    """The model configurations that say ``publish: false``."""
    from omegaconf import OmegaConf

    for path in sorted((config_folder() / "model").glob("*.yaml")):
        try:
            config = OmegaConf.to_container(OmegaConf.load(path))
        except Exception:  # a file that is being edited says nothing
            continue
        if isinstance(config, dict) and config.get("publish") is False:
            yield {"name": config.get("name") or path.stem, "id": config.get("id")}


def _ran_with(results: Path, cell: Cell) -> dict[str, Any]:
    try:
        spec = json.loads(cell.path(results).with_suffix(".spec.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    model = spec.get("model") if isinstance(spec, dict) else None
    return model if isinstance(model, dict) else {}


def document(
    found: Gathered,
    version: str,
    held: Sequence[str] = (),
    show_held: bool = False,
    least: int | None = LEAST,
) -> Document:
    """The page of one version. ``held`` models are left out unless ``show_held``."""
    shown = [s for s in found.summaries if show_held or s.cell.model not in held]
    part = replace(found, summaries=shown)
    main = [s for s in shown if s.cell.version == version and is_main(s)]
    problems: list[str] = []
    sets = _sets(version, main)
    blocks: list[Block] = [*_statements(found, version, main, sets)]
    if held:
        names = ", ".join(clean(name) for name in held)
        verb = "Shown all the same:" if show_held else "Left out:"
        blocks.append(Text(f"{verb} {names}; the configuration says publish: false."))
    blocks.append(Heading(2, "Headline scores"))
    blocks += _headlines(version, sets)
    # Without every set being whole, scores over what they share would look like headlines.
    whole = bool(sets) and all(item.complete for item in sets.values())
    blocks += version_blocks(part, version, least, problems, overalls=whole)
    blocks += reading()
    blocks += [Text(problem, small=True) for problem in problems]
    return Document(f"Results, benchmark version {version}", _lede(main), blocks)


def _lede(main: Sequence[Summary]) -> str:
    models = len({s.cell.model for s in main} - {"none"})
    records = sum(s.records for s in main)
    return (
        f"{models} model{'s' * (models != 1)} and the arms that ask none, {records:,} records. Written by "
        "python -m tracking.publish from records alone; do not edit."
    )


def _sets(version: str, main: Sequence[Summary]) -> dict[str, Overall]:
    """By model (``none`` for the baseline) what its domains give together."""
    cells: dict[str, list[Summary]] = {}
    for summary in main:
        cells.setdefault(summary.cell.model, []).append(summary)
    return {model: overall(members, version_domains(version)) for model, members in sorted(cells.items())}


def _headlines(version: str, sets: dict[str, Overall]) -> list[Block]:
    rows, missing = [], []
    offline = next((item for item in sets.values() if item.complete), None)
    if offline is not None:
        rows += [(arm, score) for arm, score in offline.arms.items() if arm != "model"]
    ranked = []
    for model, item in sets.items():
        score = item.headline("model")
        if score is not None:
            ranked.append((model_label(model), score))
        elif model != "none":
            missing.append(f"{clean(model)}: no headline score, {_owed(version, item)}")
    rows += sorted(ranked, key=lambda row: (-row[1].value, row[0]))
    blocks: list[Block] = []
    if rows:
        table = tuple((clean(label), format_score(i.value), format_interval(i)) for label, i in rows)
        blocks.append(Grid("", ("arm", "score", "95% interval"), table))
    if not any(item.complete for item in sets.values()):
        blocks.append(Text(f"No headline number: no set has all domains with trials 1 to {_TRIALS}."))
    return [*blocks, *(Text(line) for line in missing)]


def _owed(version: str, item: Overall) -> str:
    if not version_domains(version):
        return "the version's domains are not known to this program"
    absent = [d for d in item.missing if d not in item.domains]
    short = [d for d in item.missing if d in item.domains]
    parts = [f"{', '.join(absent)} missing"] if absent else []
    parts += [f"{', '.join(short)} without all of trials 1 to {_TRIALS}"] if short else []
    return "; ".join(parts) or "it holds domains that are not the version's"


def _statements(
    found: Gathered, version: str, main: Sequence[Summary], sets: dict[str, Overall]
) -> list[Alarms]:
    """Custom, partial, unclean: what a reader must know first."""
    lines = []
    if not is_official(version):
        lines.append(
            "custom: settings differ from those of a released version; compare with no other version"
        )
    partial = [model for model, item in sets.items() if not item.complete]
    if partial:
        names = ", ".join("the arms without a model" if m == "none" else clean(m) for m in partial)
        lines.append(f"partial: domains or trials are missing of {names}")
    mine = {f"{version}/{model}/" for model in sets}
    lines += [f"unclean: {stop}" for stop in found.stops if any(stop.startswith(place) for place in mine)]
    lines += [f"unclean: {line}" for line in tables.alarm_lines(main)]
    lines += [f"unclean: {note}" for note in found.notes if any(f"/{place}" in note for place in mine)]
    lines += _unclean_code(found, main)
    for summary in main:
        usage = summary.arms["model"].usage if "model" in summary.arms else None
        if usage is not None and len(usage.served_models) > 1:
            names = ", ".join(clean(name) for name in usage.served_models)
            where = f"{clean(summary.cell.model)} in {clean(summary.cell.domain)}"
            lines.append(f"unclean: {where} was served by several models: {names}")
    return [Alarms(tuple(lines))] if lines else []


def _unclean_code(found: Gathered, main: Sequence[Summary]) -> list[str]:
    codes = {code for s in main for code in found.codes.get(s.cell, ())}
    lines = []
    dirty = sorted(code for code in codes if "dirty" in code)
    if dirty:
        lines.append(f"unclean: run by code with changes that no revision holds: {clean(', '.join(dirty))}")
    if len(codes) > 1:
        lines.append(f"unclean: run by {len(codes)} revisions of the code: {clean(', '.join(sorted(codes)))}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
