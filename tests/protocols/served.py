"""Functions that the tests serve, good and bad."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
import zlib
from typing import Any

import numpy as np

from protocols.serve import BadRequest

Body = dict[str, Any]
constant = 7
threads: set[str] = set()
sizes: list[int] = []
gate = threading.Event()


def weight(value: Any) -> int:
    return 1 + zlib.crc32(json.dumps(value, sort_keys=True).encode()) % 997


def decide(body: Body) -> Body:
    """Weighs by checksum.

    More of it.
    """
    answers: Body = {}
    for name, question in body["questions"].items():
        seed = [body["state"], question.get("instructions")]
        if question["type"] == "noul":
            answers[name] = weight(seed) / 1000
        else:
            answers[name] = [weight([seed, option]) for option in question["criteria"]]
    return answers


def batch(bodies: list[Body]) -> list[Any]:
    """Notes how it was called; state "poison" breaks the call, "refuse" only its own request."""
    threads.add(threading.current_thread().name)
    sizes.append(len(bodies))
    if any(b["state"] == "poison" for b in bodies):
        raise RuntimeError("poison in the batch")
    return [
        BadRequest("too long", error_type="max_tokens_exceeded") if b["state"] == "refuse" else decide(b)
        for b in bodies
    ]


def gated_batch(bodies: list[Body]) -> list[Any]:
    gate.wait(10)
    return batch(bodies)


async def coroutine(body: Body) -> Body:
    await asyncio.sleep(0.01)
    return decide(body)


class Caller:
    async def __call__(self, bodies: list[Body]) -> list[Body]:
        await asyncio.sleep(0)
        return [decide(body) for body in bodies]


caller = Caller()
hidden_coroutine = functools.partial(lambda body: coroutine(body))


def by_state(body: Body) -> Any:
    """What each state makes it do; the tests' catalogue of bad functions."""
    state = body["state"]
    name = next(iter(body["questions"]))
    if isinstance(state, dict):
        return {name: state["result"]}
    if state == "raise":
        raise ValueError("secret inside")
    if state == "exit":
        raise SystemExit(3)
    if state == "stop":
        raise StopIteration
    if state == "refuse":
        raise BadRequest("no such options", status=422)
    if state == "nan":
        return {name: [float("nan")] * len(body["questions"][name]["criteria"])}
    if state == "numpy":
        return {name: np.arange(len(body["questions"][name]["criteria"]), dtype=np.float32)}
    return {"None": None, "wrong id": {"other": [1]}, "list": [1, 2], "two": {name: [1, 1], "b": [1]}}[state]


def slow(body: Body) -> Body:
    time.sleep(1.0)
    return decide(body)


def too_few(bodies: list[Body]) -> list[Body]:
    return [decide(body) for body in bodies[1:]]


def no_list(bodies: list[Body]) -> Any:
    return decide(bodies[0])


def hang(body: Body) -> Body:
    threading.Event().wait()
    return {}
