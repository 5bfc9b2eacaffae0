"""Where the chosen options stood in the order shown, and what ties decide: from traces alone.

Nothing is asked. The order of options is drawn anew for each question, so a model that reads only
what options say picks every place equally often (beeline.statistics.position). A pick that one of
several tied options got by the version's rule says as much: the rule knows nothing of places.

Ties: how many questions had one, and what the score would be were they broken otherwise. A trial
without ties has the same score under any rule; one with ties is searched again with another rule as
long as the questions that come up are in its archive (``archive=on``), and is not estimated when
another one comes up, since nobody knows its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from beeline.analysis import Analysis, Figure, Series, Table
from beeline.errors import SettingError
from beeline.ordering import FIXED_ORDERS
from beeline.records import Cell, Record, read_records
from beeline.settings import read_settings, setting
from beeline.spec import Spec
from beeline.statistics import Interval
from beeline.statistics.position import Positions, positions
from beeline.statistics.shares import share_over_clusters
from beeline.study import BENCHMARK, Condition, Study
from beeline.trace import read_trace
from studies.tie_rules import Rerun, rerun_trials
from studies.trials import of_navigation

__all__ = ["Places", "Position", "PositionSettings", "conclude", "places_of"]


@dataclass(frozen=True, kw_only=True)
class PositionSettings:
    """The settings of ``conf/study/position.yaml``."""

    of: str = setting("score")
    """The study whose traces are read."""
    condition: str = setting(BENCHMARK)
    reruns: bool = setting(True)
    """Estimate the score under other tie rules."""


class Position(Study):
    """Reads the traces of a model's run of another study."""

    name = "position"
    asks_model = True
    needs_key = False

    def __init__(self, settings: PositionSettings) -> None:
        self.settings = settings

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Position:
        """Read and check the settings."""
        read = read_settings(PositionSettings, settings, "study")
        if read.condition in FIXED_ORDERS:
            raise SettingError(
                f"study.condition={read.condition}: places say nothing where the order is not drawn; choose "
                "benchmark or another drawn order"
            )
        return cls(read)

    def conditions(self) -> tuple[Condition, ...]:
        """None: nothing is run."""
        return ()

    def analyse(self, spec: Spec, records: Mapping[str, Sequence[Record]], results: Path) -> Analysis:
        """Read traces and archives of this model and domain below ``results``."""
        of_navigation(spec)
        model = spec.model
        assert model is not None
        cell = Cell(spec.version, model.name, self.settings.of, spec.domain_name, self.settings.condition)
        kept = [r for r in read_records(cell.path(results)).records if r.trial <= spec.trials]
        if not kept:
            raise SettingError(
                f"there are no records of {model.name} on {spec.domain_name} ({cell.study}, "
                f"{cell.condition}) in {results}: run study={cell.study} first, or name another with "
                "study.of and study.condition"
            )
        found = []
        for record in kept:
            trace = cell.trace_path(results, record.trial, record.repeat)
            if trace.is_file():
                found.append(places_of(read_trace(trace)[1], record.trial))
        reruns = rerun_trials(spec, cell, kept, results) if self.settings.reruns else []
        return conclude(found, reruns, kept, cell)


@dataclass(frozen=True, slots=True)
class Places:
    """The answered questions of one search."""

    places: tuple[int, ...]
    """Place of the pick in the order shown, from 0."""
    options: tuple[int, ...]
    tied: tuple[int, ...]
    """Options that shared the top probability, 1 without a tie; 5 stands for five or more."""
    fallbacks: int
    """Questions left out, since a rule and not the model took the first place."""
    trial: int


def places_of(lines: Sequence[Mapping[str, Any]], trial: int) -> Places:
    """Read the steps of a trace."""
    places, options, tied, fallbacks = [], [], [], 0
    for line in lines:
        if line["forced"]:
            continue
        if line["fallback"]:
            fallbacks += 1
            continue
        places.append(line["order"].index(line["chosen"]))
        options.append(line["frontier"])
        top = line["top"]
        tied.append(sum(weight == top[0][1] for _, weight, _ in top))
    return Places(tuple(places), tuple(options), tuple(tied), fallbacks, trial)


def conclude(
    found: Sequence[Places], reruns: Sequence[Rerun], records: Sequence[Record], cell: Cell
) -> Analysis:
    """Tables, figures and a sentence; raises SettingError without a single traced question."""
    path = ["position", cell.version, cell.model, cell.domain, cell.condition]
    seen = positions(
        [p for one in found for p in one.places],
        [n for one in found for n in one.options],
        path,
        [one.trial for one in found for _ in one.places],
    )
    if seen is None:
        raise SettingError(
            f"no trace of {cell.model} on {cell.domain} ({cell.study}, {cell.condition}) holds an answered "
            "question: run with traces=on, or rerun=untraced"
        )
    ties = share_over_clusters(
        [sum(t > 1 for t in one.tied) for one in found], [len(one.tied) for one in found]
    )
    sentence = f"On {cell.domain}, {cell.model} {_said(seen)}; {_tie_words(ties, reruns)}."
    notes = [
        f"{sum(one.fallbacks for one in found)} fallbacks are left out: the rule took their first place."
    ]
    if len(found) < len(records):
        notes.append(f"{len(records) - len(found)} of {len(records)} records have no trace.")
    return Analysis(
        study=Position.name,
        domain=cell.domain,
        model=cell.model,
        version=cell.version,
        sentence=sentence,
        tables=(_place_table(seen), _tie_table(found, ties), *_rule_tables(reruns)),
        figures=(_figure(seen, cell),),
        data={
            "study": cell.study,
            "condition": cell.condition,
            "trials": len(found),
            "positions": asdict(seen),
            "tied": None if ties is None else asdict(ties),
            "rules": [asdict(one) for one in reruns],
        },
        notes=notes,
    )


