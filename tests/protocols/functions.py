"""Functions that the tests name in a config as models, good and bad."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import numpy as np

from beeline.question import Answer, Question

constant = 7


def first(question: Question) -> list[float]:
    return [1.0, *[0.0] * (len(question.options) - 1)]


def mapping(question: Question) -> dict[str, float]:
    return {question.options[-1]: 1.0}


def array(question: Question) -> Any:
    return np.linspace(0, 1, len(question.options), dtype=np.float32)


def numpy_numbers(question: Question) -> Any:
    return {option: np.float32(0.5) for option in question.options}


def full(question: Question) -> Answer:
    return Answer({question.options[0]: 1}, input_tokens=3, cost_usd=0.5)


def nan(question: Question) -> list[float]:
    return [float("nan")] * len(question.options)


def too_few(question: Question) -> list[float]:
    return [1.0]


def odd_values(question: Question) -> list[Any]:
    return ["0.9", None, True][: len(question.options)]


def raises(question: Question) -> list[float]:
    raise ValueError("no idea\nat all")


def raises_time_out(question: Question) -> list[float]:
    raise TimeoutError("mine")


def none(question: Question) -> None:
    return None


def text(question: Question) -> str:
    return question.options[0]


def number(question: Question) -> Any:
    return np.float64(0.5)


def endless(question: Question) -> list[float]:
    while True:
        pass


def stubborn(question: Question) -> list[float]:
    """Swallows whatever ends it, for half a second."""
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        with contextlib.suppress(BaseException):
            time.sleep(0.05)
    return first(question)


def sleeper(question: Question) -> list[float]:
    time.sleep(60)
    return []


async def waits(question: Question) -> list[float]:
    await asyncio.sleep(0.01)
    return first(question)


async def waits_for_ever(question: Question) -> list[float]:
    await asyncio.Event().wait()
    return []


async def waits_and_raises(question: Question) -> list[float]:
    await asyncio.sleep(0)
    raise TimeoutError("mine")


def forgot_await(question: Question) -> Any:
    return waits(question)


class Caller:
    async def __call__(self, question: Question) -> list[float]:
        return first(question)


caller = Caller()
