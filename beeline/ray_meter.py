"""Spending across processes: the host's half of a meter, and the driver's.

Only the driver writes the ledger, and nothing is sent before the driver has reserved it: so a cap
holds over all workers exactly as it does in one process.

Asking the driver takes a few milliseconds, more than a search takes to its next question. So the
host keeps *spares*: reservations that the driver made in advance, a quarter larger than the largest
request so far. A request takes a spare where one is large enough and is on its way at once; the
spares are filled up in batches. Near a cap the driver refuses spares, and from then on each request
asks for its own reservation. Spares that are left at the end are cancelled; those of a host that was killed
stay counted as estimated, since nobody knows whether they were used.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Awaitable, Sequence

from beeline.errors import BeelineError
from beeline.ray_messages import Failure, Op, RemoteFailure
from beeline.services import Estimate, Meter

__all__ = ["Leave", "Purse", "RemoteMeter"]

ROOM = 1.25
"""Spares are as much larger than the largest request so far."""

Leave = tuple[int, Failure | None]
"""Number of a request, and why it may not be sent."""


class RemoteMeter:
    """A :class:`beeline.services.Meter` whose ledger is in another process; of one event loop.

    ``spares`` is how many it keeps, about as many as requests are in flight.
    """

    def __init__(self, spares: int = 0) -> None:
        self.asked = asyncio.Event()
        """Somebody waits for leave, or will soon."""
        self._target = spares
        self._ops: list[Op] = []
        self._count = 0
        self._waiting: dict[int, asyncio.Future[int]] = {}
        self._begins: dict[int, Estimate] = {}
        """Of those, what the driver has not been asked yet."""
        self._coming: dict[int, Estimate] = {}
        self._spares: deque[tuple[int, Estimate]] = deque()
        self._largest: Estimate | None = None

    def begin(self, expected: Estimate) -> int | Awaitable[int]:
        """A spare, else a wait for leave. Raises RemoteFailure where the driver's meter raised."""
        self._largest = expected if self._largest is None else _larger(self._largest, expected)
        if self._spares and _fits(expected, self._spares[0][1]):
            number, _ = self._spares.popleft()
            if len(self._spares) + len(self._coming) < self._target / 2:
                self.asked.set()
            return number
        return self._leave(expected)

    async def _leave(self, expected: Estimate) -> int:
        number = self._next()
        leave: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting[number] = leave
        self._begins[number] = expected
        self.asked.set()
        try:
            return await leave
        except asyncio.CancelledError:
            if self._begins.pop(number, None) is None:
                self._ops.append(Op("cancel", leave.result() if _given(leave) else number))
            raise
        finally:
            self._waiting.pop(number, None)

    def settle(self, ticket: int, took: Estimate) -> None:
        """As of a meter; the driver hears of it with the next batch."""
        self._ops.append(Op("settle", ticket, took))

    def reject(self, ticket: int) -> None:
        """Likewise."""
        self._ops.append(Op("reject", ticket))

    def unknown(self, ticket: int) -> None:
        """Likewise."""
        self._ops.append(Op("unknown", ticket))

    def cancel(self, ticket: int) -> None:
        """Likewise."""
        self._ops.append(Op("cancel", ticket))

    def grant(self, leaves: Sequence[Leave]) -> None:
        """The driver's replies."""
        for number, failure in leaves:
            spare = self._coming.pop(number, None)
            if spare is not None:
                if failure is None:
                    self._spares.append((number, spare))
                else:
                    self._target = 0  # a cap is near
                continue
            waiting = self._waiting.get(number)
            if waiting is None or waiting.done():
                continue
            if failure is None:
                waiting.set_result(number)
            else:
                waiting.set_exception(RemoteFailure(failure))
        self._use_spares()

    def _use_spares(self) -> None:
        """Spares that came after somebody began to wait."""
        for number, expected in list(self._begins.items()):
            if self._spares and _fits(expected, self._spares[0][1]) and not self._waiting[number].done():
                del self._begins[number]
                self._waiting[number].set_result(self._spares.popleft()[0])

    def take(self, last: bool = False) -> list[Op]:
        """What happened since the last time, and the spares that are wanted; the ``last`` time, what
        is left is cancelled."""
        if last:
            self._target = 0
        if last or self._begins:
            # They hold room that a request may need which is larger, and the next ones are as large.
            # The driver gets them back first: nobody is refused for what nobody uses.
            self._give_back()
        self._ops += [Op("begin", number, expected) for number, expected in self._begins.items()]
        self._begins.clear()
        if self._largest is not None:
            size = _roomy(self._largest)
            for _ in range(self._target - len(self._spares) - len(self._coming)):
                number = self._next()
                self._coming[number] = size
                self._ops.append(Op("spare", number, size))
        ops, self._ops = self._ops, []
        self.asked.clear()
        return ops

    def _give_back(self) -> None:
        while self._spares:
            self._ops.append(Op("cancel", self._spares.popleft()[0]))

    def _next(self) -> int:
        self._count += 1
        return self._count


