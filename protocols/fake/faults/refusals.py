"""Refusals: an answer of its own kind, or an error of the API. NAME%0.56 refuses that share of the
exact bodies, the same ones every time."""

from __future__ import annotations

from protocols.fake.exchange import Exchange
from protocols.fake.faults.fault import group, with_value

__all__ = ["FAULTS"]


def refusal(exchange: Exchange) -> None:
    """Every answer is a refusal in the shape's own form, with status 200 and usage."""
    exchange.reply["answers"] = {name: {"type": "refusal"} for name in exchange.reply.get("answers", {})}


def refusal_names(exchange: Exchange, text: str) -> None:
    """A question is refused when an option contains TEXT."""
    _refuse(exchange, {q.id for q in exchange.asked if any(text in option for option in q.options)})


def refusal_first(exchange: Exchange, text: str) -> None:
    """A question is refused when the option shown first contains TEXT."""
    _refuse(exchange, {q.id for q in exchange.asked if q.options and text in q.options[0]})


def refusal_order(exchange: Exchange) -> None:
    """A question is refused when its first option sorts before its last: half of all orders."""
    _refuse(exchange, {q.id for q in exchange.asked if len(q.options) > 1 and q.options[0] < q.options[-1]})


def _refuse(exchange: Exchange, ids: set[str]) -> None:
    for name in exchange.reply.get("answers", {}):
        if name in ids:
            exchange.reply["answers"][name] = {"type": "refusal"}


def refusal_error(exchange: Exchange) -> None:
    """400 that says the model refused (content policy), as OpenRouter for Luna."""
    exchange.fail(400, "refusal", "The model refused to answer: the request violates the content policy")


_GROUP = "refusals"

FAULTS = (
    *group(_GROUP, (refusal, refusal_order, refusal_error)),
    with_value(_GROUP, refusal_names, "TEXT", ".+"),
    with_value(_GROUP, refusal_first, "TEXT", ".+"),
)
