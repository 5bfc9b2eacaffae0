"""Whole runs against the test server that can be watched and disturbed while they go on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from protocols.fake import FakeServer
from tests.commands import command, environment, records

SHORT = ("version.max_expansions=40", "custom=short")
"""Searches that end early: many trials in little time."""
VERSION = "custom-short"


def against(server: FakeServer, *more: str, domain: str = "countdown", trials: int = 20) -> tuple[str, ...]:
    """The command line of a short run against the server."""
    return (
        f"domain={domain}",
        "model=local",
        f"model.base_url={server.base_url}",
        "model.id=fake",
        f"trials={trials}",
        *SHORT,
        *more,
    )


class Running:
    """A run under way; a context manager that leaves no process behind."""

    def __init__(self, folder: Path, overrides: Sequence[str], **variables: str) -> None:
        folder.mkdir(exist_ok=True)
        self._stderr = folder / "stderr.txt"
        with self._stderr.open("w") as stderr:
            self.process = subprocess.Popen(
                command(folder, *overrides),
                cwd=folder,
                env=environment(folder, **variables),
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for it; an end of the run before is a failure."""
        while not condition():
            assert self.process.poll() is None, f"the run ended before: {self.stderr}"
            time.sleep(0.002)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        return self.process.wait(timeout=90)

    def kill(self) -> None:
        """End it and its workers in the middle of whatever they do."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.kill()


def clean(
    folder: Path, domain: str = "countdown", model: str = "local", version: str = VERSION
) -> list[dict[str, Any]]:
    """The records of a run without times, retry counts and digests of settings such as the address."""
    found = records(folder, version, model, "score", f"{domain}.benchmark.jsonl")
    for record in found:
        del record["spec"], record["arms"]["model"]["retries"]
    return found


def retries(folder: Path, domain: str = "countdown") -> int:
    found = records(folder, VERSION, "local", "score", f"{domain}.benchmark.jsonl")
    return sum(record["arms"]["model"]["retries"] for record in found)


def undisturbed(
    folder: Path, domain: str = "countdown", trials: int = 20, *more: str
) -> list[dict[str, Any]]:
    """The records of the same run when nothing happens."""
    with FakeServer() as server, Running(folder, against(server, *more, domain=domain, trials=trials)) as run:
        assert run.end() == 0, run.stderr
        return clean(folder, domain)
