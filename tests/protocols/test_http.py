"""The rules of retries and waits, on a scripted connection with a false clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from beeline.errors import HostError, SpendError
from beeline.services import Estimate
from protocols.http import Http, HttpLimits
from protocols.secrets import Secret
from protocols.transport import RawReply, TransportFault
from tests.protocols.asking import Clock, Script, http, post, reply

DOWN = TransportFault("connect", "connection refused")
BROKEN = TransportFault("broken", "the server closed the connection without an answer")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_an_answer_at_once(clock: Clock) -> None:
    script = Script(reply(200, b"yes"), clock=clock, took=0.25)
    got = post(http(script, clock))
    assert (got.body, got.seconds, got.retries) == (b"yes", 0.25, 0)
    assert script.sent == [b"question"]
    assert clock.waits == []


def test_seconds_are_those_of_the_answered_try(clock: Clock) -> None:
    script = Script(reply(500), BROKEN, reply(429, retry_after="7"), reply(200), clock=clock, took=0.25)
    got = post(http(script, clock))
    assert (got.seconds, got.retries) == (0.25, 3)
    assert clock.waits == [0.5, 1.0, 7.0]


def test_waits_double_up_to_a_bound(clock: Clock) -> None:
    with pytest.raises(HostError) as caught:
        post(http(Script(reply(503)), clock, limits=HttpLimits(patience_s=120)))
    assert clock.waits == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert str(caught.value) == (
        "http://host/v1/systemone: no answer to any question for 91.5 s, and the next try would go past "
        "model.patience_s=120: 9 tries failed in a row, the last because it answered "
        "503 Service Unavailable: {}"
    )


@pytest.mark.parametrize("retries", [0, 1])
def test_one_question_has_its_number_of_tries(clock: Clock, retries: int) -> None:
    script = Script(reply(500))
    with pytest.raises(HostError, match=f"{retries + 1} tr(y|ies) failed, the last because it answered 500"):
        post(http(script, clock, limits=HttpLimits(retries=retries)))
    assert len(script.sent) == retries + 1


def test_chance_takes_off_up_to_a_quarter(clock: Clock) -> None:
    post(http(Script(reply(500), reply(500), reply(200)), clock, chance=1.0))
    assert clock.waits == [0.375, 0.75]


def test_a_hint_is_taken_as_it_is(clock: Clock) -> None:
    script = Script(
        reply(429, retry_after_ms="20", retry_after="60"), reply(529, retry_after="0"), reply(200)
    )
    post(http(script, clock, chance=1.0))
    assert clock.waits == pytest.approx([0.02])


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 415, 422, 307])
def test_final_statuses_are_sent_once(clock: Clock, status: int) -> None:
    script = Script(reply(status, b'{"detail":"because"}'))
    with pytest.raises(
        HostError, match=rf"http://host/v1/systemone: it answered {status} .*because\. Do this"
    ):
        post(http(script, clock, advice={status: "Do this"}))
    assert len(script.sent) == 1
    assert clock.waits == []


def test_no_credit_is_final(clock: Clock) -> None:
    script = Script(reply(429, b'{"error":{"code":"insufficient_quota","message":"quota"}}', retry_after="1"))
    with pytest.raises(HostError, match=r"quota \(insufficient_quota\)"):
        post(http(script, clock))
    assert len(script.sent) == 1


def test_a_host_that_never_answered_gets_three_tries(clock: Clock) -> None:
    script = Script(DOWN)
    with pytest.raises(HostError) as caught:
        post(http(script, clock))
    assert str(caught.value) == (
        "nothing answers at http://host/v1/systemone (connection refused; 3 tries): "
        "start the server, or correct model.base_url"
    )
    assert clock.waits == [0.5, 1.0]


def test_a_host_that_answered_once_gets_all_tries(clock: Clock) -> None:
    script = Script(reply(200), *[DOWN] * 7, reply(200, b"back"))
    got = post(http(script, clock), [b"1", b"2"])
    assert (got.body, got.retries) == (b"back", 7)


def test_an_error_status_shows_that_somebody_is_there(clock: Clock) -> None:
    script = Script(reply(529), DOWN, DOWN, DOWN, reply(200, b"back"))
    assert post(http(script, clock)).retries == 4


def test_an_untrusted_certificate_is_final(clock: Clock) -> None:
    script = Script(TransportFault("certificate", "its certificate is not trusted"))
    with pytest.raises(HostError, match="certificate"):
        post(http(script, clock))
    assert len(script.sent) == 1


def test_patience_ends_before_the_wait_that_would_exceed_it(clock: Clock) -> None:
    script = Script(reply(429, retry_after="86400"))
    with pytest.raises(HostError, match=r"one more in 8\.64e\+04 s would go past model\.patience_s=300"):
        post(http(script, clock))
    assert clock.waits == []

    limits = HttpLimits(patience_s=4)
    with pytest.raises(HostError, match=r"after 2 tries, one more in 1 s would go past model\.patience_s=4"):
        post(http(Script(reply(500), clock=clock, took=1.4), clock, limits=limits))
    assert clock.waits == [0.5]


def test_patience_holds_for_the_first_contact_too(clock: Clock) -> None:
    script = Script(BROKEN, clock=clock, took=2.0)
    with pytest.raises(HostError, match=r"after 2 tries, one more in 1 s would go past model\.patience_s=4"):
        post(http(script, clock, limits=HttpLimits(patience_s=4)))


class _Silent:
    """Never answers."""

    def __init__(self) -> None:
        self.ended = 0

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def send(self, body: bytes) -> RawReply:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1
        raise AssertionError


def test_a_silent_host_ends_with_the_limit(clock: Clock) -> None:
    silent = _Silent()
    client = Http("http://host", {}, HttpLimits(timeout_s=0.01), transport=silent, sleep=clock.sleep)
    with pytest.raises(HostError, match=r"3 tries failed, the last because no answer within 0\.01 s"):
        post(client)
    assert silent.ended == 3


def test_the_number_in_flight_is_bounded(clock: Clock) -> None:
    now, most = 0, 0

    class Counting(Script):
        async def send(self, body: bytes) -> RawReply:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1
            return await super().send(body)

    client = http(Counting(reply()), clock, limits=HttpLimits(concurrency=3))

    async def run() -> None:
        await asyncio.gather(*(client.post(b"") for _ in range(20)))

    asyncio.run(run())
    assert most == 3


def test_a_key_never_shows(clock: Clock) -> None:
    key = "sk-planted-0123456789"
    # The key lies across the place where a long message is cut.
    body = b'{"error":{"message":"%s%s is wrong"}}' % (b"x " * 140, key.encode())
    for step in (
        reply(401, body),
        TransportFault("broken", f"bad {key}"),
        TransportFault("certificate", key),
    ):
        client = http(Script(step), clock, secrets=[Secret(key)])
        with pytest.raises(HostError) as caught:
            post(client)
        assert "sk-pl" not in str(caught.value)


def test_cancelling_is_not_a_failure(clock: Clock) -> None:
    silent = _Silent()

    async def run() -> None:
        client = Http("http://host", {}, HttpLimits(), transport=silent)
        task = asyncio.create_task(client.post(b""))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert silent.ended == 1


# --- what the meter is told -----------------------------------------------------------------


class Ledger:
    """A meter that writes down what it is told; tickets are 1, 2, 3..."""

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.told: list[tuple[Any, ...]] = []
        self.tickets = 0

    def begin(self, expected: Estimate) -> int:
        if self.tickets >= self.most:
            raise SpendError("the cap on requests is reached")
        self.tickets += 1
        self.told.append(("begin", self.tickets, expected))
        return self.tickets

    def settle(self, ticket: int, took: Estimate) -> None:
        self.told.append(("settle", ticket, took))

    def reject(self, ticket: int) -> None:
        self.told.append(("reject", ticket))

    def unknown(self, ticket: int) -> None:
        self.told.append(("unknown", ticket))


EXPECTED = Estimate(100, 1, 0.5)


def metered(clock: Clock, *steps: Any, meter: Ledger, **limits: Any) -> Http:
    return http(Script(*steps), clock, meter=meter, limits=HttpLimits(**limits))


def test_each_try_is_reserved_and_settled_once(clock: Clock) -> None:
    meter = Ledger()
    client = metered(clock, reply(503), reply(429), DOWN, reply(200), meter=meter)
    got = asyncio.run(client.post(b"", EXPECTED))
    assert got.ticket == 4
    client.settle(got, Estimate(90, 2, None))
    assert meter.told == [
        ("begin", 1, EXPECTED),
        ("unknown", 1),
        ("begin", 2, EXPECTED),
        ("reject", 2),
        ("begin", 3, EXPECTED),
        ("reject", 3),
        ("begin", 4, EXPECTED),
        ("settle", 4, Estimate(90, 2, None)),
    ]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (reply(400), "reject"),
        (reply(401), "reject"),
        (reply(307), "reject"),
        (reply(408), "reject"),
        (reply(429), "reject"),
        (reply(529), "reject"),
        (reply(500), "unknown"),
        (reply(504), "unknown"),
        (reply(524), "unknown"),
        (DOWN, "reject"),
        (TransportFault("certificate", "not trusted"), "reject"),
        (BROKEN, "unknown"),
    ],
)
def test_what_a_failed_try_may_have_cost(clock: Clock, step: Any, told: str) -> None:
    meter = Ledger()
    with pytest.raises(HostError):
        asyncio.run(metered(clock, step, meter=meter, retries=0).post(b"", EXPECTED))
    assert meter.told == [("begin", 1, EXPECTED), (told, 1)]


@pytest.mark.parametrize("cancel", [False, True])
def test_nobody_knows_what_was_cut_short(clock: Clock, cancel: bool) -> None:
    meter = Ledger()
    limits = HttpLimits(timeout_s=60 if cancel else 0.01, retries=0)

    async def run() -> None:
        client = Http("http://host", {}, limits, transport=_Silent(), meter=meter)
        task = asyncio.create_task(client.post(b"", EXPECTED))
        await asyncio.sleep(0)
        if cancel:
            task.cancel()
        with pytest.raises(asyncio.CancelledError if cancel else HostError):
            await task
        assert client._pacer.in_flight == 0

    asyncio.run(run())
    assert meter.told == [("begin", 1, EXPECTED), ("unknown", 1)]


def test_at_a_cap_nothing_is_sent(clock: Clock) -> None:
    script = Script(reply(503), reply(200))
    client = http(script, clock, meter=Ledger(most=1))
    with pytest.raises(SpendError, match="the cap on requests is reached"):
        post(client)
    assert len(script.sent) == 1


# --- refusals and what else a reply carries -------------------------------------------------


def test_a_refusal_that_comes_as_an_error_is_a_refused_question(clock: Clock) -> None:
    meter = Ledger()
    body = b'{"error":{"code":400,"message":"The model refused to answer this question."}}'
    got = asyncio.run(metered(clock, reply(503), reply(400, body), meter=meter).post(b"", EXPECTED))
    assert (got.refused, got.status, got.retries, got.ticket, got.body) == (True, 400, 1, 2, body)
    assert meter.told[-1] == ("begin", 2, EXPECTED)


def test_who_says_what_a_refusal_is_can_be_chosen(clock: Clock) -> None:
    client = http(Script(reply(418, b"no")), clock, refusal=lambda status, body: status == 418)
    assert post(client).refused
    client = http(Script(reply(400, b'{"error":{"code":"content_filter"}}')), clock, refusal=lambda *_: False)
    with pytest.raises(HostError, match="content_filter"):
        post(client)


@pytest.mark.parametrize("name", ["x-typesafe-request-id", "x-request-id", "cf-ai-req-id", "cf-ray"])
def test_the_name_of_a_request_is_kept(clock: Clock, name: str) -> None:
    got = post(http(Script(RawReply(200, {name: "8c1f-AMS"}, b"{}")), clock))
    assert (got.request_id, got.status) == ("8c1f-AMS", 200)
    assert post(http(Script(reply(200)), clock)).request_id is None


def test_the_name_of_a_request_is_cleaned(clock: Clock) -> None:
    key = "sk-planted-0123456789"
    for value, kept in ((f"a {key} b", "a *** b"), ("a\x1b\tb", "a b"), ("y" * 200, "y" * 99 + "…")):
        client = http(Script(RawReply(200, {"x-request-id": value}, b"")), clock, secrets=[Secret(key)])
        assert post(client).request_id == kept


def test_an_account_in_the_address_never_shows() -> None:
    account = "0123456789abcdef"
    client = Http(f"http://host/{account}/run", {}, HttpLimits(), secrets=[Secret(account)])
    assert client.url == "http://host/***/run"
    assert client._transport.url == f"http://host/{account}/run"  # type: ignore[attr-defined]
