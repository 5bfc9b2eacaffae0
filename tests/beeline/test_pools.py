"""Pools of worker processes start and end without a hang, a thread that goes on, or a traceback."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beeline.engine import Lane, LocalEngine, Progress, Run
from beeline.errors import WorkerError
from beeline.pools import uninterrupted
from beeline.worker import TrialTask
from tests.commands import environment
from tests.plans import plan

PLAN = plan("countdown")
RUN = Run(PLAN, None, Progress(), Lane(), 0)


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
    tasks = [asyncio.create_task(engine.compute(function, TrialTask(PLAN, n), 1, RUN)) for n in range(1, 21)]
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
        asyncio.run(engine.compute(deadly, TrialTask(PLAN, 1), 1, RUN))
    engine.close()


@pytest.mark.usefixtures("threads")
def test_idle_workers_end_and_a_closed_engine_can_go_on() -> None:
    engine = LocalEngine(1)
    for _ in range(2):
        done = asyncio.run(engine.compute(quick, TrialTask(PLAN, 7), 1, RUN))
        assert done.result == {"trial": 7}
        engine.ended = True
        engine.close()
        engine.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_end_of_the_block(number: int) -> None:
    before = signal.getsignal(number)
    heard: list[str] = []

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    def block() -> None:
        with uninterrupted():
            os.kill(os.getpid(), number)
            time.sleep(0.01)
            heard.append("went on")

    signal.signal(number, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            block()
        assert heard == ["went on"]
        assert signal.getsignal(number) is interrupt
        with uninterrupted():  # nothing came
            pass
    finally:
        signal.signal(number, before)


def test_another_thread_handles_no_signals() -> None:
    done: list[bool] = []

    def work() -> None:
        with uninterrupted():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


SLOW_START = """
import signal, sys, time
if __name__ == "__main__":
    from beeline.pools import start_server
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    start_server(["slow_to_import"])
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    signal.signal(signal.SIGINT, lambda *_: None)
    print("ready", flush=True)
    time.sleep(1.5)
"""


def test_ctrl_c_while_the_server_imports_says_nothing(tmp_path: Path) -> None:
    """In a terminal it reaches the server too, which by itself would end with a traceback."""
    (tmp_path / "start.py").write_text(SLOW_START)
    (tmp_path / "slow_to_import.py").write_text(
        "import pathlib, time\npathlib.Path('began').touch()\ntime.sleep(1)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "start.py"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    while not (tmp_path / "began").exists() and run.poll() is None:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert (run.returncode, said) == (0, "")
