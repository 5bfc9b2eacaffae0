"""Times as files carry them: UTC in ISO 8601, with a ``Z``."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["utc", "utc_now"]


def utc(seconds: float, timespec: str = "milliseconds") -> str:
    """Unix seconds as a text."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def utc_now() -> str:
    """The time now, to the second."""
    return utc(time.time(), "seconds")
