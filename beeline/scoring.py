"""From the records of a cell to its summary: scores, intervals, choices, usage.

Everything here is a function of the records alone, so a report can be made again at any time.
Draws paths of the intervals: ("bootstrap", version, name, "<domain>.<heuristic>"), with name the
model's short name or the name of an offline arm; a quantity other than the score appends its own
name. Conditions share the path: they share trials, so the same scores have the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from beeline.errors import StorageError
from beeline.latency import LatencyHistogram
from beeline.outcomes import Ending, unaccounted
from beeline.records import Cell, Record
from beeline.statistics import (
    Interval,
    geometric_interval,
    geometric_mean,
    mean,
    mean_interval,
    overall_interval,
)

__all__ = [
    "ARMS",
    "BENCHMARK",
    "ArmSummary",
    "Measure",
    "Overall",
    "Summary",
    "UsageSummary",
    "overall",
    "summarise",
]

ARMS = ("oracle", "heuristic", "random", "model")
"""The order in which arms are listed."""
BENCHMARK = "benchmark"
"""The condition whose name enters no draws path."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A mean over trials. ``value`` is None when no trial has one; ``left_out`` counts those
    that have none (unsolved, or a zero denominator). ``interval`` is None when not asked for."""

    value: float | None
    interval: Interval | None
    left_out: int


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """What the model arm took, over all trials. Sums are None where a part is not known."""

    requests: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    refusals: int
    refusal_share: float | None
    """Refusals a request; None without requests."""
    fallbacks: int
    invalid_answers: int
    retries: int
    ties: int
    disagreements: int
    short_usage: int
    """Replies that count fewer tokens than the question can have."""
    cached: int
    outcomes: Mapping[str, int]
    """Decisions by how they ended (beeline.outcomes)."""
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    served_models: Mapping[str, int]
    seconds: float | None
    """Sum of the times the trials took, offline arms included."""


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm over the trials of a cell; shares are in 0..1."""

    name: str
    """The model's short name, or the arm's."""
    trials: int
    """Runs counted: records that hold the arm, repeats included."""
    unsolved: int
    score: Interval
    """Geometric mean; an unsolved run counts max_expansions."""
    coverage: Measure
    """Share solved."""
    solved_only: Measure
    """Geometric mean of the scores of the solved runs."""
    path_score: Measure
    """Geometric mean over the solved runs, as it is a ratio like the score."""
    optimal_share: Measure
    mean_regret: Measure
    dead_end_share: Measure
    on_path_share: Measure
    expansions: int
    """True total, whatever the score counts."""
    usage: UsageSummary | None
    scores: tuple[float, ...] = field(repr=False)
    """One a trial, in the order of the records; of its repeats, the geometric mean."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One cell. ``arms`` are in the order of ARMS."""

    cell: Cell
    suite: str
    heuristic: str
    model_id: str | None
    definition: str
    trials: int
    """Different trials; ``records`` counts repeats too."""
    records: int
    trial_numbers: tuple[int, ...] = field(repr=False)
    shortest_path_mean: float
    states_reachable_mean: float
    arms: Mapping[str, ArmSummary]
    alarms: tuple[str, ...] = ()
    """What the table of outcomes does not explain: to be shown before any score."""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data; trial-by-trial values, which the records hold, left out."""
        data = asdict(self)
        del data["trial_numbers"]
        for arm in data["arms"].values():
            del arm["scores"]
        return data


def summarise(records: Sequence[Record], intervals: bool = True) -> Summary:
    """Summarise the records of one cell, sorted by (trial, repeat).

    ``intervals=False`` leaves out the intervals of all quantities but the score, which are most
    of the work. Raises ValueError without records, and StorageError when they are not of one
    cell, definition, heuristic and model.
    """
    if not records:
        raise ValueError("no records to summarise")
    first = records[0]
    for record in records:
        for name in ("cell", "definition", "heuristic", "model_id"):
            ours, theirs = getattr(first, name), getattr(record, name)
            if ours != theirs:
                raise StorageError(
                    f"the records of {first.domain}.{first.condition} (version {first.version}, model "
                    f"{first.model}, study {first.study}) differ in {name}: {ours!r} in trial {first.trial}, "
                    f"{theirs!r} in trial {record.trial}; keep them in separate results folders"
                )
    trials = tuple(sorted({record.trial for record in records}))
    arms = {}
    for arm in ARMS:
        having = [record for record in records if arm in record.arms]
        if having:
            arms[arm] = _arm(arm, having, intervals)
    return Summary(
        cell=first.cell,
        suite=first.suite,
        heuristic=first.heuristic,
        model_id=first.model_id,
        definition=first.definition,
        trials=len(trials),
        records=len(records),
        trial_numbers=trials,
        shortest_path_mean=mean([r.shortest_path for r in records]),
        states_reachable_mean=mean([r.states_reachable for r in records]),
        arms=arms,
        alarms=_alarms(records),
    )


def _alarms(records: Sequence[Record]) -> tuple[str, ...]:
    found = [
        (record.trial, problem) for record in records for problem in unaccounted(record.arms.get("model", {}))
    ]
    first = records[0].cell
    place = f"{first.version}/{first.model}/{first.study}/{first.domain}.{first.condition}"
    alarms = [f"{place}, trial {trial}: {problem}" for trial, problem in found[:5]]
    if len(found) > len(alarms):
        alarms.append(f"{place}: {len(found) - len(alarms)} more problems of this kind")
    return tuple(alarms)


def _arm(arm: str, records: Sequence[Record], intervals: bool) -> ArmSummary:
    first = records[0]
    results = [record.arms[arm] for record in records]
    name = first.model if arm == "model" else arm
    path = ["bootstrap", first.version, name, f"{first.domain}.{first.heuristic}"]
    numbers = [record.trial for record in records]
    scores = _by_trial(
        [(n, float(result["score"])) for n, result in zip(numbers, results, strict=True)], True
    )
    score = _interval(scores, path, geometric=True)
    assert score is not None
    solved = [result.get("solved") is True for result in results]
    count = len(results)
    solving = [(n, result) for n, result, ok in zip(numbers, results, solved, strict=True) if ok]

    def measure(quantity: str, found: Sequence[tuple[int, float]], geometric: bool = False) -> Measure:
        if not found:
            return Measure(None, None, count)
        values = _by_trial(found, geometric)
        value = geometric_mean(values) if geometric else mean(values)
        interval = _interval(values, [*path, quantity], geometric) if intervals else None
        return Measure(value, interval, count - len(found))

    path_scores = [(n, float(result["path_score"])) for n, result in solving if result.get("path_score")]
    tallies = [(n, r["choices"]) for n, r in zip(numbers, results, strict=True) if r.get("choices")]
    return ArmSummary(
        name=name,
        trials=count,
        unsolved=solved.count(False),
        score=score,
        coverage=measure("solved", [(n, float(ok)) for n, ok in zip(numbers, solved, strict=True)]),
        solved_only=measure("solved_only", [(n, float(r["score"])) for n, r in solving], geometric=True),
        path_score=measure("path_score", path_scores, geometric=True),
        optimal_share=measure(
            "choices", [(n, c["optimal"] / c["decisions"]) for n, c in tallies if c["decisions"]]
        ),
        mean_regret=measure(
            "regret",
            [
                (n, c["regret"] / (c["decisions"] - c["dead_ends"]))
                for n, c in tallies
                if c["decisions"] > c["dead_ends"]
            ],
        ),
        dead_end_share=measure(
            "dead_ends", [(n, c["dead_ends"] / c["decisions"]) for n, c in tallies if c["decisions"]]
        ),
        on_path_share=measure(
            "on_path", [(n, c["on_path"] / c["contested"]) for n, c in tallies if c["contested"]]
        ),
        expansions=sum(result["expansions"] for result in results),
        usage=_usage(results, records) if arm == "model" else None,
        scores=tuple(scores),
    )


def _by_trial(found: Sequence[tuple[int, float]], geometric: bool) -> list[float]:
    """The values, repeats of a trial made one by their mean: they are no new trials, and counted as
    such they would make intervals too short."""
    groups: dict[int, list[float]] = {}
    for trial, value in found:
        groups.setdefault(trial, []).append(value)
    if len(groups) == len(found):
        return [value for _, value in found]

    def one(values: Sequence[float]) -> float:
        if min(values) == max(values):
            return values[0]  # to the last digit
        return geometric_mean(values) if geometric else mean(values)

    return [one(values) for values in groups.values()]


def _interval(values: Sequence[float], path: Sequence[str], geometric: bool) -> Interval | None:
    if values and min(values) == max(values):
        # Every resample has the same mean: same result without the draws.
        value = geometric_mean(values) if geometric else mean(values)
        return Interval(value, value, value)
    return geometric_interval(values, path) if geometric else mean_interval(values, path)


def _usage(results: Sequence[Mapping[str, Any]], records: Sequence[Record]) -> UsageSummary:
    def total(name: str) -> Any:
        values: list[Any] = [result.get(name) for result in results]
        if any(value is None for value in values):
            return None
        return math.fsum(values) if name == "cost_usd" else sum(values)

    def count(name: str) -> int:
        return sum(result.get(name) or 0 for result in results)

    latency = LatencyHistogram.pooled(r["latency_ms"] for r in results if r.get("latency_ms"))
    served: dict[str, int] = {}
    for result in results:
        for model, answers in (result.get("served_models") or {}).items():
            served[model] = served.get(model, 0) + answers
    requests, refusals = count("requests"), count("refusals")
    return UsageSummary(
        requests=requests,
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
        cost_usd=total("cost_usd"),
        refusals=refusals,
        refusal_share=refusals / requests if requests else None,
        fallbacks=count("fallbacks"),
        invalid_answers=count("invalid_answers"),
        retries=count("retries"),
        ties=count("ties"),
        disagreements=count("disagreements"),
        short_usage=count("short_usage"),
        cached=count("cached"),
        outcomes=_outcomes(results),
        latency_p50_ms=latency.percentile(0.5),
        latency_p95_ms=latency.percentile(0.95),
        served_models=dict(sorted(served.items())),
        seconds=_seconds(records),
    )


def _outcomes(arms: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    totals = {ending.value: 0 for ending in Ending}
    for arm in arms:
        for name, count in (arm.get("outcomes") or {}).items():
            totals[name] = totals.get(name, 0) + count
    return totals


def _seconds(records: Sequence[Record]) -> float | None:
    try:
        return math.fsum(
            (
                datetime.fromisoformat(record.finished_utc) - datetime.fromisoformat(record.started_utc)
            ).total_seconds()
            for record in records
        )
    except (ValueError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class Overall:
    """Several domains of one (version, model, study, condition) as one score an arm."""

    version: str
    model: str
    study: str
    condition: str
    domains: tuple[str, ...]
    """The domains present, in the order of the version."""
    missing: tuple[str, ...]
    """Domains of the version without all of its trials; empty when complete."""
    complete: bool
    """All domains and all trials of the version are there."""
    arms: Mapping[str, Interval]
    """By arm, for the arms that every domain present has."""

    def headline(self, arm: str) -> Interval | None:
        """The overall score to quote: None unless complete."""
        return self.arms.get(arm) if self.complete else None

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON data, headline numbers included."""
        data = asdict(self)
        data["headline"] = data["arms"] if self.complete else None
        return data


