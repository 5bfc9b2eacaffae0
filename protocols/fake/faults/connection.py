"""Faults of the connection and of the hour: resets, slow bodies, outages, storms."""

from __future__ import annotations

from protocols.fake.exchange import Exchange
from protocols.fake.faults.fault import group, with_value

__all__ = ["FAULTS"]


def reset(exchange: Exchange) -> None:
    """The connection is reset instead of a reply."""
    exchange.delivery = "reset"


def cut_body(exchange: Exchange) -> None:
    """The connection ends in the middle of the body."""
    exchange.delivery = "cut"


def slow_body(exchange: Exchange, value: str) -> None:
    """The body trickles in over SECONDS."""
    exchange.delivery, exchange.slow_s = "slow", float(value)


def silent(exchange: Exchange) -> None:
    """The request is taken, and no reply ever comes."""
    exchange.delivery = "silent"


def huge_body(exchange: Exchange) -> None:
    """A body of 1 GB."""
    exchange.delivery = "endless"


def _inside(exchange: Exchange, value: str) -> bool:
    start, length = map(float, value.split(":"))
    return start <= exchange.elapsed_s < start + length


def outage(exchange: Exchange, value: str) -> None:
    """503 for every request from START seconds after the server's start, for SECONDS."""
    if _inside(exchange, value):
        exchange.fail(503, "unavailable", "Service unavailable")


def outage_reset(exchange: Exchange, value: str) -> None:
    """A reset for every request in that time."""
    if _inside(exchange, value):
        exchange.delivery = "reset"


def storm(exchange: Exchange) -> None:
    """5% resets, 10% 429 with short hints, 2% 529, 2% HTML 504, 5% slow, by exact body and try."""
    drawn = exchange.draw("storm", exchange.repeat)
    if drawn < 0.05:
        exchange.delivery = "reset"
    elif drawn < 0.15:
        hint = 10 + int(exchange.draw("hint", exchange.repeat) * 40)
        exchange.fail(429, "rate", "Too many requests", retry_after_ms=str(hint), Retry_After="1")
    elif drawn < 0.17:
        exchange.fail(529, "overloaded", "Overloaded")
    elif drawn < 0.19:
        exchange.page(504, "504 Gateway Time-out")
    elif drawn < 0.24:
        exchange.delivery, exchange.slow_s = "slow", 0.2


_GROUP = "the connection"
_SECONDS = r"\d+(\.\d+)?"
_WINDOW = rf"{_SECONDS}:{_SECONDS}"

FAULTS = (
    *group(_GROUP, (reset, cut_body)),
    with_value(_GROUP, slow_body, "SECONDS", _SECONDS, "2"),
    *group(_GROUP, (silent, huge_body)),
    with_value(_GROUP, outage, "START:SECONDS", _WINDOW),
    with_value(_GROUP, outage_reset, "START:SECONDS", _WINDOW),
    *group(_GROUP, (storm,)),
)
