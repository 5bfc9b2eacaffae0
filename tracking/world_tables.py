"""Summaries of world families as plain text tables that fit a terminal, as Markdown and as flat rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from beeline.world import LEVELS, Interface
from beeline.world_summary import GroupSummary, WorldSummary
from tracking.tables import clean, table_lines, wrap_line

__all__ = ["HEADINGS", "alarm_lines", "cells", "diagnosis", "flat", "rows", "text", "title"]

HEADINGS = ("arm", "exact", "feasible", "utility", "told", "cover", "calls", "spend", "budget")


def title(summary: WorldSummary) -> str:
    """What a table is about, in one line."""
    cell = summary.cell
    parts = [cell.domain, "worlds"]
    if cell.model != "none":
        parts.append(f"model {cell.model}")
    parts.append(f"{summary.trials} world{'s' * (summary.trials != 1)}")
    if summary.records != summary.trials:
        parts.append(f"{summary.records} runs with repeats")
    parts.append(f"version {cell.version}")
    return clean(" · ".join(parts))


def cells(label: str, group: GroupSummary) -> tuple[str, ...]:
    """One row, in the order of HEADINGS."""
    return (
        label,
        f"{100 * group.exact:.0f}%",
        f"{100 * group.feasible:.0f}%",
        f"{group.utility:.1f}",
        f"{100 * group.sufficient:.0f}%",
        f"{100 * group.coverage:.0f}%",
        f"{group.calls:.1f}",
        f"{group.spend:.0f}",
        f"{100 * group.budget_share:.0f}%",
    )


def rows(summary: WorldSummary) -> list[tuple[str, ...]]:
    """For each arm: all worlds, then each level with each interface."""
    found = []
    for arm, groups in summary.arms.items():
        name = summary.cell.model if arm == "model" else arm
        found.append(cells(clean(name), groups["all"]))
        for level in LEVELS:
            for interface in Interface:
                group = groups.get(f"{level} {interface.value}")
                if group is not None:
                    found.append(cells(f"  {level} {interface.value}", group))
    return found


def diagnosis(summary: WorldSummary) -> list[str]:
    """Whether an arm that missed the optimum lacked information or reasoned badly."""
    lines = []
    for arm, groups in summary.arms.items():
        group = groups["all"]
        missed = group.uninformed + group.misreasoned
        name = clean(summary.cell.model if arm == "model" else arm)
        if missed:
            lines.append(
                f"{name}: {missed} of {group.worlds} not optimal, {group.uninformed} without enough "
                f"information, {group.misreasoned} with it"
            )
        if group.lucky:
            lines.append(f"{name}: {group.lucky} optimal without having been told enough")
        other = {k: n for k, n in group.outcomes.items() if n and k not in ("optimal", "suboptimal")}
        if other:
            counts = ", ".join(f"{n} {k.replace('_', ' ')}" for k, n in other.items())
            lines.append(f"{name}: {counts}")
    return lines


def alarm_lines(summaries: Sequence[WorldSummary]) -> list[str]:
    """What must be known first."""
    return [alarm for summary in summaries for alarm in summary.alarms]


def flat(summary: WorldSummary) -> Iterator[dict[str, Any]]:
    """One row of a spreadsheet for each arm and group; ``level`` and ``interface`` are empty where a group
    holds all of them."""
    cell = summary.cell
    for arm, groups in summary.arms.items():
        for name, group in groups.items():
            parts = name.split()
            values = asdict(group)
            outcomes = values.pop("outcomes")
            yield {
                **asdict(cell),
                "heuristic": summary.heuristic,
                "arm": arm,
                "level": next((part for part in parts if part in LEVELS), ""),
                "interface": next((part for part in parts if part in list(Interface)), ""),
                **values,
                **outcomes,
            }


def text(summaries: Sequence[WorldSummary], width: int = 80) -> str:
    """All tables, one block a family; ends with a newline unless empty."""
    width = max(width, 20)
    alarms = [f"! {clean(alarm)}" for alarm in alarm_lines(summaries)]
    blocks = ["\n".join(line for alarm in alarms for line in wrap_line(alarm, width))] if alarms else []
    for summary in summaries:
        lines = [*wrap_line(title(summary), width), *table_lines(HEADINGS, rows(summary), width)]
        for line in diagnosis(summary):
            lines += wrap_line(line, width, "  ")
        lines += wrap_line(
            "told: share of worlds that were told all that a plan tells; cover: mean share of it; utility: "
            "100 at the optimum, 0 at the reference decision; budget: mean share spent",
            width,
            "  ",
        )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n" if blocks else ""
