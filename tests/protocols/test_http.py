"""The rules of retries and waits, on a scripted connection with a false clock."""

from __future__ import annotations

import asyncio

import pytest

from beeline.errors import HostError
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
        post(http(Script(reply(500), clock=clock, took=2.0), clock, limits=limits))
    assert clock.waits == [0.5]


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
