"""Engines: who runs the trials of a condition, and where.

:class:`Engine` is what all engines share: which trials are under way, what is stored when, and how
an error ends it all. :class:`LocalEngine` runs on this machine: CPU-bound work (offline arms,
models that compute) is spread over worker processes; a model that waits for a network is asked by
many trials at once in one event loop. Results are handed over as trials end, in any order: nothing
in them depends on the engine, the number of workers or that order.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from beeline.errors import WorkerError
from beeline.model import Model
from beeline.model_arm import UsabilityGuard
from beeline.placement import PlacedAs
from beeline.pools import end_pool, start_server, uninterrupted
from beeline.records import Cell
from beeline.services import Services
from beeline.settings import read_settings, setting
from beeline.trace import Trace
from beeline.worker import (
    DomainPlan,
    TrialTask,
    ask_in_loop,
    cached_offline,
    run_offline,
    run_with_model,
    start_worker,
    timed,
)

__all__ = [
    "TRIES",
    "Asking",
    "Engine",
    "Lane",
    "LocalEngine",
    "Progress",
    "Run",
    "Store",
    "Task",
    "TrialDone",
    "cached",
    "trial_done",
    "warm_up",
]

TRIES = 3
"""How often a trial may lose its worker process before the run stops."""

_RUNS = itertools.count(1)


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
Task = Callable[[TrialTask], dict[str, Any]]
"""run_offline or run_with_model."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The model of a condition, and what is kept of it."""

    model: Model
    config: str
    """Canonical JSON of the model's config, for worker processes."""
    cell: Cell
    keep_traces: bool = True
    keep_replies: bool = False
    services: Services = Services()  # noqa: RUF009 - frozen
    """What the run lends the model, for an engine that asks it in another process."""
    plugins: tuple[str, ...] = ()
    """Packages that its config may import from."""
    placed: PlacedAs | None = None
    """Where it is to be, for an engine that can place it."""
    account: str = ""
    """Which ledger its requests are entered in, and under which caps."""

    @property
    def in_loop(self) -> bool:
        """Searches wait for the model; otherwise it computes in the process of its search."""
        return self.model.placement == "loop" or self.placed is not None

    @property
    def lane(self) -> Hashable:
        """Equal for conditions that may be asked by the same object at once."""
        placed = None if self.placed is None else (*self.placed.wanted().items(), self.placed.replicas)
        return self.config, placed, self.plugins, self.keep_replies, self.account

    def task(self, plan: DomainPlan, trial: int) -> TrialTask:
        """A trial of it as plain data."""
        return TrialTask(plan, trial, self.config, self.keep_traces, self.keep_replies)


def warm_up() -> None:
    """Start the server that worker processes are forked from, so that it imports while the
    caller goes on reading its settings."""
    start_server(["beeline.worker"])


@dataclass(eq=False)
class Lane:
    """What all conditions that ask one model at once have in common: the model, and its places for
    trials in flight, so that one condition's last trials and the next one's first share them. All that
    compute share one lane too."""

    slots: asyncio.Semaphore | None = None
    asking: Asking | None = None
    """Whose model is open: that of the condition that opened it."""
    opened: Any = None
    """What the engine made of it; None while it is not open."""
    users: int = 0
    runs: list[Run] = field(default_factory=list)
    """The conditions under way."""
    broken: bool = False
    """A condition ended with an error: the next one begins with a model that is opened anew."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a task that may kill its process runs by itself."""


@dataclass(eq=False)
class Run:
    """A condition under way."""

    plan: DomainPlan
    asking: Asking | None
    progress: Progress
    lane: Lane
    number: int
    guard: UsabilityGuard = field(default_factory=UsabilityGuard)

    @property
    def model(self) -> Model:
        """Whom its trials ask."""
        assert self.lane.asking is not None
        return self.lane.asking.model

    def notice(self, text: str | None) -> None:
        """Show why its trials wait."""
        if self.asking is not None:
            self.asking.services.notice(text)
        else:
            self.progress.notice = text


