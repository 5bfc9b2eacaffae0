"""When a request may go out: how many at once, how many a minute, and not while the host is down.

One :class:`Pacer` stands before one host. Three rules, each of its own:

* **Window.** At most ``window`` requests are in flight. It starts small and grows by one with each
  answer (doubling each round trip) until the host first says 429 or 529; from then on it grows by
  one each round trip. 429 and 529 halve it, once for all requests that were under way together
  (additive increase, multiplicative decrease, as in Jacobson, "Congestion avoidance and control", 1988).
* **Budgets.** Requests and tokens a minute are two buckets that fill evenly and hold a tenth of
  a minute. A request that is larger than a whole bucket goes when the bucket is full and leaves a debt.
* **Holds.** A host that names a wait is not asked by anybody before it is over. When tries fail
  in a row with nothing answered in between, the host is out: one probe at a time goes out, after
  growing waits, and everybody else waits without failing. The first answer ends it.

Who came first goes first; probes are taken in turn, so that one bad question cannot keep a host
that is well again shut.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

__all__ = ["Budget", "Outage", "Pacer", "Slot"]

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
#: Share of a wait that chance may take off, so that many clients do not come back at once.
JITTER = 0.25
#: Failures in a row, over all questions, that mean the host is out; one or two happen to a host
#: that is well. 429 and 529 come from a host at work, so it takes more of them.
OUT_AFTER = 3
OUT_AFTER_ANY = 8
#: A bucket holds what flows into it in this many seconds.
BURST_S = 6.0
#: Shorter waits are not shown: nobody could read it.
SHOWN_FROM_S = 1.0


class Outage(Exception):
    """The host was out for longer than it may be. ``seconds`` since the first failure,
    ``tries`` of all questions, ``reason`` of the last."""

    def __init__(self, seconds: float, tries: int, reason: str) -> None:
        super().__init__(reason)
        self.seconds, self.tries, self.reason = seconds, tries, reason


@dataclass(slots=True)
class Slot:
    """Leave to send one request; give it back with exactly one of the pacer's closing calls."""

    number: int
    tokens: int
    probe: bool = False


@dataclass(slots=True, order=True)
class _Waiter:
    order: int
    tokens: int = field(compare=False)
    probes: int = field(compare=False)
    admitted: asyncio.Future[Slot] = field(compare=False)


class Budget:
    """A bucket that fills at ``per_minute`` / 60 a second and holds a tenth of a minute, at
    least one unit. Times are seconds of the caller's clock."""

    __slots__ = ("_at", "_level", "most", "rate")

    def __init__(self, per_minute: float, now: float) -> None:
        self.rate = per_minute / 60.0
        self.most = max(self.rate * BURST_S, 1.0)
        self._level, self._at = self.most, now

    def ready(self, amount: float, now: float) -> float:
        """The time from which ``amount`` may be taken; more than the bucket holds counts as full."""
        lacking = min(amount, self.most) - self._filled(now)
        return now if lacking <= 1e-9 else now + lacking / self.rate

    def take(self, amount: float, now: float) -> None:
        """Take it, into debt if need be; a negative amount gives back."""
        self._level = min(self._filled(now) - amount, self.most)
        self._at = now

    def _filled(self, now: float) -> float:
        return min(self._level + (now - self._at) * self.rate, self.most)


