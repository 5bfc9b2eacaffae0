"""A pool of equal actors: trials go to the one with the least to do; one that dies is replaced.

A pool outlives a run: the jobs of a sweep find processes that have imported everything and know
their domain, and several runs may use it at once. What belongs to one event loop is made anew by the
first of them (:meth:`Pool.enter`).
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from beeline.errors import BeelineError, SettingError, WorkerError
from beeline.ray_messages import Hello, Home, code_digest
from beeline.ray_session import Session

__all__ = ["Member", "Pool", "awaited", "greet", "kill", "loss_of"]

_STARTS = 3
"""Actors in a row that may die before they say hello."""
_SILENT_S = 5.0
"""Seconds without a free place before it is said that Ray has none."""


@dataclass(eq=False, slots=True)
class Member:
    """One actor."""

    handle: Any
    hello: Hello | None = None
    """None until it has said hello."""
    load: int = 0
    """Trials with it now."""
    given_up: set[int] = field(default_factory=set)
    """Runs that gave up a trial which it may still be at work on."""
    ended: bool = False
    died: bool = False
    """It ended without us."""


@dataclass(slots=True)
class _Loop:
    """What belongs to the event loop of one run."""

    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    greetings: set[asyncio.Task[None]] = field(default_factory=set)
    error: Exception | None = None


class Pool:
    """Actors of the class ``made``: as many as the run that wants most of them, with as many trials each as
    all runs together want. ``asynchronous`` ones hold many trials and can drop those of a run."""

    def __init__(self, session: Session, made: type, noun: str, cpus: float, asynchronous: bool) -> None:
        self._session, self._made, self._noun, self._cpus = session, made, noun, cpus
        self._asynchronous = asynchronous
        self._members: list[Member] = []
        self._wanted: dict[int, tuple[int, int, object]] = {}
        self._loop = _Loop()
        self._failed_starts = 0

    def enter(self, run: int, count: int, depth: int, lane: object = None) -> None:
        """Begin a run in the running event loop: ``count`` members, ``depth`` trials with each; runs of
        one ``lane`` have them together. Members are placed when there is work for them."""
        first = not self._wanted
        self._wanted[run] = (count, depth, lane)
        if not first:
            self._wake(all_=True)
            return
        self._loop = _Loop()
        self._failed_starts = 0
        for member in self._members[count:]:
            self._end(member)
        for member in self._members:
            if member.hello is None:
                self._greet(member)

    @property
    def _count(self) -> int:
        return max((count for count, _, _ in self._wanted.values()), default=0)

    @property
    def _depth(self) -> int:
        by_lane: dict[int, int] = {}
        for _, depth, lane in self._wanted.values():
            by_lane[id(lane)] = max(depth, by_lane.get(id(lane), 0))
        return sum(by_lane.values())

    async def leave(self, run: int) -> None:
        """End a run, and whatever is still at work on one of its trials."""
        self._wanted.pop(run, None)
        for member in [member for member in self._members if run in member.given_up]:
            member.given_up.discard(run)
            if self._asynchronous:
                with contextlib.suppress(Exception):
                    member.handle.drop.remote(run)
            else:
                self._end(member)
        self._wake(all_=True)
        if not self._wanted:
            greetings = self._loop.greetings
            for task in greetings:
                task.cancel()
            await asyncio.gather(*greetings, return_exceptions=True)

    async def take(self, notice: Callable[[str | None], None]) -> Member:
        """The member with the least to do, once there is one with room; give it back."""
        silent = False
        while True:
            if self._loop.error is not None:
                raise self._loop.error
            free = [m for m in self._members if m.hello is not None and m.load < self._depth]
            if len(self._members) < self._count and all(member.load for member in free):
                self._add()
            if free:
                if silent:
                    notice(None)
                best = min(free, key=lambda member: member.load)
                best.load += 1
                return best
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._loop.waiting.append(place)
            try:
                if any(member.hello is not None for member in self._members):
                    await place
                    continue
                done, _ = await asyncio.wait([place], timeout=_SILENT_S)
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self._wake()  # the place is somebody else's
                raise
            if not done and not silent:
                silent = True
                notice(f"waiting for Ray to place {self._count} {self._noun}s: its CPUs are in use")

    def give(self, member: Member) -> None:
        """A trial of a member ended."""
        member.load -= 1
        self._wake()

    def lose(self, member: Member, error: BaseException) -> bool:
        """A member's process or node is gone. Says whether it died, and not we ended it; only the first call
        for a member does anything."""
        if member.ended:
            return member.died
        member.died = True
        self._end(member)
        where = loss_of(self._session, member.hello)
        print(
            f"note: {self._noun} {where} was lost with {member.load} trials, which run again",
            file=sys.stderr,
            flush=True,
        )
        self._wake()
        return True

    def close(self) -> None:
        """End all members."""
        for member in list(self._members):
            self._end(member)

    def _end(self, member: Member) -> None:
        member.ended = True
        kill(member.handle)
        if member in self._members:
            self._members.remove(member)

    def _add(self) -> None:
        import ray

        options: dict[str, Any] = {"num_cpus": self._cpus, "scheduling_strategy": "SPREAD", "max_restarts": 0}
        if self._asynchronous:
            options["max_concurrency"] = 10_000
        member = Member(ray.remote(self._made).options(**options).remote(Home.here()))
        self._members.append(member)
        self._greet(member)

    def _greet(self, member: Member) -> None:
        task = asyncio.get_running_loop().create_task(self._meet(member))
        self._loop.greetings.add(task)

    async def _meet(self, member: Member) -> None:
        try:
            member.hello = await greet(self._session, member.handle)
            self._failed_starts = 0
        except BeelineError as error:
            self._loop.error = error
        except Exception as error:
            self._failed_starts += 1
            if member in self._members:
                self._members.remove(member)
            if self._failed_starts >= _STARTS:
                self._loop.error = WorkerError(
                    f"a {self._noun} of engine=ray died {_STARTS} times before it was ready "
                    f"({type(error).__name__}); finished trials are kept"
                )
        finally:
            self._wake(all_=True)

    def _wake(self, all_: bool = False) -> None:
        waiting = self._loop.waiting
        while waiting:
            place = waiting.popleft()
            if not place.done():
                place.set_result(None)
                if not all_:
                    return


async def greet(session: Session, handle: Any) -> Hello:
    """An actor's hello. Raises SettingError when its node has other code than the driver, and what
    Ray raises when it died."""
    try:
        hello: Hello = await awaited(handle.hello.remote())
    except Exception as error:
        if "No module named" in str(error) or "ModuleNotFoundError" in str(error):
            missing = str(error).rpartition("No module named")[2].strip().splitlines()[0]
            raise SettingError(
                f"engine=ray: a node cannot import {missing or 'beeline'}: install the same beeline on all "
                "nodes (docs/cluster.md)"
            ) from error
        raise
    node_name(session, hello.node)  # while it is there to be asked
    if not hello.same_files(Hello.here()) and await awaited(handle.code.remote()) != code_digest():
        raise SettingError(
            f"engine=ray: node {node_name(session, hello.node)} has another beeline in {hello.root} than "
            "this machine, so its results could differ: install the same on all nodes (docs/cluster.md)"
        )
    return hello


def loss_of(session: Session, hello: Hello | None) -> str:
    """A process for people: its id and the name of its node, as far as they are known."""
    if hello is None:
        return "that was just started"
    return f"{hello.pid} on node {node_name(session, hello.node)}"


def node_name(session: Session, node: str) -> str:
    """The name of a node by its id, also of one that is gone by now."""
    if node not in session.names:
        session.names.update({found.id: found.name for found in session.nodes()})
    return session.names.get(node, node[:12])


async def awaited(call: Any) -> Any:
    """What a call returns. Giving up leaves the call alone: Ray's client cannot have it cancelled."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[Any] = loop.create_future()

    def settle(done: Future[Any]) -> None:
        if waiting.done():
            return
        error = done.exception()
        if error is not None:
            waiting.set_exception(error)
        else:
            waiting.set_result(done.result())

    def heard(done: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, done)

    call.future().add_done_callback(heard)
    return await waiting


def kill(handle: Any) -> None:
    """End an actor; harmless where it is gone already."""
    import ray

    with contextlib.suppress(Exception):
        if ray.is_initialized():
            ray.kill(handle)
