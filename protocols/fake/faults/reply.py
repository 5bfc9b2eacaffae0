"""Faults of the rest of the reply: usage, the model's name, the envelope, what is not JSON at all."""

from __future__ import annotations

import re
from typing import Any

from protocols.fake.exchange import Exchange
from protocols.fake.faults.fault import group

__all__ = ["FAULTS"]


def no_answer(exchange: Exchange) -> None:
    """A reply whose answers are empty."""
    exchange.reply["answers"] = {}


def no_usage(exchange: Exchange) -> None:
    """No usage."""
    exchange.edits.append(lambda reply: reply.pop("usage", None))


def _each_count(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _each_count(inner) for name, inner in value.items()}
    return float(value) if isinstance(value, int) else value


def float_usage(exchange: Exchange) -> None:
    """Token counts as floats."""

    def edit(reply: dict[str, Any]) -> None:
        if "usage" in reply:
            reply["usage"] = _each_count(reply["usage"])

    exchange.edits.append(edit)


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub("_(.)", lambda m: m[1].upper(), name): _camel(v) for name, v in value.items()}
    return value


def camel_usage(exchange: Exchange) -> None:
    """Usage in camelCase, as Vercel's gateway."""

    def edit(reply: dict[str, Any]) -> None:
        if "usage" in reply:
            reply["usage"] = _camel(reply["usage"])

    exchange.edits.append(edit)


def zero_usage(exchange: Exchange) -> None:
    """All token counts 0, as sparrow-decider."""
    if "usage" in exchange.reply:
        exchange.reply["usage"] = dict.fromkeys(exchange.reply["usage"], 0)


def zero_tokens_one(exchange: Exchange) -> None:
    """0 input tokens for a choice with one option, as Perplexity."""
    if all(len(q.options) == 1 for q in exchange.asked) and "usage" in exchange.reply:
        exchange.reply["usage"]["input_tokens"] = 0


def cached(exchange: Exchange) -> None:
    """Half of the input tokens came from a cache (OpenAI, language models)."""
    exchange.cached = 0.5


def no_confidence(exchange: Exchange) -> None:
    """No confidence."""
    for answer in exchange.choices:
        answer.pop("confidence", None)


def null_legend(exchange: Exchange) -> None:
    """A score whose legend is null."""
    for answer in exchange.reply.get("answers", {}).values():
        if "legend" in answer:
            answer["legend"] = None


def extra_fields(exchange: Exchange) -> None:
    """Fields that no contract names: diagnostics, a latency, a confidence of a noul."""

    def edit(reply: dict[str, Any]) -> None:
        reply |= {"diagnostics": {"label_mass": 0.97}, "latency_ms": 12.5}

    for answer in exchange.reply.get("answers", {}).values():
        answer.setdefault("confidence", 0.5)
    exchange.edits.append(edit)


def other_model(exchange: Exchange) -> None:
    """Another model answers than the one asked for."""
    exchange.reply["model"] = "another-model-2.0"


def dated_model(exchange: Exchange) -> None:
    """The model's name with the date of its build, as OpenRouter."""
    exchange.reply["model"] = f"{exchange.reply.get('model', '')}-20260917"


def resolved_model(exchange: Exchange) -> None:
    """An alias is answered by the version behind it: NAME-latest by NAME-1.13.0."""
    name = str(exchange.reply.get("model", ""))
    exchange.reply["model"] = re.sub("-(latest|preview)$", "", name) + "-1.13.0"


def no_model(exchange: Exchange) -> None:
    """The reply does not say which model answered."""
    exchange.reply.pop("model", None)


def envelope(exchange: Exchange) -> None:
    """The reply inside Cloudflare's envelope."""
    exchange.envelope = True


def no_envelope(exchange: Exchange) -> None:
    """Cloudflare's reply without its envelope."""
    exchange.envelope = False


def envelope_failed(exchange: Exchange) -> None:
    """Status 200 with an envelope that says it failed."""
    errors = [{"code": 5012, "message": "inference failed"}]
    _instead(exchange, {"result": None, "success": False, "errors": errors, "messages": []})


def html(exchange: Exchange) -> None:
    """An HTML page with status 200."""
    exchange.page(200, "Welcome")


def empty_body(exchange: Exchange) -> None:
    """Status 200 and nothing else."""
    exchange.raw = b""


def broken_json(exchange: Exchange) -> None:
    """JSON that stops in the middle, as if it were all."""
    exchange.cut_bytes = 20


def deep_json(exchange: Exchange) -> None:
    """A hundred thousand nested lists."""
    exchange.raw = b"[" * 100_000 + b"]" * 100_000


def error_200(exchange: Exchange) -> None:
    """Status 200 with an error object in place of the answers."""
    _instead(exchange, {"error": {"code": 502, "message": "upstream had no answer"}})


def _instead(exchange: Exchange, body: dict[str, Any]) -> None:
    """Send ``body`` in place of the reply, without an envelope."""

    def edit(reply: dict[str, Any]) -> None:
        reply.clear()
        reply.update(body)

    exchange.envelope = False
    exchange.edits.append(edit)


_GROUP = "the rest of the reply"

FAULTS = group(
    _GROUP,
    (
        *(no_answer, no_usage, float_usage, camel_usage, zero_usage, zero_tokens_one, cached, no_confidence),
        *(null_legend, extra_fields, other_model, dated_model, resolved_model, no_model),
        *(envelope, no_envelope, envelope_failed, html, empty_body, broken_json, deep_json, error_200),
    ),
)
