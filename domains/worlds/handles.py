"""Opaque handles, and orders that depend on handles alone.

A handle is a role prefix and upper-case hexadecimal digits of a hash of (draws path, role, ordinal):
its order says nothing about the problem. Row orders, slots and connectors of a presentation are
derived from handles by hashing too, never from draws or facts; so two instances with equal handles
lay out their rows alike, whatever else differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from beeline.draws import Draws
from beeline.errors import DomainError

__all__ = ["below_any", "key_of", "make_handles", "scattered"]


def make_handles(draws: Draws, role: str, prefix: str, count: int, digits: int = 16) -> list[str]:
    """``count`` different handles such as ``STN-07A3...``; raises DomainError should two be equal."""
    made = [
        f"{prefix}-{_hash([list(draws.path), role, ordinal])[:digits].upper()}" for ordinal in range(count)
    ]
    if len(set(made)) != count:
        raise DomainError(f"two {role} handles of {draws.path} are equal: use more than {digits} digits")
    return made


def key_of(*parts: str) -> str:
    """A pseudo-random sort key of some texts (a label first, then handles)."""
    return _hash(list(parts))


def scattered(handles: Iterable[str], *label: str) -> list[str]:
    """The handles in an order that depends on them and on the label alone."""
    return sorted(handles, key=lambda handle: key_of(*label, handle))


def below_any(draws: Draws, n: int) -> int:
    """An integer in 0..n-1 for n of any size (``Draws.below`` is exact up to 2^53 only): digits in base
    2^32 are drawn until the number is below n."""
    words = (n.bit_length() + 31) // 32
    top = 1 << (n.bit_length() - 32 * (words - 1))
    while True:
        value = draws.below(top)
        for _ in range(words - 1):
            value = value << 32 | draws.below(1 << 32)
        if value < n:
            return value


def _hash(parts: list[object]) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()
