"""A placed model as one that can be asked from here: for questions outside trials, and for a server.

Its processes are those of engine=ray (:mod:`beeline.ray_host`). Questions go to the one with the
least to do, as they come: what arrives together is put together there. A process that dies, or whose
node does, is placed anew, and what waited for it is asked again.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from typing import Any

from beeline.engine import TRIES, Asking
from beeline.errors import WorkerError
from beeline.placement import PlacedAs
from beeline.question import Answer, Question
from beeline.ray_host import HostKeeper
from beeline.ray_messages import Failure
from beeline.ray_pool import awaited, node_name
from beeline.ray_room import check_room
from beeline.ray_session import Session, connect
from beeline.services import Services
from beeline.wrapped import Wrapped

__all__ = ["PlacedModel"]

_SILENT_S = 5.0
"""Seconds that placing and loading may take before it is said."""


@dataclass(eq=False, slots=True)
class _Replica:
    keeper: HostKeeper
    load: int = 0
    """Questions with it now."""
    opening: asyncio.Task[Any] | None = None
    handle: Any = None
    """None until it is ready."""
    answered: bool = False
    """Has been of use since it was placed."""


class PlacedModel(Wrapped):
    """``asking.model``, asked where ``asking.placed`` puts it. ``address`` as of RaySettings."""

    written = "engine=ray with model.placement"

    def __init__(self, asking: Asking, address: str | None) -> None:
        super().__init__(asking.model)
        self._placed = asking.placed or PlacedAs()
        self._asking, self._address = replace(asking, placed=self._placed), address
        self.placement = "loop"  # whatever it is there
        self.concurrency = max(self.inner.concurrency, 2 * self._placed.replicas)
        self._session: Session | None = None
        self._replicas: list[_Replica] = []

    def check(self) -> None:
        """Connect, and see that the cluster has what is asked for; the model itself is checked where
        it is placed. Raises SettingError."""
        session = connect(self._address, os.cpu_count() or 1)
        check_room(self.inner, self._placed, session.nodes())
        self._session = session

    def attach(self, services: Services) -> None:
        """What its processes are lent; not the model here, which is asked nothing."""
        self._asking = replace(self._asking, services=services)

    async def open(self) -> None:
        """Place and open all replicas. Raises what :meth:`check` or the model raises there,
        WorkerError when a process keeps dying."""
        if self._session is None:
            self.check()
        self._replicas = [_Replica(self._keeper()) for _ in range(self._placed.replicas)]
        all_ready = asyncio.gather(*(self._ready(replica) for replica in self._replicas))
        try:
            await asyncio.wait({all_ready}, timeout=_SILENT_S)
            if not all_ready.done():
                self._asking.services.notice(f"waiting for Ray to place model {self.name} and it to load")
            await all_ready
            self._asking.services.notice(None)
        except BaseException:
            all_ready.cancel()
            await asyncio.gather(all_ready, return_exceptions=True)
            await self.close()
            raise

    async def close(self) -> None:
        """End all replicas; what they spent is entered first."""
        replicas, self._replicas = self._replicas, []
        opening = [replica.opening for replica in replicas if replica.opening is not None]
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        await asyncio.gather(*(replica.keeper.close() for replica in replicas))

    async def answer(self, question: Question) -> Answer:
        """Ask one of the replicas. Raises what the model raises there with the name of the node,
        WorkerError when process after process died while it held this question."""
        for _ in range(TRIES):
            if not self._replicas:
                raise WorkerError(f"model {self.name} is closed")
            for replica in self._replicas:
                self._begin(replica)
            replica = min(self._replicas, key=lambda one: (one.handle is None, one.load))
            replica.load += 1
            try:
                handle = await self._ready(replica)
                try:
                    found = await self._asked(replica.keeper, handle.answer.remote(question))
                except _losses():
                    await self._lose(replica, handle)
                    continue
            finally:
                replica.load -= 1
            replica.answered = True
            if isinstance(found, Failure):
                assert self._session is not None
                raise found.error(node_name(self._session, found.node))
            answer: Answer = found
            return answer
        raise WorkerError(
            f"model {self.name}: {TRIES} processes died, one after the other, while they held one question "
            "(out of memory?)"
        )

    async def _asked(self, keeper: HostKeeper, call: Any) -> Any:
        waits: asyncio.Future[Any] = asyncio.ensure_future(awaited(call))
        if self._asking.services.meter is not None:
            # A broken ledger grants no leave, so the answer would be waited for in vain.
            try:
                await asyncio.wait({waits, keeper.failed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not waits.done():
                    waits.cancel()
            if not waits.done():
                keeper.failed.result()
        return await waits

    def _begin(self, replica: _Replica) -> None:
        """Place a replica that is not there, in a task of its own: whoever gives up waiting must not
        stop it for the others."""
        if replica.handle is None and (replica.opening is None or replica.opening.done()):
            replica.opening = asyncio.create_task(_open(replica))
            replica.opening.add_done_callback(_heard)

    async def _ready(self, replica: _Replica) -> Any:
        """The process of a replica, once it is open."""
        self._begin(replica)
        if replica.handle is not None:
            return replica.handle
        assert replica.opening is not None
        return await asyncio.shield(replica.opening)

    async def _lose(self, replica: _Replica, handle: Any) -> None:
        """``handle`` is gone. One that was of use before may die as often as it likes; raises
        WorkerError when a replica keeps dying before it has answered anything."""
        if replica.handle is not handle:
            return  # somebody saw to it
        keeper, answered = replica.keeper, replica.answered
        replica.handle, replica.answered = None, False
        if answered:
            replica.keeper = self._keeper()
        try:
            await keeper.lost(handle)
        finally:
            if answered:
                await keeper.close()

    def _keeper(self) -> HostKeeper:
        assert self._session is not None
        return HostKeeper(self._session, self._asking, lambda count: None)


async def _open(replica: _Replica) -> Any:
    replica.handle = await replica.keeper.handle()
    return replica.handle


def _heard(task: asyncio.Task[Any]) -> None:
    """Whoever waits for the task hears of its error; where nobody does, none is missed."""
    if not task.cancelled():
        task.exception()


def _losses() -> tuple[type[BaseException], ...]:
    """What Ray raises when a process or a node is gone; not what code in it raised."""
    from ray import exceptions as e

    return (e.RayActorError, e.NodeDiedError, e.ObjectLostError)
