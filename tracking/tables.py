"""Summaries as plain text tables that fit a terminal; no cell is ever shortened to dots."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache

from beeline.overrides import config_folder
from beeline.scoring import ARMS, BENCHMARK, ArmSummary, Measure, Overall, Summary, overall
from beeline.statistics import Interval

__all__ = [
    "HEADINGS",
    "alarm_lines",
    "cells",
    "clean",
    "footnotes",
    "format_interval",
    "format_ms",
    "format_score",
    "mark",
    "model_line",
    "overalls",
    "table_lines",
    "text",
    "title",
    "version_domains",
    "wrap_line",
]

HEADINGS = ("arm", "score", "95% interval", "solved", "path", "optimal", "regret", "dead")


def format_score(value: float | None) -> str:
    """Two decimals from 0.01 up, else two significant digits; "-" for None.

    >>> format_score(0.3046), format_score(0.0066), format_score(0.00999), format_score(0.00041)
    ('0.30', '0.0066', '0.01', '0.00041')
    """
    if value is None:
        return "-"
    if value >= 0.01 or value <= 0:
        return f"{value:.2f}"
    digits, _, exponent = f"{value:.1e}".partition("e")
    if float(f"{digits}e{exponent}") >= 0.01:
        return "0.01"
    return f"{value:.{1 - int(exponent)}f}"


def format_interval(interval: Interval | None) -> str:
    """Both bounds as scores are printed."""
    return "-" if interval is None else f"{format_score(interval.low)}-{format_score(interval.high)}"


def clean(name: str) -> str:
    """A name from a record or a host with everything that is not printable replaced."""
    return "".join(c if c.isprintable() else "?" for c in name)


def mark(arm: str, summary: ArmSummary) -> str:
    """``*`` on a model score, ``†`` on a heuristic one, when a trial was unsolved."""
    return {"model": "*", "heuristic": "†"}.get(arm, "") if summary.unsolved else ""


def title(summary: Summary) -> str:
    """What a table is about, in one line."""
    cell = summary.cell
    parts = [cell.domain, summary.heuristic]
    if cell.model != "none":
        parts.append(f"model {cell.model}")
    if cell.condition != BENCHMARK:
        parts.append(f"condition {cell.condition}")
    parts.append(f"{summary.trials} trial{'s' * (summary.trials != 1)}")
    if summary.records != summary.trials:
        parts.append(f"{summary.records} runs with repeats")
    parts.append(f"version {cell.version}")
    return clean(" · ".join(parts))


def footnotes(summary: Summary) -> list[str]:
    """What the marks mean, and which means leave trials out."""
    notes = []
    for arm, result in summary.arms.items():
        sign = mark(arm, result)
        if sign:
            notes.append(
                f"{sign} {clean(result.name)}: {result.unsolved} of {result.trials} trials unsolved, "
                "counted at the expansion limit"
            )
    for label, measure in (("optimal share and dead ends", _optimal), ("regret", _regret)):
        left_out = [
            f"{clean(result.name)} {measure(result).left_out}"
            for arm, result in summary.arms.items()
            if arm != "oracle" and measure(result).left_out
        ]
        if left_out:
            notes.append(f"trials without decisions, left out of {label}: {', '.join(left_out)}")
    return notes


def model_line(result: ArmSummary) -> str:
    """What the model took; empty for an arm that asks none."""
    usage = result.usage
    if usage is None:
        return ""
    parts = [
        f"requests {usage.requests:,}",
        f"tokens in {_count(usage.input_tokens)}, out {_count(usage.output_tokens)}",
        f"cost {'not known' if usage.cost_usd is None else f'${usage.cost_usd:.4f}'}",
        f"ties {usage.ties:,}",
        f"fallbacks {usage.fallbacks:,}",
        f"refusals {usage.refusals:,}",
        f"invalid {usage.invalid_answers:,}",
        f"retries {usage.retries:,}",
        f"disagreements {usage.disagreements:,}",
    ]
    if usage.short_usage:
        parts.append(f"fewer tokens counted than the question can have: {usage.short_usage:,}")
    if usage.cached:
        parts.append(f"from the answer cache {usage.cached:,}")
    if usage.seconds is not None:
        parts.append(f"seconds {usage.seconds:,.1f}")
    if usage.latency_p50_ms is not None and usage.latency_p95_ms is not None:
        parts.append(f"latency p50 {format_ms(usage.latency_p50_ms)}, p95 {format_ms(usage.latency_p95_ms)}")
    if usage.served_models:
        names = ", ".join(
            clean(name) if len(usage.served_models) == 1 else f"{clean(name)} ({count:,})"
            for name, count in usage.served_models.items()
        )
        parts.append(f"served by {names}")
    return " · ".join(parts)


def alarm_lines(summaries: Sequence[Summary], stops: Sequence[str] = ()) -> list[str]:
    """What a reader must know before any score: conditions that stopped, and whatever the table of
    outcomes does not explain. Empty when all is well."""
    return [clean(line) for line in (*stops, *(alarm for s in summaries for alarm in s.alarms))]


def text(
    summaries: Sequence[Summary],
    width: int = 80,
    combined: Sequence[Overall] | None = None,
    stops: Sequence[str] = (),
) -> str:
    """Alarms first, then all tables, one block a cell, then an overall line where domains combine.

    ``combined`` defaults to :func:`overalls`. Ends with a newline unless empty.
    """
    width = max(width, 20)
    alarms = [f"! {line}" for line in alarm_lines(summaries, stops)]
    blocks = ["\n".join(line for alarm in alarms for line in wrap_line(alarm, width))] if alarms else []
    blocks += [_block(summary, width) for summary in summaries]
    blocks += [_overall(item, width) for item in (overalls(summaries) if combined is None else combined)]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def overalls(summaries: Sequence[Summary]) -> list[Overall]:
    """The overall scores of every (version, model, study, condition) with several domains."""
    groups: dict[tuple[str, str, str, str], list[Summary]] = {}
    for summary in summaries:
        cell = summary.cell
        groups.setdefault((cell.version, cell.model, cell.study, cell.condition), []).append(summary)
    return [overall(members, version_domains(key[0])) for key, members in groups.items() if len(members) > 1]


@lru_cache
def version_domains(version: str) -> tuple[str, ...]:
    """The domains of a released version in its order; empty for one this program has no file of."""
    path = config_folder() / "version" / f"{version}.yaml"
    if not path.is_file():
        return ()
    from omegaconf import OmegaConf  # only here: a report of one domain needs none

    return tuple(OmegaConf.select(OmegaConf.load(path), "domains"))


def _optimal(result: ArmSummary) -> Measure:
    return result.optimal_share


def _regret(result: ArmSummary) -> Measure:
    return result.mean_regret


def _count(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def format_ms(value: float) -> str:
    """A time in milliseconds, as seconds from 1,000 up."""
    return f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.3g} s"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f}%"


def cells(arm: str, result: ArmSummary) -> tuple[str, ...]:
    """The row of an arm, in the order of HEADINGS."""
    regret = result.mean_regret.value
    return (
        clean(result.name),
        format_score(result.score.value) + mark(arm, result),
        format_interval(result.score),
        f"{result.trials - result.unsolved}/{result.trials}",
        format_score(result.path_score.value),
        _percent(result.optimal_share.value),
        "-" if regret is None else f"{regret:.2f}",
        _percent(result.dead_end_share.value),
    )


def _block(summary: Summary, width: int) -> str:
    rows = [cells(arm, result) for arm, result in summary.arms.items()]
    lines = [*wrap_line(title(summary), width), *table_lines(HEADINGS, rows, width)]
    for result in summary.arms.values():
        lines += wrap_line(model_line(result), width, "  ")
    for note in footnotes(summary):
        lines += wrap_line(note, width, "  ")
    return "\n".join(lines)


def _overall(item: Overall, width: int) -> str:
    names = _names(item)
    what = "overall" if item.complete else f"overall of {', '.join(item.domains)} only, no headline score"
    head = f"{what} · version {item.version}" + (f" · model {item.model}" if item.model != "none" else "")
    if item.condition != BENCHMARK:
        head += f" · condition {item.condition}"
    rows = [
        (names[arm], format_score(interval.value), format_interval(interval))
        for arm, interval in item.arms.items()
    ]
    return "\n".join(
        [*wrap_line(clean(head), width), *table_lines(("arm", "score", "95% interval"), rows, width)]
    )


def _names(item: Overall) -> Mapping[str, str]:
    return {arm: clean(item.model) if arm == "model" else arm for arm in ARMS}


def wrap_line(line: str, width: int, indent: str = "") -> list[str]:
    """A long line as several, each with the indent."""
    return textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent)


def table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Aligned columns; a long first cell takes lines of its own, and where even the numbers do not
    fit, each row becomes a list of its values."""
    numbers = [max(len(row[i]) for row in (headings, *rows) if i < len(row)) for i in range(1, len(headings))]
    room = width - sum(numbers) - 2 * len(numbers)
    if room < 6:
        lines = []
        for row in rows:
            lines += wrap_line(row[0], width)
            for heading, cell in zip(headings[1:], row[1:], strict=True):
                lines += wrap_line(f"{heading}: {cell}", width, "  ")
        return lines
    first = min(room, max(len(row[0]) for row in (headings, *rows)))
    lines = []
    for row in (headings, *rows):
        parts = textwrap.wrap(row[0], first) or [""]
        lines += parts[:-1]
        tail = "  ".join(cell.rjust(size) for cell, size in zip(row[1:], numbers, strict=True))
        lines.append(f"{parts[-1].ljust(first)}  {tail}".rstrip())
    return lines