def _said(seen: Positions) -> str:
    if seen.p_value >= 0.05:
        return (
            f"shows no liking for a place ({seen.questions:,} questions, p {seen.p_value:.3f}; its picks "
            f"stood at {_interval(seen.relative_place)} of the way, chance 0.50)"
        )
    if seen.first.low > 0:
        return (
            f"prefers the first place: {_interval(seen.first)} of its {seen.questions:,} picks beyond chance "
            f"(p {seen.p_value:.3f})"
        )
    place = seen.relative_place
    where = "early" if place.high < 0.5 else "late" if place.low > 0.5 else "some"
    return (
        f"prefers {where} places: its picks stood at {_interval(place)} of the way, chance 0.50 "
        f"(p {seen.p_value:.3f})"
    )


def _tie_words(ties: Interval | None, reruns: Sequence[Rerun]) -> str:
    share = 0.0 if ties is None else ties.value
    said = f"the top probability was shared in {share:.1%} of the questions"
    if not reruns:
        return said
    known = [one for one in reruns if one.ratio is not None and 2 * one.trials >= one.of]
    if not known:
        return (
            f"{said}, and what another tie rule would give cannot be told for most trials "
            f"({max(one.trials for one in reruns)} of {reruns[0].of} can)"
        )
    widest = max(known, key=lambda one: abs((one.ratio or 1.0) - 1.0))
    return (
        f"{said}, and breaking ties otherwise would multiply the score by {widest.ratio:.2f} at most "
        f"({widest.rule}, over the {widest.trials} of {widest.of} trials that can be told)"
    )


def _place_table(seen: Positions) -> Table:
    rows = [
        ("mean place, 0 first to 1 last", _interval(seen.relative_place), "0.50"),
        ("liking of the first place", _interval(seen.first), "0.00"),
        ("liking of the last place", _interval(seen.last), "0.00"),
    ]
    rows += [
        (
            f"picked place {one.place}",
            f"{one.share.value:.3f} ({one.share.low:.3f} to {one.share.high:.3f})",
            f"{one.expected:.3f}",
        )
        for one in seen.places[:5]
    ]
    return Table(
        f"Places of {seen.questions:,} picks",
        ("", "found", "by chance"),
        tuple(rows),
        (f"p {seen.p_value:.3f} for a histogram this uneven under chance. In brackets 95% intervals.",),
    )


def _tie_table(found: Sequence[Places], ties: Interval | None) -> Table:
    every = [t for one in found for t in one.tied]
    names = {1: "1 (no tie)", 5: "5 or more"}
    rows = tuple(
        (names.get(k, str(k)), f"{every.count(k):,}", f"{every.count(k) / len(every):.3f}")
        for k in range(1, 6)
    )
    note = "" if ties is None else f"Share of questions with a tie: {_interval(ties)}."
    return Table("Options that shared the top probability", ("options", "questions", "share"), rows, (note,))


def _rule_tables(reruns: Sequence[Rerun]) -> tuple[Table, ...]:
    if not reruns:
        return ()
    rows = tuple(
        (
            one.rule,
            f"{one.trials}/{one.of}",
            f"{one.searched}",
            "" if one.score is None else f"{one.score:.4f}",
            "" if one.kept_score is None else f"{one.kept_score:.4f}",
            "" if one.ratio is None else f"{one.ratio:.3f}",
        )
        for one in reruns
    )
    return (
        Table(
            "Score under other tie rules",
            ("ties go to", "trials", "searched", "score", "as run", "ratio"),
            rows,
            (
                "trials: without ties, or searched again with every question in the archive (archive=on); "
                "the others met a question that was not asked then. Both scores are over these trials.",
            ),
        ),
    )


def _figure(seen: Positions, cell: Cell) -> Figure:
    count = len(seen.histogram)
    return Figure(
        name="places",
        kind="bars",
        title=f"{cell.model} on {cell.domain}: where the picks stood",
        x_label="tenth of the way from first to last shown",
        y_label="share of picks",
        series=(Series(cell.model, tuple(str(i + 1) for i in range(count)), tuple(seen.histogram)),),
        reference=1 / count,
        caption=f"A model that ignores places has all bars at {1 / count:.2f}; here the first tenth holds "
        f"{seen.histogram[0]:.2f} and the last {seen.histogram[-1]:.2f} (p {seen.p_value:.3f}).",
    )


def _interval(value: Interval) -> str:
    return f"{value.value:z.2f} ({value.low:z.2f} to {value.high:z.2f})"
