"""What a fault is: a function with a name, a group, and perhaps a value."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from protocols.fake.exchange import Exchange

__all__ = ["Fault", "group", "with_value"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. ``strike(exchange, value)`` changes the exchange."""

    name: str
    group: str
    help: str
    strike: Callable[[Exchange, str], None]
    value: str = ""
    """What the value is called in the help; empty for a fault without one."""
    pattern: re.Pattern[str] = re.compile("")
    """What the value must match."""
    default: str | None = None
    """The value when none is given; None: there must be one."""

    @property
    def usage(self) -> str:
        """``name`` or ``name=VALUE``, for the help."""
        if not self.value:
            return self.name
        return f"{self.name}={self.value}" if self.default is None else f"{self.name}[={self.value}]"


def group(name: str, functions: Sequence[Callable[[Exchange], None]]) -> tuple[Fault, ...]:
    """Faults without a value."""
    return tuple(_plain(name, function) for function in functions)


def _plain(name: str, function: Callable[[Exchange], None]) -> Fault:
    def strike(exchange: Exchange, value: str) -> None:
        function(exchange)

    return Fault(function.__name__, name, _first_line(function), strike, default="")


def with_value(
    name: str,
    function: Callable[[Exchange, str], None],
    value: str,
    pattern: str,
    default: str | None = None,
) -> Fault:
    """A fault with a value, checked against ``pattern`` before the server starts."""
    return Fault(
        function.__name__, name, _first_line(function), function, value, re.compile(pattern), default
    )


def _first_line(function: object) -> str:
    return (inspect.getdoc(function) or "").splitlines()[0]
