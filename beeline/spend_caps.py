"""Caps on what may be spent, and the exact numbers they are compared with.

Money is counted in picodollars (1e-12 US dollars) as whole numbers: one token at 0.01 dollars a
million is 10,000 of them, sums are exact, and 64 bits hold nine million dollars.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from beeline.errors import SettingError

__all__ = ["PICO", "Amounts", "Caps", "dollars", "first_reached", "picodollars", "tokens", "unheld"]

PICO = 10**12
"""Picodollars a dollar."""
_MOST_USD = 1_000.0
_MOST_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be spent; None holds nothing, 0 lets nothing out. Raises SettingError
    for a value below 0 or not finite."""

    usd: float | None = None
    tokens: int | None = None
    """Input and output together."""
    requests: int | None = None
    """Every try counts, also one that the host turns away."""

    def __post_init__(self) -> None:
        for name, value in (("usd", self.usd), ("tokens", self.tokens), ("requests", self.requests)):
            if value is None:
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or value < 0 or (name != "usd" and value != int(value)):
                kind = "a number" if name == "usd" else "a whole number"
                raise SettingError(f"max_{name}={value!r}: must be {kind} of at least 0, or null for no cap")

    def __bool__(self) -> bool:
        return not (self.usd is None and self.tokens is None and self.requests is None)


@dataclass(frozen=True, slots=True)
class Amounts:
    """What caps are compared with: counts, and picodollars. None is unknown (of a request to come;
    sums hold what is known)."""

    requests: int = 0
    tokens: int | None = 0
    usd: int | None = 0


def picodollars(usd: float | None) -> int | None:
    """Dollars of one request as whole picodollars. None when unknown, and for what no request
    costs: a negative, infinite or huge number that a host reports is not a price."""
    if usd is None or not 0.0 <= usd <= _MOST_USD:
        return None
    return round(usd * PICO)


def tokens(count: int | None) -> int | None:
    """Tokens of one request; None when unknown or beyond anything a request can hold."""
    if count is None or not 0 <= count <= _MOST_TOKENS:
        return None
    return int(count)


def dollars(pico: int) -> str:
    """Picodollars for people: two decimals from 100 dollars up, else six (``$0.004200``)."""
    digits = 2 if pico >= 100 * PICO else 6
    return f"${pico / PICO:,.{digits}f}"


def first_reached(caps: Caps, spent: Amounts, reserved: Amounts, coming: Amounts) -> tuple[str, str] | None:
    """The first cap that the next request would break, as the end of its setting's name
    (``max_usd``) and a sentence on what is spent; None when there is room.

    Where nothing is known of the next request (None in ``coming``), it is refused only when the
    cap is reached already.
    """
    limits = (
        ("max_usd", None if caps.usd is None else round(caps.usd * PICO), "usd"),
        ("max_tokens", caps.tokens, "tokens"),
        ("max_requests", caps.requests, "requests"),
    )
    for setting, most, name in limits:
        if most is None:
            continue
        have, held, more = getattr(spent, name), getattr(reserved, name), getattr(coming, name)
        total = have + held + (more or 0)
        if total > most or (more is None and total == most):
            words = [f"{_show(name, have)} spent"]
            if held:
                words.append(f"{_show(name, held)} reserved for requests on their way")
            if name != "requests" and more:
                words.append(f"{_show(name, more)} expected of the next request")
            return setting, f"{setting}={_cap(name, most)}: " + ", ".join(words)
    return None


def unheld(name: str, caps: Caps, total: Caps, priced: bool) -> str | None:
    """A warning where a dollar cap cannot hold a model whose price is unknown; else None."""
    if priced or (caps.usd is None and total.usd is None):
        return None
    setting = "model.max_usd" if caps.usd is not None else "spend.max_usd"
    return (
        f"the price of model {name} is unknown, so {setting} cannot hold it: set model.price_input, or cap "
        "it with model.max_tokens or model.max_requests"
    )


def _show(name: str, amount: int) -> str:
    return dollars(amount) if name == "usd" else f"{amount:,}"


def _cap(name: str, amount: int) -> str:
    return f"{amount / PICO:g}" if name == "usd" else str(amount)
