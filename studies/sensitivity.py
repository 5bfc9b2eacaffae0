"""What a change that should not matter does to a score: what the sensitivity studies share.

The comparison is made by :mod:`studies.effects`, the share of decisions that change by
:mod:`studies.changes`; here it becomes a sentence, tables and figures.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from beeline.analysis import Analysis, Figure, Table
from beeline.errors import SettingError, nearest
from beeline.records import Cell, Record
from beeline.settings import read_settings
from beeline.study import BENCHMARK, Condition, Study
from studies.changes import changed_share
from studies.effects import Measured, measure
from studies.shown import fine, in_cases, percent, plain, series, span, times

if TYPE_CHECKING:
    from beeline.spec import Spec

__all__ = ["Sensitivity", "benchmark_first", "navigation_only", "settings_of"]

T = TypeVar("T")


class Sensitivity(Study):
    """A study of one thing that should not matter. Subclasses name it and list its conditions."""

    asks_model = True
    trials: ClassVar[int] = 50
    factor: ClassVar[str]
    """What differs between the conditions, as in "no order differs"."""
    factors: ClassVar[str]
    """Its plural."""

    def analyse(self, spec: Spec, records: Mapping[str, Sequence[Record]], results: Path) -> Analysis | None:
        """Scores, differences from the benchmark's condition, decisions changed; None with fewer
        than two conditions."""
        path = ["bootstrap", spec.version, spec.model_name, f"{spec.domain_name}.{spec.domain.heuristic}"]
        cells = {
            name: Cell(spec.version, spec.model_name, spec.study.name, spec.domain_name, name)
            for name in records
        }
        benchmark = [r.key for r in records.get(BENCHMARK, ())]
        changed = {
            name: changed_share(results, cells[BENCHMARK], cells[name], benchmark)
            for name in records
            if name != BENCHMARK and BENCHMARK in cells
        }
        found = measure(records, path, changed)
        if found is None:
            return None
        return Analysis(
            study=self.name,
            domain=spec.domain_name,
            model=spec.model_name,
            version=spec.version,
            sentence=self.sentence(found),
            tables=self._tables(found),
            figures=self._figures(found, f"{spec.model_name}, {spec.domain_name}"),
            data=_data(found),
            notes=(f"benchmark: {self.benchmark_is(spec)}.", *self._notes(found)),
        )

    @abstractmethod
    def benchmark_is(self, spec: Spec) -> str:
        """What the benchmark's own condition does, for a note."""

    def sentence(self, found: Measured) -> str:
        """What was found, honestly."""
        trials = f"{found.trials} {'trial' if found.trials == 1 else 'trials'}"
        what = self.factor.capitalize()
        if found.identical:
            score = found.effects[0].score
            return (
                f"{what} made no difference: {len(found.effects)} {self.factors} gave each of {trials} the "
                f"same score, {fine(score.value)} ({span(score, fine)}) overall."
            )
        lowest = min(found.effects, key=lambda e: e.score.value)
        highest = max(found.effects, key=lambda e: e.score.value)
        said = (
            f"{what} moved the score over {trials} by a factor of {times(found.range_ratio)}, from "
            f"{fine(lowest.score.value)} ({lowest.condition}) to {fine(highest.score.value)} "
            f"({highest.condition})"
        )
        if not found.can_tell:
            return f"{said}; so few trials cannot tell which of them differ from the benchmark's."
        beyond = found.beyond_chance
        if not beyond:
            least = min(e.adjusted for e in found.effects if e.adjusted is not None)
            return (
                f"{said}; no {self.factor} differs from the benchmark's beyond chance (smallest Holm "
                f"p = {least:.2g})."
            )
        names = ", ".join(
            f"{e.condition} ({times(e.comparison.ratio.value)} times, {span(e.comparison.ratio, times)})"
            for e in beyond
            if e.comparison is not None
        )
        return (
            f"{said}; {len(beyond)} of {len(found.effects) - 1} {self.factors} "
            f"{'differs' if len(beyond) == 1 else 'differ'} from the benchmark's beyond chance: {names}."
        )

    def _tables(self, found: Measured) -> tuple[Table, ...]:
        by_score = tuple(
            (e.condition, fine(e.score.value), span(e.score, fine), str(e.unsolved)) for e in found.effects
        )
        against = tuple(
            (
                e.condition,
                times(e.comparison.ratio.value),
                span(e.comparison.ratio, times),
                f"{e.comparison.p_value:.2g}",
                f"{e.adjusted:.2g}",
                f"{e.comparison.wins}-{e.comparison.ties}-{e.comparison.losses}",
                percent(e.changed),
            )
            for e in found.effects
            if e.comparison is not None
        )
        return (
            Table(
                f"Scores, {found.trials} trials",
                ("condition", "score", "95% interval", "unsolved"),
                by_score,
                ("Geometric means; the interval is for other trials of the same kind.",),
            ),
            Table(
                "Against the benchmark's condition, on the same trials",
                ("condition", "ratio", "95% interval", "p", "Holm p", "w-t-l", "changed"),
                against,
                (
                    "ratio: of scores, above 1 where better than the benchmark's. p: sign-flip test; Holm p: "
                    "corrected for looking at several. w-t-l: trials won, tied, lost. changed: decisions "
                    "that differ at the same frontier, while the searches agree.",
                ),
            ),
        )

    def _figures(self, found: Measured, of: str) -> tuple[Figure, ...]:
        names = tuple(e.condition for e in found.effects)
        score = [e.score for e in found.effects]
        others = [e for e in found.effects if e.comparison is not None]
        ratio = [e.comparison.ratio for e in others if e.comparison is not None]
        return (
            Figure(
                "scores",
                "forest",
                f"Score by {self.factor}: {of}",
                self.factor,
                "score (geometric mean, 95% interval)",
                (series("score", names, score),),
                reference=found.effects[names.index(BENCHMARK)].score.value,
                log_y=True,
                caption=self.sentence(found) + " The line is the benchmark's score.",
            ),
            Figure(
                "ratios",
                "forest",
                f"Score against the benchmark's: {of}",
                self.factor,
                "ratio of scores on the same trials (95% interval)",
                (series("ratio", tuple(e.condition for e in others), ratio),),
                reference=1.0,
                log_y=True,
                caption=f"Where an interval crosses 1, that {self.factor} may make no difference.",
            ),
        )

    def _notes(self, found: Measured) -> tuple[str, ...]:
        notes = []
        if not found.identical:
            notes.append(
                f"Exchanging the {self.factors} at random within each trial makes the highest score "
                f"typically {times(found.range_by_chance)} times the lowest, and as far apart as here "
                f"({times(found.range_ratio)} times) in {in_cases(found.range_p_value)} of cases."
            )
        if any(effect.unsolved for effect in found.effects):
            notes.append(
                "Unsolved searches count as if solved at the limit: where both were stopped there, a trial "
                "is tied, whatever would have come later."
            )
        if found.left_out:
            left = "trial that" if found.left_out == 1 else "trials that"
            be = "is" if found.left_out == 1 else "are"
            notes.append(f"{found.left_out} {left} some {self.factors} lack {be} left out.")
        return tuple(notes)


