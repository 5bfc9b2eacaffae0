"""OpenAI's two text APIs, Responses and Chat Completions, as far as picking an option needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocols.fake.asked import Asked, Problem, RefusedError, bearer
from protocols.fake.exchange import Exchange
from protocols.fake.language import REFUSED, ask_for, refused, stopped, strict_problem, texts, written
from protocols.fake.openai import openai_error

__all__ = ["CHAT", "RESPONSES", "Chat", "Responses"]

_CREATED = 1_796_000_000
"""A fixed time, so that replies can be compared."""


class _OpenAI:
    """What both have in common."""

    name = "openai-text"
    no_key_status, wrong_key_status, json_status = 401, 401, 400
    default_model = ""

    def key(self, headers: Mapping[str, str]) -> str:
        """The bearer token."""
        return bearer(headers)

    def error(self, problem: Problem) -> Any:
        """OpenAI's."""
        return openai_error(problem)

    def headers(self, number: int) -> dict[str, str]:
        """A request id."""
        return {"x-request-id": f"req_fake{number}"}


def _check(body: Any, prompt: str) -> None:
    if not isinstance(body, dict):
        raise RefusedError.at(400, [], "The body must be a JSON object.")
    for name in ("model", prompt):
        if not body.get(name):
            code = "missing_required_parameter"
            raise RefusedError.at(400, [name], f"Missing required parameter: '{name}'.", code)
    if not isinstance(body["model"], str):
        raise RefusedError.at(400, ["model"], "Invalid type: expected a string.", "invalid_type")
    if body.get("stream"):
        raise RefusedError.at(400, ["stream"], "The fake does not stream.", "unsupported_value")


def _check_format(form: Any, place: list[str | int]) -> Any:
    """The schema of a format; None without one."""
    if not isinstance(form, dict):
        raise RefusedError.at(400, place, "Invalid type: expected an object.", "invalid_type")
    if not isinstance(form.get("name"), str) or not form["name"]:
        code = "missing_required_parameter"
        raise RefusedError.at(400, [*place, "name"], "Missing required parameter: 'name'.", code)
    schema = form.get("schema")
    problem = strict_problem(schema) if form.get("strict") else None
    if problem:
        message = f"Invalid schema for '{form['name']}': In context=(), {problem}."
        raise RefusedError.at(400, [*place, "schema"], message, "invalid_json_schema")
    return schema


def _messages(value: Any, place: str) -> str:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RefusedError.at(400, [place], "Invalid type: expected a list of messages.", "invalid_type")
    return "\n\n".join(text for item in value for text in texts(item.get("content")))


def _details(exchange: Exchange, text: str) -> tuple[int, int, int]:
    """Input tokens, those of them from a cache, output tokens."""
    tokens = exchange.reply["usage"]["input_tokens"]
    return tokens, int(tokens * exchange.cached), len(text) // 4 + 1


class Responses(_OpenAI):
    """POST /v1/responses with ``text.format`` of type json_schema."""

    name = "responses"

    def _schema(self, body: Mapping[str, Any]) -> Any:
        text = body.get("text")
        form = text.get("format") if isinstance(text, dict) else None
        if not isinstance(form, dict) or form.get("type") != "json_schema":
            return None
        return _check_format(form, ["text", "format"])

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """``input`` is a string or a list of messages; ``instructions`` are read before it."""
        _check(body, "input")
        limit = body.get("max_output_tokens")
        if limit is not None and (not isinstance(limit, int) or limit < 16):
            message = "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
            raise RefusedError.at(400, ["max_output_tokens"], message, "integer_below_min_value")
        given = body["input"]
        prompt = given if isinstance(given, str) else _messages(given, "input")
        return ask_for(f"{body.get('instructions') or ''}\n\n{prompt}", "input", self._schema(body))

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """A response with one message."""
        body, reply = exchange.request, exchange.reply
        _, text = written(exchange, self._schema(body))
        text, why = stopped(exchange, text, body.get("max_output_tokens"))
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        if refused(exchange):
            part = {"type": "refusal", "refusal": REFUSED}
            text = REFUSED
        reasons = {"tokens": "max_output_tokens", "filter": "content_filter"}
        status = "incomplete" if why else "completed"
        message: dict[str, Any] = {"type": "message", "id": f"msg_fake{exchange.number}", "status": status}
        message |= {"role": "assistant", "content": [part]}
        whole: dict[str, Any] = {
            "id": f"resp_fake{exchange.number}",
            "object": "response",
            "created_at": _CREATED,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reasons[why]} if why else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "model": reply.get("model"),
            "output": [message] if text else [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": body.get("store", True),
            "temperature": body.get("temperature", 1.0),
            "text": body.get("text", {"format": {"type": "text"}}),
            "tool_choice": "auto",
            "tools": [],
            "top_p": body.get("top_p", 1.0),
            "truncation": "disabled",
            "metadata": {},
        }
        if "model" not in reply:
            del whole["model"]
        tokens, cached, said = _details(exchange, text)
        whole["usage"] = {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": said,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + said,
        }
        return whole


class Chat(_OpenAI):
    """POST /v1/chat/completions with ``response_format`` of type json_schema."""

    name = "chat"

    def _schema(self, body: Mapping[str, Any]) -> Any:
        form = body.get("response_format")
        if not isinstance(form, dict) or form.get("type") != "json_schema":
            return None
        return _check_format(form.get("json_schema"), ["response_format", "json_schema"])

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """All messages are read as one text."""
        _check(body, "messages")
        return ask_for(_messages(body["messages"], "messages"), "messages", self._schema(body))

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """A completion with one choice."""
        body, reply = exchange.request, exchange.reply
        _, text = written(exchange, self._schema(body))
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        text, why = stopped(exchange, text, limit)
        message: dict[str, Any] = {"role": "assistant", "content": text or None, "refusal": None}
        if refused(exchange):
            message |= {"content": None, "refusal": REFUSED}
            text = REFUSED
        finish = {"": "stop", "tokens": "length", "filter": "content_filter"}[why]
        choice = {"index": 0, "message": message | {"annotations": []}, "logprobs": None}
        whole: dict[str, Any] = {
            "id": f"chatcmpl-fake{exchange.number}",
            "object": "chat.completion",
            "created": _CREATED,
            "model": reply.get("model"),
            "choices": [choice | {"finish_reason": finish}],
            "service_tier": "default",
            "system_fingerprint": None,
        }
        if "model" not in reply:
            del whole["model"]
        tokens, cached, said = _details(exchange, text)
        whole["usage"] = {
            "prompt_tokens": tokens,
            "completion_tokens": said,
            "total_tokens": tokens + said,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }
        return whole


RESPONSES, CHAT = Responses(), Chat()
