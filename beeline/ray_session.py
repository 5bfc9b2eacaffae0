"""The connection to Ray: one a process, shared by all jobs of a sweep.

``local`` starts a Ray that belongs to this process alone: its own temporary folder, loopback only,
and it ends with the process, even when that is killed. Every other address is somebody's cluster:
nothing is started or ended there but our own actors.

Ray reads some of its environment while it is imported, so it is imported here only.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import logging
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beeline.errors import SettingError, StorageError

__all__ = ["LOCAL", "Node", "Session", "connect", "disconnect"]

LOCAL = "local"
_PRIVATE = {
    # Else Ray listens on every interface, even when told 127.0.0.1.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Loopback and one user: a token would only be one more thing to find.
    "RAY_AUTH_MODE": "disabled",
    # Ray's is 15: on a machine that has other work, workers then wait for it.
    "RAY_worker_niceness": "0",
}
_MARK = "beeline_private"
"""A resource of private clusters, so that address=auto never takes one for the user's."""
_KNOCK_S = 10.0
_PREFIX = "beeline-ray-"
_LONGEST_FOLDER = 30
"""Ray puts sockets below, whose paths may have 107 bytes."""
_STORE_BYTES = 128 * 1024 * 1024
"""What travels is small; Ray's default is 30% of the memory."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is alive."""

    id: str
    name: str
    resources: Mapping[str, float]


class Session:
    """A connection that is open."""

    def __init__(
        self, address: str, seconds: float, folder: Path | None = None, lock: int | None = None, cpus: int = 0
    ) -> None:
        self.address = address
        self.cpus = cpus
        """What a private Ray was given."""
        self.private = folder is not None
        self.seconds = seconds
        """What connecting took."""
        self.kept: dict[str, Any] = {}
        """What jobs leave for the next one: pools of actors, by their noun."""
        self.names: dict[str, str] = {}
        """Of nodes by id, also of those that are gone."""
        self.said: set[str] = set()
        """What a person was told, which is told once."""
        self._folder, self._lock = folder, lock

    def nodes(self) -> list[Node]:
        """The nodes that are alive, sorted by name."""
        ray = _ray()
        alive = [node for node in ray.nodes() if node["Alive"]]
        hosts = [node["NodeManagerHostname"] for node in alive]
        found = []
        for node in alive:
            name = node.get("NodeName") or ""
            host = node["NodeManagerHostname"]
            if name in ("", node["NodeManagerAddress"]):  # nobody gave it one
                name = host if hosts.count(host) == 1 else f"{host}/{node['NodeID'][:6]}"
            found.append(Node(node["NodeID"], name, dict(node["Resources"])))
        return sorted(found, key=lambda node: node.name)

    def home(self) -> str | None:
        """The id of the node that this process is on; None for a client outside the cluster."""
        ray = _ray()
        if ray.util.client.ray.is_connected():
            return None
        found: str = ray.get_runtime_context().get_node_id()
        return found

    def close(self) -> None:
        """Leave; a private Ray ends."""
        ray = _ray()
        for kept in self.kept.values():
            with contextlib.suppress(Exception):
                kept.close()
        with contextlib.suppress(Exception):
            ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


_session: Session | None = None


def connect(address: str | None, cpus: int) -> Session:
    """The session of this process. ``address`` None is what RAY_ADDRESS says, else ``local``; a
    private Ray gets ``cpus``. Raises SettingError when nothing can be reached there."""
    global _session
    asked = address or os.environ.get("RAY_ADDRESS") or LOCAL
    if _session is not None:
        if _session.address == asked and (asked != LOCAL or cpus <= _session.cpus):
            return _session
        disconnect()
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Else any call of Ray's after the end starts another one.
    os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"
    # One thread a worker for numeric libraries, whatever the machine.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    started = time.monotonic()
    with _own_sigterm():
        _session = _start(cpus, started) if asked == LOCAL else _join(asked, started)
    return _session


def disconnect() -> None:
    """Close the session, if there is one."""
    global _session
    session, _session = _session, None
    if session is not None:
        session.close()


_at_exit = False


def _ray() -> Any:
    """Ray. What must end before Ray's own clearing up is registered after it, and so runs first."""
    global _at_exit
    import ray

    if not _at_exit:
        _at_exit = True
        atexit.register(disconnect)
        logging.getLogger("ray").setLevel(logging.CRITICAL)
    return ray


def _start(cpus: int, started: float) -> Session:
    folder, lock = _folder()
    with _environment(_PRIVATE):
        ray = _ray()
        try:
            ray.init(
                address=LOCAL,
                num_cpus=cpus,
                resources={_MARK: 1},
                object_store_memory=_STORE_BYTES,
                include_dashboard=False,
                _temp_dir=str(folder),
                **_quiet(),
            )
        except BaseException as error:
            with contextlib.suppress(Exception):
                ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            if not isinstance(error, Exception):
                raise
            raise SettingError(
                f"engine.address=local: Ray does not start here ({_sentence(error)}): use engine=local"
            ) from error
    return Session(LOCAL, time.monotonic() - started, folder, lock, cpus)


def _join(asked: str, started: float) -> Session:
    ray = _ray()
    where = f"engine.address={asked}"
    if os.environ.get("RAY_ADDRESS") and asked == os.environ["RAY_ADDRESS"]:
        where = f"RAY_ADDRESS={asked}"
    try:
        _knock(asked)
        ray.init(address=asked, **_quiet())
        private = _MARK in ray.cluster_resources()
    except Exception as error:
        with contextlib.suppress(Exception):
            ray.shutdown()
        raise SettingError(
            f"{where}: no Ray cluster can be used there ({_sentence(error)}): start one with "
            "ray start --head, correct the address, or use engine.address=local"
        ) from error
    if private:
        ray.shutdown()
        raise SettingError(
            f"{where}: the only Ray on this machine is the private one of another run: start a cluster with "
            "ray start --head, or use engine.address=local"
        )
    return Session(asked, time.monotonic() - started)


def _knock(address: str) -> None:
    """Raise OSError where nothing listens; Ray itself tries for many minutes."""
    where = address.removeprefix("ray://").partition("/")[0]
    host, colon, port = where.rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()


def _quiet() -> dict[str, Any]:
    """Errors come from us, once: what workers print stays in Ray's own logs."""
    return {"log_to_driver": False, "configure_logging": False}


@contextlib.contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep the handler of SIGTERM: ray.init puts one of its own there, which ends the process at once
    with a dump."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:  # else it was not set from Python
            signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Ray's processes inherit these; a later connection to a real cluster does not."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _folder() -> tuple[Path, int]:
    """A private folder for Ray, locked for as long as this process lives; removes those that killed
    processes left."""
    base = Path(tempfile.gettempdir())
    if len(str(base)) > _LONGEST_FOLDER:
        base = Path("/tmp")
    for left in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            held = os.open(left / "lock", os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)
    try:
        made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        lock = os.open(made / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise StorageError(
            f"cannot make a folder for Ray in {base} ({error.strerror or error}): set TMPDIR to a short path"
        ) from error
    return made, lock


def _sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}" if lines else type(error).__name__