class Purse:
    """The driver's half: applies what a host did to the meter of the run."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._tickets: dict[int, int] = {}

    def apply(self, ops: Sequence[Op]) -> list[Leave]:
        """Enter the calls in order; the leaves that were asked for. A cap, or a ledger that cannot be
        written, is the answer to the request that met it."""
        leaves: list[Leave] = []
        full = False
        for op in ops:
            if op.what in ("begin", "spare"):
                if full and op.what == "spare":
                    leaves.append((op.number, _NO_SPARE))
                    continue
                try:
                    ticket = self._meter.begin(op.estimate)
                except BeelineError as error:
                    full = True
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
            elif op.what == "cancel":
                self._meter.cancel(kept)
            else:
                self._meter.unknown(kept)
        return leaves

    def revoke(self, leaves: Sequence[Leave]) -> None:
        """Take back leaves that were not delivered: nothing was sent for them."""
        for number, failure in leaves:
            if failure is None:
                self._meter.cancel(self._tickets.pop(number))

    def lost(self) -> None:
        """The host died: nobody knows what became of the requests on their way."""
        tickets, self._tickets = self._tickets, {}
        for ticket in tickets.values():
            with contextlib.suppress(BeelineError):
                self._meter.unknown(ticket)


_NO_SPARE = Failure("SpendError", "", "")


def _given(leave: asyncio.Future[int]) -> bool:
    """Whether leave came, though nobody waits for it any more."""
    return leave.done() and not leave.cancelled() and leave.exception() is None


def _fits(expected: Estimate, spare: Estimate) -> bool:
    """Whether a reservation holds all that a request is expected to take."""
    pairs = (
        (expected.input_tokens, spare.input_tokens),
        (expected.output_tokens, spare.output_tokens),
        (expected.cost_usd, spare.cost_usd),
    )
    return all(
        (have is None and want is None) or (have is not None and want is not None and want <= have)
        for want, have in pairs
    )


def _roomy(size: Estimate) -> Estimate:
    """With room for the questions of a search, which grow step by step."""
    return Estimate(
        None if size.input_tokens is None else math.ceil(ROOM * size.input_tokens),
        None if size.output_tokens is None else math.ceil(ROOM * size.output_tokens),
        None if size.cost_usd is None else ROOM * size.cost_usd,
    )


def _larger(a: Estimate, b: Estimate) -> Estimate:
    """The larger of each; what is not known of the newer one is not known."""
    return Estimate(
        _most(a.input_tokens, b.input_tokens),
        _most(a.output_tokens, b.output_tokens),
        None if b.cost_usd is None else max(a.cost_usd or 0.0, b.cost_usd),
    )


def _most(a: int | None, b: int | None) -> int | None:
    return None if b is None else max(a or 0, b)
