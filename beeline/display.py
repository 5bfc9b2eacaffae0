"""What a person sees while a condition runs: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

from beeline.engine import Progress

__all__ = ["Display"]

_HERTZ = 4
_PLAIN_SECONDS = 10.0


class Display:
    """Shows a Progress from a thread of its own, four times a second, off the hot path.

    Writes to standard error, so that standard output holds results only.
    """

    def __init__(self, title: str, progress: Progress) -> None:
        self.title = title
        self.progress = progress
        self._over = threading.Event()
        self._live_now = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._live_now = sys.stderr.isatty()
        target = self._live if self._live_now else self._plain
        self._thread = threading.Thread(target=target, name="display", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=2)

    def notice(self, text: str | None) -> None:
        """Show why the model waits, at once; None when it goes on."""
        before, self.progress.notice = self.progress.notice, text
        # Off a terminal, once: the line that comes every few seconds says the rest.
        if not self._live_now and (text is None) != (before is None):
            print(f"{self.title}: {text or 'going on'}", file=sys.stderr, flush=True)

    def line(self) -> str:
        """The state in one line: trials, in flight, expansions, rate and time left."""
        p = self.progress
        seconds = max(time.monotonic() - p.started, 1e-9)
        text = f"{self.title}: {p.kept + p.done}/{p.total} trials, {p.in_flight} in flight"
        if p.expansions:
            text += f", {p.expansions:,} expansions ({p.expansions / seconds:,.0f}/s)"
        owed = p.total - p.kept - p.done
        if p.done and owed:
            text += f", about {_duration(owed * seconds / p.done)} left"
        if p.notice:
            text += f" · {p.notice}"
        return text

    def _plain(self) -> None:
        while not self._over.wait(_PLAIN_SECONDS):
            print(self.line(), file=sys.stderr, flush=True)

    def _live(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def view() -> Any:
            return Text(self.line(), overflow="fold")

        with Live(view(), console=Console(stderr=True), auto_refresh=False, transient=True) as live:
            while not self._over.wait(1 / _HERTZ):
                live.update(view(), refresh=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
