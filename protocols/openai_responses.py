"""OpenAI's Responses API: a language model picks a numbered option (:mod:`protocols.numbered`).

Request: ``model``, ``input`` (the prompt), ``text.format`` of type ``json_schema``, strict,
``max_output_tokens`` (at least 16; reasoning counts) and ``store`` false. ``temperature`` and
``reasoning.effort`` are sent only where the settings give them, since reasoning models refuse the
one and others the other. Strict schemas list every property as required and are closed; whole
numbers may have bounds.

Reply: ``output``, a list of items of which the one of type ``message`` holds the text; a part of
type ``refusal``, or an output withheld by the content filter, is a refusal. Reasoning is part of
``usage.output_tokens`` and cached tokens are part of ``usage.input_tokens``, both at full price.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beeline.question import Answer, Question
from protocols.numbered import SCHEMA_NAME, NumberedModel, NumberedSettings, take_text
from protocols.settings import setting

__all__ = ["OpenAIResponses", "OpenAIResponsesSettings"]


@dataclass(frozen=True, kw_only=True)
class OpenAIResponsesSettings(NumberedSettings):
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    path: str = setting("/responses")


class OpenAIResponses(NumberedModel):
    """A model behind a server that speaks the Responses API."""

    protocol = "openai_responses"
    settings_class = OpenAIResponsesSettings

    def request(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The request's fields."""
        settings = self.settings
        form = {"type": "json_schema", "name": SCHEMA_NAME, "strict": True, "schema": schema}
        body = {
            "model": self.model_id,
            "input": prompt,
            "text": {"format": form},
            "max_output_tokens": settings.max_output_tokens,
            "store": False,
        }
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if settings.reasoning_effort is not None:
            body["reasoning"] = {"effort": settings.reasoning_effort}
        return body

    def read_answer(self, body: dict[str, Any], question: Question, answer: Answer) -> None:
        """Take the number from the one text among the output's items."""
        if body.get("error", "") is None:
            del body["error"]  # every good reply has this null; only a real error says why
        status, items = body.get("status", "completed"), body.get("output")
        parts = [
            part
            for item in (items if isinstance(items, list) else [])
            if isinstance(item, dict) and item.get("type") == "message"
            for part in _parts(item.get("content"))
        ]
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        if reason == "content_filter" or any(part.get("type") == "refusal" for part in parts):
            answer.refused = True
        elif reason == "max_output_tokens":
            answer.problem = self.too_long()
        elif status != "completed":
            answer.problem = f"a response that is {_word(status)}, not completed"
        elif not isinstance(items, list):
            answer.problem = "no output in the reply"
        else:
            texts = [part.get("text") for part in parts if part.get("type") == "output_text"]
            if len(texts) > 1:
                answer.problem = "more than one text in the reply"
            else:
                take_text(texts[0] if texts else None, question, answer)


def _parts(content: Any) -> list[dict[str, Any]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _word(status: Any) -> str:
    known = ("failed", "incomplete", "in_progress", "queued", "cancelled")
    return status if status in known else "of an unknown status"
