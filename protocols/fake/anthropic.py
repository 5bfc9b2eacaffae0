"""Anthropic Messages, as far as picking an option needs it: a forced tool, or a JSON output format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocols.fake.asked import Asked, Problem, RefusedError, bearer
from protocols.fake.exchange import Exchange
from protocols.fake.language import ask_for, refused, stopped, texts, written

__all__ = ["MESSAGES", "Messages"]

_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


class Messages:
    """POST /v1/messages."""

    name = "anthropic"
    no_key_status, wrong_key_status, json_status = 401, 401, 400
    default_model = ""

    def key(self, headers: Mapping[str, str]) -> str:
        """x-api-key, or a bearer token."""
        return headers.get("x-api-key", "") or bearer(headers)

    def read(self, body: Any, headers: Mapping[str, str], path: Mapping[str, str]) -> tuple[Asked, ...]:
        """``system`` and all messages are read as one text."""
        if not headers.get("anthropic-version"):
            raise RefusedError.at(400, [], "anthropic-version: header is required")
        if not isinstance(body, dict):
            raise RefusedError.at(400, [], "Input should be a valid dictionary")
        for name in ("model", "max_tokens", "messages"):
            if name not in body:
                raise RefusedError.at(400, [name], "Field required")
        limit, messages = body["max_tokens"], body["messages"]
        if not isinstance(body["model"], str) or not body["model"]:
            raise RefusedError.at(400, ["model"], "Input should be a valid string")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise RefusedError.at(400, ["max_tokens"], "Input should be greater than or equal to 1")
        if body.get("stream"):
            raise RefusedError.at(400, ["stream"], "the fake does not stream")
        if not isinstance(messages, list) or not messages:
            raise RefusedError.at(400, ["messages"], "at least one message is required")
        for i, message in enumerate(messages):
            if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
                raise RefusedError.at(400, ["messages", i, "role"], "Input should be 'user' or 'assistant'")
        said = [*texts(body.get("system")), *(t for m in messages for t in texts(m.get("content")))]
        tool = _tool(body)
        schema = tool.get("input_schema") if tool else _format(body)
        return ask_for("\n\n".join(said), "messages", schema)

    def write(self, exchange: Exchange) -> dict[str, Any]:
        """A message with one block."""
        body, reply = exchange.request, exchange.reply
        tool = _tool(body)
        whole, text = written(exchange, tool.get("input_schema") if tool else _format(body))
        text, why = stopped(exchange, text, body["max_tokens"])
        content: list[dict[str, Any]] = []
        stop = {"": "tool_use" if tool else "end_turn", "tokens": "max_tokens", "filter": "refusal"}[why]
        if refused(exchange):
            stop = "refusal"
        elif tool and text and "{" in text:
            given = whole if not why else {}
            block = {"type": "tool_use", "id": f"toolu_fake{exchange.number}", "name": tool["name"]}
            content = [{"type": "text", "text": text}] if exchange.told else []
            content.append(block | {"input": given})
        elif text:
            content = [{"type": "text", "text": text}]
            stop = "end_turn" if stop == "tool_use" else stop
        tokens = reply["usage"]["input_tokens"]
        cached = int(tokens * exchange.cached)
        model = {"model": reply["model"]} if "model" in reply else {}
        return {
            "id": f"msg_fake{exchange.number}",
            "type": "message",
            "role": "assistant",
            **model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": tokens - cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": len(text) // 4 + 1,
                "service_tier": "standard",
            },
        }

    def error(self, problem: Problem) -> Any:
        """``error`` with a type by the status."""
        kind = _TYPES.get(problem.status, "api_error" if problem.status >= 500 else "invalid_request_error")
        where = ".".join(map(str, problem.place))
        message = f"{where}: {problem.message}" if where else problem.message
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}

    def headers(self, number: int) -> dict[str, str]:
        """A request id."""
        return {"request-id": f"req_fake{number}"}


def _tool(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tool that must be, or may be, used; None without tools."""
    tools, choice = body.get("tools"), body.get("tool_choice") or {"type": "auto"}
    if not tools:
        return None
    if not isinstance(tools, list) or not all(isinstance(t, dict) and "name" in t for t in tools):
        raise RefusedError.at(400, ["tools"], "Input should be a list of tools with names")
    if not isinstance(choice, dict):
        raise RefusedError.at(400, ["tool_choice"], "Input should be an object")
    for i, tool in enumerate(tools):
        if not isinstance(tool.get("input_schema"), dict):
            raise RefusedError.at(400, ["tools", i, "input_schema"], "Field required")
    if choice.get("type") == "none":
        return None
    if choice.get("type") != "tool":
        first: dict[str, Any] = tools[0]
        return first
    for tool in tools:
        if tool["name"] == choice.get("name"):
            found: dict[str, Any] = tool
            return found
    raise RefusedError.at(400, ["tool_choice"], f"Tool '{choice.get('name')}' not found in provided tools")


def _format(body: Mapping[str, Any]) -> Any:
    """The schema of ``output_config.format`` or ``output_format``; None without one.

    Such a schema must close its objects, and may not bound numbers.
    """
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else body.get("output_format")
    if form is None:
        return None
    place = ["output_config", "format"] if isinstance(config, dict) else ["output_format"]
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        raise RefusedError.at(400, [*place, "type"], "Input should be 'json_schema'")
    schema = form.get("schema")
    if not isinstance(schema, dict):
        raise RefusedError.at(400, [*place, "schema"], "Field required")
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        message = "For 'object' type, 'additionalProperties' must be explicitly set to false"
        raise RefusedError.at(400, [*place, "schema"], message)
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        if isinstance(inner, dict) and (bounds := [b for b in _BOUNDS if b in inner]):
            message = f"property {name}: {', '.join(bounds)} not supported"
            raise RefusedError.at(400, [*place, "schema"], message)
    return schema


MESSAGES = Messages()
