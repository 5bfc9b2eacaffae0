"""What travels between the driver and its Ray actors besides trials: failures, greetings, spending.

A failure crosses as plain data and is raised again in the driver as the same class with the same
sentence, so that a run ends alike on every engine; a traceback of Ray's would bury the sentence.
Nothing here imports Ray.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from beeline import errors
from beeline.errors import BeelineError
from beeline.services import Estimate

__all__ = ["Collected", "Failure", "Hello", "Home", "HostLost", "Op", "RemoteFailure", "code_digest"]

_CODE = ("beeline", "domains", "protocols")
"""Our packages that decide what a trial gives."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A BeelineError that was raised elsewhere."""

    kind: str
    """Name of its nearest class in beeline.errors."""
    text: str
    node: str
    """Ray's id of the node; empty for the driver's own (its ledger)."""

    @classmethod
    def of(cls, error: BeelineError, node: str) -> Failure:
        """A plug-in's own subclass becomes the class of ours that it derives from."""
        kind = next(c.__name__ for c in type(error).__mro__ if getattr(errors, c.__name__, None) is c)
        return cls(kind, str(error), node)

    def error(self, node_name: str) -> BeelineError:
        """The error again, with the name of the node."""
        made: type[BeelineError] = getattr(errors, self.kind)
        return made(f"{self.text} [node {node_name}]" if self.node else self.text)


class RemoteFailure(Exception):
    """Carries a Failure through a search in a runner."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class HostLost:
    """The process that asks the model died while a trial waited for it."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where the driver runs, so that relative paths and a plug-in beside it mean the same."""

    folder: str
    paths: tuple[str, ...]

    @classmethod
    def here(cls) -> Home:
        """Of this process."""
        return cls(os.getcwd(), tuple(path for path in sys.path if path))

    def enter(self) -> None:
        """Take over what of it exists on this machine; later entries of our own stay first."""
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        known = set(sys.path)
        sys.path += [path for path in self.paths if path not in known and os.path.exists(path)]


@dataclass(frozen=True, slots=True)
class Hello:
    """Which process an actor is, and which code it has."""

    node: str
    pid: int
    machine: str
    root: str
    """Folder of our packages."""

    @classmethod
    def here(cls, node: str = "") -> Hello:
        """Of this process."""
        return cls(node, os.getpid(), socket.gethostname(), str(Path(__file__).resolve().parent.parent))

    def same_files(self, other: Hello) -> bool:
        """Both read the same files."""
        return (self.machine, self.root) == (other.machine, other.root)


def code_digest() -> str:
    """SHA-256 over the source of the packages that decide what a trial gives."""
    root = Path(__file__).resolve().parent.parent
    digest = sha256()
    for package in _CODE:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Op:
    """One call of a meter; ``number`` is the request's, counted by the process that sends it. A
    ``spare`` is a reservation in advance, for a request that is yet to come."""

    what: Literal["begin", "spare", "settle", "reject", "unknown", "cancel"]
    number: int
    estimate: Estimate = Estimate()  # noqa: RUF009 - frozen


@dataclass(slots=True)
class Collected:
    """What happened at a host since the driver asked last."""

    ops: list[Op] = field(default_factory=list)
    answered: int = 0
    notice: str | None = None
    """Why the model waits now, if it does."""
