"""The queue before the function: bounded, in order of arrival, in micro-batches.

A ``def`` runs in one thread of its own, one call at a time, so that a model needs no locks and
the event loop stays free. With ``batch`` a call gets what has come within ``wait_s`` of the first
request, at most ``batch`` bodies; while it runs, the next ones gather. An ``async def`` without
``batch`` is awaited for many requests at once.

A batch whose call fails is asked again one by one, so that one poisonous request does not take
its neighbours with it. A request whose client has gone is left out.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from protocols.serve.answers import Senseless
from protocols.serve.functions import Function
from protocols.serve.refusals import Refused

__all__ = ["Caller", "FunctionFailed"]

Body = dict[str, Any]


class FunctionFailed(Exception):
    """The served function raised; the reason is the cause."""


@dataclass(slots=True)
class _Waiting:
    body: Body
    future: asyncio.Future[Any]
    gone: Callable[[], Awaitable[bool]] | None


class _Thread:
    """One thread that makes calls in order. A daemon: a call that never ends must not keep a
    process alive that was told twice to stop."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[asyncio.Future[Any], Callable[[Any], Any], Any] | None] = SimpleQueue()
        threading.Thread(target=self._run, name="served-function", daemon=True).start()

    def call(self, function: Callable[[Any], Any], argument: Any) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        self._jobs.put((future, function, argument))
        return future

    def stop(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, function, argument = job
            result: Any = None
            error: BaseException | None = None
            try:
                result = function(argument)
            except BaseException as raised:  # also SystemExit: the thread has to live on
                error = raised
            try:
                future.get_loop().call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:  # the loop is closed: the process ends
                return


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        # Wrapped: a future takes no StopIteration, and SystemExit would end the loop.
        failed = FunctionFailed()
        failed.__cause__ = error
        future.set_exception(failed)


async def _wanted(waiting: _Waiting) -> bool:
    """Whether somebody still waits for the result."""
    if waiting.future.done():  # its handler was cancelled
        return False
    if waiting.gone is not None and await waiting.gone():
        waiting.future.cancel()
        return False
    return True


class Caller:
    """Calls one function for many requests; :meth:`start` and :meth:`stop` in the event loop."""

    def __init__(self, function: Function, *, batch: int | None, wait_s: float, limit: int) -> None:
        self._function = function
        self._batch = batch
        self._wait_s = wait_s
        self._limit = limit
        self._direct = function.asynchronous and batch is None
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._thread: _Thread | None = None
        self._task: asyncio.Task[None] | None = None
        self.held = 0
        """Requests that wait or run."""

    async def start(self) -> None:
        """Begin to take requests."""
        if not self._function.asynchronous:
            self._thread = _Thread()
        if not self._direct:
            self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Take no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._thread is not None:
            self._thread.stop()

    async def ask(self, body: Body, gone: Callable[[], Awaitable[bool]] | None = None) -> Any:
        """What the function returns for ``body``.

        ``gone`` tells whether the client has left meanwhile. Raises Refused (529 when the queue
        is full, or what the function refuses) and FunctionFailed.
        """
        if self.held >= self._limit:
            raise Refused.because(
                529,
                "overloaded_error",
                f"{self.held} requests wait already; try again later",
                Retry_After="1",
            )
        self.held += 1
        try:
            if self._direct:
                return await self._call(body)
            waiting = _Waiting(body, asyncio.get_running_loop().create_future(), gone)
            self._queue.put_nowait(waiting)
            return await waiting.future
        finally:
            self.held -= 1

    async def _work(self) -> None:
        while True:
            taken = await self._collect()
            try:
                await self._serve([waiting for waiting in taken if await _wanted(waiting)])
            except Exception as error:  # ours: no request may be left waiting for ever
                for waiting in taken:
                    if not waiting.future.done():
                        waiting.future.set_exception(_failure(error))

    async def _collect(self) -> list[_Waiting]:
        """One request, or with batches as many as come in time."""
        collected = [await self._queue.get()]
        loop = asyncio.get_running_loop()
        until = loop.time() + self._wait_s
        while len(collected) < (self._batch or 1):
            if self._queue.empty() and loop.time() >= until:
                break
            try:
                async with asyncio.timeout_at(until if self._queue.empty() else None):
                    collected.append(await self._queue.get())
            except TimeoutError:
                break
        return collected

    async def _serve(self, taken: list[_Waiting]) -> None:
        if not taken:
            return
        try:
            if self._batch is None:
                results = [await self._call(taken[0].body)]
            else:
                results = self._results(await self._call([w.body for w in taken]), len(taken))
        except (FunctionFailed, Refused, Senseless) as error:
            if len(taken) > 1:
                for waiting in taken:
                    await self._serve([waiting])
                return
            results = [error]
        for waiting, result in zip(taken, results, strict=True):
            if waiting.future.done():
                continue
            if isinstance(result, Exception):
                waiting.future.set_exception(result)
            else:
                waiting.future.set_result(result)

    def _results(self, returned: Any, asked: int) -> list[Any]:
        if not isinstance(returned, list | tuple):
            raise Senseless(f"it returned {type(returned).__name__} for a batch, not a list")
        if len(returned) != asked:
            raise Senseless(f"it returned {len(returned)} results for a batch of {asked}")
        return [_failure(r) if isinstance(r, BaseException) else r for r in returned]

    async def _call(self, argument: Any) -> Any:
        try:
            if self._thread is None:
                return await self._function.call(argument)
            result = await self._thread.call(self._function.call, argument)
            return await result if inspect.isawaitable(result) else result
        except FunctionFailed as failed:
            raise _failure(failed.__cause__ or failed) from failed.__cause__
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # we are told to stop
            raise _failure(cancelled) from cancelled  # the function's own
        except (Exception, SystemExit) as error:
            raise _failure(error) from error


def _failure(error: BaseException) -> Refused | FunctionFailed:
    """What a request gets for what the function raised."""
    if isinstance(error, Refused):
        return error
    failed = FunctionFailed()
    failed.__cause__ = error
    return failed
