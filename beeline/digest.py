"""Digests of plain data: the same for equal data on every machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

__all__ = ["canonical", "differences", "digest_of"]


def canonical(data: Any) -> str:
    """JSON with sorted keys, no spaces and ASCII escapes; refuses NaN and infinities
    (ValueError), which are not JSON."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(data: Any) -> str:
    """SHA-256 of :func:`canonical`, in hexadecimal."""
    return sha256(canonical(data).encode()).hexdigest()


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Lines such as ``domains.tiles.parameters.scramble: 12 -> 20``, in key order."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}, key=str):
            below = f"{path}.{key}" if path else str(key)
            if key not in old:
                yield f"{below}: (absent) -> {canonical(new[key])}"
            elif key not in new:
                yield f"{below}: {canonical(old[key])} -> (absent)"
            else:
                yield from differences(old[key], new[key], below)
    elif old != new or type(old) is not type(new):
        yield f"{path or 'value'}: {canonical(old)} -> {canonical(new)}"