class Pacer:
    """The one gate before one host; belongs to one event loop.

    ``patience_s`` bounds an outage. ``notice`` is told why everybody waits, and None when it is over.
    """

    def __init__(
        self,
        host: str,
        ceiling: int,
        *,
        first_window: int = 8,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        patience_s: float = 300.0,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        notice: Callable[[str | None], None] = lambda text: None,
    ) -> None:
        self.host, self.ceiling, self.patience_s = host, ceiling, patience_s
        self._clock, self._sleep, self._chance, self._notice = clock, sleep, chance, notice
        self.window = float(min(first_window, ceiling))
        self.in_flight = 0
        self._floor = clock()
        self._requests = Budget(requests_per_minute, self._floor) if requests_per_minute else None
        self._tokens = Budget(tokens_per_minute, self._floor) if tokens_per_minute else None
        self._budgeted = self._requests is not None or self._tokens is not None
        self._slow_start = True
        self._sent = 0
        self._cut_at = 0
        self._orders = 0
        self._queue: list[_Waiter] = []
        self._hold = 0.0
        self._streak = self._broken = 0
        self._streak_since = 0.0
        self._out = False
        self._probe = 0  # number of the probe under way
        self._failed_probes = 0
        self._next_probe = 0.0
        self._noticed = False
        self._timer: asyncio.Task[None] | None = None
        self._timer_at = 0.0

    # --- in ---------------------------------------------------------------------------------

    def order(self) -> int:
        """The place of a new question; all tries of a question keep it."""
        self._orders += 1
        return self._orders

    def enter_now(self, tokens: int) -> Slot | None:
        """A slot, if one is free at once and nobody waits for it."""
        if self._queue or self._out or self.in_flight >= int(self.window):
            return None
        if (self._hold or self._budgeted) and self._free_at(tokens) > self.now():
            return None
        return self._admit(tokens)

    async def enter(self, order: int, tokens: int, probes: int = 0) -> Slot:
        """Wait for a slot. ``probes`` are the probes this question has made already. Raises Outage
        when the host stays out; a cancelled wait leaves nothing behind."""
        waiter = _Waiter(order, tokens, probes, asyncio.get_running_loop().create_future())
        heapq.heappush(self._queue, waiter)
        self._pump()
        try:
            return await waiter.admitted
        except asyncio.CancelledError:
            # Admitted, and cancelled before it could go on: the slot is nobody's.
            if waiter.admitted.done() and not waiter.admitted.cancelled() and not waiter.admitted.exception():
                self.leave(waiter.admitted.result())
            self._pump()
            raise

    # --- out --------------------------------------------------------------------------------

    def succeeded(self, slot: Slot) -> None:
        """An answer: the window grows, where it was what held requests back. Answers to what was
        sent before the last halving say nothing of the window after it."""
        fresh = slot.number > self._cut_at
        if fresh and self.in_flight >= int(self.window) and self.window < self.ceiling:
            self.window = min(self.window + (1.0 if self._slow_start else 1.0 / self.window), self.ceiling)
        self.answered(slot)

    def answered(self, slot: Slot) -> None:
        """A reply that shows a host at work, though it is no answer (a refusal, a wrong request)."""
        self._streak = self._broken = 0
        if self._out:
            self._end_outage()
        self._close(slot)

    def failed(self, slot: Slot, reason: str, *, crowded: bool, hint: float | None, reject: bool) -> bool:
        """A try that may be repeated. Says whether the host is out, and then the failure is the
        host's, not the question's. ``crowded``: 429 or 529. ``hint``: the wait the host asks for,
        in seconds. ``reject``: it did no work, so the tokens are given back. Raises Outage when
        the host has been out for ``patience_s`` or would be at the next probe."""
        now = self.now()
        if crowded and slot.number > self._cut_at:
            self._slow_start = False
            self.window = max(self.window / 2.0, 1.0)
            self._cut_at = self._sent
        if reject and self._tokens is not None:
            self._tokens.take(-slot.tokens, now)
        if self._streak == 0:
            self._streak_since = now
        self._streak += 1
        self._broken += not crowded
        began = not self._out and (self._broken >= OUT_AFTER or self._streak >= OUT_AFTER_ANY)
        if began:
            self._out, self._failed_probes = True, 0
        if began or (self._out and slot.probe):
            wait = self._probe_wait()
            if hint is not None:
                # Followed once; a hint that a probe has shown to be too short ("0") must not make us hammer.
                wait = hint if began else max(hint, wait)
            self._next_probe = max(now + wait, self._hold)
            self._failed_probes += 1
            if wait >= SHOWN_FROM_S or self._noticed:
                left = _seconds(self._next_probe - now)
                self._say(f"host {self.host} paused: {reason}, next try in {left}")
        elif self._out and hint is not None:
            self._next_probe = max(self._next_probe, now + hint)
        if self._out and self._next_probe - self._streak_since >= self.patience_s:
            error = (now - self._streak_since, self._streak, reason)
            self._give_up(error)
            self._close(slot)
            raise Outage(*error)
        out = self._out
        if hint and not out:
            # Before the slot is given on: whoever waits for it must see the hold.
            self._hold = max(self._hold, now + hint)
        self._close(slot)
        return out

    def leave(self, slot: Slot) -> None:
        """Nothing is known of the host: never sent, or cancelled."""
        self._close(slot)

    def hold(self, seconds: float, reason: str) -> None:
        """Nobody asks the host for this long, because it said so."""
        now = self.now()
        self._hold = max(self._hold, now + seconds)
        if seconds >= SHOWN_FROM_S and not self._out:
            self._say(f"host {self.host} asks to wait: {reason}, next try in {_seconds(self._hold - now)}")

    def correct(self, reserved: int, took: int) -> None:
        """Tokens were ``took`` and not the ``reserved`` that the budget was charged with."""
        if self._tokens is not None and took != reserved:
            self._tokens.take(took - reserved, self.now())
            self._pump()

    def close(self) -> None:
        """Stop the timer; nobody may wait any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._say(None)

    @property
    def out(self) -> bool:
        """The host is out."""
        return self._out

    def now(self) -> float:
        """The clock, which does not lag behind a wait that has been slept."""
        return max(self._clock(), self._floor)

    # --- inside -----------------------------------------------------------------------------

    def _admit(self, tokens: int, probe: bool = False) -> Slot:
        if self._budgeted:
            now = self.now()
            if self._requests is not None:
                self._requests.take(1.0, now)
            if self._tokens is not None:
                self._tokens.take(tokens, now)
        if self._noticed and not self._out:
            self._say(None)
        self._sent += 1
        self.in_flight += 1
        if probe:
            self._probe = self._sent
        return Slot(self._sent, tokens, probe)

    def _free_at(self, tokens: int) -> float:
        now = self.now()
        at = self._hold
        if self._requests is not None:
            at = max(at, self._requests.ready(1.0, now))
        if self._tokens is not None:
            at = max(at, self._tokens.ready(tokens, now))
        return at

    def _close(self, slot: Slot) -> None:
        self.in_flight -= 1
        if slot.number == self._probe:
            self._probe = 0
        if self._queue:
            self._pump()

    def _pump(self) -> None:
        """Admit whoever may go, and set the timer for whoever must wait for a time."""
        while self._queue:
            if self._queue[0].admitted.done():
                heapq.heappop(self._queue)
                continue
            waiter = self._queue[0]
            if self._out:
                if self._probe:
                    return
                at = max(self._next_probe, self._hold)
            elif self.in_flight >= int(self.window):
                return
            else:
                at = self._free_at(waiter.tokens)
            if at > self.now():
                self._wake_at(at)
                return
            if self._out:
                waiting = [w for w in self._queue if not w.admitted.done()]
                waiter = min(waiting, key=lambda w: (w.probes, w.order))
                waiter.admitted.set_result(self._admit(waiter.tokens, probe=True))
                return
            heapq.heappop(self._queue)
            waiter.admitted.set_result(self._admit(waiter.tokens))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._noticed and not self._out:
            self._say(None)

    def _wake_at(self, at: float) -> None:
        if self._timer is not None:
            if self._timer_at == at:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = asyncio.get_running_loop().create_task(self._wake(at))

    async def _wake(self, at: float) -> None:
        wait = at - self.now()
        if wait > 0:
            await self._sleep(wait)
        self._floor = max(self._floor, at)
        self._timer = None
        self._pump()

    def _probe_wait(self) -> float:
        # The first goes on where the waits of a single question have got to by then.
        wait = FIRST_WAIT_S * 2.0 ** min(self._failed_probes + OUT_AFTER - 1, 30)
        return min(wait, LONGEST_WAIT_S) * (1.0 - JITTER * self._chance())

    def _end_outage(self) -> None:
        self._out, self._probe, self._failed_probes = False, 0, 0
        self._say(None)

    def _give_up(self, error: tuple[float, int, str]) -> None:
        self._end_outage()
        self._streak = self._broken = 0
        waiting, self._queue = self._queue, []
        for waiter in waiting:
            if not waiter.admitted.done():
                waiter.admitted.set_exception(Outage(*error))

    def _say(self, text: str | None) -> None:
        if text is not None or self._noticed:
            self._noticed = text is not None
            self._notice(text)


def _seconds(seconds: float) -> str:
    return f"{max(seconds, 0.0):.2g} s" if seconds < 9.5 else f"{seconds:,.0f} s"
