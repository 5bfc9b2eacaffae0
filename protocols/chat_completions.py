"""Chat Completions: a language model picks a numbered option (:mod:`protocols.numbered`).

The API of OpenAI that nearly every other host and local server speaks too (llama.cpp, vLLM,
Ollama, OpenRouter).

Request: ``model``, ``messages`` with the prompt as the one user message (some chat templates know
no system role), ``response_format`` of type ``json_schema``, strict, and the output's limit under
the name that the host knows: ``max_completion_tokens`` at OpenAI, ``max_tokens`` at most servers
of one's own. ``temperature``, ``seed`` and ``reasoning_effort`` are sent only where the settings
give them.

Reply: the text of the one entry of ``choices``; a ``refusal``, or a text withheld by the content
filter, is a refusal. ``usage`` says ``prompt_tokens``, those from a cache among them, and
``completion_tokens``, those of reasoning among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from beeline.errors import SettingError
from beeline.question import Answer, Question
from protocols.numbered import SCHEMA_NAME, NumberedModel, NumberedSettings, take_text
from protocols.settings import setting

__all__ = ["ChatCompletions", "ChatCompletionsSettings"]

_LIMITS = ("max_completion_tokens", "max_tokens")
_TYPE_THIS = (
    "Say where a server that speaks Chat Completions listens and which model to ask it for: "
    "python -m beeline model=local_chat model.base_url=http://127.0.0.1:8000/v1 model.id=NAME"
)


@dataclass(frozen=True, kw_only=True)
class ChatCompletionsSettings(NumberedSettings):
    """The settings of ``conf/model/*.yaml`` for this protocol."""

    base_url: str = setting(missing=_TYPE_THIS)
    id: str = setting(missing=_TYPE_THIS)
    path: str = setting("/chat/completions")
    limit_field: str = setting("max_completion_tokens")
    """What the host calls the limit of the output: max_completion_tokens or max_tokens."""
    seed: int | None = setting(None)
    """For hosts that take one."""


class ChatCompletions(NumberedModel):
    """A model behind a server that speaks Chat Completions."""

    protocol = "chat_completions"
    settings_class = ChatCompletionsSettings
    settings: ChatCompletionsSettings
    input_names = ("prompt_tokens", "promptTokens", "input_tokens")
    output_names = ("completion_tokens", "completionTokens", "output_tokens")

    def __init__(self, name: str, settings: ChatCompletionsSettings, **more: Any) -> None:
        super().__init__(name, settings, **more)
        if settings.limit_field not in _LIMITS:
            raise SettingError(
                f"model.limit_field={settings.limit_field!r} must be {' or '.join(_LIMITS)}: what the host "
                "calls the limit of the output"
            )

    def request(self, prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The request's fields."""
        settings = self.settings
        form = {"name": SCHEMA_NAME, "strict": True, "schema": schema}
        body = {
            "model": self.model_id,
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {"type": "json_schema", "json_schema": form},
            settings.limit_field: settings.max_output_tokens,
        }
        for name in ("temperature", "seed", "reasoning_effort"):
            if getattr(settings, name) is not None:
                body[name] = getattr(settings, name)
        return body

    def read_answer(self, body: dict[str, Any], question: Question, answer: Answer) -> None:
        """Take the number from the text of the one choice."""
        if body.get("error", "") is None:
            del body["error"]
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            answer.problem = "no choice in the reply"
            return
        if len(choices) > 1:
            answer.problem = "more than one choice in the reply"
            return
        message, reason = choices[0].get("message"), choices[0].get("finish_reason")
        message = message if isinstance(message, dict) else {}
        if message.get("refusal") or reason == "content_filter":
            answer.refused = True
        elif reason == "length":
            answer.problem = self.too_long()
        else:
            take_text(message.get("content"), question, answer)