def navigation_only(spec: Spec) -> None:
    """Raise SettingError for a domain that asks no choice questions."""
    if spec.domain.suite != "navigation":
        raise SettingError(
            f"study={spec.study.name} changes questions of the navigation suite; domain {spec.domain_name} "
            f"belongs to {spec.domain.suite}: choose another domain"
        )


def settings_of(cls: type[T], settings: Mapping[str, Any], study: str) -> T:
    """The settings of a study; SettingError names the setting, its value and what is allowed."""
    known = [f.name for f in fields(cls)]  # type: ignore[arg-type]
    for key in settings:
        if key not in known:
            raise SettingError(f"study.{key} is not a setting of study {study}: {nearest(str(key), known)}")
    return read_settings(cls, settings, "study")


def benchmark_first(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The benchmark's own condition and then these; SettingError when there are none or a name comes
    twice."""
    found = (Condition(), *conditions)
    if len(found) == 1:
        raise SettingError(
            "this study would run the benchmark's own condition alone: name at least one other to compare"
        )
    names = [condition.name for condition in found]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"this study would run {name!r} twice: name each condition once")
    return found


def _data(found: Measured) -> dict[str, Any]:
    return {
        "trials": found.trials,
        "left_out": found.left_out,
        "identical": found.identical,
        "range": {
            "ratio": found.range_ratio,
            "by_chance": found.range_by_chance,
            "p_value": found.range_p_value,
        },
        "conditions": {
            e.condition: {
                "score": plain(e.score),
                "unsolved": e.unsolved,
                "changed": plain(e.changed),
                "against_benchmark": None
                if e.comparison is None
                else {
                    "ratio": plain(e.comparison.ratio),
                    "p_value": e.comparison.p_value,
                    "holm_p_value": e.adjusted,
                    "wins": e.comparison.wins,
                    "ties": e.comparison.ties,
                    "losses": e.comparison.losses,
                    "sign_test_p_value": e.comparison.sign_p_value,
                    "spread": e.comparison.spread,
                },
            }
            for e in found.effects
        },
    }
