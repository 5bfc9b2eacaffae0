"""engine=ray: the trials of a condition on one machine or a cluster (docs/cluster.md).

The unit of work is one trial: an actor call costs about a millisecond, a search many. Offline arms
and models that compute are spread over a pool of workers, one a CPU; models that wait are asked by
many searches in a few runners, through one host process. The driver alone writes: records, traces
and archives come back as trials end, and the ledger is asked through it before each request.

An actor that dies with its process or node costs the trials it held; they run again elsewhere.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from beeline.engine import TRIES, Asking, Engine, Lane, Progress, Run, Task, TrialDone, cached, trial_done
from beeline.errors import SettingError, WorkerError
from beeline.model import Model
from beeline.placement import PlacedAs
from beeline.ray_host import HostKeeper
from beeline.ray_messages import Failure, HostLost
from beeline.ray_model import PlacedModel
from beeline.ray_pool import Pool, awaited, node_name
from beeline.ray_room import check_room
from beeline.ray_session import LOCAL, Node, Session, connect
from beeline.ray_workers import ComputeWorker, Runner
from beeline.settings import read_settings, setting
from beeline.worker import TrialTask, ask_in_loop, run_offline

__all__ = ["RayEngine", "RaySettings"]

#: What Ray's books charge for a worker that keeps a core busy: less than one, so that runners,
#: which mostly wait, find room beside a worker on each core.
WORKER_CPUS = 0.9
RUNNER_CPUS = 0.01
#: Trials with a worker: one that runs, one that waits beside it.
WORKER_DEPTH = 2
#: Trials in flight that one runner holds where the user does not say.
RUNNER_DEPTH = 32


@dataclass(frozen=True, kw_only=True)
class RaySettings:
    """The settings of ``conf/engine/ray.yaml``."""

    address: str | None = setting(None)
    """``local``, ``auto``, ``ray://HOST:PORT`` or ``HOST:PORT``; None for RAY_ADDRESS, else local."""
    workers: int | None = setting(None, least=1, most=4096)
    in_flight: int | None = setting(None, least=1, most=4096)


