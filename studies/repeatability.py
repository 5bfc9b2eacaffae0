"""How much a score and its decisions change when nothing is changed: trial, order and chance apart.

Each random order is run several times, so that the spread of log scores can be split
(:mod:`beeline.statistics.variance`): how much trials differ, how much the order of the options
adds, and what comes anew with each repeat. Decisions are compared where two searches hold the same
frontier (:mod:`studies.changes`); between repeats the question is then the same to the last byte.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from beeline.analysis import Analysis, Figure, Table
from beeline.records import Cell, Record
from beeline.settings import setting
from beeline.statistics import Interval
from beeline.statistics.from_records import scores
from beeline.statistics.variance import Components
from beeline.study import Condition, Study
from studies.repeats import Repeated, find_changes, measure_repeats
from studies.sensitivity import navigation_only, settings_of
from studies.shown import fine, percent, plain, series, span

if TYPE_CHECKING:
    from beeline.spec import Spec

__all__ = ["Repeatability"]

PARTS = ("trial", "order", "repeat")


@dataclass(frozen=True, kw_only=True)
class _Settings:
    repeats: int = setting(3, least=2, most=20)
    """Times that each order is run."""
    orders: int = setting(2, least=1, most=10)
    """Random orders, the benchmark's first."""


class Repeatability(Study):
    """The same condition k times, in one or several random orders."""

    name = "repeatability"
    asks_model = True
    trials: ClassVar[int] = 50

    def __init__(self, repeats: int = 3, orders: int = 2) -> None:
        self.repeats, self.orders = repeats, orders

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """``repeats`` and ``orders``, numbers."""
        given = settings_of(_Settings, settings, cls.name)
        return cls(given.repeats, given.orders)

    def conditions(self) -> tuple[Condition, ...]:
        """One an order, each with all repeats."""
        more = [f"random-{number}" for number in range(2, self.orders + 1)]
        return (
            Condition(repeats=self.repeats),
            *(Condition(name=order, repeats=self.repeats, order=order) for order in more),
        )

    def conditions_for(self, spec: Spec) -> tuple[Condition, ...]:
        """The same for every domain with options."""
        navigation_only(spec)
        return self.conditions()

    def analyse(self, spec: Spec, records: Mapping[str, Sequence[Record]], results: Path) -> Analysis | None:
        """Scores, variance components and decisions changed; None without two repeats of a trial."""
        path = ["bootstrap", spec.version, spec.model_name, f"{spec.domain_name}.{spec.domain.heuristic}"]
        cells = {
            name: Cell(spec.version, spec.model_name, spec.study.name, spec.domain_name, name)
            for name in records
        }
        found = measure_repeats(
            {name: scores(having) for name, having in records.items()},
            path,
            *find_changes(results, cells, records),
        )
        if found is None:
            return None
        of = f"{spec.model_name}, {spec.domain_name}"
        sentence = _sentence(found)
        return Analysis(
            study=self.name,
            domain=spec.domain_name,
            model=spec.model_name,
            version=spec.version,
            sentence=sentence,
            tables=_tables(found),
            figures=_figures(found, of, sentence),
            data=_data(found),
            notes=(
                "Decisions are compared up to and including the first that differs: then searches go apart.",
            ),
        )


def _sentence(found: Repeated) -> str:
    trials = f"{found.trials} {'trial' if found.trials == 1 else 'trials'}"
    low, high = min(found.all_scores), max(found.all_scores)
    same = fine(low) == fine(high)
    lay = (
        f"scores came to {fine(low)} each time"
        if same
        else f"scores lay between {fine(low)} and {fine(high)}"
    )
    decisions = ""
    if found.between_repeats is not None:
        decisions = (
            f"a repeat made {percent(found.between_repeats)} of decisions otherwise and "
            if found.between_repeats.value
            else "no decision changed between repeats and "
        )
    if not found.scores_changed.value:
        said = f"Over {trials} run {found.repeats} times, {decisions}no score changed"
    else:
        said = f"Over {trials} run {found.repeats} times, {decisions}{lay}"
    if found.components is None:
        return f"{said}."
    shares = found.components.shares()
    if not any(shares.values()):
        return f"{said}; all trials scored alike."
    parts = {"trial": "the trial", "order": "the order", "repeat": "chance"}
    listed = [f"{shares[name]:.0%} is {parts[name]}" for name in PARTS if name in shares]
    return f"{said}; of the spread of log scores {', '.join(listed[:-1])} and {listed[-1]}."


