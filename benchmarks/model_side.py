"""What asking a model costs, without the search around it. Prints JSON.

    python -m benchmarks.model_side [--decisions 3000] [--in-flight 32]

A server with no latency (``protocols.fake``) runs in a process of its own; its CPU is not counted.
``client`` is beeline's own path from Question to Answer, ``httpx`` the same path over httpx, which
the shared transport replaces, ``aiohttp_only`` sends the ready body and reads the reply's bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from beeline.model import Model, make_model
from beeline.question import Question
from protocols.systemone import SystemOne, SystemOneSettings
from protocols.transport import AiohttpTransport, RawReply

GOALS = {"decisions_per_s": 1200, "cpu_ms": 0.5}
SIZES = (2, 50, 255)


class HttpxTransport:
    """The baseline: the same contract as protocols.transport, over httpx."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self) -> None:
        """Make the client."""
        self.client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60)

    async def close(self) -> None:
        """Close it."""
        await self.client.aclose()

    async def send(self, body: bytes) -> RawReply:
        """Post once."""
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        reply = await self.client.post(self.url, content=body, headers=headers)
        return RawReply(reply.status_code, reply.headers, reply.content)


def questions(size: int, count: int) -> list[Question]:
    """A frontier of 8-puzzle texts that loses one state and gains one at each step, shuffled."""
    draws = random.Random(size)
    cells = [*"12345678·"]

    def text() -> str:
        board = draws.sample(cells, 9)
        return " | ".join(" ".join(board[i : i + 3]) for i in (0, 3, 6))

    frontier = list(dict.fromkeys(text() for _ in range(2 * size + 20)))[:size]
    made = []
    for _ in range(count):
        frontier.pop(draws.randrange(size))
        while len(frontier) < size:
            new = text()
            if new not in frontier:
                frontier.append(new)
        shown = draws.sample(frontier, size)
        made.append(
            Question("Slide the tiles. " * 5, "1 2 3 | 4 5 6 | 7 8 ·", "Rules. " * 60, "Which?", tuple(shown))
        )
    return made


async def in_flight(
    ask: Callable[[Question], Awaitable[Any]], asked: list[Question], number: int
) -> dict[str, float]:
    """Ask all questions, ``number`` at a time; rates of the client process."""
    waiting = iter(asked)

    async def trial() -> None:
        for question in waiting:
            await ask(question)

    await ask(asked[0])
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(trial() for _ in range(number)))
    return rates(len(asked), time.perf_counter() - wall, time.process_time() - cpu)


def rates(count: int, wall: float, cpu: float) -> dict[str, float]:
    """Per-decision figures."""
    return {"decisions_per_s": round(count / wall, 1), "cpu_ms": round(1000 * cpu / count, 4)}


@contextmanager
def server() -> Iterator[str]:
    """The fake server in its own process; yields its base address."""
    command = [sys.executable, "-m", "protocols.fake", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[3]
        finally:
            process.terminate()


async def over_http(base_url: str, count: int, number: int) -> dict[str, Any]:
    """Client, httpx baseline and bare transport, for each size."""
    found: dict[str, Any] = {}
    settings = SystemOneSettings(base_url=base_url, id="fake", concurrency=number)
    for size in SIZES:
        asked = questions(size, count)
        models = {
            "client": SystemOne("bench", settings),
            "httpx": SystemOne("bench", settings, transport=HttpxTransport(base_url + "/systemone")),
        }
        row: dict[str, Any] = {}
        for name, model in models.items():
            await model.open()
            row[name] = await in_flight(
                model.answer, asked if name == "client" else asked[: count // 4], number
            )
            await model.close()
        bare = AiohttpTransport(base_url + "/systemone", {"Content-Type": "application/json"}, 1 << 23)
        body = models["client"].request_body(asked[0])
        await bare.open()
        row["aiohttp_only"] = await in_flight(lambda _, b=bare, d=body: b.send(d), asked, number)
        await bare.close()
        row["httpx_to_client_cpu_ratio"] = round(row["httpx"]["cpu_ms"] / row["client"]["cpu_ms"], 2)
        found[str(size)] = row
    return found


def decide(question: Question) -> list[float]:
    """A Python model that costs nothing."""
    return [1.0] * len(question.options)


def in_process(count: int) -> dict[str, Any]:
    """Models that answer in this process."""
    configs: dict[str, dict[str, Any]] = {
        "sparrow": {
            "target": "protocols.sparrow:Sparrow",
            "weights": "sparrow-nano-general-v1.1",
            "id": "sparrow-nano-general-v1.1",
        },
        "python": {"target": "protocols.python:PythonModel", "function": "benchmarks.model_side:decide"},
        "first_option": {"target": "protocols.first_option:FirstOption"},
    }
    found: dict[str, Any] = {}
    for name, config in configs.items():
        model: Model = make_model({"name": name, **config}, ["benchmarks"])
        found[name] = {}
        for size in SIZES:
            asked = questions(size, max(count // (50 if name == "sparrow" else 1), 20))
            model.answer_now(asked[0])
            wall, cpu = time.perf_counter(), time.process_time()
            for question in asked:
                model.answer_now(question)
            found[name][str(size)] = rates(len(asked), time.perf_counter() - wall, time.process_time() - cpu)
    return found


def main() -> None:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--decisions", type=int, default=3000)
    parser.add_argument("--in-flight", type=int, default=32)
    options = parser.parse_args()
    with server() as base_url:
        http = asyncio.run(over_http(base_url, options.decisions, options.in_flight))
    client = http["255"]["client"]
    result = {
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "decisions": options.decisions,
        "in_flight": options.in_flight,
        "http": http,
        "in_process": in_process(options.decisions),
        "goals": GOALS,
        "ratios_to_goal_255": {
            "decisions_per_s": round(client["decisions_per_s"] / GOALS["decisions_per_s"], 2),
            "cpu_ms": round(client["cpu_ms"] / GOALS["cpu_ms"], 2),
        },
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
