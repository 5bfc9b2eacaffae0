"""What a run lends to the model it asks: a place to pay, a way to say that it waits, an archive.

The engine calls :meth:`beeline.model.Model.attach` with these before it opens a model. A model
that spends nothing and waits for nobody ignores them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from beeline.spend_caps import Caps

__all__ = ["Caps", "Estimate", "Meter", "Services"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a request is expected to take, or took; None where that cannot be told."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Meter(Protocol):
    """Asked before each request goes out, told afterwards what it took.

    Each try of a question is a request: a host may bill a try that fails.
    """

    def begin(self, expected: Estimate) -> int | Awaitable[int]:
        """Reserve ``expected`` and return a ticket, to be awaited where the ledger is in another
        process. Raises SpendError when a cap is reached; then nothing may be sent."""

    def settle(self, ticket: int, took: Estimate) -> None:
        """The request was answered. What is None in ``took`` stays as it was reserved, marked as
        estimated."""

    def reject(self, ticket: int) -> None:
        """The host turned the request away before any work (4xx, 429, 529) or it never left:
        a request, no tokens, no dollars."""

    def unknown(self, ticket: int) -> None:
        """Nobody knows whether the host did the work (a timeout, a broken connection, another
        5xx): what was reserved stays, marked as estimated."""

    def cancel(self, ticket: int) -> None:
        """Nothing was sent for this reservation, and it is not a request."""


@dataclass(frozen=True, slots=True)
class Services:
    """Lent for one run."""

    meter: Meter | None = None
    """None where nothing is counted."""
    notice: Callable[[str | None], None] = lambda text: None
    """Shows why the model waits ("host paused: 503, next try in 8 s"); None when it goes on."""
    keep_replies: bool = False
    """Fill :attr:`beeline.question.Answer.raw` for the archive."""
