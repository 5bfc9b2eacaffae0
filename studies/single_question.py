"""Single questions with exact truth, asked of frontiers that no model chose (studies.frontiers).

What boards of single questions measure, on questions that nobody has trained on: is the model right,
are its probabilities, can it tell positions apart? The questions are the same for every model;
only their number depends on ``frontiers`` and ``trials``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from beeline.analysis import Analysis, Figure, Series, Table
from beeline.errors import SettingError, nearest
from beeline.question import KINDS
from beeline.records import Record
from beeline.settings import read_settings, setting
from beeline.spec import Spec
from beeline.statistics import Interval
from beeline.study import Condition, Study
from studies.asking import ask_trials
from studies.frontiers import ABOUT, frontiers, questions
from studies.judging import Judged, judge
from studies.trials import plan_of, spaces

__all__ = ["SingleQuestion", "SingleQuestionSettings", "conclude", "trust"]

TITLES = {
    "best": "nearest",
    "optimal": "among nearest",
    "reach": "goal in reach",
    "moves": "moves left",
}
"""Short, so that a table fits a terminal."""
_ASKED = (
    "nearest: which state is (choice); among nearest: is this one (noul); goal in reach: from this one "
    "(noul); moves left: how many from this one (score)."
)


@dataclass(frozen=True, kw_only=True)
class SingleQuestionSettings:
    """The settings of ``conf/study/single_question.yaml``."""

    frontiers: int = setting(2, least=1, most=100)
    """Frontiers an arm and trial."""
    kinds: tuple[str, ...] = setting(KINDS)
    """Kinds to ask, as far as the model answers them."""


class SingleQuestion(Study):
    """Asks choices, nouls and scores about the frontiers of the heuristic and random arms."""

    name: ClassVar[str] = "single_question"
    asks_model = True
    trials = 50

    def __init__(self, settings: SingleQuestionSettings) -> None:
        self.settings = settings

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> SingleQuestion:
        """Read and check the settings."""
        read = read_settings(SingleQuestionSettings, settings, "study")
        for kind in read.kinds:
            if kind not in KINDS:
                raise SettingError(f"study.kinds holds {kind!r}: {nearest(kind, KINDS)}")
        return cls(read)

    def conditions(self) -> tuple[Condition, ...]:
        """None: no search is run."""
        return ()

    def analyse(self, spec: Spec, records: Mapping[str, Sequence[Record]], results: Path) -> Analysis:
        """Ask what is not answered yet, then judge all answers."""
        model = spec.model
        assert model is not None
        plan = plan_of(spec)
        kinds = [kind for kind in KINDS if kind in self.settings.kinds and kind in model.kinds]
        if not kinds:
            raise SettingError(
                f"model {model.name} answers {', '.join(model.kinds)} only, and study.kinds="
                f"[{','.join(self.settings.kinds)}] asks none of these"
            )
        items = {}
        for trial, space in spaces(plan, spec.trials):
            met = frontiers(plan, space, trial, self.settings.frontiers)
            items[trial] = questions(plan, space, trial, met, kinds)
        lines = ask_trials(spec, "questions", items)
        left_out = [kind for kind in self.settings.kinds if kind not in model.kinds]
        return conclude(lines, spec.domain_name, model.name, spec.version, spec.trials, left_out)


def conclude(
    lines: Sequence[Mapping[str, Any]],
    domain: str,
    model: str,
    version: str,
    trials: int,
    left_out: Sequence[str] = (),
) -> Analysis:
    """Tables, figures and a sentence from kept answers; raises SettingError when there are none."""
    path = ["single_question", version, model, domain]
    judged = []
    for about in ABOUT:
        mine = [line for line in lines if line["about"] == about]
        if mine:
            judged.append(judge(about, mine, [*path, about]))
    if not judged:
        raise SettingError(f"no frontier of {trials} trials of {domain} lends itself to a question")
    notes = _notes(judged, domain, model, left_out)
    return Analysis(
        study=SingleQuestion.name,
        domain=domain,
        model=model,
        version=version,
        sentence=_sentence(judged, domain, model),
        tables=_tables(judged, trials),
        figures=_figures(judged, domain, model),
        data={"trials": trials, "questions": [asdict(one) for one in judged]},
        notes=notes,
    )


def _tables(judged: Sequence[Judged], trials: int) -> tuple[Table, ...]:
    right = Table(
        f"Is it right? Trials 1 to {trials}",
        ("question", "usable", "chance", "accuracy", "over chance"),
        tuple(
            (
                TITLES[one.about],
                f"{one.usable}/{one.asked}",
                _number(one.chance),
                _interval(one.accuracy),
                _interval(one.knowledge),
            )
            for one in judged
        ),
        (
            _ASKED,
            "over chance: 0 is guessing, 1 perfect. In brackets 95% intervals, trials as clusters.",
        ),
    )
    sure = Table(
        "Are its probabilities right?",
        ("question", "calibration error", "p", "overconfidence"),
        tuple(
            (
                TITLES[one.about],
                _interval(one.calibration.error if one.calibration else None),
                _number(one.calibration_p, 3),
                _interval(one.calibration.overconfidence if one.calibration else None),
            )
            for one in judged
        ),
        (
            "calibration error: debiased, ten bins of equal mass; p: of so large an error in a calibrated "
            "model. overconfidence: mean of probability less outcome; of a noul, how much yes is overrated.",
        ),
    )
    good = Table(
        "How good are they all in all?",
        ("question", "Brier", "log loss", "clipped", "AUC"),
        tuple(
            (
                TITLES[one.about],
                _interval(one.brier.score if one.brier else None),
                _interval(one.log_loss.loss if one.log_loss else None),
                str(one.log_loss.clipped if one.log_loss else ""),
                _interval(one.auc),
            )
            for one in judged
        ),
        (
            "log loss of what is right, in nats, probabilities below 0.000001 counted as that (clipped). "
            "AUC: area under the ROC curve of the probability, 0.5 tells nothing.",
        ),
    )
    moves = [one for one in judged if one.rank is not None or one.error is not None]
    if not moves:
        return right, sure, good
    left = Table(
        "Moves left",
        ("question", "rank correlation", "mean error, moves", "best constant answer's"),
        tuple(
            (TITLES[m.about], _interval(m.rank), _interval(m.error), _number(m.constant_error)) for m in moves
        ),
    )
    return right, sure, good, left


def _figures(judged: Sequence[Judged], domain: str, model: str) -> tuple[Figure, ...]:
    usable = [one for one in judged if one.knowledge is not None]
    if not usable:
        return ()
    knowledge = [one.knowledge for one in usable if one.knowledge is not None]
    best = max(zip(knowledge, usable, strict=True), key=lambda pair: pair[0].value)
    forest = Figure(
        name="accuracy-over-chance",
        kind="forest",
        title=f"{model} on {domain}: right answers beyond chance",
        x_label="",
        y_label="accuracy over chance (0 guessing, 1 perfect)",
        series=(
            Series(
                label=model,
                x=tuple(TITLES[one.about] for one in usable),
                y=tuple(k.value for k in knowledge),
                low=tuple(k.low for k in knowledge),
                high=tuple(k.high for k in knowledge),
            ),
        ),
        reference=0.0,
        caption=f"Most is known of: {TITLES[best[1].about]}, {_interval(best[0])}.",
    )
    curves = Figure(
        name="calibration",
        kind="lines",
        title=f"{model} on {domain}: said and happened",
        x_label="probability given",
        y_label="share that happened",
        series=tuple(
            Series(
                label=TITLES[one.about],
                x=tuple(b.probability for b in one.curve),
                y=tuple(b.share.value for b in one.curve),
                low=tuple(b.share.low for b in one.curve),
                high=tuple(b.share.high for b in one.curve),
            )
            for one in usable
        ),
        reference="diagonal",
        caption="On the diagonal what is called p happens in p of the cases; below it the model promises "
        f"too much. {_overall_confidence(usable)}",
    )
    return forest, curves


def _overall_confidence(judged: Sequence[Judged]) -> str:
    parts = [
        f"{TITLES[one.about]}: {one.calibration.overconfidence.value:+z.2f}"
        for one in judged
        if one.calibration is not None
    ]
    return f"Overconfidence by question: {'; '.join(parts)}."


def _sentence(judged: Sequence[Judged], domain: str, model: str) -> str:
    said = []
    for one in judged:
        if one.knowledge is None:
            said.append(f"gives no usable answer to '{TITLES[one.about]}'")
            continue
        low, high = one.knowledge.low, one.knowledge.high
        verb = "knows more than chance of" if low > 0 else "is no better than chance at"
        if high < 0:
            verb = "is worse than chance at"
        said.append(f"{verb} '{TITLES[one.about]}' ({_interval(one.knowledge)} over chance; {trust(one)})")
    return f"On {domain}, {model} {'; '.join(said)}."


def trust(one: Judged) -> str:
    """What may be said of the probabilities: a claim needs both the interval and the test, since an
    interval without a single hit (or miss) is too short."""
    if one.calibration is None or one.calibration_p is None:
        return "nothing known of its probabilities"
    error, over = one.calibration.error, one.calibration.overconfidence
    if one.calibration_p < 0.05:
        if over.low > 0 or over.high < 0:
            many, few = "overconfident", "underconfident"
            if one.kind == "noul":
                many, few = "says yes too readily,", "says yes too seldom,"
            return f"{many if over.value > 0 else few} by {abs(over.value):.2f}"
        if error.low > 0:
            return f"miscalibrated by {error.value:.2f}"
        return "perhaps miscalibrated: more trials would tell"
    return "calibrated as far as can be told"


def _notes(judged: Sequence[Judged], domain: str, model: str, left_out: Sequence[str]) -> list[str]:
    notes = []
    if left_out:
        notes.append(f"{model} does not answer the kinds {', '.join(left_out)}: they were not asked.")
    names = {one.about for one in judged}
    if "noul" not in left_out and "optimal" in names and "reach" not in names:
        notes.append(
            f"No frontier of {domain} held a state without a way to the goal: 'reach' was not asked."
        )
    for one in judged:
        if one.usable < one.asked:
            notes.append(
                f"{one.asked - one.usable} of {one.asked} answers to '{TITLES[one.about]}' were unusable "
                f"({one.refused} refusals) and are left out: what is said holds for the others."
            )
    return notes


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _interval(value: Interval | None) -> str:
    return "" if value is None else f"{value.value:z.2f} ({value.low:z.2f} to {value.high:z.2f})"
