"""The report as a document: what must be known first, then each version by itself, then across.

Versions are never mixed: each has a part of its own, and only the part after them sets them side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from beeline.analysis import Analysis, Figure, Series
from beeline.scoring import Summary
from beeline.versions import is_official
from beeline.world_summary import WorldSummary
from tracking import tables, world_tables
from tracking.analysis import figure_names
from tracking.document import Alarms, Block, Document, Grid, Heading, Text, grid_of, picture_of
from tracking.gathering import Gathered
from tracking.page_choices import choice_blocks, latency_blocks, trace_blocks
from tracking.page_cost import cost_blocks
from tracking.page_data import Entry, entries, is_main, model_label, slug, sort_domains, versions
from tracking.page_scores import domain_blocks, overall_blocks
from tracking.tables import cells, clean, format_interval
from tracking.traced import LEAST

__all__ = ["build", "reading", "version_blocks"]

_READING = (
    "score: (shortest path + 1) / states expanded, 1 is perfect; geometric mean over trials, with its 95% "
    "bootstrap interval. An unsolved trial counts at the expansion limit.",
    "solved: trials that reached a goal within the limit. path: shortest path / path found, of solved ones.",
    "optimal: share of decisions that took a state nearest to the goal; regret: moves lost a decision; dead: "
    "share of decisions that took a state from which no goal can be reached.",
    "refusals, invalid: replies that declined, or held no usable probability; asked once more. fallbacks: "
    "decisions that then took the state shown first. ties: answers whose top probability was shared. "
    "retries: tries that brought no reply.",
    "* model score with unsolved trials, † heuristic score with unsolved trials.",
)


def build(found: Gathered, least: int | None = LEAST) -> Document:
    """The whole report; ``least`` decisions a cell are read from traces (0: no traces, None: all)."""
    blocks: list[Block] = []
    alarms = [*tables.alarm_lines(found.summaries, found.stops), *(a for w in found.worlds for a in w.alarms)]
    if alarms:
        blocks.append(Alarms(tuple(alarms)))
    notes = list(found.notes)
    for version in versions(found.summaries):
        blocks += version_blocks(found, version, least, notes)
    blocks += _across(found.summaries)
    blocks += _studies(found.analyses)
    blocks += _others(found.summaries)
    blocks += _worlds(found)
    if found.summaries:
        blocks += reading()
    if notes:
        blocks.append(Heading(2, "Passed over"))
        blocks += [Text(note, small=True) for note in notes]
    return Document("beeline report", _lede(found), blocks)


def reading() -> list[Block]:
    """What the columns mean."""
    return [Heading(2, "How to read this"), *(Text(line, small=True) for line in _READING)]


def _lede(found: Gathered) -> str:
    every: list[Summary | WorldSummary] = [*found.summaries, *found.worlds]
    names = sorted({s.cell.version for s in every})
    counts = (
        _count(len({s.cell.model for s in every} - {"none"}), "model"),
        _count(len({s.cell.domain for s in every}), "domain"),
        _count(sum(s.records for s in every), "record"),
    )
    return (
        f"How well decision models plan: {', '.join(counts)}, benchmark version{'s' * (len(names) != 1)} "
        f"{', '.join(names)}. Every number is computed from records."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def version_blocks(
    found: Gathered, version: str, least: int | None, notes: list[str], overalls: bool = True
) -> list[Block]:
    """One version by itself; notes on traces are added to ``notes``. ``overalls=False`` leaves out scores
    over several domains."""
    main = [s for s in found.summaries if s.cell.version == version and is_main(s)]
    if not main:
        return []
    blocks: list[Block] = [Heading(2, f"Version {version}")]
    if not is_official(version):
        blocks.append(
            Text(
                "A custom version: its settings differ from those of a released one, so its scores compare "
                "with no other version's."
            )
        )
    if overalls:
        blocks += overall_blocks(version, main)
        blocks += cost_blocks(version, main)
    blocks += domain_blocks(version, main, found.latencies)
    blocks += choice_blocks(version, main)
    if least != 0:
        blocks += trace_blocks(found, version, main, least, notes)
    blocks += latency_blocks(version, main, found.latencies)
    return blocks


def _across(summaries: Sequence[Summary]) -> list[Block]:
    """The same model and domain under several versions; nothing where there is none."""
    main = [s for s in summaries if is_main(s)]
    places: dict[tuple[str, str], dict[str, Entry]] = {}
    for version in versions(main):
        mine = [s for s in main if s.cell.version == version]
        for domain in sort_domains(version, {s.cell.domain for s in mine}):
            for entry in entries([s for s in mine if s.cell.domain == domain]):
                places.setdefault((entry.label, domain), {})[version] = entry
    both = {place: found for place, found in places.items() if len(found) > 1}
    if not both:
        return []
    names = [v for v in versions(main) if any(v in found for found in both.values())]
    rows = []
    for (label, domain), found in sorted(both.items(), key=lambda item: item[0][0]):
        row = [clean(label), domain]
        for name in names:
            row += _score(found[name]) if name in found else ["-", "-"]
        rows.append(tuple(row))
    series = tuple(_series(name, both) for name in names)
    headings = ["arm", "domain"]
    for name in names:
        headings += [name, "95% interval"]
    blocks: list[Block] = [
        Heading(2, "Versions side by side"),
        Text(
            "Versions are different benchmarks: a difference here may be the version's and not the model's. "
            "Custom versions compare with none."
        ),
    ]
    figure = Figure(
        "versions",
        "forest",
        "The same model under several versions",
        "",
        "score (logarithmic)",
        tuple(one for one in series if one.x),
        log_y=True,
        caption="Score with 95% interval by model and domain, a mark for each version.",
    )
    if figure.series and len(figure.series[0].x) <= 40:
        blocks.append(picture_of(figure, figure.name))
    blocks.append(Grid("Score by version", tuple(headings), tuple(rows), (), frozenset({1})))
    return blocks


def _score(entry: Entry) -> list[str]:
    return [cells(entry.arm, entry.result)[1], format_interval(entry.result.score)]


def _series(version: str, both: Mapping[tuple[str, str], Mapping[str, Entry]]) -> Series:
    """The models' scores of one version, a row for each model and domain."""
    rows = [
        (f"{label}, {domain}", found[version].result.score)
        for (label, domain), found in both.items()
        if version in found and found[version].arm == "model"
    ]
    return Series(
        version,
        tuple(label for label, _ in rows),
        tuple(score.value for _, score in rows),
        tuple(score.low for _, score in rows),
        tuple(score.high for _, score in rows),
    )