class Engine(ABC):
    """Runs the trials of conditions, several side by side, until it is closed. It belongs to one event
    loop at a time."""

    places: ClassVar[bool] = False
    """Can put a model where there is what it needs (beeline.placement)."""

    def __init__(self) -> None:
        self._lanes: dict[Hashable, Lane] = {}

    @classmethod
    @abstractmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Make the engine from its YAML, ``name`` and ``target`` left out; starts nothing. Raises
        SettingError."""

    @abstractmethod
    async def compute(self, function: Task, task: TrialTask, repeat: int, run: Run) -> TrialDone:
        """Run a task in a process that may keep a core busy, again when that process dies.
        Raises what the task raised, WorkerError when it keeps losing its process."""

    @abstractmethod
    async def ask(self, run: Run, trial: int, repeat: int) -> TrialDone:
        """A whole trial with a model that is asked in an event loop. Errors as of :meth:`compute`."""

    @abstractmethod
    def width(self, asking: Asking | None) -> int:
        """Trials in flight at once."""

    def reach(self, asking: Asking) -> Model:
        """The model as questions outside trials are to ask it; not opened, nothing is started."""
        return asking.model

    def start(self, owed: int, asking: Asking | None, progress: Progress) -> None:  # noqa: B027
        """Get what ``owed`` trials need, before anything else; what fails must leave nothing open."""

    @abstractmethod
    async def open(self, lane: Lane) -> Any:
        """Get ready to ask the model of ``lane.asking`` in the event loop; what is returned becomes
        ``lane.opened``. What fails must leave nothing open."""

    @abstractmethod
    async def shut(self, lane: Lane) -> None:
        """Nobody asks a model any more."""

    async def enter(self, run: Run, owed: int) -> None:  # noqa: B027
        """A condition with ``owed`` trials begins; :meth:`leave` is called in any case."""

    async def leave(self, run: Run) -> None:  # noqa: B027
        """A condition ended, in whatever way: nothing of it may go on."""

    def close(self) -> None:  # noqa: B027
        """End what this engine started."""

    @asynccontextmanager
    async def kept(self, asking: Asking | None) -> AsyncIterator[Lane]:
        """The lane of a model; what is opened in it stays open at least as long as this context."""
        key = asking.lane if asking is not None and asking.in_loop else None
        lane = self._lanes.setdefault(key, Lane())
        lane.users += 1
        try:
            yield lane
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[key]
                await self._shut(lane)

    async def run(
        self,
        plan: DomainPlan,
        owed: list[tuple[int, int]],
        asking: Asking | None,
        store: Store,
        progress: Progress,
        begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Run the owed (trial, repeat) pairs; ``store`` gets batches and must make them last.
        Without ``asking`` the offline arms run alone. ``begun`` is called when the last trial has
        begun: from then on there is room for others.

        An error of one trial stops the run: trials in flight are dropped, what ended before is
        stored first. Raises what the trial or the store raised, WorkerError when a trial keeps
        losing its worker.
        """
        self.start(len(owed), asking, progress)
        async with self.kept(asking) as lane:
            if lane.slots is None:
                lane.slots = asyncio.Semaphore(self.width(asking))
            run = Run(plan, asking, progress, lane, next(_RUNS))
            lane.runs.append(run)
            try:
                await self.enter(run, len(owed))
                await self._conduct(run, owed, store, begun)
            except BaseException:
                lane.broken = True
                raise
            finally:
                lane.runs.remove(run)
                await self.leave(run)

    async def _conduct(
        self, run: Run, owed: list[tuple[int, int]], store: Store, begun: Callable[[], None]
    ) -> None:
        finished: asyncio.Queue[TrialDone | None] = asyncio.Queue()
        progress, lane = run.progress, run.lane
        writer = asyncio.create_task(_write(finished, store, progress))
        servers: list[asyncio.Task[None]] = []
        try:
            width = self.width(run.asking)
            if run.asking is not None and run.asking.in_loop:
                if len(owed) > width:
                    owed = await self._longest_first(run, owed)
                await self._open(run)
            waiting = deque(owed)

            async def serve() -> None:
                assert lane.slots is not None
                while waiting:
                    async with lane.slots:
                        if not waiting:  # others took the last ones while this one waited for a place
                            return
                        trial, repeat = waiting.popleft()
                        if not waiting:
                            begun()
                        progress.in_flight += 1
                        try:
                            done = await self._trial(run, trial, repeat)
                        finally:
                            progress.in_flight -= 1
                        finished.put_nowait(done)

            servers += [asyncio.create_task(serve()) for _ in range(min(width, len(owed)))]
            await _first_error([*servers], writer)
        finally:
            await _to_its_end(_wind_up(servers, finished, writer))

    async def _trial(self, run: Run, trial: int, repeat: int) -> TrialDone:
        asking = run.asking
        if asking is None:
            return await self.compute(run_offline, TrialTask(run.plan, trial), repeat, run)
        if asking.in_loop:
            return await self.ask(run, trial, repeat)
        return await self.compute(run_with_model, asking.task(run.plan, trial), repeat, run)

    async def _open(self, run: Run) -> None:
        lane = run.lane
        async with lane.changing:
            if lane.broken and lane.runs == [run]:
                await self._shut(lane)
            if lane.opened is None:
                lane.asking, lane.broken = run.asking, False
                lane.opened = await self.open(lane)

    async def _shut(self, lane: Lane) -> None:
        if lane.opened is not None:
            try:
                await self.shut(lane)
            finally:
                lane.opened = None

    async def _longest_first(self, run: Run, trials: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The trials by falling expansions of the heuristic and random arms, a forecast of the
        model's: a long search that starts last would be waited for alone."""
        results = await asyncio.gather(
            *(self.compute(run_offline, TrialTask(run.plan, t), r, run) for t, r in trials)
        )
        forecast = {
            done.trial: sum(done.result["arms"][arm]["expansions"] for arm in ("heuristic", "random"))
            for done in results
        }
        return sorted(trials, key=lambda pair: (-forecast[pair[0]], pair))


def cached(function: Task, task: TrialTask, repeat: int) -> TrialDone | None:
    """The cached offline part of a trial, where it is that which is asked for, and it is there."""
    found = cached_offline(task.plan, task.trial) if function is run_offline else None
    if found is None:
        return None
    now = time.time()
    return TrialDone(task.trial, repeat, now, now, found, None)


def trial_done(trial: int, repeat: int, started: float, finished: float, result: dict[str, Any]) -> TrialDone:
    """A result of :mod:`beeline.worker`, its trace and archive taken out."""
    result = dict(result)
    lines, archive = result.pop("trace", None), result.pop("archive", None)
    trace = None
    if lines is not None:
        trace = Trace()
        trace.lines = lines
    return TrialDone(trial, repeat, started, finished, result, trace, archive)


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """The settings of ``conf/engine/local.yaml``."""

    workers: int | None = setting(None, least=1, most=1024)


class LocalEngine(Engine):
    """Runs trials on this machine with ``workers`` processes (None: one a core)."""

    def __init__(self, workers: int | None = None) -> None:
        super().__init__()
        self.workers = workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None
        self._broken: list[ProcessPoolExecutor] = []
        self._given: set[Future[Any]] = set()
        """Tasks that processes have, or will get."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Only ``workers``."""
        return cls(read_settings(LocalSettings, settings, "engine").workers)

    def width(self, asking: Asking | None) -> int:
        """As many as the model takes at once; two a process where it computes."""
        return asking.model.concurrency if asking is not None and asking.in_loop else 2 * self.workers

    async def open(self, lane: Lane) -> Model:
        """Open the model in this event loop."""
        assert lane.asking is not None
        model = lane.asking.model
        try:
            await model.open()
        except BaseException:
            await model.close()
            raise
        return model

    async def shut(self, lane: Lane) -> None:
        """Close the model."""
        await lane.opened.close()

    async def compute(self, function: Task, task: TrialTask, repeat: int, run: Run) -> TrialDone:
        """In a worker process."""
        kept = cached(function, task, repeat)
        if kept is not None:
            return kept
        pool = self._workers()
        try:
            return trial_done(task.trial, repeat, *await self._given_to(pool, function, task))
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None
                self._broken.append(pool)
        # Which of a pool's tasks killed its worker is not known: each is tried again alone, so that
        # nobody's trials are given up for another's.
        async with run.lane.alone:
            for _ in range(TRIES - 1):
                pool = self._new_pool(1)
                self._broken.append(pool)  # ended at the latest with the engine
                try:
                    found = await self._given_to(pool, function, task)
                except BrokenProcessPool:
                    continue
                return trial_done(task.trial, repeat, *found)
        raise WorkerError(
            f"domain {task.plan.name}, trial {task.trial}: its worker process died {TRIES} times "
            "(out of memory?); finished trials are kept, try engine.workers=1"
        )

    async def _given_to(
        self, pool: ProcessPoolExecutor, function: Task, task: TrialTask
    ) -> tuple[float, float, dict[str, Any]]:
        with uninterrupted():
            given = pool.submit(timed, function, task)
        self._given.add(given)
        given.add_done_callback(self._given.discard)
        return await asyncio.wrap_future(given)

    async def ask(self, run: Run, trial: int, repeat: int) -> TrialDone:
        """In this event loop, the offline part in a worker process."""
        assert run.asking is not None
        offline = await self.compute(run_offline, TrialTask(run.plan, trial), repeat, run)
        model = run.model.for_trial(run.asking.cell, trial, repeat)

        def answered() -> None:
            run.progress.expansions += 1

        task = run.asking.task(run.plan, trial)
        return trial_done(trial, repeat, *await ask_in_loop(task, offline.result, model, run.guard, answered))

    def _workers(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = self._new_pool(self.workers)
        return self._pool

    def _new_pool(self, workers: int) -> ProcessPoolExecutor:
        warm_up()
        return ProcessPoolExecutor(workers, multiprocessing.get_context("forkserver"), start_worker)

    def close(self) -> None:
        """End the worker processes, whatever they do."""
        pool, self._pool = self._pool, None
        with uninterrupted():
            for broken in self._broken:
                end_pool(broken, in_order=False)
            self._broken.clear()
            if pool is not None:
                end_pool(pool, in_order=not self._given)


async def _first_error(servers: list[asyncio.Task[None]], writer: asyncio.Task[None]) -> None:
    """Wait for all servers; raise at once what a server or the writer raises."""
    pending: set[asyncio.Task[None]] = set(servers)
    while pending:
        done, _ = await asyncio.wait({*pending, writer}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        pending -= done


async def _wind_up(
    servers: list[asyncio.Task[None]],
    finished: asyncio.Queue[TrialDone | None],
    writer: asyncio.Task[None],
) -> None:
    """Drop what is in flight; store what ended."""
    for server in servers:
        server.cancel()
    await asyncio.gather(*servers, return_exceptions=True)
    finished.put_nowait(None)
    await writer


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for it also when cancelled meanwhile; the cancellation counts afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:
            break
    task.result()
    if cancelled is not None:
        raise cancelled


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
