"""Error statuses, each in the words of the shape that was asked; Jev has some bodies of other hosts,
because gateways pass them on."""

from __future__ import annotations

from email.utils import formatdate
from time import time

from protocols.fake.exchange import Exchange
from protocols.fake.faults.fault import group, with_value

__all__ = ["FAULTS"]


def _limit(exchange: Exchange, **headers: str) -> None:
    exchange.fail(429, "rate", "Too many requests", **headers)


def rate_limit(exchange: Exchange) -> None:
    """429 without a hint."""
    _limit(exchange)


def rate_limit_ms(exchange: Exchange) -> None:
    """429 with retry-after-ms: 20, and a longer Retry-After that it overrules."""
    _limit(exchange, retry_after_ms="20", Retry_After="60")


def rate_limit_seconds(exchange: Exchange, value: str) -> None:
    """429 with Retry-After: N seconds."""
    _limit(exchange, Retry_After=value)


def rate_limit_date(exchange: Exchange) -> None:
    """429 with Retry-After as the date in a second."""
    _limit(exchange, Retry_After=formatdate(time() + 1, usegmt=True))


def rate_limit_day(exchange: Exchange) -> None:
    """429 that asks to come back tomorrow."""
    _limit(exchange, Retry_After="86400")


def credit(exchange: Exchange) -> None:
    """429 because the credit is used up (OpenAI's insufficient_quota); 400 at Anthropic."""
    if exchange.shape.name == "anthropic":
        exchange.fail(400, "credit", "Your credit balance is too low to access the Anthropic API.")
        return
    message = "You exceeded your current quota"
    error = {"message": message, "type": "insufficient_quota", "param": None, "code": "insufficient_quota"}
    exchange.fail(429, "credit", f"{message} (insufficient_quota)", jev={"error": error})


def allocation(exchange: Exchange) -> None:
    """429 because the daily allocation is used up (Cloudflare)."""
    message = "you have used up your daily free allocation of 10,000 neurons"
    jev = {"result": None, "success": False, "errors": [{"code": 4006, "message": message}]}
    exchange.fail(429, "allocation", message, jev=jev)


def overloaded(exchange: Exchange) -> None:
    """529."""
    exchange.fail(529, "overloaded", "Overloaded")


def unavailable(exchange: Exchange) -> None:
    """503."""
    exchange.fail(503, "unavailable", "Service unavailable")


def timeout_408(exchange: Exchange) -> None:
    """408."""
    exchange.fail(408, "timeout", "Request timeout")


def server_error(exchange: Exchange) -> None:
    """500 with an HTML page."""
    exchange.page(500, "Internal Server Error")


def bad_gateway(exchange: Exchange) -> None:
    """502 with an empty body."""
    exchange.status, exchange.raw = 502, b""


def gateway_timeout(exchange: Exchange) -> None:
    """504 with an HTML page, as Perplexity."""
    exchange.page(504, "504 Gateway Time-out")


def gateway_524(exchange: Exchange) -> None:
    """524 with an HTML page, as Cloudflare in front of OpenRouter."""
    exchange.page(524, "A timeout occurred")


def too_many_tokens(exchange: Exchange) -> None:
    """400 above the token limit; Jev's body has no message."""
    exchange.fail(400, "tokens", "The request has too many tokens")


def unprocessable(exchange: Exchange) -> None:
    """422 whatever was asked (Jev: a detail list): a server that takes only 26 options."""
    where = ["body", "questions", "choose", "criteria"]
    detail = [{"loc": where, "msg": "at most 26 options", "type": "too_long"}]
    exchange.fail(422, "schema", "at most 26 options", jev={"detail": detail})


def wrong_key(exchange: Exchange) -> None:
    """401 that repeats the key it was sent."""
    said = f"Incorrect API key provided: {exchange.key}"
    error = {"message": said, "type": "authentication_error", "code": "invalid_api_key"}
    exchange.fail(401, "key", said, jev={"error": error})


def forbidden(exchange: Exchange) -> None:
    """403, as Jev without a key."""
    exchange.fail(403, "key", "Missing API key")


def verification(exchange: Exchange) -> None:
    """403 without a card, its keys at the top, as Vercel's gateway."""
    exchange.fail(
        403,
        "customer_verification_required",
        "Verify your account with a card",
        jev={"message": "Verify your account with a card", "error_type": "customer_verification_required"},
    )


def no_credit(exchange: Exchange) -> None:
    """402, as OpenRouter."""
    jev = {"error": {"code": 402, "message": "Insufficient credits"}}
    exchange.fail(402, "payment", "Insufficient credits", jev=jev)


def unknown_model(exchange: Exchange) -> None:
    """400 for the model's name; 404 at OpenAI and with language models."""
    status = 400 if exchange.shape.name in ("jev", "openrouter", "perplexity", "cloudflare") else 404
    said = f"{exchange.request.get('model', 'the model')} does not exist"
    exchange.fail(status, "model", said, jev={"error": {"code": 400, "message": said}})


def not_a_chat_model(exchange: Exchange) -> None:
    """400 that says this endpoint is none for this model."""
    exchange.fail(400, "endpoint", "This model is a decision model and not supported on this endpoint")


def unsupported(exchange: Exchange) -> None:
    """501, as vLLM for a model that cannot decide."""
    exchange.fail(501, "unsupported", "The model does not support structured decisions")


def empty_405(exchange: Exchange) -> None:
    """405 with an empty body, as Perplexity."""
    exchange.status, exchange.raw = 405, b""


def too_large(exchange: Exchange) -> None:
    """413."""
    exchange.fail(413, "too_large", "Request too large")


def moved(exchange: Exchange) -> None:
    """A redirect to another host."""
    exchange.status, exchange.raw = 307, b""
    exchange.headers["Location"] = "http://127.0.0.1:9/elsewhere"


_GROUP = "statuses"

FAULTS = (
    *group(_GROUP, (rate_limit, rate_limit_ms)),
    with_value(_GROUP, rate_limit_seconds, "N", r"\d+(\.\d+)?", "1"),
    *group(_GROUP, (rate_limit_date, rate_limit_day, credit, allocation, overloaded, unavailable)),
    *group(_GROUP, (timeout_408, server_error, bad_gateway, gateway_timeout, gateway_524)),
    *group(_GROUP, (too_many_tokens, unprocessable, wrong_key, forbidden, verification, no_credit)),
    *group(_GROUP, (unknown_model, not_a_chat_model, unsupported, empty_405, too_large, moved)),
)
