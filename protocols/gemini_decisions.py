"""Google's Decisions API (Gemini): one question on a request, over HTTP.

Request: ``model``, ``input`` (a text made of task, goal and context, a labelled line each) and
``questions`` with the one question ``choose``, whose ``criteria`` map each option to a
description. Descriptions must be texts, so each is empty. Reply: ``answers.choose.probabilities``
by option name, as in System One; it names no model, so what served stays unknown.

A blocked input comes with status 200, ``prompt_feedback.block_reason`` and no answers: a refusal.
Names with control characters, with a blank at either end or without any character are refused by
the host, so such a question is not sent. The shape is that of the package google-genai 3.6.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from beeline.errors import ModelError
from beeline.question import Answer, Question
from protocols.decisions import (
    QUESTION_ID,
    DecisionModel,
    EscapedTexts,
    json_bytes,
    labelled,
    read_levels,
    read_map,
    read_yes,
)
from protocols.hosted import HostedSettings
from protocols.jsontext import escaped
from protocols.settings import setting

__all__ = ["GeminiDecisions", "GeminiDecisionsSettings"]

#: Unicode's control characters (category Cc).
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, kw_only=True)
class GeminiDecisionsSettings(HostedSettings):
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    path: str = setting("/decisions")
    key_header: str = setting("x-goog-api-key")
    key_prefix: str = setting("", blank=True)


class _Criteria(EscapedTexts):
    """Raises ModelError for a name that the host refuses; checked once a text."""

    __slots__ = ()
    after = b':""'

    def __missing__(self, text: str) -> bytes:
        if not text or text != text.strip() or _CONTROL.search(text):
            raise ModelError(
                f"Google's Decisions API refuses the option {text[:80]!r}: it may not be empty, hold control "
                "characters, or begin or end with a blank"
            )
        return super().__missing__(text)


class GeminiDecisions(DecisionModel):
    """A model behind Google's Decisions API."""

    protocol = "gemini_decisions"
    settings_class = GeminiDecisionsSettings
    options_class = _Criteria
    tail = b"}}}}"
    expected_output = 0
    input_names = ("total_input_tokens",)
    output_names = ("total_output_tokens",)

    def head(self, question: Question) -> bytes:
        """The body up to the first option."""
        return b'{"model":%b,"input":%b,"questions":{"%b":{"type":"choice","instructions":%b,"criteria":{' % (
            escaped(self.model_id),
            escaped(labelled(question)),
            QUESTION_ID.encode(),
            escaped(question.instructions),
        )

    def other_body(self, question: Question) -> bytes:
        """The body of a noul or a score."""
        asked: dict[str, Any] = {"type": question.kind, "instructions": question.instructions}
        if question.kind == "score":
            asked["criteria"] = list(question.options)
        return json_bytes(
            {"model": self.model_id, "input": labelled(question), "questions": {QUESTION_ID: asked}}
        )

    def advice(self) -> dict[int, str]:
        """Google says 400 to a key that is none."""
        found = super().advice()
        return found | {400: f"{found[401]}, and model.id"}

    def read_answer(self, body: dict[str, Any], question: Question, answer: Answer) -> None:
        """Take the map from option to number."""
        answers = body.get("answers")
        given = answers.get(QUESTION_ID) if isinstance(answers, dict) else None
        if not isinstance(given, dict):
            feedback = body.get("prompt_feedback")
            if isinstance(feedback, dict) and feedback.get("block_reason"):
                answer.refused = True
            else:
                answer.problem = "no answer to the question in the reply"
            return
        if question.kind == "noul":
            read_yes(given.get("noul"), answer)
        elif question.kind == "score":
            read_levels(given.get("probabilities"), question, answer)
        else:
            read_map(given, answer)
