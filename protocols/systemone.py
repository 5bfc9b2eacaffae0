"""The Jev protocol ("System One"): one choice question a request, over HTTP.

Request: ``model``, ``state`` (task, goal, context), ``questions`` with the one question ``choose``
whose ``criteria`` map each option to null, and no field more, since some hosts refuse unknown ones.
Reply: ``answers.choose.probabilities`` by option name. Names are compared byte for byte; any sum
is accepted; a missing name counts 0 and a foreign one is ignored (by the arm). ``choice`` is kept
and never trusted.

Spoken by TypeSafe (Jev), Perplexity, OpenRouter, Cloudflare (in an envelope), Liquid, Inception
and servers of one's own (vLLM, SGLang, llama.cpp, Ollama, :mod:`protocols.serve`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beeline.question import Answer, Question
from protocols.hosted import HostedModel, HostedSettings
from protocols.jsontext import escaped
from protocols.settings import setting

__all__ = ["EscapedOptions", "SystemOne", "SystemOneSettings"]

QUESTION_ID = "choose"


@dataclass(frozen=True, kw_only=True)
class SystemOneSettings(HostedSettings):
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    path: str = setting("/systemone")


class EscapedOptions(dict[str, bytes]):
    """Option text to ``"text":null`` as UTF-8 JSON, escaped once a text.

    The frontiers of a search overlap, so nearly every text of a question was in the one before.
    Cleared when full: texts come back cheaply, and memory stays bounded.
    """

    __slots__ = ()
    most = 65_536

    def __missing__(self, text: str) -> bytes:
        if len(self) >= self.most:
            self.clear()
        entry = self[text] = escaped(text) + b":null"
        return entry


class SystemOne(HostedModel):
    """A model behind a server that speaks the Jev protocol."""

    protocol = "systemone"
    settings_class = SystemOneSettings

    def __init__(self, name: str, settings: HostedSettings, **more: Any) -> None:
        super().__init__(name, settings, **more)
        self._options = EscapedOptions()
        self._heads: dict[tuple[str, str, str, str], bytes] = {}

    def request_body(self, question: Question) -> bytes:
        """The request as UTF-8 JSON; options keep the order shown."""
        key = (question.task, question.goal, question.context, question.instructions)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= 4096:  # one entry a trial
                self._heads.clear()
            head = self._heads[key] = self._head(question)
        return b"%b%b}}}}" % (head, b",".join([*map(self._options.__getitem__, question.options)]))

    def _head(self, question: Question) -> bytes:
        state = {"task": question.task, "goal": question.goal, "context": question.context}
        fields = b",".join(escaped(key) + b":" + escaped(value) for key, value in state.items())
        return (
            b'{"model":%b,"state":{%b},"questions":{"%b":{"type":"choice","instructions":%b,"criteria":{'
            % (escaped(self.model_id), fields, QUESTION_ID.encode(), escaped(question.instructions))
        )

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
        choice = given.get("choice")
        if isinstance(choice, str):
            answer.choice = choice
        probabilities = given.get("probabilities")
        if isinstance(probabilities, dict):
            answer.probabilities = probabilities
        elif probabilities is None:
            answer.problem = "an answer without probabilities"
        else:
            answer.problem = "probabilities that are not a map from option to number"
