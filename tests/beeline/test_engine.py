"""Lanes: conditions that ask one model at once share it, its places and its fate."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from beeline.engine import Asking, LocalEngine, Progress, TrialDone
from beeline.errors import HostError
from beeline.model import Model
from beeline.question import Answer, Question
from beeline.records import Cell
from tests.plans import plan

CELL = Cell("1.0.0", "counting", "score", "countdown", "benchmark")
SHORT = replace(plan("countdown"), limits=replace(plan("countdown").limits, max_expansions=20))


class Counting(Model):
    """Notes when it is opened and closed, and how many ask it at once."""

    name = model_id = "counting"
    placement = "loop"
    concurrency = 4

    def __init__(self) -> None:
        self.events: list[str] = []
        self.under_way = self.most = self.asked = 0
        self.fails_at: int | None = None

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any], plugins: tuple[str, ...] = ()) -> Counting:
        return cls()

    def describe(self) -> dict[str, Any]:
        return {}

    async def open(self) -> None:
        self.events.append("open")

    async def close(self) -> None:
        self.events.append("close")

    async def answer(self, question: Question) -> Answer:
        self.asked += 1
        if self.asked == self.fails_at:
            raise HostError("no more")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.001)
        self.under_way -= 1
        return Answer([1.0 + len(option) / 1000 for option in question.options])


@asynccontextmanager
async def local() -> AsyncIterator[LocalEngine]:
    engine = LocalEngine(1)
    try:
        yield engine
    finally:
        engine.close()


async def run(
    engine: LocalEngine, model: Counting, trials: range, into: list[TrialDone], config: str = "{}"
) -> asyncio.Event:
    """Run trials; the event that the last one has begun."""
    begun = asyncio.Event()
    asking = Asking(model, config, CELL)
    await engine.run(SHORT, [(t, 1) for t in trials], asking, into.extend, Progress(), begun.set)
    return begun


def test_conditions_side_by_side_share_the_model_and_its_places() -> None:
    async def both() -> tuple[Counting, Counting, list[TrialDone], list[TrialDone]]:
        first, second = Counting(), Counting()
        one: list[TrialDone] = []
        two: list[TrialDone] = []
        async with local() as engine:
            await asyncio.gather(run(engine, first, range(1, 7), one), run(engine, second, range(7, 13), two))
        return first, second, one, two

    first, second, one, two = asyncio.run(both())
    assert first.events == ["open", "close"]
    assert second.events == []  # the same model: the first's is asked
    assert second.asked == 0
    assert first.most == 4
    assert sorted(done.trial for done in one) == [*range(1, 7)]
    assert sorted(done.trial for done in two) == [*range(7, 13)]


def test_other_settings_are_another_lane() -> None:
    async def both() -> tuple[Counting, Counting]:
        first, second = Counting(), Counting()
        async with local() as engine:
            await asyncio.gather(
                run(engine, first, range(1, 4), []), run(engine, second, range(1, 4), [], '{"a": 1}')
            )
        return first, second

    for model in asyncio.run(both()):
        assert model.events == ["open", "close"]
        assert model.asked > 0


def test_a_lane_that_is_kept_stays_open_between_conditions() -> None:
    async def in_turn() -> Counting:
        model = Counting()
        async with local() as engine:
            async with engine.kept(Asking(model, "{}", CELL)):
                assert model.events == []  # not before somebody asks
                for trial in (1, 2):
                    begun = await run(engine, model, range(trial, trial + 1), [])
                    assert begun.is_set()
                assert model.events == ["open"]
            assert model.events == ["open", "close"]
        return model

    asyncio.run(in_turn())


def test_after_an_error_the_next_condition_gets_a_model_opened_anew() -> None:
    async def in_turn() -> list[TrialDone]:
        first, second = Counting(), Counting()
        first.fails_at = 5
        done: list[TrialDone] = []
        async with local() as engine, engine.kept(Asking(first, "{}", CELL)):
            with pytest.raises(HostError, match="no more"):
                await run(engine, first, range(1, 7), done)
            await run(engine, second, range(1, 7), done)
            assert first.events == ["open", "close"]
            assert second.events == ["open"]
        assert second.events == ["open", "close"]
        return done

    assert {done.trial for done in asyncio.run(in_turn())} == {*range(1, 7)}


def test_one_conditions_error_leaves_the_others_alone() -> None:
    class Choosy(Counting):
        async def answer(self, question: Question) -> Answer:
            if self.asked == 10:  # whoever asks then
                self.asked += 1
                raise HostError("not you")
            return await super().answer(question)

    async def both() -> tuple[list[Any], Counting]:
        model = Choosy()
        ends = []
        async with local() as engine:
            ends = await asyncio.gather(
                run(engine, model, range(1, 5), []),
                run(engine, model, range(5, 9), []),
                return_exceptions=True,
            )
        return ends, model

    ends, model = asyncio.run(both())
    assert [isinstance(end, HostError) for end in ends].count(True) == 1
    assert model.events == ["open", "close"]


def test_an_interrupt_while_trials_are_written_loses_none() -> None:
    async def interrupted() -> list[int]:
        stored: list[int] = []
        writing = threading.Event()

        def store(batch: list[TrialDone]) -> None:
            writing.set()
            time.sleep(0.5)  # a slow disk, while the others end
            stored.extend(done.trial for done in batch)

        model = Counting()
        model.concurrency = 8
        async with local() as engine:
            asking = Asking(model, "{}", CELL)
            owed = [(trial, 1) for trial in range(1, 9)]
            going = asyncio.create_task(engine.run(SHORT, owed, asking, store, Progress()))
            while not writing.is_set():
                await asyncio.sleep(0.005)
            while model.under_way:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.1)
            for _ in range(3):
                going.cancel()
                await asyncio.sleep(0.01)
            with pytest.raises(asyncio.CancelledError):
                await going
        return stored

    assert sorted(asyncio.run(interrupted())) == [*range(1, 9)]
