"""The local engine: trials of one condition on this machine.

CPU-bound work (offline arms, models that compute) is spread over worker processes; a model that
waits for a network is asked by many trials at once in one event loop. Results are handed over as
trials end, in any order: nothing in them depends on the number of workers or on that order.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from beeline.archive import Archive
from beeline.errors import WorkerError
from beeline.model import Model
from beeline.model_arm import ModelArmResult, UsabilityGuard
from beeline.records import Cell
from beeline.trace import Trace
from beeline.worker import (
    DomainPlan,
    TrialTask,
    begin_model_arm,
    cached_offline,
    open_space,
    run_offline,
    run_with_model,
    start_worker,
    timed,
)

__all__ = ["Asking", "LocalEngine", "Progress", "TrialDone", "warm_up"]

_TRIES = 3
"""How often a trial may lose its worker process before the run stops."""


@dataclass(frozen=True, slots=True)
class TrialDone:
    """A finished trial: times in Unix seconds, result as of :mod:`beeline.worker`."""

    trial: int
    repeat: int
    started: float
    finished: float
    result: dict[str, Any]
    trace: Trace | None
    archive: list[str] | None = None
    """Lines of the archive, where replies are kept."""


@dataclass(slots=True)
class Progress:
    """What a display shows while a condition runs."""

    total: int = 0
    kept: int = 0
    done: int = 0
    in_flight: int = 0
    expansions: int = 0
    notice: str | None = None
    """Why the model waits, if it does."""
    started: float = field(default_factory=time.monotonic)


Store = Callable[[list[TrialDone]], None]


@dataclass(frozen=True, slots=True)
class Asking:
    """The model of a condition, and what is kept of it."""

    model: Model
    config: str
    """Canonical JSON of the model's config, for worker processes."""
    cell: Cell
    keep_traces: bool = True
    keep_replies: bool = False


def warm_up() -> None:
    """Start the server that worker processes are forked from, so that it imports while the
    caller goes on reading its settings."""
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["beeline.worker"])
    forkserver.ensure_running()


