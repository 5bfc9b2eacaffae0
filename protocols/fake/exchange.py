"""One request and the reply it would get: what faults change, and how it becomes bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

from protocols.fake.asked import Asked, Problem, Shape

__all__ = ["Delivery", "Exchange"]

Delivery = Literal["whole", "reset", "cut", "slow", "silent", "endless"]


@dataclass(slots=True)
class Exchange:
    """One request and the reply it would get; faults change the reply."""

    shape: Shape
    request: Mapping[str, Any]
    """The parsed body."""
    raw_request: bytes
    asked: tuple[Asked, ...]
    key: str
    """The key that was sent; empty without one."""
    reply: dict[str, Any]
    """The canonical reply (protocols.fake.asked), before it becomes the shape's own."""
    seen: dict[bytes, int] = field(default_factory=dict)
    """How often each exact body came; shared by all exchanges of a server, filled when used."""
    seed: int = 0
    number: int = 1
    """This is the server's so manieth request."""
    in_flight: int = 1
    elapsed_s: float = 0.0
    """Since the server began to serve."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent in place of the reply when set."""
    content_type: str = "application/json"
    delivery: Delivery = "whole"
    slow_s: float = 2.0
    """How long a slow body takes."""
    edits: list[Callable[[dict[str, Any]], None]] = field(default_factory=list)
    """Changes of the shape's own JSON, in order."""
    told: list[Callable[[str], str]] = field(default_factory=list)
    """Changes of the text that a language model writes."""
    picked: Callable[[int], Any] | None = None
    """What a language model says in place of the option's number."""
    stopped: Literal["", "tokens", "filter"] = ""
    """A language model stops early: at its token limit, or by a content filter."""
    cached: float = 0.0
    """This share of the input tokens came from a cache; hosts without a cache do not say so."""
    envelope: bool = False
    cut_bytes: int = 0
    """So many bytes are missing at the end of a whole reply."""
    _digest: bytes = b""
    _repeat: int = -1

    @property
    def choices(self) -> list[dict[str, Any]]:
        """The answers of type choice."""
        return [a for a in self.reply.get("answers", {}).values() if a.get("type") == "choice"]

    @property
    def maps(self) -> list[dict[str, Any]]:
        """The answers of type choice that have a map of probabilities, not an empty one."""
        return [a for a in self.choices if a.get("probabilities")]

    @property
    def digest(self) -> bytes:
        """Names the exact body."""
        if not self._digest:
            self._digest = blake2b(self.raw_request, digest_size=16).digest()
        return self._digest

    @property
    def repeat(self) -> int:
        """How often this exact body came before."""
        if self._repeat < 0:
            self._repeat = self.seen.get(self.digest, 0)
            self.seen[self.digest] = self._repeat + 1
        return self._repeat

    def draw(self, *path: str | int) -> float:
        """A number in [0, 1) that depends on the seed, the exact body and ``path`` alone."""
        name = json.dumps([self.seed, *path]).encode()
        return int.from_bytes(blake2b(name + self.digest, digest_size=8).digest(), "big") / 2**64

    def fail(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        code: str | int | None = None,
        place: Sequence[str | int] = (),
        jev: Any = None,
        **headers: str,
    ) -> None:
        """Reply with an error in the shape's own words; ``jev`` is the body where that is Jev."""
        problem = Problem(status, kind, message, place, code)
        body = jev if jev is not None and self.shape.name == "jev" else self.shape.error(problem)
        self.status, self.content_type = status, "application/json"
        self.raw = json.dumps(body).encode()
        self.headers |= {name.replace("_", "-"): value for name, value in headers.items()}

    def page(self, status: int, title: str) -> None:
        """Reply with an HTML page."""
        self.status, self.content_type = status, "text/html"
        self.raw = (
            f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{title}</body></html>".encode()
        )

    def body(self) -> bytes:
        """The reply's bytes."""
        if self.raw is not None:
            return self.raw
        reply = self.shape.write(self)
        for edit in self.edits:
            edit(reply)
        if self.envelope:
            reply = {"result": reply, "success": True, "errors": [], "messages": []}
        whole = json.dumps(reply, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return whole[: len(whole) - self.cut_bytes]
