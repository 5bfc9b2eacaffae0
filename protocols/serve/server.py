"""Listen, serve, stop in order: uvicorn with our socket and our signals.

The first SIGTERM or SIGINT closes the port and lets every accepted request finish; the second ends
at once. The port is bound before anything else, so that port 0 can say which one it got.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

import uvicorn

from beeline.errors import SettingError
from protocols.secrets import Secret, read_key
from protocols.serve.app import make_app
from protocols.serve.functions import Function, load
from protocols.serve.settings import ServeSettings

__all__ = ["ServeThread", "Server", "is_loopback", "listen", "prepare", "read_server_key"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """uvicorn that says when it is ready, and returns after a signal instead of dying of it."""

    def __init__(
        self, settings: ServeSettings, function: Function, key: Secret | None, ready: Callable[[], None]
    ) -> None:
        config = uvicorn.Config(
            make_app(settings, function, key),
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            ws="none",
            # Longer than clients keep a connection: the side that waits for replies closes first.
            timeout_keep_alive=75,
        )
        super().__init__(config)
        self._ready = ready
        self._told = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the two signals while serving; only the main thread may."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; on the second call without waiting for anybody.

        Within a second it is the same call: a shell and ``timeout`` or ``make`` both pass it on.
        """
        now = time.monotonic()
        if not self.should_exit:
            self._told = now
        elif now - self._told > 1.0:
            self.force_exit = True
            # What is cut off now needs no tracebacks.
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self.should_exit = True


def prepare(settings: ServeSettings) -> tuple[Function, Secret | None]:
    """Import the function and read the key. Raises SettingError."""
    key = read_server_key(settings)
    return load(settings.target), key


def read_server_key(settings: ServeSettings) -> Secret | None:
    """The key that requests must carry, if any. Raises SettingError."""
    return None if settings.key_variable is None else read_key(settings.key_variable)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises SettingError saying why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EADDRINUSE:
            raise SettingError(
                f"port {port} at {host} is in use: stop the program there, or choose another with --port"
            ) from None
        reason = os.strerror(number) if number is not None and number > 0 else f"no address called {host}"
        raise SettingError(f"cannot listen at {host} port {port}: {reason}") from None
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, which
    # create_server's do not; without it a small reply takes 45 ms instead of 3 (Nagle's algorithm).
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach ``address`` (a numeric one, as a socket has it)."""
    return ipaddress.ip_address(address.split("%")[0]).is_loopback


class ServeThread:
    """A server in a thread of this process, for tests and notebooks; a context manager.

    ``base_url`` is what ``model.base_url`` wants.
    """

    def __init__(self, settings: ServeSettings, function: Function | None = None) -> None:
        loaded, key = prepare(settings) if function is None else (function, None)
        self._socket = listen(settings.host, settings.port)
        self.port: int = self._socket.getsockname()[1]
        self._ready = threading.Event()
        self.server = Server(settings, loaded, key, self._ready.set)
        self._thread = threading.Thread(target=self._run, name="serve", daemon=True)

    @property
    def base_url(self) -> str:
        """Address up to and with ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> ServeThread:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.should_exit = True
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self.server.serve([self._socket]))
        finally:
            self._ready.set()
