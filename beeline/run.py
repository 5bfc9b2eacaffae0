"""Run jobs: one, or those of a sweep side by side.

A job is one spec: a study of one model in one domain. Jobs that ask the same model go through one
lane, in order: the next condition begins when the last trial of the one before has begun, so that its
places are never idle while there is work. Lanes of different models, and that of all work which
computes, run at the same time. One job that fails does not stop the others.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from beeline.condition import asking_of, cell_of, run_condition, state_definition
from beeline.engine import Asking
from beeline.errors import BeelineError
from beeline.interrupts import interruptible, raise_if_interrupted
from beeline.records import Record, read_records
from beeline.resolver import resolve
from beeline.scoring import Summary
from beeline.shared import Fate, Shared
from beeline.spec import Spec
from beeline.study import Condition, Study
from beeline.tracked import track_study

if TYPE_CHECKING:
    from beeline.world_summary import WorldSummary

__all__ = ["Job", "Ran", "run", "run_jobs"]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a job has to show at the end."""

    summaries: tuple[Summary | WorldSummary, ...] = ()
    """One a condition."""
    analysis: str | None = None
    """What the study found over its conditions, as text; its files are written."""


@dataclass(eq=False)
class Job:
    """A spec, and what became of it."""

    spec: Spec
    ran: Ran | None = None
    """None while it is not done."""
    fate: Fate = field(default_factory=Fate)
    conditions: tuple[Condition, ...] = ()
    summaries: dict[str, Summary | WorldSummary] = field(default_factory=dict)
    """By condition, as they end."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Its conditions under way."""

    @property
    def error(self) -> BeelineError | None:
        """Why it failed."""
        return self.fate.error

    @property
    def lane(self) -> str | None:
        """The name of the model that it waits for; None where it computes."""
        model = self.spec.model
        if model is None or (model.placement == "worker" and self.spec.placed is None):
            return None
        return model.name


Failed = Callable[[Job], None]


def run(spec: Spec) -> Ran:
    """Run one job; raises a BeelineError that says why it stopped. What was finished before an error is
    kept."""
    job = Job(spec)
    run_jobs([job])
    if job.error is not None:
        raise job.error
    assert job.ran is not None
    return job.ran


def run_jobs(jobs: Sequence[Job], failed: Failed = lambda job: None) -> None:
    """Run jobs until each is done or has failed, which ``failed`` is told when it happens. Raises
    KeyboardInterrupt when it is interrupted; finished trials are kept."""

    def fail(job: Job, error: BeelineError) -> None:
        job.fate.error = error
        failed(job)

    for group in _groups(jobs, fail):
        try:
            asyncio.run(_SideBySide(group, fail).run())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        except BaseExceptionGroup as crash:  # a bug in one of them ended all
            raise crash.exceptions[0] from None
        raise_if_interrupted()


Fail = Callable[[Job, BeelineError], None]


def _groups(jobs: Sequence[Job], fail: Fail) -> Iterator[list[Job]]:
    """Jobs that may run side by side. A job that runs no condition (a price list, a comparison of what is
    there) is done on the way, after those before it and before those behind it."""
    group: list[Job] = []
    for job in jobs:
        try:
            performs = type(job.spec.study).perform is not Study.perform
            if not performs:
                job.conditions = job.spec.study.conditions_for(job.spec)
            if job.conditions and (not group or group[0].spec.engine_key == job.spec.engine_key):
                group.append(job)
                continue
            if group:
                yield group
                group = []
            if job.conditions:
                group = [job]
            elif not (performs and _perform(job)):
                job.conditions = job.spec.study.conditions_for(job.spec)
                if job.conditions:
                    yield [job]
                else:
                    state_definition(job.spec)
                    job.ran = _analysed(job.spec, ())
        except BeelineError as error:
            fail(job, error)
        except Exception as error:
            if len(jobs) == 1:
                raise
            fail(job, _bug(error))
    if group:
        yield group


def _bug(error: Exception) -> BeelineError:
    """A bug of ours or of a plug-in: it keeps its traceback, and ends its own job alone."""
    traceback.print_exception(error)
    return BeelineError(f"a bug ended it ({type(error).__name__}: {error}), see the traceback")


def _perform(job: Job) -> bool:
    text = job.spec.study.perform(job.spec)
    if text is None:
        return False
    print(text, flush=True)
    job.ran = Ran()
    return True


