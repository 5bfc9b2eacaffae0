"""Who holds a reservation, and whether that process still lives.

A process is named by its machine, process namespace, start of the machine, id and start time, so
that neither a reused process id nor two containers with equal ids are taken for each other. Of a
process on another machine, or in another container, nothing can be known: it counts as elsewhere.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

__all__ = ["Owner", "State", "state_of", "this_process"]

State = Literal["alive", "dead", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Owner:
    """One process; the fields are compared, not interpreted."""

    host: str
    place: str
    """Machine and process namespace."""
    boot: str
    """Changes when the machine restarts."""
    pid: int
    started: str
    """When the process began, in the kernel's count; empty where there is no /proc."""


def this_process() -> Owner:
    """The owner that this process is."""
    pid = os.getpid()
    return Owner(socket.gethostname(), _place(), _boot(), pid, _started(pid) or "")


def state_of(owner: Owner) -> State:
    """Whether a process lives. ``dead`` is said only where it is certain."""
    if owner.host != socket.gethostname() or owner.place != _place():
        return "elsewhere"
    if owner.boot != _boot():
        return "dead"
    if not owner.started:
        return "alive" if _signalled(owner.pid) else "dead"
    return "alive" if _started(owner.pid) == owner.started else "dead"


@lru_cache(maxsize=1)
def _place() -> str:
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{_read('/etc/machine-id')} {namespace}"


@lru_cache(maxsize=1)
def _boot() -> str:
    return _read("/proc/sys/kernel/random/boot_id")


def _started(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat; None when there is no such process, or when it has ended and
    only waits to be collected by its parent."""
    # The command's name comes second, in brackets, and may hold blanks and brackets itself.
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace").strip()
    except OSError:
        return ""
