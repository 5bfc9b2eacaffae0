"""Pools of worker processes that start and end without a hang and without a traceback of their own.

A ProcessPoolExecutor is served by a thread. Whatever happens to its workers, that thread has to
end before the process does: Python wakes it on exit, and the wake fails, with a traceback, in the
moment in which the thread closes what it is woken by.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from types import FrameType

__all__ = ["end_pool", "start_server", "uninterrupted"]

NOTED_S = 1.0
"""How long the thread may take to see that the pool is shut: it is at most receiving a result."""
ENDED_S = 10.0
"""How long it may take to end, with its workers dead."""


def start_server(preload: list[str]) -> None:
    """Start the server that worker processes are forked from, which imports ``preload``; nothing if
    it is running.

    A Ctrl-C in a terminal reaches all processes. The server and its workers ignore it, but only some
    time after their start; so it is blocked for them from the first moment.
    """
    from multiprocessing import forkserver, get_context, resource_tracker

    get_context("forkserver").set_forkserver_preload(preload)
    resource_tracker.ensure_running()  # when it starts it unblocks what is blocked
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Put off what SIGINT and SIGTERM do until the end of the block, in the main thread.

    A process that is being started when KeyboardInterrupt comes is one that nobody knows, so that
    nobody ends it. (Blocking the signals would not do: another thread can take them.)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours = {number: handler for number, handler in before.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda *what: came.append(what))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for number, frame in came:
            ours[number](number, frame)


def end_pool(pool: ProcessPoolExecutor, in_order: bool) -> None:
    """End the workers of a pool and the thread that serves it.

    In order, idle workers end by themselves; killed while the thread writes to them, it would
    complain. Otherwise they are killed, whatever they do. A pool that broke may be ended too.
    """
    thread: threading.Thread | None = getattr(pool, "_executor_manager_thread", None)
    if in_order or thread is None:
        pool.shutdown(wait=True)
        return
    processes = list((getattr(pool, "_processes", None) or {}).values())
    writer = getattr(getattr(pool, "_result_queue", None), "_writer", None)
    pool.shutdown(wait=False, cancel_futures=True)
    # First the thread drops what was cancelled: with a dead worker it would mark that as failed,
    # which raises InvalidStateError.
    limit = time.monotonic() + NOTED_S
    while getattr(pool, "_cancel_pending_futures", False) and thread.is_alive() and time.monotonic() < limit:
        time.sleep(0.001)
    for process in processes:
        with contextlib.suppress(OSError, ValueError):
            process.kill()
    # One killed while it sent a result leaves the thread waiting for the rest, for as long as
    # anybody could still send it: we are the last who could.
    with contextlib.suppress(OSError, AttributeError):
        writer.close()  # type: ignore[union-attr]
    thread.join(ENDED_S)
