"""The Jev protocol ("System One"): one question a request, over HTTP.

Request: ``model``, ``state`` (task, goal, context), ``questions`` with the one question ``choose``
whose ``criteria`` map each option to null, and no field more, since some hosts refuse unknown ones.
Reply: ``answers.choose.probabilities`` by option name. Names are compared byte for byte; any sum
is accepted; a missing name counts 0 and a foreign one is ignored (by the arm). ``choice`` is kept
and never trusted. A noul has no criteria and is answered by a number, a score's criteria are a list.

Spoken by TypeSafe (Jev), Perplexity, OpenRouter, Cloudflare (in an envelope), Liquid, Inception
and servers of one's own (vLLM, SGLang, llama.cpp, Ollama, :mod:`protocols.serve`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beeline.question import Answer, Question
from protocols.decisions import (
    QUESTION_ID,
    DecisionModel,
    EscapedTexts,
    json_bytes,
    read_levels,
    read_map,
    read_yes,
)
from protocols.hosted import HostedSettings
from protocols.jsontext import escaped
from protocols.settings import setting

__all__ = ["EscapedOptions", "SystemOne", "SystemOneSettings"]


@dataclass(frozen=True, kw_only=True)
class SystemOneSettings(HostedSettings):
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    path: str = setting("/systemone")


class EscapedOptions(EscapedTexts):
    """Option text to ``"text":null``."""

    __slots__ = ()
    after = b":null"


class SystemOne(DecisionModel):
    """A model behind a server that speaks the Jev protocol."""

    protocol = "systemone"
    settings_class = SystemOneSettings
    options_class = EscapedOptions
    tail = b"}}}}"

    def head(self, question: Question) -> bytes:
        """The body up to the first option."""
        state = {"task": question.task, "goal": question.goal, "context": question.context}
        fields = b",".join(escaped(key) + b":" + escaped(value) for key, value in state.items())
        return (
            b'{"model":%b,"state":{%b},"questions":{"%b":{"type":"choice","instructions":%b,"criteria":{'
            % (escaped(self.model_id), fields, QUESTION_ID.encode(), escaped(question.instructions))
        )

    def other_body(self, question: Question) -> bytes:
        """The body of a noul or a score."""
        asked: dict[str, Any] = {"type": question.kind, "instructions": question.instructions}
        if question.kind == "score":
            asked["criteria"] = list(question.options)
        state = {"task": question.task, "goal": question.goal, "context": question.context}
        return json_bytes({"model": self.model_id, "state": state, "questions": {QUESTION_ID: asked}})

    def read_answer(self, body: dict[str, Any], question: Question, answer: Answer) -> None:
        """Take the map from option to number."""
        answers = body.get("answers")
        given = answers.get(QUESTION_ID) if isinstance(answers, dict) else None
        if not isinstance(given, dict):
            answer.problem = "no answer to the question in the reply"
            return
        if given.get("type") == "refusal":
            answer.refused = True
            return
        if question.kind == "noul":
            read_yes(given.get("noul"), answer)
        elif question.kind == "score":
            read_levels(given.get("probabilities"), question, answer)
        else:
            read_map(given, answer)
