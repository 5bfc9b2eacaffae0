"""What a person sees while conditions run: live lines on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from beeline.engine import Progress

__all__ = ["Display", "Line"]

_HERTZ = 4
_PLAIN_SECONDS = 10.0
_MOST_LINES = 8


@dataclass(eq=False, slots=True)
class Line:
    """One condition under way. ``asks`` names whom it waits for."""

    title: str
    progress: Progress
    asks: str

    def __str__(self) -> str:
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


class Display:
    """Shows lines from a thread of its own, four times a second, off the hot path.

    Writes to standard error, so that standard output holds results only. ``head`` is what stands above
    them on a terminal, asked for each time.
    """

    def __init__(self) -> None:
        self.head: Any = None
        self._lines: list[Line] = []
        self._notices: dict[str, str | None] = {}
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

    def add(self, title: str, progress: Progress, asks: str = "") -> Line:
        """Show a line until it is removed."""
        line = Line(title, progress, asks)
        progress.notice = self._notices.get(asks)
        self._lines = [*self._lines, line]  # the thread reads a list that nobody changes
        return line

    def remove(self, line: Line) -> None:
        """A condition ended."""
        self._lines = [other for other in self._lines if other is not line]

    def notice(self, asks: str, text: str | None) -> None:
        """Show at once why whoever is asked makes us wait; None when it goes on."""
        before, self._notices[asks] = self._notices.get(asks), text
        lines = [line for line in self._lines if line.asks == asks]
        for line in lines:
            line.progress.notice = text
        # Off a terminal, once: the line that comes every few seconds says the rest.
        if lines and not self._live_now and (text is None) != (before is None):
            print(f"{lines[0].title}: {text or 'going on'}", file=sys.stderr, flush=True)

    def _shown(self) -> list[str]:
        """Lines of what is under way; what waits for its turn has none."""
        lines = self._lines
        busy = [line for line in lines if line.progress.in_flight] or lines[:1]
        shown = [str(line) for line in busy[:_MOST_LINES]]
        if len(busy) > _MOST_LINES:
            shown.append(f"and {len(busy) - _MOST_LINES} more")
        return shown

    def _plain(self) -> None:
        while not self._over.wait(_PLAIN_SECONDS):
            for line in self._shown():
                print(line, file=sys.stderr, flush=True)

    def _live(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        def view() -> Any:
            head = [self.head()] if self.head is not None else []
            return Text("\n".join([*head, *self._shown()]), overflow="fold")

        with Live(view(), console=Console(stderr=True), auto_refresh=False, transient=True) as live:
            while not self._over.wait(1 / _HERTZ):
                live.update(view(), refresh=True)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
