"""An event loop whose time jumps: sleeps and timeouts take no time, and their order is exact."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Where a loop would wait for its next timer, this one moves its clock there."""

    def __init__(self) -> None:
        self._virtual = 0.0
        super().__init__(_NeverWaits(self))

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._virtual

    def jump(self, seconds: float) -> None:
        """Move the clock."""
        self._virtual += seconds


class _NeverWaits(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise AssertionError("everybody waits and no timer is set: a deadlock")
        if timeout > 0:
            self._loop.jump(timeout)
        return super().select(0)


def virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run ``main`` in a loop of its own; ends with an error where a real one would hang."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    """The time of the running loop."""
    return asyncio.get_running_loop().time()
