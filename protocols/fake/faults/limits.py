"""What a host refuses, cuts or counts: caps, names, fields, tokens. Limits may change on the way."""

from __future__ import annotations

from protocols.fake.exchange import Exchange
from protocols.fake.faults.fault import group, with_value

__all__ = ["FAULTS"]

_KNOWN = frozenset({"model", "state", "input", "questions"})


def _refuse(exchange: Exchange, status: int, place: tuple[str | int, ...], message: str) -> None:
    exchange.fail(status, "schema", message, place=place)


def cap(exchange: Exchange, value: str) -> None:
    """At most N options a question (16, 20, 26, 64, 208...), with 422 or the STATUS named."""
    most, _, status = value.partition(",")
    for question in exchange.asked:
        if question.kind == "choice" and len(question.options) > int(most):
            where = ("questions", question.id, "criteria")
            _refuse(exchange, int(status or 422), where, f"A choice takes at most {most} options")


def cap_moves(exchange: Exchange, value: str) -> None:
    """From request N on, at most CAP options a question (422)."""
    after, most = value.split(",")
    if exchange.number >= int(after):
        cap(exchange, most)


def context(exchange: Exchange, value: str) -> None:
    """400 above N tokens, estimated as bytes / 4."""
    if len(exchange.raw_request) // 4 > int(value):
        exchange.fail(400, "tokens", f"The request has more than {value} tokens")


def context_moves(exchange: Exchange, value: str) -> None:
    """From request N on, 400 above TOKENS tokens."""
    after, most = value.split(",")
    if exchange.number >= int(after):
        context(exchange, most)


def truncate(exchange: Exchange, value: str) -> None:
    """The state is cut without notice: never more than N input tokens are counted."""
    usage = exchange.reply.get("usage")
    if usage:
        usage["input_tokens"] = min(usage["input_tokens"], int(value))


def no_slash(exchange: Exchange) -> None:
    """422 for an option name with a slash, as Cloudflare."""
    for question in exchange.asked:
        if any("/" in option for option in question.options):
            _refuse(exchange, 422, ("questions", question.id, "criteria"), "Invalid option name")


def no_blank_ids(exchange: Exchange) -> None:
    """422 for a question id with a blank, as Cloudflare."""
    for question in exchange.asked:
        if any(c.isspace() for c in question.id):
            _refuse(exchange, 422, ("questions", question.id), "Invalid question id")


def strict_fields(exchange: Exchange) -> None:
    """400 for a top-level field that System One lacks, as Perplexity."""
    for name in exchange.request:
        if name not in _KNOWN:
            _refuse(exchange, 400, (name,), f"Unknown field {name}")


def strings_only(exchange: Exchange) -> None:
    """400 for instructions or criteria that are not strings, as OpenRouter's first alpha."""
    questions = exchange.request.get("questions")
    for name, question in questions.items() if isinstance(questions, dict) else ():
        criteria = question.get("criteria")
        described = criteria.values() if isinstance(criteria, dict) else criteria or ()
        if any(isinstance(d, dict | list) for d in [question.get("instructions"), *described]):
            _refuse(exchange, 400, ("questions", name), "Expected a string")


def crash_one_option(exchange: Exchange) -> None:
    """500 for a choice with one option, as an open server did."""
    if any(len(q.options) == 1 for q in exchange.asked):
        exchange.page(500, "Internal Server Error")


_GROUP = "limits of the host"
_PAIR = r"\d+,\d+"

FAULTS = (
    with_value(_GROUP, cap, "N[,STATUS]", r"\d+(,4\d\d)?", "26"),
    with_value(_GROUP, cap_moves, "N,CAP", _PAIR),
    with_value(_GROUP, context, "N", r"\d+", "2048"),
    with_value(_GROUP, context_moves, "N,TOKENS", _PAIR),
    with_value(_GROUP, truncate, "N", r"\d+", "2048"),
    *group(_GROUP, (no_slash, no_blank_ids, strict_fields, strings_only, crash_one_option)),
)
