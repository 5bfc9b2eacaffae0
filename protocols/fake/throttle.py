"""Limits of rate and of requests in flight, as hosts have them: 429 with a hint above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Bucket", "Throttle"]


class Bucket:
    """``per_minute`` flow in evenly; one second's worth, at least 1, can be saved up.

    A request may overdraw (one with many tokens would never pass otherwise); the next waits for it.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self._per_second = per_minute / 60
        self._room = max(self._per_second, 1.0)
        self._level = self._room
        self._clock = clock
        self._at = clock()

    def wait(self) -> float:
        """Seconds until something may be taken; 0: now."""
        self._flow()
        short = 1.0 - self._level
        return short / self._per_second if short > 1e-9 else 0.0

    def take(self, amount: float) -> None:
        """Take it, even below zero."""
        self._flow()
        self._level -= amount

    def _flow(self) -> None:
        now = self._clock()
        self._level = min(self._room, self._level + (now - self._at) * self._per_second)
        self._at = now


@dataclass(slots=True)
class Throttle:
    """All the limits of one server; None: no limit."""

    requests: Bucket | None = None
    tokens: Bucket | None = None
    in_flight: int | None = None
    admitted: int = 0
    """Requests let through and not released yet."""

    def refuses(self, tokens: int) -> float | None:
        """Seconds to wait by the hint when the request is one too many; else None, and it is let
        through: call :meth:`release` when it is answered."""
        if self.in_flight is not None and self.admitted >= self.in_flight:
            return 0.05
        buckets = [(self.requests, 1.0), (self.tokens, float(tokens))]
        wait = max((bucket.wait() for bucket, _ in buckets if bucket), default=0.0)
        if wait > 0:
            return wait
        for bucket, amount in buckets:
            if bucket:
                bucket.take(amount)
        self.admitted += 1
        return None

    def release(self) -> None:
        """A request that was let through has been answered."""
        self.admitted -= 1
