"""What a report page compares: for each version and domain, the arms side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from beeline.scoring import ARMS, BENCHMARK, ArmSummary, Overall, Summary, UsageSummary, overall
from beeline.versions import is_official
from tracking.tables import version_domains

__all__ = [
    "Entry",
    "decisions",
    "entries",
    "is_main",
    "model_label",
    "shared_overalls",
    "slug",
    "sort_domains",
    "versions",
]


def versions(summaries: Sequence[Summary]) -> list[str]:
    """Official ones first, then custom ones, each sorted."""
    return sorted({s.cell.version for s in summaries}, key=lambda v: (not is_official(v), v))


def is_main(summary: Summary) -> bool:
    """Whether a cell is the benchmark itself, not a condition of some other study."""
    return summary.cell.study in ("score", "baseline") and summary.cell.condition == BENCHMARK


def sort_domains(version: str, domains: set[str]) -> list[str]:
    """In the order of the version, unknown ones after it."""
    known = [domain for domain in version_domains(version) if domain in domains]
    return [*known, *sorted(domains - set(known))]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a comparison."""

    label: str
    arm: str
    result: ArmSummary
    summary: Summary
    """Of the cell it comes from."""


def model_label(name: str) -> str:
    """A model's name, told apart from an arm's."""
    return f"model {name}" if name in ARMS else name


def entries(summaries: Sequence[Summary]) -> list[Entry]:
    """The arms of one version and domain: oracle, heuristic and random once, from the cell that has the
    most trials, then models by falling score."""
    found = []
    for arm in ARMS[:3]:
        having = [s for s in summaries if arm in s.arms]
        if having:
            most = max(having, key=lambda s: (s.arms[arm].trials, s.cell.study == "baseline"))
            found.append(Entry(arm, arm, most.arms[arm], most))
    models = [
        Entry(model_label(s.cell.model), "model", s.arms["model"], s) for s in summaries if "model" in s.arms
    ]
    return found + sorted(models, key=lambda e: (-e.result.score.value, e.label))


def shared_overalls(version: str, summaries: Sequence[Summary]) -> tuple[list[str], dict[str, Overall]]:
    """The domains that all models of a version share, in its order, and each model's scores over them;
    offline arms alone stand under ``none``, over the same domains where they have them all. Empty
    when the models share none."""
    by_model: dict[str, dict[str, Summary]] = {}
    for summary in summaries:
        by_model.setdefault(summary.cell.model, {})[summary.cell.domain] = summary
    asked = {
        model: cells for model, cells in by_model.items() if any("model" in s.arms for s in cells.values())
    }
    if not asked:
        asked = by_model
    shared = set.intersection(*(set(cells) for cells in asked.values())) if asked else set()
    domains = sort_domains(version, shared)
    if not domains:
        return [], {}
    found = {}
    for model, cells in by_model.items():
        if shared <= set(cells):
            found[model] = overall([cells[domain] for domain in domains], version_domains(version))
    return domains, found


def slug(text: str) -> str:
    """Letters, digits and dashes for the name of a file or an element."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "x"


def decisions(usage: UsageSummary) -> int:
    """Decisions a model made; requests for records from before endings were counted."""
    return sum(usage.outcomes.values()) or usage.requests