def _studies(analyses: Sequence[Analysis]) -> list[Block]:
    """What studies concluded, grouped by study."""
    blocks: list[Block] = []
    for study in dict.fromkeys(sorted(a.study for a in analyses)):
        blocks.append(Heading(2, f"Study: {study.replace('_', ' ')}"))
        for number, analysis in enumerate(a for a in analyses if a.study == study):
            head = f"{analysis.study} · {analysis.domain} · {analysis.model} · version {analysis.version}"
            if analysis.variant:
                head += f" · {analysis.variant}"
            blocks += [Heading(3, head), Text(analysis.sentence)]
            for figure, stem in figure_names(analysis):
                blocks.append(picture_of(figure, f"study-{slug(study)}-{number + 1}-{stem}"))
            blocks += [grid_of(table) for table in analysis.tables]
            blocks += [Text(note, small=True) for note in analysis.notes]
    return blocks


def _others(summaries: Sequence[Summary]) -> list[Block]:
    """The scores of all conditions of other studies, one table a study."""
    groups: dict[tuple[str, str], list[Summary]] = {}
    for summary in summaries:
        if not is_main(summary):
            groups.setdefault((summary.cell.study, summary.cell.version), []).append(summary)
    blocks: list[Block] = []
    for (study, version), members in sorted(groups.items()):
        rows = []
        for summary in members:
            arm = "model" if "model" in summary.arms else next(iter(summary.arms))
            result = summary.arms[arm]
            _, score, interval, solved, *others = cells(arm, result)
            usage = result.usage
            counted = (usage.refusals, usage.fallbacks, usage.ties, usage.retries) if usage else ()
            label = model_label(summary.cell.model) if arm == "model" else arm
            rows.append(
                (
                    clean(label),
                    summary.cell.domain,
                    clean(summary.cell.condition),
                    score,
                    interval,
                    solved,
                    *others,
                    *(f"{n:,}" for n in counted),
                    *["-"] * (4 - len(counted)),
                )
            )
        headings: tuple[str, ...] = (
            "arm",
            "domain",
            "condition",
            "score",
            "95% interval",
            "solved",
            "path",
            "optimal",
            "regret",
            "dead",
        )
        headings += ("refusals", "fallbacks", "ties", "retries")
        title = f"Conditions of {study}, version {version}"
        blocks.append(Grid(title, headings, tuple(rows), (), frozenset({1, 2})))
    return [Heading(2, "Conditions of studies"), *blocks] if blocks else []


def _worlds(found: Gathered) -> list[Block]:
    if not found.worlds:
        return []
    blocks: list[Block] = [Heading(2, "Worlds")]
    for summary in found.worlds:
        blocks.append(Heading(3, world_tables.title(summary)))
        rows = tuple(tuple(row) for row in world_tables.rows(summary))
        blocks.append(Grid("", world_tables.HEADINGS, rows, tuple(world_tables.diagnosis(summary))))
    return blocks
