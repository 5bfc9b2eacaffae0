"""What a server counted, for tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Counters"]


@dataclass(slots=True)
class Counters:
    """Since the server began; read them when nothing is in flight."""

    requests: int = 0
    """Requests to any path that answers questions, refused ones included."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Replies by status; 0 for a connection that was reset or never answered."""
    shapes: Counter[str] = field(default_factory=Counter)
    """Requests by the shape they were taken for."""
    tokens: int = 0
    """Input tokens of the replies with status 200."""
    in_flight: int = 0
    most_in_flight: int = 0
    last_body: bytes = b""
    last_headers: dict[str, str] = field(default_factory=dict)
    last_path: str = ""

    def begin(self, path: str) -> int:
        """A request has come; returns its number, from 1."""
        self.requests += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.last_path = path
        return self.requests

    def end(self, status: int) -> None:
        """It is answered, or given up."""
        self.in_flight -= 1
        self.statuses[status] += 1
