"""What a score would be under another tie rule, from the answers that were kept.

The search of a trial is run again with the rule. Each question that comes up is looked up in the
trial's archive by its digest (text, options and their order); the first that is not there ends the
attempt. Since option orders and evictions are drawn as in the run, questions coincide up to the first
tie that the rules break differently, and often no further.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from beeline.archive import answer_from, asked
from beeline.errors import StorageError
from beeline.lines import read_lines
from beeline.model import Model
from beeline.model_arm import UsabilityGuard, option_weights
from beeline.question import Answer, Question
from beeline.records import Cell, Record
from beeline.spec import Spec
from beeline.statistics import geometric_mean
from beeline.worker import DomainPlan, begin_model_arm
from studies.trials import open_trial, plan_of

__all__ = ["RULES", "Rerun", "rerun", "rerun_trials"]

RULES = ("frontier_order", "seeded_draw", "shown_first", "shown_last")
"""The rules of versions, and the first and the last in the order shown."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """One rule over the records of a cell. Scores are None where no trial can be told."""

    rule: str
    of: int
    """Trials (of the first repeat) that have a record."""
    trials: int
    """Those whose score under the rule is known."""
    searched: int
    """Those of them that had ties and were searched again to the end."""
    score: float | None
    kept_score: float | None
    """Of the same trials as they were run."""
    ratio: float | None


def rerun_trials(spec: Spec, cell: Cell, records: Sequence[Record], results: Path) -> list[Rerun]:
    """Each rule but the version's own."""
    plan = plan_of(spec)
    model = spec.model
    assert model is not None
    first = [r for r in records if r.repeat == min(x.repeat for x in records) and "model" in r.arms]
    spaces: dict[int, Any] = {}
    found = []
    for rule in RULES:
        if rule == plan.ties:
            continue
        now: list[float] = []
        then: list[float] = []
        searched = 0
        for record in first:
            arm = record.arms["model"]
            if not arm.get("ties"):
                now.append(arm["score"])
                then.append(arm["score"])
                continue
            archive = cell.archive_path(results, record.trial, record.repeat)
            if not archive.is_file():
                continue
            if record.trial not in spaces:
                spaces[record.trial] = open_trial(plan, record.trial)
            score = rerun(plan, spaces[record.trial], record.trial, model, archive, rule)
            if score is not None:
                searched += 1
                now.append(score)
                then.append(arm["score"])
        score = geometric_mean(now) if now else None
        kept = geometric_mean(then) if then else None
        ratio = None if score is None or kept is None else score / kept
        found.append(Rerun(rule, len(first), len(now), searched, score, kept, ratio))
    return found


def rerun(plan: DomainPlan, space: Any, trial: int, model: Model, archive: Path, rule: str) -> float | None:
    """The score of one trial under a rule; None where a question comes up that has no kept answer."""
    _, lines = read_lines(archive, "archive")
    kept = {line["asked"]: line for line in lines}
    ties = rule if rule in ("frontier_order", "seeded_draw") else "frontier_order"
    steps = begin_model_arm(replace(plan, ties=ties), space, trial, model, UsabilityGuard(1 << 62), False)
    try:
        question = next(steps)
        while True:
            line = kept.get(asked(question))
            if line is None:
                return None
            question = steps.send(_broken(_answer(model, line, question, archive), question, rule))
    except StopIteration as stop:
        arm: Mapping[str, Any] = stop.value.as_dict(space.shortest_path, plan.limits)
        return float(arm["score"])


def _answer(model: Model, line: Mapping[str, Any], question: Question, archive: Path) -> Answer:
    try:
        if "body" not in line:
            return answer_from(line)
        return model.reread(str(line["body"]).encode("utf-8", "surrogateescape"), question)
    except (ValueError, TypeError, KeyError) as error:
        raise StorageError(f"{archive} holds a damaged line ({error}): run the trial again") from error


def _broken(answer: Answer, question: Question, rule: str) -> Answer:
    """For a rule that goes by the order shown: the tied option it takes, with a little more."""
    if not rule.startswith("shown"):
        return answer
    weights, problem = option_weights(answer, question.options)
    if problem is not None:
        return answer
    top = max(weights)
    tied = [i for i, w in enumerate(weights) if w == top]
    raised = list(weights)
    raised[tied[0] if rule == "shown_first" else tied[-1]] = math.nextafter(top, math.inf)
    return replace(answer, probabilities=raised, choice=None)
