"""Anthropic's Messages API: a language model picks a numbered option (:mod:`protocols.numbered`).

Request: ``model``, ``max_tokens``, ``messages`` with the prompt as the one user message, the header
``anthropic-version``, and the schema in one of two ways (``structure``): ``tool``, the input schema
of a tool that the model is made to use, which every Claude since version 3 takes; or ``format``,
``output_config.format``, which newer ones hold the text to. The schema of a format may not bound
numbers, so it never does. ``temperature`` and ``output_config.effort`` are sent only where the
settings give them.

Reply: the input of the tool, or the text. ``stop_reason`` tells a refusal and an output that ended
early. ``usage.input_tokens`` leaves out what a cache wrote or gave; both are added, at full price.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beeline.errors import SettingError
from beeline.question import Answer, Question
from beeline.spend_caps import tokens
from protocols.numbered import SCHEMA_NAME, NumberedModel, NumberedSettings, take_number, take_text
from protocols.settings import setting

__all__ = ["AnthropicMessages", "AnthropicMessagesSettings"]

_STRUCTURES = ("tool", "format")
_CACHES = ("cache_creation_input_tokens", "cache_read_input_tokens")


@dataclass(frozen=True, kw_only=True)
class AnthropicMessagesSettings(NumberedSettings):
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    path: str = setting("/messages")
    key_header: str = setting("x-api-key")
    key_prefix: str = setting("", blank=True)
    structure: str = setting("tool")
    """What the schema is given as: tool or format."""


class AnthropicMessages(NumberedModel):
    """A model behind a server that speaks the Messages API."""

    protocol = "anthropic_messages"
    settings_class = AnthropicMessagesSettings
    settings: AnthropicMessagesSettings
    headers = {"anthropic-version": "2023-06-01"}  # noqa: RUF012 - never written to

    def __init__(self, name: str, settings: AnthropicMessagesSettings, **more: Any) -> None:
        super().__init__(name, settings, **more)
        if settings.structure not in _STRUCTURES:
            raise SettingError(
                f"model.structure={settings.structure!r} must be {' or '.join(_STRUCTURES)}: what the schema "
                "of the answer is given as"
            )

    def request(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The request's fields."""
        settings = self.settings
        body: dict[str, Any] = {
            "model": self.model_id,
            "max_tokens": settings.max_output_tokens,
            "messages": [{"role": "user", "content": prompt}],
        }
        config: dict[str, Any] = {}
        if settings.structure == "tool":
            said = "Give the number of the option picked."
            body["tools"] = [{"name": SCHEMA_NAME, "description": said, "input_schema": schema}]
            body["tool_choice"] = {"type": "tool", "name": SCHEMA_NAME, "disable_parallel_tool_use": True}
        else:
            for inner in schema["properties"].values():
                inner.pop("minimum", None)
                inner.pop("maximum", None)
            config["format"] = {"type": "json_schema", "schema": schema}
        if settings.reasoning_effort is not None:
            config["effort"] = settings.reasoning_effort
        if config:
            body["output_config"] = config
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        return body

    def read_usage(self, body: dict[str, Any], answer: Answer) -> None:
        """Add what a cache wrote or gave to the input."""
        super().read_usage(body, answer)
        usage = body.get("usage")
        if answer.input_tokens is None or not isinstance(usage, dict):
            return
        total = answer.input_tokens
        for name in _CACHES:
            value = usage.get(name)
            if isinstance(value, float) and 0.0 <= value <= 1e12:
                total += int(value)
        answer.input_tokens = tokens(total)

    def read_answer(self, body: dict[str, Any], question: Question, answer: Answer) -> None:
        """Take the number from the tool's input, or from the text."""
        reason, content = body.get("stop_reason"), body.get("content")
        if reason == "refusal":
            answer.refused = True
        elif reason == "max_tokens":
            answer.problem = self.too_long()
        elif reason == "model_context_window_exceeded":
            answer.problem = "a question that fills what the model reads"
        elif not isinstance(content, list):
            answer.problem = "no content in the reply"
        else:
            tool = self.settings.structure == "tool"
            wanted = "tool_use" if tool else "text"
            blocks = [b for b in content if isinstance(b, dict) and b.get("type") == wanted]
            if len(blocks) > 1:
                answer.problem = f"more than one {'use of the tool' if tool else 'text'} in the reply"
            elif not tool:
                take_text(blocks[0].get("text") if blocks else None, question, answer)
            elif not blocks:
                answer.problem = "no use of the tool in the reply"
            elif blocks[0].get("name") != SCHEMA_NAME:
                answer.problem = "the use of another tool"
            else:
                take_number(blocks[0].get("input"), question, answer)
