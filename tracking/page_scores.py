"""Scores of one version: over the domains that all models share, then domain by domain, with what is
published of the same version beside them and what each model was asked below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from beeline.analysis import Figure, Series
from beeline.latency import LatencyHistogram
from beeline.records import Cell
from beeline.scoring import Overall, Summary, UsageSummary
from beeline.statistics import Interval
from tracking import published
from tracking.document import Block, Grid, Heading, Text, picture_of
from tracking.page_data import Entry, decisions, entries, model_label, shared_overalls, slug, sort_domains
from tracking.tables import cells, clean, format_interval, format_ms, format_score, mark, version_domains

__all__ = ["domain_blocks", "overall_blocks"]

_HEADINGS = ("arm", "score", "95% interval", "trials", "solved", "path", "optimal", "regret", "dead")
_INCOMPLETE = (
    "headline no: domains of the version or some of their 100 trials are missing, so the score holds for "
    "what is there and is not to be quoted as the benchmark's."
)

Scored = tuple[str, Interval]


def overall_blocks(version: str, main: Sequence[Summary]) -> list[Block]:
    """Figure and table over the domains that all models share; nothing for a single domain."""
    domains, scores = shared_overalls(version, main)
    if len(domains) < 2:
        if len({summary.cell.domain for summary in main}) < 2:
            return []
        shared = f"only {domains[0]}" if domains else "no domain"
        return [Text(f"No overall score: the models of this version share {shared}. See each domain below.")]
    models: list[tuple[str, Interval, Overall]] = [
        (model_label(model), item.arms["model"], item)
        for model, item in scores.items()
        if "model" in item.arms
    ]
    models.sort(key=lambda row: (-row[1].value, row[0]))
    # The arms that ask no model are the same whoever ran them: take the most complete set.
    source = min(scores.values(), key=lambda item: (not item.complete, item.model != "none", item.model))
    offline = [(arm, score, source) for arm, score in source.arms.items() if arm != "model"]
    rows = tuple(
        (clean(label), format_score(score.value), format_interval(score), "yes" if item.complete else "no")
        for label, score, item in (*offline, *models)
    )
    over = "all domains of the version" if tuple(domains) == version_domains(version) else ", ".join(domains)
    grid = Grid(
        f"Overall: geometric mean over {over}",
        ("arm", "score", "95% interval", "headline"),
        rows,
        () if all(row[3] == "yes" for row in rows) else (_INCOMPLETE,),
        words=frozenset({3}),
    )
    figure = _figure(
        f"overall-{slug(version)}",
        f"Overall score, version {version}",
        [(label, score) for label, score, _ in models],
        [(arm, score) for arm, score, _ in offline],
        [],
        f"Geometric mean over {over}",
    )
    return [picture_of(figure, figure.name), grid]


def domain_blocks(
    version: str, main: Sequence[Summary], latencies: Mapping[Cell, LatencyHistogram]
) -> list[Block]:
    """For each domain a figure, the table of scores, and what the models were asked."""
    blocks: list[Block] = []
    for domain in sort_domains(version, {s.cell.domain for s in main}):
        rows = entries([s for s in main if s.cell.domain == domain])
        figure = _domain_figure(version, domain, rows)
        blocks += [Heading(3, f"{domain} · version {version}"), picture_of(figure, figure.name)]
        blocks.append(_scores(version, domain, rows))
        asked = [entry for entry in rows if entry.result.usage is not None]
        if asked:
            blocks.append(_asked(asked, latencies))
    return blocks


def _domain_figure(version: str, domain: str, rows: Sequence[Entry]) -> Figure:
    theirs: list[tuple[str, Interval]] = []
    if version == published.VERSION:
        arms = published.OFFLINE.get(domain, {})
        for entry in rows:
            known = arms.get(entry.arm)
            if known is not None:
                theirs.append((entry.label, Interval(known.score, known.low, known.high)))
            model = published.find(entry.summary.model_id) if entry.arm == "model" else None
            if model is not None and domain in model.scores:
                value = model.scores[domain]
                theirs.append((entry.label, Interval(value, value, value)))
    return _figure(
        f"score-{slug(version)}-{slug(domain)}",
        f"{domain}: score by arm, version {version}",
        [(e.label, e.result.score) for e in rows if e.arm == "model"],
        [(e.label, e.result.score) for e in rows if e.arm != "model"],
        theirs,
        f"Geometric mean over trials in {domain}",
    )


def _figure(
    name: str,
    title: str,
    models: Sequence[Scored],
    offline: Sequence[Scored],
    theirs: Sequence[Scored],
    what: str,
) -> Figure:
    def series(label: str, scored: Sequence[Scored]) -> Series:
        return Series(
            label,
            tuple(row[0] for row in scored),
            tuple(row[1].value for row in scored),
            tuple(row[1].low for row in scored),
            tuple(row[1].high for row in scored),
        )

    ranked = sorted([*models, *offline], key=lambda row: (-row[1].value, row[0]))
    listed = ", ".join(f"{label} {format_score(score.value)}" for label, score in ranked)
    caption = f"{what}, with 95% intervals. From best to worst: {listed}."
    if theirs:
        caption += f" Published: {published.SOURCE}; its models were asked in other words."
    groups = (("no model asked", offline), ("models", models), ("published 1.0.0", theirs))
    return Figure(
        name,
        "forest",
        title,
        "",
        "score (logarithmic)",
        tuple(series(label, scored) for label, scored in groups if scored),
        log_y=True,
        caption=caption,
    )


def _scores(version: str, domain: str, rows: Sequence[Entry]) -> Grid:
    table: list[tuple[str, ...]] = []
    marked: dict[str, list[str]] = {}
    for entry in rows:
        result = entry.result
        _, score, interval, solved, *others = cells(entry.arm, result)
        trials = f"{entry.summary.trials}"
        if entry.summary.records != entry.summary.trials:
            trials += f" ({entry.summary.records} runs)"
        table.append((clean(entry.label), score, interval, trials, solved, *others))
        sign = mark(entry.arm, result)
        if sign:
            marked.setdefault(sign, []).append(f"{clean(entry.label)} {result.unsolved} of {result.trials}")
    notes = [f"{sign} trials unsolved: {', '.join(found)}" for sign, found in sorted(marked.items())]
    if len({entry.summary.trial_numbers for entry in rows}) > 1:
        notes.append("The rows are not over the same trials: compare them with care.")
    ours = len(table)
    if version == published.VERSION:
        table += _published_rows(domain)
    if len(table) > ours:
        notes.append(f"published: {published.SOURCE}; models there were asked in other words than here.")
    return Grid(
        f"{domain}: scores and choices",
        _HEADINGS,
        tuple(table),
        tuple(notes),
        aside=frozenset(range(ours, len(table))),
    )


def _published_rows(domain: str) -> list[tuple[str, ...]]:
    def row(label: str, score: str, interval: str, trials: int) -> tuple[str, ...]:
        return (f"published: {label}", score, interval, str(trials), *["-"] * (len(_HEADINGS) - 4))

    rows = [
        row(arm, f"{format_score(o.score)}{o.mark}", f"{format_score(o.low)}-{format_score(o.high)}", 100)
        for arm, o in published.OFFLINE.get(domain, {}).items()
    ]
    for model in published.MODELS:
        if domain in model.scores:
            star = "*" if domain in model.unsolved else ""
            score = f"{format_score(model.scores[domain])}{star}"
            rows.append(row(model.title, score, "-", model.trials_in(domain)))
    return rows


def _asked(rows: Sequence[Entry], latencies: Mapping[Cell, LatencyHistogram]) -> Grid:
    table = []
    for entry in rows:
        usage = entry.result.usage
        assert usage is not None
        table.append((clean(entry.label), *_usage(usage), *_latency(latencies.get(entry.summary.cell))))
    headings = (
        "model",
        "requests",
        "$ / 1,000",
        "refusals",
        "invalid",
        "fallbacks",
        "ties",
        "retries",
        "served by",
        "p50",
        "p95",
    )
    notes = ["$ / 1,000: US dollars for 1,000 decisions. p50, p95: median and 95th percentile of a reply."]
    for entry in rows:
        usage = entry.result.usage
        assert usage is not None
        if usage.cached:
            notes.append(
                f"{clean(entry.label)}: {usage.cached:,} answers came from the cache and cost nothing."
            )
        if usage.short_usage:
            notes.append(
                f"{clean(entry.label)}: {usage.short_usage:,} replies "
                f"count fewer tokens than their question has."
            )
        if len(usage.served_models) > 1:
            notes.append(f"{clean(entry.label)} was served by several models: its score is a mixture.")
    return Grid(
        "What the models were asked and how they answered",
        headings,
        tuple(table),
        tuple(notes),
        frozenset({8}),
    )


def _usage(usage: UsageSummary) -> tuple[str, ...]:
    made = decisions(usage)
    dollars = "-"
    if usage.cost_usd is None:
        dollars = "not known"
    elif made:
        dollars = f"{1000 * usage.cost_usd / made:.4g}"
    served = ", ".join(
        clean(name) if len(usage.served_models) == 1 else f"{clean(name)} ({count:,})"
        for name, count in usage.served_models.items()
    )
    return (
        f"{usage.requests:,}",
        dollars,
        f"{usage.refusals:,}",
        f"{usage.invalid_answers:,}",
        f"{usage.fallbacks:,}",
        f"{usage.ties:,}",
        f"{usage.retries:,}",
        served or "-",
    )


def _latency(pooled: LatencyHistogram | None) -> tuple[str, str]:
    if pooled is None:
        return "-", "-"

    def ms(share: float) -> str:
        value = pooled.percentile(share)
        return "-" if value is None else format_ms(value)

    return ms(0.5), ms(0.95)