def overall(summaries: Sequence[Summary], version_domains: Sequence[str], trials: int = 100) -> Overall:
    """Combine the cells of one (version, model, study, condition), one a domain.

    ``version_domains`` are the version's domains in its order, empty when not known (then nothing
    is complete); domains it does not name follow sorted. ``trials`` is how many trials each needs,
    numbered from 1. Raises ValueError when the cells do not belong together.
    """
    groups = {(s.cell.version, s.cell.model, s.cell.study, s.cell.condition) for s in summaries}
    by_domain = {s.cell.domain: s for s in summaries}
    if len(groups) != 1 or len(by_domain) != len(summaries):
        raise ValueError("an overall score needs the cells of one version, model, study and condition")
    ((version, model, study, condition),) = groups
    order = [*version_domains, *sorted(set(by_domain) - set(version_domains))]
    present = [by_domain[domain] for domain in order if domain in by_domain]
    wanted = set(range(1, trials + 1))
    missing = tuple(
        domain
        for domain in version_domains
        if domain not in by_domain or not wanted.issubset(by_domain[domain].trial_numbers)
    )
    arms = {}
    for arm in ARMS:
        if all(arm in summary.arms for summary in present):
            name = model if arm == "model" else arm
            interval = overall_interval(
                {summary.cell.domain: summary.arms[arm].scores for summary in present},
                ("bootstrap", version, name, "overall"),
            )
            assert interval is not None
            arms[arm] = interval
    return Overall(
        version=version,
        model=model,
        study=study,
        condition=condition,
        domains=tuple(summary.cell.domain for summary in present),
        missing=missing,
        complete=bool(version_domains) and not missing and set(by_domain) == set(version_domains),
        arms=arms,
    )
