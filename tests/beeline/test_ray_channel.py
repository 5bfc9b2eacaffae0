"""Questions through a socket: each gets its own answer, and nobody waits for a process that is gone."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest

from beeline import ray_channel
from beeline.question import Answer, Question
from beeline.ray_channel import Bug, Channel, ChannelLost, Door
from beeline.ray_messages import Failure
from tests.shared import ROOT

pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="no such sockets here")

FAILURE = Failure("ModelError", "no", "node")


def question(name: str, options: int = 3) -> Question:
    return Question("task", name, "context", "which?", tuple(f"{name} {i}" for i in range(options)))


async def echo(asked: Question, run: int | None = None) -> Answer | Failure:
    """The first questions are answered last."""
    number = int(asked.goal)
    await asyncio.sleep(0.02 / (1 + number))
    if number == 3:
        return FAILURE
    if number == 4:
        raise ZeroDivisionError("the bug itself")
    return Answer({option: float(number) for option in asked.options}, input_tokens=number)


async def opened(
    answer: Callable[[Question, int | None], Awaitable[Answer | Failure]],
) -> tuple[Door, Channel]:
    door = Door(answer)
    await door.open()
    assert door.name is not None
    channel = await Channel.to(door.name)
    assert channel is not None
    while not door.peers:  # it is let in a little later
        await asyncio.sleep(0)
    return door, channel


async def shut(door: Door, *channels: Channel) -> None:
    """Who asks hears that the door is closed."""
    door.close()
    for channel in channels:
        while channel._transport is not None:
            await asyncio.sleep(0)
    while door.peers:
        await asyncio.sleep(0)


def test_each_question_gets_its_own_answer() -> None:
    async def run() -> None:
        door, first = await opened(echo)
        assert door.name is not None
        second = await Channel.to(door.name)
        assert second is not None
        # The last ones are longer than what a socket takes at once.
        asked = [question(str(i), 3 if i < 18 else 50_000) for i in range(20)]
        asks = [(first if i % 3 else second).ask(each) for i, each in enumerate(asked)]
        found = await asyncio.gather(*asks, return_exceptions=True)
        for number, (each, answer) in enumerate(zip(asked, found, strict=True)):
            if number == 3:
                assert answer == FAILURE
            elif number == 4:
                assert isinstance(answer, Bug)
                assert "ZeroDivisionError: the bug itself" in str(answer)
            else:
                assert answer == Answer(dict.fromkeys(each.options, float(number)), input_tokens=number)
        await shut(door, first, second)
        with pytest.raises(ChannelLost):
            await first.ask(question("1"))

    asyncio.run(run())


ENDLESS = """
import asyncio
from beeline.ray_channel import Door

async def never(question, run):
    print("asked", flush=True)
    await asyncio.Event().wait()

async def main():
    door = Door(never)
    await door.open()
    print(door.name, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_who_waits_for_a_process_that_is_killed_is_told() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()

        async def run() -> None:
            channel = await Channel.to(name)
            assert channel is not None
            waiting = asyncio.create_task(channel.ask(question("1")))
            await asyncio.to_thread(process.stdout.readline)
            process.kill()
            with pytest.raises(ChannelLost):
                await waiting
            with pytest.raises(ChannelLost):
                await channel.ask(question("2"))

        try:
            asyncio.run(asyncio.wait_for(run(), 60))
        finally:
            process.kill()


def test_an_answer_for_somebody_who_is_gone_is_made_all_the_same() -> None:
    async def run() -> None:
        asked, go, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def slow(_: Question, run: int | None) -> Answer:
            asked.set()
            await go.wait()
            answered.set()
            return Answer()

        door, channel = await opened(slow)
        waiting = asyncio.create_task(channel.ask(question("1")))
        await asked.wait()
        channel.close()
        with pytest.raises(ChannelLost):
            await waiting
        go.set()
        await asyncio.wait_for(answered.wait(), 10)
        await shut(door, channel)

    asyncio.run(run())


def test_an_answer_that_cannot_travel() -> None:
    async def odd(_: Question, run: int | None) -> Answer:
        return Answer(probabilities=(weight for weight in ()))  # type: ignore[arg-type]

    async def run() -> None:
        door, channel = await opened(odd)
        with pytest.raises(Bug, match="cannot pickle"):
            await asyncio.wait_for(channel.ask(question("1")), 10)
        await shut(door, channel)

    asyncio.run(run())


def test_no_door() -> None:
    async def run() -> None:
        assert await Channel.to("beeline-that-nobody-opened") is None
        door, channel = await opened(echo)
        await shut(door, channel)
        assert door.name is not None
        assert await Channel.to(door.name) is None

    asyncio.run(run())


def test_another_user_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by who asks nor by who answers: nothing that comes is read."""

    async def run() -> None:
        door, channel = await opened(echo)
        assert door.name is not None
        mine = os.getuid()
        monkeypatch.setattr(ray_channel, "_user_of", lambda peer: mine + 1)
        assert await Channel.to(door.name) is None
        # Now the door alone takes the other for a stranger.
        monkeypatch.setattr(ray_channel, "_user_of", lambda peer: mine + bool(peer.getsockname()))
        stranger = await Channel.to(door.name)
        assert stranger is not None
        with pytest.raises(ChannelLost):
            await stranger.ask(question("1"))
        assert isinstance(await channel.ask(question("0")), Answer)
        await shut(door, channel, stranger)

    asyncio.run(run())


def test_a_machine_without_such_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    door = Door(echo)
    asyncio.run(door.open())
    assert door.name is None
