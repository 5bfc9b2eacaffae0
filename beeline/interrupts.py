"""Ctrl-C and SIGTERM (``docker stop``): the first ends a run in order, a second one the process."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["end_in_order", "interrupted_by", "interruptible", "raise_if_interrupted"]

_ONE_PRESS_S = 0.5
"""Within this time a second signal is the same wish: a terminal and a wrapper may both pass it on."""

_cancel: Callable[[], None] | None = None
_last: int = signal.SIGINT
_pressed = False


def interrupted_by() -> int:
    """The number of the signal that ended the run."""
    return _last


def end_in_order() -> None:
    """Install the handlers; harmless to call again, which forgets an earlier press."""
    global _pressed
    first: float | None = None
    _pressed = False

    def pressed(number: int, frame: object) -> None:
        nonlocal first
        global _last, _pressed
        now = time.monotonic()
        if first is not None:
            if now - first > _ONE_PRESS_S:
                os._exit(128 + number)
            return
        first, _last, _pressed = now, number, True
        if _cancel is None:
            raise KeyboardInterrupt
        _cancel()

    signal.signal(signal.SIGINT, pressed)
    signal.signal(signal.SIGTERM, pressed)


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt when a signal came that found nobody waiting for anything."""
    if _pressed:
        raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """In a coroutine: the first signal cancels the current task instead of raising wherever the process
    happens to be."""
    global _cancel
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        loop.call_soon_threadsafe(task.cancel)

    before, _cancel = _cancel, cancel
    try:
        yield
    finally:
        _cancel = before
