"""Questions that one model met, asked to another: do they pick the same option?

The questions are those of a run's traces (``study.of`` names the model that searched): the same
texts, the same options in the same order. A few a trial are drawn from draws (domain, trial,
"agreement", searcher); those without an answer of the searcher's (fallbacks) are left out. The other
model (``model=``) is asked each once; what it likes best is compared with what the searcher took.
Asking the searcher itself measures how often it repeats itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.analysis import Analysis, Figure, Series, Table
from beeline.draws import Draws
from beeline.errors import SettingError, StorageError
from beeline.question import Question
from beeline.records import Cell, Record, read_records
from beeline.search import search
from beeline.settings import read_settings, setting
from beeline.space import UNREACHABLE, Space
from beeline.spec import Spec
from beeline.statistics import Interval
from beeline.statistics.discrimination import accuracy_over_chance
from beeline.statistics.shares import share_over_clusters
from beeline.study import BENCHMARK, Condition, Study
from beeline.trace import read_trace
from beeline.worker import DomainPlan
from studies.asking import Item, ask_trials
from studies.shown import plain
from studies.trials import open_trial, plan_of, texts_of

__all__ = ["Agreement", "AgreementSettings", "conclude", "traced_items"]


@dataclass(frozen=True, kw_only=True)
class AgreementSettings:
    """The settings of ``conf/study/agreement.yaml``."""

    of: str = setting(missing="Name the model whose traced questions are asked: study.of=NAME")
    """Short name of the model that searched."""
    source: str = setting("score")
    """Study of its traces."""
    questions: int = setting(10, least=1, most=2500)
    """Drawn a trial."""


class Agreement(Study):
    """Asks one model what another was asked."""

    name = "agreement"
    asks_model = True
    trials = 50

    def __init__(self, settings: AgreementSettings) -> None:
        self.settings = settings

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Agreement:
        """Read and check the settings."""
        return cls(read_settings(AgreementSettings, settings, "study"))

    def conditions(self) -> tuple[Condition, ...]:
        """None: no search is run."""
        return ()

    def analyse(self, spec: Spec, records: Mapping[str, Sequence[Record]], results: Path) -> Analysis:
        """Ask what is not answered yet, then compare."""
        plan = plan_of(spec)
        model = spec.model
        assert model is not None
        searcher = Cell(spec.version, self.settings.of, self.settings.source, spec.domain_name, BENCHMARK)
        kept = [r for r in read_records(searcher.path(results)).records if r.trial <= spec.trials]
        items: dict[int, list[Item]] = {}
        for record in kept:
            trace = searcher.trace_path(results, record.trial, record.repeat)
            if record.trial not in items and trace.is_file():
                header, lines = read_trace(trace)
                space = open_trial(plan, record.trial)
                model_id = str(header["model_id"])
                items[record.trial] = traced_items(
                    plan, space, record.trial, model_id, lines, self.settings.questions, trace
                )
        if not any(items.values()):
            raise SettingError(
                f"there are no traced questions of {self.settings.of} on {spec.domain_name} "
                f"({self.settings.source}, version {spec.version}) in {results}: run "
                f"model={self.settings.of} study={self.settings.source} with traces=on first"
            )
        answers = ask_trials(spec, f"of-{self.settings.of}", items)
        return conclude(answers, spec.domain_name, self.settings.of, model.name, spec.version)


def traced_items(
    plan: DomainPlan,
    space: Space,
    trial: int,
    model_id: str,
    lines: Sequence[Mapping[str, Any]],
    count: int,
    where: Path,
) -> list[Item]:
    """Up to ``count`` of the questions that a trace tells of, in the order asked.

    Raises StorageError when the trace is of another search than this version's.
    """
    texts = texts_of(plan, space)
    asked = [k for k, line in enumerate(lines) if not line["forced"] and not line["fallback"]]
    drawn = set(Draws(plan.name, trial, "agreement", model_id).sample(asked, min(count, len(asked))))
    evict = Draws(plan.name, trial, "evict", "model", model_id)
    steps = search(space, plan.limits, evict, space.text)
    found: dict[str, Item] = {}
    at = 0
    try:
        frontier = next(steps)
        while True:
            while lines[at]["forced"]:
                at += 1
            line, states, labels = lines[at], frontier.states, frontier.keys
            chosen = line["chosen"]
            if len(states) != line["frontier"] or labels[chosen] != line["state"]:
                raise StorageError(
                    f"{where}, step {at + 1}, is not of the search that this version makes: it was kept by "
                    "another version or program"
                )
            if at in drawn:
                order = line["order"]
                distances = [space.to_goal[s] for s in states]
                least = min(distances)
                item = Item(
                    Question(*texts, tuple(labels[i] for i in order)),
                    {
                        "about": "agreement",
                        "step": at + 1,
                        "order": order,
                        "picked": chosen,
                        "nearest": [i for i, d in enumerate(distances) if d == least < UNREACHABLE],
                    },
                )
                found.setdefault(item.digest, item)
            frontier = steps.send(chosen)
            at += 1
    except StopIteration:
        return list(found.values())
    except IndexError as error:
        raise StorageError(f"{where} ends before its search does: run the trial again") from error


def conclude(
    lines: Sequence[Mapping[str, Any]], domain: str, searcher: str, other: str, version: str
) -> Analysis:
    """Compare the kept answers with the searcher's picks; raises SettingError without a usable one."""
    usable = [line for line in lines if line["problem"] is None]
    if not usable:
        raise SettingError(f"not one of {len(lines)} answers of {other} was usable: nothing to compare")
    trials = sorted({line["trial"] for line in usable})
    same, ours, theirs, judged, chances = [], [], [], [], []
    for line in usable:
        pick = _pick(line["weights"], line["order"])
        same.append(pick == line["picked"])
        chances.append(1 / len(line["order"]))
        judged.append(bool(line["nearest"]))
        theirs.append(line["picked"] in line["nearest"])
        ours.append(pick in line["nearest"])

    def share(hits: Sequence[bool], among: Sequence[bool]) -> Interval | None:
        rows = list(zip((line["trial"] for line in usable), hits, among, strict=True))
        return share_over_clusters(
            [sum(hit and of for t, hit, of in rows if t == trial) for trial in trials],
            [sum(of for t, _, of in rows if t == trial) for trial in trials],
        )

    every = [True] * len(usable)
    agreed = share(same, every)
    assert agreed is not None
    over = accuracy_over_chance([int(s) for s in same], chances, [line["trial"] for line in usable])
    small = [len(line["order"]) <= 30 for line in usable]
    missed = [j and not t for j, t in zip(judged, theirs, strict=True)]
    # What is counted, and among which questions.
    counted: dict[str, tuple[Sequence[bool], Sequence[bool]]] = {
        "same pick": (same, every),
        "same pick, up to 30 options": (same, small),
        "same pick, more options": (same, [not s for s in small]),
        "same pick, where the searcher was optimal": (same, theirs),
        "same pick, where it was not": (same, missed),
        f"optimal: {searcher}": (theirs, judged),
        f"optimal: {other}": (ours, judged),
    }
    # Of no question at all nothing is said.
    drawn = {name: value for name, (hits, of) in counted.items() if (value := share(hits, of)) is not None}
    rows = [
        (name, f"{sum(counted[name][1]):,}", _two(value), _bounds(value)) for name, value in drawn.items()
    ]
    rows.insert(1, ("same pick over chance", f"{len(usable):,}", _two(over), _bounds(over)))
    notes = []
    if len(usable) < len(lines):
        notes.append(f"{len(lines) - len(usable)} of {len(lines)} answers were unusable and are left out.")
    sentence = (
        f"On {domain}, {other} picks what {searcher} took in {_two(agreed)} ({_bounds(agreed)}) of "
        f"{len(usable):,} questions, {_two(over)} ({_bounds(over)}) of the way from chance to always."
    )
    return Analysis(
        study=Agreement.name,
        domain=domain,
        model=other,
        version=version,
        sentence=sentence,
        tables=(
            Table(
                f"{other} on the questions of {searcher}, {len(trials)} trials",
                ("", "questions", "share", "95% interval"),
                tuple(rows),
                (
                    "over chance: 0 for picks that have nothing to do with each other, 1 for always the "
                    "same. optimal: took a nearest state, of the questions where one reaches the goal.",
                ),
            ),
        ),
        figures=(
            Figure(
                name=f"agreement-{searcher}",
                kind="forest",
                title=f"{other} on the questions of {searcher}, {domain}",
                x_label="",
                y_label="share of questions",
                series=(
                    Series(
                        other,
                        tuple(drawn),
                        tuple(v.value for v in drawn.values()),
                        tuple(v.low for v in drawn.values()),
                        tuple(v.high for v in drawn.values()),
                    ),
                ),
                reference=sum(chances) / len(chances),
                caption=f"{sentence} The line is the share of equal picks by chance.",
            ),
        ),
        data={
            "searcher": searcher,
            "questions": len(usable),
            "trials": len(trials),
            "measures": {name: plain(value) for name, value in drawn.items()}
            | {"same pick over chance": plain(over)},
        },
        notes=notes,
    )


def _two(interval: Interval) -> str:
    """A share, to two decimals; one over chance may lie below 0."""
    return f"{interval.value:z.2f}"


def _bounds(interval: Interval) -> str:
    return f"{interval.low:z.2f} to {interval.high:z.2f}"


def _pick(weights: Sequence[float], order: Sequence[int]) -> int:
    """The likeliest option as its number in the frontier, the first found on a tie."""
    top = max(weights)
    return min(index for index, weight in zip(order, weights, strict=True) if weight == top)
