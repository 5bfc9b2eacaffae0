"""Spending across processes: the host's half of a meter, and the driver's.

Only the driver writes the ledger. The process that asks the model begins a request by waiting for
the driver's leave, which comes in batches; how a request ended is told without waiting. So a cap
holds over all workers exactly as it does in one process: nothing is sent before the driver has
reserved it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from beeline.errors import BeelineError
from beeline.ray_messages import Failure, Op, RemoteFailure
from beeline.services import Estimate, Meter

__all__ = ["Purse", "RemoteMeter"]

Leave = tuple[int, Failure | None]
"""Number of a request, and why it may not be sent."""


class RemoteMeter:
    """A :class:`beeline.services.Meter` whose ledger is in another process; of one event loop."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.asked = asyncio.Event()
        """Somebody waits for leave."""
        self._count = 0
        self._waiting: dict[int, asyncio.Future[int]] = {}

    async def begin(self, expected: Estimate) -> int:
        """Wait for leave. Raises RemoteFailure where the driver's meter raised."""
        self._count += 1
        number = self._count
        leave: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[number] = leave
        self.ops.append(Op("begin", number, expected))
        self.asked.set()
        try:
            return await leave
        except asyncio.CancelledError:
            self.ops.append(Op("reject", number))  # it never left
            raise
        finally:
            self._waiting.pop(number, None)

    def settle(self, ticket: int, took: Estimate) -> None:
        """As of a meter; the driver hears of it with the next batch."""
        self.ops.append(Op("settle", ticket, took))

    def reject(self, ticket: int) -> None:
        """Likewise."""
        self.ops.append(Op("reject", ticket))

    def unknown(self, ticket: int) -> None:
        """Likewise."""
        self.ops.append(Op("unknown", ticket))

    def grant(self, leaves: Sequence[Leave]) -> None:
        """The driver's replies."""
        for number, failure in leaves:
            waiting = self._waiting.get(number)
            if waiting is None or waiting.done():
                continue
            if failure is None:
                waiting.set_result(number)
            else:
                waiting.set_exception(RemoteFailure(failure))

    def take(self) -> list[Op]:
        """What happened since the last time."""
        ops, self.ops = self.ops, []
        self.asked.clear()
        return ops


class Purse:
    """The driver's half: applies what a host did to the meter of the run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._tickets: dict[int, int] = {}

    def apply(self, ops: Sequence[Op]) -> list[Leave]:
        """Enter the calls in order; the leaves that were asked for. A cap, or a ledger that cannot be
        written, is the answer to the request that met it."""
        leaves: list[Leave] = []
        for op in ops:
            if op.what == "begin":
                try:
                    ticket = self._meter.begin(op.estimate)
                except BeelineError as error:
                    leaves.append((op.number, Failure.of(error, "")))
                else:
                    assert isinstance(ticket, int)
                    self._tickets[op.number] = ticket
                    leaves.append((op.number, None))
                continue
            kept = self._tickets.pop(op.number, None)
            if kept is None:
                continue  # it was refused
            if op.what == "settle":
                self._meter.settle(kept, op.estimate)
            elif op.what == "reject":
                self._meter.reject(kept)
            else:
                self._meter.unknown(kept)
        return leaves

    def lost(self) -> None:
        """The host died: nobody knows what became of the requests on their way."""
        tickets, self._tickets = self._tickets, {}
        for ticket in tickets.values():
            with contextlib.suppress(BeelineError):
                self._meter.unknown(ticket)
