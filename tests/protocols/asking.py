"""Helpers for tests that ask a model: questions, clients, scripted connections, a false clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from beeline.model import Model
from beeline.question import Answer, Question
from protocols.http import Http, HttpLimits
from protocols.systemone import SystemOne, SystemOneSettings
from protocols.transport import RawReply, TransportFault


def question(*options: str, **words: str) -> Question:
    texts = {"task": "Reach the goal.", "goal": "ABC", "context": "Letters swap.", "instructions": "Which?"}
    texts |= words
    return Question(options=options or ("BAC", "CAB", "ACB"), **texts)


def system_one(base_url: str, **settings: Any) -> SystemOne:
    """A client that does not wait between tries."""
    settings = {"id": "test-model", "timeout_s": 5.0, **settings}
    return SystemOne("test", SystemOneSettings(base_url=base_url, **settings), sleep=no_sleep)


async def no_sleep(seconds: float) -> None:
    """A wait that takes no time."""


def ask(model: Model, *questions: Question, together: bool = False) -> list[Answer]:
    """Open, ask each in turn (or all at once), close."""

    async def run() -> list[Answer]:
        await model.open()
        try:
            if together:
                return list(await asyncio.gather(*map(model.answer, questions)))
            return [await model.answer(q) for q in questions]
        finally:
            await model.close()

    return asyncio.run(run())


class Clock:
    """A clock that only moves when somebody sleeps or a scripted try takes time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


Step = RawReply | TransportFault | Callable[[], RawReply]


class Script:
    """A transport that plays its steps, one a try; the last one repeats."""

    def __init__(self, *steps: Step, clock: Clock | None = None, took: float = 0.0) -> None:
        self.steps = list(steps)
        self.clock, self.took = clock, took
        self.sent: list[bytes] = []

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def send(self, body: bytes) -> RawReply:
        self.sent.append(body)
        if self.clock is not None:
            self.clock.now += self.took
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, TransportFault):
            raise step
        return step if isinstance(step, RawReply) else step()


def reply(status: int = 200, body: bytes = b"{}", **headers: str) -> RawReply:
    return RawReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def http(script: Script, clock: Clock, chance: float = 0.0, **arguments: Any) -> Http:
    limits = arguments.pop("limits", HttpLimits())
    return Http(
        "http://host/v1/systemone",
        {},
        limits,
        transport=script,
        clock=clock,
        sleep=clock.sleep,
        chance=lambda: chance,
        now=lambda: 1_000_000.0,
        **arguments,
    )


def post(client: Http, bodies: Sequence[bytes] = (b"question",)) -> Any:
    async def run() -> Any:
        return [await client.post(body) for body in bodies][-1]

    return asyncio.run(run())
