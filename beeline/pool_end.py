"""The end of a pool of worker processes, without a hang and without a traceback of the pool's own.

A ProcessPoolExecutor is served by a thread. Whatever happens to its workers, that thread has to
end before the process does: Python wakes it on exit, and the wake fails, with a traceback, in the
moment in which the thread closes what it is woken by.
"""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ProcessPoolExecutor
from threading import Thread

__all__ = ["end_pool"]

NOTED_S = 1.0
"""How long the thread may take to see that the pool is shut: it is at most receiving a result."""
ENDED_S = 10.0
"""How long it may take to end, with its workers dead."""


def end_pool(pool: ProcessPoolExecutor, in_order: bool) -> None:
    """End the workers of a pool and the thread that serves it.

    In order, idle workers end by themselves; killed while the thread writes to them, it would
    complain. Otherwise they are killed, whatever they do. A pool that broke may be ended too.
    """
    thread: Thread | None = getattr(pool, "_executor_manager_thread", None)
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