class _SideBySide:
    """Runs a group of jobs in one event loop."""

    def __init__(self, jobs: Sequence[Job], fail: Fail) -> None:
        self._jobs, self._fail = jobs, fail
        self._alone = len(jobs) == 1

    async def run(self) -> None:
        """Until each is done or has failed."""
        lanes: dict[str | None, list[Job]] = {}
        for job in self._jobs:
            lanes.setdefault(job.lane, []).append(job)
        with interruptible(), Shared() as shared:
            self._shared = shared
            if len(self._jobs) > 1:
                shared.display.head = self._head
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                for jobs in lanes.values():
                    tasks.create_task(self._lane(jobs))

    def _head(self) -> str:
        done = sum(job.ran is not None for job in self._jobs)
        failed = sum(job.error is not None for job in self._jobs)
        return f"{done} of {len(self._jobs)} jobs done" + (f", {failed} failed" if failed else "")

    async def _lane(self, jobs: Sequence[Job]) -> None:
        """Jobs in order, each condition as soon as there is room for it."""
        under_way: set[asyncio.Task[None]] = set()
        async with AsyncExitStack() as stack:
            keeping: object = None
            for job in jobs:
                try:
                    state_definition(job.spec)
                    asking = asking_of(job.spec, self._shared)
                except BeelineError as error:
                    self._fail(job, error)
                    continue
                except Exception as error:
                    if self._alone:
                        raise
                    self._fail(job, _bug(error))
                    continue
                lane = None if asking is None or not asking.in_loop else asking.lane
                if lane is not None and lane != keeping:
                    # Another connection to the same model: its limits hold, so they take turns.
                    if under_way:
                        await asyncio.wait(under_way)
                    await self._closed(stack)
                    engine = self._shared.engine(job.spec)
                    await stack.enter_async_context(engine.kept(asking))
                    keeping = lane
                for condition in job.conditions:
                    if job.error is not None:
                        break
                    begun = asyncio.Event()
                    task = self._tasks.create_task(self._condition(job, condition, asking, begun))
                    for tasks in (under_way, job.tasks):
                        tasks.add(task)
                        task.add_done_callback(tasks.discard)
                    # Also where it was cancelled before its first step.
                    task.add_done_callback(lambda _, begun=begun: begun.set())  # type: ignore[misc]
                    await begun.wait()
            if under_way:
                await asyncio.wait(under_way)
            await self._closed(stack)

    async def _closed(self, stack: AsyncExitStack) -> None:
        """Close a lane's model. A bug in that comes when its jobs are done, and undoes none of them."""
        try:
            await stack.aclose()
        except Exception as error:
            if self._alone:
                raise
            traceback.print_exception(error)

    async def _condition(
        self, job: Job, condition: Condition, asking: Asking | None, begun: asyncio.Event
    ) -> None:
        try:
            asks = None if asking is None else replace(asking, cell=cell_of(job.spec, condition))
            summary = await run_condition(job.spec, condition, asks, self._shared, begun.set, job.fate)
            job.summaries[condition.name] = summary
            if len(job.summaries) == len(job.conditions):
                summaries = tuple(job.summaries[each.name] for each in job.conditions)
                job.ran = await self._shared.aside(lambda: _analysed(job.spec, summaries))
        except BeelineError as error:
            self._end(job, error)
        except Exception as error:
            if self._alone:
                raise
            self._end(job, _bug(error))

    def _end(self, job: Job, error: BeelineError) -> None:
        """A job failed: its other conditions end too."""
        if job.error is None:
            self._fail(job, error)
            for other in job.tasks:
                if other is not asyncio.current_task():
                    other.cancel()


def _analysed(spec: Spec, summaries: tuple[Summary | WorldSummary, ...]) -> Ran:
    """What the study makes of its records; tracked."""
    analysis = spec.study.analyse(spec, _records_of(spec), spec.results)
    if analysis is None:
        return Ran(summaries)
    shown = resolve("tracking.analysis:show")(analysis, spec.results)
    track_study(spec, analysis.domain)
    return Ran(summaries, shown)


def _records_of(spec: Spec) -> dict[str, list[Record]]:
    """The records of this run's trials, by condition."""
    found = {}
    for condition in spec.study.conditions_for(spec):
        records = read_records(cell_of(spec, condition).path(spec.results)).records
        wanted = (spec.trials, condition.repeats)
        found[condition.name] = [r for r in records if r.trial <= wanted[0] and r.repeat <= wanted[1]]
    return found
