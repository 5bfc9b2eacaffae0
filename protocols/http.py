"""The HTTP layer that every protocol shares: post a question, get the answered try.

Before each try :mod:`protocols.pacing` admits it and the meter reserves what it may take. A question has a
bound in all (``patience_s``) and each try one of its own (``timeout_s``). Failures that pass (no
reply, 408, 429, 5xx) are tried again after a wait that doubles from 0.5 s to 30 s, less up to a
quarter by chance, or after the time the host asks for. While the whole host is out nobody's tries
or patience are used up; the outage has a bound of its own, ``patience_s`` too. Everything else ends
at once. As long as nothing at all has come back in this process there are only three tries, so that
a server that is down is said to be down within seconds. docs/manners.md has all of it in a table.

Clock, sleep, chance and transport are arguments; nothing here is patched by a test.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

from beeline.errors import HostError
from beeline.services import Estimate, Meter
from protocols.failures import clean, explain, judge, says_refusal
from protocols.pacing import FIRST_WAIT_S, JITTER, LONGEST_WAIT_S, Outage, Pacer
from protocols.scrub import Scrubber
from protocols.secrets import Secret, masked_bytes
from protocols.transport import AiohttpTransport, RawReply, Transport, TransportFault

__all__ = ["MAX_BODY", "Http", "HttpLimits", "Reply"]

#: Bytes of a reply that are read at most. 255 options of 300 bytes need 100 kB.
MAX_BODY = 8 * 1024 * 1024

#: Tries as long as no HTTP reply, good or bad, has come back.
FIRST_TRIES = 3
#: Headers in which hosts name a request, for their support.
REQUEST_IDS = ("x-typesafe-request-id", "x-request-id", "request-id", "cf-ai-req-id", "cf-ray")


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one question may take, and what the host may be asked."""

    timeout_s: float = 60.0
    """Seconds for one try."""
    patience_s: float = 300.0
    """Seconds for all tries of one question and the waits between them; also for an outage."""
    retries: int = 7
    """Tries after the first, while the host answers others."""
    concurrency: int = 16
    """Requests in flight at once, at most: the ceiling of the window."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Input and output, as estimated before and corrected afterwards."""
    first_window: int = 8
    """Requests in flight before the first answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A 2xx reply, or an error that says the model declined (``refused``)."""

    body: bytes
    """Empty when ``cut``."""
    cut: bool
    """The body went above MAX_BODY and was not read further."""
    content_type: str
    seconds: float
    """Wall time of the try that was answered."""
    retries: int
    """Failed tries before it."""
    status: int = 200
    request_id: str | None = None
    """What the host calls the request; keys masked."""
    refused: bool = False
    """The model declined this question, by an error that says so."""
    ticket: int | None = None
    """The meter's, for :meth:`Http.settle`."""
    reserved_tokens: int = 0
    """What the budget a minute was charged with."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """One try that brought no reply to use."""

    reason: str
    advice: str
    kind: str = ""
    retry: bool = True
    wait: float | None = None
    status: int | None = None


_WHERE = "Is the server running, and is model.base_url right?"


class Http:
    """A client for one URL. ``advice`` maps a status to what a person should do about it;
    ``refusal`` tells an error reply (status, body) that means a declined question."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: HttpLimits,
        *,
        secrets: Sequence[Secret] = (),
        advice: Mapping[int, str] | None = None,
        transport: Transport | None = None,
        meter: Meter | None = None,
        notice: Callable[[str | None], None] = lambda text: None,
        refusal: Callable[[int, bytes], bool] = says_refusal,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.limits = limits
        self._secrets = tuple(secrets)
        self._scrub = Scrubber(self._secrets)
        # An address may hold the name of an account, which is as secret as a key.
        self.url = self._scrub(url)
        self._advice = dict(advice or {})
        self._transport: Transport = transport or AiohttpTransport(url, headers, MAX_BODY)
        self._meter, self._refusal = meter, refusal
        self._clock, self._sleep, self._chance, self._now = clock, sleep, chance, now
        self._pacer = Pacer(
            urlsplit(self.url).netloc or self.url,
            limits.concurrency,
            first_window=limits.first_window,
            requests_per_minute=limits.requests_per_minute,
            tokens_per_minute=limits.tokens_per_minute,
            patience_s=limits.patience_s,
            clock=clock,
            sleep=sleep,
            chance=chance,
            notice=lambda text: notice(None if text is None else self.tidy(text)),
        )
        self._reached = False

    async def open(self) -> None:
        """Open the connection pool inside the running event loop."""
        await self._transport.open()

    async def close(self) -> None:
        """Close the pool."""
        self._pacer.close()
        await self._transport.close()

    async def post(self, body: bytes, expected: Estimate = Estimate()) -> Reply:  # noqa: B008 - frozen
        """Post until there is a reply to use; then :meth:`settle` it.

        Raises HostError with the reason when there is none, and whatever the meter raises at a cap.
        """
        pacer = self._pacer
        tokens = (expected.input_tokens or 0) + (expected.output_tokens or 0)
        order = pacer.order()
        failures = counted = probes = 0
        spent = 0.0
        while True:
            slot = pacer.enter_now(tokens)
            if slot is None:
                try:
                    slot = await pacer.enter(order, tokens, probes)
                except Outage as outage:
                    self._stays_out(outage)
            began = self._clock()
            try:
                seconds = min(self.limits.timeout_s, max(self.limits.patience_s - spent, 0.001))
                got = await self._try(body, expected, tokens, seconds, failures)
            except BaseException:  # a cap or a cancellation: the slot must not leak
                pacer.leave(slot)
                raise
            if isinstance(got, Reply):
                if got.refused:
                    pacer.answered(slot)
                else:
                    pacer.succeeded(slot)
                return got
            failures += 1
            if not got.retry:
                pacer.answered(slot) if got.status is not None else pacer.leave(slot)
                self._fail(got.reason, got.advice)
            if not self._reached:
                pacer.leave(slot)
                self._first_contact(got, failures)
                spent += self._clock() - began
                wait = self._backoff(failures)
                self._patient(got, failures, spent, wait)
                await self._sleep(wait)
                spent += wait
                continue
            try:
                out = pacer.failed(
                    slot,
                    got.reason,
                    crowded=got.status in (429, 529),
                    hint=got.wait,
                    reject=_did_no_work(got),
                )
            except Outage as outage:
                self._stays_out(outage, got.advice)
            if out:
                # The host's failure, not the question's: neither tries nor patience are used up.
                probes += slot.probe
                continue
            counted += 1
            spent += self._clock() - began
            if counted > self.limits.retries:
                self._too_often(got, failures)
            wait = self._backoff(counted) if got.wait is None else got.wait
            self._patient(got, failures, spent, wait)
            spent += wait
            if got.wait is None:
                await self._sleep(wait)
            elif wait > 0:
                pacer.hold(wait, got.reason)

    def settle(self, reply: Reply, took: Estimate) -> None:
        """Tell the meter and the budget a minute what a reply took; None stays as reserved."""
        if self._meter is not None and reply.ticket is not None:
            self._meter.settle(reply.ticket, took)
        if took.input_tokens is not None:
            self._pacer.correct(reply.reserved_tokens, took.input_tokens + (took.output_tokens or 0))

    def tidy(self, text: str, limit: int = 300) -> str:
        """Text from a reply, fit for a message or a record: one line, bounded, keys masked."""
        # Masked before it is shortened: half a key is a leak too.
        return clean(self._scrub(text[: 8 * limit]), limit)

    def explain(self, reply: Reply) -> str:
        """What the body of a reply without an answer says."""
        return self.tidy(explain(masked_bytes(reply.body, self._secrets), reply.content_type))

    async def _try(
        self, body: bytes, expected: Estimate, tokens: int, seconds: float, failures: int
    ) -> Reply | _Failure:
        """One request, from its reservation to what came of it."""
        meter = self._meter
        asked = None if meter is None else meter.begin(expected)
        ticket = asked if asked is None or isinstance(asked, int) else await asked
        sent = self._clock()
        try:
            got = await self._send(body, seconds)
        except BaseException:  # cancelled under way
            if meter is not None and ticket is not None:
                meter.unknown(ticket)
            raise
        if isinstance(got, _Failure):
            if meter is not None and ticket is not None:
                (meter.reject if _did_no_work(got) else meter.unknown)(ticket)
            return got
        took = self._clock() - sent
        self._reached = True
        refused = not 200 <= got.status <= 299
        return Reply(
            got.body,
            got.cut,
            got.headers.get("content-type", ""),
            took,
            failures,
            got.status,
            self._request_id(got.headers),
            refused,
            ticket,
            tokens,
        )

    async def _send(self, body: bytes, seconds: float) -> RawReply | _Failure:
        try:
            async with asyncio.timeout(seconds):
                raw = await self._transport.send(body)
        except TimeoutError:
            slow = "If the server is only slow, raise model.timeout_s"
            return _Failure(f"no answer within {seconds:.3g} s", slow)
        except TransportFault as fault:
            return _Failure(fault.reason, _WHERE, kind=fault.kind, retry=fault.kind != "certificate")
        if 200 <= raw.status <= 299 or self._refusal(raw.status, raw.body):
            return raw
        self._reached = True
        verdict = judge(raw.status, raw.headers, masked_bytes(raw.body, self._secrets), self._now())
        return _Failure(
            f"it answered {verdict.reason}",
            self._advice.get(raw.status, ""),
            retry=verdict.retry,
            wait=verdict.wait,
            status=raw.status,
        )

    def _request_id(self, headers: Mapping[str, str]) -> str | None:
        for name in REQUEST_IDS:
            value = headers.get(name)
            if value:
                # Nearly always a plain word; a host that puts anything else there is cleaned.
                value = self._scrub(value[:800])
                return value if len(value) <= 100 and value.isprintable() else clean(value, 100)
        return None

    def _backoff(self, failures: int) -> float:
        wait = min(FIRST_WAIT_S * 2.0 ** (failures - 1), LONGEST_WAIT_S)
        return wait * (1.0 - JITTER * self._chance())

    def _first_contact(self, failure: _Failure, failures: int) -> None:
        """Raises HostError when nobody has answered yet and the few tries for that are over."""
        if failures < min(self.limits.retries + 1, FIRST_TRIES):
            return
        if failure.kind == "connect":
            raise HostError(
                f"nothing answers at {self.url} ({self.tidy(failure.reason)}; {_tries(failures)}): "
                "start the server, or correct model.base_url"
            )
        self._too_often(failure, failures)

    def _too_often(self, failure: _Failure, failures: int) -> NoReturn:
        self._fail(f"{_tries(failures)} failed, the last because {failure.reason}", failure.advice)

    def _patient(self, failure: _Failure, failures: int, spent: float, wait: float) -> None:
        if spent + wait >= self.limits.patience_s:
            self._fail(
                f"{failure.reason}; after {_tries(failures)}, one more in {wait:.3g} s would go past "
                f"model.patience_s={self.limits.patience_s:g}",
                failure.advice,
            )

    def _stays_out(self, outage: Outage, advice: str = "") -> NoReturn:
        self._fail(
            f"no answer to any question for {outage.seconds:.3g} s, and the next try would go past "
            f"model.patience_s={self.limits.patience_s:g}: {_tries(outage.tries)} failed in a row, the last "
            f"because {outage.reason}",
            advice,
        )

    def _fail(self, reason: str, advice: str) -> NoReturn:
        tail = f". {advice}" if advice else ""
        raise HostError(f"{self.url}: {self.tidy(reason, 500)}{tail}")


def _tries(count: int) -> str:
    return f"{count} tries" if count != 1 else "1 try"


def _did_no_work(failure: _Failure) -> bool:
    """Whether the request never left, or was turned away before any work: not billed."""
    if failure.status is None:
        return failure.kind in ("connect", "certificate")
    return failure.status < 500 or failure.status == 529
