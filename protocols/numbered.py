"""Language models as a reference: the options numbered in a prompt, one number picked.

A language model has no choice question, so it gets one: a prompt whose options are lines
``1: text``, and a JSON schema that its host holds the answer to, ``{"option": 17}``. What comes
back is a pick and no distribution: the answer is 1 for the option picked and 0 for all others, in
the order shown. Ties cannot happen, and calibration or entropy of such an answer mean nothing.

Reading is as strict as the schema: a text that is anything but the object, a number that no option
has, an output that ended early and an empty one are invalid answers, each with its own reason; a
pick is never guessed out of prose. A model's or filter's word that it declines is a refusal.

All three protocols (:mod:`protocols.openai_responses`, :mod:`protocols.chat_completions`,
:mod:`protocols.anthropic_messages`) send the same prompt as one user message, and a request is
reserved with all the output it may take.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from beeline.question import Answer, Question
from protocols.decisions import labelled
from protocols.hosted import HostedModel, HostedSettings
from protocols.settings import setting

__all__ = [
    "FIELD",
    "NumberedModel",
    "NumberedSettings",
    "as_json",
    "take_number",
    "take_text",
    "to_prompt",
    "to_schema",
]

FIELD = "option"
"""The one property of the answer."""
SCHEMA_NAME = "pick"
"""What the schema, or the tool, is called. Some models read it, so it never changes."""

_DECODER = json.JSONDecoder(parse_int=float, object_pairs_hook=lambda pairs: _Pairs(pairs))


@dataclass(frozen=True, kw_only=True)
class NumberedSettings(HostedSettings):
    """The settings of ``conf/model/*.yaml`` that all language models have."""

    max_output_tokens: int = setting(64, least=16)
    """Sent as the limit of the output, reasoning included, and reserved for each request."""
    temperature: float | None = setting(None, least=0, most=2)
    """Null sends none: many reasoning models refuse every value."""
    reasoning_effort: str | None = setting(None)
    """How long the model thinks first, in its vendor's words (none, minimal, low, ...); null sends
    nothing. Reasoning is output: raise max_output_tokens with it."""
    bounds: bool = setting(True)
    """Whether the schema says from where to where numbers go; for hosts whose schemas may not,
    false. A number out of range is an invalid answer either way."""


class NumberedModel(HostedModel):
    """A language model behind an HTTP host. Subclasses give the API."""

    settings_class = NumberedSettings
    settings: NumberedSettings

    def __init__(self, name: str, settings: NumberedSettings, **more: Any) -> None:
        super().__init__(name, settings, **more)
        self.expected_output = settings.max_output_tokens

    def request_body(self, question: Question) -> bytes:
        """The request as UTF-8 JSON; options keep the order shown."""
        schema = to_schema(len(question.options) if self.settings.bounds else None)
        return as_json(self.request(to_prompt(question), schema))

    @abstractmethod
    def request(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The request that asks for an answer to ``prompt`` that fits ``schema``."""

    def too_long(self) -> str:
        """The problem of an output that ended at its limit."""
        return f"an output that ended at model.max_output_tokens={self.settings.max_output_tokens}"


def to_prompt(question: Question) -> str:
    """The question as a text: what is known, what is asked, the options numbered from 1."""
    count = len(question.options)
    lines = "\n".join(f"{number}: {option}" for number, option in enumerate(question.options, 1))
    return (
        f"{labelled(question)}\n\n{question.instructions}\n\n{lines}\n\n"
        f'Answer with the number of one option, 1 to {count}, as JSON: {{"{FIELD}": number}}'
    )


def to_schema(count: int | None) -> dict[str, Any]:
    """The JSON schema of an answer; None leaves the bounds out."""
    number: dict[str, Any] = {"type": "integer"}
    if count is not None:
        number |= {"minimum": 1, "maximum": count}
    return {
        "type": "object",
        "properties": {FIELD: number},
        "required": [FIELD],
        "additionalProperties": False,
    }


def as_json(body: Mapping[str, Any]) -> bytes:
    """``body`` as compact UTF-8 JSON; lone surrogates are sent escaped."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


class _Pairs(dict[str, Any]):
    """A JSON object that knows whether a key came twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = len(self) != len(pairs)


def take_text(text: Any, question: Question, answer: Answer) -> None:
    """Fill ``answer`` from the text that the model wrote: the JSON object and nothing around it."""
    if text is not None and not isinstance(text, str):
        answer.problem = "a text that is not a string"
        return
    if not text or not text.strip():
        answer.problem = "no text in the reply"
        return
    text = text.strip()
    try:
        given = _DECODER.decode(text)
    except (ValueError, RecursionError):
        answer.problem = _why_not_json(text)
        return
    if isinstance(given, _Pairs) and given.twice:
        answer.problem = "a JSON object that says something twice"
        return
    take_number(given, question, answer)


def take_number(given: Any, question: Question, answer: Answer) -> None:
    """Fill ``answer`` from the parsed object."""
    count = len(question.options)
    if not isinstance(given, dict):
        answer.problem = "JSON that is not an object"
    elif FIELD not in given:
        answer.problem = f"a JSON object without {FIELD!r}"
    elif isinstance(given[FIELD], str):
        answer.problem = "an option's number written as a text"
    elif not isinstance(given[FIELD], int | float) or isinstance(given[FIELD], bool):
        answer.problem = "an option that is not a number"
    elif not float(given[FIELD]).is_integer():
        answer.problem = "an option that is not a whole number"
    elif not 1 <= given[FIELD] <= count:
        answer.problem = f"option {given[FIELD]:.6g}, which is not one of 1 to {count}"
    else:
        place = int(given[FIELD]) - 1
        answer.probabilities = [0.0] * count
        answer.probabilities[place] = 1.0
        answer.choice = question.options[place]


def _why_not_json(text: str) -> str:
    """Short and without the text itself, so that equal failures of a run are counted as one."""
    if text.startswith("```"):
        return "JSON in a code fence, not JSON alone"
    if text.startswith("{"):
        after = "JSON that breaks off or is malformed"
        try:
            _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            return after
        return "text after the JSON object"
    return "text around the JSON object" if "{" in text else "text without a JSON object"
