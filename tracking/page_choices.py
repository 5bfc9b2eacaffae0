"""How models choose and answer: against the oracle, by place, by what they call likely, how fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from beeline.analysis import Figure, Series
from beeline.latency import LatencyHistogram
from beeline.records import Cell
from beeline.scoring import ArmSummary, Measure, Summary
from beeline.statistics.calibration import calibration_error, reliability_curve
from beeline.statistics.position import positions
from tracking.document import Block, Grid, Heading, Picture, picture_of
from tracking.figures_report import Curve, Histogram, Measured, choices
from tracking.gathering import Gathered
from tracking.page_data import entries, model_label, slug, sort_domains
from tracking.tables import clean, format_ms
from tracking.traced import Decisions, read_decisions

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["choice_blocks", "latency_blocks", "trace_blocks"]

_MEASURES: Sequence[tuple[str, str, Callable[[ArmSummary], Measure]]] = (
    ("optimal", "share of decisions", lambda r: r.optimal_share),
    ("regret", "moves lost a decision", lambda r: r.mean_regret),
    ("dead ends", "share of decisions", lambda r: r.dead_end_share),
)


def choice_blocks(version: str, main: Sequence[Summary]) -> list[Block]:
    """Optimal share, regret and dead ends in one figure, over the domains that all arms have, or with a
    warning where they have none in common; a measure that is zero everywhere is left out. The values
    stand in the tables of the domains."""
    domains = sort_domains(version, {s.cell.domain for s in main})
    found_in: dict[str, dict[str, ArmSummary]] = {}
    for domain in domains:
        for entry in entries([s for s in main if s.cell.domain == domain]):
            if entry.arm != "oracle" and any(m(entry.result).value is not None for *_, m in _MEASURES):
                found_in.setdefault(entry.label, {})[domain] = entry.result
    domains = [domain for domain in domains if any(domain in mine for mine in found_in.values())]
    shared = [domain for domain in domains if all(domain in mine for mine in found_in.values())]
    rows = {label: [mine[d] for d in shared or domains if d in mine] for label, mine in found_in.items()}
    labels = sorted(rows, key=lambda label: (label not in ("heuristic", "random"), label))
    measures = []
    for title, unit, measure in _MEASURES:
        found = [measure(result).value for label in labels for result in rows[label]]
        if any(found):
            values = [[v for r in rows[label] if (v := measure(r).value) is not None] for label in labels]
            measures.append(Measured(title, unit, values))
    if not measures:
        return []

    def drawing() -> Canvas:
        return choices(labels, measures)

    caption = (
        "Measured against the oracle's distances: dots are means over domains, faint marks single domains. "
        + _over(domains, shared)
        + " ".join(f"{m.title}: {_listed(labels, m)}." for m in measures)
    )
    title = f"Choices against the oracle, version {version}"
    return [
        Heading(3, f"Choices against the oracle · version {version}"),
        Picture(f"choices-{slug(version)}", title, caption, drawing),
    ]


def _over(domains: Sequence[str], shared: Sequence[str]) -> str:
    """What the means are over, where that is not simply everything."""
    if not shared:
        return "The arms have no domain in common, so these means do not compare: look at single domains. "
    if len(shared) == len(domains):
        return ""
    many = f"{len(shared)} domains" if len(shared) > 1 else "domain"
    return f"Over the {many} that all arms have: {clean(', '.join(shared))}. "


def _listed(labels: Sequence[str], measure: Measured) -> str:
    means = [(label, sum(v) / len(v)) for label, v in zip(labels, measure.values, strict=True) if v]
    return ", ".join(f"{clean(label)} {mean:.2f}" for label, mean in means)


def latency_blocks(
    version: str, main: Sequence[Summary], latencies: Mapping[Cell, LatencyHistogram]
) -> list[Block]:
    """Median and 95th percentile of a reply, pooled over all domains of each model."""
    parts: dict[str, list[LatencyHistogram]] = {}
    for summary in main:
        if summary.cell in latencies:
            parts.setdefault(model_label(summary.cell.model), []).append(latencies[summary.cell])
    rows = []
    for label, found in parts.items():
        pooled = LatencyHistogram.pooled(part.as_dict() for part in found)
        middle, late = pooled.percentile(0.5), pooled.percentile(0.95)
        if middle is not None and late is not None:
            rows.append((label, pooled.count, middle, late))
    rows.sort(key=lambda row: (row[2], row[0]))
    if not rows:
        return []
    figure = Figure(
        f"latency-{slug(version)}",
        "forest",
        f"Time to a reply, version {version}",
        "",
        "milliseconds (logarithmic): mark at the median, line to the 95th percentile",
        (
            Series(
                "reply",
                *(tuple(column) for column in zip(*((r[0], r[2], r[2], r[3]) for r in rows), strict=True)),
            ),
        ),
        log_y=True,
        caption="Fastest first: "
        + ", ".join(f"{r[0]} {format_ms(r[2])} (95th percentile {format_ms(r[3])})" for r in rows)
        + ".",
    )
    grid = Grid(
        "Time to a reply, pooled over domains",
        ("model", "replies", "median", "95th percentile"),
        tuple((clean(r[0]), f"{r[1]:,}", format_ms(r[2]), format_ms(r[3])) for r in rows),
    )
    return [Heading(3, f"Latency · version {version}"), picture_of(figure, figure.name), grid]


def trace_blocks(
    found: Gathered, version: str, main: Sequence[Summary], least: int | None, notes: list[str]
) -> list[Block]:
    """Calibration and places, where traces were kept; notes on unreadable ones are added to ``notes``."""
    curves, histograms, calibrated, placed = [], [], [], []
    left = False
    for model in sorted({s.cell.model for s in main if "model" in s.arms}):
        cells = [s.cell for s in main if s.cell.model == model]
        read, problems = read_decisions(found.results, cells, [found.runs[cell] for cell in cells], least)
        notes += problems
        left = left or bool(read.left)
        label = model_label(model)
        if read.probabilities:
            curve, row = _calibrated(label, read)
            curves.append(curve)
            calibrated.append(row)
        judged = positions(
            read.places, read.options, ("report", "position", version, model), read.place_trials
        )
        if judged is not None:
            histograms.append(Histogram(label, judged.histogram, judged.p_value))
            low, high = judged.relative_place.low, judged.relative_place.high
            placed.append(
                (
                    clean(label),
                    f"{judged.questions:,}",
                    f"{judged.relative_place.value:.3f}",
                    f"{low:.3f}-{high:.3f}",
                    f"{100 * judged.first.value:+.1f}%",
                    f"{100 * judged.last.value:+.1f}%",
                    f"{judged.p_value:.3f}",
                )
            )
    part = " Read from the first trials of each domain (all of them: --traces all)." if left else ""
    blocks: list[Block] = []
    if curves:

        def draw_curves() -> Canvas:
            from tracking.figures_report import calibration

            return calibration(curves)

        caption = (
            "How often the chosen option was optimal, against the probability it was given, with 95% "
            "intervals; on the dashed line a model keeps its promises, below it promises too much. The error "
            f"is the debiased expected calibration error.{part}"
        )
        title = f"Calibration, version {version}"
        headings = (
            "model",
            "decisions",
            "calibration error",
            "95% interval",
            "overconfidence",
            "95% interval",
        )
        blocks += [
            Heading(3, f"Calibration · version {version}"),
            Picture(f"calibration-{slug(version)}", title, caption, draw_curves),
            Grid("Calibration of the chosen option's probability", headings, tuple(calibrated)),
        ]
    if histograms:

        def draw_places() -> Canvas:
            from tracking.figures_report import positions as draw

            return draw(histograms)

        caption = (
            "Share of choices by tenth of the way from the first option shown to the last; the dashed line "
            f"is chance. p: how often chance alone is this uneven.{part}"
        )
        title = f"Place of the chosen option, version {version}"
        places = ("model", "questions", "mean place (chance 0.5)", "95% interval", "first", "last", "p")
        note = "first, last: preference for that place, 0% under chance, 100% if it alone decides."
        blocks += [
            Heading(3, f"Place of the chosen option · version {version}"),
            Picture(f"places-{slug(version)}", title, caption, draw_places),
            Grid("Place of the chosen option", places, tuple(placed), (note,)),
        ]
    return blocks


def _calibrated(label: str, read: Decisions) -> tuple[Curve, tuple[str, ...]]:
    error = calibration_error(read.probabilities, read.right, read.right_trials)
    curve = reliability_curve(read.probabilities, read.right, read.right_trials)
    over = error.overconfidence
    row = (
        clean(label),
        f"{len(read.right):,}",
        f"{error.error.value:.3f}",
        f"{error.error.low:.3f}-{error.error.high:.3f}",
        f"{over.value:+.3f}",
        f"{over.low:+.3f} to {over.high:+.3f}",
    )
    return Curve(label, curve, error.error.value), row