class RayEngine(Engine):
    """Runs trials on Ray."""

    places = True

    def __init__(self, settings: RaySettings) -> None:
        super().__init__()
        self.settings = settings
        self._session: Session | None = None

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """As of RaySettings; Ray is not imported yet."""
        return cls(read_settings(RaySettings, settings, "engine"))

    def reach(self, asking: Asking) -> Model:
        """The model where it is placed, if it is."""
        if asking.placed is None or asking.model.at_home:
            return asking.model
        return PlacedModel(asking, self.settings.address)

    def width(self, asking: Asking | None) -> int:
        """Two trials a worker that computes; for a model that waits, ``in_flight`` a runner, or as many
        as the model takes at once."""
        if asking is None or not asking.in_loop:
            return WORKER_DEPTH * self._compute_count(asking)
        if self.settings.in_flight is None or asking.model.at_home:
            return asking.model.concurrency
        return self._runner_count(asking) * self.settings.in_flight

    def start(self, owed: int, asking: Asking | None, progress: Progress) -> None:
        """Connect to Ray, and see that what is asked for can be placed."""
        self._session = connect(self.settings.address, max(self.settings.workers or 0, os.cpu_count() or 1))
        self._check_room(asking)
        self._say_where()
        self._say_if_small(owed, asking)

    async def enter(self, run: Run, owed: int) -> None:
        """Place who works on the run's trials."""
        asking = run.asking
        count = self._compute_count(asking)
        self._workers.enter(run.number, min(count, owed), WORKER_DEPTH)
        if asking is not None and asking.in_loop and not asking.model.at_home:
            count = min(self._runner_count(asking), owed)
            self._runners.enter(run.number, count, math.ceil(self.width(asking) / count), run.lane)

    async def open(self, lane: Lane) -> list[HostKeeper]:
        """Place the processes that ask the model."""
        assert self._session is not None
        assert lane.asking is not None
        asking = lane.asking
        if asking.model.at_home:
            try:
                await asking.model.open()
            except BaseException:
                await asking.model.close()
                raise
            return []

        def answered(count: int) -> None:
            if lane.runs:  # whose they are is not told apart while it goes on
                lane.runs[0].progress.expansions += count

        replicas = 1 if asking.placed is None else asking.placed.replicas
        keepers = [HostKeeper(self._session, asking, answered) for _ in range(replicas)]
        try:
            await asyncio.gather(*(keeper.handle() for keeper in keepers))
        except BaseException:
            await asyncio.gather(*(keeper.close() for keeper in keepers))
            raise
        return keepers

    async def shut(self, lane: Lane) -> None:
        """End the processes that ask the model."""
        assert lane.asking is not None
        await asyncio.gather(*(keeper.close() for keeper in lane.opened))
        if lane.asking.model.at_home:
            await lane.asking.model.close()

    async def leave(self, run: Run) -> None:
        """End what works on this run's trials; idle actors wait for the next one."""
        assert self._session is not None
        for pool in self._session.kept.values():
            await pool.leave(run.number)

    async def compute(self, function: Task, task: TrialTask, repeat: int, run: Run) -> TrialDone:
        """On a worker."""
        kept = cached(function, task, repeat)
        if kept is not None:
            return kept
        deaths = 0
        while deaths < TRIES:
            member = await self._workers.take(run.notice)
            try:
                found = await self._asked(member.handle.compute.remote(function.__name__, task))
            except _lost() as error:
                deaths += self._workers.lose(member, error)
                continue
            except asyncio.CancelledError:
                member.given_up.add(run.number)
                raise
            finally:
                self._workers.give(member)
            return trial_done(task.trial, repeat, *found)
        raise self._too_often(task)

    async def ask(self, run: Run, trial: int, repeat: int) -> TrialDone:
        """In a runner, the offline part on a worker."""
        asking = run.asking
        assert asking is not None
        offline = await self.compute(run_offline, TrialTask(run.plan, trial), repeat, run)
        task = asking.task(run.plan, trial)
        if asking.model.at_home:
            model = run.model.for_trial(asking.cell, trial, repeat)
            return trial_done(trial, repeat, *await ask_in_loop(task, offline.result, model, run.guard))
        deaths = 0
        while deaths < TRIES:
            member = await self._runners.take(run.notice)
            keepers: list[HostKeeper] = run.lane.opened
            keeper = min(keepers, key=lambda keeper: keeper.load)
            keeper.load += 1
            try:
                host = await keeper.handle()
                call = member.handle.trial.remote(
                    task, offline.result, asking.model.model_id, host, run.number
                )
                found = await self._asked(call, keeper)
            except _lost() as error:
                deaths += self._runners.lose(member, error)
                continue
            except BaseException:
                member.given_up.add(run.number)
                raise
            finally:
                self._runners.give(member)
                keeper.load -= 1
            if isinstance(found, HostLost):
                await keeper.lost(host)
                continue
            return trial_done(trial, repeat, *found)
        raise self._too_often(task)

    async def _asked(self, call: Any, keeper: HostKeeper | None = None) -> Any:
        """What a call returns; a failure is raised here, with the name of its node."""
        waits: asyncio.Future[Any] = asyncio.ensure_future(awaited(call))
        try:
            await asyncio.wait(
                {waits} if keeper is None else {waits, keeper.failed}, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            if not waits.done():
                waits.cancel()
        if keeper is not None and not waits.done():
            keeper.failed.result()
        found = await waits
        if isinstance(found, Failure):
            assert self._session is not None
            raise found.error(node_name(self._session, found.node))
        return found

    @property
    def _workers(self) -> Pool:
        return self._pool(ComputeWorker, "worker", WORKER_CPUS, False)

    @property
    def _runners(self) -> Pool:
        return self._pool(Runner, "runner", RUNNER_CPUS, True)

    def _pool(self, made: type, noun: str, cpus: float, asynchronous: bool) -> Pool:
        assert self._session is not None
        if noun not in self._session.kept:
            self._session.kept[noun] = Pool(self._session, made, noun, cpus, asynchronous)
        pool: Pool = self._session.kept[noun]
        return pool

    def _compute_count(self, asking: Asking | None) -> int:
        """Workers that keep a core busy: as the user says, where they are what the run is about."""
        if self.settings.workers is not None and (asking is None or not asking.in_loop):
            return self.settings.workers
        assert self._session is not None
        # What a private Ray was told of CPUs beyond the machine's is the user's word for models that compute.
        most = os.cpu_count() or 1 if self._session.private else self._cpus()
        return max(min(self._cpus(), most), 1)

    def _runner_count(self, asking: Asking) -> int:
        if self.settings.workers is not None:
            return self.settings.workers
        depth = self.settings.in_flight or RUNNER_DEPTH
        return max(1, min(self._cpus(), math.ceil(asking.model.concurrency / depth)))

    def _cpus(self) -> int:
        assert self._session is not None
        return sum(int(node.resources.get("CPU", 0)) for node in self._session.nodes())

    def _check_room(self, asking: Asking | None) -> None:
        """Say at once what would be waited for in vain."""
        assert self._session is not None
        nodes = self._session.nodes()
        have = ", ".join(f"{node.name} with {node.resources.get('CPU', 0):g} CPUs" for node in nodes)
        # Runners stand beside a worker on each core.
        runs = asking is not None and asking.in_loop
        each = (1 - WORKER_CPUS) / RUNNER_CPUS if runs else 1 / WORKER_CPUS
        room = sum(math.floor(node.resources.get("CPU", 0) * each + 1e-9) for node in nodes)
        if asking is not None and asking.placed is not None:
            self._check_placement(asking, asking.placed, nodes)
        cpus = self._cpus()
        if cpus < 1:
            raise SettingError(
                f"engine=ray: no node of this cluster lends a CPU ({have}): start one with ray start "
                "--address=... --num-cpus=N, or use engine=local"
            )
        wanted = self.settings.workers
        if wanted is not None and wanted > room:
            raise SettingError(
                f"engine.workers={wanted}: the cluster has the resource CPU for {room} ({have}): lower "
                "engine.workers, or start more nodes"
            )

    def _check_placement(self, asking: Asking, placed: PlacedAs, nodes: list[Node]) -> None:
        check_room(asking.model, placed, nodes)
        taken = placed.num_cpus * placed.replicas
        if sum(node.resources.get("CPU", 0.0) for node in nodes) - taken < WORKER_CPUS + RUNNER_CPUS:
            raise SettingError(
                f"model.placement takes {taken:g} CPUs, which leaves none "
                "for the searches: ask for fewer (num_cpus, replicas), or start more nodes"
            )

    def _say_where(self) -> None:
        session = self._session
        assert session is not None
        if session.address != LOCAL and "where" not in session.said:
            session.said.add("where")
            nodes = session.nodes()
            print(
                f"Ray at {session.address}: {len(nodes)} nodes, {self._cpus()} CPUs",
                file=sys.stderr,
                flush=True,
            )

    def _say_if_small(self, owed: int, asking: Asking | None) -> None:
        """Say so, once, when a run cannot gain from Ray."""
        session = self._session
        assert session is not None
        if "small" in session.said:
            return
        cores = os.cpu_count() or 1
        why = None
        if asking is not None and asking.placed is not None:
            return  # it is for the node
        if session.private:
            why = (
                f"one of its own, here, took {session.seconds:.0f} s to start and uses the same {cores} cores"
            )
        elif asking is not None and asking.in_loop and self.width(asking) <= RUNNER_DEPTH:
            why = f"one process keeps {self.width(asking)} trials in flight by itself"
        elif owed <= 2 * cores:
            why = f"{owed} trials are soon done by the {cores} cores of this machine"
        if why is not None:
            session.said.add("small")
            print(
                f"note: this run gains nothing from engine=ray: {why}; engine=local is sooner",
                file=sys.stderr,
            )

    def _too_often(self, task: TrialTask) -> WorkerError:
        return WorkerError(
            f"domain {task.plan.name}, trial {task.trial}: its worker process died {TRIES} times "
            "(out of memory?); finished trials are kept, try engine.workers=1"
        )


def _lost() -> tuple[type[BaseException], ...]:
    """What Ray raises when a process or a node is gone; not what code in it raised."""
    from ray import exceptions as e

    return (
        e.RayActorError,
        e.NodeDiedError,
        e.WorkerCrashedError,
        e.ObjectLostError,
        e.OutOfMemoryError,
        e.LocalRayletDiedError,
    )
