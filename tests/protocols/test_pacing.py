"""Window, budgets, hints and outages in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from beeline.errors import HostError, SpendError
from beeline.services import Estimate
from protocols.http import Http, HttpLimits, Reply
from protocols.pacing import Budget, Outage, Pacer, Slot
from protocols.transport import RawReply, TransportFault
from tests.protocols.asking import reply
from tests.protocols.virtual import now, virtually

BROKEN = TransportFault("broken", "the server closed the connection without an answer")
HINT_5 = reply(429, b'{"error":{"message":"slow down"}}', retry_after="5")


class Host:
    """A host in virtual time: what a try brings depends on when it came and how many it met."""

    def __init__(
        self, behave: Callable[[float, int], RawReply | TransportFault], latency: float = 0.1
    ) -> None:
        self.behave, self.latency = behave, latency
        self.came: list[float] = []
        self.bodies: list[bytes] = []
        self.in_flight = self.most = 0

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def send(self, body: bytes) -> RawReply:
        self.came.append(now())
        self.bodies.append(body)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            met = self.in_flight
            at = now()
            await asyncio.sleep(self.latency)
            got = self.behave(at, met)
        finally:
            self.in_flight -= 1
        if isinstance(got, TransportFault):
            raise got
        return got


def client(host: Any, notices: list[str | None] | None = None, **limits: Any) -> Http:
    loop = asyncio.get_running_loop()
    return Http(
        "http://host:8000/v1/systemone",
        {},
        HttpLimits(**{"concurrency": 64, **limits}),
        transport=host,
        clock=loop.time,
        chance=lambda: 0.0,
        now=loop.time,
        notice=(lambda text: None) if notices is None else notices.append,
    )


async def ask_all(http: Http, count: int, trials: int = 64, tokens: int | None = None) -> list[Reply]:
    """``count`` questions by ``trials`` askers, each asking when its last is answered."""
    numbers = iter(range(count))
    replies = []

    async def trial() -> None:
        for number in numbers:
            got = await http.post(b"%d" % number, Estimate(tokens))
            http.settle(got, Estimate(tokens))
            replies.append(got)

    async with asyncio.TaskGroup() as group:
        for _ in range(trials):
            group.create_task(trial())
    return replies


def good(at: float, met: int) -> RawReply:
    return reply(200)


# --- window ---------------------------------------------------------------------------------


def test_the_window_doubles_each_round_trip_up_to_the_ceiling() -> None:
    host = Host(good)

    async def run() -> None:
        await ask_all(client(host, concurrency=50), 300)

    virtually(run())
    rounds = [sum(round(at, 1) == t / 10 for at in host.came) for t in range(6)]
    assert rounds == [8, 16, 32, 50, 50, 50]


def test_a_small_ceiling_is_the_window_at_once() -> None:
    host = Host(good)
    virtually(_asked(host, 20, concurrency=3))
    assert host.most == 3
    assert [sum(round(at, 1) == t / 10 for at in host.came) for t in range(3)] == [3, 3, 3]


async def _asked(
    host: Host, count: int, notices: list[str | None] | None = None, **limits: Any
) -> list[Reply]:
    return await ask_all(client(host, notices, **limits), count)


def test_the_window_is_halved_once_for_all_that_were_under_way() -> None:
    async def run() -> None:
        pacer = Pacer("host", 64, first_window=16)
        slots = [slot for _ in range(20) if (slot := pacer.enter_now(1))]
        assert len(slots) == 16
        for slot in slots[:4]:
            pacer.failed(slot, "429", crowded=True, hint=0.0, reject=True)
            pacer.answered(slots.pop())
        assert pacer.window == 8
        for slot in slots[4:12]:
            pacer.leave(slot)
        later = pacer.enter_now(1)
        assert later is not None
        pacer.failed(later, "529", crowded=True, hint=None, reject=True)
        assert pacer.window == 4
        for _ in range(9):
            last = pacer.enter_now(1)
            assert last is not None
            pacer.failed(last, "429", crowded=True, hint=0.0, reject=True)
            pacer.answered(Slot(0, 0))
            pacer.in_flight += 1
        assert pacer.window == 1

    asyncio.run(run())


def test_after_the_first_halving_the_window_grows_by_one_a_round_trip() -> None:
    turned_away = iter([reply(429, retry_after="0")])
    host = Host(lambda at, met: next(turned_away, reply(200)))
    virtually(_asked(host, 200))
    rounds = [sum(round(at, 1) == t / 10 for at in host.came) for t in range(11)]
    assert rounds[:2] == [8, 4]
    assert rounds[2:] == pytest.approx(range(5, 14), abs=1.5)


def test_a_window_that_is_not_used_does_not_grow() -> None:
    async def run() -> float:
        http = client(Host(good))
        await ask_all(http, 100, trials=2)
        return http._pacer.window

    assert virtually(run()) == 8


def test_it_settles_near_what_the_host_takes() -> None:
    """A host that turns away what comes above 20 at once is left in peace and well used."""
    host = Host(lambda at, met: reply(200) if met <= 20 else reply(429))
    replies = virtually(_asked(host, 3000))
    assert len(replies) == 3000
    turned_away = len(host.came) - 3000
    assert turned_away < 150
    assert max(host.came) < 3 * 3000 / 20 * host.latency


# --- budgets --------------------------------------------------------------------------------


def test_requests_a_minute_are_spread_evenly() -> None:
    host = Host(good)
    virtually(_asked(host, 400, requests_per_minute=120))
    for begin in range(0, 190, 10):
        within = sum(begin <= at < begin + 10 for at in host.came)
        assert within <= 20 + 12  # what flows in 10 s, and one full bucket
    assert max(host.came) == pytest.approx((400 - 12) / 2, abs=1)


def test_tokens_a_minute_hold_and_a_question_above_a_bucket_still_goes() -> None:
    host = Host(good)

    async def run() -> None:
        await ask_all(client(host, tokens_per_minute=6000), 40, tokens=1000)

    virtually(run())
    # 100 tokens a second, a bucket of 600, questions of 1,000: alone, every 10 s.
    assert host.came == pytest.approx([10.0 * i for i in range(40)], abs=0.01)


def test_the_budget_is_corrected_by_what_the_reply_says() -> None:
    host = Host(good)

    async def run() -> None:
        http = client(host, tokens_per_minute=6000)
        for _ in range(21):
            http.settle(await http.post(b"", Estimate(600)), Estimate(60, 40))

    virtually(run())
    # Charged 600 while under way, 100 in the end: one a second.
    assert max(host.came) == pytest.approx(20.0, abs=6)


def test_tokens_of_what_was_turned_away_come_back() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        pacer = Pacer("host", 8, tokens_per_minute=6000, clock=loop.time)
        slot = pacer.enter_now(600)
        assert slot is not None
        assert pacer.enter_now(600) is None
        pacer.failed(slot, "429", crowded=True, hint=None, reject=True)
        slot = pacer.enter_now(600)
        assert slot is not None
        pacer.failed(slot, "broken", crowded=False, hint=None, reject=False)
        assert pacer.enter_now(600) is None

    virtually(run())


def test_a_host_that_turns_questions_away_costs_no_tokens() -> None:
    refusals = iter([reply(429, retry_after="0")] * 2)
    host = Host(lambda at, met: next(refusals, reply(200)))

    async def run() -> None:
        await client(host, tokens_per_minute=6000).post(b"", Estimate(600))

    virtually(run())
    assert host.came == pytest.approx([0.0, 0.1, 0.2])


@given(
    st.floats(1, 1e6),
    st.lists(st.tuples(st.floats(0, 30), st.floats(0, 1e4)), min_size=1, max_size=40),
)
@examples(max_examples=100, deadline=None)
def test_a_budget_never_gives_more_than_flowed_in(
    per_minute: float, steps: list[tuple[float, float]]
) -> None:
    budget = Budget(per_minute, 0.0)
    at = taken = largest = 0.0
    for wait, amount in steps:
        at = max(at + wait, budget.ready(amount, at + wait))
        assert budget.ready(amount, at) <= at + 1e-6
        budget.take(amount, at)
        taken += amount
        largest = max(largest, amount)
        assert taken <= at * per_minute / 60 + max(per_minute / 10, 1) + largest + 1e-3


# --- order and cancellation -----------------------------------------------------------------


def test_first_come_first_served_and_a_retry_keeps_its_place() -> None:
    failing = {b"2"}

    class Once(Host):
        async def send(self, body: bytes) -> RawReply:
            await super().send(body)
            if body in failing:
                failing.discard(body)
                return reply(429, retry_after="1")
            return reply(200)

    host = Once(good)

    async def run() -> None:
        await ask_all(client(host, concurrency=2), 8, trials=8)

    virtually(run())
    assert sorted(host.bodies[:4]) == [b"0", b"1", b"2", b"3"]
    assert host.bodies[4] == b"2"
    assert host.bodies[5:] == [b"4", b"5", b"6", b"7"]


@pytest.mark.parametrize("limits", [{"concurrency": 2}, {"requests_per_minute": 60}])
def test_a_cancelled_wait_leaks_no_slot(limits: dict[str, Any]) -> None:
    host = Host(good)

    async def run() -> int:
        http = client(host, **limits)
        tasks = [asyncio.create_task(http.post(b"%d" % i)) for i in range(30)]
        for moment in range(1, 30):
            await asyncio.sleep(0.05)
            if moment % 3:
                tasks[moment].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await http.post(b"last")
        return http._pacer.in_flight

    assert virtually(run()) == 0
    assert host.bodies[-1] == b"last"


def test_cancelled_in_the_moment_of_being_admitted() -> None:
    async def run() -> None:
        pacer = Pacer("host", 1)
        first = pacer.enter_now(0)
        assert first is not None
        second = asyncio.create_task(pacer.enter(1, 0))
        third = asyncio.create_task(pacer.enter(2, 0))
        await asyncio.sleep(0)
        pacer.leave(first)  # admits the second, which does not run before
        second.cancel()
        slot = await third
        pacer.leave(slot)
        assert (pacer.in_flight, second.cancelled()) == (0, True)

    virtually(run())


def test_a_cap_gives_the_slot_back() -> None:
    class Spent:
        def begin(self, expected: Estimate) -> int:
            raise SpendError("the cap is reached")

    async def run() -> None:
        http = client(Host(good), concurrency=1)
        http._meter = Spent()  # type: ignore[assignment]
        for _ in range(3):
            with pytest.raises(SpendError):
                await http.post(b"")
        assert http._pacer.in_flight == 0

    virtually(run())


# --- hints and outages ----------------------------------------------------------------------


def test_a_hint_holds_the_whole_host() -> None:
    host = Host(lambda at, met: HINT_5 if 0.25 < at < 0.35 else reply(200))
    notices: list[str | None] = []
    replies = virtually(_asked(host, 500, notices, concurrency=16))
    assert len(replies) == 500
    turned_away = max(at for at in host.came if at < 0.35) + host.latency
    assert not [at for at in host.came if turned_away + 0.01 < at < turned_away + 4.9]
    assert notices[0] == (
        "host host:8000 asks to wait: it answered 429 Too Many Requests: slow down, next try in 5 s"
    )
    assert notices[-1] is None


def test_a_hint_holds_also_whoever_waits_for_the_slot() -> None:
    """With a window of one, the place that a 429 gives back was taken before the hold was known."""
    host = Host(lambda at, met: HINT_5 if 0.05 < at < 0.15 else reply(200))

    async def run() -> None:
        await ask_all(client(host, concurrency=1), 6, trials=3)

    virtually(run())
    assert [round(at, 1) for at in host.came] == [0.0, 0.1, 5.2, 5.3, 5.4, 5.5, 5.6]


def test_a_notice_ends_when_the_first_goes_on() -> None:
    async def run() -> None:
        notices: list[str | None] = []
        host = Host(lambda at, met: HINT_5 if at < 0.05 else reply(200))
        http = client(host, notices, concurrency=1)
        asking = asyncio.create_task(ask_all(http, 10))
        await asyncio.sleep(5.0)
        assert len(notices) == 1
        await asyncio.sleep(0.15)
        assert notices[1:] == [None]
        await asking
        assert len(notices) == 2

    virtually(run())


def test_an_outage_pauses_the_host_and_passes() -> None:
    host = Host(lambda at, met: BROKEN if 1.0 <= at < 100.0 else reply(200))
    notices: list[str | None] = []
    replies = virtually(_asked(host, 2000, notices, concurrency=32))
    assert len(replies) == 2000
    probes = [at for at in host.came if 1.5 < at < 100]
    # One at a time, with growing waits up to half a minute.
    assert len(probes) <= 8
    gaps = [b - a for a, b in pairwise(probes)]
    assert gaps == pytest.approx([4.1, 8.1, 16.1, 30.1, 30.1])
    assert notices[0] == (
        "host host:8000 paused: the server closed the connection without an answer, next try in 2 s"
    )
    assert notices[-1] is None
    # Nobody used up its tries, though 32 were under way; what failed is counted.
    assert sum(got.retries for got in replies) == len(host.came) - 2000


def test_a_long_outage_uses_up_nobodys_retries() -> None:
    host = Host(lambda at, met: reply(503) if 1.0 <= at < 250.0 else reply(200))
    assert len(virtually(_asked(host, 1000, retries=1))) == 1000


def test_an_outage_has_a_bound_and_everybody_hears_of_it() -> None:
    host = Host(lambda at, met: BROKEN if at >= 1.0 else reply(200))

    async def run() -> list[Any]:
        http = client(host, patience_s=60)
        await ask_all(http, 100)
        await asyncio.sleep(1)
        got = await asyncio.gather(*(http.post(b"") for _ in range(50)), return_exceptions=True)
        assert (http._pacer.in_flight, http._pacer.out) == (0, False)
        return got

    errors = virtually(run())
    assert {type(error) for error in errors} == {HostError}
    assert str(errors[0]).startswith("http://host:8000/v1/systemone: no answer to any question for ")
    assert "would go past model.patience_s=60: " in str(errors[0])
    assert "the last because the server closed the connection without an answer" in str(errors[0])
    assert 30 < max(host.came) < 62


def test_one_bad_question_cannot_keep_a_well_host_shut() -> None:
    class Poisoned(Host):
        async def send(self, body: bytes) -> RawReply:
            await super().send(body)
            return reply(500) if body == b"0" or 1.0 < self.came[-1] < 3.0 else reply(200)

    host = Poisoned(good)

    async def run() -> list[Any]:
        http = client(host, concurrency=4)
        await http.post(b"first")
        await asyncio.sleep(1)
        return await asyncio.gather(*(http.post(b"%d" % i) for i in range(40)), return_exceptions=True)

    got = virtually(run())
    assert isinstance(got[0], HostError)
    assert all(isinstance(one, Reply) for one in got[1:])


def test_failures_of_an_outage_are_not_held_against_a_question() -> None:
    class Unlucky(Host):
        """Out from 1 s to 20 s; question 0 fails until others are answered, and once more."""

        unlucky, well = True, False

        async def send(self, body: bytes) -> RawReply:
            await super().send(body)
            if 1.0 < self.came[-1] < 20.0:
                raise BROKEN
            if body != b"0":
                self.well = self.came[-1] > 20.0
            elif self.unlucky:
                self.unlucky = not self.well
                return reply(500)
            return reply(200)

    host = Unlucky(good)

    async def run() -> list[Reply]:
        http = client(host, retries=2)
        await http.post(b"first")
        await asyncio.sleep(1)
        return await asyncio.gather(*(http.post(b"%d" % i) for i in range(3)))

    assert virtually(run())[0].retries >= 3
    assert not host.unlucky


def test_an_old_probe_does_not_make_room_in_a_new_outage() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        pacer = Pacer("host", 8, clock=loop.time, chance=lambda: 0.0)

        def fail(slots: list[Slot]) -> None:
            for slot in slots:
                pacer.failed(slot, "broken", crowded=False, hint=None, reject=False)

        slots = [slot for _ in range(7) if (slot := pacer.enter_now(0))]
        fail(slots[:3])
        old = await pacer.enter(1, 0)
        pacer.succeeded(slots[3])
        fail(slots[4:])
        new = await pacer.enter(2, 0)
        third = asyncio.create_task(pacer.enter(3, 0))
        await asyncio.sleep(60)
        pacer.leave(old)
        await asyncio.sleep(60)
        assert not third.done()
        pacer.succeeded(new)
        pacer.leave(await third)
        assert pacer.in_flight == 0

    virtually(run())


def test_a_cancelled_probe_makes_room_for_the_next() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        pacer = Pacer("host", 8, clock=loop.time, chance=lambda: 0.0)
        for slot in [pacer.enter_now(0) for _ in range(3)]:
            assert slot is not None
            pacer.failed(slot, "broken", crowded=False, hint=None, reject=False)
        assert pacer.out
        assert pacer.enter_now(0) is None
        waiting = [asyncio.create_task(pacer.enter(i, 0)) for i in range(3)]
        await asyncio.sleep(2.1)
        assert [task.done() for task in waiting] == [True, False, False]
        pacer.leave(waiting[0].result())
        await asyncio.sleep(0)
        assert [task.done() for task in waiting] == [True, True, False]
        pacer.succeeded(waiting[1].result())
        await asyncio.sleep(0)
        assert not pacer.out
        pacer.leave(await waiting[2])
        assert pacer.in_flight == 0

    virtually(run())


def test_an_answer_under_way_ends_an_outage_at_once() -> None:
    async def run() -> None:
        pacer = Pacer("host", 8)
        slots = [pacer.enter_now(0) for _ in range(4)]
        for slot in slots[:3]:
            assert slot is not None
            pacer.failed(slot, "broken", crowded=False, hint=None, reject=False)
        assert pacer.out
        assert slots[3] is not None
        pacer.succeeded(slots[3])
        assert not pacer.out
        assert pacer.enter_now(0) is not None

    virtually(run())


def test_a_hint_beyond_patience_ends_an_outage_now() -> None:
    async def run() -> None:
        pacer = Pacer("host", 8, patience_s=60)
        slots = [slot for _ in range(3) if (slot := pacer.enter_now(0))]
        for slot in slots[:2]:
            pacer.failed(slot, "503", crowded=False, hint=3600.0, reject=False)
        with pytest.raises(Outage):
            pacer.failed(slots[2], "503", crowded=False, hint=3600.0, reject=False)
        assert (pacer.in_flight, pacer.out) == (0, False)

    virtually(run())


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_whose_hints_are_too_short_is_not_hammered(status: int) -> None:
    host = Host(lambda at, met: reply(status, retry_after="0") if 0.25 <= at < 60.0 else reply(200))
    assert len(virtually(_asked(host, 500))) == 500
    refused = [at for at in host.came if 0.25 <= at < 60.0]
    # Those under way when it began, a few that follow the hint, then probes after growing waits.
    assert len(refused) < 80
    probes = [max(at for at in refused if at < 1.0), *(at for at in refused if at > 1.0)]
    assert [round(b - a) for a, b in pairwise(probes)] == [4, 8, 16, 30]


def test_a_hint_is_followed_in_an_outage() -> None:
    host = Host(lambda at, met: reply(503, retry_after="45") if 0.25 <= at < 45.0 else reply(200))
    assert len(virtually(_asked(host, 500))) == 500
    assert not [at for at in host.came if 0.5 < at < 45.2]


def test_a_host_with_too_much_to_do_is_not_out() -> None:
    """429 and 529 count only when there are many in a row; the window deals with them."""

    async def run() -> None:
        pacer = Pacer("host", 64, first_window=20)
        slots = [slot for _ in range(12) if (slot := pacer.enter_now(0))]
        for number, slot in enumerate(slots[:8]):
            assert not pacer.out
            pacer.failed(slot, "busy", crowded=number not in (2, 5), hint=None, reject=True)
        assert pacer.out

    asyncio.run(run())


def test_a_long_overload_passes_too() -> None:
    host = Host(lambda at, met: reply(529) if 1.0 <= at < 200.0 else reply(200))
    assert len(virtually(_asked(host, 1000))) == 1000


def test_a_hint_beyond_patience_ends_a_running_outage_too() -> None:
    async def run() -> None:
        pacer = Pacer("host", 8, patience_s=60)
        slots = [slot for _ in range(4) if (slot := pacer.enter_now(0))]
        waiting = asyncio.create_task(pacer.enter(9, 0))
        for slot in slots[:3]:
            pacer.failed(slot, "broken", crowded=False, hint=None, reject=False)
        assert pacer.out
        await asyncio.sleep(0)
        with pytest.raises(Outage):
            pacer.failed(slots[3], "busy", crowded=True, hint=3600.0, reject=True)
        with pytest.raises(Outage, match="busy"):
            await waiting

    virtually(run())


# --- a storm --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_storm_changes_no_answer(seed: int) -> None:
    draws = random.Random(seed)

    def storm(at: float, met: int) -> RawReply | TransportFault:
        draw = draws.random()
        if draw < 0.05:
            return BROKEN
        if draw < 0.15:
            return reply(429, retry_after_ms="50")
        if draw < 0.17:
            return reply(529)
        if draw < 0.19:
            return reply(504, b"<html><title>Gateway</title></html>", content_type="text/html")
        return reply(200)

    host = Host(storm)
    replies = virtually(_asked(host, 1000))
    assert len(replies) == 1000
    assert sum(got.retries for got in replies) == len(host.came) - 1000
    assert max(host.came) < 1000