class LocalEngine:
    """Runs trials on this machine with ``workers`` processes (None: one a core)."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    async def run(
        self,
        plan: DomainPlan,
        owed: list[tuple[int, int]],
        asking: Asking | None,
        store: Store,
        progress: Progress,
    ) -> None:
        """Run the owed (trial, repeat) pairs; ``store`` gets batches and must make them last.
        Without ``asking`` the offline arms run alone.

        An error of one trial stops the run: trials in flight are dropped, what ended before is
        stored first. Raises what the trial or the store raised, WorkerError when a trial keeps
        losing its worker.
        """
        finished: asyncio.Queue[TrialDone | None] = asyncio.Queue()
        writer = asyncio.create_task(_write(finished, store, progress))
        trials = [(t, r) for t, r in owed]
        model = asking.model if asking is not None else None
        if model is not None and model.placement == "loop":
            width = model.concurrency
            # Before the model is opened: what fails here must leave nothing open.
            if len(trials) > width:
                trials = await self._longest_first(plan, trials)
            await model.open()
        else:
            width = 2 * self.workers
        guard = UsabilityGuard()
        waiting = iter(trials)

        async def serve() -> None:
            for trial, repeat in waiting:
                progress.in_flight += 1
                try:
                    if asking is None:
                        done = await self._compute(run_offline, TrialTask(plan, trial), repeat)
                    elif asking.model.placement == "worker":
                        task = TrialTask(plan, trial, asking.config, asking.keep_traces, asking.keep_replies)
                        done = await self._compute(run_with_model, task, repeat)
                    else:
                        done = await self._ask(plan, trial, repeat, asking, guard, progress)
                finally:
                    progress.in_flight -= 1
                finished.put_nowait(done)

        servers = [asyncio.create_task(serve()) for _ in range(min(width, len(trials)))]
        try:
            await _first_error([*servers], writer)
        finally:
            for server in servers:
                server.cancel()
            await asyncio.gather(*servers, return_exceptions=True)
            finished.put_nowait(None)
            try:
                await writer
            finally:
                if model is not None:
                    await model.close()

    async def _longest_first(self, plan: DomainPlan, trials: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The trials by falling expansions of the heuristic and random arms, a forecast of the
        model's: a long search that starts last would be waited for alone."""
        results = await asyncio.gather(
            *(self._compute(run_offline, TrialTask(plan, t), r) for t, r in trials)
        )
        forecast = {
            done.trial: sum(done.result["arms"][arm]["expansions"] for arm in ("heuristic", "random"))
            for done in results
        }
        return sorted(trials, key=lambda pair: (-forecast[pair[0]], pair))

    async def _compute(
        self, function: Callable[[TrialTask], dict[str, Any]], task: TrialTask, repeat: int
    ) -> TrialDone:
        """Run a task in a worker process, again when the process dies."""
        if function is run_offline:
            found = cached_offline(task.plan, task.trial)
            if found is not None:
                now = time.time()
                return TrialDone(task.trial, repeat, now, now, found, None)
        for _ in range(_TRIES):
            pool = self._workers()
            try:
                started, ended, result = await asyncio.wrap_future(pool.submit(timed, function, task))
            except BrokenProcessPool:
                if self._pool is pool:
                    self._pool = None
                continue
            lines = result.pop("trace", None)
            archive = result.pop("archive", None)
            trace = None
            if lines is not None:
                trace = Trace()
                trace.lines = lines
            return TrialDone(task.trial, repeat, started, ended, result, trace, archive)
        raise WorkerError(
            f"domain {task.plan.name}, trial {task.trial}: its worker process died {_TRIES} times "
            "(out of memory?); finished trials are kept, try engine.workers=1"
        )

    async def _ask(
        self,
        plan: DomainPlan,
        trial: int,
        repeat: int,
        asking: Asking,
        guard: UsabilityGuard,
        progress: Progress,
    ) -> TrialDone:
        """One trial with a model that is asked in this event loop."""
        offline = await self._compute(run_offline, TrialTask(plan, trial), repeat)
        result = offline.result
        space = await asyncio.to_thread(open_space, plan, trial, result["instance"])
        model = asking.model.for_trial(asking.cell, trial, repeat)
        archive = Archive() if asking.keep_replies else None
        started = time.time()
        steps = begin_model_arm(plan, space, trial, asking.model, guard, asking.keep_traces)
        try:
            question = next(steps)
            while True:
                answer = await model.answer(question)
                if archive is not None:
                    archive.add(question, answer)
                question = steps.send(answer)
                progress.expansions += 1
        except StopIteration as stop:
            done: ModelArmResult = stop.value
        arms = {**result["arms"], "model": done.as_dict(space.shortest_path, plan.limits)}
        return TrialDone(
            trial,
            repeat,
            started,
            time.time(),
            {**result, "arms": arms},
            done.trace,
            archive.lines if archive is not None else None,
        )

    def _workers(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(["beeline.worker"])
            self._pool = ProcessPoolExecutor(self.workers, context, start_worker)
        return self._pool

    def close(self) -> None:
        """End the worker processes, whatever they do."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        processes = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            with contextlib.suppress(OSError, ValueError):
                process.kill()


async def _first_error(servers: list[asyncio.Task[None]], writer: asyncio.Task[None]) -> None:
    """Wait for all servers; raise at once what a server or the writer raises."""
    pending: set[asyncio.Task[None]] = set(servers)
    while pending:
        done, _ = await asyncio.wait({*pending, writer}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        pending -= done


async def _write(finished: asyncio.Queue[TrialDone | None], store: Store, progress: Progress) -> None:
    """Store trials as they end; those that end while a write is going on share the next sync."""
    last = False
    while not last:
        batch = [await finished.get()]
        while not finished.empty():
            batch.append(finished.get_nowait())
        trials = [done for done in batch if done is not None]
        last = len(trials) < len(batch)
        if trials:
            await asyncio.shield(asyncio.to_thread(store, trials))
            progress.done += len(trials)
