"""Spending across processes, both halves in one: caps hold and nothing is counted twice or lost."""

from __future__ import annotations

import asyncio
import inspect
import random
from pathlib import Path

import pytest

from beeline.ledger import FILE, Ledger
from beeline.ray_messages import RemoteFailure
from beeline.ray_meter import Purse, RemoteMeter
from beeline.services import Caps, Estimate
from beeline.spend_report import Spent, read_spending


async def ask(meter: RemoteMeter, draws: random.Random, sent: list[int]) -> None:
    """One request from its reservation to its end."""
    expected = Estimate(draws.randrange(10, 100), 1, 0.001)
    asked = meter.begin(expected)
    ticket = await asked if inspect.isawaitable(asked) else asked
    sent.append(expected.input_tokens or 0)
    await asyncio.sleep(0)
    if draws.random() < 0.2:
        meter.reject(ticket)
    elif draws.random() < 0.2:
        meter.unknown(ticket)
    else:
        meter.settle(ticket, expected)


async def begun(meter: RemoteMeter, tokens: int) -> int:
    """A ticket for a request of so many tokens."""
    asked = meter.begin(Estimate(tokens, 1, 0.001))
    return await asked if inspect.isawaitable(asked) else asked


async def exchange(meter: RemoteMeter, purse: Purse, done: asyncio.Event) -> None:
    """What carries messages between host and driver."""
    leaves = []
    while not done.is_set():
        meter.grant(leaves)
        await asyncio.sleep(0)
        leaves = purse.apply(meter.take())
    purse.revoke(leaves)
    purse.apply(meter.take(last=True))


def spent(folder: Path) -> Spent:
    (found,) = read_spending(folder / FILE).models
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spares", [0, 1, 8])
@pytest.mark.parametrize("cap", [None, 90, 1])
def test_what_is_sent_is_counted_and_no_more(tmp_path: Path, seed: int, spares: int, cap: int | None) -> None:
    sent: list[int] = []
    refused = 0

    async def run(meter: RemoteMeter, purse: Purse) -> None:
        nonlocal refused
        done = asyncio.Event()
        carrier = asyncio.create_task(exchange(meter, purse, done))
        draws = random.Random(seed)

        async def trial() -> None:
            for _ in range(15):
                await ask(meter, draws, sent)

        ended = await asyncio.gather(*(trial() for _ in range(8)), return_exceptions=True)
        refused = sum(isinstance(end, RemoteFailure) for end in ended)
        assert all(end is None or isinstance(end, RemoteFailure) for end in ended), ended
        done.set()
        await carrier

    with Ledger(tmp_path / FILE, Caps(requests=cap)) as ledger:
        asyncio.run(run(RemoteMeter(spares), Purse(ledger.account("m"))))
        assert spent(tmp_path).flying == 0  # no spare is left behind
    total = 8 * 15 if cap is None else cap
    assert len(sent) == spent(tmp_path).requests == total
    assert (refused > 0) == (cap is not None)


def test_a_lost_host_leaves_its_requests_counted(tmp_path: Path) -> None:
    async def run(meter: RemoteMeter, purse: Purse) -> None:
        leave = meter.begin(Estimate(10, 1, 0.5))
        assert inspect.isawaitable(leave)
        waiting = asyncio.ensure_future(leave)
        await asyncio.sleep(0)
        meter.grant(purse.apply(meter.take()))
        await waiting
        purse.lost()

    with Ledger(tmp_path / FILE) as ledger:
        asyncio.run(run(RemoteMeter(), Purse(ledger.account("m"))))
    found = spent(tmp_path)
    assert (found.requests, found.unanswered, found.input_estimated, found.flying) == (1, 1, 10, 0)


def test_a_cancelled_reservation_is_no_request(tmp_path: Path) -> None:
    with Ledger(tmp_path / FILE) as ledger:
        account = ledger.account("m")
        account.cancel(account.begin(Estimate(10, 1, 0.5)))
        account.settle(account.begin(Estimate(10, 1, 0.5)), Estimate(9, 1, 0.25))
    found = spent(tmp_path)
    assert (found.requests, found.input_exact, found.usd_exact, found.flying_usd) == (1, 9, 25 * 10**10, 0)


def test_nobody_is_refused_for_a_spare_that_nobody_uses(tmp_path: Path) -> None:
    async def run(meter: RemoteMeter, purse: Purse) -> list[int]:
        first = asyncio.create_task(begun(meter, 100))
        await asyncio.sleep(0)
        leaves = purse.apply(meter.take())  # two spares are on their way, and the cap is reached
        second = asyncio.create_task(begun(meter, 100))
        await asyncio.sleep(0)
        meter.grant(leaves)
        third = asyncio.create_task(begun(meter, 1000))  # larger than a spare
        await asyncio.sleep(0)
        meter.grant(purse.apply(meter.take()))
        tickets = [await first, await second, await third]
        for ticket in tickets:
            meter.settle(ticket, Estimate(1, 1, 0.001))
        purse.apply(meter.take(last=True))
        return tickets

    with Ledger(tmp_path / FILE, Caps(requests=3)) as ledger:
        tickets = asyncio.run(run(RemoteMeter(2), Purse(ledger.account("m"))))
    assert len(set(tickets)) == 3
    assert (spent(tmp_path).requests, spent(tmp_path).flying) == (3, 0)


def test_who_gives_up_waiting_leaves_nothing_reserved(tmp_path: Path) -> None:
    async def run(meter: RemoteMeter, purse: Purse) -> None:
        first, second, third = (asyncio.ensure_future(begun(meter, 100)) for _ in range(3))
        await asyncio.sleep(0)
        first.cancel()  # nobody was asked yet
        await asyncio.sleep(0)
        leaves = purse.apply(meter.take())
        second.cancel()  # it was asked for
        fourth = asyncio.ensure_future(begun(meter, 100))
        await asyncio.sleep(0)
        meter.grant(leaves)
        fourth.cancel()  # it has a spare by now
        await asyncio.gather(first, second, fourth, return_exceptions=True)
        meter.settle(await third, Estimate(1, 1, 0.001))
        purse.apply(meter.take(last=True))

    with Ledger(tmp_path / FILE) as ledger:
        asyncio.run(run(RemoteMeter(2), Purse(ledger.account("m"))))
    assert (spent(tmp_path).requests, spent(tmp_path).flying) == (1, 0)
