"""When a fault strikes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from beeline.draws import Draws
from beeline.errors import SettingError
from protocols.fake.exchange import Exchange
from protocols.fake.faults import FAULTS

__all__ = ["WHEN", "FaultPlan"]

WHEN = (
    "NAME: always; NAME:0.1: that share of requests; NAME@3: the first three; NAME@5-8: the fifth to the\n"
    "eighth; NAME%0.1: that share of exact bodies, each every time it comes; NAME~0.1: drawn for every\n"
    "exact body and try. A value comes first: cap=26%0.5"
)

_WHEN = re.compile(
    r"(?::(?P<share>[0-9.]+)|@(?P<first>[0-9]+)(?:-(?P<last>[0-9]+))?"
    r"|%(?P<bodies>[0-9.]+)|~(?P<tries>[0-9.]+))?"
)
_NAME = re.compile(r"[a-z0-9_]+")


class FaultPlan:
    """One ``--fault``: which, with what value, and when; see :data:`WHEN`.

    Raises SettingError for a name, a value or a share that is none.
    """

    def __init__(self, text: str) -> None:
        match = _NAME.match(text)
        name = match[0] if match else text
        rest = text[len(name) :]
        if name not in FAULTS or rest[:1] not in ("", "=", ":", "@", "%", "~"):
            wrong = re.split("[=:@%~]", text)[0]
            close = get_close_matches(wrong, FAULTS, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}? " if close else ""
            raise SettingError(
                f"there is no fault {wrong!r}: {hint}python -m protocols.fake --help lists all"
            )
        self.fault = FAULTS[name]
        self._value, when = self._split(text, rest)
        self._first = int(when["first"]) if when["first"] else None
        self._last = int(when["last"]) if when["last"] else None
        self._share = _share(text, when["share"])
        self._bodies = _share(text, when["bodies"])
        self._tries = _share(text, when["tries"])
        self._draws = Draws("fake", name)
        self._asked = 0

    def _split(self, text: str, rest: str) -> tuple[str, re.Match[str]]:
        """The value and the match of when, of what follows the name."""
        fault = self.fault
        if not rest.startswith("="):
            if fault.default is None:
                raise SettingError(f"--fault {text}: {fault.name} needs a value: {fault.usage}")
            value = fault.default
        elif not fault.value:
            raise SettingError(f"--fault {text}: {fault.name} takes no value")
        else:
            # The longest value that leaves something readable as when: a value may hold a colon.
            for end in range(len(rest), 1, -1):
                if fault.pattern.fullmatch(rest[1:end]) and (when := _WHEN.fullmatch(rest[end:])):
                    return rest[1:end], when
            raise SettingError(f"--fault {text}: what follows {fault.name} must be like {fault.usage}")
        when = _WHEN.fullmatch(rest)
        if when is None:
            raise SettingError(
                f"--fault {text}: what follows {fault.name} must be a share, a number from 0 to 1, or @N"
            )
        return value, when

    def strikes(self, exchange: Exchange) -> bool:
        """Whether this request is hit; call once a request, in the order they came."""
        self._asked += 1
        if self._first is not None:
            if self._last is not None:
                return self._first <= self._asked <= self._last
            return self._asked <= self._first
        if self._bodies is not None:
            return exchange.draw(self.fault.name) < self._bodies
        if self._tries is not None:
            return exchange.draw(self.fault.name, exchange.repeat) < self._tries
        return self._share is None or self._draws.random() < self._share

    def strike(self, exchange: Exchange) -> None:
        """Change the exchange, if this request is hit."""
        if self.strikes(exchange):
            self.fault.strike(exchange, self._value)

    @classmethod
    def parse(cls, texts: Sequence[str]) -> list[FaultPlan]:
        """One plan a text; raises SettingError for an unknown name."""
        return [cls(text) for text in texts]


def _share(text: str, written: str | None) -> float | None:
    if written is None:
        return None
    try:
        share = float(written)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise SettingError(f"--fault {text}: the share must be a number from 0 to 1")
    return share