def _tables(found: Repeated) -> tuple[Table, ...]:
    by_order = tuple(
        (
            name,
            fine(score.value),
            span(score, fine),
            "" if (again := found.rerun[name]) is None else span(again, fine),
            " ".join(fine(value) for value in found.by_repeat[name]),
        )
        for name, score in found.scores.items()
    )
    tables = [
        Table(
            f"Scores, {found.trials} trials, {found.repeats} repeats",
            ("order", "score", "other trials", "same trials again", "by repeat"),
            by_order,
            ("95% intervals: of running other trials of the same kind, and of running these once more.",),
        )
    ]
    if found.components is not None:
        shares = found.components.shares()
        rows = []
        for name in PARTS:
            part = getattr(found.components, name)
            if part is not None:
                spread = _root(part)
                bounds = f"{spread.low:.3f} to {spread.high:.3f}"
                rows.append((name, f"{spread.value:.3f}", bounds, f"{shares[name]:.1%}"))
        tables.append(
            Table(
                "Spread of log scores",
                ("part", "standard deviation", "95% interval", "share of variance"),
                tuple(rows),
                ("0.1 is about 10% of a score.",),
            )
        )
    changed = [
        (what, percent(share))
        for what, share in (
            ("decisions, the same question again", found.between_repeats),
            ("first decisions, the same question again", found.first_question),
            ("decisions, the same options in another order", found.between_orders),
            ("scores of a trial, over its repeats", found.scores_changed),
        )
        if share is not None
    ]
    tables.append(Table("Share that changes", ("what", "share (95% interval)"), tuple(changed)))
    return tuple(tables)


def _figures(found: Repeated, of: str, sentence: str) -> tuple[Figure, ...]:
    names = tuple(found.scores)
    again = [found.rerun[name] or found.scores[name] for name in names]
    figures = [
        Figure(
            "scores",
            "forest",
            f"Score by order, {found.repeats} repeats: {of}",
            "order",
            "score (geometric mean, 95% interval)",
            (
                series("for other trials", names, list(found.scores.values())),
                series("for these trials again", names, again),
            ),
            log_y=True,
            caption=sentence,
        )
    ]
    if found.components is not None:
        parts = {name: getattr(found.components, name) for name in PARTS}
        spreads = {name: _root(part) for name, part in parts.items() if part is not None}
        figures.append(
            Figure(
                "spread",
                "forest",
                f"Spread of log scores by source: {of}",
                "source",
                "standard deviation of log scores (95% interval)",
                (series("spread", tuple(spreads), list(spreads.values())),),
                caption="How much trials differ, what the order of options adds, and what chance adds.",
            )
        )
    shares = {
        "same question again": found.between_repeats,
        "first question again": found.first_question,
        "options in another order": found.between_orders,
    }
    having = {name: share for name, share in shares.items() if share is not None}
    if having:
        figures.append(
            Figure(
                "changes",
                "forest",
                f"Decisions that change: {of}",
                "what is repeated",
                "share of decisions (95% interval)",
                (series("changed", tuple(having), list(having.values())),),
                reference=0.0,
                caption="Decisions made otherwise when the same question, or the same options, come again.",
            )
        )
    return tuple(figures)


def _root(variance: Interval) -> Interval:
    return Interval(math.sqrt(variance.value), math.sqrt(variance.low), math.sqrt(variance.high))


def _data(found: Repeated) -> dict[str, Any]:
    def parts(components: Components | None) -> dict[str, Any] | None:
        if components is None:
            return None
        return {name: plain(getattr(components, name)) for name in PARTS}

    return {
        "trials": found.trials,
        "repeats": found.repeats,
        "orders": {
            name: {
                "score": plain(score),
                "same_trials_again": plain(found.rerun[name]),
                "by_repeat": list(found.by_repeat[name]),
            }
            for name, score in found.scores.items()
        },
        "variance_of_log_scores": parts(found.components),
        "variance_resampled_over_trials": parts(found.resampled),
        "shares": found.components.shares() if found.components is not None else None,
        "changed": {
            "decisions_between_repeats": plain(found.between_repeats),
            "first_decisions_between_repeats": plain(found.first_question),
            "decisions_between_orders": plain(found.between_orders),
            "scores_between_repeats": plain(found.scores_changed),
        },
    }
