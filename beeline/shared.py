"""What the jobs of one process have in common while they run: engines, ledgers, the display.

Jobs of a sweep that ask one model share its connection, its limits and its places for trials in
flight; work that computes shares the worker processes. What must not happen at once, such as two jobs
that write the same records, happens in turn.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from beeline.display import Display
from beeline.engine import Engine, Progress
from beeline.errors import BeelineError, StorageError
from beeline.ledger import FILE, Ledger
from beeline.services import Caps
from beeline.spec import Spec

__all__ = ["Fate", "Shared"]

T = TypeVar("T")


@dataclass(slots=True)
class Fate:
    """Why a job ends early, for those of its conditions that another one's error ends."""

    error: BeelineError | None = None

    def of(self, error: BaseException) -> BeelineError | KeyboardInterrupt:
        """The reason behind an error that ended a condition."""
        if isinstance(error, BeelineError | KeyboardInterrupt):
            return error
        return self.error or KeyboardInterrupt()


class Shared:
    """Open while jobs run; belongs to one event loop."""

    def __init__(self) -> None:
        self.display = Display()
        self._engines: dict[str, Engine] = {}
        self._ledgers: dict[tuple[Path, Caps], Ledger] = {}
        self._paths: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._aside = threading.Lock()
        self._open = ExitStack()
        self._notes: set[str] = set()

    def __enter__(self) -> Self:
        self._open.enter_context(self.display)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def engine(self, spec: Spec) -> Engine:
        """The engine of all jobs with these engine settings; it is closed at the end."""
        engine = self._engines.get(spec.engine_key)
        if engine is None:
            engine = self._engines[spec.engine_key] = spec.engine
            self._open.callback(engine.close)
        return engine

    def ledger(self, spec: Spec) -> Ledger | None:
        """The ledger of the results folder, where asking the model costs something."""
        if spec.model is None or spec.model.caps() is None:
            return None
        key = (spec.results.resolve(), spec.caps)
        if key not in self._ledgers:
            self._ledgers[key] = ledger = Ledger(spec.results / FILE, spec.caps)
            self._open.callback(_close, ledger)
        return self._ledgers[key]

    def note(self, text: str) -> None:
        """Tell a person, once."""
        if text not in self._notes:
            self._notes.add(text)
            print(f"note: {text}", file=sys.stderr)

    def noticing(self, model: str) -> Callable[[str | None], None]:
        """How a model says that it waits."""
        return lambda text: self.display.notice(model, text)

    @contextmanager
    def shown(self, title: str, progress: Progress, model: str) -> Iterator[None]:
        """Show a condition's progress."""
        line = self.display.add(title, progress, model)
        try:
            yield
        finally:
            self.display.remove(line)

    @asynccontextmanager
    async def alone(self, path: Path) -> AsyncIterator[None]:
        """Let nobody else write this file meanwhile."""
        async with self._paths[path.resolve()]:
            yield

    async def aside(self, work: Callable[[], T]) -> T:
        """Do what may take seconds in a thread, one thing at a time, while trials go on. Interrupted, it is
        left to itself: the thread does not hold up the end of the process."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            if done.done():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)  # type: ignore[arg-type]

        def run() -> None:
            found: tuple[Any, BaseException | None]
            try:
                with self._aside:
                    found = work(), None
            except BaseException as error:
                found = None, error
            try:
                loop.call_soon_threadsafe(settle, *found)
            except RuntimeError:  # the loop is closed: nobody waits
                return

        threading.Thread(target=run, name="aside", daemon=True).start()
        return await done


def _close(ledger: Ledger) -> None:
    """A ledger that cannot be written at the end takes nothing from what is done."""
    try:
        ledger.close()
    except StorageError as error:
        print(f"warning: {error}", file=sys.stderr)
