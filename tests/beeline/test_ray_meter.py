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


def test_a_request_at_the_cap_takes_the_spare_that_holds_what_is_left(tmp_path: Path) -> None:
    """The spare was granted while the request asked: together they are one too many, alone it may go."""

    async def run(meter: RemoteMeter, purse: Purse) -> None:
        size = Estimate(10, 1, 0.5)
        first = asyncio.ensure_future(meter.begin(size))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        leaves = purse.apply(meter.take())  # the first request and one spare: the cap is reached
        second = asyncio.ensure_future(meter.begin(size))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        meter.grant(leaves)
        refusal = purse.apply(meter.take())
        assert [number for number, failure in refusal if failure is not None]
        meter.grant(refusal)
        for ticket in (await first, await second):
            meter.settle(ticket, size)
        third = meter.begin(size)
        assert inspect.isawaitable(third)
        waiting = asyncio.ensure_future(third)
        await asyncio.sleep(0)
        meter.grant(purse.apply(meter.take()))
        with pytest.raises(RemoteFailure):
            await waiting

    with Ledger(tmp_path / FILE, Caps(requests=2)) as ledger:
        asyncio.run(run(RemoteMeter(1), Purse(ledger.account("m"))))
    assert (spent(tmp_path).requests, spent(tmp_path).flying) == (2, 0)
