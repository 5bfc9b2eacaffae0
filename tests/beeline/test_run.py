"""Jobs side by side, their conditions replaced by what a test needs."""

from __future__ import annotations

import asyncio
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from beeline import interrupts, run
from beeline.errors import HostError
from beeline.interrupts import end_in_order, interruptible, raise_if_interrupted
from beeline.study import Condition, Study

NAMES = ("first", "second", "third", "fourth")


class Four(Study):
    name = "four"
    asks_model = False

    def conditions(self) -> tuple[Condition, ...]:
        return tuple(Condition(name) for name in NAMES)


def job(name: str) -> run.Job:
    spec: Any = SimpleNamespace(
        study=Four(), model=None, placed=None, engine_key="", domain_name=name, results=None
    )
    return run.Job(spec)


@pytest.mark.parametrize("ticks", range(6))
def test_a_condition_that_ends_its_job_leaves_the_lane_free(
    monkeypatch: pytest.MonkeyPatch, ticks: int
) -> None:
    """Whenever the error comes: also in the step in which the next condition is about to begin."""

    async def condition(spec: Any, condition: Condition, *_: Any) -> str:
        begun = _[2]
        begun()
        if spec.domain_name == "bad" and condition.name == "first":
            for _tick in range(ticks):
                await asyncio.sleep(0)
            raise HostError("no more")
        await asyncio.sleep(0.01)
        return condition.name

    monkeypatch.setattr(run, "run_condition", condition)
    monkeypatch.setattr(run, "state_definition", lambda spec: None)
    monkeypatch.setattr(run, "asking_of", lambda spec, shared: None)
    monkeypatch.setattr(run, "cell_of", lambda spec, condition: None)
    monkeypatch.setattr(run, "_analysed", lambda spec, summaries: run.Ran(summaries))
    jobs = [job("bad"), job("good")]
    said: list[str] = []

    def fail(job: run.Job, error: Any) -> None:
        job.fate.error = error
        said.append(str(error))

    async def bounded() -> None:
        async with asyncio.timeout(20):
            await run._SideBySide(jobs, fail).run()

    for each in jobs:
        each.conditions = each.spec.study.conditions()
    asyncio.run(bounded())
    assert said == ["no more"]
    assert jobs[0].ran is None
    assert jobs[1].ran is not None
    assert jobs[1].ran.summaries == NAMES


def test_a_signal_that_finds_nobody_waiting_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        end_in_order()

        async def closing() -> None:
            with interruptible():
                os.kill(os.getpid(), signal.SIGTERM)  # and nothing is awaited after it

        try:
            asyncio.run(closing())
        except asyncio.CancelledError:
            pass
        else:
            with pytest.raises(KeyboardInterrupt):
                raise_if_interrupted()
        assert interrupts.interrupted_by() == signal.SIGTERM
        end_in_order()  # another run
        raise_if_interrupted()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
