"""From a System One body to the questions that a model is asked, and from its answers to results.

A :class:`beeline.question.Question` has task, goal and context where a body has a state, and no
descriptions. What beeline itself sends comes back as the very Question it was made of; any other state
goes into the context, as it is or as JSON. What a Question cannot hold is refused, not left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from beeline.errors import ModelError
from beeline.model_arm import option_weights
from beeline.question import YES_NO, Answer, Kind, Question
from protocols.serve.refusals import BadRequest

__all__ = ["WholeBody", "question_of", "result_of"]

_STATE = ("task", "goal", "context")


@dataclass(frozen=True, slots=True)
class WholeBody(Question):
    """All questions of a body in one, for models that read bodies themselves (their attribute
    ``reads_bodies``). Such an Answer has the reply's body in ``raw``: ``answers`` and ``usage``, or
    ``status`` and ``detail`` of a refusal."""

    body: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> WholeBody:
        """Around a checked body."""
        return cls("", "", "", "", (), body=body)


def question_of(body: Mapping[str, Any], name: str) -> Question:
    """The question ``name`` of a checked body, options in the order received. Raises BadRequest for
    what a Question cannot hold."""
    asked = body["questions"][name]
    task, goal, context = _texts(body["state"])
    kind: Kind = asked["type"]
    return Question(task, goal, context, _text(asked.get("instructions")), _options(asked, name), kind)


def result_of(question: Question, answer: Answer) -> Any:
    """What a served function would return for one question (:mod:`protocols.serve.answers`). Raises
    BadRequest for a refusal, ModelError for an answer that says nothing."""
    if answer.refused:
        raise BadRequest("The model declines this question", error_type="refusal")
    weights, problem = option_weights(answer, question.options)
    if problem is not None:
        raise ModelError(f"the answer is unusable: {problem}")
    return weights[0] / (weights[0] + weights[1]) if question.kind == "noul" else weights


def _texts(state: Any) -> tuple[str, str, str]:
    """Task, goal and context."""
    ours = isinstance(state, dict) and state and state.keys() <= set(_STATE)
    if ours and all(isinstance(value, str) for value in state.values()):
        return state.get("task", ""), state.get("goal", ""), state.get("context", "")
    return "", "", _text(state)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _options(asked: Mapping[str, Any], name: str) -> tuple[str, ...]:
    if asked["type"] == "score":
        levels = asked["criteria"]
        if not all(isinstance(level, str) for level in levels) or len(set(levels)) < len(levels):
            raise BadRequest(f"The levels of the question {name!r:.100} must be different texts")
        return tuple(levels)
    criteria: Mapping[str, Any] = asked.get("criteria") or {}
    if any(described is not None for described in criteria.values()):
        what = "options" if asked["type"] == "choice" else "sides"
        raise BadRequest(
            f"The question {name!r:.100} describes its {what}, and this model reads their names only: give "
            "null for each, and say in the state what they mean"
        )
    return YES_NO if asked["type"] == "noul" else tuple(criteria)
