"""A pool of worker processes ends without a hang, a thread that goes on, or a traceback."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from beeline.engine import LocalEngine
from beeline.errors import WorkerError
from beeline.worker import TrialTask
from tests.plans import plan

PLAN = plan("countdown")


def quick(task: TrialTask) -> dict[str, Any]:
    return {"trial": task.trial}


def endless(task: TrialTask) -> dict[str, Any]:
    while True:
        time.sleep(60)


def large(task: TrialTask) -> dict[str, Any]:
    """Far more than a pipe takes at once: often killed while it is sent."""
    return {"text": "x" * 3_000_000}


def deadly(task: TrialTask) -> dict[str, Any]:
    os._exit(1)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None is left over, none ended with an exception."""
    failures: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda failed: failures.append(repr(failed.exc_value)))
    before = set(threading.enumerate())
    yield
    assert not failures
    assert not [thread for thread in threading.enumerate() if thread not in before]


async def cancelled(engine: LocalEngine, function: Callable[[TrialTask], Any], after_s: float) -> None:
    """Twenty tasks, most of them waiting, cancelled after a time."""
    tasks = [asyncio.create_task(engine.compute(function, TrialTask(PLAN, n), 1)) for n in range(1, 21)]
    await asyncio.sleep(after_s)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.usefixtures("threads")
def test_workers_at_work_are_killed_and_no_thread_outlives_them() -> None:
    engine = LocalEngine(2)
    asyncio.run(cancelled(engine, endless, 0.3))
    engine.close()


@pytest.mark.usefixtures("threads")
def test_killed_while_a_result_is_sent() -> None:
    """With waiting tasks cancelled: the pool would mark them as failed (before, 1 of 3 did so)."""
    moments = random.Random(1)
    for _ in range(15):
        engine = LocalEngine(2)
        asyncio.run(cancelled(engine, large, moments.uniform(0.05, 0.4)))
        engine.close()


@pytest.mark.usefixtures("threads")
def test_pools_that_broke_are_ended_too() -> None:
    engine = LocalEngine(1)
    with pytest.raises(WorkerError, match="died 3 times"):
        asyncio.run(engine.compute(deadly, TrialTask(PLAN, 1), 1))
    engine.close()


@pytest.mark.usefixtures("threads")
def test_idle_workers_end_and_a_closed_engine_can_go_on() -> None:
    engine = LocalEngine(1)
    for _ in range(2):
        done = asyncio.run(engine.compute(quick, TrialTask(PLAN, 7), 1))
        assert done.result == {"trial": 7}
        engine.ended = True
        engine.close()
        engine.close()
