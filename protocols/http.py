"""The HTTP layer that every protocol shares: post a question, get the answered try.

A question has a bound in all (``patience_s``) and each try one of its own (``timeout_s``).
Failures that pass (no reply, 408, 429, 5xx) are tried again after a wait that doubles from 0.5 s
to 30 s, less up to a quarter by chance, or after the time the host asks for. Everything else ends
at once. As long as nothing at all has come back in this process there are only three tries, so that
a server that is down is said to be down within seconds.

Clock, sleep, chance and transport are arguments; nothing here is patched by a test.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from beeline.errors import HostError
from protocols.failures import clean, explain, judge
from protocols.secrets import Secret, masked, masked_bytes
from protocols.transport import AiohttpTransport, Transport, TransportFault

__all__ = ["MAX_BODY", "Http", "HttpLimits", "Reply"]

#: Bytes of a reply that are read at most. 255 options of 300 bytes need 100 kB.
MAX_BODY = 8 * 1024 * 1024

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
#: Share of a wait that chance may take off, so that many trials do not come back at once.
JITTER = 0.25
#: Tries as long as no HTTP reply, good or bad, has come back.
FIRST_TRIES = 3


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one question may take."""

    timeout_s: float = 60.0
    """Seconds for one try."""
    patience_s: float = 300.0
    """Seconds for all tries of one question and the waits between them."""
    retries: int = 7
    """Tries after the first."""
    concurrency: int = 16
    """Requests in flight at once."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A 2xx reply."""

    body: bytes
    """Empty when ``cut``."""
    cut: bool
    """The body went above MAX_BODY and was not read further."""
    content_type: str
    seconds: float
    """Wall time of the try that was answered."""
    retries: int
    """Failed tries before it."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """One try that brought no 2xx reply."""

    reason: str
    advice: str
    kind: str = ""
    retry: bool = True
    wait: float | None = None


_WHERE = "Is the server running, and is model.base_url right?"


class Http:
    """A client for one URL. ``advice`` maps a status to what a person should do about it."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: HttpLimits,
        *,
        secrets: Sequence[Secret] = (),
        advice: Mapping[int, str] | None = None,
        transport: Transport | None = None,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.url = url
        self.limits = limits
        self._secrets = tuple(secrets)
        self._advice = dict(advice or {})
        self._transport: Transport = transport or AiohttpTransport(url, headers, MAX_BODY)
        self._clock, self._sleep, self._chance, self._now = clock, sleep, chance, now
        self._free = asyncio.Semaphore(limits.concurrency)
        self._reached = False

    async def open(self) -> None:
        """Open the connection pool inside the running event loop."""
        await self._transport.open()

    async def close(self) -> None:
        """Close the pool."""
        await self._transport.close()

    async def post(self, body: bytes) -> Reply:
        """Post until there is a 2xx reply. Raises HostError with the reason when there is none."""
        async with self._free:
            started = self._clock()
            failures = 0
            while True:
                left = self.limits.patience_s - (self._clock() - started)
                got = await self._try(body, min(self.limits.timeout_s, left))
                if isinstance(got, Reply):
                    return replace(got, retries=failures) if failures else got
                failures += 1
                wait = self._wait_after(got, failures, self._clock() - started)
                await self._sleep(wait)

    def tidy(self, text: str, limit: int = 300) -> str:
        """Text from a reply, fit for a message or a record: one line, bounded, keys masked."""
        return clean(masked(text, self._secrets), limit)

    def explain(self, reply: Reply) -> str:
        """What the body of a reply without an answer says."""
        return self.tidy(explain(masked_bytes(reply.body, self._secrets), reply.content_type))

    async def _try(self, body: bytes, seconds: float) -> Reply | _Failure:
        sent = self._clock()
        try:
            async with asyncio.timeout(seconds):
                raw = await self._transport.send(body)
        except TimeoutError:
            slow = "If the server is only slow, raise model.timeout_s"
            return _Failure(f"no answer within {seconds:.3g} s", slow)
        except TransportFault as fault:
            return _Failure(fault.reason, _WHERE, kind=fault.kind, retry=fault.kind != "certificate")
        took = self._clock() - sent
        self._reached = True
        if 200 <= raw.status <= 299:
            return Reply(raw.body, raw.cut, raw.headers.get("content-type", ""), took, 0)
        # Masked before it is parsed and shortened: half a key is a leak too.
        verdict = judge(raw.status, raw.headers, masked_bytes(raw.body, self._secrets), self._now())
        reason = f"it answered {verdict.reason}"
        return _Failure(reason, self._advice.get(raw.status, ""), retry=verdict.retry, wait=verdict.wait)

    def _wait_after(self, failure: _Failure, failures: int, spent: float) -> float:
        """Seconds to wait before the next try; raises HostError when there is to be none."""
        if not failure.retry:
            self._fail(failure.reason, failure.advice)
        tries = self.limits.retries + 1
        if not self._reached:
            tries = min(tries, FIRST_TRIES)
        if failures >= tries:
            counted = f"{failures} tries" if failures > 1 else "1 try"
            if failure.kind == "connect" and not self._reached:
                reason = self.tidy(failure.reason)
                raise HostError(
                    f"nothing answers at {self.url} ({reason}; {counted}): "
                    "start the server, or correct model.base_url"
                )
            self._fail(f"{counted} failed, the last because {failure.reason}", failure.advice)
        wait = failure.wait
        if wait is None:
            wait = min(FIRST_WAIT_S * 2.0 ** (failures - 1), LONGEST_WAIT_S)
            wait *= 1.0 - JITTER * self._chance()
        if spent + wait >= self.limits.patience_s:
            self._fail(
                f"{failure.reason}; after {failures} failed tries, one more in {wait:.3g} s would go past "
                f"model.patience_s={self.limits.patience_s:g}",
                failure.advice,
            )
        return wait

    def _fail(self, reason: str, advice: str) -> NoReturn:
        tail = f". {advice}" if advice else ""
        raise HostError(f"{self.url}: {self.tidy(reason, 500)}{tail}")
